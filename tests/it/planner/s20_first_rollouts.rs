//! The plan holds from the first rollout on, a restart is a wish wherever Git stands, and a hold holds forwards only.

use phaseline::model::{
    Action, FieldOwner, Hold, Mode, Ordinal, PARKED, Partition, Pause, Record, Size, Verb, Version,
};

use super::bench::{Bench, Row, at, bent, hash, line, owner, plan, run, seen, stage};

const MAY: &str = "2026-05-01T10:00:00Z";
const JUNE: &str = "2026-06-01T10:00:00Z";

/// A was installed and nobody has looked since; B is at the tip.
fn installed(bend: impl FnOnce(&mut Bench)) -> Bench {
    bent(Bench::resting(), |b| {
        (b.record.mode, b.record.done, b.record.stable) = (Mode::Install, false, None);
        (b.record.back, b.record.began, b.record.at) =
            (String::new(), super::bench::T0 - 9000, super::bench::T0 - 9000);
        b.record.proven.clear();
        b.set().ready_replicas = 5;
        bend(b);
        b.tip("c2", "B");
    })
}

/// Every pod is away since some seconds ago, but was Ready before.
fn all_away(bench: &mut Bench) {
    for ordinal in 0..5 {
        bench.pod(ordinal, "A").ready = false;
        bench.pod_mut(ordinal).ready_since = Some(at(-10));
    }
    bench.set().ready_replicas = 0;
}

/// No pod was ever Ready; in order there is only the first.
fn none_ever_ready(bench: &mut Bench) {
    bench.observed.pods.clear();
    bench.broken(0, "A", "ImagePullBackOff");
    bench.set().ready_replicas = 0;
}

const STAGED: &str = "Start B of B p=4 replicas=5 stage=0 | Progressing Starting | -";
const AGAIN: &str = "Start B of B p=0 replicas=5 Install | Progressing Starting | -";

const INSTALLS: &[Row] = &[
    ("the daemon was away since the install", || installed(|_| ()), STAGED),
    (
        // What is away for the budget too: nobody is exposed before they are available.
        "Ready, but not for minReadySeconds yet",
        || installed(|b| b.set().min_ready_seconds = 100_000),
        "Start B of B p=5 replicas=5 exposed=0 | Progressing Starting | -",
    ),
    ("Ready, and all of them away now", || installed(all_away), STAGED),
    (
        "the node of all of them is gone",
        || {
            installed(|b| {
                all_away(b);
                (0..5).for_each(|ordinal| b.pod_mut(ordinal).node_lost = true);
            })
        },
        STAGED,
    ),
    ("no pod ever was Ready", || installed(none_ever_ready), AGAIN),
    (
        "none ever was Ready, and they go in parallel",
        || {
            installed(|b| {
                b.set().parallel = true;
                b.set().ready_replicas = 0;
                for ordinal in 0..5 {
                    b.broken(ordinal, "A", "CrashLoopBackOff");
                }
            })
        },
        AGAIN,
    ),
    (
        "one of them is Ready, and they go in parallel",
        || {
            installed(|b| {
                b.set().parallel = true;
                b.set().ready_replicas = 1;
                for ordinal in 1..5 {
                    b.broken(ordinal, "A", "CrashLoopBackOff");
                }
            })
        },
        STAGED,
    ),
    (
        "nothing was made yet",
        || {
            installed(|b| {
                b.observed.pods.clear();
                b.set().ready_replicas = 0;
            })
        },
        AGAIN,
    ),
    (
        "the first serves, the second never did: nothing above it would ever be updated",
        || {
            installed(|b| {
                (2..5).for_each(|ordinal| _ = b.observed.pods.remove(&Ordinal(ordinal)));
                b.broken(1, "A", "CrashLoopBackOff");
                b.set().ready_replicas = 1;
            })
        },
        "Start B of B p=1 replicas=5 stage=1 exposed=4 | Progressing Starting | -",
    ),
    (
        "the first was deleted; it must have been Ready, since there is a second",
        || {
            installed(|b| {
                (2..5).for_each(|ordinal| _ = b.observed.pods.remove(&Ordinal(ordinal)));
                b.broken(1, "A", "CrashLoopBackOff");
                b.broken(0, "A", "").created = at(-5);
                b.set().ready_replicas = 0;
            })
        },
        "Start B of B p=1 replicas=5 stage=1 exposed=4 | Progressing Starting | -",
    ),
    (
        "a crash without a readiness probe is Ready for an instant, and never served",
        || {
            installed(|b| {
                none_ever_ready(b);
                let pod = b.broken(0, "A", "CrashLoopBackOff");
                (pod.created, pod.started) = (at(-180), Some(at(-180)));
                (pod.restarts, pod.longest_run, pod.ready_since) = (4, Some(0), Some(at(-20)));
            })
        },
        AGAIN,
    ),
    (
        "one that crashes in a loop after it has served for long",
        || {
            installed(|b| {
                none_ever_ready(b);
                let pod = b.broken(0, "A", "CrashLoopBackOff");
                (pod.created, pod.started) = (at(-90_000), Some(at(-90_000)));
                (pod.restarts, pod.longest_run, pod.ready_since) = (4, Some(0), Some(at(-20)));
            })
        },
        STAGED,
    ),
    (
        "more are Ready than are shown: the pods are late",
        || {
            installed(|b| {
                none_ever_ready(b);
                b.set().ready_replicas = 3;
            })
        },
        "- | Progressing WaitingReady | FreshPods",
    ),
    (
        "an install that took over from a broken one has exposed every pod already",
        || {
            installed(|b| {
                (b.record.partition, b.record.live, b.record.target) = (Partition(0), hash("G"), seen("c1", "G"));
                let set = b.set();
                (set.partition, set.template, set.update_revision) = (Some(Partition(0)), hash("G"), "web-G".into());
                set.ready_replicas = 2;
                (3..5).for_each(|ordinal| _ = b.observed.pods.remove(&Ordinal(ordinal)));
                (0..2).for_each(|ordinal| _ = b.pod(ordinal, "G"));
                b.broken(2, "G", "ImagePullBackOff");
            })
        },
        AGAIN,
    ),
    (
        "an unproven revision at rest that was Ready once",
        || {
            bent(Bench::resting(), |b| {
                b.record.proven.clear();
                all_away(b);
                b.tip("c2", "B");
            })
        },
        STAGED,
    ),
];

