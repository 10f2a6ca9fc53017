//! Begins a rollout: which partition, which mode, which record, in the one write that brings the template.

use super::body::compose;
use super::budget;
use super::gate;
use super::restart;
use super::stage;
use super::stood;
use super::view::Case;
use crate::model::{
    Action, ApplyKind, CommitId, Desired, LiveSet, Mode, OnNewRevision, PARKED, Partition, Record, Schedule, Seen,
    Version,
};
use crate::revision::digest::HASH_VERSION;

/// How a new target takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// From rest, through the stages, or at once where nothing runs.
    Staged,
    /// From rest or under way, to a proven revision inside the window.
    Fast,
    /// Under way, back to stable.
    Back,
    /// Under way, on the pods already exposed.
    Continue,
    /// Under way, from stage 0.
    Restart,
    /// The first install again, with another template.
    Install,
}

/// What a new target meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// It takes over.
    Enter(Entry),
    /// The running rollout ends first.
    Queue,
    /// A person decides.
    Block,
    /// It failed before and nobody asked for it again.
    Barred,
}

/// The revision that the tip asks for, the restart in force included.
pub(super) fn tip(desired: &Desired, live_restart: &str, record: Option<&Record>) -> Seen {
    Seen {
        commit: desired.tip.commit.id.clone(),
        hash: desired.tip.hash.clone(),
        restart: restart::in_force(desired.tip.restart.as_deref(), live_restart, record),
    }
}

/// Whether a revision completed lately enough to skip pauses and gates.
pub(super) fn is_in_window(record: &Record, target: &Seen, window: u32) -> bool {
    let window = usize::try_from(window).unwrap_or(usize::MAX);
    let stable = record.stable.as_ref().map(|stable| &stable.hash);
    record.proven.iter().rev().filter(|hash| Some(*hash) != stable).take(window).any(|hash| *hash == target.hash)
}

/// Whether a target failed and was not asked for again.
pub(super) fn has_failed(record: &Record, target: &Seen) -> bool {
    record.failed.iter().any(|failed| failed.commit == target.commit && failed.hash == target.hash)
}

/// Says how a new target meets the record (`rollout-rules`: a new commit while a rollout runs).
pub(super) fn meet(case: &Case<'_>, desired: &Desired, record: &Record, target: &Seen) -> Meeting {
    let is_stable = record.stable.as_ref().is_some_and(|stable| stable.same_pods(target));
    let proven = is_in_window(record, target, desired.plan.rollback_window);
    if has_failed(record, target) && !is_stable && !record.proven.contains(&target.hash) {
        return Meeting::Barred;
    }
    if stood::unrecorded(case, record).is_some() {
        return Meeting::Enter(Entry::Staged);
    }
    if record.stable.is_none() || nothing_stands(case, record) {
        return Meeting::Enter(Entry::Install);
    }
    // A rewritten history proves nothing: whatever it asks for goes through all stages.
    let rewritten = case.observed.sight.is_rewritten();
    if brings_stable_back(record) {
        return Meeting::Queue;
    }
    if record.done {
        return Meeting::Enter(if proven && !rewritten { Entry::Fast } else { Entry::Staged });
    }
    if is_stable && !rewritten {
        return Meeting::Enter(Entry::Back);
    }
    if proven && !rewritten {
        return Meeting::Enter(Entry::Fast);
    }
    match record.plan.on_new_revision {
        // Everything is exposed and nothing fails for good: there is no end to wait for.
        _ if record.mode == Mode::Install => Meeting::Enter(Entry::Continue),
        OnNewRevision::Continue if !rewritten => Meeting::Enter(Entry::Continue),
        OnNewRevision::Continue | OnNewRevision::Restart => Meeting::Enter(Entry::Restart),
        // What has failed has ended.
        OnNewRevision::Queue if has_failed(record, &record.target) && rewritten => Meeting::Enter(Entry::Restart),
        OnNewRevision::Queue if has_failed(record, &record.target) => Meeting::Enter(Entry::Continue),
        OnNewRevision::Queue => Meeting::Queue,
        OnNewRevision::Block => Meeting::Block,
    }
}

