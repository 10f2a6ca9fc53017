//! Section 4 of the rules, its end: nothing healthy is taken down beyond the budget.

use phaseline::model::{Mode, Pause, Plan, Schedule, Size, Verb};

use super::bench::{Bench, Row, at, bent, plan, run, stage};

/// Three at rest under Parallel, the tip at another template.
fn pushed() -> Bench {
    bent(Bench::resting_with(3, three()), |b| {
        b.set().parallel = true;
        b.tip("c2", "B");
    })
}

fn three() -> Plan {
    plan(vec![stage("canary", Size::Pods(1), 0, Pause::None), stage("all", Size::Percent(100), 0, Pause::None)])
}

/// The same with a broken old pod.
fn broken(ordinal: u32) -> Bench {
    bent(pushed(), |b| {
        let pod = b.broken(ordinal, "A", "CrashLoopBackOff");
        (pod.created, pod.ready_since) = (at(-9000), Some(at(-4000)));
    })
}

/// It has begun, and nobody is exposed yet.
fn begun(ordinal: u32) -> Bench {
    bent(broken(ordinal), |b| {
        b.record.target = super::bench::seen("c2", "B");
        (b.record.done, b.record.stage, b.record.exposed) = (false, None, Some(0));
        b.record.partition = phaseline::model::Partition(3);
        b.record.live = super::bench::hash("B");
        (b.record.began, b.record.at) = (super::bench::T0 - 100, super::bench::T0 - 100);
        let set = b.set();
        set.partition = Some(phaseline::model::Partition(3));
        set.template = super::bench::hash("B");
        set.update_revision = "web-B".into();
    })
}

const NOBODY: &str = "Start B of B p=3 replicas=3 exposed=0 | Progressing Starting | -";
const CANARY: &str = "Start B of B p=2 replicas=3 stage=0 | Progressing Starting | -";
const STUCK: &str = "- | Degraded StuckPod | PodReady 0 CrashLoopBackOff";

