//! Section 5 of the rules: replicas change.

use phaseline::model::{Hold, Mode, OnNewRevision, Ordinal, Partition, Pause, Size};

use super::bench::{Bench, Row, bent, plan, run, stage};

/// Half, then all; the partition follows.
fn half(replicas: u32) -> Bench {
    let stages =
        vec![stage("half", Size::Percent(50), 0, Pause::None), stage("all", Size::Percent(100), 0, Pause::None)];
    Bench::running_with(replicas, plan(stages), replicas.div_ceil(2))
}

/// The halted first stage.
fn halted() -> Bench {
    bent(Bench::running(1), |b| {
        b.broken(4, "B", "ImagePullBackOff");
        b.failed();
    })
}

const ROWS: &[Row] = &[
    (
        "a commit scales and brings a template: one write at the new replicas",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B").replicas = Some(8);
                b.desired.tip.rest = "rest-8".into();
                b.desired.tip.manifest = super::bench::version("c2", "B", Some(8)).manifest;
            })
        },
        "Start B of B p=7 replicas=8 stage=0 | Progressing Starting | -",
    ),
    (
        "a commit that only scales is applied at once",
        || {
            bent(Bench::resting(), |b| {
                b.scale_commit(Some(8));
            })
        },
        "Sync A of A p=parked replicas=8 done | Progressing Starting | -",
    ),
    (
        "mid-rollout, with the partition of its share",
        || {
            bent(Bench::running(1), |b| {
                b.scale_commit(Some(8));
            })
        },
        "Sync B of B p=7 replicas=8 stage=0 | Progressing Starting | -",
    ),
    (
        "mid-rollout down",
        || {
            bent(Bench::running(3), |b| {
                b.scale_commit(Some(4));
            })
        },
        "Sync B of B p=1 replicas=4 stage=1 | Progressing Starting | -",
    ),
    (
        "an emergency scale-up while halted",
        || {
            bent(halted(), |b| {
                b.scale_commit(Some(8));
            })
        },
        "Sync B of B p=7 replicas=8 stage=0 | Progressing Starting | -",
    ),
    (
        "a scale-down while halted exposes nothing more",
        || {
            bent(halted(), |b| {
                b.scale_commit(Some(3));
            })
        },
        "Sync B of B p=4 replicas=3 stage=0 | Progressing Starting | -",
    ),
    (
        "while a person holds it",
        || {
            bent(Bench::running(1), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
                b.scale_commit(Some(8));
            })
        },
        "Sync B of B p=7 replicas=8 stage=0 held by ann | Progressing Starting | -",
    ),
    (
        "behind a queue: the frozen template stays",
        || {
            bent(Bench::running(1), |b| {
                b.record.plan.on_new_revision = OnNewRevision::Queue;
                b.tip("c3", "C");
                b.scale_commit(Some(8));
            })
        },
        "Sync B of B p=7 replicas=8 stage=0 | Progressing Starting | -",
    ),
    (
        "an autoscaler scales up: the partition follows the share",
        || {
            bent(half(4), |b| {
                b.autoscale(8);
            })
        },
        "Patch p=4 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "an autoscaler scales down: the partition follows the share",
        || {
            bent(half(8), |b| {
                b.autoscale(4);
            })
        },
        "Patch p=2 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "at rest an autoscaler is none of ours",
        || {
            bent(Bench::resting(), |b| {
                b.autoscale(6);
                b.pod(5, "A");
            })
        },
        "- | Healthy Completed | -",
    ),
    (
        "down below the canary",
        || {
            bent(Bench::running(3), |b| {
                b.autoscale(1);
            })
        },
        "Patch p=0 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "a hold: the partition rises",
        || {
            bent(half(4), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
                b.autoscale(8);
            })
        },
        "Patch p=6 stage=0 held by ann | Progressing WaitingReady | -",
    ),
    (
        "a hold: the partition does not fall",
        || {
            bent(half(8), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
                b.autoscale(4);
            })
        },
        "- | Paused PausedByUser | Resume",
    ),
    (
        "way back: kept, whatever the replicas",
        || {
            bent(half(4), |b| {
                b.record.mode = Mode::Back;
                b.autoscale(8);
                for ordinal in 4..8 {
                    b.pod(ordinal, "B");
                }
            })
        },
        "Patch p=parked stage=1 Back done | Healthy RolledBack | -",
    ),
    (
        "to zero mid-rollout is refused, and the rollout goes on",
        || {
            bent(Bench::running(1), |b| {
                b.scale_commit(Some(0));
            })
        },
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "to zero at rest is allowed",
        || {
            bent(Bench::resting(), |b| {
                b.scale_commit(Some(0));
            })
        },
        "Sync A of A p=parked replicas=0 done | Progressing Starting | -",
    ),
    (
        "somebody else scaled to zero",
        || {
            bent(Bench::running(1), |b| {
                b.autoscale(0);
                b.observed.pods.clear();
                b.set().current_revision = "web-B".into();
            })
        },
        "Patch p=parked stage=0 done | Degraded PromotedByScaleToZero | -",
    ),
    (
        "replicas dropped: handed over first",
        || {
            bent(Bench::resting(), |b| {
                b.scale_commit(None);
            })
        },
        "HandOver 5 | Progressing Starting | -",
    ),
    (
        "replicas dropped and handed over",
        || {
            bent(Bench::resting(), |b| {
                b.scale_commit(None);
                let mut other = super::bench::owner("phaseline-handover");
                other.replicas = true;
                b.set().owners.push(other);
            })
        },
        "Sync A of A p=parked done | Progressing Starting | -",
    ),
    (
        "claims would be deleted",
        || {
            bent(Bench::resting(), |b| {
                b.scale_commit(Some(3)).desired.tip.deletes_claims_when_scaled = true;
            })
        },
        "- | Blocked ClaimDeletion | Correction",
    ),
    (
        "claims may be deleted",
        || {
            bent(Bench::resting(), |b| {
                b.scale_commit(Some(3)).desired.tip.deletes_claims_when_scaled = true;
                b.desired.tip.allow_claim_deletion = true;
            })
        },
        "Sync A of A p=parked replicas=3 done | Progressing Starting | -",
    ),
    (
        "claims would be deleted by a start",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
                b.scale_commit(Some(3)).desired.tip.deletes_claims_when_scaled = true;
            })
        },
        "- | Blocked ClaimDeletion | Correction",
    ),
    (
        "pods at the target below the partition are gated too",
        || {
            bent(half(4), |b| {
                b.autoscale(8);
                b.record.partition = Partition(4);
                b.set().partition = Some(Partition(4));
                b.record.generation = b.set().generation;
                for ordinal in 4..8 {
                    b.pod(ordinal, "B");
                }
                b.broken(3, "B", "CrashLoopBackOff");
            })
        },
        "- | Progressing WaitingReady | PodReady 3 CrashLoopBackOff",
    ),
];

#[test]
fn replicas_change() {
    run(ROWS);
}

#[test]
fn the_claims_in_danger_are_named() {
    let mut bench = Bench::resting();
    bench.scale_commit(Some(3)).desired.tip.deletes_claims_when_scaled = true;
    let message = bench.decide().message;
    assert!(message.contains("data-web-3, data-web-4"), "{message}");
}

#[test]
fn a_moved_start_gives_up_claims_too() {
    let mut bench = Bench::resting();
    bench.desired.tip.start = 2;
    bench.desired.tip.rest = "rest-start".into();
    bench.desired.tip.deletes_claims_when_scaled = true;
    let decision = bench.decide();
    assert!(decision.message.contains("data-web-0, data-web-1"), "{}", decision.message);
}

#[test]
fn a_scale_down_and_back_leaves_nobody_uninvited() {
    let mut bench = half(8);
    bench.autoscale(4);
    for ordinal in 4..8 {
        bench.observed.pods.remove(&Ordinal(ordinal));
    }
    for ordinal in 2..4 {
        bench.pod(ordinal, "A");
    }
    assert_eq!(bench.line(), "Patch p=2 stage=0 | Progressing WaitingReady | -");
}
