//! Takes a running rollout one step further, or says what it waits for.

use jiff::Timestamp;

use super::budget;
use super::frozen;
use super::gate::{self, Answer, Question};
use super::progress::{self, Verdict};
use super::repair::{self, Repair};
use super::request;
use super::stage::{self, Standing};
use super::start::last_stage;
use super::stood;
use super::view::{Case, stage_view};
use crate::model::{
    Decision, Failed, LiveSet, Mode, OnNewRevision, Ordinal, PARKED, Partition, Pause, Phase, Pod, Reason, Record,
    RepairPolicy, Schedule, StageView, WaitingOn,
};

/// A newer revision that does not take over yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// There is none.
    Nobody,
    /// It waits for the end of this rollout.
    Queued,
    /// It waits for a person, and so does this rollout.
    Blocking,
}

/// The partition at which a rollout stands after the set was scaled to `replicas`.
///
/// It follows the share of the current stage, up as well as down. Nothing more is exposed where the rollout is held or
/// has failed; and on the way back, during a first install or by hand it stays where it is.
pub(super) fn follow(record: &Record, replicas: u32) -> Partition {
    if frozen::is_halted(record) {
        return frozen::held(record, replicas);
    }
    if matches!(record.mode, Mode::Back | Mode::Install) || matches!(record.plan.schedule, Schedule::ByHand(_)) {
        return record.partition;
    }
    stage::standing(record, replicas).partition
}

/// Goes on.
pub(super) fn go_on(case: &Case<'_>, behind: Behind) -> Decision {
    let (set, record) = (case.set, case.record);
    if is_scaled_to_zero(case) {
        return promoted_by_scale_to_zero(case);
    }
    if let Some(partition) = left_behind(case) {
        return case
            .say(Phase::Progressing, Reason::WaitingReady)
            .message("a pod below the partition would stay at what is being left: it is taken along")
            .with(case.advance(record.clone(), partition));
    }
    if record.mode == Mode::Install
        && record.hold.is_none()
        && record.partition > Partition(0)
        && set.current_revision != set.update_revision
        && set.observed_generation >= set.generation
        && stood::unrecorded(case, record).is_some()
    {
        return case
            .say(Phase::Progressing, Reason::Starting)
            .message(
                "the controller would make pods of another revision than those that stand: it goes through the plan",
            )
            .with(request::installed(case, record.clone()));
    }
    let followed = follow(record, set.replicas);
    if followed != record.partition || set.partition != Some(followed) {
        return case
            .say(Phase::Progressing, Reason::WaitingReady)
            .message(format!("the set was scaled to {}: the partition follows its stage", set.replicas))
            .with(case.advance(record.clone(), followed));
    }
    let standing = stage::standing(record, set.replicas);
    let question = Question {
        set,
        pods: &case.observed.pods,
        partition: record.partition,
        need: match record.mode {
            Mode::Install => set.replicas,
            Mode::Back => stage::exposed(record.partition, set.replicas),
            Mode::Staged | Mode::Full | Mode::Fast => standing.count,
        },
        soak: match (record.mode, &standing.group) {
            (Mode::Staged, Some(group)) => group.soak,
            _ => 0,
        },
        began: Timestamp::from_second(record.began).unwrap_or(Timestamp::MIN),
        steady: case.steady,
    };
    let answer = gate::ask(question, case.now);
    let verdict = progress::look(record, question, &answer, case.now, &case.observed.progress);
    let mut decision = judge(case, &standing, question, &answer, &verdict, behind);
    decision.progress = verdict.progress;
    decision.stage = Some(match record.mode {
        // A first install has no stages, and neither has the way back: it takes every pod along.
        Mode::Install => whole("install", set, record, answer.verified),
        Mode::Back => whole("back", set, record, answer.verified),
        Mode::Staged | Mode::Full | Mode::Fast => stage_view(&standing, record.partition, answer.verified),
    });
    if decision.culprit.is_none() && !is_halted(&decision) {
        decision.culprit = answer.culprit;
    }
    if let (true, Some(words)) = (decision.actions.is_empty(), superseded(case)) {
        if !decision.message.is_empty() {
            decision.message.push('\n');
        }
        decision.message.push_str(&words);
    }
    decision
}

