//! Decides the next actions of one workload.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::frozen::Frozen;
use super::running::{self, Behind};
use super::start::{self, Entry, Meeting};
use super::steady::{self, Steady};
use super::view::{Case, say};
use super::{adopt, drift, forward, gate, recreate, renew, request, rest};
use crate::model::{
    Action, ApplyKind, Decision, Desired, FieldOwner, LiveSet, Mode, Observed, Ordinal, Phase, Problem, Reason,
    RecordState, SeenReady, Version, WaitingOn, Wanted,
};

/// Decides what to do about one workload, and says how it is.
///
/// Pure and total: the same facts give the same decision, whenever and wherever the process was started.
/// At most one write to the set comes out; the next look decides on the next one.
pub fn decide(wanted: &Wanted<'_>, observed: &Observed, now: Timestamp) -> Decision {
    if let Some(message) = &observed.forbidden {
        return say(observed, Phase::Blocked, Reason::Forbidden)
            .waiting(WaitingOn::Correction)
            .message(message.clone());
    }
    let ready = observed.set.as_ref().and_then(|set| steady::remember(set, observed, now));
    let mut decision = forward::finish(look(wanted, observed, ready.as_ref(), now), wanted, observed);
    decision.progress.ready = ready;
    say_skew(&mut decision, observed.pace.ahead_seconds);
    if let Some(seconds) = observed.stale_seconds {
        say_stale(&mut decision, seconds);
    }
    decision
}

/// Puts off whatever was to be done, and does not say of what is under way how it is: nobody knows. What rests, or waits
/// for somebody, is as it was.
fn say_stale(decision: &mut Decision, seconds: u32) {
    if decision.actions.is_empty() && decision.phase != Phase::Progressing {
        let said = std::mem::take(&mut decision.message);
        decision.message = joined(said, format!("so it was {seconds} s ago: nothing was heard from the cluster since"));
        return;
    }
    decision.actions.clear();
    decision.phase = Phase::Progressing;
    decision.reason = Reason::ViewStale;
    decision.waiting_on = Some(WaitingOn::FreshView);
    decision.message = format!("nothing was heard from the cluster for {seconds} s: not acting on old news");
}

/// How many seconds a clock may be wrong before it is worth a word.
const SKEW_SAID: i64 = 30;

/// Says that the daemon's clock is wrong: nothing depends on it, but its log does, and whoever reads that.
fn say_skew(decision: &mut Decision, ahead_seconds: i64) {
    if ahead_seconds.abs() <= SKEW_SAID {
        return;
    }
    let (seconds, side) = (ahead_seconds.abs(), if ahead_seconds > 0 { "ahead of" } else { "behind" });
    let said = std::mem::take(&mut decision.message);
    decision.message = joined(
        said,
        format!("the daemon's clock is {seconds} s {side} the API server's, whose time is used; check NTP on its node"),
    );
}

fn look(
    wanted: &Wanted<'_>,
    observed: &Observed,
    ready: Option<&BTreeMap<Ordinal, SeenReady>>,
    now: Timestamp,
) -> Decision {
    let (desired, problem) = match wanted {
        Wanted::Is(desired, problem) => (Some(*desired), *problem),
        Wanted::Broken(problem) => (None, Some(*problem)),
        Wanted::Unknown | Wanted::Absent => (None, None),
    };
    let Some(set) = &observed.set else { return missing(desired, problem, observed, now) };
    if set.terminating {
        return say(observed, Phase::Progressing, Reason::Terminating)
            .waiting(WaitingOn::SetGone)
            .message("the set is being deleted");
    }
    let decision = match &set.record {
        RecordState::Absent => adopt::look(desired, observed, set, now.as_second()),
        RecordState::Unreadable(why) => request::without_record(observed, set, why),
        RecordState::Is(record, text) => {
            let steady = Steady { pace: observed.pace, ready };
            let case = Case { desired, observed, set, record, text, now, steady, forced: false };
            match forward::look(&case) {
                // What is wrong with a commit that may be an old one is nobody's business.
                Some(decision) => return decision,
                None => forward::take_rewritten(&case, owned(&case, matches!(wanted, Wanted::Absent))),
            }
        }
    };
    with_trouble(decision, problem, observed)
}

