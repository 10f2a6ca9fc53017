//! Looks at a set whose rollout is over: nothing is written, its pods are watched.

use jiff::Timestamp;

use super::gate::{self, Question};
use super::running::{completed_reason, halted, promoted};
use super::view::Case;
use crate::model::{Decision, PARKED, Phase, Pod, Reason, WaitingOn};

/// Says how the set is.
pub(super) fn at_rest(case: &Case<'_>) -> Decision {
    let (set, record) = (case.set, case.record);
    let name = case.name();
    if let Some(failed) = promoted(record) {
        let back = if record.was.as_ref().is_some_and(|was| !was.commit.0.is_empty()) && set.replicas == 0 {
            format!("`phaseline resume {name} --overwrite` goes back to the stable revision and begins anew, ")
        } else {
            String::new()
        };
        return halted(case, failed).message(format!(
            "somebody scaled the half-done rollout to zero, which made its target the current revision: {back}\
             `phaseline retry {name}` takes it as it is"
        ));
    }
    if let (Some(pod), false) = (foreign(case), case.observed.pods_behind) {
        let mut decision = case.say(Phase::Degraded, Reason::Drifted).waiting(WaitingOn::DriftDecision);
        decision.culprit = Some((pod.ordinal, format!("runs {}", pod.revision)));
        return decision.message(format!(
            "{name}-{} runs {}, which is not the revision in force: somebody changed the template and put it back; \
             `phaseline resume {name} --overwrite` brings such pods back",
            pod.ordinal, pod.revision
        ));
    }
    let question = Question {
        set,
        pods: &case.observed.pods,
        partition: PARKED,
        need: 0,
        soak: 0,
        began: Timestamp::MIN,
        steady: case.steady,
    };
    let answer = gate::ask(question, case.now);
    let Some(waiting) = answer.waiting_on else {
        return match &record.hold {
            Some(hold) => case.say(Phase::Paused, Reason::PausedByUser).waiting(WaitingOn::Resume).message(format!(
                "paused by {}; `phaseline resume {}` goes on",
                hold.by,
                case.name()
            )),
            None if record.accepted => {
                case.say(Phase::Paused, Reason::DriftAccepted).waiting(WaitingOn::DriftDecision).message(format!(
                    "the live template is not Git's, and was taken as it is: commit it, or put Git's back with \
                     `phaseline resume {name} --overwrite`"
                ))
            }
            None => case.say(Phase::Healthy, completed_reason(record)),
        };
    };
    // A pod that is away for longer than a stage may take is no hiccup any more.
    let since = gate::own_pods(set, &case.observed.pods)
        .filter(|pod| !pod.ready)
        .map(|pod| pod.ready_since.unwrap_or(pod.created).max(pod.created))
        .min();
    let late = since.map(|since| gate::after(since, i64::from(record.plan.progress_deadline_seconds)));
    let mut decision = match late {
        Some(late) if late <= case.now => case.say(Phase::Degraded, Reason::StuckPod),
        Some(late) => case.say(Phase::Progressing, Reason::WaitingReady).again(late),
        None => case.say(Phase::Progressing, Reason::WaitingReady),
    };
    if let Some(available) = answer.available_at {
        decision = decision.again(available);
    }
    decision.culprit = answer.culprit;
    if let Some(hold) = &record.hold {
        decision = decision.message(format!("paused by {}; `phaseline resume {}` goes on", hold.by, case.name()));
    }
    decision.waiting(waiting)
}

/// A pod of a set at rest that runs neither the current revision nor the one that the set would bring.
pub(super) fn foreign<'a>(case: &'a Case<'_>) -> Option<&'a Pod> {
    let (set, record) = (case.set, case.record);
    if !record.done || set.observed_generation < set.generation {
        return None;
    }
    gate::own_pods(set, &case.observed.pods)
        .find(|pod| !pod.terminating && pod.revision != set.current_revision && pod.revision != set.update_revision)
}
