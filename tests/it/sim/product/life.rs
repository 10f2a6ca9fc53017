//! A life in a world: things happen, then peace and a good commit.

use std::rc::Rc;
use std::time::Duration;

use jiff::SignedDuration;
use phaseline::model::{Reason, Record, Verb};
use phaseline::sim::{Faults, Rates, Told};
use serde_json::json;

use super::draft::{Draft, FINE, FORBIDDEN, Images, MISSING, Ways, forbidden};
use super::git::{Flaw, Repo};
use super::play::{Play, SECOND};
use crate::support::plans;

/// So late may a daemon be told what happened, where things go wrong: a watch breaks, an answer is slow, it waits.
const LATE: Duration = Duration::from_secs(90);

/// The longest a world may take to come to rest, in virtual seconds.
const BOUND: u64 = 12_000;

/// A world that is lived in.
pub(crate) struct Life {
    pub(crate) play: Play,
    rng: fastrand::Rng,
    images: Images,
    ways: Ways,
    /// What begins the trace.
    pub(crate) head: String,
    faulty: bool,
    restarts: u32,
}

impl Life {
    /// The life of a world.
    pub(crate) fn begin(repo: &Rc<Repo>, draft: Draft) -> Self {
        let Draft { rng, images, settings, first, restarts, ways } = draft;
        let head = format!("{settings:?}\n{first:?}\n{ways:?}");
        let faulty = settings.faults.rates != Rates::default();
        let mut play = Play::begin(repo, &settings, first);
        if faulty {
            play.note(Told::Lag(SignedDuration::try_from(LATE).unwrap()));
        }
        if let Some((ahead, _)) = ways.skew {
            play.shift.set(SignedDuration::from_secs(ahead));
        }
        if ways.beside {
            play.make_namespace(FINE);
            play.make_namespace(FORBIDDEN);
        }
        if ways.each {
            play.watch_each(&["default", FINE, FORBIDDEN, MISSING]);
        }
        if ways.second {
            play.join(SECOND);
        }
        Self { play, rng, images, ways, head, faulty, restarts }
    }

    /// Something happens to what the daemons can see of Git.
    async fn view(&mut self) {
        let (play, rng) = (&mut self.play, &mut self.rng);
        let seat = rng.usize(0..play.seats.len());
        let commits = rng.usize(1..4);
        match rng.u32(0..8) {
            0 | 1 => play.stands(seat),
            2 => play.lags(seat, commits),
            3 | 4 => play.catches_up(seat),
            5 => {
                // One of several mirrors behind one name is late: each answer may be another's.
                for _ in 0..rng.u32(1..6) {
                    play.lags(seat, commits);
                    play.pass(Duration::from_millis(rng.u64(0..3000))).await;
                    play.catches_up(seat);
                    play.pass(Duration::from_millis(rng.u64(0..3000))).await;
                }
            }
            6 => {
                // Another one takes over, with an older mirror.
                play.kill();
                play.lags(seat, commits);
                play.restart().await;
            }
            _ => {
                play.give_up(commits);
                let image = *rng.choice(&self.images.all).unwrap();
                let images = &self.images;
                play.push(|commit| images.set(commit, image));
            }
        }
    }

    /// Something happens.
    fn event(&mut self) {
        let Ways { meddles, flaws, .. } = self.ways;
        let (play, rng) = (&mut self.play, &mut self.rng);
        let image = *rng.choice(&self.images.all).unwrap();
        let replicas = if rng.u32(0..12) == 0 { 0 } else { rng.u32(1..7) };
        let stated = play.tip().replicas.is_some();
        let images = &self.images;
        match rng.u32(0..if meddles { 29 } else { 22 }) {
            0 | 1 if flaws => {
                let flaw = [Flaw::Absent, Flaw::Unreadable, Flaw::Invalid, Flaw::Immutable][rng.usize(0..4)];
                play.push(|commit| commit.flaw = flaw);
            }
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
                let plan = plans::any(rng);
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
            26 => play.patch_set(&json!({"metadata": {"labels": {"example.org/team": image}}})),
            27 => {
                // Somebody tries something, and puts it back.
                let Some(set) = play.set() else { return };
                let was = json!({"spec": {"template": set["spec"]["template"], "updateStrategy": set["spec"]["updateStrategy"]}});
                play.patch_set(
                    &json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}),
                );
                play.patch_set(&was);
            }
            28 => play.patch_set(&json!({"metadata": {"annotations": {Record::ANNOTATION: null}}})),
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
        if said.message.contains("(ClaimDeletion)") {
            play.push(|commit| commit.allow_claim_deletion = true);
            return true;
        }
        let waits = |word: &str| said.waiting.contains(word);
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

