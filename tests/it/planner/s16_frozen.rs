//! Section 16 of the rules: frozen is frozen for newcomers too, and for what people ask.

use phaseline::model::{FieldOwner, Hold, LiveSet, Mode, PARKED, Partition, Pause, Schedule, Size, Verb};

use super::bench::{Bench, Row, bent, hash, line, owner, plan, run, stage};

/// Somebody changed the spec.
fn moved(mut bench: Bench, change: impl FnOnce(&mut LiveSet)) -> Bench {
    let set = bench.set();
    set.generation += 1;
    set.observed_generation += 1;
    change(set);
    bench
}

/// `kubectl set image`.
fn image(bench: Bench) -> Bench {
    moved(bench, |set| {
        set.template = hash("X");
        set.update_revision = "web-X".into();
        set.owners.push(FieldOwner { template: true, ..owner("kubectl-set") });
    })
}

/// `kubectl patch` of the partition.
fn partition(bench: Bench, to: u32) -> Bench {
    moved(bench, |set| {
        set.partition = Some(Partition(to));
        set.owners.push(FieldOwner { strategy: true, ..owner("kubectl-patch") });
    })
}

/// The same by an autoscaler: no manifest states replicas.
fn scaled(bench: Bench, replicas: u32) -> Bench {
    bent(bench, |b| {
        b.scale_commit(None);
        b.record.rest.clone_from(&b.desired.tip.rest);
        b.set().owners[0].replicas = false;
        b.scaled(replicas);
    })
}

fn held(bench: Bench) -> Bench {
    bent(bench, |b| b.record.hold = Some(Hold { by: "ann".into() }))
}

/// Half of four, then all.
fn half() -> Bench {
    let stages =
        vec![stage("half", Size::Percent(50), 0, Pause::None), stage("all", Size::Percent(100), 0, Pause::None)];
    Bench::running_with(4, plan(stages), 2)
}

