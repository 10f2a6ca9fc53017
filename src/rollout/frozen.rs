//! What a set gets in which nothing is advanced: one answer, and pods that somebody adds are held back.

use super::drift::{Drift, What};
use super::gate;
use super::stage;
use super::start::has_failed;
use super::view::Case;
use crate::model::{Action, Decision, Mode, PARKED, Partition, Phase, Reason, Record, WaitingOn};

/// Why nothing is advanced, whatever the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frozen {
    /// Git has no manifest of it any more; and what somebody else moved besides.
    Orphaned(Option<Drift>),
    /// Somebody else moved what is ours.
    Drifted(Drift),
}

impl Frozen {
    /// How a set is that is frozen for this, with the one write that it may get.
    pub(super) fn look(&self, case: &Case<'_>) -> Decision {
        let name = case.name();
        let (decision, drift) = match self {
            Self::Orphaned(drift) => (
                case.say(Phase::Blocked, Reason::Orphaned).waiting(WaitingOn::Correction).message(format!(
                    "Git has no manifest of it any more: the set stays as it is, nothing is rolled; put the manifest \
                     back, or give the set back with `phaseline release {name}`"
                )),
                drift.as_ref(),
            ),
            Self::Drifted(drift) => (
                case.say(Phase::Degraded, Reason::Drifted).waiting(WaitingOn::DriftDecision).message(drift.words(name)),
                Some(drift),
            ),
        };
        added(case, drift).into_iter().fold(decision, Decision::with)
    }

    /// Why a request that would expose more is refused.
    pub(super) fn refusal(&self, name: &str) -> String {
        match self {
            Self::Orphaned(_) => format!(
                "Git has no manifest of the set, so nothing is rolled out: put it back, or `phaseline release {name}`"
            ),
            Self::Drifted(_) => "the set has drifted: decide about that first (`phaseline status` says how)".to_owned(),
        }
    }
}

/// Whether the record itself says that nothing more is exposed: a person holds it, or its target has failed.
pub(super) fn is_halted(record: &Record) -> bool {
    record.hold.is_some() || has_failed(record, &record.target)
}

/// The write that holds back pods which somebody adds to a frozen set; none where none are added, or where they would
/// come at the right revision all the same.
///
/// The partition only ever rises, to `replicas - exposed`: as many pods stay exposed as were, and none at all to a
/// template that is not ours. It is the one write that is right in every state.
pub(super) fn added(case: &Case<'_>, drift: Option<&Drift>) -> Option<Action> {
    let (set, record) = (case.set, case.record);
    if set.strategy != "RollingUpdate" || set.replicas <= known(case) {
        return None;
    }
    if set.observed_generation >= set.generation && set.current_revision == set.update_revision {
        // One revision is all there is.
        return None;
    }
    // Where a record of an older version does not tell how many were there, its stage does.
    let foreign = record.replicas.is_some() && drift.is_some_and(|drift| drift.what == What::Template);
    let to = match (record.done, foreign) {
        (true, _) => PARKED,
        (false, true) => Partition(set.replicas),
        (false, false) => held(record, set.replicas),
    };
    if to <= set.partition.unwrap_or(Partition(0)) {
        return None;
    }
    if drift.is_none() {
        return Some(case.advance(record.clone(), to));
    }
    // The record stays as it is: what it does not match is the drift.
    Some(Action::HoldBack {
        partition: to,
        uid: set.uid.clone(),
        generation: set.generation,
        record: case.text.to_owned(),
    })
}

/// The partition that exposes no more pods than at our last write, whatever has been added since. It never falls.
///
/// On the way back and in a first install what is added is to come at the target.
pub(super) fn held(record: &Record, replicas: u32) -> Partition {
    if record.done || matches!(record.mode, Mode::Back | Mode::Install) {
        return record.partition;
    }
    let exposed = match record.replicas {
        Some(before) => stage::exposed(record.partition, before),
        // A record of an older version: its stage tells.
        None => stage::standing(record, replicas).count,
    };
    Partition(replicas.saturating_sub(exposed)).max(record.partition)
}

/// How many replicas are known to have been there before: as many as at our last write, and at rest also those of an
/// autoscaler since then, whose pods run what was there before.
fn known(case: &Case<'_>) -> u32 {
    let (set, record) = (case.set, case.record);
    let old = gate::own_pods(set, &case.observed.pods)
        .filter(|pod| pod.revision == set.current_revision && pod.revision != set.update_revision)
        .map(|pod| pod.ordinal.0.saturating_sub(set.start).saturating_add(1))
        .max()
        .unwrap_or(0);
    match record.replicas {
        Some(before) if record.done => before.max(old),
        Some(before) => before,
        // Nothing is known: at rest nothing is done, and under way the stage says what is exposed.
        None if record.done => u32::MAX,
        None => 0,
    }
}