    /// Lives it to its end.
    ///
    /// # Errors
    /// What went wrong.
    pub(crate) async fn live(&mut self) -> Result<(), String> {
        let meddles = self.ways.meddles;
        for _ in 0..self.rng.u32(5..60) {
            let wait = self.rng.u64(0..5000);
            self.play.pass(Duration::from_millis(wait)).await;
            if let Some((_, drift)) = self.ways.skew {
                let wait = i64::try_from(wait).unwrap();
                let jump = if self.rng.u32(0..8) == 0 { self.rng.i64(-1800..1800) } else { 0 };
                self.play.shift.jump(SignedDuration::from_millis(wait * drift / 1000 + jump * 1000));
            }
            if self.rng.u32(0..4) == 0 {
                self.event();
            }
            if self.ways.views && self.rng.u32(0..8) == 0 {
                self.view().await;
            }
            if self.rng.u32(0..100) < self.restarts {
                self.play.restart().await;
            }
            self.play.wrong().map_or(Ok(()), Err)?;
        }
        let forbidden = if self.ways.beside { forbidden() } else { Vec::new() };
        self.play.embedded.with(|world, _| world.go_wrong(Faults { forbidden, ..Faults::default() }));
        for seat in 0..self.play.seats.len() {
            self.play.catches_up(seat);
        }
        if self.faulty {
            self.play.pass(LATE).await;
            self.play.wrong().map_or(Ok(()), Err)?;
            self.play.note(Told::Lag(SignedDuration::from_secs(5)));
        }
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
        let bound = std::env::var("PHASELINE_PRODUCT_BOUND").ok().and_then(|it| it.parse().ok()).unwrap_or(BOUND);
        let (mut passed, mut operated, mut gave_up) = (0, 0, false);
        while passed < bound * 1000 {
            // No round number: what flaps would look the same each time.
            self.play.pass(Duration::from_millis(3_700)).await;
            passed += 3_700;
            self.play.wrong().map_or(Ok(()), Err)?;
            if self.play.is_converged() {
                return self.rest().await;
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

    /// It has come to rest, and stays there; and what is beside it as well, once it can.
    async fn rest(&mut self) -> Result<(), String> {
        if self.ways.beside {
            self.beside(&[FINE]).await?;
            self.play.embedded.with(|world, _| world.go_wrong(Faults::default()));
            self.play.make_namespace(MISSING);
            self.beside(&[FINE, FORBIDDEN, MISSING]).await?;
        }
        self.play.embedded.with(|world, _| world.at_rest(true));
        self.play.pass(Duration::from_secs(3600)).await;
        self.play.wrong().map_or(Ok(()), Err)?;
        if self.play.is_converged() { Ok(()) } else { Err("it does not stay at rest".into()) }
    }

    /// The sets of these namespaces come to rest.
    async fn beside(&mut self, namespaces: &[&str]) -> Result<(), String> {
        for _ in 0..200 {
            if namespaces.iter().all(|namespace| self.play.is_converged_in(namespace)) {
                return Ok(());
            }
            self.play.pass(Duration::from_millis(1_700)).await;
            self.play.wrong().map_or(Ok(()), Err)?;
        }
        Err(format!("of {namespaces:?} not all come to rest"))
    }
}
