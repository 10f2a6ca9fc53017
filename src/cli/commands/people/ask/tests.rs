//! Answers and early refusals from hand-made sets.

use super::*;
use crate::cli::fixtures::{at_rest, in_canary, now, observed};
use crate::model::record::Answer as Answered;
use crate::model::{Failed, OnNewRevision, Record};

fn request(verb: Verb) -> Request {
    Request { id: "r1".into(), verb, by: "ann@host".into(), rollout: String::new(), stage: None }
}

fn with_answer(refused: &str) -> Record {
    Record { req: Some(Answered { id: "r1".into(), refused: refused.into() }), ..in_canary('a', 'b') }
}

#[test]
fn the_record_answers() {
    let ask = |record: Option<Record>, verb, waits: bool| {
        let mut observed = observed(record);
        if waits {
            observed.set.as_mut().unwrap().request = Some(Ok(request(verb)));
        }
        answer(&observed, &request(verb))
    };
    assert_eq!(ask(Some(with_answer("")), Verb::Promote, false), Answer::Done);
    assert_eq!(ask(Some(with_answer("no")), Verb::Promote, false), Answer::Refused("no".into()));
    assert_eq!(ask(Some(in_canary('a', 'b')), Verb::Promote, true), Answer::Open);
    assert!(matches!(ask(Some(in_canary('a', 'b')), Verb::Promote, false), Answer::Refused(_)));
    assert_eq!(ask(None, Verb::Release, false), Answer::Done);
    assert_eq!(ask(None, Verb::Adopt, true), Answer::Open);
    assert!(matches!(ask(None, Verb::Adopt, false), Answer::Refused(_)));
}

#[test]
fn what_is_plain_is_refused_early() {
    let early = |record: Option<Record>, verb| early::refusal(&observed(record), &request(verb), now());
    assert_eq!(early(None, Verb::Promote).unwrap(), "it is not managed by phaseline: `phaseline adopt web` first");
    assert_eq!(early(None, Verb::Adopt), None);
    assert_eq!(early(Some(at_rest('a')), Verb::Adopt).unwrap(), "the set is managed by phaseline already");
    assert_eq!(early(Some(at_rest('a')), Verb::Promote).unwrap(), "no rollout is under way");
    assert_eq!(early(Some(in_canary('a', 'b')), Verb::Promote), None);
    assert_eq!(early(Some(in_canary('a', 'b')), Verb::Resume).unwrap(), "nothing is paused");
    assert_eq!(early(Some(in_canary('a', 'b')), Verb::Retry).unwrap(), "nothing has failed");
    assert_eq!(early(Some(in_canary('a', 'b')), Verb::Pause), None);
}

#[test]
fn what_depends_on_git_is_left_to_the_daemon() {
    let early = |record: Record, verb| early::refusal(&observed(Some(record)), &request(verb), now());
    let mut blocking = in_canary('a', 'b');
    blocking.plan.on_new_revision = OnNewRevision::Block;
    assert_eq!(early(blocking, Verb::Resume), None);
    let failed = Failed {
        commit: crate::cli::fixtures::commit('c').id,
        hash: crate::cli::fixtures::hash('c'),
        reason: "StuckPod".into(),
        culprit: String::new(),
    };
    assert_eq!(early(Record { failed: vec![failed], ..in_canary('a', 'b') }, Verb::Retry), None);
    for verb in [Verb::ResumeOverwrite, Verb::ResumeAccept, Verb::ResumeReplan, Verb::Release] {
        assert_eq!(early(in_canary('a', 'b'), verb), None, "{verb:?}");
    }
}

#[test]
fn a_set_in_the_middle_of_its_own_rollout_is_not_adopted() {
    let mut observed = observed(None);
    observed.set.as_mut().unwrap().update_revision = "web-new".into();
    let why = early::refusal(&observed, &request(Verb::Adopt), now()).unwrap();
    assert!(why.contains("a rollout is under way in it"), "{why}");
}

#[test]
fn a_request_is_about_what_is_shown() {
    let observed = observed(Some(in_canary('a', 'b')));
    let set = observed.set.as_ref().unwrap();
    let promote = about(Verb::Promote, set, "x");
    assert_eq!((promote.rollout.as_str(), promote.stage), ("bbbbbbbbbb-5", Some(0)));
    assert_eq!(about(Verb::Release, set, "x").rollout, "");
    assert!(serde_json::to_string(&promote).unwrap().len() <= Request::MAX_BYTES);
}
