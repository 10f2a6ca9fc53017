//! Section 7 of the rules: broken pods.

use phaseline::model::{Mode, Ordinal, Partition, Pause, PodPhase, RepairPolicy, Size, Verb};

use super::bench::{Bench, Row, at, bent, hash, plan, run, seen, stage};

/// B broke pod 4 at its first stage, the revert has been applied.
fn reverted() -> Bench {
    bent(Bench::running(1), |b| {
        b.tip("c3", "A");
        b.record.target = seen("c3", "A");
        b.record.mode = Mode::Back;
        b.record.live = hash("A");
        let set = b.set();
        (set.template, set.update_revision) = (hash("A"), "web-A".into());
        b.broken(4, "B", "ImagePullBackOff");
    })
}

/// The first install never became Ready; a fix has been applied at partition 0.
fn reinstalled() -> Bench {
    bent(Bench::running(5), |b| {
        b.record.mode = Mode::Install;
        (b.record.stable, b.record.stage) = (None, None);
        b.record.proven.clear();
        b.set().current_revision = "web-A".into();
        for ordinal in 1..5 {
            b.observed.pods.remove(&Ordinal(ordinal));
        }
        b.set().replicas = 1;
        b.broken(0, "A", "CrashLoopBackOff");
    })
}

const ROWS: &[Row] = &[
    (
        "after a revert the broken pod is replaced",
        reverted,
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "Running but never Ready counts as broken",
        || bent(reverted(), |b| b.pod_mut(4).faults.clear()),
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "not while it terminates",
        || bent(reverted(), |b| b.pod_mut(4).terminating = true),
        "- | Progressing WaitingReady | PodGone 4",
    ),
    (
        "not while another pod is away",
        || {
            bent(reverted(), |b| {
                b.observed.pods.remove(&Ordinal(1));
            })
        },
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "not before the controller has seen the revert",
        || bent(reverted(), |b| b.set().observed_generation = 2),
        "- | Progressing WaitingReady | ObservedGeneration 3",
    ),
    (
        "not on a lost node",
        || bent(reverted(), |b| b.pod_mut(4).node_lost = true),
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "not a pod that ended: the controller does it",
        || bent(reverted(), |b| b.pod_mut(4).phase = PodPhase::Failed),
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "not the same pod twice",
        || bent(reverted(), |b| b.observed.progress.repairing = Some("pod-4-B".into())),
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "at most three times",
        || {
            bent(reverted(), |b| {
                b.observed.progress.repairs.insert((Ordinal(4), "web-B".into()), 3);
            })
        },
        "- | Progressing StuckPod | PodUpdated 4 web-B",
    ),
    (
        "not where the policy forbids it",
        || bent(reverted(), |b| b.record.plan.repair_policy = RepairPolicy::None),
        "- | Progressing StuckPod | PodUpdated 4 web-B",
    ),
    (
        "Parallel: the controller does it itself",
        || bent(reverted(), |b| b.set().parallel = true),
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "Parallel with maxUnavailable: it does not",
        || {
            bent(reverted(), |b| {
                b.set().parallel = true;
                b.set().max_unavailable = Some(1);
            })
        },
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "a pod that was Ready once is given time",
        || {
            bent(reverted(), |b| {
                let pod = b.pod_mut(4);
                pod.ready_since = Some(at(-10));
            })
        },
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "and is replaced when it is in trouble for long",
        || {
            bent(reverted(), |b| {
                let pod = b.pod_mut(4);
                pod.ready_since = Some(at(-31));
            })
        },
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "a broken pod at the target is the rollout's failure",
        || {
            bent(Bench::running(1), |b| {
                b.broken(4, "B", "ImagePullBackOff");
            })
        },
        "- | Progressing WaitingReady | PodReady 4 ImagePullBackOff",
    ),
    (
        "a broken pod of stable below the partition would come back the same",
        || {
            bent(Bench::running(1), |b| {
                b.broken(0, "A", "CrashLoopBackOff");
            })
        },
        "- | Degraded StuckPod | PodReady 0 CrashLoopBackOff",
    ),
    (
        "roll forward: the pod that the superseded revision broke",
        || {
            bent(Bench::running(1), |b| {
                b.tip("c3", "C");
                b.record.target = seen("c3", "C");
                b.record.live = hash("C");
                let set = b.set();
                (set.template, set.update_revision) = (hash("C"), "web-C".into());
                b.broken(4, "B", "ImagePullBackOff");
            })
        },
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "a superseded pod below the partition comes back at stable",
        || {
            bent(Bench::running(3), |b| {
                b.tip("c3", "C");
                b.record.target = seen("c3", "C");
                b.record.live = hash("C");
                b.record.stage = Some(0);
                b.record.partition = Partition(4);
                let set = b.set();
                (set.template, set.update_revision) = (hash("C"), "web-C".into());
                set.partition = Some(Partition(4));
                b.broken(2, "B", "CrashLoopBackOff");
            })
        },
        "DeletePod 2 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "never below the partition when stable itself is broken",
        || {
            bent(Bench::running(3), |b| {
                b.tip("c3", "C");
                b.record.target = seen("c3", "C");
                b.record.live = hash("C");
                b.record.stage = Some(0);
                b.record.partition = Partition(4);
                let set = b.set();
                (set.template, set.update_revision) = (hash("C"), "web-C".into());
                set.partition = Some(Partition(4));
                b.broken(2, "B", "CrashLoopBackOff");
                b.broken(0, "A", "");
                b.broken(1, "A", "");
            })
        },
        "- | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "ordered: the lowest broken pod is what the controller waits for",
        || {
            bent(reverted(), |b| {
                b.record.partition = Partition(2);
                b.record.exposed = Some(3);
                b.set().partition = Some(Partition(2));
                b.broken(2, "B", "ImagePullBackOff");
            })
        },
        "DeletePod 2 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "a first install that never worked: replaced one at a time",
        reinstalled,
        "DeletePod 0 | Progressing WaitingReady | PodUpdated 0 web-A",
    ),
    (
        "a first install that is broken waits for a fix",
        || {
            bent(reinstalled(), |b| {
                b.set().update_revision = "web-A".into();
                b.record.target = seen("c1", "A");
                b.record.live = hash("A");
                b.set().template = hash("A");
                b.tip("c1", "A");
                b.now = at(500);
            })
        },
        "- | Degraded ProgressDeadlineExceeded | PodReady 0 CrashLoopBackOff",
    ),
];

