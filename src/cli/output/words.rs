//! Words for decisions: what is waited for, what is about to be done.

use crate::model::{Action, ApplyKind, LiveSet, PARKED, Partition, RecordState, Request, Verb, WaitingOn};

/// The name of what is waited for, as `-o json` has it.
pub(crate) fn kind(waiting: &WaitingOn) -> &'static str {
    match waiting {
        WaitingOn::ObservedGeneration { .. } => "ObservedGeneration",
        WaitingOn::PodCreated { .. } => "PodCreated",
        WaitingOn::PodUpdated { .. } => "PodUpdated",
        WaitingOn::PodGone { .. } => "PodGone",
        WaitingOn::PodReady { .. } => "PodReady",
        WaitingOn::PodAvailable { .. } => "PodAvailable",
        WaitingOn::PodCount { .. } => "PodCount",
        WaitingOn::ControllerPromotion => "ControllerPromotion",
        WaitingOn::Pause { .. } => "Pause",
        WaitingOn::Promotion => "Promotion",
        WaitingOn::Resume => "Resume",
        WaitingOn::Decision => "Decision",
        WaitingOn::DriftDecision => "DriftDecision",
        WaitingOn::NewRevisionDecision => "NewRevisionDecision",
        WaitingOn::PartitionCommit => "PartitionCommit",
        WaitingOn::Adoption => "Adoption",
        WaitingOn::Correction => "Correction",
        WaitingOn::FreshView => "FreshView",
        WaitingOn::Source => "Source",
        WaitingOn::FreshPods => "FreshPods",
        WaitingOn::SetGone => "SetGone",
    }
}

/// An action in words.
pub(crate) fn action(action: &Action) -> String {
    match action {
        Action::Apply { kind: ApplyKind::Create, .. } => "create the set".to_owned(),
        Action::Apply { kind: ApplyKind::Start, partition, .. } => {
            format!("apply the commit with {}", partition_words(*partition))
        }
        Action::Apply { kind: ApplyKind::Sync, .. } => "apply everything but the template".to_owned(),
        Action::Apply { kind: ApplyKind::Overwrite, .. } => "put Git's state back".to_owned(),
        Action::HandOverReplicas { replicas, .. } => format!("hand the {replicas} replicas over to others"),
        Action::Patch { partition: Some(partition), .. } => format!("set {}", partition_words(*partition)),
        Action::Patch { partition: None, .. } => "note it in the record".to_owned(),
        Action::HoldBack { partition, .. } => format!("hold added pods back: {}", partition_words(*partition)),
        Action::DeletePod { ordinal, .. } => format!("delete the broken pod {ordinal}"),
        Action::Adopt { .. } => "take the set over".to_owned(),
        Action::Release { .. } => "give the set back".to_owned(),
        Action::DropRequest { why, .. } => format!("drop a request: {why}"),
    }
}

/// `partition 3`, or that it is the one of a set at rest.
pub(crate) fn partition_words(partition: Partition) -> String {
    if partition == PARKED { "the partition to parked".to_owned() } else { format!("partition {partition}") }
}

/// A person's request that has not been answered.
pub(crate) fn open_request(set: &LiveSet) -> Option<&Request> {
    let Some(Ok(request)) = &set.request else { return None };
    let answered = match &set.record {
        RecordState::Is(record, _) => record.req.as_ref().is_some_and(|answer| answer.id == request.id),
        RecordState::Absent | RecordState::Unreadable(_) => false,
    };
    (!answered).then_some(request)
}

/// The command that asks for it.
pub(crate) fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Promote => "promote",
        Verb::PromoteFull => "promote --full",
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::ResumeOverwrite => "resume --overwrite",
        Verb::ResumeAccept => "resume --accept",
        Verb::ResumeReplan => "resume --replan",
        Verb::Retry => "retry",
        Verb::Adopt => "adopt",
        Verb::Release => "release",
    }
}