const ROWS: &[Row] = &[
    (
        "a foreign template under way: nobody new runs it",
        || scaled(image(Bench::running(1)), 9),
        "HoldBack p=9 | Degraded Drifted | DriftDecision",
    ),
    (
        "a foreign template and partition at rest",
        || scaled(partition(image(Bench::resting()), 3), 9),
        "HoldBack p=parked | Degraded Drifted | DriftDecision",
    ),
    (
        "a foreign partition alone, at rest with one revision: there is nothing to hold back",
        || scaled(partition(Bench::resting(), 3), 9),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "a foreign template at rest, parked",
        || scaled(image(Bench::resting()), 9),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "a foreign partition is not fought over while nobody scales",
        || partition(Bench::running(1), 2),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "a foreign partition under way: as many as we exposed",
        || scaled(partition(Bench::running(1), 2), 9),
        "HoldBack p=8 | Degraded Drifted | DriftDecision",
    ),
    (
        "a foreign template and partition at rest while nobody scales",
        || partition(image(Bench::resting()), 3),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "an autoscaler at rest before the drift is no scale-up after it",
        || {
            bent(partition(image(scaled(Bench::resting(), 7)), 3), |b| {
                b.pod(5, "A");
                b.pod(6, "A");
            })
        },
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "another scale-up after that",
        || {
            bent(scaled(partition(image(scaled(Bench::resting(), 7)), 3), 9), |b| {
                b.pod(5, "A");
                b.pod(6, "A");
            })
        },
        "HoldBack p=parked | Degraded Drifted | DriftDecision",
    ),
    (
        "before the controller has seen it",
        || bent(scaled(partition(image(Bench::resting()), 3), 9), |b| b.set().observed_generation -= 1),
        "HoldBack p=parked | Degraded Drifted | DriftDecision",
    ),
    (
        "replicas that Git states, under way",
        || bent(Bench::running(1), |b| _ = b.scaled(9)),
        "HoldBack p=8 | Degraded Drifted | DriftDecision",
    ),
    (
        "held back already",
        || moved(bent(Bench::running(1), |b| _ = b.scaled(9)), |set| set.partition = Some(Partition(8))),
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "and scaled back: what we held back is no drift",
        || moved(bent(Bench::running(1), |b| b.set().generation += 1), |set| set.partition = Some(Partition(8))),
        "Patch p=4 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "another strategy cannot hold anybody back",
        || {
            moved(scaled(Bench::running(1), 9), |set| {
                set.strategy = "OnDelete".into();
                set.partition = None;
            })
        },
        "- | Degraded Drifted | DriftDecision",
    ),
    (
        "no block to hold back with is partition zero",
        || moved(scaled(Bench::running(1), 9), |set| set.partition = None),
        "HoldBack p=8 | Degraded Drifted | DriftDecision",
    ),
    (
        "a hold exposes as many as before, not their share",
        || scaled(held(half()), 8),
        "Patch p=6 stage=0 held by ann | Progressing WaitingReady | -",
    ),
    (
        "and again",
        || {
            bent(scaled(held(half()), 12), |b| {
                (b.record.partition, b.record.replicas) = (Partition(6), Some(8));
                b.set().partition = Some(Partition(6));
            })
        },
        "Patch p=10 stage=0 held by ann | Progressing WaitingReady | -",
    ),
    (
        "down and up again",
        || {
            bent(scaled(held(half()), 7), |b| {
                (b.record.partition, b.record.replicas) = (Partition(6), Some(8));
                b.set().partition = Some(Partition(6));
            })
        },
        "- | Paused PausedByUser | Resume",
    ),
    (
        "a failure exposes as many as before",
        || {
            scaled(
                bent(half(), |b| {
                    b.failed();
                }),
                8,
            )
        },
        "Patch p=6 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "staged by hand and held",
        || {
            scaled(
                held(bent(half(), |b| {
                    b.record.plan.schedule = Schedule::ByHand(2);
                    b.desired.plan.schedule = Schedule::ByHand(2);
                })),
                8,
            )
        },
        "Patch p=6 stage=0 held by ann | Progressing WaitingReady | -",
    ),
    (
        "a record of an older version: its stage says how many",
        || scaled(held(bent(Bench::running(1), |b| b.record.replicas = None)), 9),
        "Patch p=8 stage=0 held by ann | Progressing WaitingReady | -",
    ),
    (
        "what is added on a held way back comes at stable",
        || scaled(held(bent(half(), |b| b.record.mode = Mode::Back)), 8),
        "- | Progressing WaitingReady | PodCreated 7",
    ),
    (
        "a pause notes for how many replicas the partition is",
        || {
            bent(scaled(bent(half(), |b| b.record.partition = Partition(2)), 5), |b| {
                (b.record.partition, b.record.replicas) = (Partition(2), Some(4));
                b.pod(4, "B");
                b.ask(Verb::Pause);
            })
        },
        "Note stage=0 held by ann answered | Paused PausedByUser | Resume",
    ),
];

#[test]
fn frozen() {
    run(ROWS);
}

fn orphaned(bench: Bench) -> String {
    line(&bent(bench, |_| ()).decide_orphaned())
}

#[test]
fn an_orphan_exposes_nobody_new() {
    for (bench, expected) in [
        (Bench::running(1), "- | Blocked Orphaned | Correction"),
        (scaled(Bench::running(1), 9), "Patch p=8 stage=0 | Blocked Orphaned | Correction"),
        (scaled(half(), 8), "Patch p=6 stage=0 | Blocked Orphaned | Correction"),
        (scaled(half(), 3), "- | Blocked Orphaned | Correction"),
        (scaled(Bench::resting(), 9), "- | Blocked Orphaned | Correction"),
        (scaled(image(Bench::running(1)), 9), "HoldBack p=9 | Blocked Orphaned | Correction"),
        (scaled(partition(image(Bench::resting()), 3), 9), "HoldBack p=parked | Blocked Orphaned | Correction"),
    ] {
        assert_eq!(orphaned(bench), expected);
    }
}

