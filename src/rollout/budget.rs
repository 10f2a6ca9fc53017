//! Says whether a healthy pod may be taken down: it and all that are away stay within the budget.

use jiff::Timestamp;

use super::gate;
use super::view::Case;
use crate::model::{Decision, Ordinal, Partition, Phase, Pod, Reason, WaitingOn};

/// How long a pod without a trouble that has a name may be not Ready before it counts as broken, in seconds.
const HICCUP_SECONDS: i64 = 30;

/// Too many pods are away for a healthy one to be taken down beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Short {
    /// How many are away.
    away: u32,
    /// How many may be.
    budget: u32,
    /// One of them: a broken one, where there is one.
    ordinal: Ordinal,
    /// What it needs.
    waiting: WaitingOn,
    /// Its trouble; empty where it only takes time.
    trouble: String,
    /// When time alone changes that.
    until: Option<Timestamp>,
}

/// Looks whether exposing the pods from `from` down to `to` would take a healthy one down beyond the budget; none where
/// it would not. `update` is the revision that is being brought; none where it has no name yet.
///
/// Away is every pod that is missing, on its way out, not Ready, or not available for `minReadySeconds`, wherever it
/// stands and however long it has been so. Those that are replaced before a healthy one are free: where the controller
/// or the repair sees to them first (it waits for them in order, or counts them), else those above.
pub(super) fn short(case: &Case<'_>, from: Partition, to: Partition, update: Option<&str>) -> Option<Short> {
    let set = case.set;
    let taken = |pod: &&Pod| {
        pod.ready
            && !pod.terminating
            && update != Some(pod.revision.as_str())
            && gate::is_exposed(set, to, pod.ordinal)
            && !gate::is_exposed(set, from, pod.ordinal)
    };
    let first = gate::own_pods(set, &case.observed.pods).filter(taken).map(|pod| pod.ordinal).max()?;
    let waited_for = !set.parallel || set.max_unavailable.is_some();
    let free = |ordinal: Ordinal| gate::is_exposed(set, to, ordinal) && (waited_for || ordinal > first);
    let away: Vec<Short> =
        gate::ordinals(set).filter(|ordinal| !free(*ordinal)).filter_map(|ordinal| look(case, ordinal)).collect();
    let budget = set.max_unavailable.unwrap_or(1);
    let count = u32::try_from(away.len()).unwrap_or(u32::MAX);
    if count < budget {
        return None;
    }
    let worst = away.iter().rev().find(|one| !one.trouble.is_empty()).or_else(|| away.last())?.clone();
    // Any of them that comes right may be enough.
    let until = away.iter().filter_map(|one| one.until).min();
    Some(Short { away: count, budget, until, ..worst })
}

/// What a pod that is away needs; none where it is available.
fn look(case: &Case<'_>, ordinal: Ordinal) -> Option<Short> {
    let (set, now) = (case.set, case.now);
    let short = |waiting: WaitingOn, trouble: String, until: Option<Timestamp>| {
        Some(Short { away: 1, budget: 1, ordinal, waiting, trouble, until })
    };
    let Some(pod) = case.observed.pods.get(&ordinal).filter(|pod| pod.owner == set.uid) else {
        return short(WaitingOn::PodCreated { ordinal }, String::new(), None);
    };
    if pod.terminating {
        return short(WaitingOn::PodGone { ordinal }, String::new(), None);
    }
    if !pod.ready {
        let why = gate::trouble(pod);
        let broken = gate::after(pod.ready_since.unwrap_or(pod.created).max(pod.created), HICCUP_SECONDS);
        let waiting = WaitingOn::PodReady { ordinal, why: why.clone() };
        return match (why.is_empty(), broken > now) {
            (false, _) => short(waiting, why, None),
            (true, true) => short(waiting, String::new(), Some(broken)),
            (true, false) => short(waiting, "NotReady".into(), None),
        };
    }
    let soak = set.min_ready_seconds;
    let at = case.steady.passed(pod.ready_since.unwrap_or(pod.created), case.steady.seen(pod), soak, now);
    if soak > 0 && at > now { short(WaitingOn::PodAvailable { ordinal, at }, String::new(), Some(at)) } else { None }
}

impl Short {
    /// How a rollout is that waits for it.
    pub(super) fn wait(self, case: &Case<'_>) -> Decision {
        let name = case.name();
        let decision = if self.trouble.is_empty() {
            case.say(Phase::Progressing, Reason::WaitingReady).message(format!(
                "{} of {} pods away, {} may be: no healthy one is taken down beside them",
                self.away, case.set.replicas, self.budget
            ))
        } else {
            let mut decision = case.say(Phase::Degraded, Reason::StuckPod).message(format!(
                "{name}-{} is not Ready; {} pods are away and {} may be, so no healthy one is taken down beside it: \
                 mend it, or `phaseline promote {name}` goes on all the same",
                self.ordinal, self.away, self.budget
            ));
            decision.culprit = Some((self.ordinal, self.trouble));
            decision
        };
        self.until.into_iter().fold(decision.waiting(self.waiting), Decision::again)
    }
}
