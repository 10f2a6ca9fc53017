//! Every reason and every wait that there is, each made at least once.

use std::collections::BTreeSet;

use phaseline::model::{
    Diagnostic, Hold, Lineage, Mode, OnNewRevision, Ordinal, Origin, Pause, Plan, Problem, Reason, RecordState,
    Schedule, Sight, Size, Verb, WaitingOn, Wanted,
};
use phaseline::rollout::{decide, gate};

use super::bench::{Bench, at, bent, hash, plan, stage};

/// The decision about a set, or about its absence, with a wish of Git's.
fn under(wanted: &Wanted<'_>, mut bench: Bench) -> phaseline::model::Decision {
    bench.decide();
    decide(wanted, &bench.observed, bench.now)
}

fn without_record(bench: Bench) -> phaseline::model::Decision {
    bench.decide_without_record()
}

fn of(mut bench: Bench) -> phaseline::model::Decision {
    bench.decide()
}

fn pausing(pause: Pause) -> Bench {
    Bench::running_with(
        3,
        plan(vec![stage("", Size::Pods(1), 0, pause), stage("", Size::Percent(100), 0, Pause::None)]),
        1,
    )
}

fn drifted() -> Bench {
    bent(Bench::resting(), |b| {
        b.set().generation = 4;
        b.set().observed_generation = 4;
        b.set().template = hash("X");
    })
}

#[test]
fn every_reason_can_be_given() {
    let problem = Problem { diagnostics: vec![Diagnostic::error("web.yaml", 1, "wrong")] };
    let gone = bent(Bench::resting(), |b| b.observed.set = None);
    let gone_for_good = bent(gone.clone(), |b| b.observed.pods.clear());
    let refused = |reason| bent(Bench::resting(), |b| b.observed.refused = Some((reason, "no".into())));
    let given = [
        of(Bench::resting()),
        of(Bench::running(5)),
        of(bent(Bench::running(1), |b| b.record.mode = Mode::Fast)),
        of(bent(Bench::resting(), |b| b.record.mode = Mode::Back)),
        without_record(gone_for_good),
        of(bent(Bench::resting(), |b| {
            b.tip("c2", "B");
        })),
        of(Bench::running(1)),
        of(pausing(Pause::UntilPromoted)),
        of(bent(Bench::running(1), |b| b.record.hold = Some(Hold { by: "ann".into() }))),
        of(bent(Bench::running(1), |b| {
            b.record.plan.on_new_revision = OnNewRevision::Block;
            b.tip("c3", "C");
        })),
        of(bent(Bench::running(1), |b| {
            b.failed();
        })),
        of(bent(Bench::running(1), |b| b.pod_mut(4).restarts = 9)),
        of(bent(Bench::resting(), |b| {
            b.broken(1, "A", "CrashLoopBackOff").created = at(-1000);
            b.pod_mut(1).ready_since = Some(at(-1000));
        })),
        of(bent(Bench::running(1), |b| {
            b.autoscale(0);
            b.observed.pods.clear();
        })),
        of(drifted()),
        of(bent(Bench::resting(), |b| b.record.accepted = true)),
        of(bent(Bench::running(1), |b| b.observed.stale_seconds = Some(99))),
        without_record(Bench::resting()),
        without_record(bent(Bench::resting(), |b| {
            b.set().strategy = "OnDelete".into();
            b.desired.tip.adopt = true;
        })),
        without_record(gone),
        under(&Wanted::Absent, Bench::resting()),
        of(bent(Bench::resting(), |b| b.observed.sight = Sight::none("away"))),
        of(bent(Bench::resting(), |b| {
            b.tip("c2", "B");
            b.observed.sight = Sight { lineage: Lineage::Aside, settled: true, ..Sight::default() };
        })),
        of(bent(Bench::resting(), |b| {
            let origin = |id: &str| Origin { id: id.into(), ..Origin::default() };
            b.observed.sight.origin = Some(origin("ours"));
            b.record.src = Some(origin("theirs"));
        })),
        under(&Wanted::Broken(&problem), Bench::resting()),
        of(refused(Reason::Refused)),
        of(refused(Reason::ImmutableField)),
        of(refused(Reason::NamespaceMissing)),
        of(bent(Bench::running(1), |b| b.observed.forbidden = Some("no right".into()))),
        of(bent(Bench::resting(), |b| b.scale_commit(Some(1)).desired.tip.deletes_claims_when_scaled = true)),
        of(bent(Bench::running(1), |b| {
            b.scale_commit(Some(0));
        })),
        without_record(bent(Bench::resting(), |b| b.set().record = RecordState::Unreadable("no".into()))),
        of(bent(Bench::resting(), |b| b.set().terminating = true)),
        of(bent(Bench::resting(), |b| {
            b.tip("c2", "B");
            b.set().current_revision = "web-Z".into();
            b.record.back = "web-Z".into();
        })),
    ];
    // What is refused beside a running rollout is named in the message.
    let beside = given.iter().any(|decision| decision.message.contains("(ScaleToZero)"));
    let given: BTreeSet<Reason> =
        given.iter().map(|decision| decision.reason).chain(beside.then_some(Reason::ScaleToZero)).collect();
    let all = all_reasons();
    assert_eq!(all.difference(&given).collect::<Vec<_>>(), Vec::<&Reason>::new());
}