#[test]
fn an_orphan_scaled_again_and_again_exposes_as_many_as_before() {
    let mut bench = scaled(half(), 8);
    for (replicas, partition) in [(8, 6), (11, 9), (6, 9), (7, 9), (14, 12)] {
        bench.scaled(replicas);
        let decision = bench.decide_orphaned();
        if let [phaseline::model::Action::Patch { partition: Some(to), record, .. }] = decision.actions.as_slice() {
            assert_eq!(record.generation, bench.set().generation + 1);
            bench.record = (**record).clone();
            let set = bench.set();
            (set.partition, set.generation, set.observed_generation) =
                (Some(*to), record.generation, record.generation);
            set.record = phaseline::model::RecordState::Absent;
        }
        assert_eq!(bench.set().partition, Some(Partition(partition)), "at {replicas}");
    }
}

#[test]
fn ordinals_that_do_not_begin_at_zero_change_nothing() {
    let mut bench = scaled(half(), 8);
    bench.set().start = 5;
    assert_eq!(orphaned(bench), "Patch p=6 stage=0 | Blocked Orphaned | Correction");
}

#[test]
fn nothing_that_would_expose_is_carried_out_for_an_orphan() {
    for verb in [
        Verb::Promote,
        Verb::PromoteFull,
        Verb::Resume,
        Verb::ResumeOverwrite,
        Verb::ResumeAccept,
        Verb::ResumeReplan,
        Verb::Retry,
    ] {
        let asked = bent(Bench::running(1), |b| {
            b.ask(verb);
        });
        assert_eq!(orphaned(asked), "Note stage=0 refused | Progressing Starting | -", "{verb:?}");
    }
}

#[test]
fn what_exposes_nobody_is_carried_out_for_an_orphan() {
    let ask = |bench: Bench, verb| {
        orphaned(bent(bench, |b| {
            b.ask(verb);
        }))
    };
    let paused = "Note stage=0 held by ann answered | Paused PausedByUser | Resume";
    assert_eq!(ask(Bench::running(1), Verb::Pause), paused);
    assert_eq!(ask(held(Bench::running(1)), Verb::Resume), "Note stage=0 answered | Progressing WaitingReady | -");
    assert_eq!(ask(Bench::running(1), Verb::Release), "Release p=None | Blocked AdoptionRequired | -");
}

#[test]
fn overwrite_is_refused_where_nothing_has_drifted() {
    let ask = |bench: Bench| {
        bent(bench, |b| {
            b.ask(Verb::ResumeOverwrite);
        })
        .line()
    };
    assert_eq!(ask(Bench::resting()), "Note done refused | Progressing Starting | -");
    assert_eq!(ask(Bench::running(1)), "Note stage=0 refused | Progressing Starting | -");
    let waiting = bent(held(Bench::resting()), |b| {
        b.tip("c2", "B");
    });
    assert_eq!(ask(waiting), "Note done held by ann refused | Progressing Starting | -");
}

#[test]
fn overwrite_starts_nothing_that_a_person_holds() {
    let bench = bent(held(image(Bench::resting())), |b| {
        b.tip("c2", "B");
        b.ask(Verb::ResumeOverwrite);
    });
    let words = "Overwrite A of A p=parked replicas=5 done held by ann answered | Progressing Starting | -";
    assert_eq!(bent(bench, |_| ()).line(), words);
}

#[test]
fn a_full_record_has_room_for_the_replicas() {
    let mut bench = Bench::resting();
    bench.record.replicas = Some(u32::MAX);
    let text = bench.record.encode();
    assert!(text.contains("\"n\":4294967295"), "{text}");
    bench.record.replicas = None;
    assert!(!bench.record.encode().contains("\"n\":4"));
    assert_eq!(bench.record.partition, PARKED);
}