#[test]
fn the_plan_holds_from_the_first_rollout_on() {
    run(INSTALLS);
}

fn record_of(decision: &phaseline::model::Decision) -> &Record {
    match decision.actions.as_slice() {
        [Action::Apply { record, .. } | Action::Patch { record, .. }] => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_stood_without_a_record_is_the_stable_revision() {
    let decision = installed(|_| ()).decide();
    let record = record_of(&decision);
    assert_eq!(record.stable, Some(seen("c1", "A")));
    assert_eq!((record.back.as_str(), &record.proven), ("web-A", &vec![hash("A")]));
    // In part it is something to go back to, but proven it is not.
    let mut part = installed(|b| {
        b.set().parallel = true;
        b.set().ready_replicas = 4;
        b.broken(1, "A", "CrashLoopBackOff");
    });
    let decision = part.decide();
    assert_eq!((record_of(&decision).stable.is_some(), record_of(&decision).proven.len()), (true, 0));
}

#[test]
fn a_restart_before_the_install_was_seen_complete_goes_through_the_plan() {
    let mut bench = installed(|_| ());
    bench.tip("c1", "A");
    let set = bench.set();
    (set.generation, set.observed_generation, set.restarted_at) = (4, 4, JUNE.into());
    set.update_revision = "web-A@june".into();
    let decision = bench.decide();
    assert_eq!(line(&decision), "Patch p=4 stage=0 | Progressing Starting | -");
    let record = record_of(&decision);
    assert_eq!((record.stable.clone(), record.target.restart.as_str()), (Some(seen("c1", "A")), JUNE));
}

#[test]
fn a_foreign_template_accepted_before_the_install_was_seen_complete_goes_through_the_plan() {
    let mut bench = installed(|_| ());
    bench.tip("c1", "A");
    let set = bench.set();
    (set.generation, set.observed_generation, set.template) = (4, 4, hash("X"));
    set.update_revision = "web-X".into();
    bench.ask(Verb::ResumeAccept);
    assert_eq!(bench.line(), "Patch p=4 stage=0 answered | Progressing WaitingReady | -");
}

/// The manifest states a restart, which is in force; somebody has wished for another.
fn stated(bench: Bench, wish: &str) -> Bench {
    bent(bench, |b| {
        b.desired.tip.restart = Some(MAY.into());
        b.record.target.restart = MAY.into();
        b.record.stated = MAY.into();
        let set = b.set();
        set.restarted_at = wish.into();
        if wish != MAY {
            (set.generation, set.observed_generation) = (4, 4);
            set.update_revision = "web-A@wish".into();
            set.owners.push(FieldOwner { template: true, ..owner("kubectl-rollout") });
        }
    })
}

/// The wish was rolled out; the manifest still states the earlier one.
fn granted(bend: impl FnOnce(&mut Bench)) -> Bench {
    bent(stated(Bench::resting(), MAY), |b| {
        b.record.target.restart = JUNE.into();
        b.set().restarted_at = JUNE.into();
        bend(b);
    })
}

const WISHES: &[Row] = &[
    ("as the manifest states it", || stated(Bench::resting(), MAY), "- | Healthy Completed | -"),
    (
        "a later wish goes through the plan",
        || stated(Bench::resting(), JUNE),
        "Patch p=4 stage=0 | Progressing Starting | -",
    ),
    (
        "a wish that is earlier than what Git states",
        || stated(Bench::resting(), "2026-04-01T10:00:00Z"),
        "- | Degraded Drifted | DriftDecision",
    ),
    ("a wish that was granted stays", || granted(|_| ()), "- | Healthy Completed | -"),
    (
        "a scale keeps it",
        || granted(|b| _ = b.scale_commit(Some(6))),
        "Sync A of A p=parked replicas=6 done | Progressing Starting | -",
    ),
    (
        "until the manifest states another, be it earlier",
        || granted(|b| b.desired.tip.restart = Some("2026-05-02T10:00:00Z".into())),
        "Start A of A p=4 replicas=5 stage=0 | Progressing Starting | -",
    ),
    (
        "the manifest states the one that is in force",
        || granted(|b| b.desired.tip.restart = Some(JUNE.into())),
        "- | Healthy Completed | -",
    ),
    (
        "a record that does not say what was stated",
        || {
            bent(stated(Bench::resting(), JUNE), |b| {
                b.record.stated.clear();
            })
        },
        "Patch p=4 stage=0 | Progressing Starting | -",
    ),
];

#[test]
fn a_restart_is_a_wish_wherever_git_stands() {
    run(WISHES);
}

/// The restart in what is applied.
fn written_restart(decision: &phaseline::model::Decision) -> String {
    let [Action::Apply { manifest, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    let template = &manifest["spec"]["template"]["metadata"]["annotations"];
    template["kubectl.kubernetes.io/restartedAt"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_is_applied_has_the_restart_in_force() {
    let scaled = granted(|b| _ = b.scale_commit(Some(6))).decide();
    assert_eq!(written_restart(&scaled), JUNE);
    let next = granted(|b| {
        b.tip("c2", "B").restart = Some(MAY.into());
    })
    .decide();
    assert_eq!((written_restart(&next).as_str(), record_of(&next).stated.as_str()), (JUNE, MAY));
    let changed = granted(|b| b.desired.tip.restart = Some("2026-07-01T10:00:00Z".into())).decide();
    assert_eq!(written_restart(&changed), "2026-07-01T10:00:00Z");
}

#[test]
fn a_restart_of_any_length_fits_the_record_and_stays_on_the_set() {
    let long = "x\"".repeat(5_000);
    let mut bench = Bench::resting();
    let set = bench.set();
    (set.generation, set.observed_generation, set.restarted_at) = (4, 4, long.clone());
    set.update_revision = "web-A@long".into();
    let decision = bench.decide();
    let record = record_of(&decision).clone();
    assert!(record.encode().len() <= Record::MAX_BYTES && record.target.restart.len() < 40);
    let mut later = Bench::resting();
    later.record.target.restart.clone_from(&record.target.restart);
    later.set().restarted_at.clone_from(&long);
    assert_eq!(later.line(), "- | Healthy Completed | -", "it is the same one");
    later.scale_commit(Some(6));
    assert_eq!(written_restart(&later.decide()), long);
}

/// B under way, held, and broken; the tip takes it back.
fn held(bend: impl FnOnce(&mut Bench)) -> Bench {
    bent(Bench::running(1), |b| {
        b.record.hold = Some(Hold { by: "ann".into() });
        b.broken(4, "B", "CrashLoopBackOff");
        bend(b);
    })
}

fn going_back(b: &mut Bench) {
    b.tip("c3", "A");
    b.record.target = seen("c3", "A");
    (b.record.mode, b.record.live) = (Mode::Back, hash("A"));
    let set = b.set();
    (set.template, set.update_revision) = (hash("A"), "web-A".into());
}

const HOLDS: &[Row] = &[
    (
        "a revert goes through, and the hold stays",
        || held(|b| _ = b.tip("c3", "A")),
        "Start A of A p=4 replicas=5 stage=0 Back held by ann | Progressing Starting | -",
    ),
    ("anything else waits", || held(|b| _ = b.tip("c3", "C")), "- | Paused PausedByUser | Resume"),
    (
        "the broken pod is replaced on the way back",
        || held(going_back),
        "DeletePod 4 | Progressing WaitingReady | PodUpdated 4 web-B",
    ),
    (
        "at the end it is parked, still held",
        || {
            held(|b| {
                going_back(b);
                b.pod(4, "A");
            })
        },
        "Patch p=parked stage=2 Back done held by ann | Healthy RolledBack | -",
    ),
    (
        "and what comes after waits",
        || {
            bent(Bench::resting(), |b| {
                b.record.hold = Some(Hold { by: "ann".into() });
                b.tip("c4", "C");
            })
        },
        "- | Paused PausedByUser | Resume",
    ),
];

#[test]
fn a_hold_holds_forwards_only() {
    run(HOLDS);
}

fn edited(bend: impl FnOnce(&mut Bench)) -> Bench {
    bent(Bench::resting(), |b| {
        b.set().generation += 1;
        bend(b);
        b.ask(Verb::Release);
    })
}

const RELEASES: &[Row] = &[
    (
        "at rest nothing is pending",
        || bent(Bench::resting(), |b| _ = b.ask(Verb::Release)),
        "Release p=Some(\"0\") | Blocked AdoptionRequired | -",
    ),
    (
        "a foreign template that the controller has not seen yet",
        || {
            edited(|b| {
                b.set().template = hash("X");
                b.set().owners.push(FieldOwner { template: true, ..owner("kubectl-set") });
            })
        },
        "Release p=None | Blocked AdoptionRequired | -",
    ),
    (
        "a restart that the controller has not seen yet",
        || edited(|b| b.set().restarted_at = JUNE.into()),
        "- | Progressing Starting | ObservedGeneration 4",
    ),
    ("a scale that it has not seen yet", || edited(|_| ()), "- | Progressing Starting | ObservedGeneration 4"),
    (
        "a pod that runs something else",
        || {
            bent(Bench::resting(), |b| {
                b.pod(4, "X");
                b.ask(Verb::Release);
            })
        },
        "Release p=None | Blocked AdoptionRequired | -",
    ),
];

#[test]
fn a_release_lets_nothing_loose() {
    run(RELEASES);
}

#[test]
fn a_plan_that_starts_with_a_pause_holds_what_serves_after_a_broken_install() {
    let mut bench = installed(|b| {
        b.record.plan = plan(vec![
            stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
            stage("all", Size::Percent(100), 0, Pause::None),
        ]);
        b.desired.plan = b.record.plan.clone();
        b.set().ready_replicas = 4;
        b.broken(4, "A", "CrashLoopBackOff");
    });
    let decision = bench.decide();
    assert_eq!(record_of(&decision).partition, Partition(4), "only what never served is exposed");
    assert_ne!(record_of(&decision).partition, PARKED);
}

/// What a version states, for the tables above.
#[test]
fn a_version_that_states_no_restart_keeps_the_live_one() {
    let mut bench = Bench::resting();
    bench.record.target.restart = JUNE.into();
    bench.set().restarted_at = JUNE.into();
    let tip: &mut Version = bench.tip("c2", "B");
    assert_eq!(tip.restart, None);
    assert_eq!(written_restart(&bench.decide()), JUNE);
}
