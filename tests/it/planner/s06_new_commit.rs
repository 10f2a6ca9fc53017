//! Section 6 of the rules: a new commit while a rollout runs, and at rest.

use phaseline::model::{Hold, Mode, OnNewRevision, Partition, Plan, Verb};

use super::bench::{Bench, Row, bent, hash, run, seen};

/// A running rollout of B, the third revision C arrives.
fn newer(exposed: u32, on: OnNewRevision) -> Bench {
    bent(Bench::running(exposed), |b| {
        b.record.plan.on_new_revision = on;
        b.tip("c3", "C");
    })
}

/// The same where B has failed.
fn failed(on: OnNewRevision) -> Bench {
    bent(newer(1, on), |b| {
        b.broken(4, "B", "ImagePullBackOff");
        b.failed();
    })
}

/// Restarted over three revisions: C at stage 0, B below it.
fn three_revisions() -> Bench {
    bent(Bench::running(3), |b| {
        b.tip("c3", "C");
        b.record.target = seen("c3", "C");
        b.record.live = hash("C");
        b.record.stage = Some(0);
        b.record.partition = Partition(4);
        let set = b.set();
        (set.template, set.update_revision) = (hash("C"), "web-C".into());
        set.partition = Some(Partition(4));
        b.pod(4, "C");
    })
}