/// Whether somebody has to decide about a failure: its culprit, if there is one now, is named already.
fn is_halted(decision: &Decision) -> bool {
    decision.waiting_on == Some(WaitingOn::Decision)
}

/// Which pods keep a revision that is neither the target nor stable until their stage comes: after `Restart` there are
/// three.
fn superseded(case: &Case<'_>) -> Option<String> {
    let (set, record) = (case.set, case.record);
    if !matches!(record.mode, Mode::Staged | Mode::Full) || set.observed_generation < set.generation {
        return None;
    }
    let keeps = |pod: &&Pod| {
        !gate::is_exposed(set, record.partition, pod.ordinal)
            && ![&set.update_revision, &set.current_revision].contains(&&pod.revision)
    };
    let names: Vec<String> = gate::own_pods(set, &case.observed.pods)
        .filter(keeps)
        .map(|pod| format!("{}-{} ({})", case.name(), pod.ordinal, pod.revision))
        .collect();
    (!names.is_empty()).then(|| {
        format!("until their stage comes, these pods keep a revision that was superseded: {}", names.join(", "))
    })
}

/// A rollout of one step that is done when every pod is.
fn whole(name: &str, set: &LiveSet, record: &Record, verified: u32) -> StageView {
    StageView { number: 1, of: 1, name: name.into(), count: set.replicas, partition: record.partition, verified }
}

/// The partition of a way back that has a pod below it which is neither at stable nor at what stable is called now;
/// or of a first install that the controller would make at another revision.
fn left_behind(case: &Case<'_>) -> Option<Partition> {
    let (set, record) = (case.set, case.record);
    let held = record.hold.is_some() && record.mode != Mode::Back;
    if held || set.observed_generation < set.generation {
        return None;
    }
    let left = match record.mode {
        Mode::Back => gate::lowest(set, &case.observed.pods, |pod| {
            pod.revision != set.update_revision && pod.revision != *comes_back_at(case)
        }),
        // Where something stands it is no first install any more; see above.
        Mode::Install if stood::unrecorded(case, record).is_some() => None,
        Mode::Install => (set.current_revision != set.update_revision).then_some(Partition(0)),
        Mode::Staged | Mode::Full | Mode::Fast => None,
    };
    left.filter(|left| *left < record.partition)
}

/// The name of stable.
fn comes_back_at<'a>(case: &'a Case<'_>) -> &'a String {
    if case.record.back.is_empty() { &case.set.current_revision } else { &case.record.back }
}

