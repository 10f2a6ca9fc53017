//! Section 3 of the rules: nothing rolls except through a plan; staging by hand; release.

use phaseline::model::{PARKED, Partition, Plan, Schedule, Verb};

use super::bench::{Bench, Row, bent, hash, run};

/// Staging by hand: the manifest's partition is the plan.
fn by_hand(replicas: u32, partition: u32, exposed: u32) -> Bench {
    let plan = |partition| Plan { schedule: Schedule::ByHand(partition), ..Plan::default() };
    let mut bench = Bench::running_with(replicas, plan(replicas - exposed), exposed);
    bench.record.stage = Some(0);
    bench.desired.plan = plan(partition);
    bench
}

const ROWS: &[Row] = &[
    (
        "completion parks in the write that records it",
        || Bench::running(5),
        "Patch p=parked stage=2 done | Healthy Completed | -",
    ),
    ("nothing to do at rest", Bench::resting, "- | Healthy Completed | -"),
    (
        "a pod that is away at rest is only reported",
        || {
            bent(Bench::resting(), |b| {
                b.observed.pods.remove(&phaseline::model::Ordinal(2));
            })
        },
        "- | Progressing WaitingReady | PodCreated 2",
    ),
    (
        "at rest a stage begins with its template and partition in one write",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c2", "B");
            })
        },
        "Start B of B p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "by hand: the manifest's partition is the first stage",
        || {
            let mut bench = Bench::resting();
            bench.desired.plan = Plan { schedule: Schedule::ByHand(3), ..Plan::default() };
            bench.desired.plan_digest = "plan-2".into();
            bench.tip("c2", "B");
            bench
        },
        "Start B of B p=3 replicas=5 stage=0 | Progressing Starting | -",
    ),
    ("by hand: waits for a commit", || by_hand(5, 4, 1), "- | Paused StagePaused | PartitionCommit"),
    (
        "by hand: a commit that lowers it is one stage",
        || by_hand(5, 2, 1),
        "Patch p=2 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "by hand: a commit that raises it changes nothing",
        || by_hand(5, 4, 3),
        "- | Paused StagePaused | PartitionCommit",
    ),
    (
        "by hand: gated all the same",
        || {
            bent(by_hand(5, 2, 1), |b| {
                b.broken(4, "B", "");
            })
        },
        "- | Progressing WaitingReady | PodReady 4",
    ),
    ("by hand: parked at the end", || by_hand(5, 0, 5), "Patch p=parked stage=0 done | Healthy Completed | -"),
    (
        "by hand: a partition taken out of the manifest holds nothing back",
        || bent(by_hand(5, 4, 1), |b| b.desired.plan = Plan::default()),
        "Patch p=0 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "release at rest leaves an ordinary set",
        || {
            bent(Bench::resting(), |b| {
                b.ask(Verb::Release);
            })
        },
        "Release p=Some(\"0\") | Blocked AdoptionRequired | -",
    ),
    (
        "release under way moves nothing",
        || {
            bent(Bench::running(1), |b| {
                b.ask(Verb::Release);
            })
        },
        "Release p=None | Blocked AdoptionRequired | -",
    ),
    (
        "release of a set whose manifest asks for adoption is refused",
        || {
            bent(Bench::resting(), |b| {
                b.desired.tip.adopt = true;
                b.ask(Verb::Release);
            })
        },
        "Note done refused | Progressing Starting | -",
    ),
    (
        "release of a parked set with a stray template leaves it parked",
        || {
            bent(Bench::resting(), |b| {
                b.set().update_revision = "web-X".into();
                b.set().template = hash("X");
                b.ask(Verb::Release);
            })
        },
        "Release p=None | Blocked AdoptionRequired | -",
    ),
];

#[test]
fn parking() {
    run(ROWS);
}

#[test]
fn parked_is_above_every_ordinal() {
    assert_eq!(PARKED, Partition(2_147_483_647));
}