/// Whether the rollout makes the pods of a set at zero anew at what was stable: what comes next is staged over them.
fn brings_stable_back(record: &Record) -> bool {
    let stable = record.stable.as_ref().is_some_and(|stable| stable.same_pods(&record.target));
    !record.done && record.mode == Mode::Install && stable && record.proven.contains(&record.target.hash)
}

/// Whether the controller has made something else current than stable, whatever the partition (kubernetes#121534).
pub(super) fn is_promoted(case: &Case<'_>) -> bool {
    let (set, record) = (case.set, case.record);
    let another = !record.back.is_empty() && set.current_revision != record.back;
    another || (set.observed_generation >= set.generation && set.current_revision == set.update_revision)
}

/// Whether the stable revision was completed, or at least was Ready everywhere.
pub(super) fn is_proven(record: &Record) -> bool {
    record.stable.as_ref().is_some_and(|stable| record.proven.contains(&stable.hash))
}

/// Whether the revision that pods come back at was never Ready anywhere, as far as the pods can tell.
///
/// It was made current at zero replicas, where nothing could verify it. Held below a partition its pods would come
/// back broken each time, and the fix would wait for them for ever.
fn nothing_stands(case: &Case<'_>, record: &Record) -> bool {
    let set = case.set;
    if set.replicas == 0 && (!record.done || set.template != record.live) {
        // What is being made current there is another one than stable, or will be.
        return true;
    }
    let another = !record.back.is_empty() && set.current_revision != record.back;
    (!is_proven(record) || another) && stood::nothing_below(case)
}

/// Whether the pods may be shown as they no longer are: too old to say that none of them stands.
pub(super) fn is_late(case: &Case<'_>) -> bool {
    let (set, observed) = (case.set, case.observed);
    let ready = gate::own_pods(set, &observed.pods).filter(|pod| pod.ready).count();
    observed.pods_behind || u32::try_from(ready).is_ok_and(|ready| ready < set.ready_replicas)
}

/// The write that starts a rollout on a set that exists.
pub(super) fn begin(case: &Case<'_>, desired: &Desired, record: &Record, entry: Entry) -> Action {
    let (set, now) = (case.set, case.seconds());
    let version = &desired.tip;
    let replicas = version.replicas.unwrap_or(set.replicas);
    let target = tip(desired, &set.restarted_at, Some(record));
    let mut new = next(record, desired, target, now);
    establish(case, record, &mut new);
    let promoted = set.observed_generation >= set.generation && set.current_revision == set.update_revision;
    if promoted && !record.done && record.stable.is_some() && entry != Entry::Back {
        // What the new target takes over from is what the controller has made current, not what was stable before.
        new.stable = Some(record.target.clone());
        new.back.clone_from(&set.current_revision);
    }
    // What was added while nothing was advanced is held back already.
    let stands_at = set.partition.map_or(record.partition, |live| live.max(record.partition));
    let kept = if record.done { 0 } else { stage::exposed(stands_at, set.replicas) };
    let keep = |new: &mut Record| {
        let kept = kept.min(replicas);
        (new.stage, new.exposed) = stage::locate(&new.plan, replicas, kept);
        new.partition = Partition(replicas.saturating_sub(kept));
    };
    match entry {
        // At zero replicas there is nothing to stage: the controller makes it current by itself, and whoever scales
        // up before that gets it all the same.
        _ if replicas == 0 => (new.mode, new.partition) = (Mode::Install, Partition(0)),
        Entry::Install => (new.mode, new.partition) = (Mode::Install, Partition(0)),
        Entry::Back => {
            new.mode = Mode::Back;
            // It holds what comes after.
            new.hold.clone_from(&record.hold);
            new.partition = way_back(case);
            (new.stage, new.exposed) = stage::locate(&new.plan, replicas, stage::exposed(new.partition, replicas));
        }
        Entry::Fast => {
            new.mode = Mode::Fast;
            let short = || budget::short(case, PARKED, Partition(0), None).is_some();
            if record.done && short() {
                nobody_yet(&mut new, replicas);
            } else if record.done {
                // All of them, however many there will be.
                new.stage = last_stage(&new, replicas);
                new.partition = Partition(0);
            } else {
                keep(&mut new);
            }
        }
        Entry::Continue if kept > 0 => keep(&mut new),
        Entry::Staged | Entry::Restart | Entry::Continue => {
            first_stage(case, replicas, &mut new);
        }
    }
    apply(ApplyKind::Start, version, version, set, record, new)
}