#[test]
fn broken_pods() {
    run(ROWS);
}

/// Five pods under Parallel, one verified at the new revision, and two of stable broken since before the rollout.
fn with_two_away(ordinals: [u32; 2]) -> Bench {
    bent(Bench::running(1), |b| {
        b.set().parallel = true;
        for ordinal in ordinals {
            b.broken(ordinal, "A", "CrashLoopBackOff");
        }
        b.now = at(500);
    })
}

#[test]
fn no_healthy_pod_is_taken_down_beside_more_broken_ones_than_may_be() {
    let mut bench = with_two_away([0, 1]);
    assert_eq!(bench.line(), "- | Degraded StuckPod | PodReady 1 CrashLoopBackOff");
    assert!(bench.decide().message.contains("2 pods are away and 1 may be"), "{}", bench.decide().message);
    // A person may say that it goes on.
    bench.ask(Verb::Promote);
    assert_eq!(bench.line(), "Patch p=2 stage=1 answered | Progressing WaitingReady | -");
    // As many as the budget has, the next one among them.
    let mut bench = bent(with_two_away([0, 1]), |b| b.set().max_unavailable = Some(2));
    assert_eq!(bench.line(), "- | Degraded StuckPod | PodReady 1 CrashLoopBackOff");
    let mut bench = bent(with_two_away([0, 1]), |b| b.set().max_unavailable = Some(3));
    assert_eq!(bench.line(), "Patch p=2 stage=1 | Progressing WaitingReady | -");
    // Only broken ones would be replaced: nothing more goes down.
    let mut bench = with_two_away([2, 3]);
    assert_eq!(bench.line(), "Patch p=2 stage=1 | Progressing WaitingReady | -");
}

#[test]
fn a_leftover_below_the_partition_is_replaced_before_the_rollout_goes_on() {
    // Broken by a revision that was superseded: stable would come back in its place.
    let mut bench = bent(Bench::running(1), |b| {
        b.set().parallel = true;
        let pod = b.broken(1, "C", "CrashLoopBackOff");
        (pod.created, pod.started, pod.ready_since) = (at(-9000), Some(at(-9000)), Some(at(-9000)));
        b.now = at(500);
    });
    assert_eq!(bench.line(), "DeletePod 1 | Progressing WaitingReady | -");
    // In a pause too: it may take days.
    bench.record.plan = plan(vec![
        stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
        stage("all", Size::Percent(100), 0, Pause::None),
    ]);
    assert_eq!(bench.line(), "DeletePod 1 | Progressing WaitingReady | -");
}

#[test]
fn a_start_is_refused_where_no_pod_carries_the_current_revision() {
    let mut bench = Bench::resting();
    bench.tip("c2", "B");
    bench.set().current_revision = "web-old".into();
    assert_eq!(bench.line(), "- | Blocked StaleCurrentRevision | Correction");
}

#[test]
fn a_start_writes_the_block_that_is_missing() {
    let mut bench = Bench::resting();
    bench.tip("c2", "B");
    bench.set().partition = None;
    bench.record.generation = 3;
    assert_eq!(bench.line(), "Start B of B p=4 replicas=5 stage=0 | Progressing Starting | -");
}