const ROWS: &[Row] = &[
    ("all are there", pushed, CANARY),
    ("one is broken: a rollout begins with nobody", || broken(0), NOBODY),
    ("in order too", || bent(broken(0), |b| b.set().parallel = false), NOBODY),
    ("and waits", || begun(0), STUCK),
    ("in order too", || bent(begun(0), |b| b.set().parallel = false), STUCK),
    (
        "until it is mended",
        || bent(begun(0), |b| _ = b.pod(0, "A")),
        "Patch p=2 stage=0 | Progressing WaitingReady | -",
    ),
    (
        "or a person promotes",
        || bent(begun(0), |b| _ = b.ask(Verb::Promote)),
        "Patch p=2 stage=0 answered | Progressing WaitingReady | -",
    ),
    (
        "or promotes to the end",
        || bent(begun(0), |b| _ = b.ask(Verb::PromoteFull)),
        "Patch p=0 stage=1 Full answered | Progressing WaitingReady | -",
    ),
    ("the broken one is what is replaced", || broken(2), CANARY),
    ("room for two", || bent(broken(0), |b| b.set().max_unavailable = Some(2)), CANARY),
    ("room for one", || bent(broken(0), |b| b.set().max_unavailable = Some(1)), NOBODY),
    ("one is on its way out", || bent(pushed(), |b| b.pod_mut(0).terminating = true), NOBODY),
    ("one is missing", || bent(pushed(), |b| _ = b.observed.pods.remove(&phaseline::model::Ordinal(0))), NOBODY),
    (
        "one is Ready and not available yet",
        || {
            bent(pushed(), |b| {
                b.set().min_ready_seconds = 30;
                b.pod_mut(0).ready_since = Some(at(-10));
            })
        },
        NOBODY,
    ),
    (
        "that takes time alone",
        || {
            bent(begun(0), |b| {
                b.set().min_ready_seconds = 30;
                b.pod(0, "A").ready_since = Some(at(-10));
            })
        },
        "- | Progressing WaitingReady | PodAvailable 0 at +21",
    ),
    (
        "one that has just become not Ready may come right",
        || {
            bent(begun(0), |b| {
                let pod = b.broken(0, "A", "");
                (pod.created, pod.ready_since) = (at(-9000), Some(at(-101)));
                b.record.began = super::bench::T0 - 10;
                b.now = at(-80);
            })
        },
        "- | Progressing WaitingReady | PodReady 0",
    ),
    (
        "to a proven revision, all at once: Parallel takes the top one first",
        || bent(broken(0), |b| b.record.proven.push(super::bench::hash("B"))),
        "Start B of B p=3 replicas=3 exposed=0 Fast | Progressing Starting | -",
    ),
    (
        "in order the broken one goes first",
        || {
            bent(broken(0), |b| {
                b.set().parallel = false;
                b.record.proven.push(super::bench::hash("B"));
            })
        },
        "Start B of B p=0 replicas=3 stage=1 Fast | Progressing Starting | -",
    ),
    (
        "nothing healthy is left: a fix goes where it can",
        || {
            bent(broken(0), |b| {
                b.broken(1, "A", "CrashLoopBackOff");
                b.broken(2, "A", "CrashLoopBackOff");
            })
        },
        CANARY,
    ),
    (
        "a way back is never held up",
        || {
            bent(Bench::running_with(3, three(), 1), |b| {
                b.set().parallel = true;
                b.broken(0, "A", "CrashLoopBackOff");
                b.tip("c3", "A");
            })
        },
        "Start A of A p=2 replicas=3 stage=0 Back | Progressing Starting | -",
    ),
    (
        "what is promoted to the end was not promoted over this",
        || {
            bent(Bench::running_with(3, three(), 1), |b| {
                b.set().parallel = true;
                b.record.mode = Mode::Full;
                b.record.promoted = true;
                let pod = b.broken(0, "A", "CrashLoopBackOff");
                (pod.created, pod.ready_since) = (at(-9000), Some(at(-4000)));
            })
        },
        STUCK,
    ),
    (
        "a pause that is promoted was not promoted over this",
        || {
            let stages = vec![
                stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
                stage("all", Size::Percent(100), 0, Pause::None),
            ];
            bent(Bench::running_with(3, plan(stages), 1), |b| {
                b.set().parallel = true;
                let pod = b.broken(0, "A", "CrashLoopBackOff");
                (pod.created, pod.ready_since) = (at(-9000), Some(at(-4000)));
                b.ask(Verb::Promote);
            })
        },
        "Note stage=0 promoted answered | Progressing WaitingReady | -",
    ),
    (
        "staged by hand",
        || {
            bent(begun(0), |b| {
                b.record.plan.schedule = Schedule::ByHand(2);
                b.desired.plan.schedule = Schedule::ByHand(2);
                b.record.exposed = None;
            })
        },
        STUCK,
    ),
    (
        "a wish for a restart",
        || {
            bent(Bench::resting_with(3, three()), |b| {
                b.set().parallel = true;
                b.broken(0, "A", "CrashLoopBackOff");
                let set = b.set();
                (set.generation, set.observed_generation) = (4, 4);
                set.restarted_at = "monday".into();
                set.update_revision = "web-A@monday".into();
            })
        },
        "Patch p=3 exposed=0 | Progressing Starting | -",
    ),
    (
        "ordinals from five",
        || {
            bent(begun(0), |b| {
                b.set().start = 5;
                for ordinal in 0..3_u32 {
                    let Some(mut pod) = b.observed.pods.remove(&phaseline::model::Ordinal(ordinal)) else { continue };
                    pod.ordinal.0 += 5;
                    b.observed.pods.insert(pod.ordinal, pod);
                }
            })
        },
        "- | Degraded StuckPod | PodReady 5 CrashLoopBackOff",
    ),
];

#[test]
fn budget() {
    run(ROWS);
}

#[test]
fn the_broken_one_is_named_and_so_is_the_way_on() {
    let decision = begun(0).decide();
    assert!(decision.message.contains("web-0 is not Ready"), "{}", decision.message);
    assert!(decision.message.contains("phaseline promote web"), "{}", decision.message);
    assert!(decision.culprit.is_some());
}
