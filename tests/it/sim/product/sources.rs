//! Several daemons, views of Git that lag, flip, are rewritten, or cannot be confirmed: the set only goes forward in Git.

use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use phaseline::cluster::Cluster;
use phaseline::daemon::{self, Listener, News, RunOptions, Said, Scope, Source, Tip, What};
use phaseline::git::{Place, SourceConfig, Waker, Wakes};
use phaseline::model::{CommitId, Pause, Phase, Plan, Reason, Schedule, Size, Stage, Verb};
use phaseline::sim::Settings;
use serde_json::json;
use tokio::task::JoinHandle;

use super::git::{Commit, Repo};
use super::play::{DAEMON, Play, on_stage, start};

/// Another daemon beside the one of the play.
struct Second {
    task: JoinHandle<daemon::Ended>,
    waker: Waker,
    heard: Arc<Mutex<Vec<News>>>,
}

impl Second {
    /// One that comes to the door as somebody else.
    fn start(play: &Play, user: &str, source: Source) -> Self {
        let wakes = Wakes::by_hand();
        let waker = wakes.waker();
        let heard: Arc<Mutex<Vec<News>>> = Arc::default();
        let listener = {
            let heard = heard.clone();
            Listener::new(move |news| heard.lock().unwrap().push(news))
        };
        let options = RunOptions { clock: play.embedded.clock(), listener: Some(listener), ..RunOptions::default() };
        let cluster = Cluster::from_service(play.embedded.service(user));
        let task = tokio::spawn(daemon::run(cluster, source, Some(wakes), options, std::future::pending()));
        Self { task, waker, heard }
    }

    fn said(&self) -> Option<Said> {
        let heard = self.heard.lock().unwrap();
        heard.iter().rev().find_map(|news| match &news.what {
            What::Is(said) => Some(said.clone()),
            What::Wrote { .. } => None,
        })
    }

    fn has_said(&self, reason: Reason) -> bool {
        let heard = self.heard.lock().unwrap();
        heard.iter().any(|news| matches!(&news.what, What::Is(said) if said.reason == reason))
    }
}

fn scope() -> Scope {
    Scope { default_namespace: "default".into(), only: Vec::new() }
}

fn source(repo: &Repo, tip: &Tip) -> Source {
    Source::in_place(Place::At(repo.path()), "", scope()).unwrap().at(tip.clone())
}

fn staged(pause: Pause) -> Plan {
    let stage = |size, pause| Stage { name: String::new(), size, min_ready_seconds: 2, pause };
    let stages = vec![stage(Size::Pods(1), pause), stage(Size::Percent(100), Pause::None)];
    Plan { schedule: Schedule::Stages(stages), progress_deadline_seconds: 60, ..Plan::default() }
}

fn begin(repo: &Rc<Repo>, pause: Pause) -> Play {
    let settings = Settings { seed: 3, start: start(), ..Settings::default() };
    Play::begin(repo, &settings, Commit { plan: staged(pause), ..Commit::new("app:1", 3) })
}

async fn seconds(play: &mut Play, seconds: u64) {
    play.pass(Duration::from_secs(seconds)).await;
    assert_eq!(play.wrong(), None, "{}", play.trace());
}

async fn until(play: &mut Play, what: &str, holds: impl Fn(&Play) -> bool) {
    for _ in 0..3600 {
        if holds(play) {
            return;
        }
        seconds(play, 1).await;
    }
    panic!("never: {what}\n{}", play.trace());
}

fn writes(play: &Play, user: &str) -> u64 {
    play.embedded.with(|world, _| world.writes(user))
}

