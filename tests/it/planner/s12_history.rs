//! Sections 12 and 13 of the rules, as far as a decision goes: identity of a revision, and what binds to what.

use phaseline::model::{Diagnostic, Phase, Problem, Reason, WaitingOn, Wanted};
use phaseline::rollout::decide;

use super::bench::{Bench, line};

fn problem() -> Problem {
    Problem { diagnostics: vec![Diagnostic::error("web.yaml", 3, "two documents for one workload")] }
}

#[test]
fn a_commit_that_keeps_the_template_starts_nothing() {
    let mut bench = Bench::resting();
    bench.tip("c9", "A");
    assert_eq!(bench.line(), "- | Healthy Completed | -");
}

#[test]
fn a_template_seen_before_is_the_same_revision() {
    let mut bench = Bench::running(3);
    bench.tip("c8", "B");
    assert_eq!(bench.line(), "Patch p=0 stage=2 | Progressing WaitingReady | -");
}

#[test]
fn another_predicted_name_is_no_drift() {
    let mut bench = Bench::running(3);
    // A mutating admission made another template of it: the record knows what the server returned.
    bench.set().template = super::bench::hash("mutated");
    bench.record.live = super::bench::hash("mutated");
    assert_eq!(bench.line(), "Patch p=0 stage=2 | Progressing WaitingReady | -");
}

#[test]
fn the_strategy_alone_starts_nothing() {
    let mut bench = Bench::resting();
    bench.desired.tip.rest = "another strategy".into();
    assert_eq!(bench.line(), "Sync A of A p=parked replicas=5 done | Progressing Starting | -");
}

#[test]
fn a_manifest_that_cannot_be_used_stops_one_workload() {
    let problem = problem();
    let mut bench = Bench::resting();
    bench.decide();
    let decision = decide(&Wanted::Broken(&problem), &bench.observed, bench.now);
    assert_eq!(line(&decision), "- | Blocked InvalidManifest | Correction");
    assert!(decision.message.contains("web.yaml:3"), "{}", decision.message);
}

#[test]
fn a_newer_commit_that_cannot_be_used_does_not_stop_the_rollout_under_way() {
    let problem = problem();
    let mut bench = Bench::running(1);
    bench.decide();
    let decision = decide(&Wanted::Is(&bench.desired, Some(&problem)), &bench.observed, bench.now);
    assert_eq!(line(&decision), "Patch p=2 stage=1 | Progressing WaitingReady | -");
}

#[test]
fn what_the_server_refused_is_not_sent_again() {
    for reason in [Reason::ImmutableField, Reason::Refused] {
        let mut bench = Bench::resting();
        bench.tip("c2", "B");
        bench.observed.refused = Some((reason, "spec.serviceName: field is immutable".into()));
        let decision = bench.decide();
        assert_eq!((decision.phase, decision.reason), (Phase::Blocked, reason));
        assert_eq!(decision.waiting_on, Some(WaitingOn::Correction));
        assert!(decision.actions.is_empty() && decision.message.contains("serviceName"));
    }
}

#[test]
fn a_creation_that_is_refused_is_not_sent_again() {
    let mut bench = Bench::resting();
    (bench.observed.set, bench.observed.pods) = (None, phaseline::model::Pods::default());
    bench.observed.refused = Some((Reason::Refused, "spec.selector: required".into()));
    assert_eq!(bench.line(), "- | Blocked Refused | Correction");
}

#[test]
fn gone_from_git_freezes_the_rollout() {
    let mut bench = Bench::running(1);
    bench.decide();
    let decision = decide(&Wanted::Absent, &bench.observed, bench.now);
    assert_eq!(line(&decision), "- | Blocked Orphaned | Correction");
}

#[test]
fn a_command_that_does_not_ask_git_still_says_how_it_is() {
    let mut bench = Bench::resting();
    bench.decide();
    let decision = decide(&Wanted::Unknown, &bench.observed, bench.now);
    assert_eq!(line(&decision), "- | Healthy Completed | -");
}

#[test]
fn nobody_knows_it() {
    let mut bench = Bench::resting();
    bench.observed.set = None;
    let decision = decide(&Wanted::Unknown, &bench.observed, bench.now);
    assert_eq!(line(&decision), "- | Blocked Missing | Correction");
}