/// Nobody is exposed.
fn nobody_yet(new: &mut Record, replicas: u32) {
    (new.stage, new.exposed, new.partition) = (None, Some(0), Partition(replicas));
}

/// Puts the stable revision into a new record that the one before does not know of yet.
pub(super) fn establish(case: &Case<'_>, record: &Record, new: &mut Record) {
    let Some(stood) = stood::unrecorded(case, record) else { return };
    if stood::whole(case) && !new.proven.contains(&stood.hash) {
        new.proven.push(stood.hash.clone());
    }
    new.stable = Some(stood);
    new.back.clone_from(&case.set.current_revision);
}

/// Puts a new record at the first stage of its plan.
///
/// Over a revision that was never completed more than that is exposed where it has to be: what never served is nothing
/// to hold back, and in order nothing above it would ever be updated.
pub(super) fn first_stage(case: &Case<'_>, replicas: u32, new: &mut Record) {
    let first = first_partition(new, replicas);
    let lower = if is_proven(new) { None } else { stood::never_served(case).filter(|lower| *lower < first) };
    match lower {
        Some(lower) => {
            (new.stage, new.exposed) = stage::locate(&new.plan, replicas, stage::exposed(lower, replicas));
            new.partition = lower;
        }
        // A healthy pod would be taken down beside too many that are away: the rollout waits for these as between any
        // two stages.
        None if budget::short(case, PARKED, first, None).is_some() => nobody_yet(new, replicas),
        None => (new.stage, new.partition) = (Some(0), first),
    }
}

/// The partition of a way back to stable: every pod that left it has to be at or above, however it came there.
///
/// By its share alone a partition would leave some behind: pods of a superseded revision after a restart of the
/// stages, and those that were exposed before the set grew.
fn way_back(case: &Case<'_>) -> Partition {
    let (set, record) = (case.set, case.record);
    if is_promoted(case) {
        // There is nothing to come back at but what is being left.
        return Partition(0);
    }
    let left = gate::lowest(set, &case.observed.pods, |pod| pod.revision != set.current_revision);
    left.map_or(record.partition, |left| left.min(record.partition))
}

/// The partition that takes back every pod which a foreign change of a set at rest has reached; none where it has
/// reached none.
pub(super) fn astray(case: &Case<'_>) -> Option<Partition> {
    let (set, record) = (case.set, case.record);
    let changed = set.template != record.live || set.restarted_at != record.target.restart;
    if changed && set.current_revision == set.update_revision && set.observed_generation >= set.generation {
        return Some(Partition(0));
    }
    gate::lowest(set, &case.observed.pods, |pod| pod.revision != set.current_revision)
}

