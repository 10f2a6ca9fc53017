//! Section 15 of the rules: stamps alone end no soak and no pause, and no jump of a clock fails a stage.

use jiff::SignedDuration;
use phaseline::model::{Pace, Pause, Phase, Plan, Reason, Schedule, Size, Stage};

use super::bench::{Bench, at, line};

/// A canary that soaks for 60 s and pauses for 100 s, then all.
fn plan() -> Plan {
    let stage = |size, soak, pause| Stage { name: String::new(), size, min_ready_seconds: soak, pause };
    let stages = vec![stage(Size::Pods(1), 60, Pause::Seconds(100)), stage(Size::Percent(100), 0, Pause::None)];
    Plan { schedule: Schedule::Stages(stages), progress_deadline_seconds: 600, ..Plan::default() }
}

/// The canary is not Ready yet; the daemon has looked at it.
fn starting() -> Bench {
    let mut bench = Bench::running_with(3, plan(), 1);
    let pod = bench.pod(2, "B");
    (pod.ready, pod.created, pod.scheduled, pod.started, pod.ready_since) = (false, at(-10), None, None, None);
    bench.record.at = at(-10).as_second();
    look(&mut bench, 0, 1000);
    bench
}

/// Looks when the server's clock shows `now`, and the steady one `steady` seconds.
fn look(bench: &mut Bench, now: i64, steady: i64) -> String {
    bench.now = at(now);
    bench.observed.pace.steady = Some(SignedDuration::from_secs(steady));
    let decision = bench.decide();
    bench.observed.progress = decision.progress.clone();
    line(&decision)
}

/// The canary is Ready, by a node's clock that may be anything.
fn ready(bench: &mut Bench, stamp: i64) {
    let pod = bench.pod_mut(2);
    (pod.ready, pod.ready_since, pod.started) = (true, Some(at(stamp)), Some(at(stamp - 5)));
}

#[test]
fn a_soak_passes_by_the_steady_clock_too() {
    // The node's clock is ten minutes late; or the server's was set forwards by as much.
    for (stamp, jumps) in [(-600, 0), (5, 600)] {
        let mut bench = starting();
        ready(&mut bench, stamp);
        let waits = "- | Progressing WaitingReady | PodAvailable 2 at";
        assert!(look(&mut bench, 5 + jumps, 1005).starts_with(waits));
        let soaks = look(&mut bench, 64 + jumps, 1064);
        assert!(soaks.starts_with(waits), "{soaks}");
        let over = look(&mut bench, 66 + jumps, 1066);
        assert!(over.starts_with("- | Paused StagePaused | Pause"), "{over}");
        let pause = look(&mut bench, 104 + jumps, 1104);
        assert!(pause.starts_with("- | Paused StagePaused | Pause"), "{pause}");
        assert_eq!(look(&mut bench, 106 + jumps, 1106), "Patch p=0 stage=1 | Progressing WaitingReady | -");
    }
}

#[test]
fn after_a_restart_the_stamps_tell_how_long_it_has_been() {
    let mut bench = starting();
    ready(&mut bench, 5);
    bench.observed.progress = Default::default();
    let soaks = look(&mut bench, 40, 1);
    assert_eq!(soaks, "- | Progressing WaitingReady | PodAvailable 2 at +66");
    assert_eq!(look(&mut bench, 66, 27), "- | Paused StagePaused | Pause +106");
    // And what they told once stays told, whatever clock is set then.
    let set = look(&mut bench, 5000, 60);
    assert!(set.starts_with("- | Paused StagePaused | Pause"), "{set}");
}

#[test]
fn a_pod_that_is_ready_anew_soaks_anew() {
    let mut bench = starting();
    ready(&mut bench, 5);
    look(&mut bench, 5, 1005);
    // Made anew, with a stamp of long ago.
    ready(&mut bench, -2000);
    bench.pod_mut(2).uid = "other".into();
    let soaks = look(&mut bench, 50, 1050);
    assert_eq!(soaks, "- | Progressing WaitingReady | PodAvailable 2 at +110");
}

#[test]
fn a_deadline_runs_on_the_steady_clock() {
    let mut bench = starting();
    let waits = "- | Progressing WaitingReady | PodReady 2";
    // Set forwards and backwards, by any amount: it has ten minutes from its last step on (10 s before the first look).
    assert_eq!(look(&mut bench, 86_400, 1001), waits);
    assert_eq!(look(&mut bench, -86_400, 1589), waits);
    let late = look(&mut bench, -80_000, 1590);
    assert!(late.contains("Degraded ProgressDeadlineExceeded"), "{late}");
}

#[test]
fn a_jump_starts_the_deadline_anew_once() {
    let mut bench = starting();
    let waits = "- | Progressing WaitingReady | PodReady 2";
    // Stopped for an hour: the steady clock went on, and what happened meanwhile is still to be read.
    bench.observed.pace.jumps = 1;
    assert_eq!(look(&mut bench, 3600, 4600), waits);
    assert_eq!(look(&mut bench, 4199, 5199), waits);
    let late = look(&mut bench, 4200, 5200);
    assert!(late.contains("Degraded ProgressDeadlineExceeded"), "{late}");
}

#[test]
fn a_clock_that_is_wrong_is_said_in_every_state() {
    for (ahead, said) in [(0, ""), (30, ""), (-30, ""), (31, "31 s ahead of"), (-7200, "7200 s behind")] {
        let mut bench = Bench::resting();
        bench.observed.pace = Pace { ahead_seconds: ahead, ..Pace::default() };
        let decision = bench.decide();
        assert_eq!((decision.phase, decision.reason), (Phase::Healthy, Reason::Completed));
        assert!(decision.message.contains(said), "{ahead}: {}", decision.message);
        assert_eq!(decision.message.is_empty(), said.is_empty(), "{ahead}: {}", decision.message);
    }
}
