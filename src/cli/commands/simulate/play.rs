//! Plays it: the daemon, a cluster inside of this program, and a clock that runs as fast as they do.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep};

use super::failures::Trouble;
use super::report::{self, Ended};
use super::subject::{Before, Subject};
use super::timeline::Listening;
use super::{Promotion, SimulateArgs};
use crate::cli::error::{CliError, Kind};
use crate::cli::output::simulation::{Simulation, Who};
use crate::clock::Clock;
use crate::cluster::{Cluster, Outcome, read};
use crate::daemon::{self, Listener, RunOptions, Source, Tip};
use crate::git::Wakes;
use crate::model::{Phase, RecordState, Verb, WorkloadId};
use crate::sim::serve::Embedded;
use crate::sim::{self, Answer, Compat, Pace, Settings, World};

/// Whom the cluster takes the daemon for.
const DAEMON: &str = "system:serviceaccount:phaseline:phaseline";
/// Whom it takes a person for.
const PERSON: &str = "person";
/// How long a pod takes from its deletion to its end.
const STOP: SignedDuration = SignedDuration::from_secs(2);
/// How often it is looked whether it is over, in virtual time.
const LOOK: Duration = Duration::from_secs(1);
/// How long nothing may happen before what is broken counts as broken for good.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);
/// How long what is to be in force at the beginning may take to get there, in virtual time.
const SET_UP: Duration = Duration::from_secs(12 * 3600);
/// What a rollout needs at least to begin.
const FIRST: SignedDuration = SignedDuration::from_secs(5);

/// Plays a subject with its troubles.
pub(super) fn play(args: &SimulateArgs, subject: Subject, trouble: Trouble) -> Result<Simulation, CliError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .map_err(|error| CliError::new(Kind::Io, format!("cannot start: {error}")))?;
    // The daemon's own waits are stretched by chance.
    fastrand::seed(args.seed);
    runtime.block_on(async { Stage::set(args, subject, trouble).await?.play().await })
}

/// Everything that plays together.
struct Stage<'a> {
    args: &'a SimulateArgs,
    subject: Subject,
    trouble: Trouble,
    embedded: Embedded,
    person: Cluster,
    listening: Listening,
}

impl<'a> Stage<'a> {
    /// A cluster with what is there from the start.
    async fn set(args: &'a SimulateArgs, subject: Subject, trouble: Trouble) -> Result<Self, CliError> {
        let start = match &subject.before {
            Before::Cluster(_) => Timestamp::now(),
            // The same commit gives the same words, whenever it is played.
            Before::Nothing | Before::Commit(_) => {
                Timestamp::from_second(subject.view.commit.time).unwrap_or(Timestamp::UNIX_EPOCH)
            }
        };
        let compat = Compat::of(subject.kubernetes.version());
        let mut world = World::new(&Settings { compat, seed: args.seed, start, ..Settings::default() });
        let mut namespaces: BTreeSet<String> = subject.workloads().map(|it| it.namespace.clone()).collect();
        if let Before::Cluster(live) = &subject.before {
            live.put_into(&mut world);
            namespaces.extend(live.namespaces());
        }
        let embedded = Embedded::start(world, Clock::starting(start));
        let person = Cluster::from_service(embedded.service(PERSON));
        for namespace in namespaces {
            make_namespace(&embedded, &namespace)?;
        }
        let listening = Listening::to(&embedded);
        Ok(Self { args, subject, trouble, embedded, person, listening })
    }

    /// The daemon beside those who watch it.
    async fn play(mut self) -> Result<Simulation, CliError> {
        let target = self.subject.view.commit.id.clone();
        let first = match &self.subject.before {
            Before::Commit(before) => before.commit.id.clone(),
            Before::Nothing | Before::Cluster(_) => target.clone(),
        };
        let tip = Tip::new(first);
        let wakes = Wakes::by_hand();
        let waker = wakes.waker();
        let Some(source) = self.subject.source.take() else {
            return Err(CliError::new(Kind::Io, "there is no repository to play"));
        };
        let source = source.at(tip.clone());
        let push = move || {
            tip.set(target.clone());
            waker.wake();
        };
        let daemon = self.daemon(source, wakes);
        let watch = self.listening.follow();
        let acts = self.acts(push);
        let ended = tokio::select! {
            biased;
            ended = acts => ended?,
            _ = daemon => return Err(CliError::new(Kind::Git, "the repository cannot be read any more")),
            () = watch => return Err(CliError::new(Kind::Io, "the embedded cluster has ended")),
        };
        self.listening.take_in();
        Ok(report::of(self.args, &self.subject, &self.trouble, &self.listening.heard(), ended))
    }

