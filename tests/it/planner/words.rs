//! A sentence for everything a decision can wait for.

use phaseline::model::{Ordinal, WaitingOn};
use phaseline::rollout::explain;

use super::bench::at;

#[test]
fn every_wait_has_its_sentence() {
    let web = Ordinal(2);
    for (waiting, sentence) in [
        (WaitingOn::ObservedGeneration { generation: 4 }, "for the StatefulSet controller to see generation 4"),
        (WaitingOn::PodCreated { ordinal: web }, "for web-2 to be created"),
        (WaitingOn::PodUpdated { ordinal: web, revision: "web-a".into() }, "for web-2 to be updated (it runs web-a)"),
        (WaitingOn::PodGone { ordinal: web }, "for web-2 to terminate"),
        (WaitingOn::PodReady { ordinal: web, why: String::new() }, "for web-2 to become Ready"),
        (WaitingOn::PodReady { ordinal: web, why: "ErrImagePull".into() }, "for web-2 to become Ready (ErrImagePull)"),
        (WaitingOn::PodAvailable { ordinal: web, at: at(90) }, "for web-2 to stay Ready for another 1m30s"),
        (WaitingOn::PodCount { have: 1, need: 3 }, "for 3 verified pods, 1 are there"),
        (WaitingOn::ControllerPromotion, "for the StatefulSet controller to make the update revision the current one"),
        (WaitingOn::Pause { until: at(7200) }, "for the pause to end in 2h"),
        (WaitingOn::Promotion, "for `phaseline promote web`"),
        (WaitingOn::Resume, "for `phaseline resume web`"),
        (WaitingOn::Decision, "for a new commit, a revert, or `phaseline retry web`"),
        (WaitingOn::DriftDecision, "for `phaseline resume web --overwrite` or `--accept`, or `phaseline release web`"),
        (
            WaitingOn::NewRevisionDecision,
            "for `phaseline resume web`, which takes the new commit, or for another decision",
        ),
        (WaitingOn::PartitionCommit, "for a commit that lowers the partition in the manifest"),
        (WaitingOn::Adoption, "for `phaseline adopt web`"),
        (WaitingOn::Correction, "for somebody to put it right"),
        (WaitingOn::FreshView, "for news from the cluster"),
        (WaitingOn::Source, "for a newer view of the repository"),
        (WaitingOn::FreshPods, "for news of its pods"),
        (WaitingOn::SetGone, "for the set to be gone"),
    ] {
        assert_eq!(explain::waiting(&waiting, "web", at(0)), sentence);
    }
}

#[test]
fn durations_are_short() {
    for (seconds, words) in [
        (-5, "0s"),
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (61, "1m1s"),
        (3600, "1h"),
        (3660, "1h1m"),
        (3661, "1h1m"),
        (90_000, "25h"),
    ] {
        assert_eq!(explain::duration(at(seconds), at(0)), words);
    }
}