/// A set that is not there.
fn missing(desired: Option<&Desired>, problem: Option<&Problem>, observed: &Observed, now: Timestamp) -> Decision {
    if let Some((reason, message)) = &observed.refused {
        return say(observed, Phase::Blocked, *reason).waiting(WaitingOn::Correction).message(message.clone());
    }
    let Some(desired) = desired else {
        let message = problem.map_or_else(|| "there is no such set".into(), words_of);
        let reason = if problem.is_some() { Reason::InvalidManifest } else { Reason::Missing };
        return say(observed, Phase::Blocked, reason).waiting(WaitingOn::Correction).message(message);
    };
    if !observed.pods.is_empty() {
        return recreate::left_alone(desired, observed, now);
    }
    say(observed, Phase::Progressing, Reason::Installing)
        .message("the set is created")
        .with(start::create(desired, now.as_second()))
}

/// A set with a record of ours; first with its digests as we make them, in whatever is written next.
fn owned(case: &Case<'_>, orphaned: bool) -> Decision {
    let Some(renewed) = renew::renewed(case) else { return with_record(case, orphaned) };
    let mut decision = with_record(&Case { record: &renewed, ..*case }, orphaned);
    if decision.actions.is_empty() && decision.waiting_on != Some(WaitingOn::FreshPods) {
        decision = decision.with(case.note(renewed));
    }
    decision.message = joined(renew::WORDS.into(), decision.message);
    decision
}

fn with_record(case: &Case<'_>, orphaned: bool) -> Decision {
    let (set, record) = (case.set, case.record);
    let refused = case.observed.refused.is_some();
    let behind = behind(case);
    let drift = drift::find(set, record, stated(case));
    let frozen = if orphaned { Some(Frozen::Orphaned(drift)) } else { drift.map(Frozen::Drifted) };
    if let Some(decision) = request::look(case, behind, frozen.as_ref()) {
        return decision;
    }
    if let Some(frozen) = frozen {
        return frozen.look(case);
    }
    if let (Some((Reason::Drifted, message)), true) = (&case.observed.refused, record.done) {
        return case.say(Phase::Degraded, Reason::Drifted).waiting(WaitingOn::DriftDecision).message(message.clone());
    }
    if let Some(wish) = drift::restart_wished(set, record) {
        return request::restart(case, wish);
    }
    // What the server refused is not sent again: the last good state stays in force.
    match case.desired.filter(|_| !refused) {
        Some(desired) => asked_for(case, desired, behind),
        None => go_on(case, Behind::Nobody),
    }
}

/// The replicas that the manifest in force states, for the search for drift.
///
/// None where a half-done rollout is scaled to zero: that is worse than a drift, and has a name of its own.
pub(super) fn stated(case: &Case<'_>) -> Option<u32> {
    let record = case.record;
    if running::is_scaled_to_zero(case) || running::promoted(record).is_some() {
        return None;
    }
    case.desired.filter(|desired| desired.tip.is_rest(&record.rest)).and_then(|desired| desired.tip.replicas)
}

/// Whether a newer revision waits behind the running rollout.
fn behind(case: &Case<'_>) -> Behind {
    let (Some(desired), false) = (case.desired, case.record.done) else { return Behind::Nobody };
    let target = start::tip(desired, &case.set.restarted_at, Some(case.record));
    if target.same_pods(&case.record.target) {
        return Behind::Nobody;
    }
    match start::meet(case, desired, case.record, &target) {
        Meeting::Queue => Behind::Queued,
        Meeting::Block => Behind::Blocking,
        Meeting::Enter(_) | Meeting::Barred => Behind::Nobody,
    }
}

/// Takes the running rollout further, or looks at the set at rest.
fn go_on(case: &Case<'_>, behind: Behind) -> Decision {
    if case.record.done { rest::at_rest(case) } else { running::go_on(case, behind) }
}

