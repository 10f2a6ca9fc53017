//! Forward in Git only: a set of another source is let be, and nothing is done on a view of Git that is older than the
//! set, or that nobody has confirmed.

use super::drift;
use super::frozen::{self, Frozen};
use super::request::{self, answered};
use super::running::Behind;
use super::view::Case;
use crate::model::{
    Action, Decision, Lineage, Observed, Origin, Phase, Reason, Record, RecordState, Verb, WaitingOn, Wanted,
};

/// Looks at whose the set is and how new the view of Git. None: it may be decided on.
pub(super) fn look(case: &Case<'_>) -> Option<Decision> {
    let sight = &case.observed.sight;
    if let Some((ours, theirs)) = sight.elsewhere(case.record) {
        return Some(elsewhere(case, ours, theirs));
    }
    sight.is_behind().then(|| behind(case))
}

/// A set that is rolled out from another place: nothing is written, and nothing answered but a wish to move it over.
fn elsewhere(case: &Case<'_>, ours: &Origin, theirs: &Origin) -> Decision {
    let (sight, id) = (&case.observed.sight, &case.observed.workload);
    let adopt = case.set.request.as_ref().and_then(|request| request.as_ref().ok()).filter(|request| {
        let answered = case.record.req.as_ref().is_some_and(|answer| answer.id == request.id);
        request.verb == Verb::Adopt && !answered && request::is_valid(request)
    });
    if let (Some(request), Some(_), true) = (adopt, case.desired, sight.confirmed) {
        let mut new = answered(case.record, request);
        (new.src, new.mark) = (Some(ours.clone()), sight.tip.clone());
        return case
            .say(Phase::Progressing, Reason::Starting)
            .message(format!("the set is moved over from {}", theirs.shown()))
            .with(case.note(new));
    }
    case.say(Phase::Blocked, Reason::OtherSource).waiting(WaitingOn::Adoption).message(format!(
        "the set is rolled out from {}, and this daemon follows {}: nothing is written; `phaseline adopt {} -n {}` \
         moves it over",
        theirs.shown(),
        ours.shown(),
        id.name,
        id.namespace
    ))
}

/// A view of Git that is older than the set: everything stays as it is until there is a newer one.
fn behind(case: &Case<'_>) -> Decision {
    let drift = drift::find(case.set, case.record, None);
    let needs_no_git = match &case.set.request {
        Some(Ok(request)) => matches!(request.verb, Verb::Pause | Verb::Release),
        Some(Err(_)) => true,
        None => false,
    };
    if needs_no_git {
        let blind = Case { desired: None, ..*case };
        if let Some(decision) = request::look(&blind, Behind::Nobody, drift.clone().map(Frozen::Drifted).as_ref()) {
            return decision;
        }
    }
    let decision =
        case.say(Phase::Progressing, Reason::SourceBehind).waiting(WaitingOn::Source).message(why_behind(case));
    frozen::added(case, drift.as_ref()).into_iter().fold(decision, Decision::with)
}

fn why_behind(case: &Case<'_>) -> String {
    let (sight, mark) = (&case.observed.sight, case.record.mark().short());
    if sight.tip.0.is_empty() {
        let trouble = because(&sight.trouble);
        return format!("the repository could not be read since the daemon was started{trouble}: nothing is rolled");
    }
    let tip = sight.tip.short();
    let how = match sight.lineage {
        Lineage::Behind => format!("the set is at commit {mark}, which is newer than {tip}"),
        Lineage::Unknown => format!("the set is at commit {mark}, which is not in the history of {tip} as it is known"),
        Lineage::Aside | Lineage::Onward => format!("the set is at commit {mark}, which {tip} does not descend from"),
    };
    let then = if sight.trouble.is_empty() {
        "if the repository keeps saying so it was rewritten, and counts".to_owned()
    } else {
        format!("it waits for the repository{}", because(&sight.trouble))
    };
    format!("{how}: nothing is rolled; {then}")
}

fn because(trouble: &str) -> String {
    if trouble.is_empty() { String::new() } else { format!(" ({trouble})") }
}

/// Notes that a rewritten history counts where it asks for nothing else: from then on it is what is looked back to.
pub(super) fn take_rewritten(case: &Case<'_>, mut decision: Decision) -> Decision {
    let sight = &case.observed.sight;
    let Some(desired) = case.desired.filter(|_| sight.is_rewritten() && decision.actions.is_empty()) else {
        return decision;
    };
    if desired.tip.hash != case.record.target.hash || desired.tip.rest != case.record.rest {
        return decision;
    }
    decision.message =
        format!("Git's history was rewritten: {} counts now, and asks for what is there", sight.tip.short());
    decision.with(case.note(Record { mark: sight.tip.clone(), ..case.record.clone() }))
}

/// Holds back what an unconfirmed view asks for, and notes in each record whose it is and as of which commit.
pub(super) fn finish(mut decision: Decision, wanted: &Wanted<'_>, observed: &Observed) -> Decision {
    let sight = &observed.sight;
    let before = match observed.set.as_ref().map(|set| &set.record) {
        Some(RecordState::Is(record, _)) => Some(&**record),
        Some(RecordState::Absent | RecordState::Unreadable(_)) | None => None,
    };
    if !sight.confirmed && decision.actions.iter().any(|action| brings_git(action, before)) {
        decision.actions.clear();
        (decision.phase, decision.reason) = (Phase::Progressing, Reason::SourceBehind);
        decision.waiting_on = Some(WaitingOn::Source);
        decision.message = format!(
            "commit {} is not acted on before the repository was read once since the daemon was started{}",
            sight.tip.short(),
            because(&sight.trouble)
        );
    }
    let Some(origin) = &sight.origin else { return decision };
    let named = matches!(wanted, Wanted::Is(..));
    for action in &mut decision.actions {
        let brings = brings_git(action, before);
        if let Some(record) = record_of(action) {
            if brings && named {
                record.mark = sight.tip.clone();
            }
            if named && (brings || record.src.is_none()) && sight.elsewhere(record).is_none() {
                record.src = Some(origin.clone());
            }
        }
    }
    decision
}

/// Whether an action writes something of Git's that is not in force yet.
fn brings_git(action: &Action, before: Option<&Record>) -> bool {
    match action {
        Action::Apply { .. } | Action::HandOverReplicas { .. } | Action::Adopt { .. } => true,
        Action::Patch { record, .. } => before.is_none_or(|before| {
            let of = |record: &Record| (record.target.commit.clone(), record.target.hash.clone());
            of(record) != of(before) || record.plan != before.plan || record.digest != before.digest
        }),
        Action::HoldBack { .. } | Action::DeletePod { .. } | Action::Release { .. } | Action::DropRequest { .. } => {
            false
        }
    }
}

fn record_of(action: &mut Action) -> Option<&mut Record> {
    match action {
        Action::Apply { record, .. } | Action::Patch { record, .. } | Action::Adopt { record, .. } => Some(record),
        Action::HandOverReplicas { .. }
        | Action::HoldBack { .. }
        | Action::DeletePod { .. }
        | Action::Release { .. }
        | Action::DropRequest { .. } => None,
    }
}