fn images(play: &Play) -> Vec<String> {
    play.pods()
        .iter()
        .map(|pod| pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn generation(play: &Play) -> i64 {
    play.set().map_or(0, |set| set["metadata"]["generation"].as_i64().unwrap_or_default())
}

/// The daemon's tip is moved without a push.
fn shows(play: &mut Play, commit: &CommitId) {
    match play.commits.iter().position(|(id, _)| id == commit) {
        Some(at) => play.show(0, at, true),
        None => play.seats[0].shows(commit, true),
    }
}

/// Twenty pushes, each fifth a revert and each seventh a scale-up; what was written for it by everybody together.
fn twenty_pushes(second: bool) -> (u64, u64) {
    let repo = Rc::new(Repo::new());
    on_stage(async {
        let mut play = begin(&repo, Pause::Seconds(5));
        let lagging = Tip::new(play.commits[0].0.clone());
        let other = second.then(|| Second::start(&play, "other", source(&repo, &lagging)));
        until(&mut play, "installed", Play::is_converged).await;
        for turn in 0_u32..20 {
            let before = play.commits[play.commits.len().saturating_sub(2)].1.image.clone();
            play.push(|commit| match turn {
                _ if turn % 5 == 4 => commit.image = before,
                _ if turn % 7 == 6 => commit.replicas = Some(3 + turn % 3),
                _ => commit.image = format!("app:{}", turn + 2),
            });
            // The other one's host lags twenty seconds behind: in the middle of the canary's pause, or after the end.
            seconds(&mut play, if turn % 2 == 0 { 8 } else { 40 }).await;
            lagging.set(play.commits.last().unwrap().0.clone());
            if let Some(other) = &other {
                other.waker.wake();
            }
            if turn % 3 != 1 {
                until(&mut play, "rolled out", Play::is_converged).await;
            }
        }
        until(&mut play, "rolled out", Play::is_converged).await;
        seconds(&mut play, 600).await;
        if let Some(other) = &other {
            assert!(other.has_said(Reason::SourceBehind), "it has lagged behind and said so");
            assert_eq!(other.said().map(|said| said.phase), Some(Phase::Healthy));
        }
        // Every write of a daemon that came to pass raises the epoch.
        (play.record().unwrap().epoch, u64::try_from(generation(&play)).unwrap())
    })
}

#[test]
fn two_daemons_of_which_one_lags_write_no_more_than_one() {
    let (alone, generations) = twenty_pushes(false);
    let (together, generations_of_both) = twenty_pushes(true);
    // Each push may cost one that met the other's.
    assert!(together <= alone + 20, "{together} writes of two, {alone} of one");
    assert_eq!(generations_of_both, generations, "the spec moved as often as with one");
}

#[test]
fn an_old_copy_of_git_rolls_nothing_back_while_git_is_away() {
    let repo = Rc::new(Repo::new());
    on_stage(async {
        let mut play = begin(&repo, Pause::None);
        until(&mut play, "installed", Play::is_converged).await;
        let old = play.commits[0].0.clone();
        play.push(|commit| commit.image = "app:2".into());
        until(&mut play, "rolled out", Play::is_converged).await;
        play.kill();
        let tip = Tip::new(old.clone());
        tip.set_away(true);
        let other = Second::start(&play, "other", source(&repo, &tip));
        seconds(&mut play, 1800).await;
        assert_eq!((writes(&play, "other"), images(&play)), (0, vec!["app:2".to_owned(); 3]));
        let said = other.said().unwrap();
        assert_eq!((said.phase, said.reason), (Phase::Progressing, Reason::SourceBehind));
        assert!(said.message.contains("it is away"), "the cause is said: {}", said.message);
        // What needs no newer view is answered.
        play.ask(Verb::Pause);
        seconds(&mut play, 5).await;
        assert!(play.record().unwrap().hold.is_some());
        // Git is back, and its host is not behind.
        tip.set_away(false);
        tip.set(play.commits.last().unwrap().0.clone());
        seconds(&mut play, 30).await;
        assert_eq!(other.said().unwrap().reason, Reason::PausedByUser, "fetched without a wake");
        assert_eq!(images(&play), vec!["app:2".to_owned(); 3]);
        other.task.abort();
    });
}

#[test]
fn a_tip_that_flips_moves_nothing() {
    let repo = Rc::new(Repo::new());
    on_stage(async {
        let mut play = begin(&repo, Pause::UntilPromoted);
        until(&mut play, "installed", Play::is_converged).await;
        let before = writes(&play, DAEMON);
        play.push(|commit| commit.image = "app:2".into());
        let [old, new] = [0, 1].map(|at: usize| play.commits[at].0.clone());
        for turn in 0..600 {
            shows(&mut play, if turn % 2 == 0 { &new } else { &old });
            seconds(&mut play, 1).await;
        }
        assert_eq!(writes(&play, DAEMON), before + 1, "the start\n{}", play.trace());
        assert_eq!(images(&play), ["app:1", "app:1", "app:2"], "no pause was skipped");
        shows(&mut play, &new);
        play.ask(Verb::Promote);
        until(&mut play, "rolled out", Play::is_converged).await;
        let done = writes(&play, DAEMON);
        for turn in 0..600 {
            shows(&mut play, if turn % 2 == 0 { &old } else { &new });
            seconds(&mut play, 1).await;
        }
        assert_eq!(writes(&play, DAEMON), done);
    });
}

#[test]
fn a_force_push_counts_after_the_grace_and_goes_through_the_stages() {
    let repo = Rc::new(Repo::new());
    on_stage(async {
        let mut play = begin(&repo, Pause::UntilPromoted);
        until(&mut play, "installed", Play::is_converged).await;
        let old = play.commits[0].0.clone();
        play.push(|commit| commit.image = "app:2".into());
        seconds(&mut play, 20).await;
        play.ask(Verb::Promote);
        until(&mut play, "rolled out", Play::is_converged).await;
        // Back by force, to a proven revision.
        shows(&mut play, &old);
        seconds(&mut play, 55).await;
        assert_eq!(images(&play), vec!["app:2".to_owned(); 3]);
        assert_eq!(play.said().unwrap().reason, Reason::SourceBehind);
        seconds(&mut play, 60).await;
        assert_eq!(images(&play), ["app:2", "app:2", "app:1"], "a canary, and its pause\n{}", play.trace());
        assert!(play.trace().contains("SourceRewritten"), "{}", play.trace());
        assert_eq!(play.record().unwrap().mark, old);
        play.ask(Verb::Promote);
        seconds(&mut play, 60).await;
        assert_eq!(images(&play), vec!["app:1".to_owned(); 3]);
        assert_eq!(play.said().unwrap().phase, Phase::Healthy);
        // A rewritten history that asks for the same is noted, and rolls nothing.
        let (generation, same) =
            (generation(&play), Commit { plan: staged(Pause::UntilPromoted), ..Commit::new("app:1", 3) });
        let squashed = repo.commit(None, 77, &same);
        shows(&mut play, &squashed);
        seconds(&mut play, 120).await;
        assert_eq!((play.record().unwrap().mark, self::generation(&play)), (squashed, generation));
        assert_eq!(play.said().unwrap().phase, Phase::Healthy);
    });
}

#[test]
fn started_anew_without_git_a_rollout_goes_on_and_nothing_new_begins() {
    let repo = Rc::new(Repo::new());
    on_stage(async {
        let mut play = begin(&repo, Pause::Seconds(30));
        until(&mut play, "installed", Play::is_converged).await;
        play.push(|commit| commit.image = "app:2".into());
        seconds(&mut play, 10).await;
        assert_eq!(images(&play), ["app:1", "app:1", "app:2"]);
        play.seats[0].tip.set_away(true);
        play.restart().await;
        seconds(&mut play, 120).await;
        assert_eq!(images(&play), vec!["app:2".to_owned(); 3], "{}", play.trace());
        // The copy has a newer commit, which nobody has confirmed.
        play.push(|commit| commit.image = "app:3".into());
        play.restart().await;
        seconds(&mut play, 600).await;
        assert_eq!(images(&play), vec!["app:2".to_owned(); 3]);
        assert_eq!(play.said().unwrap().reason, Reason::SourceBehind);
        play.seats[0].tip.set_away(false);
        let newest = play.commits.last().unwrap().0.clone();
        shows(&mut play, &newest);
        until(&mut play, "rolled out", Play::is_converged).await;
    });
}

#[test]
fn on_a_fresh_disk_without_git_nothing_is_rolled_to_its_end() {
    let repo = Rc::new(Repo::new());
    on_stage(async {
        let mut play = begin(&repo, Pause::Seconds(10));
        until(&mut play, "installed", Play::is_converged).await;
        play.push(|commit| commit.replicas = None);
        seconds(&mut play, 10).await;
        play.push(|commit| commit.image = "app:2".into());
        seconds(&mut play, 8).await;
        assert_eq!(images(&play), ["app:1", "app:1", "app:2"]);
        play.kill();
        let disk = tempfile::TempDir::new().unwrap();
        let nowhere = disk.path().join("no-repository").to_string_lossy().into_owned();
        let config = SourceConfig { url: nowhere, state_dir: disk.path().join("state"), ..SourceConfig::default() };
        let other = Second::start(&play, "other", Source::open(&config, scope()).unwrap());
        seconds(&mut play, 600).await;
        assert_eq!(images(&play), ["app:1", "app:1", "app:2"]);
        assert_eq!((writes(&play, "other"), other.said().unwrap().reason), (0, Reason::SourceBehind));
        assert!(other.said().unwrap().message.contains("no-repository"), "{:?}", other.said());
        // Pods that are added do not join the target.
        play.scale(6);
        seconds(&mut play, 60).await;
        let partition = play.set().unwrap()["spec"]["updateStrategy"]["rollingUpdate"]["partition"].clone();
        assert_eq!((partition, writes(&play, "other")), (json!(5), 1), "{}", play.trace());
    });
}

#[test]
fn a_set_of_another_repository_is_left_alone_until_it_is_moved_over() {
    let (repo, theirs) = (Rc::new(Repo::new()), Rc::new(Repo::new()));
    on_stage(async {
        let mut play = begin(&repo, Pause::None);
        until(&mut play, "installed", Play::is_converged).await;
        let other_commit = Commit { plan: staged(Pause::None), ..Commit::new("app:9", 3) };
        let tip = Tip::new(theirs.commit(None, 1, &other_commit));
        let other = Second::start(&play, "other", source(&theirs, &tip));
        seconds(&mut play, 600).await;
        let said = other.said().unwrap();
        assert_eq!((said.phase, said.reason, writes(&play, "other")), (Phase::Blocked, Reason::OtherSource, 0));
        for repo in [&repo, &theirs] {
            assert!(said.message.contains(&*repo.path().file_name().unwrap().to_string_lossy()), "{}", said.message);
        }
        play.push(|commit| commit.image = "app:2".into());
        until(&mut play, "rolled out", Play::is_converged).await;
        play.kill();
        play.ask(Verb::Promote);
        seconds(&mut play, 60).await;
        assert_eq!(writes(&play, "other"), 0, "no request is answered but one");
        play.ask(Verb::Adopt);
        seconds(&mut play, 120).await;
        assert_eq!(images(&play), vec!["app:9".to_owned(); 3]);
        assert_eq!(other.said().unwrap().phase, Phase::Healthy);
        // The one that had it before lets it be, and does not call it orphaned.
        play.restart().await;
        seconds(&mut play, 600).await;
        assert_eq!(play.said().unwrap().reason, Reason::OtherSource);
        assert_eq!(images(&play), vec!["app:9".to_owned(); 3]);
    });
}
