//! What people do in a week, each with a daemon that dies after every single write: it ends the same.

use std::rc::Rc;
use std::time::Duration;

use phaseline::model::{Pause, Plan, Schedule, Size, Stage, Verb};
use phaseline::sim::{AtWrite, Fault, Faults, Settings, Told};
use serde_json::{Value, json};

use super::git::{Commit, Repo};
use super::play::{DAEMON, Play, on_stage, start};

/// Longer than any scenario takes, in virtual seconds.
const LONG: u64 = 3600;

fn stage(size: Size, min_ready_seconds: u32, pause: Pause) -> Stage {
    Stage { name: String::new(), size, min_ready_seconds, pause }
}

fn three_stages() -> Plan {
    let stages = vec![
        stage(Size::Pods(1), 2, Pause::None),
        stage(Size::Pods(2), 2, Pause::None),
        stage(Size::Percent(100), 0, Pause::None),
    ];
    Plan { schedule: Schedule::Stages(stages), progress_deadline_seconds: 60, ..Plan::default() }
}

fn canary() -> Plan {
    let stages = vec![stage(Size::Pods(1), 0, Pause::UntilPromoted), stage(Size::Percent(100), 0, Pause::None)];
    Plan { schedule: Schedule::Stages(stages), progress_deadline_seconds: 60, ..Plan::default() }
}

fn first(plan: Plan) -> Commit {
    Commit { plan, claims: true, ..Commit::new("app:1", 3) }
}

/// What is done, one after the other.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Another image is pushed.
    Push(&'static str),
    /// The image of the commit before the last.
    Revert,
    /// Other replicas are pushed.
    Scale(u32),
    /// A person asks.
    Ask(Verb),
    /// Somebody edits the partition.
    Partition(u32),
    /// So many seconds pass.
    Wait(u64),
    /// Until a word stands in what the daemon waits for, or says.
    Until(&'static str),
    /// Until the rollout has failed, and the record says so.
    Halt,
    /// Until everything is where Git wants it.
    Rest,
}

use Step::{Ask, Halt, Partition, Push, Rest, Revert, Scale, Until, Wait};

fn table() -> Vec<(&'static str, Commit, Vec<Step>)> {
    vec![
        ("install", first(three_stages()), vec![Rest]),
        ("three stages", first(three_stages()), vec![Rest, Push("app:2"), Rest]),
        ("canary and promote", first(canary()), vec![Rest, Push("app:2"), Until("promote"), Ask(Verb::Promote), Rest]),
        ("bad push, halt, revert", first(three_stages()), vec![Rest, Push("app:pull-2"), Halt, Revert, Rest]),
        (
            "crash loop and a fix",
            first(canary()),
            vec![Rest, Push("app:crash-2"), Halt, Push("app:3"), Until("promote"), Ask(Verb::Promote), Rest],
        ),
        ("revert of what is done", first(three_stages()), vec![Rest, Push("app:2"), Rest, Revert, Rest]),
        (
            "rapid pushes",
            first(three_stages()),
            vec![Rest, Push("app:2"), Wait(1), Push("app:3"), Wait(1), Push("app:4"), Rest],
        ),
        (
            "scale in the middle",
            first(canary()),
            vec![Rest, Push("app:2"), Until("promote"), Scale(5), Wait(20), Until("promote"), Ask(Verb::Promote), Rest],
        ),
        (
            "drift",
            first(canary()),
            vec![
                Rest,
                Push("app:2"),
                Until("promote"),
                Partition(0),
                Until("overwrite"),
                Ask(Verb::ResumeOverwrite),
                Wait(30),
                Ask(Verb::Promote),
                Rest,
            ],
        ),
    ]
}

async fn until(play: &mut Play, what: &str, holds: impl Fn(&Play) -> bool) -> Result<(), String> {
    for _ in 0..LONG {
        if let Some(wrong) = play.wrong() {
            return Err(wrong);
        }
        if holds(play) {
            return Ok(());
        }
        play.pass(Duration::from_secs(1)).await;
    }
    Err(format!("never: {what}"))
}

async fn act(play: &mut Play, step: Step) -> Result<(), String> {
    match step {
        Push(image) => _ = play.push(|commit| commit.image = image.into()),
        Revert => {
            let before = play.commits[play.commits.len() - 2].1.image.clone();
            play.push(|commit| commit.image = before);
        }
        Scale(replicas) => _ = play.push(|commit| commit.replicas = Some(replicas)),
        Ask(verb) => play.ask(verb),
        Partition(partition) => {
            play.patch_set(&json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}}));
        }
        Wait(seconds) => play.pass(Duration::from_secs(seconds)).await,
        Until(word) => {
            let heard = |play: &Play| {
                play.said().is_some_and(|said| format!("{} {}", said.waiting, said.message).contains(word))
            };
            until(play, word, heard).await?;
        }
        Halt => {
            let failed = |play: &Play| play.record().is_some_and(|record| !record.failed.is_empty());
            until(play, "a halt", failed).await?;
        }
        Rest => until(play, "at rest", Play::is_converged).await?,
    }
    play.pass(Duration::from_millis(200)).await;
    Ok(())
}

