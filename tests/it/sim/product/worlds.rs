//! Random worlds: whatever happens, the invariants hold, and when it is over the set is where Git wants it.
//!
//! More, or others: `PHASELINE_PRODUCT_WORLDS=20000 PHASELINE_PRODUCT_FIRST=0 cargo test --release --test it
//! product::worlds`; one, with its trace: `PHASELINE_PRODUCT_SEED=17`, cut off
//! earlier by `PHASELINE_PRODUCT_BOUND=600` (virtual seconds).

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use phaseline::model::{OnNewRevision, Pause, Plan, Ramp, Reason, RepairPolicy, Schedule, Size, Stage, Verb};
use phaseline::sim::{Compat, Faults, Pace, Rates, Settings, Version};
use serde_json::json;

use super::git::{Commit, Repo};
use super::play::{DAEMON, Play, on_stage, start};

/// The worlds of a plain test run.
const WORLDS: u64 = 400;
/// The longest a world may take to come to rest, in virtual seconds.
const BOUND: u64 = 12_000;
/// Worlds that share a repository.
const SHARE: u64 = 100;

fn any_plan(rng: &mut fastrand::Rng) -> Plan {
    let pause = |rng: &mut fastrand::Rng| match rng.u32(0..5) {
        0 => Pause::UntilPromoted,
        1 => Pause::Seconds(rng.u32(1..20)),
        _ => Pause::None,
    };
    let soak = |rng: &mut fastrand::Rng| if rng.u32(0..3) == 0 { rng.u32(1..8) } else { 0 };
    let stage = |size, min_ready_seconds, pause| Stage { name: String::new(), size, min_ready_seconds, pause };
    let schedule = match rng.u32(0..9) {
        0 => Plan::default().schedule,
        1 => {
            let ramp = match rng.u32(0..3) {
                0 => Ramp::Linear(rng.u32(1..3)),
                1 => Ramp::Geometric(rng.u32(1..3)),
                _ => Ramp::Exponential(2),
            };
            Schedule::Ramp { ramp, min_ready_seconds: soak(rng), pause: pause(rng) }
        }
        _ => {
            let mut stages = Vec::new();
            let mut pods = 0;
            for _ in 0..rng.u32(1..4) {
                pods += rng.u32(1..3);
                stages.push(stage(Size::Pods(pods), soak(rng), pause(rng)));
            }
            stages.push(stage(Size::Percent(100), soak(rng), pause(rng)));
            Schedule::Stages(stages)
        }
    };
    Plan {
        schedule,
        progress_deadline_seconds: rng.u32(20..60),
        on_new_revision: match rng.u32(0..6) {
            0 => OnNewRevision::Restart,
            1 => OnNewRevision::Queue,
            2 => OnNewRevision::Block,
            _ => OnNewRevision::Continue,
        },
        rollback_window: rng.u32(0..4),
        repair_policy: if rng.u32(0..8) == 0 { RepairPolicy::None } else { RepairPolicy::Delete },
        ..Plan::default()
    }
}

/// What runs in a world: the first three are good.
struct Images {
    all: [&'static str; 7],
    /// The annotations of the second: it may take its time to end.
    slow: bool,
}

impl Images {
    fn any(rng: &mut fastrand::Rng) -> Self {
        let broken = ["app:never-ready-b", "app:pull-b", "app:crash-b"][rng.usize(0..3)];
        let worse = ["app:pull-d", "app:crash-d"][rng.usize(0..2)];
        Self { all: ["app:a", "app:e", "app:g", broken, broken, "app:flap-3", worse], slow: rng.bool() }
    }

