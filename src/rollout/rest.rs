//! Looks at a set whose rollout is over: nothing is written, its pods are watched.

use jiff::Timestamp;

use super::gate::{self, Question};
use super::running::{completed_reason, halted};
use super::view::Case;
use crate::model::{Decision, PARKED, Phase, Reason, WaitingOn};

/// Says how the set is.
pub(super) fn at_rest(case: &Case<'_>) -> Decision {
    let (set, record) = (case.set, case.record);
    let promoted = Reason::PromotedByScaleToZero.to_string();
    if let Some(failed) = record.failed.iter().find(|failed| {
        failed.commit == record.target.commit && failed.hash == record.target.hash && failed.reason == promoted
    }) {
        return halted(case, failed).message(format!(
            "somebody scaled the half-done rollout to zero, which made its target the current revision; \
             look at it, then `phaseline retry {}` takes it as it is",
            case.name()
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