/// Every reason; a new one does not compile before it is named here.
fn all_reasons() -> BTreeSet<Reason> {
    use Reason as R;
    let mut all = BTreeSet::new();
    let mut reason = Some(R::Completed);
    while let Some(this) = reason {
        all.insert(this);
        reason = match this {
            R::Completed => Some(R::RolledBack),
            R::RolledBack => Some(R::Installing),
            R::Installing => Some(R::Starting),
            R::Starting => Some(R::WaitingReady),
            R::WaitingReady => Some(R::StagePaused),
            R::StagePaused => Some(R::PausedByUser),
            R::PausedByUser => Some(R::Superseded),
            R::Superseded => Some(R::ProgressDeadlineExceeded),
            R::ProgressDeadlineExceeded => Some(R::TooManyRestarts),
            R::TooManyRestarts => Some(R::StuckPod),
            R::StuckPod => Some(R::PromotedByScaleToZero),
            R::PromotedByScaleToZero => Some(R::Drifted),
            R::Drifted => Some(R::DriftAccepted),
            R::DriftAccepted => Some(R::ViewStale),
            R::ViewStale => Some(R::AdoptionRequired),
            R::AdoptionRequired => Some(R::NotAdoptable),
            R::NotAdoptable => Some(R::Missing),
            R::Missing => Some(R::Orphaned),
            R::Orphaned => Some(R::SourceBehind),
            R::SourceBehind => Some(R::SourceRewritten),
            R::SourceRewritten => Some(R::OtherSource),
            R::OtherSource => Some(R::InvalidManifest),
            R::InvalidManifest => Some(R::Refused),
            R::Refused => Some(R::Forbidden),
            R::Forbidden => Some(R::NamespaceMissing),
            R::NamespaceMissing => Some(R::ImmutableField),
            R::ImmutableField => Some(R::ClaimDeletion),
            R::ClaimDeletion => Some(R::ScaleToZero),
            R::ScaleToZero => Some(R::RecordUnreadable),
            R::RecordUnreadable => Some(R::Terminating),
            R::Terminating => Some(R::StaleCurrentRevision),
            R::StaleCurrentRevision => None,
        };
    }
    all
}