/// Weighs gate, deadline, repair and pause.
fn judge(
    case: &Case<'_>,
    standing: &Standing,
    question: Question<'_>,
    answer: &Answer,
    verdict: &Verdict,
    behind: Behind,
) -> Decision {
    let (record, deadline) = (case.record, verdict.deadline);
    // A hold holds forward moves only: the way back to stable is none.
    if let Some(hold) = record.hold.as_ref().filter(|_| record.mode != Mode::Back) {
        return case.say(Phase::Paused, Reason::PausedByUser).waiting(WaitingOn::Resume).message(format!(
            "paused by {}; `phaseline resume {}` goes on",
            hold.by,
            case.name()
        ));
    }
    if let Some(failed) =
        record.failed.iter().find(|failed| failed.commit == record.target.commit && failed.hash == record.target.hash)
    {
        let mut decision = halted(case, failed);
        // The culprit is the one of now.
        if answer.culprit.is_some() {
            decision.culprit.clone_from(&answer.culprit);
        } else if answer.waiting_on.is_none() {
            let before = if failed.culprit.is_empty() { String::new() } else { format!(" ({})", failed.culprit) };
            decision.culprit = None;
            decision.message = format!(
                "the stage has failed{before}, but its pods are Ready now: `phaseline retry {}` goes on; or `git revert` the \
                 commit and push",
                case.name()
            );
        }
        if behind == Behind::Blocking {
            decision.waiting_on = Some(WaitingOn::NewRevisionDecision);
            decision.message =
                format!("{}; `phaseline resume {}` takes the newer commit", decision.message, case.name());
        }
        return decision;
    }
    // On a way back restarts are nobody's failure: stable may have had its own for years.
    let counted = verdict.restarts.filter(|_| matches!(record.mode, Mode::Staged | Mode::Full));
    if let Some((ordinal, restarts)) = counted.filter(|(_, most)| *most > record.plan.max_restarts) {
        let why = format!("{restarts} restarts");
        return fail(case, Reason::TooManyRestarts, Some((ordinal, why)), answer.waiting_on.clone());
    }
    if let Some(waiting) = &answer.waiting_on {
        let mut decision = case.say(Phase::Progressing, Reason::WaitingReady).waiting(waiting.clone());
        // What time alone will change.
        let mut next = answer.available_at;
        match repair::pick(question, record.plan.repair_policy, &case.observed.progress, case.now) {
            Repair::Delete(action) => {
                return decision.message("a pod that an earlier revision left broken is replaced").with(action);
            }
            Repair::Stuck(ordinal, why) => {
                decision.reason = Reason::StuckPod;
                decision.message = format!("{}-{ordinal} is stuck: {why}", case.name());
                if record.plan.repair_policy == RepairPolicy::None {
                    let namespace = &case.observed.workload.namespace;
                    decision
                        .message
                        .push_str(&format!(": `kubectl delete pod {}-{ordinal} -n {namespace}`", case.name()));
                }
            }
            Repair::From(from) => next = next.into_iter().chain([from]).min(),
            Repair::None | Repair::UnderWay => {}
        }
        if case.now >= deadline {
            let failed = fail(case, Reason::ProgressDeadlineExceeded, answer.culprit.clone(), Some(waiting.clone()));
            // What is only reported may still come right by time alone: a soak ends, a pod counts as broken.
            return next.into_iter().fold(failed, Decision::again);
        }
        return next.into_iter().chain([deadline]).fold(decision, Decision::again);
    }
    if case.observed.pods_behind {
        // What is shown of them may be how they were before our last write (invariant I4).
        return case.say(Phase::Progressing, Reason::WaitingReady).waiting(WaitingOn::FreshPods);
    }
    // What the stage does not wait for is mended all the same: a pause can take days.
    let mended = match repair::pick(question, record.plan.repair_policy, &case.observed.progress, case.now) {
        Repair::Delete(action) => {
            return case
                .say(Phase::Progressing, Reason::WaitingReady)
                .message("a pod that an earlier revision left broken is replaced")
                .with(action);
        }
        Repair::From(from) => Some(from),
        Repair::None | Repair::UnderWay | Repair::Stuck(..) => None,
    };
    let decision = gate_passed(case, standing, answer, deadline, behind);
    mended.into_iter().fold(decision, Decision::again)
}

/// Too many pods are away for more to be exposed; none where it may go on, or a person says so.
fn too_many_away(case: &Case<'_>, to: Partition) -> Option<Decision> {
    let (set, record) = (case.set, case.record);
    if case.forced {
        return None;
    }
    budget::short(case, record.partition, to, Some(&set.update_revision)).map(|short| short.wait(case))
}