    fn daemon(&self, source: Source, wakes: Wakes) -> impl Future<Output = daemon::Ended> + use<> {
        let cluster = Cluster::from_service(self.embedded.service(DAEMON));
        let listening = self.listening.clone();
        let options = RunOptions {
            clock: self.embedded.clock(),
            // The sets of the real cluster are played whatever repository they come from there.
            any_source: true,
            listener: Some(Listener::new(move |news| listening.hear(news))),
            ..RunOptions::default()
        };
        daemon::run(cluster, source, Some(wakes), options, std::future::pending())
    }

    /// What people do, up to the end.
    async fn acts(&self, push: impl Fn()) -> Result<Ended, CliError> {
        if let Before::Commit(_) = &self.subject.before {
            self.install().await?;
        }
        self.embedded.with(|world, now| {
            world.advance(now);
            world.set_pace(Pace { start: self.trouble.start, stop: STOP });
            world.play(self.trouble.script.clone());
        });
        self.listening.begin(&self.trouble.script.strokes);
        match self.subject.restart {
            true => self.restart().await?,
            false => {
                let commit = &self.subject.view.commit;
                let subject = if self.subject.not_committed { "the work tree" } else { commit.subject.as_str() };
                self.listening.note(Who::Git, None, format!("push: {subject}"));
            }
        }
        push();
        self.until_the_end().await
    }

    /// Waits until what is to be in force at the beginning is.
    async fn install(&self) -> Result<(), CliError> {
        let Before::Commit(before) = &self.subject.before else { return Ok(()) };
        let end = Instant::now() + SET_UP;
        let workloads: Vec<&WorkloadId> =
            before.wishes.iter().filter(|(_, wish)| wish.desired.is_some()).map(|(workload, _)| workload).collect();
        loop {
            sleep(LOOK).await;
            let unfinished = {
                let heard = self.listening.heard();
                let at_rest = |workload: &WorkloadId| {
                    let tally = heard.sets.get(workload);
                    let healthy =
                        tally.and_then(|tally| tally.last()).is_some_and(|(_, said)| said.phase == Phase::Healthy);
                    healthy && tally.is_some_and(|tally| tally.ready() == tally.replicas)
                };
                let broken = |workload: &WorkloadId| {
                    let (_, said) = heard.sets.get(workload)?.last()?;
                    let broken = matches!(said.phase, Phase::Degraded | Phase::Blocked);
                    broken.then(|| format!("{} ({}) {} {}", said.phase, said.reason, said.culprit, said.message))
                };
                let unfinished = workloads.iter().find(|workload| !at_rest(workload));
                unfinished.map(|workload| ((*workload).clone(), broken(workload)))
            };
            let words = match unfinished {
                None => break,
                Some((workload, Some(why))) => format!("{workload} does not get Healthy: {why}"),
                Some((workload, None)) if Instant::now() > end => format!("{workload} does not get Healthy"),
                Some((_, None)) => continue,
            };
            let message = format!("the state that it begins with cannot be reached: {}", words.trim_end());
            return Err(CliError::new(Kind::Cluster, message)
                .hint("name the commit to begin with by another REV, or play on the live state with a kubeconfig"));
        }
        if let Some(replicas) = self.args.replicas {
            for workload in workloads {
                let stated = before.wishes.get(workload).and_then(|wish| wish.desired.as_ref()?.tip.replicas);
                if stated.is_none() {
                    scale(&self.embedded, workload, replicas)?;
                }
            }
            self.wait_for_pods().await?;
        }
        Ok(())
    }

    /// Waits until every set has its pods.
    async fn wait_for_pods(&self) -> Result<(), CliError> {
        let end = Instant::now() + SET_UP;
        while Instant::now() < end {
            sleep(LOOK).await;
            if self.listening.heard().sets.values().all(|tally| tally.ready() == tally.replicas) {
                return Ok(());
            }
        }
        Err(CliError::new(Kind::Cluster, "the sets do not get their pods"))
    }

    /// Asks for a restart of every set, as a person does.
    async fn restart(&self) -> Result<(), CliError> {
        for workload in self.subject.workloads() {
            let observed = read::observe(&self.person, workload).await?;
            let Some(set) = &observed.set else {
                return Err(CliError::new(Kind::NotFound, format!("there is no StatefulSet {workload} to restart")));
            };
            self.listening.note(Who::Person, Some(workload), format!("phaseline restart {}", workload.name));
            done(read::restart(&self.person, workload, set, self.embedded.clock().now()).await, workload)?;
        }
        Ok(())
    }

    /// Promotes what waits for it, until nothing will change any more.
    async fn until_the_end(&self) -> Result<Ended, CliError> {
        let clock = self.embedded.clock();
        let began = clock.now();
        let end = Instant::now() + self.args.timeout;
        let strokes = &self.trouble.script.strokes;
        let last = strokes.iter().map(|stroke| stroke.until.unwrap_or(stroke.from).max(stroke.from)).max();
        loop {
            sleep(LOOK).await;
            let now = clock.now();
            let passed = now.duration_since(began);
            self.promote(now).await?;
            let faults_are_over = last.is_none_or(|last| passed >= last + SETTLED);
            if passed >= FIRST
                && faults_are_over
                && self.listening.heard().is_over(&self.subject, self.args.promote, now)
            {
                return Ok(Ended { at: now, over: true });
            }
            if Instant::now() >= end {
                return Ok(Ended { at: now, over: false });
            }
        }
    }

