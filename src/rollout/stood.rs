//! Tells from the pods whether a revision ever stood: whether one of them is Ready, or once was.
//!
//! The record knows of a stable revision only once a rollout was completed. A daemon that was away since the install,
//! or pods that are Ready but not yet for long enough, leave it without one; the pods are witnesses all the same.

use super::gate;
use super::view::Case;
use crate::model::{Mode, PARKED, Partition, Pod, PodPhase, Record, Seen};

/// A pod whose Ready condition is this much younger than its start, in seconds, was Ready in between: the kubelet's
/// first report of a pod is that late.
const FIRST_REPORT_SECONDS: i64 = 3;
/// A container that never ran for longer than this, in seconds, was Ready for no more than an instant.
const INSTANT_SECONDS: i64 = 10;
/// The kubelet's first pause between two starts of a container that crashes, in seconds; it doubles each time.
const FIRST_BACKOFF_SECONDS: i64 = 10;
/// The longest of these pauses, in seconds.
const LONGEST_BACKOFF_SECONDS: i64 = 300;

/// Whether a pod has left its first report behind: it is Ready, or was in between.
pub(super) fn was_ready(pod: &Pod) -> bool {
    if pod.ready {
        return true;
    }
    // One that ends of old age tells nothing: its conditions are those of its end.
    let ends = pod.terminating && !matches!(pod.phase, PodPhase::Running | PodPhase::Pending);
    !ends && has_changed(pod) && !only_crashes(pod)
}

/// Whether its Ready condition has changed since the first report of it.
pub(super) fn has_changed(pod: &Pod) -> bool {
    let first_report = gate::after(pod.started.unwrap_or(pod.created), FIRST_REPORT_SECONDS);
    pod.ready_since.is_some_and(|since| since > first_report)
}

/// Whether its whole life is told by starts that crashed at once and the pauses between them. Without a readiness probe
/// a container is Ready whenever it runs, so such a pod was Ready, but it never served.
fn only_crashes(pod: &Pod) -> bool {
    let Some(run) = pod.longest_run.filter(|run| *run <= INSTANT_SECONDS && pod.restarts >= 2) else { return false };
    let pauses: i64 = (0..pod.restarts.min(1_000))
        .map(|nth| (FIRST_BACKOFF_SECONDS << nth.min(5)).min(LONGEST_BACKOFF_SECONDS))
        .sum();
    let told = pauses + i64::from(pod.restarts).saturating_add(1).saturating_mul(run + INSTANT_SECONDS);
    let lived = pod.ready_since.map_or(0, |since| since.duration_since(pod.started.unwrap_or(pod.created)).as_secs());
    lived <= told
}

/// Whether anything stands that a new revision could take down: a pod that is Ready or once was, or one whose like was
/// (in order, the controller makes a pod only above Ready ones).
fn stands(case: &Case<'_>) -> bool {
    let (set, pods) = (case.set, &case.observed.pods);
    if gate::own_pods(set, pods).any(was_ready) {
        return true;
    }
    let Some(top) = gate::own_pods(set, pods).last().filter(|_| !set.parallel) else {
        return false;
    };
    gate::ordinals(set)
        .take_while(|ordinal| *ordinal < top.ordinal)
        .any(|ordinal| pods.get(&ordinal).is_none_or(|pod| pod.terminating || pod.created > top.created))
}

/// The stable revision that the record does not know of yet, where the pods prove that there is one.
///
/// It is what was installed, as long as that is what the controller makes pods of. An install that took over from
/// another one, and is not through, has exposed every pod already and leaves none to come back at.
pub(super) fn unrecorded(case: &Case<'_>, record: &Record) -> Option<Seen> {
    let set = case.set;
    let promoted = set.observed_generation >= set.generation && set.current_revision == set.update_revision;
    let first = record.mode == Mode::Install && record.partition == PARKED;
    let is_due = record.stable.is_none() && set.replicas > 0 && (first || promoted);
    (is_due && (set.ready_replicas > 0 || stands(case))).then(|| record.target.clone())
}

/// Whether nothing stands at the revision that pods come back at. Where one of its pods never was Ready, another has to
/// be so now: the first holds up all the others.
pub(super) fn nothing_below(case: &Case<'_>) -> bool {
    let at_current =
        || gate::own_pods(case.set, &case.observed.pods).filter(|pod| pod.revision == case.set.current_revision);
    let never = at_current().any(|pod| !pod.terminating && !was_ready(pod));
    !at_current().any(|pod| if never { pod.ready } else { was_ready(pod) })
}

/// Whether every pod that there is to be has been Ready at the template in force.
pub(super) fn whole(case: &Case<'_>) -> bool {
    let (set, pods) = (case.set, &case.observed.pods);
    gate::ordinals(set).all(|ordinal| {
        pods.get(&ordinal)
            .is_some_and(|pod| pod.owner == set.uid && pod.revision == set.update_revision && was_ready(pod))
    })
}

/// The partition that exposes the pods at the top which never were Ready, and those that were never made; none where
/// the top one was. In order, nothing above the lowest of them is ever updated while it is broken.
pub(super) fn never_served(case: &Case<'_>) -> Option<Partition> {
    let (set, pods) = (case.set, &case.observed.pods);
    if set.parallel {
        return None;
    }
    let mut lowest: Option<&Pod> = None;
    for ordinal in gate::ordinals(set).rev() {
        match pods.get(&ordinal).filter(|pod| pod.owner == set.uid) {
            // Never made; below one that is there it is only away.
            None if lowest.is_none() => {}
            None => break,
            // One that is younger than the next was Ready in another life.
            Some(pod)
                if was_ready(pod) || pod.terminating || lowest.is_some_and(|above| pod.created > above.created) =>
            {
                break;
            }
            Some(pod) => lowest = Some(pod),
        }
    }
    lowest.map(|pod| Partition(pod.ordinal.0.saturating_sub(set.start)))
}
