//! What the tests found wrong in the planner, one named test each.

use phaseline::model::record::Answer;
use phaseline::model::{
    Action, FieldOwner, Hold, LiveSet, Mode, OnNewRevision, Ordinal, PARKED, Partition, Pause, Phase, Plan, Reason,
    Record, Size, Verb, WaitingOn,
};

use super::bench::{Bench, at, bent, hash, line, owner, plan, seen, stage, three};
use super::s02_record::largest;

#[test]
fn names_in_a_record_are_bounded_however_people_write_them() {
    for verb in [Verb::Pause, Verb::Retry] {
        let mut bench = Bench::running(1);
        bench.ask(verb);
        if let Some(Ok(request)) = &mut bench.set().request {
            request.by = "\u{1}\"é".repeat(100);
            request.id = "\"".repeat(64);
        }
        let decision = bench.decide();
        let [Action::Patch { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
        let mut with = largest();
        (with.hold, with.req) = (record.hold.clone().or(with.hold), record.req.clone());
        let text = with.encode();
        assert!(text.len() <= Record::MAX_BYTES, "{} bytes", text.len());
        assert_eq!(Record::decode(&text).unwrap().req.unwrap().id, "\"".repeat(64));
    }
}

#[test]
fn a_request_whose_id_does_not_fit_a_record_is_dropped() {
    for id in [String::new(), "x".repeat(65), "a\nb".into()] {
        let mut bench = Bench::running(1);
        bench.ask(Verb::Pause);
        if let Some(Ok(request)) = &mut bench.set().request {
            request.id = id;
        }
        assert_eq!(bench.line(), "DropRequest | Progressing Starting | -");
    }
}

#[test]
fn the_failure_in_force_is_never_left_out() {
    let mut record = largest();
    let current = record.failed[1].clone();
    (record.target.commit, record.target.hash) = (current.commit.clone(), current.hash.clone());
    record.hold = Some(Hold { by: "é".repeat(40) });
    record.req = Some(Answer { id: "\"".repeat(64), refused: "\"".repeat(160) });
    let text = record.encode();
    assert!(text.len() <= Record::MAX_BYTES, "{} bytes", text.len());
    let failed = Record::decode(&text).unwrap().failed;
    assert_eq!((failed.len(), &failed[0].hash, &failed[0].reason), (1, &current.hash, &current.reason));
}

#[test]
fn straight_to_the_end_stays_at_the_end_when_the_set_grows() {
    let mut bench = Bench::resting();
    bench.record.proven = vec![hash("B"), hash("A")];
    bench.tip("c2", "B");
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    for replicas in [1, 5, 9] {
        assert_eq!(phaseline::rollout::stage::standing(record, replicas).partition, Partition(0));
    }
}

#[test]
fn a_request_on_a_foreign_set_that_cannot_be_read_is_dropped() {
    let mut bench = Bench::resting();
    bench.set().request = Some(Err("no JSON".into()));
    assert_eq!(line(&bench.decide_without_record()), "DropRequest | Blocked AdoptionRequired | Adoption");
}

/// A first install, parked from the beginning, whose template somebody else changed.
fn install_changed(change: impl FnOnce(&mut LiveSet)) -> Bench {
    bent(Bench::running(5), |b| {
        b.record.mode = Mode::Install;
        (b.record.stable, b.record.stage, b.record.partition) = (None, None, PARKED);
        let set = b.set();
        set.partition = Some(PARKED);
        set.generation += 1;
        set.observed_generation += 1;
        set.update_revision = "web-X".into();
        change(set);
    })
}

#[test]
fn a_first_install_that_drifted_and_is_accepted_is_not_held_back() {
    let mut bench = install_changed(|set| set.template = hash("X"));
    bench.ask(Verb::ResumeAccept);
    assert_eq!(bench.line(), "Patch p=0 Install answered | Progressing WaitingReady | -");
}

#[test]
fn a_first_install_that_is_to_restart_is_not_held_back() {
    let mut bench = install_changed(|set| set.restarted_at = "monday".into());
    assert_eq!(bench.line(), "Patch p=0 Install | Progressing Starting | -");
}
