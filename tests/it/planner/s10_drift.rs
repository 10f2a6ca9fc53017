//! Section 10 of the rules: drift and its exits, wishes for a restart.

use phaseline::model::{FieldOwner, Partition, Reason, Verb};

use super::bench::{Bench, Row, bent, hash, owner, run};

/// Somebody changed the spec.
fn moved(mut bench: Bench, change: impl FnOnce(&mut phaseline::model::LiveSet)) -> Bench {
    let set = bench.set();
    set.generation += 1;
    set.observed_generation += 1;
    change(set);
    bench
}

fn image(bench: Bench) -> Bench {
    moved(bench, |set| {
        set.template = hash("X");
        set.update_revision = "web-X".into();
        set.owners.push(FieldOwner { template: true, ..owner("kubectl-set") });
    })
}

fn restarted(bench: Bench) -> Bench {
    moved(bench, |set| {
        set.restarted_at = "monday".into();
        set.update_revision = "web-A@monday".into();
        set.owners.push(FieldOwner { template: true, ..owner("kubectl-rollout") });
    })
}

fn asked(mut bench: Bench, verb: Verb) -> Bench {
    bench.ask(verb);
    bench
}

const ROWS: &[Row] = &[
    ("a changed template at rest", || image(Bench::resting()), "- | Degraded Drifted | DriftDecision"),
    ("a changed template under way", || image(Bench::running(1)), "- | Degraded Drifted | DriftDecision"),
    (
        "a changed partition",
        || moved(Bench::running(1), |set| set.partition = Some(Partition(0))),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "an unparked set",
        || moved(Bench::resting(), |set| set.partition = Some(Partition(0))),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "a strategy taken away",
        || {
            moved(Bench::resting(), |set| {
                set.strategy = "OnDelete".into();
                set.partition = None;
            })
        },
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "an edited record",
        || {
            bent(Bench::resting(), |b| {
                b.set().owners.push(FieldOwner { record: true, ..owner("kubectl-edit") });
            })
        },
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "replicas that the manifest states",
        || moved(Bench::resting(), |set| set.replicas = 9),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "replicas that it leaves out",
        || {
            bent(Bench::resting(), |b| {
                b.autoscale(6);
                b.pod(5, "A");
            })
        },
        "- | Healthy Completed | -",
    ),
    (
        "labels of others",
        || bent(Bench::resting(), |b| b.set().resource_version = "999".into()),
        "- | Healthy Completed | -",
    ),
    ("another field of the spec", || moved(Bench::resting(), |_| ()), "- | Healthy Completed | -"),
    (
        "a new commit does not go over a drift",
        || {
            bent(image(Bench::resting()), |b| {
                b.tip("c2", "B");
            })
        },
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "overwrite puts Git's state back at rest",
        || asked(image(Bench::resting()), Verb::ResumeOverwrite),
        "Overwrite A of A p=parked replicas=5 done answered | Progressing Starting | -",
    ),
    (
        "overwrite puts Git's state back under way",
        || asked(moved(Bench::running(1), |set| set.partition = Some(Partition(0))), Verb::ResumeOverwrite),
        "Overwrite B of B p=4 replicas=5 stage=0 answered | Progressing Starting | -",
    ),
    (
        "overwrite of replicas",
        || asked(moved(Bench::resting(), |set| set.replicas = 9), Verb::ResumeOverwrite),
        "Overwrite A of A p=parked replicas=5 done answered | Progressing Starting | -",
    ),
    (
        "overwrite under way takes the share of the replicas it restores",
        || {
            bent(asked(moved(Bench::running(1), |set| set.replicas = 9), Verb::ResumeOverwrite), |b| {
                b.desired.tip.replicas = Some(5);
            })
        },
        "Overwrite B of B p=4 replicas=5 stage=0 answered | Progressing Starting | -",
    ),
    (
        "accept of a template at rest goes through the plan",
        || asked(image(Bench::resting()), Verb::ResumeAccept),
        "Patch p=4 stage=0 answered | Progressing WaitingReady | -",
    ),
    (
        "accept of a partition under way",
        || asked(moved(Bench::running(1), |set| set.partition = Some(Partition(2))), Verb::ResumeAccept),
        "Note stage=1 answered | Progressing WaitingReady | -",
    ),
    (
        "accept of an unparked set parks it",
        || asked(moved(Bench::resting(), |set| set.partition = Some(Partition(0))), Verb::ResumeAccept),
        "Patch p=parked done answered | Progressing WaitingReady | -",
    ),
    (
        "accept of another strategy is refused",
        || {
            asked(
                moved(Bench::resting(), |set| {
                    set.strategy = "OnDelete".into();
                    set.partition = None;
                }),
                Verb::ResumeAccept,
            )
        },
        "Note done refused | Progressing Starting | -",
    ),
    (
        "accept of nothing is refused",
        || asked(Bench::resting(), Verb::ResumeAccept),
        "Note done refused | Progressing Starting | -",
    ),
    (
        "any other request is refused while drifted",
        || asked(image(Bench::running(1)), Verb::Promote),
        "Note stage=0 refused | Progressing Starting | -",
    ),
    (
        "release out of a drift",
        || asked(image(Bench::running(1)), Verb::Release),
        "Release p=None | Blocked AdoptionRequired | -",
    ),
    (
        "a wish for a restart goes through the plan",
        || restarted(Bench::resting()),
        "Patch p=4 stage=0 | Progressing Starting | -",
    ),
    (
        "a wish under way: exposed pods are verified again",
        || restarted(Bench::running(1)),
        "Note stage=0 | Progressing Starting | -",
    ),
    (
        "a wish waits for a hold",
        || {
            bent(restarted(Bench::resting()), |b| {
                b.record.hold = Some(phaseline::model::Hold { by: "ann".into() });
            })
        },
        "- | Paused PausedByUser | Resume",
    ),
    (
        "a wish at zero replicas has nothing to stage",
        || {
            bent(restarted(Bench::resting()), |b| {
                b.set().replicas = 0;
                b.desired.tip.replicas = Some(0);
                b.observed.pods.clear();
            })
        },
        "Patch p=0 Install | Progressing Starting | -",
    ),
    (
        "a restart that is taken back is a drift",
        || moved(bent(Bench::resting(), |b| b.record.target.restart = "monday".into()), |_| ()),
        "- | Degraded Drifted | DriftDecision",
    ),
];

#[test]
fn drift() {
    run(ROWS);
}

#[test]
fn the_manager_and_the_exits_are_named() {
    let decision = image(Bench::running(1)).decide();
    for words in ["kubectl-set", "--overwrite", "--accept", "release"] {
        assert!(decision.message.contains(words), "{}", decision.message);
    }
    assert_eq!(decision.reason, Reason::Drifted);
}

#[test]
fn a_conflict_of_the_dry_run_is_a_drift() {
    let mut bench = Bench::resting();
    bench.tip("c2", "B");
    bench.observed.refused = Some((Reason::Drifted, "conflict with \"argocd\"".into()));
    let decision = bench.decide();
    assert_eq!(super::bench::line(&decision), "- | Degraded Drifted | DriftDecision");
    assert!(decision.message.contains("argocd"));
    bench.ask(Verb::ResumeOverwrite);
    assert_eq!(bench.line(), "Overwrite B of B p=4 replicas=5 stage=0 answered | Progressing Starting | -");
}
