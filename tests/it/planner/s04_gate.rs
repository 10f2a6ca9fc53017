//! Section 4 of the rules: when a stage is done.

use phaseline::model::{Ordinal, Pause, PodPhase, Size};

use super::bench::{Bench, Row, at, bent, plan, run, stage};

fn soaking(soak: u32) -> Bench {
    let plan =
        plan(vec![stage("canary", Size::Pods(1), soak, Pause::None), stage("all", Size::Percent(100), 0, Pause::None)]);
    Bench::running_with(5, plan, 1)
}

fn pausing(pause: Pause) -> Bench {
    let plan = plan(vec![stage("canary", Size::Pods(1), 0, pause), stage("all", Size::Percent(100), 0, Pause::None)]);
    Bench::running_with(5, plan, 1)
}

const ROWS: &[Row] = &[
    ("done: the next stage", || Bench::running(1), "Patch p=2 stage=1 | Progressing WaitingReady | -"),
    ("done: the last stage", || Bench::running(3), "Patch p=0 stage=2 | Progressing WaitingReady | -"),
    (
        "the controller has not seen it",
        || bent(Bench::running(1), |b| b.set().observed_generation = 2),
        "- | Progressing WaitingReady | ObservedGeneration 3",
    ),
    (
        "a pod is missing",
        || {
            bent(Bench::running(1), |b| {
                b.observed.pods.remove(&Ordinal(4));
            })
        },
        "- | Progressing WaitingReady | PodCreated 4",
    ),
    (
        "a pod below the partition is missing",
        || {
            bent(Bench::running(1), |b| {
                b.observed.pods.remove(&Ordinal(0));
            })
        },
        "- | Progressing WaitingReady | PodCreated 0",
    ),
    (
        "a pod of another owner is none of ours",
        || bent(Bench::running(1), |b| b.pod(4, "B").owner = "other".into()),
        "- | Progressing WaitingReady | PodCreated 4",
    ),
    (
        "a pod carries the old revision",
        || {
            bent(Bench::running(1), |b| {
                b.pod(4, "A");
            })
        },
        "- | Progressing WaitingReady | PodUpdated 4 web-A",
    ),
    (
        "a pod terminates",
        || bent(Bench::running(1), |b| b.pod(4, "B").terminating = true),
        "- | Progressing WaitingReady | PodGone 4",
    ),
    (
        "a pod below the partition terminates",
        || bent(Bench::running(1), |b| b.pod(1, "A").terminating = true),
        "- | Progressing WaitingReady | PodGone 1",
    ),
    (
        "a condemned pod is still there",
        || {
            bent(Bench::running(1), |b| {
                b.pod(5, "A");
            })
        },
        "- | Progressing WaitingReady | PodGone 5",
    ),
    (
        "a condemned pod below the start is still there",
        || {
            bent(Bench::running(1), |b| {
                for ordinal in 0..5 {
                    b.observed.pods.remove(&Ordinal(ordinal));
                }
                b.set().start = 3;
                for ordinal in 3..7 {
                    b.pod(ordinal, "A");
                }
                b.pod(7, "B");
                b.pod(2, "A");
            })
        },
        "- | Progressing WaitingReady | PodGone 2",
    ),
    (
        "the partition is counted from the start",
        || {
            bent(Bench::running(1), |b| {
                for ordinal in 0..5 {
                    b.observed.pods.remove(&Ordinal(ordinal));
                }
                b.set().start = 3;
                for ordinal in 3..7 {
                    b.pod(ordinal, "A");
                }
                b.pod(7, "B");
            })
        },
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "not Ready",
        || {
            bent(Bench::running(1), |b| {
                b.broken(4, "B", "");
            })
        },
        "- | Progressing WaitingReady | PodReady 4",
    ),
    (
        "broken since the rollout began, below the partition",
        || {
            bent(Bench::running(1), |b| {
                let pod = b.pod(0, "A");
                (pod.ready, pod.ready_since) = (false, Some(at(-50)));
            })
        },
        "- | Progressing WaitingReady | PodReady 0",
    ),
    (
        "broken before the rollout began, below the partition",
        || {
            bent(Bench::running(1), |b| {
                let pod = b.pod(0, "A");
                (pod.ready, pod.ready_since) = (false, Some(at(-2000)));
            })
        },
        "- | Degraded StuckPod | PodReady 0",
    ),
    (
        "Ready for the soak and one second",
        || bent(soaking(99), |_| ()),
        "Patch p=0 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "Ready for the soak only: the server cuts seconds off",
        || soaking(100),
        "- | Progressing WaitingReady | PodAvailable 4 at +1",
    ),
    (
        "minReadySeconds of the set counts",
        || bent(soaking(0), |b| b.set().min_ready_seconds = 120),
        "- | Progressing WaitingReady | PodAvailable 4 at +21",
    ),
    (
        "the longer of the two counts",
        || bent(soaking(200), |b| b.set().min_ready_seconds = 120),
        "- | Progressing WaitingReady | PodAvailable 4 at +101",
    ),
    (
        "what is missing is named before what only takes time",
        || {
            bent(soaking(200), |b| {
                b.pod(1, "A").terminating = true;
            })
        },
        "- | Progressing WaitingReady | PodGone 1",
    ),
    (
        "three restarts are let pass",
        || bent(Bench::running(1), |b| b.pod(4, "B").restarts = 3),
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "four are a failure, even of a Ready pod",
        || bent(Bench::running(1), |b| b.pod(4, "B").restarts = 4),
        "Note stage=0 | Degraded TooManyRestarts | -",
    ),
    (
        "restarts of the old revision are none of the rollout's",
        || bent(Bench::running(1), |b| b.pod(0, "A").restarts = 40),
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "a pod that ended",
        || bent(Bench::running(1), |b| b.broken(4, "B", "").phase = PodPhase::Failed),
        "- | Progressing WaitingReady | PodReady 4 Failed",
    ),
    (
        "an ImagePullBackOff has its name",
        || {
            bent(Bench::running(1), |b| {
                b.broken(4, "B", "ImagePullBackOff");
            })
        },
        "- | Progressing WaitingReady | PodReady 4 ImagePullBackOff",
    ),
    ("a pause with an end", || pausing(Pause::Seconds(130)), "- | Paused StagePaused | Pause +31"),
    ("a pause that is over", || pausing(Pause::Seconds(99)), "Patch p=0 stage=1 | Progressing WaitingReady | -"),
    ("a pause for a person", || pausing(Pause::UntilPromoted), "- | Paused StagePaused | Promotion"),
    (
        "a pause that a person ended",
        || bent(pausing(Pause::UntilPromoted), |b| b.record.promoted = true),
        "Patch p=0 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "a singleton has one stage",
        || {
            bent(Bench::resting_with(1, super::bench::three()), |b| {
                b.tip("c2", "B");
            })
        },
        "Start B of B p=0 replicas=1 stage=0 | Progressing Starting | -",
    ),
    (
        "30 % of 7 are 3 pods",
        || {
            let stages =
                vec![stage("", Size::Percent(30), 0, Pause::None), stage("", Size::Percent(100), 0, Pause::None)];
            bent(Bench::resting_with(7, plan(stages)), |b| {
                b.tip("c2", "B");
            })
        },
        "Start B of B p=4 replicas=7 stage=0 | Progressing Starting | -",
    ),
    (
        "1 % of 3 is one pod",
        || {
            let stages =
                vec![stage("", Size::Percent(1), 0, Pause::None), stage("", Size::Percent(100), 0, Pause::None)];
            bent(Bench::resting_with(3, plan(stages)), |b| {
                b.tip("c2", "B");
            })
        },
        "Start B of B p=2 replicas=3 stage=0 | Progressing Starting | -",
    ),
    (
        "the controller has to make the target current before parking",
        || {
            bent(Bench::running(5), |b| {
                b.set().current_revision = "web-A".into();
            })
        },
        "- | Progressing WaitingReady | ControllerPromotion",
    ),
    (
        "the last stage's pause holds the completion back",
        || {
            let stages =
                vec![stage("", Size::Pods(1), 0, Pause::None), stage("", Size::Percent(100), 0, Pause::UntilPromoted)];
            Bench::running_with(3, plan(stages), 3)
        },
        "- | Paused StagePaused | Promotion",
    ),
];

#[test]
fn the_gate() {
    run(ROWS);
}

#[test]
fn a_wait_for_time_alone_says_when_to_look_again() {
    for (mut bench, seconds) in [(soaking(100), 1), (pausing(Pause::Seconds(130)), 31)] {
        assert_eq!(bench.decide().requeue, Some(at(seconds)));
    }
}

#[test]
fn a_stage_shows_itself() {
    let stage = Bench::running(3).decide().stage.unwrap();
    assert_eq!((stage.number, stage.of, stage.name.as_str()), (2, 3, "some"));
    assert_eq!((stage.count, stage.partition.0, stage.verified), (3, 2, 3));
}
