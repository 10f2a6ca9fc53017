//! Tells people what happens: a line when something changes, and one for every write.

use tracing::{debug, error, info, warn};

use crate::cluster::Outcome;
use crate::model::{Action, ApplyKind, Decision, Phase, Reason, StageView, WaitingOn, WorkloadId};
use crate::rollout::explain;

/// What was said of a workload, but for times: said again only when it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Its phase.
    pub phase: Phase,
    /// Why.
    pub reason: Reason,
    /// The stage, while a rollout runs.
    pub stage: Option<StageView>,
    /// What is waited for, in words; empty where nothing is.
    pub waiting: String,
    /// The pod to blame and its trouble; empty where there is none.
    pub culprit: String,
    /// What the reason leaves out; may be empty.
    pub message: String,
}

/// Says how a workload is, if that is news; and whether it was.
pub(super) fn say(workload: &WorkloadId, decision: &Decision, before: &mut Option<Said>, now: jiff::Timestamp) -> bool {
    let waiting = match &decision.waiting_on {
        // The clock alone is no news.
        Some(WaitingOn::PodAvailable { ordinal, .. }) => format!("for {}-{ordinal} to stay Ready", workload.name),
        Some(WaitingOn::Pause { until }) => format!("for the pause to end at {until}"),
        Some(waiting) => explain::waiting(waiting, &workload.name, now),
        None => String::new(),
    };
    let culprit = decision.culprit.as_ref().map(|(ordinal, why)| format!("{}-{ordinal}: {why}", workload.name));
    let said = Said {
        phase: decision.phase,
        reason: decision.reason,
        stage: decision.stage.clone(),
        waiting,
        culprit: culprit.unwrap_or_default(),
        message: decision.message.clone(),
    };
    if before.as_ref() == Some(&said) {
        return false;
    }
    let stage = said.stage.as_ref().map(stage_words).unwrap_or_default();
    let headline = before.as_ref().is_none_or(|before| !same_headline(before, &said));
    let Said { phase, reason, waiting, culprit, message, .. } = &said;
    match phase {
        Phase::Degraded | Phase::Blocked => {
            warn!(%workload, %phase, %reason, stage, waiting, culprit, "{message}");
        }
        Phase::Healthy | Phase::Progressing | Phase::Paused if headline => {
            info!(%workload, %phase, %reason, stage, waiting, culprit, "{message}");
        }
        Phase::Healthy | Phase::Progressing | Phase::Paused => {
            debug!(%workload, %phase, %reason, stage, waiting, culprit, "{message}");
        }
    }
    *before = Some(said);
    true
}

/// Whether only pods came one step further: that is for those who look closely.
fn same_headline(before: &Said, now: &Said) -> bool {
    let stage = |said: &Said| said.stage.as_ref().map(|stage| (stage.number, stage.partition));
    before.phase == now.phase
        && before.reason == now.reason
        && before.message == now.message
        && stage(before) == stage(now)
}

fn stage_words(stage: &StageView) -> String {
    let name = if stage.name.is_empty() { String::new() } else { format!(" {}", stage.name) };
    format!(
        "{}/{}{name}, partition {}, {} of {} pods verified",
        stage.number, stage.of, stage.partition, stage.verified, stage.count
    )
}

/// Writes the audit line of one action: who, what, why, and what came of it. The same in short: what, and why not.
pub(super) fn audit(workload: &WorkloadId, action: &Action, outcome: &Outcome) -> (String, Option<String>) {
    let what = describe(action);
    let (rollout, commit) = match action {
        Action::Apply { record, .. } | Action::Patch { record, .. } | Action::Adopt { record, .. } => {
            (record.rollout.as_str(), record.target.commit.short())
        }
        Action::HandOverReplicas { .. }
        | Action::HoldBack { .. }
        | Action::DeletePod { .. }
        | Action::Release { .. }
        | Action::DropRequest { .. } => ("", ""),
    };
    let failed = match outcome {
        Outcome::Done(_) => {
            info!(%workload, rollout, commit, "wrote: {what}");
            None
        }
        Outcome::Moved(why) => {
            info!(%workload, rollout, commit, why, "came too late, looking again: {what}");
            Some(format!("came too late: {why}"))
        }
        Outcome::Conflict { managers, fields } => {
            warn!(%workload, rollout, commit, ?managers, ?fields, "not written, somebody else owns it: {what}");
            Some(format!("{} owned by {}", fields.join(", "), managers.join(", ")))
        }
        Outcome::Refused { reason, message } => {
            error!(%workload, rollout, commit, %reason, "refused by the server: {what}: {message}");
            Some(format!("refused: {message}"))
        }
        Outcome::Failed { message, .. } => {
            warn!(%workload, rollout, commit, "failed, tried again later: {what}: {message}");
            Some(message.clone())
        }
    };
    (what, failed)
}

/// One action in words.
pub(super) fn describe(action: &Action) -> String {
    match action {
        Action::Apply { kind, partition, .. } => {
            let kind = match kind {
                ApplyKind::Create => "create the set",
                ApplyKind::Start => "start a rollout",
                ApplyKind::Sync => "apply replicas and metadata",
                ApplyKind::Overwrite => "put Git's state back",
            };
            format!("{kind}, partition {partition}")
        }
        Action::HandOverReplicas { replicas, .. } => format!("hand replicas over at {replicas}"),
        Action::Patch { partition: Some(partition), .. } => format!("partition {partition}"),
        Action::Patch { partition: None, record, .. } => match record.failed.last() {
            Some(failed) if failed.commit == record.target.commit && failed.hash == record.target.hash => {
                format!("record the failure {} {}", failed.reason, failed.culprit)
            }
            _ => "record".into(),
        },
        Action::HoldBack { partition, .. } => format!("hold added pods back: partition {partition}"),
        Action::DeletePod { ordinal, uid, .. } => format!("delete the broken pod {ordinal} (uid {uid})"),
        Action::Adopt { .. } => "adopt the set".into(),
        Action::Release { partition, .. } => match partition {
            Some(partition) => format!("release the set, partition {partition}"),
            None => "release the set, its partition as it is".into(),
        },
        Action::DropRequest { why, .. } => format!("drop a request: {why}"),
    }
}