/// The stage's pods are all there: wait as the plan says, expose more, or finish.
fn gate_passed(case: &Case<'_>, standing: &Standing, answer: &Answer, deadline: Timestamp, behind: Behind) -> Decision {
    let (set, record) = (case.set, case.record);
    if record.mode == Mode::Staged
        && !record.promoted
        && let Some(decision) = pause(case, standing, answer)
    {
        return decision;
    }
    if behind == Behind::Blocking && !record.promoted {
        return case.say(Phase::Paused, Reason::Superseded).waiting(WaitingOn::NewRevisionDecision).message(format!(
            "a newer commit arrived and the plan says Block: `phaseline resume {0}` takes it, \
                 `phaseline promote {0}` lets this rollout go one stage further",
            case.name()
        ));
    }
    if let Schedule::ByHand(frozen) = record.plan.schedule {
        match record.mode {
            Mode::Staged => return by_hand(case, standing, allowed_by_hand(case, frozen), deadline),
            Mode::Full | Mode::Fast => return by_hand(case, standing, 0, deadline),
            // Nothing is staged: the manifest's partition holds nothing back.
            Mode::Back | Mode::Install => {}
        }
    }
    match (record.mode, &standing.next) {
        (Mode::Staged, Some(next)) => {
            if let Some(decision) = too_many_away(case, next.partition) {
                return decision;
            }
            let mut new = next_stage(case);
            new.stage = Some(next.first);
            expose(case, new, next.partition, &next.name, next.count)
        }
        (Mode::Full | Mode::Fast, Some(_)) => {
            if let Some(decision) = too_many_away(case, Partition(0)) {
                return decision;
            }
            let mut new = next_stage(case);
            new.stage = last_stage(record, set.replicas);
            expose(case, new, Partition(0), "", set.replicas)
        }
        (Mode::Back | Mode::Install, _) | (_, None) => finish(case, deadline),
    }
}

/// The next stage, all but where it is.
fn next_stage(case: &Case<'_>) -> Record {
    Record { exposed: None, promoted: false, at: case.seconds(), ..case.record.clone() }
}

/// The write of a stage.
fn expose(case: &Case<'_>, new: Record, partition: Partition, name: &str, count: u32) -> Decision {
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    case.say(Phase::Progressing, Reason::WaitingReady)
        .message(format!("stage{name}: {count} of {} pods, partition {partition}", case.set.replicas))
        .with(case.advance(new, partition))
}

/// The wait of the stage, if it is not over.
fn pause(case: &Case<'_>, standing: &Standing, answer: &Answer) -> Option<Decision> {
    let group = standing.group.as_ref()?;
    let paused = case.say(Phase::Paused, Reason::StagePaused);
    match group.pause {
        Pause::None => None,
        Pause::UntilPromoted => {
            Some(paused.waiting(WaitingOn::Promotion).message(format!("`phaseline promote {}` goes on", case.name())))
        }
        Pause::Seconds(seconds) => {
            // It begins when the last of the stage's pods became Ready: a restart of ours changes nothing.
            let until = case.steady.passed(answer.latest_ready?, answer.latest_seen, seconds, case.now);
            (until > case.now).then(|| paused.waiting(WaitingOn::Pause { until }).again(until))
        }
    }
}

/// The partition that the manifest states.
fn allowed_by_hand(case: &Case<'_>, frozen: u32) -> u32 {
    match case.desired.map(|desired| &desired.plan.schedule) {
        None => frozen,
        Some(Schedule::ByHand(partition)) => *partition,
        // The partition is gone from the manifest: nothing is held back any more.
        Some(_) => 0,
    }
}

/// Staging by hand: the manifest's partition is how far it may go.
fn by_hand(case: &Case<'_>, standing: &Standing, allowed: u32, deadline: Timestamp) -> Decision {
    let record = case.record;
    if allowed < record.partition.0 {
        if let Some(decision) = too_many_away(case, Partition(allowed)) {
            return decision;
        }
        let mut new = next_stage(case);
        new.plan.schedule = Schedule::ByHand(allowed);
        let count = stage::exposed(Partition(allowed), case.set.replicas);
        return expose(case, new, Partition(allowed), "by hand", count);
    }
    if record.partition.0 == 0 {
        return finish(case, deadline);
    }
    case.say(Phase::Paused, Reason::StagePaused).waiting(WaitingOn::PartitionCommit).message(format!(
        "{} of {} pods run it; a commit that lowers the manifest's partition below {} goes on",
        standing.count, case.set.replicas, record.partition
    ))
}