    fn set(&self, commit: &mut Commit, image: &str) {
        commit.image = image.into();
        commit.annotations.clear();
        if image == "app:e" && self.slow {
            commit.annotations.push(("terminate-after.phaseline.dev", "25s"));
        }
    }
}

/// A world, by its seed.
struct Draft {
    rng: fastrand::Rng,
    images: Images,
    settings: Settings,
    first: Commit,
    restarts: u32,
}

impl Draft {
    fn of(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let images = Images::any(&mut rng);
        let replicas = rng.u32(1..6);
        let parallel = rng.u32(0..4) == 0;
        let gate = parallel && rng.bool();
        let version = if rng.u32(0..4) == 0 { Version::V1_33 } else { Version::V1_36 };
        let mut first = Commit {
            replicas: (rng.u32(0..3) > 0).then_some(replicas),
            parallel,
            max_unavailable: gate.then_some(1),
            min_ready: if rng.u32(0..4) == 0 { rng.u32(1..5) } else { 0 },
            start: if rng.u32(0..6) == 0 { 3 } else { 0 },
            claims: rng.u32(0..3) == 0,
            plan: any_plan(&mut rng),
            ..Commit::new("app:a", replicas)
        };
        if rng.u32(0..12) == 0 {
            first.image = images.all[3].into();
        }
        let mut rate = |most: u32| rng.u32(0..most);
        let faulty = rate(2) == 0;
        let rates = Rates {
            conflict: rate(40),
            gone: rate(40),
            too_many: rate(20),
            internal: rate(20),
            unavailable: rate(20),
            timeout: rate(40),
            reset_before: rate(20),
            reset_after: rate(40),
            crash: rate(80),
            slow: rate(20),
            watch_ends: rate(60),
            watch_doubles: rate(60),
            watch_delays: rate(60),
            watch_gone: rate(30),
        };
        let faults = Faults {
            users: vec![DAEMON.into()],
            rates: if faulty { rates } else { Rates::default() },
            ..Faults::default()
        };
        let restarts = if faulty { rate(6) } else { 0 };
        let start_up = SignedDuration::from_millis(i64::from(rate(4000)));
        let settings = Settings {
            compat: Compat { version, max_unavailable: gate && version == Version::V1_36 },
            seed,
            start: start(),
            pace: Pace { start: start_up, stop: SignedDuration::from_millis(i64::from(rate(2000))) },
            faults,
            ..Settings::default()
        };
        Self { rng, images, settings, first, restarts }
    }
}

/// A life: things happen, then peace and a good commit.
struct Life {
    play: Play,
    rng: fastrand::Rng,
    images: Images,
    restarts: u32,
}

impl Life {
    /// Something happens.
    fn event(&mut self, meddles: bool) {
        let (play, rng) = (&mut self.play, &mut self.rng);
        let image = *rng.choice(&self.images.all).unwrap();
        let replicas = if rng.u32(0..12) == 0 { 0 } else { rng.u32(1..7) };
        let stated = play.tip().replicas.is_some();
        let images = &self.images;
        match rng.u32(0..if meddles { 26 } else { 22 }) {
            0..=5 => _ = play.push(|commit| images.set(commit, image)),
            6 => {
                let at = play.commits.len().saturating_sub(2);
                let before = play.commits[at].1.image.clone();
                play.push(|commit| images.set(commit, &before));
            }
            7 if stated => _ = play.push(|commit| commit.replicas = Some(replicas)),
            8 if stated => {
                play.push(|commit| {
                    commit.replicas = Some(replicas);
                    images.set(commit, image);
                });
            }
            9 if stated && rng.u32(0..3) == 0 => _ = play.push(|commit| commit.replicas = None),
            9 | 10 if !stated || meddles => play.scale(replicas),
            11 => {
                let plan = any_plan(rng);
                play.push(|commit| commit.plan = plan);
            }
            12 => {
                let at = play.now().to_string();
                let annotations = json!({"kubectl.kubernetes.io/restartedAt": at});
                play.patch_set(&json!({"spec": {"template": {"metadata": {"annotations": annotations}}}}));
            }
            13 | 14 => {
                let pods = play.pods();
                if let Some(pod) = rng.choice(&pods) {
                    play.delete_pod(pod["metadata"]["name"].as_str().unwrap());
                }
            }
            15..=20 => {
                let verbs = [
                    Verb::Promote,
                    Verb::Promote,
                    Verb::PromoteFull,
                    Verb::Pause,
                    Verb::Resume,
                    Verb::Resume,
                    Verb::Retry,
                    Verb::ResumeReplan,
                    Verb::ResumeOverwrite,
                    Verb::Adopt,
                ];
                play.ask(*rng.choice(&verbs).unwrap());
            }
            21 => {
                let start = rng.u32(0..4);
                play.push(|commit| commit.start = start);
            }
            22 => play
                .patch_set(&json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})),
            23 => {
                let partition = rng.u32(0..5);
                play.patch_set(&json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}}));
            }
            24 => {
                let good = play.set().is_some_and(|set| {
                    let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
                    self.images.all[..3].iter().any(|good| image == good)
                });
                // What is broken and accepted is the person's own doing.
                if good {
                    play.ask(Verb::ResumeAccept);
                }
            }
            25 => play.ask(Verb::Release),
            _ => {}
        }
    }

    /// The operator does what the daemon waits for, if anything.
    fn operate(&mut self) -> bool {
        let play = &mut self.play;
        let Some(said) = play.said() else { return false };
        let held = play.record().is_some_and(|record| record.hold.is_some());
        if held && said.reason != Reason::Drifted {
            play.ask(Verb::Resume);
            return true;
        }
        let waits = |word: &str| said.waiting.contains(word);
        if said.message.contains("(ClaimDeletion)") {
            play.push(|commit| commit.allow_claim_deletion = true);
            return true;
        }
        match said.reason {
            Reason::NotAdoptable => {
                // A rollout was given back half-done: a person ends it.
                let image = play.tip().image.clone();
                let containers = json!([{"name": "c", "image": image}]);
                let strategy = json!({"rollingUpdate": {"partition": 0}});
                let template = json!({"spec": {"containers": containers}});
                play.patch_set(&json!({"spec": {"template": template, "updateStrategy": strategy}}));
                play.delete_broken();
            }
            Reason::ClaimDeletion => _ = play.push(|commit| commit.allow_claim_deletion = true),
            _ if waits("--overwrite") => play.ask(Verb::ResumeOverwrite),
            _ if waits("phaseline adopt") => play.ask(Verb::Adopt),
            _ if waits("phaseline retry") => {
                play.delete_broken();
                play.ask(Verb::Retry);
            }
            _ if waits("phaseline resume") => play.ask(Verb::Resume),
            _ if waits("phaseline promote") => play.ask(Verb::Promote),
            _ if said.phase == phaseline::model::Phase::Degraded || said.reason == Reason::StuckPod => {
                play.delete_broken();
            }
            _ => return false,
        }
        true
    }

    async fn live(&mut self) -> Result<(), String> {
        let meddles = self.rng.u32(0..6) == 0;
        for _ in 0..self.rng.u32(5..60) {
            let wait = self.rng.u64(0..5000);
            self.play.pass(Duration::from_millis(wait)).await;
            if self.rng.u32(0..4) == 0 {
                self.event(meddles);
            }
            if self.rng.u32(0..100) < self.restarts {
                self.play.restart().await;
            }
            self.play.wrong().map_or(Ok(()), Err)?;
        }
        self.play.embedded.with(|world, _| world.go_wrong(Faults::default()));
        let mut good = self.images.all[self.rng.usize(0..3)];
        let live = self.play.set().map(|set| set["spec"]["template"]["spec"]["containers"][0]["image"].clone());
        let known = |image: &str| self.play.tip().image == image || live.as_ref().is_some_and(|live| live == image);
        if meddles && known(good) {
            // What was accepted counts as what Git asks for: only another template moves it.
            good = self.images.all[..3].iter().copied().find(|image| !known(image)).unwrap();
        }
        let replicas = self.rng.u32(1..6);
        let empty = self.play.set().is_some_and(|set| set["spec"]["replicas"] == 0);
        if empty && self.play.tip().replicas.is_none() {
            self.play.scale(replicas);
        }
        let images = &self.images;
        self.play.push(|commit| {
            images.set(commit, good);
            commit.replicas = commit.replicas.map(|_| replicas);
        });
        let bound = number("PHASELINE_PRODUCT_BOUND").unwrap_or(BOUND);
        let (mut passed, mut operated, mut gave_up) = (0, 0, false);
        while passed < bound * 1000 {
            // No round number: what flaps would look the same each time.
            self.play.pass(Duration::from_millis(3_700)).await;
            passed += 3_700;
            self.play.wrong().map_or(Ok(()), Err)?;
            if self.play.is_converged() {
                self.play.embedded.with(|world, _| world.at_rest(true));
                self.play.pass(Duration::from_secs(3600)).await;
                self.play.wrong().map_or(Ok(()), Err)?;
                return if self.play.is_converged() { Ok(()) } else { Err("it does not stay at rest".into()) };
            }
            // What was asked for has to come of something first; a pause may be short where stable itself flaps.
            let paused = self.play.said().is_some_and(|said| said.waiting.contains("phaseline promote"));
            if passed > bound * 250 && !gave_up {
                // Where stable itself never stays Ready, ordered, no rollout comes any further: a person takes it over.
                self.play.ask(Verb::Release);
                (operated, gave_up) = (passed, true);
            } else if passed - operated > if paused { 5_000 } else { 40_000 } && self.operate() {
                operated = passed;
            }
        }
        Err("never comes to rest".into())
    }
}

