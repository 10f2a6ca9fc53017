//! Section 17 of the rules: a refused commit never wedges the running one; and replicas that somebody set by hand.

use phaseline::model::{Action, CommitId, FieldOwner, Hold, Mode, PARKED, Partition, Pause, Phase, Reason, Size, Verb};

use super::bench::{Bench, Row, bent, hash, owner, plan, run, seen, stage, version};

/// The tip scales to zero in the middle.
fn to_zero(bench: Bench) -> Bench {
    bent(bench, |b| {
        b.scale_commit(Some(0));
    })
}

/// The tip would delete claims.
fn claims(bench: Bench) -> Bench {
    bent(bench, |b| b.scale_commit(Some(3)).desired.tip.deletes_claims_when_scaled = true)
}

fn paused(exposed: u32) -> Bench {
    let stages =
        vec![stage("canary", Size::Pods(1), 0, Pause::UntilPromoted), stage("all", Size::Percent(100), 0, Pause::None)];
    Bench::running_with(5, plan(stages), exposed)
}

/// All five run the target, and the controller has finished.
fn ended() -> Bench {
    bent(Bench::running(5), |b| b.record.mode = Mode::Full)
}

const ROWS: &[Row] = &[
    ("a stage goes on", || to_zero(Bench::running(1)), "Patch p=2 stage=1 | Progressing WaitingReady | -"),
    ("a pause is a pause", || to_zero(paused(1)), "- | Paused StagePaused | Promotion"),
    (
        "a promotion is carried out",
        || bent(to_zero(paused(1)), |b| _ = b.ask(Verb::Promote)),
        "Patch p=0 stage=1 answered | Progressing WaitingReady | -",
    ),
    (
        "a hold is a hold",
        || bent(to_zero(paused(1)), |b| b.record.hold = Some(Hold { by: "ann".into() })),
        "- | Paused PausedByUser | Resume",
    ),
    (
        "a broken pod below the partition is repaired",
        || {
            bent(to_zero(Bench::running(1)), |b| {
                b.record.mode = Mode::Back;
                b.broken(4, "Z", "CrashLoopBackOff");
            })
        },
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-Z",
    ),
    (
        "the deadline passes",
        || {
            bent(to_zero(Bench::running(1)), |b| {
                b.broken(4, "B", "ImagePullBackOff");
                b.now = super::bench::at(4000);
            })
        },
        "Note stage=0 | Degraded ProgressDeadlineExceeded | PodReady 4 ImagePullBackOff",
    ),
    ("it is completed and parked", || to_zero(ended()), "Patch p=parked stage=2 Full done | Healthy Completed | -"),
    ("claims: a stage goes on", || claims(Bench::running(1)), "Patch p=2 stage=1 | Progressing WaitingReady | -"),
    (
        "claims: it is completed and parked",
        || claims(ended()),
        "Patch p=parked stage=2 Full done | Healthy Completed | -",
    ),
    ("claims: at rest it is how the set is", || claims(Bench::resting()), "- | Blocked ClaimDeletion | Correction"),
    (
        "a conflict of the next commit's stops no stage",
        || {
            bent(Bench::running(1), |b| {
                b.tip("c3", "C");
                b.observed.refused = Some((Reason::Drifted, "owned by argocd".into()));
            })
        },
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    (
        "a refusal of the server's stops no stage",
        || {
            bent(Bench::running(1), |b| {
                b.tip("c3", "C");
                b.observed.refused = Some((Reason::ImmutableField, "serviceName".into()));
            })
        },
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    // Scaled by hand where Git states replicas.
    ("a scale-up by hand is said", || by_hand(9), "- | Degraded Drifted | DriftDecision"),
    (
        "the next commit's replicas supersede it",
        || bent(by_hand(9), |b| _ = b.scale_commit(Some(7))),
        "Sync A of A p=parked replicas=7 done | Progressing Starting | -",
    ),
    (
        "also with a template",
        || {
            bent(by_hand(9), |b| {
                b.tip("c2", "B").replicas = Some(7);
                b.scale_commit(Some(7));
            })
        },
        "Start B of B p=6 replicas=7 stage=0 | Progressing Starting | -",
    ),
    (
        "a commit that says nothing about it does not",
        || {
            bent(by_hand(9), |b| {
                b.tip("c2", "B");
            })
        },
        "- | Degraded Drifted | DriftDecision",
    ),
    // Scaled to zero by hand where Git states replicas.
    (
        "scaled to zero by hand: until the controller has promoted",
        || {
            bent(Bench::running(1), |b| {
                b.scaled(0);
            })
        },
        "- | Degraded PromotedByScaleToZero | PodGone 0",
    ),
    (
        "and when it has",
        || {
            bent(Bench::running(1), |b| {
                b.scaled(0);
                b.observed.pods.clear();
                b.set().current_revision = "web-B".into();
            })
        },
        "Patch p=parked stage=0 done | Degraded PromotedByScaleToZero | -",
    ),
    ("it stays so", promoted, "- | Degraded PromotedByScaleToZero | Decision"),
    (
        "overwrite goes back to stable first",
        || bent(promoted(), |b| _ = b.ask(Verb::ResumeOverwrite)),
        "Overwrite A of A p=0 replicas=5 Install answered | Progressing Starting | -",
    ),
    (
        "and so does a commit that scales up again",
        || bent(promoted(), |b| _ = b.scale_commit(Some(3))),
        "Sync A of A p=0 replicas=3 Install | Progressing Starting | -",
    ),
    (
        "but not without the commit of what was stable",
        || {
            bent(promoted(), |b| {
                b.desired.target = None;
                b.ask(Verb::ResumeOverwrite);
            })
        },
        "Note stage=0 done refused | Progressing Starting | -",
    ),
    (
        "pods that run it already stay",
        || {
            bent(promoted(), |b| {
                b.scaled(5);
                b.ask(Verb::ResumeOverwrite);
            })
        },
        "Note stage=0 done refused | Progressing Starting | -",
    ),
    (
        "a drift besides is put back all the same",
        || {
            bent(promoted(), |b| {
                b.scaled(5);
                b.set().partition = Some(Partition(1));
                b.ask(Verb::ResumeOverwrite);
            })
        },
        "Overwrite B of B p=parked replicas=5 stage=0 done answered | Progressing Starting | -",
    ),
    (
        "overwrite asked too early waits",
        || {
            bent(Bench::running(1), |b| {
                b.scaled(0);
                b.ask(Verb::ResumeOverwrite);
            })
        },
        "- | Degraded PromotedByScaleToZero | PodGone 0",
    ),
];

/// Five at rest, and somebody scales.
fn by_hand(replicas: u32) -> Bench {
    bent(Bench::resting(), |b| {
        b.scaled(replicas);
        b.set().owners.push(FieldOwner { replicas: true, ..owner("kubectl") });
        b.set().owners[0].replicas = false;
    })
}

/// A canary of B that somebody scaled to zero, recorded; A was stable.
fn promoted() -> Bench {
    bent(Bench::running(1), |b| {
        b.failed();
        b.record.failed[0].reason = Reason::PromotedByScaleToZero.to_string();
        (b.record.done, b.record.partition, b.record.replicas) = (true, PARKED, Some(0));
        (b.record.stable, b.record.was) = (Some(seen("c2", "B")), Some(seen("c1", "A")));
        b.record.back = "web-B".into();
        b.observed.pods.clear();
        b.desired.target = Some(version("c1", "A", Some(5)));
        let set = b.set();
        (set.replicas, set.partition) = (0, Some(PARKED));
        (set.current_revision, set.update_revision) = ("web-B".into(), "web-B".into());
    })
}

#[test]
fn refused_and_by_hand() {
    run(ROWS);
}

#[test]
fn what_is_refused_is_shown_beside_what_goes_on() {
    let decision = to_zero(paused(1)).decide();
    assert!(decision.message.contains("promote") && decision.message.contains("ScaleToZero"), "{}", decision.message);
    assert_eq!(decision.pending.as_deref(), Some("c2"));
    let mut conflict = paused(1);
    conflict.tip("c3", "C");
    conflict.observed.refused = Some((Reason::Drifted, "image owned by argocd".into()));
    let decision = conflict.decide();
    assert_eq!((decision.phase, decision.reason), (Phase::Paused, Reason::StagePaused));
    assert!(decision.message.contains("argocd"), "{}", decision.message);
}

#[test]
fn replicas_are_taken_from_others_only_where_a_newer_manifest_states_them() {
    let takes = |mut bench: Bench| {
        let decision = bench.decide();
        decision.actions.iter().any(|action| matches!(action, Action::Apply { takes_replicas: true, .. }))
    };
    assert!(takes(bent(by_hand(9), |b| _ = b.scale_commit(Some(7)))));
    // A template of a set that an autoscaler scales, although the manifest states replicas.
    assert!(!takes(bent(Bench::resting(), |b| _ = b.tip("c2", "B"))));
    // The first apply after an adoption.
    assert!(!takes(bent(Bench::resting(), |b| b.record.rest = String::new())));
    assert!(!takes(bent(Bench::resting(), |b| _ = b.scale_commit(None))));
}

#[test]
fn after_stable_is_back_the_commit_begins_anew() {
    let mut bench = promoted();
    bench.ask(Verb::ResumeOverwrite);
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.was.as_ref(), record.failed.len()), (None, 0));
    assert_eq!(record.target.commit, CommitId("c1".into()));
    let mut after = Bench::resting();
    after.record = (**record).clone();
    after.record.generation = 3;
    (after.record.live, after.record.partition) = (hash("A"), Partition(0));
    after.set().partition = Some(Partition(0));
    after.tip("c2", "B");
    // Everything stands at stable: it is complete, and then B begins at its canary.
    assert_eq!(after.line(), "Patch p=parked stage=2 Install done answered | Healthy Completed | -");
    let stands = |b: &mut Bench| {
        b.record.done = true;
        b.record.partition = PARKED;
        b.set().partition = Some(PARKED);
        b.set().record = phaseline::model::RecordState::Absent;
    };
    stands(&mut after);
    let decision = after.decide();
    let [Action::Apply { record, partition, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.target.commit.0.as_str(), *partition), ("c2", Partition(4)));
}
