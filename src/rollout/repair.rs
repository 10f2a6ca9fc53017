//! Picks the broken pod that may be replaced (kubernetes#67250), if there is one.
//!
//! After a revert or a fix the StatefulSet controller waits for ever for the pod that the bad revision broke. It is
//! deleted once, with preconditions, and only where its replacement is of another revision than the one that broke it.

use jiff::Timestamp;

use super::gate::{self, Question};
use super::stood;
use crate::model::{Action, Pod, PodPhase, Progress, RepairPolicy};

/// How often one ordinal is replaced because of one revision.
const MOST_REPAIRS: u32 = 3;
/// How long a pod that was Ready once has to be in trouble before it counts as broken, in seconds.
const TROUBLE_SECONDS: i64 = 30;
/// How long a pod that never was Ready, and has no trouble with a name either, is given to start, in seconds. It runs
/// a revision that is to go: the controller waits for it to become Ready only to delete it.
const START_SECONDS: i64 = 5;
/// What a pod does not get out of by itself.
const HOPELESS: [&str; 10] = [
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
    "CrashLoopBackOff",
    "RunContainerError",
    "Unschedulable",
    "InitFailed",
];

/// What is to be done about broken pods.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// Nothing.
    None,
    /// One pod is on its way out, or on its way back: wait.
    UnderWay,
    /// One pod counts as broken from then on, if nothing changes.
    From(Timestamp),
    /// This one is replaced.
    Delete(Action),
    /// This pod stands in the way and may not be replaced, and why.
    Stuck(crate::model::Ordinal, &'static str),
}

/// Picks the pod.
pub fn pick(question: Question<'_>, policy: RepairPolicy, progress: &Progress, now: Timestamp) -> Repair {
    let set = question.set;
    if set.observed_generation < set.generation {
        return Repair::None;
    }
    // Under Parallel the controller does it itself at and above the partition, unless it counts unavailable pods.
    let native_does = |pod: &Pod| {
        set.parallel && set.max_unavailable.is_none() && gate::is_exposed(set, question.partition, pod.ordinal)
    };
    // One at a time, condemned ones included.
    if gate::own_pods(set, question.pods).any(|pod| pod.terminating) {
        return Repair::UnderWay;
    }
    let mut broken: Option<&Pod> = None;
    for ordinal in gate::ordinals(set) {
        match question.pods.get(&ordinal).filter(|pod| pod.owner == set.uid) {
            // The controller is about to create it. Ordered, one above a broken pod is missing because of that pod.
            None if broken.is_none() || set.parallel => return Repair::UnderWay,
            None => break,
            Some(pod) if pod.ready || native_does(pod) => {}
            // Ordered: the lowest one is what the controller waits for. Parallel: any of them, the top one first.
            Some(pod) => {
                if broken.is_none() || set.parallel {
                    broken = Some(pod);
                }
            }
        }
    }
    let Some(pod) = broken else { return Repair::None };
    let native = if gate::is_exposed(set, question.partition, pod.ordinal) {
        &set.update_revision
    } else {
        &set.current_revision
    };
    let ours = pod.revision == set.update_revision || &pod.revision == native;
    // Ended pods are replaced by the controller; on a lost node the pod may still run.
    if ours || pod.node_lost || matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded) {
        return Repair::None;
    }
    match broken_from(pod) {
        None => return Repair::None,
        Some(from) if from > now => return Repair::From(from),
        Some(_) => {}
    }
    let proven = *native == set.update_revision
        || gate::own_pods(set, question.pods).any(|other| &other.revision == native && other.ready);
    let key = (pod.ordinal, pod.revision.clone());
    if policy == RepairPolicy::None {
        return Repair::Stuck(pod.ordinal, "repairPolicy is None, so that somebody has to delete it");
    }
    if !proven {
        return Repair::Stuck(pod.ordinal, "its replacement would be of a revision that no Ready pod runs");
    }
    if progress.repairs.get(&key).copied().unwrap_or_default() >= MOST_REPAIRS {
        return Repair::Stuck(pod.ordinal, "it was replaced three times and came back broken");
    }
    if progress.repairing.as_ref() == Some(&pod.uid) {
        return Repair::UnderWay;
    }
    Repair::Delete(Action::DeletePod {
        ordinal: pod.ordinal,
        uid: pod.uid.clone(),
        resource_version: pod.resource_version.clone(),
    })
}

/// From when on a pod that is not Ready counts as broken; none where it may still come right by itself.
///
/// Never Ready at its revision and in a state that it does not get out of: at once. Only never Ready: when it has had
/// time to start. In such a state after it was Ready: after a while.
fn broken_from(pod: &Pod) -> Option<Timestamp> {
    let never_ready = !stood::has_changed(pod);
    let hopeless = pod.faults.iter().any(|fault| HOPELESS.contains(&fault.reason.as_str()));
    match (never_ready, hopeless) {
        (true, true) => Some(pod.created),
        (true, false) => Some(gate::after(pod.created, START_SECONDS)),
        (false, true) => Some(gate::after(pod.ready_since.unwrap_or(pod.created), TROUBLE_SECONDS)),
        (false, false) => None,
    }
}
