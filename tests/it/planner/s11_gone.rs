//! Sections 11 and 20 of the rules: a set that left its pods behind, and a record that nobody can read.

use std::sync::Arc;

use phaseline::manifest::default::{self, Level};
use phaseline::model::{Action, ApplyKind, PARKED, Record, RecordState, Verb, Version};
use phaseline::revision::controller_revision;
use phaseline::rollout::recreate;
use serde_json::{Value, json};

use super::bench::{Bench, bent, hash, line, seen, version};

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
    let way = "`phaseline resume web --recreate -n default`";
    assert!(decision.message.contains(way), "{}", decision.message);
    let bench = bent(orphans(5, Level::V1_36), |b| b.pod_mut(3).owner = "set-1".into());
    assert_eq!(line(&bench.decide_without_record()), "- | Blocked Missing | Correction");
}

/// The tip is B of c2; the old side runs A of c1, and web-4 something else.
fn canary(level: Level) -> (Bench, Vec<Version>) {
    let mut bench = orphans(4, level);
    // What a server keeps of a template tells them apart.
    let at = |commit, template: &str| {
        let mut version = version(commit, template, Some(5));
        Arc::make_mut(&mut version.manifest)["spec"]["template"]["metadata"] = json!({"labels": {"v": template}});
        version
    };
    let history = vec![at("c2", "B"), at("c1", "A"), at("c0", "Z")];
    bench.desired.tip = history[1].clone();
    let old = tip_revision(&bench, level);
    (0..4).for_each(|ordinal| bench.pod_mut(ordinal).revision.clone_from(&old));
    bench.desired.tip = history[0].clone();
    (bench, history)
}

fn again(bench: &Bench, newest_first: &[Version]) -> Result<(Record, Value), String> {
    let (action, at) = recreate(&bench.desired, newest_first, &bench.observed, bench.now)?;
    let Action::Apply { kind: ApplyKind::Create, manifest, partition: PARKED, record, base: None, .. } = action else {
        panic!("{action:?}")
    };
    assert_eq!((&record.target.hash, &record.target.commit), (&at.hash, &at.commit.id));
    Ok((*record, (*manifest).clone()))
}

#[test]
fn a_person_has_it_made_again_at_the_commit_that_the_old_side_runs() {
    for level in [Level::V1_33, Level::V1_36] {
        let (bench, history) = canary(level);
        assert_eq!(line(&bench.decide_without_record()), "- | Blocked Missing | Correction");
        let (record, manifest) = again(&bench, &history).unwrap();
        assert_eq!(record.target, seen("c1", "A"));
        assert_eq!((record.done, record.partition, record.stable.as_ref()), (true, PARKED, Some(&seen("c1", "A"))));
        assert_eq!((&record.live, &record.rest), (&hash("A"), &bench.desired.tip.rest));
        assert_eq!(record.back, bench.observed.pods.values().next().unwrap().revision);
        assert_eq!(manifest.pointer("/spec/template/id"), Some(&"A".into()));
    }
}

#[test]
fn every_pod_has_a_place_in_a_set_that_is_made_again() {
    let (mut bench, history) = canary(Level::V1_36);
    bench.scale_commit(None);
    let (record, manifest) = again(&bench, &history).unwrap();
    assert_eq!((record.replicas, manifest.pointer("/spec/replicas")), (Some(5), Some(&5.into())));
    bench.scale_commit(Some(7));
    assert_eq!(again(&bench, &history).unwrap().0.replicas, Some(7));
    bench.scale_commit(Some(4));
    let why = again(&bench, &history).unwrap_err();
    assert!(why.contains("Git states 4 replicas, and web-4 is beyond"), "{why}");
    bench.scale_commit(Some(5)).desired.tip.start = 2;
    let why = again(&bench, &history).unwrap_err();
    assert!(why.contains("begin at 2, and web-0 runs below"), "{why}");
    // So it is where no person is needed.
    let mut alone = orphans(5, Level::V1_36);
    alone.desired.tip.replicas = None;
    let decision = alone.decide_without_record();
    let [Action::Apply { manifest, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!(manifest.pointer("/spec/replicas"), Some(&5.into()));
    alone.desired.tip.replicas = Some(3);
    assert_eq!(line(&alone.decide_without_record()), "- | Blocked Missing | Correction");
}

#[test]
fn it_is_not_made_where_nobody_knows_what_its_pods_run() {
    let (bench, history) = canary(Level::V1_36);
    type Bend<'a> = &'a dyn Fn(&mut Bench);
    let cases: [(&str, Bend<'_>); 5] = [
        ("no commit of the repository", &|b| b.pod_mut(0).revision = "web-edited".into()),
        ("web-4 still has an owner", &|b| b.pod_mut(4).owner = "set-1".into()),
        ("no label controller-revision-hash", &|b| b.pod_mut(0).revision = String::new()),
        ("there is nothing to hold back", &|b| b.observed.pods.clear()),
        ("the set is there", &|b| b.observed.set = Bench::resting().observed.set),
    ];
    for (words, bend) in cases {
        let why = again(&bent(bench.clone(), bend), &history).unwrap_err();
        assert!(why.contains(words), "{words}: {why}");
    }
    assert!(again(&bench, &history[..1]).unwrap_err().contains("no commit of the repository"));
}

#[test]
fn nothing_begins_before_the_controller_has_taken_the_pods_over() {
    let made = |bend: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::resting();
        bench.tip("c2", "B");
        bend(&mut bench);
        bench.line()
    };
    let waits = "- | Progressing Starting | FreshPods";
    assert_eq!(made(&|b| (0..5).for_each(|ordinal| b.pod_mut(ordinal).owner = String::new())), waits);
    let never_seen = |b: &mut Bench| {
        let set = b.set();
        (set.observed_generation, set.current_revision, set.update_revision) = (0, String::new(), String::new());
    };
    assert_eq!(made(&never_seen), waits);
    assert_ne!(made(&|_| {}), waits);
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