/// Plays a scenario with a fault at a write; how it ended, and how many writes there were.
fn run(repo: &Rc<Repo>, first: &Commit, steps: &[Step], fault: Option<(u64, Fault)>) -> Result<(Value, u64), String> {
    on_stage(async {
        let writes = fault.map(|(number, fault)| AtWrite { user: DAEMON.into(), number, fault });
        let faults = Faults { writes: writes.into_iter().collect(), ..Faults::default() };
        let settings = Settings { seed: 7, start: start(), faults, ..Settings::default() };
        let mut play = Play::begin(repo, &settings, first.clone());
        if fault.is_some() {
            // Whoever waits for an answer cannot know better before it is there.
            play.note(Told::Lag(jiff::SignedDuration::from_secs(60)));
        }
        let mut done = Ok(());
        for step in steps {
            done = act(&mut play, *step).await.map_err(|why| format!("{step:?}: {why}"));
            if done.is_err() {
                break;
            }
        }
        if done.is_ok() {
            // Nothing is left to be done, and nothing is done.
            play.embedded.with(|world, _| world.at_rest(true));
            play.pass(Duration::from_secs(LONG)).await;
            done = play.wrong().map_or(Ok(()), Err);
        }
        let writes = play.embedded.with(|world, _| world.writes(DAEMON));
        done.map(|()| (play.end_state(), writes)).map_err(|why| format!("{why}\n{}", play.trace()))
    })
}

#[test]
fn whatever_write_it_dies_after_it_ends_the_same() {
    let repo = Rc::new(Repo::new());
    for (name, first, steps) in table() {
        let (end, writes) = run(&repo, &first, &steps, None).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(writes > 0 && writes < 60, "{name}: {writes} writes");
        for number in 1..=writes {
            let fault = Some((number, Fault::Crash));
            let (other, _) = run(&repo, &first, &steps, fault)
                .unwrap_or_else(|why| panic!("{name}, dead after write {number}: {why}"));
            assert_eq!(other, end, "{name}, dead after write {number}");
        }
    }
}

#[test]
fn whatever_answer_is_lost_it_ends_the_same() {
    let slow = Fault::Slow(jiff::SignedDuration::from_secs(40));
    let faults = [Fault::ResetAfter, Fault::TimeoutAfterCommit, Fault::Conflict, Fault::TooMany(2), slow];
    // Every fault at every write takes some minutes: one after the other does for every day.
    let all = std::env::var_os("PHASELINE_PRODUCT_ALL").is_some();
    let repo = Rc::new(Repo::new());
    let mut turn = 0;
    for (name, first, steps) in table() {
        let (end, writes) = run(&repo, &first, &steps, None).unwrap_or_else(|why| panic!("{name}: {why}"));
        for number in 1..=writes {
            turn += 1;
            let now = if all { &faults[..] } else { &faults[turn % faults.len()..][..1] };
            for fault in now {
                let (other, _) = run(&repo, &first, &steps, Some((number, *fault)))
                    .unwrap_or_else(|why| panic!("{name}, {fault:?} at write {number}: {why}"));
                assert_eq!(other, end, "{name}, {fault:?} at write {number}");
            }
        }
    }
}
