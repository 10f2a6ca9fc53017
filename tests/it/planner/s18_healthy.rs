//! Section 18 of the rules: what Healthy means.

use phaseline::model::{Hold, Phase, Reason, Verb};

use super::bench::{Bench, Row, bent, hash, run};

/// A foreign template that was accepted, and runs everywhere.
fn accepted() -> Bench {
    bent(Bench::resting(), |b| {
        b.record.accepted = true;
        b.record.live = hash("X");
        b.record.back = "web-X".into();
        let set = b.set();
        set.template = hash("X");
        (set.current_revision, set.update_revision) = ("web-X".into(), "web-X".into());
        for ordinal in 0..5 {
            b.pod(ordinal, "X");
        }
    })
}

/// Somebody brought a template to one pod, and put template and partition back in one edit.
fn astray() -> Bench {
    bent(Bench::resting(), |b| {
        b.set().generation += 2;
        b.set().observed_generation += 2;
        b.pod(4, "X");
    })
}

const ROWS: &[Row] = &[
    ("what was accepted is not Git's", accepted, "- | Paused DriftAccepted | DriftDecision"),
    (
        "its pods are watched all the same",
        || {
            bent(accepted(), |b| {
                b.broken(2, "X", "CrashLoopBackOff").created = super::bench::at(-2000);
                b.pod_mut(2).ready_since = Some(super::bench::at(-2000));
            })
        },
        "- | Degraded StuckPod | PodReady 2 CrashLoopBackOff",
    ),
    (
        "it goes back through the plan when told",
        || bent(accepted(), |b| _ = b.ask(Verb::ResumeOverwrite)),
        "Overwrite A of A p=4 replicas=5 stage=0 answered | Progressing Starting | -",
    ),
    (
        "not while a person holds it",
        || {
            bent(accepted(), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
                b.ask(Verb::ResumeOverwrite);
            })
        },
        "Note done held by ann refused | Progressing Starting | -",
    ),
    (
        "Git agrees: its commit is rolled out, and no pod moves",
        || bent(accepted(), |b| _ = b.tip("c2", "X")),
        "Start X of X p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "a commit that scales brings Git's template through the plan",
        || bent(accepted(), |b| _ = b.scale_commit(Some(7))),
        "Start A of A p=6 replicas=7 stage=0 | Progressing Starting | -",
    ),
    ("foreign pods at rest", astray, "- | Degraded Drifted | DriftDecision"),
    (
        "go back when told",
        || bent(astray(), |b| _ = b.ask(Verb::ResumeOverwrite)),
        "Overwrite A of A p=4 replicas=5 stage=0 Back answered | Progressing Starting | -",
    ),
    (
        "one that is on its way out is none",
        || bent(astray(), |b| b.pod_mut(4).terminating = true),
        "- | Progressing WaitingReady | PodGone 4",
    ),
    (
        "pods that may be shown as they no longer are tell nothing",
        || bent(astray(), |b| b.observed.pods_behind = true),
        "- | Healthy Completed | -",
    ),
    (
        "a commit that waits behind a hold",
        || {
            bent(Bench::resting(), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
                b.tip("c2", "B");
            })
        },
        "- | Paused PausedByUser | Resume",
    ),
    (
        "a commit that failed before",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
                b.failed();
                let (commit, hash) = (b.desired.tip.commit.id.clone(), b.desired.tip.hash.clone());
                (b.record.failed[0].commit, b.record.failed[0].hash) = (commit, hash);
            })
        },
        "- | Degraded Superseded | Decision",
    ),
    (
        "a commit that the server refuses",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
                b.observed.refused = Some((Reason::Refused, "no".into()));
            })
        },
        "- | Blocked Refused | Correction",
    ),
];

#[test]
fn healthy() {
    run(ROWS);
}

#[test]
fn the_foreign_pod_is_named() {
    let decision = astray().decide();
    assert!(decision.message.contains("web-4 runs web-X"), "{}", decision.message);
    assert!(decision.culprit.is_some());
}

#[test]
fn the_end_of_an_accepted_rollout_is_not_called_healthy() {
    let mut bench = Bench::running(5);
    bench.record.accepted = true;
    let decision = bench.decide();
    assert_eq!((decision.phase, decision.reason), (Phase::Paused, Reason::DriftAccepted));
}