/// The name of a wait; a new one does not compile before it is named here.
fn name(waiting: &WaitingOn) -> &'static str {
    match waiting {
        WaitingOn::ObservedGeneration { .. } => "ObservedGeneration",
        WaitingOn::PodCreated { .. } => "PodCreated",
        WaitingOn::PodUpdated { .. } => "PodUpdated",
        WaitingOn::PodGone { .. } => "PodGone",
        WaitingOn::PodReady { .. } => "PodReady",
        WaitingOn::PodAvailable { .. } => "PodAvailable",
        WaitingOn::PodCount { .. } => "PodCount",
        WaitingOn::ControllerPromotion => "ControllerPromotion",
        WaitingOn::Pause { .. } => "Pause",
        WaitingOn::Promotion => "Promotion",
        WaitingOn::Resume => "Resume",
        WaitingOn::Decision => "Decision",
        WaitingOn::DriftDecision => "DriftDecision",
        WaitingOn::NewRevisionDecision => "NewRevisionDecision",
        WaitingOn::PartitionCommit => "PartitionCommit",
        WaitingOn::Adoption => "Adoption",
        WaitingOn::Correction => "Correction",
        WaitingOn::FreshView => "FreshView",
        WaitingOn::Source => "Source",
        WaitingOn::FreshPods => "FreshPods",
        WaitingOn::SetGone => "SetGone",
    }
}

#[test]
fn every_wait_can_be_named() {
    let by_hand = Plan { schedule: Schedule::ByHand(4), ..Plan::default() };
    let cases: Vec<(&str, Bench)> = vec![
        ("ObservedGeneration", bent(Bench::running(1), |b| b.set().observed_generation = 1)),
        ("PodCreated", bent(Bench::running(1), |b| drop(b.observed.pods.remove(&Ordinal(4))))),
        ("PodUpdated", bent(Bench::running(1), |b| b.pod(4, "A").restarts = 0)),
        ("PodGone", bent(Bench::running(1), |b| b.pod_mut(4).terminating = true)),
        ("PodReady", bent(Bench::running(1), |b| b.pod_mut(4).ready = false)),
        ("PodAvailable", bent(Bench::running(1), |b| b.set().min_ready_seconds = 500)),
        ("ControllerPromotion", bent(Bench::running(5), |b| b.set().current_revision = "web-A".into())),
        ("Pause", pausing(Pause::Seconds(500))),
        ("Promotion", pausing(Pause::UntilPromoted)),
        ("Resume", bent(Bench::running(1), |b| b.record.hold = Some(Hold { by: "ann".into() }))),
        (
            "Decision",
            bent(Bench::running(1), |b| {
                b.failed();
            }),
        ),
        ("DriftDecision", drifted()),
        (
            "NewRevisionDecision",
            bent(Bench::running(1), |b| {
                b.record.plan.on_new_revision = OnNewRevision::Block;
                b.tip("c3", "C");
            }),
        ),
        ("PartitionCommit", bent(Bench::running_with(5, by_hand, 1), |_| ())),
        ("FreshView", bent(Bench::running(1), |b| b.observed.stale_seconds = Some(99))),
        ("FreshPods", bent(Bench::running(1), |b| b.observed.pods_behind = true)),
        ("Source", bent(Bench::running(1), |b| b.observed.sight = Sight::none(""))),
        ("SetGone", bent(Bench::resting(), |b| b.set().terminating = true)),
        (
            "Correction",
            bent(Bench::resting(), |b| b.scale_commit(Some(1)).desired.tip.deletes_claims_when_scaled = true),
        ),
    ];
    for (expected, bench) in cases {
        assert_eq!(of(bench).waiting_on.as_ref().map(name), Some(expected));
    }
    let adoption = without_record(bent(Bench::resting(), |b| {
        b.ask(Verb::Promote);
    }));
    assert_eq!(adoption.waiting_on.as_ref().map(name), Some("Adoption"));
}

#[test]
fn a_gate_over_too_few_pods_is_not_passed() {
    // The planner never asks like this; the gate does not rely on it.
    let mut bench = Bench::running(1);
    let set = bench.set().clone();
    let question = gate::Question {
        set: &set,
        pods: &bench.observed.pods,
        partition: phaseline::model::Partition(4),
        need: 2,
        soak: 0,
        began: at(-1000),
        steady: phaseline::rollout::steady::Steady::default(),
    };
    let answer = gate::ask(question, bench.now);
    assert_eq!(answer.waiting_on, Some(WaitingOn::PodCount { have: 1, need: 2 }));
}
