//! Sections 11 and 20 of the rules: a set that left its pods behind, and a record that nobody can read.

use phaseline::manifest::default::{self, Level};
use phaseline::model::{Action, ApplyKind, PARKED, RecordState, Verb};
use phaseline::revision::controller_revision;

use super::bench::{Bench, bent, line};

/// The name that the tip's template has on a server.
fn tip_revision(bench: &Bench, level: Level) -> String {
    let template = default::template(bench.desired.tip.manifest.pointer("/spec/template").unwrap(), level);
    controller_revision::name("web", &template, 0)
}

/// The set is gone; its pods are nobody's, and those from `exposed` up run something else than the tip.
fn orphans(exposed: u32, level: Level) -> Bench {
    let mut bench = Bench::resting();
    let tip = tip_revision(&bench, level);
    for ordinal in 0..5 {
        let pod = bench.pod_mut(ordinal);
        pod.owner = String::new();
        pod.revision = if ordinal >= exposed { "web-other".into() } else { tip.clone() };
    }
    bench.observed.set = None;
    bench
}

#[test]
fn a_set_is_made_again_where_the_tip_is_what_its_old_side_runs() {
    for (exposed, level) in [(5, Level::V1_33), (5, Level::V1_36), (4, Level::V1_36)] {
        let bench = orphans(exposed, level);
        let decision = bench.decide_without_record();
        let [Action::Apply { kind: ApplyKind::Create, partition, record, base: None, .. }] =
            decision.actions.as_slice()
        else {
            panic!("{decision:?}")
        };
        assert_eq!((*partition, record.done, &record.stable), (PARKED, true, &Some(record.target.clone())));
        assert_eq!(record.back, tip_revision(&bench, level));
    }
}

#[test]
fn it_is_not_made_at_another_template_nor_over_pods_that_are_still_anothers() {
    let bench = orphans(0, Level::V1_36);
    let decision = bench.decide_without_record();
    assert_eq!(line(&decision), "- | Blocked Missing | Correction");
    assert!(decision.message.contains("git revert"), "{}", decision.message);
    let bench = bent(orphans(5, Level::V1_36), |b| b.pod_mut(3).owner = "set-1".into());
    assert_eq!(line(&bench.decide_without_record()), "- | Blocked Missing | Correction");
}

#[test]
fn a_set_with_an_unreadable_record_is_given_back() {
    let unreadable = |verb: Option<Verb>, settled: bool| {
        let bench = bent(Bench::running(if settled { 5 } else { 1 }), |b| {
            if let Some(verb) = verb {
                b.ask(verb);
            }
            b.set().record = RecordState::Unreadable("it has 4000 bytes".into());
        });
        line(&bench.decide_without_record())
    };
    assert_eq!(unreadable(None, true), "- | Blocked RecordUnreadable | Correction");
    assert_eq!(unreadable(Some(Verb::Release), true), "Release p=Some(\"0\") | Blocked RecordUnreadable | Correction");
    assert_eq!(unreadable(Some(Verb::Release), false), "Release p=None | Blocked RecordUnreadable | Correction");
    assert_eq!(unreadable(Some(Verb::Promote), true), "DropRequest | Blocked RecordUnreadable | Correction");
}