const ROWS: &[Row] = &[
    (
        "revert mid-rollout: the partition is kept",
        || {
            bent(Bench::running(3), |b| {
                b.tip("c3", "A");
            })
        },
        "Start A of A p=2 replicas=5 stage=1 Back | Progressing Starting | -",
    ),
    (
        "revert while halted",
        || {
            bent(failed(OnNewRevision::Continue), |b| {
                b.tip("c3", "A");
            })
        },
        "Start A of A p=4 replicas=5 stage=0 Back | Progressing Starting | -",
    ),
    (
        "revert of a queueing plan is a revert",
        || {
            bent(newer(1, OnNewRevision::Queue), |b| {
                b.tip("c3", "A");
            })
        },
        "Start A of A p=4 replicas=5 stage=0 Back | Progressing Starting | -",
    ),
    (
        "revert of a blocking plan is a revert",
        || {
            bent(newer(1, OnNewRevision::Block), |b| {
                b.tip("c3", "A");
            })
        },
        "Start A of A p=4 replicas=5 stage=0 Back | Progressing Starting | -",
    ),
    (
        "the way back ends parked at stable",
        || {
            bent(Bench::running(1), |b| {
                b.tip("c3", "A");
                b.record.target = seen("c3", "A");
                b.record.mode = Mode::Back;
                b.record.live = hash("A");
                let set = b.set();
                (set.template, set.update_revision) = (hash("A"), "web-A".into());
                b.pod(4, "A");
            })
        },
        "Patch p=parked stage=2 Back done | Healthy RolledBack | -",
    ),
    (
        "a commit forward from the way back exposes the same pods",
        || {
            bent(Bench::running(1), |b| {
                b.record.mode = Mode::Back;
                b.tip("c3", "C");
            })
        },
        "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "another proven revision: kept, then to the end",
        || {
            bent(newer(1, OnNewRevision::Continue), |b| {
                b.record.proven = vec![hash("C"), hash("A")];
            })
        },
        "Start C of C p=4 replicas=5 stage=0 Fast | Progressing Starting | -",
    ),
    (
        "proven, but out of the window",
        || {
            bent(newer(1, OnNewRevision::Continue), |b| {
                b.record.proven = vec![hash("C"), hash("X"), hash("A")];
                b.desired.plan.rollback_window = 1;
            })
        },
        "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "fast: on to the end without a pause",
        || bent(Bench::running(1), |b| b.record.mode = Mode::Fast),
        "Patch p=0 stage=2 Fast | Progressing WaitingReady | -",
    ),
    (
        "fast: readiness is not skipped",
        || {
            bent(Bench::running(1), |b| {
                b.record.mode = Mode::Fast;
                b.broken(4, "B", "");
            })
        },
        "- | Progressing WaitingReady | PodReady 4",
    ),
    (
        "continue: exactly the exposed pods",
        || newer(1, OnNewRevision::Continue),
        "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "continue with another plan: between its stages",
        || {
            bent(newer(3, OnNewRevision::Continue), |b| {
                b.desired.plan = Plan {
                    schedule: phaseline::model::Schedule::Stages(vec![
                        super::bench::stage("two", phaseline::model::Size::Pods(2), 0, phaseline::model::Pause::None),
                        super::bench::stage(
                            "all",
                            phaseline::model::Size::Percent(100),
                            0,
                            phaseline::model::Pause::None,
                        ),
                    ]),
                    ..Plan::default()
                };
            })
        },
        "Start C of C p=2 replicas=5 stage=0 exposed=3 | Progressing Starting | -",
    ),
    (
        "continue with another plan: before its first stage",
        || {
            bent(newer(1, OnNewRevision::Continue), |b| {
                b.desired.plan = Plan {
                    schedule: phaseline::model::Schedule::Stages(vec![
                        super::bench::stage("two", phaseline::model::Size::Pods(2), 0, phaseline::model::Pause::None),
                        super::bench::stage(
                            "all",
                            phaseline::model::Size::Percent(100),
                            0,
                            phaseline::model::Pause::None,
                        ),
                    ]),
                    ..Plan::default()
                };
            })
        },
        "Start C of C p=4 replicas=5 exposed=1 | Progressing Starting | -",
    ),
    (
        "restart: stage 0 in the write that brings the template",
        || newer(3, OnNewRevision::Restart),
        "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "continue after a restart: exactly the pods that are exposed now",
        || {
            bent(three_revisions(), |b| {
                b.tip("c4", "D");
            })
        },
        "Start D of D p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "queue: the running one goes on",
        || newer(1, OnNewRevision::Queue),
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "queue behind a failure: what failed has ended",
        || failed(OnNewRevision::Queue),
        "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    ("block: a person decides", || newer(1, OnNewRevision::Block), "- | Paused Superseded | NewRevisionDecision"),
    (
        "block: resume takes the new one",
        || {
            bent(newer(1, OnNewRevision::Block), |b| {
                b.ask(Verb::Resume);
            })
        },
        "Start C of C p=4 replicas=5 stage=0 answered | Progressing Starting | -",
    ),
    (
        "block: promote lets the running one go a stage further",
        || {
            bent(newer(1, OnNewRevision::Block), |b| {
                b.ask(Verb::Promote);
            })
        },
        "Patch p=2 stage=1 answered | Progressing WaitingReady | -",
    ),
    (
        "block: not before the gate",
        || {
            bent(newer(1, OnNewRevision::Block), |b| {
                b.broken(4, "B", "");
            })
        },
        "- | Progressing WaitingReady | PodReady 4",
    ),
    (
        "held by a person: nothing takes over",
        || {
            bent(newer(1, OnNewRevision::Continue), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
            })
        },
        "- | Paused PausedByUser | Resume",
    ),
    (
        "at rest, proven inside the window: straight to the end",
        || {
            bent(Bench::resting(), |b| {
                b.record.proven = vec![hash("B"), hash("A")];
                b.tip("c2", "B");
            })
        },
        "Start B of B p=0 replicas=5 stage=2 Fast | Progressing Starting | -",
    ),
    (
        "at rest, everything else goes through the stages, reverts included",
        || {
            bent(Bench::resting(), |b| {
                b.record.proven = vec![hash("B"), hash("C"), hash("D"), hash("E"), hash("A")];
                b.tip("c2", "B");
            })
        },
        "Start B of B p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "the first revision never became Ready: installed again",
        || {
            bent(Bench::running(5), |b| {
                b.record.stable = None;
                b.record.proven.clear();
                b.record.mode = Mode::Install;
                (0..5).for_each(|ordinal| _ = b.broken(ordinal, "B", "ImagePullBackOff"));
                b.tip("c3", "C");
            })
        },
        "Start C of C p=0 replicas=5 Install | Progressing Starting | -",
    ),
    (
        "an edited plan waits for the next rollout",
        || bent(Bench::running(1), |b| b.desired.plan_digest = "plan-2".into()),
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "replan keeps the exposed pods",
        || {
            bent(Bench::running(3), |b| {
                b.desired.plan.schedule = phaseline::model::Schedule::Stages(vec![
                    super::bench::stage("two", phaseline::model::Size::Pods(2), 0, phaseline::model::Pause::None),
                    super::bench::stage("all", phaseline::model::Size::Percent(100), 0, phaseline::model::Pause::None),
                ]);
                b.desired.plan_digest = "plan-2".into();
                b.ask(Verb::ResumeReplan);
            })
        },
        "Note stage=0 exposed=3 answered | Progressing WaitingReady | -",
    ),
    (
        "the same template by another commit changes nothing",
        || {
            bent(Bench::running(1), |b| {
                b.tip("c9", "B");
            })
        },
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "the same template by another commit at rest changes nothing",
        || {
            bent(Bench::resting(), |b| {
                b.tip("c9", "A");
            })
        },
        "- | Healthy Completed | -",
    ),
];

#[test]
fn a_new_commit() {
    run(ROWS);
}

#[test]
fn a_waiting_commit_is_named() {
    for on in [OnNewRevision::Queue, OnNewRevision::Block] {
        assert_eq!(newer(1, on).decide().pending.as_deref(), Some("c3"));
    }
}

#[test]
fn a_newer_plan_is_spoken_of() {
    let mut bench = Bench::running(1);
    bench.desired.plan_digest = "plan-2".into();
    assert!(bench.decide().message.contains("--replan"));
}