    /// Promotes stages that have waited long enough for a person.
    async fn promote(&self, now: Timestamp) -> Result<(), CliError> {
        let Promotion::After(wait) = self.args.promote else { return Ok(()) };
        let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
        let waiting: Vec<WorkloadId> = {
            let heard = self.listening.heard();
            let waits = |tally: &super::timeline::Tally| {
                tally.last().is_some_and(|(since, said)| {
                    said.waiting.starts_with("for `phaseline promote") && now.duration_since(since) >= wait
                })
            };
            heard.sets.iter().filter(|(_, tally)| waits(tally)).map(|(workload, _)| workload.clone()).collect()
        };
        for workload in waiting {
            let observed = read::observe(&self.person, &workload).await?;
            let Some(set) = observed.set.as_ref().filter(|set| set.request.is_none()) else { continue };
            let RecordState::Is(record, _) = &set.record else { continue };
            let request = crate::model::Request {
                id: format!("simulated-{}", record.epoch),
                verb: Verb::Promote,
                by: PERSON.to_owned(),
                rollout: record.rollout.clone(),
                stage: record.stage,
            };
            self.listening.note(Who::Person, Some(&workload), format!("phaseline promote {}", workload.name));
            match read::write_request(&self.person, &workload, set, &request).await {
                // It is asked again at the next look.
                Outcome::Moved(_) => {}
                outcome => done(outcome, &workload)?,
            }
        }
        Ok(())
    }
}

impl super::timeline::Heard {
    /// Whether nothing will change any more: everything is Healthy, or broken for good.
    fn is_over(&self, subject: &Subject, promote: Promotion, now: Timestamp) -> bool {
        subject.workloads().all(|workload| {
            let Some((since, said)) = self.sets.get(workload).and_then(|tally| tally.last()) else { return false };
            let settled = now.duration_since(since) >= SETTLED;
            match said.phase {
                Phase::Healthy => true,
                Phase::Degraded | Phase::Blocked => settled,
                Phase::Paused if said.waiting.starts_with("for `phaseline promote") => {
                    settled && promote == Promotion::Never
                }
                // Nobody will end the hold.
                Phase::Paused => settled && said.waiting.starts_with("for `phaseline "),
                Phase::Progressing => false,
            }
        })
    }
}

/// Makes a namespace, unless it is there.
fn make_namespace(embedded: &Embedded, name: &str) -> Result<(), CliError> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    match ask(embedded, ("POST", "application/json"), "/api/v1/namespaces", &body) {
        (200..=299 | 409, _) => Ok(()),
        (_, why) => Err(CliError::new(Kind::Cluster, format!("cannot make the namespace {name}: {why}"))),
    }
}

/// Gives a set so many pods, as an autoscaler does.
fn scale(embedded: &Embedded, workload: &WorkloadId, replicas: u32) -> Result<(), CliError> {
    let path = format!("/apis/apps/v1/namespaces/{}/statefulsets/{}/scale", workload.namespace, workload.name);
    let body = json!({"spec": {"replicas": replicas}});
    match ask(embedded, ("PATCH", "application/merge-patch+json"), &path, &body) {
        (200..=299, _) => Ok(()),
        (_, why) => Err(CliError::new(Kind::Cluster, format!("cannot scale {workload}: {why}"))),
    }
}

/// Asks the cluster for something: the answer's code, and what it says where it is a refusal.
fn ask(embedded: &Embedded, (method, content_type): (&str, &str), path: &str, body: &Value) -> (u16, String) {
    let request = sim::Request {
        method: method.to_owned(),
        path: path.to_owned(),
        accept: "application/json".to_owned(),
        content_type: content_type.to_owned(),
        body: body.to_string().into_bytes(),
        user: PERSON.to_owned(),
        agent: PERSON.to_owned(),
        ..sim::Request::default()
    };
    match embedded.with(|world, now| world.handle(now, &request)) {
        Answer::Whole(response) => (response.code, response.body["message"].as_str().unwrap_or_default().to_owned()),
        Answer::Watch(_) | Answer::Late(..) | Answer::Lost(_) => (500, "no answer".to_owned()),
    }
}

fn done(outcome: Outcome, workload: &WorkloadId) -> Result<(), CliError> {
    match outcome {
        Outcome::Done(_) => Ok(()),
        other => {
            let why = other.refusal().map_or_else(|| format!("{other:?}"), |(_, why)| why);
            Err(CliError::new(Kind::Cluster, format!("cannot write on {workload}: {why}")))
        }
    }
}