/// Compares what Git asks for with what is in force.
fn asked_for(case: &Case<'_>, desired: &Desired, behind: Behind) -> Decision {
    let (set, record) = (case.set, case.record);
    if running::is_scaled_to_zero(case) {
        // Before a newer commit takes over: what the controller has made current is on the record first.
        return go_on(case, behind);
    }
    let target = start::tip(desired, &set.restarted_at, Some(record));
    let same = target.same_pods(&record.target);
    let sync_due = !desired.tip.is_rest(&record.rest);
    if same && !sync_due {
        if !record.done && start::has_failed(record, &record.target) && target.commit != record.target.commit {
            return another_try(case, desired);
        }
        return note_plan(case, desired, go_on(case, behind));
    }
    let pending = desired.tip.commit.id.to_string();
    if let Some((reason, message)) = forbidden(case, &desired.tip) {
        // What cannot be carried out stops nothing that can.
        let message = format!("commit {} is refused ({reason}): {message}", desired.tip.commit.id.short());
        let mut decision = beside(go_on(case, behind), reason, message);
        decision.pending = Some(pending);
        return decision;
    }
    if same && !record.accepted {
        return match request::stable_again(case, desired, record, ApplyKind::Sync) {
            Some(Ok(decision)) => decision,
            Some(Err(why)) => {
                let mut decision = go_on(case, behind);
                decision.message = joined(decision.message, why);
                decision.pending = Some(pending);
                decision
            }
            None => scaled_or_labelled(case, desired, &desired.tip),
        };
    }
    // A hold holds forward moves: the way back to stable is none.
    let meeting = Some(start::meet(case, desired, record, &target))
        .filter(|meeting| record.hold.is_none() || *meeting == Meeting::Enter(Entry::Back));
    if let Some(Meeting::Enter(entry)) = meeting {
        let by_pods = entry == Entry::Install || (entry == Entry::Staged && !start::is_proven(record));
        if by_pods && start::is_late(case) {
            // Everything is exposed at once only where nothing is known to stand.
            return case.say(Phase::Progressing, Reason::WaitingReady).waiting(WaitingOn::FreshPods);
        }
        return begin(case, desired, entry);
    }
    // The new template waits; everything else of the commit does not.
    let mut decision = if sync_due && target.hash != record.target.hash {
        match desired.target.as_ref().filter(|version| version.hash == record.target.hash) {
            Some(in_force) => scaled_or_labelled(case, desired, in_force),
            None => {
                let mut decision = go_on(case, behind);
                decision
                    .message
                    .push_str("; Git has the commit in force no more, so the rest of the new one waits too");
                decision
            }
        }
    } else {
        go_on(case, behind)
    };
    if decision.actions.is_empty() && decision.reason == Reason::ProgressDeadlineExceeded {
        match meeting {
            // What has failed has ended; a way back records no failure, so it is seen here.
            Some(Meeting::Queue) => return begin(case, desired, Entry::Continue),
            Some(Meeting::Block) => decision.waiting_on = Some(WaitingOn::NewRevisionDecision),
            Some(Meeting::Enter(_) | Meeting::Barred) | None => {}
        }
    }
    let short = desired.tip.commit.id.short();
    decision.pending = Some(pending);
    match meeting {
        Some(Meeting::Barred) => {
            let name = case.name();
            if decision.phase == Phase::Healthy {
                (decision.phase, decision.reason) = (Phase::Degraded, Reason::Superseded);
                decision.waiting_on = Some(WaitingOn::Decision);
            }
            decision.message = joined(
                decision.message,
                format!("commit {short} failed before and is not tried again: `phaseline retry {name}`"),
            );
        }
        Some(Meeting::Queue) => {
            decision.message = joined(decision.message, format!("commit {short} waits for the running rollout to end"));
        }
        Some(Meeting::Block) | None => {
            decision.message = joined(decision.message, format!("commit {short} waits"));
        }
        Some(Meeting::Enter(_)) => {}
    }
    decision
}

