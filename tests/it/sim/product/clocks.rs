//! A daemon whose clock is wrong, or jumps: it rolls out as one whose clock is right, no stage earlier and none failed.

use std::rc::Rc;
use std::time::Duration;

use jiff::SignedDuration;
use phaseline::model::{Pause, Plan, Schedule, Size, Stage};
use phaseline::sim::{Script, Settings};

use super::git::{Commit, Repo};
use super::play::{Play, on_stage, start};

/// Longer than any of them takes, in seconds.
const LONG: u64 = 900;
/// How much later a stage may come whose daemon has to go by what the server's answers tell: they have whole seconds.
const LATE: f64 = 1.6;

/// A canary that soaks and pauses, a second pod that soaks, and the rest.
fn plan() -> Plan {
    let stage = |size, soak, pause| Stage { name: String::new(), size, min_ready_seconds: soak, pause };
    let stages = vec![
        stage(Size::Pods(1), 25, Pause::Seconds(40)),
        stage(Size::Pods(2), 20, Pause::None),
        stage(Size::Percent(100), 5, Pause::None),
    ];
    Plan { schedule: Schedule::Stages(stages), progress_deadline_seconds: 90, ..Plan::default() }
}

/// What is done to a rollout, in seconds from its push on.
#[derive(Debug, Clone, Default)]
struct Trial {
    /// How wrong the clock is from the beginning.
    ahead: i64,
    /// When it jumps, and by how much.
    jumps: Vec<(u64, i64)>,
    /// When the daemon is killed, and comes back.
    restarts: Vec<u64>,
    /// What becomes of the pods.
    strokes: Vec<&'static str>,
}

/// Rolls one commit out; when which partition was written.
fn roll(repo: &Rc<Repo>, trial: &Trial) -> Vec<(f64, u64)> {
    on_stage(async {
        let settings = Settings { seed: 5, start: start(), ..Settings::default() };
        let mut play = Play::begin(repo, &settings, Commit { plan: plan(), ..Commit::new("app:1", 4) });
        play.shift.set(SignedDuration::from_secs(trial.ahead));
        for _ in 0..LONG {
            if play.is_converged() {
                break;
            }
            play.pass(Duration::from_secs(1)).await;
        }
        // Pods that were Ready for long: what was broken before is told from what breaks now by the time.
        play.pass(Duration::from_secs(200)).await;
        play.push(|commit| commit.image = "app:2".into());
        let strokes = trial.strokes.iter().map(|stroke| stroke.parse().unwrap()).collect();
        let mut script = Script::default();
        script.strokes = strokes;
        play.embedded.with(|world, _| world.play(script));
        let (began, mut moves) = (play.now(), Vec::new());
        for quarter in 0..LONG * 4 {
            for (at, by) in &trial.jumps {
                if at * 4 == quarter {
                    play.shift.jump(SignedDuration::from_secs(*by));
                }
            }
            if quarter % 4 == 0 && trial.restarts.contains(&(quarter / 4)) {
                play.restart().await;
            }
            play.pass(Duration::from_millis(250)).await;
            assert_eq!(play.wrong(), None, "{trial:?}\n{}", play.trace());
            let failed = play.record().is_some_and(|record| !record.failed.is_empty());
            assert!(!failed, "{trial:?}: a healthy stage failed\n{}", play.trace());
            let set = play.set().unwrap();
            let partition = set["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_u64().unwrap();
            if moves.last().is_none_or(|(_, last)| *last != partition) {
                moves.push((play.now().duration_since(began).as_secs_f64(), partition));
            }
            if moves.len() > 2 && play.is_converged() {
                return moves;
            }
        }
        panic!("{trial:?}: not done\n{}", play.trace());
    })
}

/// Every stage of `moves` comes when it came with a clock that was right, or a moment later.
fn alike(right: &[(f64, u64)], moves: &[(f64, u64)], late: f64, what: &Trial) {
    let partitions = |moves: &[(f64, u64)]| moves.iter().map(|(_, partition)| *partition).collect::<Vec<_>>();
    assert_eq!(partitions(right), partitions(moves), "{what:?}");
    // Each stage may come a little later than it should, and the next one begins from there.
    for (number, (should, is)) in (1_u32..).zip(right.iter().zip(moves)) {
        assert!(is.0 > should.0 - 0.3, "{what:?}: too early\n{right:?}\n{moves:?}");
        assert!(is.0 < should.0 + late * f64::from(number), "{what:?}: too late\n{right:?}\n{moves:?}");
    }
}

#[test]
fn a_wrong_clock_skips_no_soak_and_no_pause_and_holds_nothing_up() {
    let repo = Rc::new(Repo::new());
    let right = roll(&repo, &Trial::default());
    assert_eq!(right.len(), 4, "three stages, parked: {right:?}");
    for ahead in [120, -120, 1200, -86_400, 2, -2, 31_536_000] {
        let trial = Trial { ahead, ..Trial::default() };
        alike(&right, &roll(&repo, &trial), LATE, &trial);
        // A daemon that comes back knows of soak and pause what the stamps tell.
        let trial = Trial { restarts: vec![12, 50], ..trial };
        alike(&right, &roll(&repo, &trial), LATE + 1.0, &trial);
    }
}

#[test]
fn a_clock_that_jumps_fails_no_stage_and_ends_no_wait() {
    let repo = Rc::new(Repo::new());
    let right = roll(&repo, &Trial::default());
    for by in [1200, -1200, 7, 86_400] {
        // In a start, a soak, a pause, and back again.
        for jumps in [vec![(2, by)], vec![(15, by)], vec![(45, by)], vec![(10, by), (20, -by), (50, by)]] {
            let trial = Trial { jumps, ..Trial::default() };
            alike(&right, &roll(&repo, &trial), LATE, &trial);
        }
    }
}

#[test]
fn a_slow_start_is_no_failure_because_the_clock_jumps() {
    let repo = Rc::new(Repo::new());
    let slow = Trial { strokes: vec!["web-3=SlowStart(70s)@0s,new"], ..Trial::default() };
    let right = roll(&repo, &slow);
    for by in [85, 1200, -1200, 86_400] {
        let trial = Trial { jumps: vec![(30, by), (60, by)], ..slow.clone() };
        alike(&right, &roll(&repo, &trial), LATE, &trial);
        let trial = Trial { ahead: by, ..slow.clone() };
        alike(&right, &roll(&repo, &trial), LATE, &trial);
    }
}

#[test]
fn what_breaks_below_the_partition_after_the_start_holds_the_stage_whatever_the_clock_says() {
    let repo = Rc::new(Repo::new());
    // For as long as a stage may take, and no longer.
    let breaks = Trial { strokes: vec!["web-0=NotReady@8s..78s"], ..Trial::default() };
    let right = roll(&repo, &breaks);
    assert!(right[1].0 >= 77.0, "{right:?}");
    for ahead in [120, -120, 3600] {
        let trial = Trial { ahead, ..breaks.clone() };
        alike(&right, &roll(&repo, &trial), LATE, &trial);
    }
}
