//! Section 8 of the rules: progress, deadline, failure, and what is tried again.

use phaseline::model::{Mode, Ordinal, Verb};

use super::bench::{Bench, Row, at, bent, hash, line, run, seen};

/// Stage 0 of B, pod 4 never Ready; the stage was written 1000 s ago, the pod started 100 s ago.
fn broken() -> Bench {
    bent(Bench::running(1), |b| {
        b.broken(4, "B", "ImagePullBackOff");
    })
}

fn late() -> Bench {
    bent(broken(), |b| b.now = at(500))
}

fn halted() -> Bench {
    bent(broken(), |b| {
        b.failed();
    })
}

const ROWS: &[Row] = &[
    (
        "within the deadline",
        || bent(broken(), |b| b.now = at(499)),
        "- | Progressing WaitingReady | PodReady 4 ImagePullBackOff",
    ),
    (
        "no progress for the deadline",
        late,
        "Note stage=0 | Degraded ProgressDeadlineExceeded | PodReady 4 ImagePullBackOff",
    ),
    ("halted: nothing advances", halted, "- | Degraded ProgressDeadlineExceeded | Decision"),
    (
        "halted: not even when the pod gets well",
        || {
            bent(halted(), |b| {
                b.pod(4, "B");
            })
        },
        "- | Degraded ProgressDeadlineExceeded | Decision",
    ),
    (
        "retry gives another deadline",
        || {
            bent(halted(), |b| {
                b.ask(Verb::Retry);
            })
        },
        "Note stage=0 answered | Progressing WaitingReady | -",
    ),
    (
        "retry where nothing failed",
        || {
            bent(broken(), |b| {
                b.ask(Verb::Retry);
            })
        },
        "Note stage=0 refused | Progressing Starting | -",
    ),
    (
        "promote of a failure is refused",
        || {
            bent(halted(), |b| {
                b.ask(Verb::Promote);
            })
        },
        "Note stage=0 refused | Progressing Starting | -",
    ),
    (
        "a new commit with the same template is a decision",
        || {
            bent(halted(), |b| {
                b.tip("c3", "B");
            })
        },
        "Note stage=0 | Progressing WaitingReady | -",
    ),
    (
        "the same commit again is not",
        || {
            bent(halted(), |b| {
                b.tip("c2", "B");
            })
        },
        "- | Degraded ProgressDeadlineExceeded | Decision",
    ),
    (
        "the same commit again at rest is not",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
                b.record.target = seen("c2", "B");
                b.failed();
                b.record.target = seen("c1", "A");
            })
        },
        "- | Degraded Superseded | Decision",
    ),
    (
        "the failed template of another commit at rest is tried",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c3", "B");
                b.record.target = seen("c2", "B");
                b.failed();
                b.record.target = seen("c1", "A");
            })
        },
        "Start B of B p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "a proven template is never barred",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
                b.record.target = seen("c2", "B");
                b.failed();
                b.record.target = seen("c1", "A");
                b.record.proven = vec![hash("B"), hash("A")];
            })
        },
        "Start B of B p=0 replicas=5 stage=2 Fast | Progressing Starting | -",
    ),
    (
        "retry at rest lets the tip in again",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
                b.record.target = seen("c2", "B");
                b.failed();
                b.record.target = seen("c1", "A");
                b.ask(Verb::Retry);
            })
        },
        "Note done answered | Progressing WaitingReady | -",
    ),
    (
        "a way back that is late is reported, not recorded",
        || {
            bent(late(), |b| {
                b.record.mode = Mode::Back;
                b.now = at(2000);
            })
        },
        "- | Degraded ProgressDeadlineExceeded | PodReady 4 ImagePullBackOff",
    ),
    (
        "a first install that is late",
        || {
            bent(late(), |b| {
                b.record.mode = Mode::Install;
                b.set().current_revision = "web-B".into();
                b.now = at(2000);
            })
        },
        "- | Degraded ProgressDeadlineExceeded | PodReady 4 ImagePullBackOff",
    ),
    (
        "a promotion of the controller that never comes",
        || {
            bent(Bench::running(5), |b| {
                b.set().current_revision = "web-A".into();
                b.now = at(2000);
            })
        },
        "Note stage=2 | Degraded ProgressDeadlineExceeded | ControllerPromotion",
    ),
];

#[test]
fn failures() {
    run(ROWS);
}

#[test]
fn the_culprit_is_named() {
    let decision = late().decide();
    assert_eq!(decision.culprit, Some((Ordinal(4), "ImagePullBackOff".into())));
    let mut bench = halted();
    assert_eq!(bench.decide().culprit, Some((Ordinal(4), "ImagePullBackOff".into())));
}

#[test]
fn flapping_is_no_progress() {
    let mut bench = Bench::running(1);
    bench.record.plan.progress_deadline_seconds = 60;
    let mut failed_at = None;
    for second in 0..400 {
        bench.now = at(second);
        let up = second % 20 < 10;
        if up {
            bench.pod(4, "B").ready_since = Some(at(second - second % 20));
            bench.pod_mut(4).ready = true;
        } else {
            bench.broken(4, "B", "").ready_since = Some(at(second - second % 20 + 10));
        }
        bench.set().min_ready_seconds = 30;
        let decision = bench.decide();
        if !decision.actions.is_empty() {
            failed_at = Some((second, line(&decision)));
            break;
        }
        bench.observed.progress = decision.progress;
    }
    let (second, line) = failed_at.expect("a flapping pod fails its stage");
    assert!(second <= 91, "{second}");
    assert!(line.starts_with("Note stage=0 | Degraded ProgressDeadlineExceeded"), "{line}");
}

#[test]
fn a_pod_that_moves_on_is_progress() {
    let mut bench = broken();
    bench.pod_mut(4).faults.clear();
    (bench.pod_mut(4).started, bench.pod_mut(4).scheduled) = (None, None);
    bench.observed.progress = bench.decide().progress;
    bench.now = at(400);
    bench.pod_mut(4).scheduled = Some(at(400));
    let decision = bench.decide();
    assert_eq!(decision.requeue, Some(at(1000)));
}

#[test]
fn a_restart_of_the_daemon_gives_no_endless_deadline() {
    let mut bench = broken();
    bench.now = at(499);
    assert_eq!(bench.decide().requeue, Some(at(500)), "the pods tell when they moved");
}