/// Everything is done: park and record it in one write.
fn finish(case: &Case<'_>, deadline: Timestamp) -> Decision {
    let (set, record) = (case.set, case.record);
    // On a way back stable may have got another name (an upgrade of the control plane); pods that never left it keep
    // the old one, and the controller cannot finish.
    let all = gate::own_pods(set, &case.observed.pods).all(|pod| pod.revision == set.update_revision);
    let stands = record.mode == Mode::Back && set.current_revision == *comes_back_at(case);
    if (!stands || all) && set.current_revision != set.update_revision {
        // Parked before that, a pod that dies would come back at the old revision.
        let waiting = case.say(Phase::Progressing, Reason::WaitingReady).waiting(WaitingOn::ControllerPromotion);
        if case.now >= deadline {
            return fail(case, Reason::ProgressDeadlineExceeded, None, waiting.waiting_on);
        }
        return waiting.again(deadline);
    }
    let (phase, reason) = match record.accepted {
        true => (Phase::Paused, Reason::DriftAccepted),
        false => (Phase::Healthy, completed_reason(record)),
    };
    case.say(phase, reason).with(case.advance(completed(case, record), PARKED))
}

/// How a completed rollout is called.
pub(super) fn completed_reason(record: &Record) -> Reason {
    match record.mode {
        Mode::Back | Mode::Fast => Reason::RolledBack,
        Mode::Staged | Mode::Full | Mode::Install => Reason::Completed,
    }
}

/// The record of a completed rollout.
pub(super) fn completed(case: &Case<'_>, record: &Record) -> Record {
    let (now, replicas) = (case.seconds(), case.set.replicas);
    let mut new = record.clone();
    new.back.clone_from(&case.set.current_revision);
    new.done = true;
    new.stable = Some(new.target.clone());
    new.stage = last_stage(record, replicas);
    new.exposed = None;
    new.promoted = false;
    new.was = None;
    new.at = now;
    if replicas > 0 {
        let hash = new.target.hash.clone();
        new.proven.retain(|proven| *proven != hash);
        new.proven.push(hash);
    }
    // The stable one itself is in the list, beside those that a revert may go back to.
    let keep = usize::try_from(new.plan.rollback_window).unwrap_or(usize::MAX).saturating_add(1);
    let surplus = new.proven.len().saturating_sub(keep.min(Record::MAX_PROVEN));
    new.proven.drain(..surplus);
    new
}

/// A stage has failed. It is recorded where advancing has to stop; a way back is only reported, it may still recover.
fn fail(
    case: &Case<'_>,
    reason: Reason,
    culprit: Option<(Ordinal, String)>,
    waiting_on: Option<WaitingOn>,
) -> Decision {
    let mut decision = case.say(Phase::Degraded, reason).message(advice(case));
    decision.culprit.clone_from(&culprit);
    decision.waiting_on = waiting_on;
    if !matches!(case.record.mode, Mode::Staged | Mode::Full) {
        return decision;
    }
    decision.with(case.note(failed(case.record, reason, named(case, culprit))))
}

/// The record of a failed target.
fn failed(record: &Record, reason: Reason, culprit: String) -> Record {
    let mut new = record.clone();
    new.failed.retain(|failed| failed.commit != new.target.commit || failed.hash != new.target.hash);
    new.failed.push(Failed {
        commit: new.target.commit.clone(),
        hash: new.target.hash.clone(),
        reason: reason.to_string(),
        culprit,
    });
    let surplus = new.failed.len().saturating_sub(Record::MAX_FAILED);
    new.failed.drain(..surplus);
    new
}

