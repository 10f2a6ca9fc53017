//! Section 9 of the rules: adoption.

use phaseline::model::{Action, Ordinal, Phase, Reason, Request, Verb, WaitingOn};

use super::bench::{Bench, hash, line, revision};

/// A set that exists and has no record.
fn foreign() -> Bench {
    let mut bench = Bench::resting();
    let set = bench.set();
    set.partition = Some(phaseline::model::Partition(0));
    set.owners[0].manager = "kubectl-client-side-apply".into();
    bench
}

fn asked(verb: Verb) -> Bench {
    let mut bench = foreign();
    bench.ask(verb);
    bench
}

#[test]
fn nothing_is_written_before_somebody_says_so() {
    let decision = foreign().decide_without_record();
    assert_eq!(line(&decision), "- | Blocked AdoptionRequired | Adoption");
    assert!(decision.message.contains("phaseline adopt web"));
}

#[test]
fn a_request_takes_it() {
    let decision = asked(Verb::Adopt).decide_without_record();
    assert_eq!(line(&decision), "Adopt A | Progressing Starting | -");
    let [Action::Adopt { record, clear_request, .. }] = decision.actions.as_slice() else { panic!() };
    assert!(*clear_request);
    assert_eq!((record.done, record.stable.as_ref(), record.rest.as_str()), (true, Some(&record.target), ""));
}

#[test]
fn the_manifest_takes_it() {
    let mut bench = foreign();
    bench.desired.tip.adopt = true;
    assert_eq!(line(&bench.decide_without_record()), "Adopt A | Progressing Starting | -");
}

#[test]
fn a_request_of_another_kind_is_dropped() {
    for verb in [Verb::Promote, Verb::Pause, Verb::Release, Verb::Retry] {
        let decision = asked(verb).decide_without_record();
        assert_eq!(line(&decision), "DropRequest | Blocked AdoptionRequired | Adoption", "{verb:?}");
    }
}

#[test]
fn another_template_is_the_first_rollout() {
    let mut bench = asked(Verb::Adopt);
    bench.tip("c2", "B");
    let decision = bench.decide_without_record();
    let [Action::Adopt { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.target.hash.clone(), record.target.commit.0.as_str()), (hash("A"), ""));
    // What it comes to at the next look.
    bench.record = (**record).clone();
    bench.record.generation = 3;
    bench.set().partition = Some(phaseline::model::PARKED);
    bench.set().request = None;
    bench.set().owners[0].manager = "phaseline".into();
    assert_eq!(bench.line(), "Start B of B p=4 replicas=5 stage=0 answered | Progressing Starting | -");
}

#[test]
fn the_first_apply_after_an_adoption_brings_the_rest() {
    let mut bench = Bench::resting();
    bench.record.rest = String::new();
    assert_eq!(bench.line(), "Sync A of A p=parked replicas=5 done | Progressing Starting | -");
}

#[test]
fn what_cannot_be_adopted_says_why() {
    type Bend = fn(&mut Bench);
    let cases: [(&str, Bend); 4] = [
        ("OnDelete", |b| b.set().strategy = "OnDelete".into()),
        ("has not seen", |b| b.set().observed_generation = 2),
        ("under way", |b| b.set().update_revision = revision("B")),
        ("under way", |b| {
            b.pod(4, "B");
        }),
    ];
    for (words, bend) in cases {
        let mut bench = asked(Verb::Adopt);
        bend(&mut bench);
        let decision = bench.decide_without_record();
        assert_eq!(line(&decision), "- | Blocked NotAdoptable | Correction", "{words}");
        assert!(decision.message.contains(words), "{}", decision.message);
    }
}

#[test]
fn without_git_nothing_is_adopted() {
    use phaseline::model::Wanted;
    let bench = asked(Verb::Adopt);
    let decision = phaseline::rollout::decide(&Wanted::Unknown, &bench.observed, bench.now);
    assert_eq!((decision.phase, decision.reason), (Phase::Blocked, Reason::AdoptionRequired));
    assert_eq!(decision.waiting_on, Some(WaitingOn::Adoption));
}

#[test]
fn adopt_of_a_set_that_is_ours_is_refused() {
    let mut bench = Bench::resting();
    bench.ask(Verb::Adopt);
    assert_eq!(bench.line(), "Note done refused | Progressing Starting | -");
}

#[test]
fn an_answer_is_given_once() {
    let mut bench = Bench::resting();
    bench.ask(Verb::Adopt);
    let decision = bench.decide();
    let [Action::Patch { record, clear_request: Some(_), .. }] = decision.actions.as_slice() else { panic!() };
    bench.record = (**record).clone();
    bench.set().record = phaseline::model::RecordState::Absent;
    bench.set().request =
        Some(Ok(Request { id: "r1".into(), verb: Verb::Adopt, by: "ann".into(), rollout: String::new(), stage: None }));
    assert_eq!(bench.line(), "- | Healthy Completed | -", "written again, it stays answered");
}

#[test]
fn a_set_that_is_not_there_is_created() {
    let mut bench = Bench::resting();
    bench.observed.set = None;
    bench.observed.pods.clear();
    assert_eq!(bench.line(), "Create A of A p=parked replicas=5 Install | Progressing Installing | -");
}

#[test]
fn a_set_whose_pods_are_left_is_not_created() {
    let mut bench = Bench::resting();
    bench.observed.set = None;
    bench.observed.pods.remove(&Ordinal(3));
    assert_eq!(bench.line(), "- | Blocked Missing | Correction");
}