fn joined(before: String, more: String) -> String {
    match (before.is_empty(), more.is_empty()) {
        (true, _) => more,
        (false, true) => before,
        (false, false) => format!("{before}; {more}"),
    }
}

/// Starts the rollout of the tip.
fn begin(case: &Case<'_>, desired: &Desired, entry: Entry) -> Decision {
    let set = case.set;
    // A set that was made again over its pods, and that its controller has not looked at yet.
    let unclaimed = !case.observed.pods.is_empty() && gate::own_pods(set, &case.observed.pods).next().is_none();
    if case.record.done && (set.observed_generation == 0 || (set.replicas > 0 && unclaimed)) {
        return case
            .say(Phase::Progressing, Reason::Starting)
            .waiting(WaitingOn::FreshPods)
            .message("the controller has not taken the pods over yet");
    }
    let stale = set.replicas > 0
        && case.record.done
        && !case.observed.pods.is_empty()
        && gate::own_pods(set, &case.observed.pods).all(|pod| pod.revision != set.current_revision);
    if stale {
        return case.say(Phase::Blocked, Reason::StaleCurrentRevision).waiting(WaitingOn::Correction).message(format!(
            "no pod runs the set's current revision {}: a pod that dies during a rollout would come back at it; \
                 let the controller finish an update with partition 0 first",
            set.current_revision
        ));
    }
    let action = start::begin(case, desired, case.record, entry);
    let words = match entry {
        Entry::Back if case.record.hold.is_some() => {
            "the commit goes back to the stable revision: exposed pods go back; the pause holds what comes after"
        }
        Entry::Back => "the commit goes back to the stable revision: exposed pods go back, nothing more is exposed",
        Entry::Fast => "the commit goes back to a proven revision: pauses and soaks are skipped",
        Entry::Continue => "a new revision takes over the exposed pods",
        Entry::Restart => "a new revision starts from the first stage",
        Entry::Install => "no pod of it ever was Ready: installed again",
        Entry::Staged => "a new revision is rolled out",
    };
    let mut decision = if case.observed.sight.is_rewritten() {
        let message = format!("Git's history was rewritten, and the repository has said so for a while: {words}");
        case.say(Phase::Progressing, Reason::SourceRewritten).message(message)
    } else {
        case.say(Phase::Progressing, Reason::Starting).message(words)
    };
    decision.pending = Some(desired.tip.commit.id.to_string());
    with_handover(case, desired, action, decision)
}

/// Applies everything but the template.
fn scaled_or_labelled(case: &Case<'_>, desired: &Desired, template_of: &Version) -> Decision {
    let replicas = desired.tip.replicas.unwrap_or(case.set.replicas);
    let partition = request::partition_at(case.record, replicas);
    let action = start::sync(case, ApplyKind::Sync, &desired.tip, template_of, case.set, case.record, partition);
    let decision =
        case.say(Phase::Progressing, Reason::Starting).message("replicas or metadata of the commit are applied");
    with_handover(case, desired, action, decision)
}

/// Puts a handover before an apply that drops `replicas`.
///
/// Dropped by its only owner the field would be reset to 1, and claims with it.
pub(super) fn with_handover(case: &Case<'_>, desired: &Desired, action: Action, decision: Decision) -> Decision {
    let owned_by = |who: fn(&FieldOwner) -> bool| case.set.owners.iter().any(|owner| owner.replicas && who(owner));
    let ours_alone = owned_by(|owner| owner.manager == FieldOwner::DAEMON && owner.apply)
        && !owned_by(|owner| owner.manager != FieldOwner::DAEMON);
    if desired.tip.replicas.is_none() && ours_alone {
        return decision
            .message("replicas are handed over: the manifest leaves them to others")
            .with(Action::HandOverReplicas { replicas: case.set.replicas, base: case.base() });
    }
    decision.with(action)
}