/// `web-2: ImagePullBackOff`.
fn named(case: &Case<'_>, culprit: Option<(Ordinal, String)>) -> String {
    culprit.map(|(ordinal, why)| format!("{}-{ordinal}: {why}", case.name())).unwrap_or_default()
}

/// A target that failed stays where it is until somebody decides.
pub(super) fn halted(case: &Case<'_>, failed: &Failed) -> Decision {
    let reason = [Reason::TooManyRestarts, Reason::PromotedByScaleToZero, Reason::StuckPod]
        .into_iter()
        .find(|reason| reason.to_string() == failed.reason)
        .unwrap_or(Reason::ProgressDeadlineExceeded);
    let mut decision = case.say(Phase::Degraded, reason).waiting(WaitingOn::Decision).message(advice(case));
    decision.culprit = failed
        .culprit
        .rsplit_once(": ")
        .and_then(|(pod, why)| Some((Ordinal(pod.rsplit_once('-')?.1.parse().ok()?), why.to_owned())));
    decision
}

/// What a person can do about a failure.
fn advice(case: &Case<'_>) -> String {
    match case.record.mode {
        Mode::Staged | Mode::Full if case.record.plan.on_new_revision == OnNewRevision::Block => format!(
            "advancing has stopped: `git revert` the commit and push, push a fix and let it in with `phaseline resume {0}`, \
             or `phaseline retry {0}`",
            case.name()
        ),
        Mode::Staged | Mode::Full => format!(
            "advancing has stopped: `git revert` the commit and push, push a fix, or `phaseline retry {}`",
            case.name()
        ),
        Mode::Install => "the first pods do not become Ready: push a fix".into(),
        Mode::Back | Mode::Fast => "the way back does not become Ready: look at the pod".into(),
    }
}

/// Whether somebody scaled a half-done rollout to zero. What is on its way to stable, or has none, loses nothing by it.
pub(super) fn is_scaled_to_zero(case: &Case<'_>) -> bool {
    case.set.replicas == 0 && !case.record.done && !matches!(case.record.mode, Mode::Install | Mode::Back)
}

/// The failure of a record whose half-done target a scale to zero has made current for good.
pub(super) fn promoted(record: &Record) -> Option<&Failed> {
    let promoted = Reason::PromotedByScaleToZero.to_string();
    record.failed.iter().find(|failed| {
        record.done
            && failed.commit == record.target.commit
            && failed.hash == record.target.hash
            && failed.reason == promoted
    })
}

/// Scaled to zero by somebody, the controller makes the canary current: then there is nothing left to stage.
fn promoted_by_scale_to_zero(case: &Case<'_>) -> Decision {
    let set = case.set;
    let question = Question {
        set,
        pods: &case.observed.pods,
        partition: PARKED,
        need: 0,
        soak: 0,
        began: Timestamp::MIN,
        steady: case.steady,
    };
    let unpromoted = (set.current_revision != set.update_revision).then_some(WaitingOn::ControllerPromotion);
    if let Some(waiting) = gate::ask(question, case.now).waiting_on.or(unpromoted) {
        // Scaled up again before that, the rollout goes on as if nothing had been.
        return case
            .say(Phase::Degraded, Reason::PromotedByScaleToZero)
            .waiting(waiting)
            .message("somebody scales the half-done rollout to zero");
    }
    let mut new = failed(case.record, Reason::PromotedByScaleToZero, String::new());
    (new.done, new.exposed) = (true, None);
    new.was = new.stable.take();
    // It is what pods come back at from now on; proven it is not.
    new.stable = Some(new.target.clone());
    new.back.clone_from(&set.current_revision);
    case.say(Phase::Degraded, Reason::PromotedByScaleToZero)
        .message("somebody scaled the half-done rollout to zero, which makes its target the current revision for good")
        .with(case.advance(new, PARKED))
}
