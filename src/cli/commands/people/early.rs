//! Refuses early what is plain from the cluster, in the words that the daemon would use.

use jiff::Timestamp;

use crate::cli::{foresee, repository};
use crate::model::{Action, Observed, OnNewRevision, Record, RecordState, Request, Schedule, Verb, Wanted};
use crate::rollout::decide;

/// Why a request would be refused; none where it would not, or where it depends on what Git says.
pub(super) fn refusal(observed: &Observed, request: &Request, now: Timestamp) -> Option<String> {
    let name = &observed.workload.name;
    let set = observed.set.as_ref()?;
    match (&set.record, request.verb) {
        (RecordState::Absent, Verb::Adopt) => foresee::obstacle(&repository::without_request(observed), now),
        (RecordState::Absent, _) => Some(format!("it is not managed by phaseline: `phaseline adopt {name}` first")),
        (RecordState::Unreadable(_), Verb::Release) => None,
        (RecordState::Unreadable(why), _) => {
            Some(format!("the annotation {} cannot be read: {why}", Record::ANNOTATION))
        }
        (RecordState::Is(record, _), verb) if is_plain(record, verb) => ask(observed, request, now),
        (RecordState::Is(..), _) => None,
    }
}

/// Whether the answer is the same whatever Git says.
fn is_plain(record: &Record, verb: Verb) -> bool {
    let alone =
        record.plan.on_new_revision != OnNewRevision::Block && !matches!(record.plan.schedule, Schedule::ByHand(_));
    match verb {
        Verb::Pause => true,
        // A daemon that follows another repository may be to take it.
        Verb::Adopt => record.src.is_none(),
        // A newer commit may be what is waited for.
        Verb::Promote | Verb::PromoteFull => alone || record.done,
        Verb::Resume => alone || record.hold.is_some(),
        Verb::Retry => record.failed.is_empty(),
        Verb::ResumeOverwrite | Verb::ResumeAccept | Verb::ResumeReplan | Verb::Release => false,
    }
}

/// Asks the rules as the daemon will.
fn ask(observed: &Observed, request: &Request, now: Timestamp) -> Option<String> {
    let mut observed = observed.clone();
    observed.set.as_mut()?.request = Some(Ok(request.clone()));
    decide(&Wanted::Unknown, &observed, now).actions.iter().find_map(|action| match action {
        Action::Patch { record, .. } => {
            let answer = record.req.as_ref().filter(|answer| answer.id == request.id)?;
            Some(answer.refused.clone()).filter(|why| !why.is_empty())
        }
        _ => None,
    })
}