/// What is not carried out, whoever asks.
pub(super) fn forbidden(case: &Case<'_>, tip: &Version) -> Option<(Reason, String)> {
    let (set, record) = (case.set, case.record);
    if tip.replicas == Some(0) && set.replicas > 0 && !record.done && record.mode != Mode::Install {
        let words = "the commit scales to zero in the middle of a rollout, which would make the canary current for \
                     good; it is carried out when the rollout has ended, or revert the rollout first";
        return Some((Reason::ScaleToZero, words.to_owned()));
    }
    let removed = claims_removed(case.observed, set, tip);
    if removed.is_empty() || tip.allow_claim_deletion {
        return None;
    }
    let words = format!(
        "the scale-down would delete the claims {} (whenScaled: Delete); say \
         `phaseline.dev/allow-claim-deletion: \"true\"` in the manifest or the commit message if that is meant",
        removed.join(", ")
    );
    Some((Reason::ClaimDeletion, words))
}

/// The claims that the manifest's own retention policy would delete, by name.
pub fn claims_removed(observed: &Observed, set: &LiveSet, tip: &Version) -> Vec<String> {
    let replicas = tip.replicas.unwrap_or(set.replicas);
    if !tip.deletes_claims_when_scaled {
        return Vec::new();
    }
    let kept = tip.start..tip.start.saturating_add(replicas);
    gate::ordinals(set)
        .filter(|ordinal| !kept.contains(&ordinal.0))
        .flat_map(|ordinal| {
            set.claim_templates.iter().map(move |claim| format!("{claim}-{}-{ordinal}", observed.workload.name))
        })
        .collect()
}

/// A new commit with the template of a failed one is a decision: it is tried.
fn another_try(case: &Case<'_>, desired: &Desired) -> Decision {
    let mut new = case.record.clone();
    new.target.commit = desired.tip.commit.id.clone();
    (new.at, new.promoted) = (case.seconds(), false);
    case.say(Phase::Progressing, Reason::WaitingReady)
        .message("a new commit brings the template that failed before: it is tried again")
        .with(case.note(new))
}

/// Says that an edited plan waits.
fn note_plan(case: &Case<'_>, desired: &Desired, mut decision: Decision) -> Decision {
    if !case.record.done && desired.plan_digest != case.record.digest {
        let by_hand = matches!(
            (&case.record.plan.schedule, &desired.plan.schedule),
            (crate::model::Schedule::ByHand(_), crate::model::Schedule::ByHand(_))
        );
        if !by_hand {
            decision.message = joined(
                decision.message,
                format!(
                    "a newer plan waits for the next rollout; `phaseline resume {} --replan` takes it",
                    case.name()
                ),
            );
        }
    }
    decision
}

/// Adds what the server refused, or what is wrong with the newest commit.
fn with_trouble(decision: Decision, problem: Option<&Problem>, observed: &Observed) -> Decision {
    let (reason, message) = match (&observed.refused, problem) {
        (Some((reason, message)), _) => (*reason, message.clone()),
        (None, Some(problem)) => (Reason::InvalidManifest, words_of(problem)),
        (None, None) => return decision,
    };
    if !decision.actions.is_empty() || (reason, decision.reason) == (Reason::Drifted, Reason::Drifted) {
        return decision;
    }
    let mut decision = beside(decision, reason, message);
    if (reason, decision.phase) == (Reason::Drifted, Phase::Degraded) {
        // What stands still anyway waits for the decision about that.
        (decision.reason, decision.waiting_on) = (reason, Some(WaitingOn::DriftDecision));
    }
    decision
}

/// Shows what is refused beside what goes on all the same; where nothing does, it is how the set is.
fn beside(mut decision: Decision, reason: Reason, message: String) -> Decision {
    if decision.phase == Phase::Healthy && decision.actions.is_empty() {
        (decision.phase, decision.reason) = (Phase::Blocked, reason);
        decision.waiting_on = Some(WaitingOn::Correction);
    }
    // Two things, two sentences: what is waited for, and what was refused.
    if !decision.message.is_empty() {
        decision.message.push('\n');
    }
    decision.message.push_str(&message);
    decision
}

fn words_of(problem: &Problem) -> String {
    problem.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
