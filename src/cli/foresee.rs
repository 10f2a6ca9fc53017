//! Says what would come of a commit: asks the rules, and plays what leads up to the first apply in memory.
//!
//! No rule of a rollout stands here. A set that is to be adopted, or whose replicas are handed over first, is looked
//! at once more as it would be after that.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::model::{
    Action, ApplyKind, CommitInfo, Decision, Desired, FieldOwner, LiveSet, Mode, Observed, PARKED, Partition, Plan,
    Problem, Reason, Record, RecordState, Version, Wanted,
};
use crate::rollout::{decide, stage};

/// How the tip's revision takes over, or why it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) enum Entry {
    /// It is in force, or on its way there.
    None,
    /// The set is created: every pod at once, there is nothing to hold back.
    Install,
    /// The first revision never became Ready: installed again.
    InstallAgain,
    /// Through the stages of the plan.
    Staged,
    /// Back to a proven revision: straight on, pauses and soaks skipped.
    Rollback,
    /// Back to the stable revision in the middle of a rollout: the partition is kept.
    Revert,
    /// Another revision in the middle of a rollout: exactly the exposed pods get it first.
    RollForward,
    /// Another revision in the middle of a rollout: from the first stage.
    Restart,
    /// Everything but the template is applied at once.
    Sync,
    /// Something else has to happen first.
    Waits,
}

/// What would come of a commit.
#[derive(Debug, Clone)]
pub(crate) struct Foreseen {
    /// What the rules say now.
    pub(crate) decision: Decision,
    /// How the commit takes over.
    pub(crate) entry: Entry,
    /// Whether the set has to be adopted first.
    pub(crate) adopts: bool,
    /// Why it cannot be adopted as it is; none where it can, or need not be.
    pub(crate) obstacle: Option<String>,
    /// The replicas that are handed over to others first.
    pub(crate) hands_over: Option<u32>,
    /// The apply that brings it, if one does.
    pub(crate) apply: Option<Apply>,
}

/// An apply that would be sent.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    /// Its body, but for the partition.
    pub(crate) manifest: Arc<Value>,
    /// The partition.
    pub(crate) partition: Partition,
    /// The record that would travel with it.
    pub(crate) record: Record,
}

/// The most steps that lead up to an apply: an adoption and a handover.
const MOST_STEPS: usize = 3;

/// Looks ahead as far as the first apply.
pub(crate) fn foresee(desired: &Desired, problem: Option<&Problem>, observed: &Observed, now: Timestamp) -> Foreseen {
    let decision = decide(&Wanted::Is(desired, problem), observed, now);
    let mut foreseen =
        Foreseen { entry: Entry::None, adopts: false, obstacle: None, hands_over: None, apply: None, decision };
    let (mut desired, mut observed) = (desired.clone(), observed.clone());
    let mut ahead = foreseen.decision.clone();
    if ahead.reason == Reason::AdoptionRequired {
        foreseen.adopts = true;
        desired.tip.adopt = true;
        ahead = decide(&Wanted::Is(&desired, problem), &observed, now);
    }
    if ahead.reason == Reason::NotAdoptable {
        foreseen.obstacle = Some(ahead.message.clone());
    }
    for _ in 0..MOST_STEPS {
        match ahead.actions.first() {
            Some(Action::Adopt { record, .. }) => {
                foreseen.adopts = true;
                adopt(observed.set.as_mut(), record);
            }
            Some(Action::HandOverReplicas { replicas, .. }) => {
                foreseen.hands_over = Some(*replicas);
                hand_over(observed.set.as_mut());
            }
            Some(Action::Apply { kind, manifest, partition, record, .. }) => {
                let replicas = desired.tip.replicas;
                foreseen.entry = entry(*kind, record, before(&observed), replicas);
                foreseen.apply =
                    Some(Apply { manifest: manifest.clone(), partition: *partition, record: (**record).clone() });
                return foreseen;
            }
            Some(
                Action::Patch { .. }
                | Action::HoldBack { .. }
                | Action::DeletePod { .. }
                | Action::Release { .. }
                | Action::DropRequest { .. },
            )
            | None => break,
        }
        ahead = decide(&Wanted::Is(&desired, problem), &observed, now);
    }
    if !in_force(&desired, &observed) {
        foreseen.entry = Entry::Waits;
    }
    foreseen
}

/// Why a set could not be adopted now, whatever Git's template is; none where it could.
pub(crate) fn obstacle(observed: &Observed, now: Timestamp) -> Option<String> {
    let set = observed.set.as_ref()?;
    // Git asks for exactly what is there: what stands in the way then is the set itself.
    let tip = Version {
        commit: CommitInfo::default(),
        manifest: Arc::new(Value::Null),
        hash: set.template.clone(),
        rest: String::new(),
        rest_as_written: String::new(),
        replicas: None,
        restart: None,
        start: set.start,
        deletes_claims_when_scaled: false,
        allow_claim_deletion: false,
        adopt: true,
    };
    let desired = Desired {
        workload: observed.workload.clone(),
        tip,
        target: None,
        stable: None,
        plan: Plan::default(),
        plan_digest: String::new(),
    };
    foresee(&desired, None, observed, now).obstacle
}

/// Whether the record's target is the tip's revision and nothing else of the manifest differs.
pub(crate) fn in_force(desired: &Desired, observed: &Observed) -> bool {
    let Some((record, _)) = before(observed) else { return false };
    let tip = &desired.tip;
    tip.hash == record.target.hash
        && tip.is_rest(&record.rest)
        && tip.restart.as_ref().is_none_or(|restart| *restart == record.target.restart)
}

/// The record as it is, and the replicas beside it.
fn before(observed: &Observed) -> Option<(&Record, u32)> {
    let set = observed.set.as_ref()?;
    match &set.record {
        RecordState::Is(record, _) => Some((record, set.replicas)),
        RecordState::Absent | RecordState::Unreadable(_) => None,
    }
}

/// The set as it is after an adoption.
fn adopt(set: Option<&mut LiveSet>, record: &Record) {
    if let Some(set) = set {
        set.record = RecordState::Is(Box::new(record.clone()), record.encode());
        (set.partition, set.request) = (Some(PARKED), None);
    }
}

/// The set as it is after a handover.
fn hand_over(set: Option<&mut LiveSet>) {
    if let Some(set) = set {
        set.owners.push(FieldOwner {
            manager: FieldOwner::HANDOVER.to_owned(),
            apply: true,
            subresource: String::new(),
            time: None,
            template: false,
            strategy: false,
            replicas: true,
            record: false,
        });
    }
}

/// Names what an apply does, from the record that travels with it.
fn entry(kind: ApplyKind, new: &Record, before: Option<(&Record, u32)>, stated: Option<u32>) -> Entry {
    match kind {
        ApplyKind::Create => return Entry::Install,
        ApplyKind::Sync | ApplyKind::Overwrite => return Entry::Sync,
        ApplyKind::Start => {}
    }
    match new.mode {
        Mode::Install => Entry::InstallAgain,
        Mode::Fast => Entry::Rollback,
        Mode::Back => Entry::Revert,
        Mode::Staged | Mode::Full => match before {
            Some((old, replicas)) if !old.done => {
                let wanted = stated.unwrap_or(replicas);
                let kept = stage::exposed(old.partition, replicas).min(wanted);
                if kept > 0 && stage::exposed(new.partition, wanted) == kept {
                    Entry::RollForward
                } else {
                    Entry::Restart
                }
            }
            Some(_) | None => Entry::Staged,
        },
    }
}

#[cfg(test)]
mod tests;