/// Plays a world; what is wrong, with the trace.
fn run(repo: &Rc<Repo>, seed: u64) -> Result<(), String> {
    let Draft { rng, images, settings, first, restarts } = Draft::of(seed);
    on_stage(async move {
        let head = format!("{settings:?}\n{first:?}");
        let play = Play::begin(repo, &settings, first);
        let mut life = Life { play, rng, images, restarts };
        let done = life.live().await;
        done.map_err(|why| format!("{why}\n{head}\n{}", life.play.trace()))
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_worlds_keep_the_invariants_and_come_to_rest() {
    if let Some(seed) = number("PHASELINE_PRODUCT_SEED") {
        let done = run(&Rc::new(Repo::new()), seed);
        println!("{}", done.as_ref().err().map_or("nothing is wrong", String::as_str));
        assert!(done.is_ok());
        return;
    }
    let worlds = number("PHASELINE_PRODUCT_WORLDS").unwrap_or(WORLDS);
    let first = number("PHASELINE_PRODUCT_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let began = Instant::now();
    let failures: Vec<(u64, String)> = std::thread::scope(|scope| {
        let hand = || {
            let mut failures = Vec::new();
            let (mut repo, mut shared) = (Rc::new(Repo::new()), 0);
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + worlds || failures.len() >= 10 {
                    return failures;
                }
                shared += 1;
                if shared % SHARE == 0 {
                    repo = Rc::new(Repo::new());
                }
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&repo, seed)));
                if let Err(why) = done.unwrap_or_else(|_| Err("panic".into())) {
                    failures.push((seed, why));
                }
            }
        };
        let hands: Vec<_> = (0..2).map(|_| scope.spawn(hand)).collect();
        hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect()
    });
    let played = (next.load(Ordering::Relaxed) - first).min(worlds);
    println!("{played} worlds from {first} on in {:?}", began.elapsed());
    if let Some((seed, why)) = failures.first() {
        let heads = |why: &String| why.lines().next().unwrap_or_default().to_owned();
        let list: Vec<String> = failures.iter().map(|(seed, why)| format!("{seed}: {}", heads(why))).collect();
        panic!("PHASELINE_PRODUCT_SEED={seed}: {why}\n\n{} worlds failed:\n{}", failures.len(), list.join("\n"));
    }
}

#[test]
fn the_same_seed_gives_the_same_play() {
    // One for both: where it lies stands in the records.
    let repo = Rc::new(Repo::new());
    for seed in [0, 1, 2, 109] {
        let trace = || {
            let Draft { rng, images, settings, first, restarts } = Draft::of(seed);
            let repo = repo.clone();
            on_stage(async move {
                let mut life = Life { play: Play::begin(&repo, &settings, first), rng, images, restarts };
                let done = life.live().await;
                (done, life.play.trace())
            })
        };
        assert_eq!(trace(), trace(), "seed {seed}");
    }
}
