//! Puts into words what a decision waits for.

use jiff::Timestamp;

use crate::model::WaitingOn;

/// A sentence for a tired operator: what is waited for, and where time alone will do, how long.
pub fn waiting(waiting: &WaitingOn, set: &str, now: Timestamp) -> String {
    match waiting {
        WaitingOn::ObservedGeneration { generation } => {
            format!("for the StatefulSet controller to see generation {generation}")
        }
        WaitingOn::PodCreated { ordinal } => format!("for {set}-{ordinal} to be created"),
        WaitingOn::PodUpdated { ordinal, revision } => {
            format!("for {set}-{ordinal} to be updated (it runs {revision})")
        }
        WaitingOn::PodGone { ordinal } => format!("for {set}-{ordinal} to terminate"),
        WaitingOn::PodReady { ordinal, why } if why.is_empty() => format!("for {set}-{ordinal} to become Ready"),
        WaitingOn::PodReady { ordinal, why } => format!("for {set}-{ordinal} to become Ready ({why})"),
        WaitingOn::PodAvailable { ordinal, at } => {
            format!("for {set}-{ordinal} to stay Ready for another {}", duration(*at, now))
        }
        WaitingOn::PodCount { have, need } => format!("for {need} verified pods, {have} are there"),
        WaitingOn::ControllerPromotion => {
            "for the StatefulSet controller to make the update revision the current one".into()
        }
        WaitingOn::Pause { until } => format!("for the pause to end in {}", duration(*until, now)),
        WaitingOn::Promotion => format!("for `phaseline promote {set}`"),
        WaitingOn::Resume => format!("for `phaseline resume {set}`"),
        WaitingOn::Decision => format!("for a new commit, a revert, or `phaseline retry {set}`"),
        WaitingOn::DriftDecision => {
            format!("for `phaseline resume {set} --overwrite` or `--accept`, or `phaseline release {set}`")
        }
        WaitingOn::NewRevisionDecision => {
            format!("for `phaseline resume {set}`, which takes the new commit, or for another decision")
        }
        WaitingOn::PartitionCommit => "for a commit that lowers the partition in the manifest".into(),
        WaitingOn::Adoption => format!("for `phaseline adopt {set}`"),
        WaitingOn::Correction => "for somebody to put it right".into(),
        WaitingOn::FreshView => "for news from the cluster".into(),
        WaitingOn::Source => "for a newer view of the repository".into(),
        WaitingOn::FreshPods => "for news of its pods".into(),
        WaitingOn::SetGone => "for the set to be gone".into(),
    }
}

/// How long until then, in whole seconds, minutes and hours.
pub fn duration(until: Timestamp, now: Timestamp) -> String {
    let seconds = until.duration_since(now).as_secs().max(0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, seconds) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h{minutes}m"),
    }
}