/// The write that creates the set: no stages, parked from the beginning.
pub(super) fn create(desired: &Desired, now: i64) -> Action {
    let target = tip(desired, "", None);
    let record = Record {
        v: Record::VERSION,
        epoch: 1,
        rollout: rollout_id(&target, 1),
        target,
        src: None,
        mark: CommitId::default(),
        stable: None,
        back: String::new(),
        mode: Mode::Install,
        plan: desired.plan.clone(),
        digest: desired.plan_digest.clone(),
        stage: None,
        exposed: None,
        done: false,
        partition: PARKED,
        generation: 1,
        live: desired.tip.hash.clone(),
        rest: desired.tip.rest.clone(),
        began: now,
        at: now,
        promoted: false,
        hashes: HASH_VERSION,
        stated: restart::statement(&desired.tip),
        hold: None,
        accepted: false,
        was: None,
        failed: Vec::new(),
        proven: Vec::new(),
        req: None,
        replicas: Some(desired.tip.replicas.unwrap_or(1)),
    };
    Action::Apply {
        kind: ApplyKind::Create,
        manifest: compose(&desired.tip, &desired.tip, ""),
        partition: record.partition,
        record: Box::new(record),
        base: None,
        takes_replicas: false,
    }
}

/// The write that brings everything but the template, onto `set`, with a record made from the case's.
pub(super) fn sync(
    case: &Case<'_>,
    kind: ApplyKind,
    rest_of: &Version,
    template_of: &Version,
    set: &LiveSet,
    record: &Record,
    partition: Partition,
) -> Action {
    let mut new = record.clone();
    // One write is one transition, also where the record is that of a new rollout already.
    new.epoch = case.record.epoch.saturating_add(1);
    new.rest.clone_from(&rest_of.rest);
    new.partition = partition;
    apply(kind, rest_of, template_of, set, case.record, new)
}

/// An apply on a set that exists.
fn apply(
    kind: ApplyKind,
    rest_of: &Version,
    template_of: &Version,
    set: &LiveSet,
    before: &Record,
    record: Record,
) -> Action {
    // A newer manifest's replicas supersede what somebody scaled to; not before there was one of ours.
    let takes_replicas = rest_of.replicas.is_some() && !before.rest.is_empty() && !rest_of.is_rest(&before.rest);
    let replicas = Some(rest_of.replicas.unwrap_or(set.replicas));
    let record = Record { replicas, accepted: false, was: None, ..record };
    let restart = restart::spelled(&record.target, &set.restarted_at, template_of);
    Action::Apply {
        kind,
        manifest: compose(rest_of, template_of, &restart),
        partition: record.partition,
        record: Box::new(record),
        base: Some((set.uid.clone(), set.resource_version.clone())),
        takes_replicas,
    }
}

/// The record of a new rollout; stage and partition are the caller's.
pub(super) fn next(record: &Record, desired: &Desired, target: Seen, now: i64) -> Record {
    let mut new = restarted(record, target, now);
    new.plan = desired.plan.clone();
    new.digest.clone_from(&desired.plan_digest);
    new.rest.clone_from(&desired.tip.rest);
    new.stated = restart::statement(&desired.tip);
    new
}

/// The same with the plan in force: a rollout of what Git already asked for.
pub(super) fn restarted(record: &Record, target: Seen, now: i64) -> Record {
    let epoch = record.epoch.saturating_add(1);
    Record {
        epoch,
        rollout: rollout_id(&target, epoch),
        target,
        mode: Mode::Staged,
        stage: None,
        exposed: None,
        done: false,
        began: now,
        at: now,
        promoted: false,
        hold: None,
        was: None,
        ..record.clone()
    }
}

/// The partition of a plan's first stage.
pub(super) fn first_partition(record: &Record, replicas: u32) -> Partition {
    match record.plan.schedule {
        Schedule::ByHand(partition) => Partition(partition),
        _ => stage::resolve(&record.plan, replicas).first().map_or(Partition(0), |first| first.partition),
    }
}

/// The index of a plan's last stage.
pub(super) fn last_stage(record: &Record, replicas: u32) -> Option<u32> {
    stage::resolve(&record.plan, replicas).last().map(|group| group.last)
}

/// `<hash>-<epoch>`: readable, and another one for every attempt.
fn rollout_id(target: &Seen, epoch: u64) -> String {
    format!("{}-{epoch}", target.hash.short())
}
