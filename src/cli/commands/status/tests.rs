//! Exit codes, tables, pages and JSON from hand-made facts.

use serde_json::json;

use super::*;
use crate::cli::args::GlobalArgs;
use crate::cli::fixtures::{at_rest, desired, in_canary, nothing, now, observed};
use crate::cli::output::status::SourceState;
use crate::cli::output::ways::Ways;
use crate::model::{ContainerFault, Desired, Hold, Observed, Ordinal, Problem, Reason, Record, Wanted, WorkloadId};
use crate::rollout::decide;

fn status(observed: &Observed) -> Status {
    Status::of(observed, &decide(&Wanted::Unknown, observed, now()), &ways(), now())
}

fn ways() -> Ways {
    Ways::to(&WorkloadId::new("prod", "web"), &GlobalArgs::default(), "default")
}

fn broken() -> Observed {
    let mut observed = observed(Some(in_canary('a', 'b')));
    let pod = observed.pods.get_mut(&Ordinal(5)).unwrap();
    pod.ready = false;
    pod.faults.push(ContainerFault {
        container: "web".into(),
        reason: "ImagePullBackOff".into(),
        message: "no such image".into(),
    });
    observed
}

fn page(item: &Status, source: Option<&SourceState>) -> String {
    let mut out = Vec::new();
    status_text::page(&mut out, item, source, now(), false).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_worst_phase_is_the_exit_code() {
    let healthy = status(&observed(Some(at_rest('a'))));
    let paused = status(&observed(Some(in_canary('a', 'b'))));
    let going = status(&broken());
    let blocked = status(&observed(None));
    assert_eq!(
        [healthy.phase, paused.phase, going.phase, blocked.phase],
        [Phase::Healthy, Phase::Paused, Phase::Progressing, Phase::Blocked]
    );
    let code = |items: &[&Status]| exit(&items.iter().map(|item| (*item).clone()).collect::<Vec<_>>()).code();
    assert_eq!(code(&[]), 0);
    assert_eq!(code(&[&healthy]), 0);
    assert_eq!(code(&[&healthy, &paused]), 4);
    assert_eq!(code(&[&paused, &going, &healthy]), 3);
    assert_eq!(code(&[&blocked, &going, &paused, &healthy]), 1);
}

#[test]
fn a_paused_canary_as_json() {
    let item = status(&observed(Some(in_canary('a', 'b'))));
    let source = SourceState { url: "https://x/y.git".into(), commit: "b".repeat(40), trouble: String::new() };
    assert_eq!(
        serde_json::to_value(StatusObject::of(&item, Some(&source))).unwrap(),
        json!({
            "apiVersion": "phaseline.dev/v1alpha1", "kind": "Status", "namespace": "prod", "name": "web",
            "phase": "Paused", "reason": "StagePaused", "message": "`phaseline promote web -n prod` goes on",
            "stage": {"number": 1, "of": 3, "name": "canary", "count": 1, "partition": 5, "verified": 1},
            "replicas": 6, "updated": 1, "ready": 6, "since": "2026-03-01T11:00:00Z",
            "waitingOn": {"kind": "Promotion", "text": "for `phaseline promote web -n prod`"},
            "target": {"commit": "b".repeat(40), "hash": "b".repeat(20), "revision": "web-new"},
            "stable": {"commit": "a".repeat(40), "hash": "a".repeat(20), "revision": "web-old"},
            "partition": 5, "generation": 3, "observedGeneration": 3,
            "updateRevision": "web-new", "currentRevision": "web-old", "rollout": "bbbbbbbbbb-5",
            "hints": ["phaseline promote web -n prod", "phaseline promote web --full -n prod"],
            "source": {"url": "https://x/y.git", "commit": "b".repeat(40)},
        })
    );
    let list = serde_json::to_value(StatusList::of(vec![item], None)).unwrap();
    assert_eq!((&list["kind"], &list["items"][0]["phase"]), (&json!("StatusList"), &json!("Paused")));
    assert!(list.get("source").is_none());
}

#[test]
fn a_page_names_the_culprit_and_the_way_out() {
    let source = SourceState {
        url: "https://x/y.git".into(),
        commit: "b".repeat(40),
        trouble: "cannot reach https://x/y.git: timed out".into(),
    };
    assert_eq!(
        page(&status(&broken()), Some(&source)),
        "web in namespace prod
  Phase:    Progressing (WaitingReady)
  Stage:    1/3 canary, 0/1 pods verified, partition 5
  Pods:     1/6 updated, 5/6 Ready
  Since:    60m
  Waits:    for web-5 to become Ready (ImagePullBackOff)
  Culprit:  web-5: ImagePullBackOff
  Target:   commit bbbbbbbbbb, hash bbbbbbbbbb, web-new
  Stable:   commit aaaaaaaaaa, hash aaaaaaaaaa, web-old
  Source:   cannot reach https://x/y.git: timed out; the last good commit bbbbbbbbbb stays in force
  Try:      kubectl describe pod web-5 -n prod
"
    );
}

#[test]
fn a_hold_says_who_and_how_to_end_it() {
    let held = Record { hold: Some(Hold { by: "ann\x1b[2J@host".into() }), ..in_canary('a', 'b') };
    let page = page(&status(&observed(Some(held))), None);
    assert!(page.contains("Phase:    Paused (PausedByUser)\n"), "{page}");
    assert!(page.contains("Held by:  ann\u{fffd}[2J@host\n"), "{page}");
    assert!(page.contains("Try:      phaseline resume web -n prod\n"), "{page}");
}

#[test]
fn tables_are_those_of_kubectl() {
    let items =
        [status(&observed(Some(at_rest('a')))), status(&observed(Some(in_canary('a', 'b')))), status(&broken())];
    assert_eq!(
        status_text::list(&items, false, false, now()),
        "NAME   PHASE         REASON         STAGE        UPDATED   SINCE   TARGET       WAITING
web    Healthy       Completed                   6/6       60m     aaaaaaaaaa
web    Paused        StagePaused    1/3 canary   1/6       60m     bbbbbbbbbb   for `phaseline promote web -n prod`
web    Progressing   WaitingReady   1/3 canary   1/6       60m     bbbbbbbbbb   for web-5 to become Ready (ImagePullBackOff)
"
    );
    assert_eq!(
        status_text::list(&items[..1], true, true, now()),
        "NAMESPACE   NAME   PHASE     REASON      STAGE   UPDATED   SINCE   TARGET       STABLE       READY   PARTITION   REVISION   CULPRIT   WAITING   MESSAGE
prod        web    Healthy   Completed           6/6       60m     aaaaaaaaaa   aaaaaaaaaa   6/6     parked      web-old
"
    );
}

#[test]
fn what_only_the_daemon_does_is_said() {
    let observed = nothing();
    let wish = desired('a');
    let decision = decide(&Wanted::Is(&wish, None), &observed, now());
    let item = Status::of(&observed, &decision, &ways(), now());
    assert_eq!(item.waiting_on.as_ref().map(|waiting| waiting.kind), Some("Daemon"));
    assert_eq!(item.next, ["create the set"]);
}

#[test]
fn only_what_goes_on_by_itself_is_waited_for() {
    let going = |observed: &Observed| {
        let decision = decide(&Wanted::Unknown, observed, now());
        goes_on(decision.phase, decision.waiting_on.as_ref())
    };
    assert!(going(&broken()));
    assert!(!going(&observed(Some(in_canary('a', 'b')))), "a pause without an end");
    let timed = Record { stage: Some(1), partition: crate::model::Partition(3), ..in_canary('a', 'b') };
    assert!(going(&observed(Some(timed))), "a pause with an end");
    assert!(!going(&observed(Some(at_rest('a')))));
}

#[test]
fn two_looks_that_differ_by_time_alone_are_equal() {
    let timed = Record { stage: Some(1), partition: crate::model::Partition(3), ..in_canary('a', 'b') };
    let observed = observed(Some(timed));
    let at = |seconds| {
        let now = now() + jiff::SignedDuration::from_secs(seconds);
        Status::of(&observed, &decide(&Wanted::Unknown, &observed, now), &ways(), now)
    };
    assert_ne!(at(0), at(5));
    assert_eq!(at(0).still(), at(5).still());
}

#[test]
fn a_broken_commit_is_told_beside_the_state() {
    let problem = Problem { diagnostics: vec![crate::model::Diagnostic::error("web.yaml", 3, "no such key")] };
    let (observed, wish) = (observed(Some(at_rest('a'))), desired('a'));
    let decision = decide(&Wanted::Is(&wish, Some(&problem)), &observed, now());
    let page = page(&Status::of(&observed, &decision, &ways(), now()), None);
    assert!(page.contains("Phase:    Blocked (InvalidManifest)\n"), "{page}");
    assert!(page.contains("Message:  web.yaml:3: error: no such key\n"), "{page}");
    assert!(page.contains("Try:      phaseline lint\n"), "{page}");
}

#[test]
fn a_pause_hides_no_message() {
    let problem = Problem { diagnostics: vec![crate::model::Diagnostic::error("web.yaml", 3, "no such key")] };
    let observed = observed(Some(in_canary('a', 'b')));
    let shown = |wish: &Desired, problem: Option<&Problem>| {
        let decision = decide(&Wanted::Is(wish, problem), &observed, now());
        let item = Status::of(&observed, &decision, &ways(), now());
        assert_eq!((item.phase, item.reason), (Phase::Paused, Reason::StagePaused));
        let table = status_text::list(std::slice::from_ref(&item), false, true, now());
        (page(&item, None), table)
    };
    let wish = desired('b');
    let (plain, _) = shown(&wish, None);
    assert!(!plain.contains("Message:"), "the command stands below: {plain}");
    let (broken, table) = shown(&wish, Some(&problem));
    assert!(broken.contains("Message:  web.yaml:3: error: no such key\n"), "{broken}");
    assert!(table.contains("web.yaml:3: error: no such key\n"), "{table}");
    let newer = Desired { plan_digest: "newer".into(), ..wish };
    let (replan, _) = shown(&newer, None);
    assert!(
        replan.contains(
            "Message:  a newer plan waits for the next rollout; `phaseline resume web --replan -n prod` takes it\n"
        ),
        "{replan}"
    );
}

#[test]
fn every_hint_can_be_typed_as_it_stands() {
    let ordinal = Ordinal(5);
    let all = [
        WaitingOn::Promotion,
        WaitingOn::Pause { until: now() },
        WaitingOn::Resume,
        WaitingOn::Decision,
        WaitingOn::DriftDecision,
        WaitingOn::NewRevisionDecision,
        WaitingOn::Adoption,
        WaitingOn::Correction,
        WaitingOn::PodReady { ordinal, why: "Error".into() },
        WaitingOn::PodGone { ordinal },
    ];
    let reasons = [Reason::StuckPod, Reason::Superseded, Reason::InvalidManifest, Reason::Orphaned];
    let observed = observed(Some(in_canary('a', 'b')));
    let mut seen = 0;
    for (waiting, reason) in all.iter().flat_map(|waiting| reasons.iter().map(move |reason| (waiting, *reason))) {
        let mut decision = decide(&Wanted::Unknown, &observed, now());
        decision.waiting_on = Some(waiting.clone());
        decision.culprit = Some((ordinal, "Error".into()));
        (decision.phase, decision.reason) = (Phase::Degraded, reason);
        decision.pending = Some("c".repeat(40));
        for hint in ways().on(&decision, &observed) {
            seen += 1;
            assert!(!hint.contains(['<', '{']), "{hint}");
            if hint.starts_with("git ") {
                let id = if reason == Reason::Superseded { "cccccccccc" } else { "bbbbbbbbbb" };
                assert_eq!(hint, format!("git revert --no-edit {id} && git push"));
                continue;
            }
            let words: Vec<&str> = hint.split(' ').collect();
            let placed = words.windows(2).any(|pair| pair == ["-n", "prod"]);
            assert!(placed || hint == "phaseline lint", "{hint}");
            if words[0] == "phaseline" {
                crate::cli::command().try_get_matches_from(&words).unwrap();
            }
        }
    }
    assert!(seen > 40, "{seen}");
}
