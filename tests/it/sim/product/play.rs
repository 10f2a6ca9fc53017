//! The whole product on the embedded cluster, in virtual time: a daemon, a repository, people, and what goes wrong.

use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use phaseline::clock::{Clock, Shift};
use phaseline::cluster::Cluster;
use phaseline::daemon::{self, Listener, News, RunOptions, Said, Scope, Source, Tip, What};
use phaseline::git::{Place, Waker, Wakes};
use phaseline::model::{CommitId, PARKED, Phase, Record, Request as Wish, Verb};
use phaseline::sim::serve::Embedded;
use phaseline::sim::{Answer, Key, Request, Resource, Settings, World};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::git::{Commit, Repo};

/// As which the daemon comes to the door.
pub(crate) const DAEMON: &str = "phaseline";
const SET: &str = "/apis/apps/v1/namespaces/default/statefulsets/web";
/// How long a daemon that died is away.
const AWAY: Duration = Duration::from_millis(500);

/// When every play begins.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub(crate) struct Play {
    pub(crate) embedded: Embedded,
    /// By how much the daemon's clock is wrong; it may be let jump at any time.
    pub(crate) shift: Shift,
    repo: Rc<Repo>,
    /// What the daemon takes for the tip.
    pub(crate) tip: Tip,
    /// Wakes the daemon.
    pub(crate) waker: Option<Waker>,
    daemon: Option<JoinHandle<daemon::Ended>>,
    heard: Arc<Mutex<Vec<News>>>,
    /// Commits so far, with their ids.
    pub(crate) commits: Vec<(CommitId, Commit)>,
    /// Daemons that died.
    pub(crate) deaths: u32,
    /// What people did.
    done: Vec<(Timestamp, String)>,
    wishes: u32,
}

impl Play {
    /// A cluster, a repository with one commit, and a daemon.
    pub(crate) fn begin(repo: &Rc<Repo>, settings: &Settings, first: Commit) -> Self {
        // The daemon spreads its retries by chance.
        fastrand::seed(settings.seed);
        let embedded = Embedded::start(World::new(settings), Clock::starting(settings.start));
        let id = repo.commit(None, 0, &first);
        let mut play = Self {
            embedded,
            shift: Shift::new(SignedDuration::ZERO),
            repo: repo.clone(),
            tip: Tip::new(id.clone()),
            waker: None,
            daemon: None,
            heard: Arc::default(),
            commits: vec![(id, first)],
            deaths: 0,
            done: Vec::new(),
            wishes: 0,
        };
        play.revive();
        play
    }

    fn revive(&mut self) {
        let scope = Scope { default_namespace: "default".into(), only: Vec::new() };
        let source = Source::in_place(Place::At(self.repo.path()), "", scope).unwrap().at(self.tip.clone());
        let wakes = Wakes::by_hand();
        self.waker = Some(wakes.waker());
        let heard = self.heard.clone();
        let listener = Listener::new(move |news| heard.lock().unwrap().push(news));
        let clock = self.embedded.clock().shifted(self.shift);
        let options = RunOptions { clock, listener: Some(listener), ..RunOptions::default() };
        let cluster = Cluster::from_service(self.embedded.service(DAEMON));
        self.daemon = Some(tokio::spawn(daemon::run(cluster, source, Some(wakes), options, std::future::pending())));
    }

    /// The daemon is killed, as it stands.
    pub(crate) fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.abort();
            self.deaths += 1;
            self.say("the daemon dies".into());
        }
    }

    /// It is killed, and comes back a moment later.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        tokio::time::sleep(AWAY).await;
        self.revive();
    }

    fn say(&mut self, what: String) {
        self.done.push((self.now(), what));
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.embedded.clock().now()
    }

    /// Lets time pass; a daemon that a fault kills comes back.
    pub(crate) async fn pass(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let embedded = self.embedded.clone();
            tokio::select! {
                biased;
                () = embedded.crash() => self.restart().await,
                () = sleep_until(end) => return,
            }
        }
    }

    /// A commit on top of the last.
    pub(crate) fn push(&mut self, change: impl FnOnce(&mut Commit)) -> usize {
        let (parent, mut commit) = self.commits.last().cloned().unwrap();
        change(&mut commit);
        let number = self.commits.len();
        let id = self.repo.commit(Some(&parent), number, &commit);
        self.say(format!("commit {number}: {commit:?}"));
        if commit.allow_claim_deletion {
            self.embedded.with(|world, _| world.give_up_claims());
        }
        self.commits.push((id.clone(), commit));
        self.tip.set(id);
        if let Some(waker) = &self.waker {
            waker.wake();
        }
        number
    }

    /// The last commit.
    pub(crate) fn tip(&self) -> &Commit {
        &self.commits.last().unwrap().1
    }

    /// The set as it is; none before it is made.
    pub(crate) fn set(&self) -> Option<Arc<Value>> {
        let key = Key::new(Resource::StatefulSets, "default", "web");
        self.embedded.with(|world, _| world.object(&key).cloned())
    }

    /// The pods as they are.
    pub(crate) fn pods(&self) -> Vec<Arc<Value>> {
        self.embedded.with(|world, _| world.objects(Resource::Pods, Some("default")).cloned().collect())
    }

    pub(crate) fn record(&self) -> Option<Record> {
        let set = self.set()?;
        Record::decode(set["metadata"]["annotations"][Record::ANNOTATION].as_str()?).ok()
    }

    /// What the daemon said last.
    pub(crate) fn said(&self) -> Option<Said> {
        let heard = self.heard.lock().unwrap();
        heard.iter().rev().find_map(|news| match &news.what {
            What::Is(said) => Some(said.clone()),
            What::Wrote { .. } => None,
        })
    }

    /// Something that a person does, past all faults.
    pub(crate) fn person(&mut self, method: &str, path: &str, body: &Value) -> Option<Value> {
        let request = Request {
            method: method.into(),
            path: path.into(),
            query: vec![("fieldManager".into(), "kubectl-edit".into())],
            content_type: "application/merge-patch+json".into(),
            body: body.to_string().into_bytes(),
            user: "ann".into(),
            agent: "kubectl/1.36".into(),
            ..Request::default()
        };
        let answer = self.embedded.with(|world, now| world.handle(now, &request));
        let Answer::Whole(response) = answer else { panic!("{method} {path}: {answer:?}") };
        let good = response.code < 300;
        self.say(format!("{method} {path} {body}: {}", response.code));
        good.then_some(response.body)
    }

    /// A request as the command line writes it.
    pub(crate) fn ask(&mut self, verb: Verb) {
        self.wishes += 1;
        let id = format!("q{}", self.wishes);
        let wish = Wish { id, verb, by: "ann".into(), rollout: String::new(), stage: None };
        let text = serde_json::to_string(&wish).unwrap();
        self.person("PATCH", SET, &json!({"metadata": {"annotations": {Wish::ANNOTATION: text}}}));
    }

    pub(crate) fn patch_set(&mut self, body: &Value) {
        self.person("PATCH", SET, body);
    }

    /// An autoscaler's write.
    pub(crate) fn scale(&mut self, replicas: u32) {
        self.patch_set(&json!({"spec": {"replicas": replicas}}));
    }

    pub(crate) fn delete_pod(&mut self, name: &str) {
        self.person("DELETE", &format!("/api/v1/namespaces/default/pods/{name}"), &json!({}));
    }

    /// A person deletes the lowest pod that has been broken for a while.
    pub(crate) fn delete_broken(&mut self) {
        let now = self.now();
        let broken = self.pods().into_iter().find(|pod| {
            let made: Timestamp = pod["metadata"]["creationTimestamp"].as_str().unwrap().parse().unwrap();
            !is_ready(pod) && pod["metadata"]["deletionTimestamp"].is_null() && now.duration_since(made).as_secs() > 40
        });
        if let Some(pod) = broken {
            self.delete_pod(pod["metadata"]["name"].as_str().unwrap());
        }
    }

    /// Whether the set is where Git wants it: parked, done, every pod at the tip's image and Ready, and the daemon says so.
    pub(crate) fn is_converged(&self) -> bool {
        let (Some(set), Some(record)) = (self.set(), self.record()) else { return false };
        let pods = self.pods();
        let replicas = set["spec"]["replicas"].as_u64().unwrap();
        let at_tip = |pod: &Arc<Value>| {
            pod["spec"]["containers"][0]["image"] == self.tip().image.as_str()
                && is_ready(pod)
                && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let tip = self.tip();
        let asked = set["metadata"]["annotations"][Wish::ANNOTATION].as_str();
        let asked = asked.and_then(|wish| serde_json::from_str::<Wish>(wish).ok());
        let answered = record.req.as_ref().map(|answer| &answer.id);
        record.done
            && asked.is_none_or(|wish| Some(&wish.id) == answered)
            && tip.replicas.is_none_or(|stated| u64::from(stated) == replicas)
            && (tip.min_ready == 0 || set["spec"]["minReadySeconds"] == tip.min_ready)
            && (tip.start == 0 || set["spec"]["ordinals"]["start"] == tip.start)
            && set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == PARKED.0
            && set["status"]["currentRevision"] == set["status"]["updateRevision"]
            && pods.len() as u64 == replicas
            && pods.iter().all(at_tip)
            && self.said().is_some_and(|said| said.phase == Phase::Healthy)
    }

    /// What must not happen and did.
    pub(crate) fn wrong(&self) -> Option<String> {
        self.embedded.with(|world, _| world.violations().first().map(ToString::to_string))
    }

    /// How it ended, to be compared: the set but for what may differ, and its pods.
    pub(crate) fn end_state(&self) -> Value {
        let set = self.set().unwrap();
        let record = self.record().unwrap();
        let pods: Vec<Value> = self
            .pods()
            .iter()
            .map(|pod| json!([pod["metadata"]["name"], pod["spec"]["containers"][0]["image"], is_ready(pod)]))
            .collect();
        json!({
            "spec": set["spec"],
            "current": set["status"]["currentRevision"],
            "update": set["status"]["updateRevision"],
            "ready": set["status"]["readyReplicas"],
            "target": record.target.hash.0,
            "stable": record.stable.map(|stable| stable.hash.0),
            "done": record.done,
            "proven": record.proven,
            "failed": record.failed.iter().map(|failed| (&failed.hash.0, &failed.reason)).collect::<Vec<_>>(),
            "pods": pods,
        })
    }

    /// Everything that was said and done, in order.
    pub(crate) fn trace(&self) -> String {
        let mut lines: Vec<(Timestamp, String)> = self.done.clone();
        for news in self.heard.lock().unwrap().iter() {
            let line = match &news.what {
                What::Is(said) => format!(
                    "daemon   {} {} {} {} {}",
                    said.phase, said.reason, said.waiting, said.culprit, said.message
                ),
                What::Wrote { action, failed } => match failed {
                    None => format!("daemon   wrote: {action}"),
                    Some(why) => format!("daemon   failed to write: {action}: {why}"),
                },
            };
            lines.push((news.at, line));
        }
        lines.sort_by_key(|(at, _)| *at);
        let mut lines: Vec<String> = lines
            .into_iter()
            .map(|(at, line)| format!("{:>9.3}s {line}", at.duration_since(start()).as_secs_f64()))
            .collect();
        if lines.len() > 240 {
            lines.splice(160..lines.len() - 80, ["  ...".to_owned()]);
        }
        let pods = self.pods();
        let pods = pods.iter().map(|pod| {
            let (name, image) = (&pod["metadata"]["name"], &pod["spec"]["containers"][0]["image"]);
            format!("{name} {image} ready {} gone {}", is_ready(pod), pod["metadata"]["deletionTimestamp"])
        });
        let set = self.set().map(|set| json!({"spec": set["spec"], "status": set["status"]}).to_string());
        format!(
            "{}\nset {}\nrecord {:?}\npods {:#?}",
            lines.join("\n"),
            set.unwrap_or_default(),
            self.record(),
            pods.collect::<Vec<_>>()
        )
    }
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// Plays something in virtual time, on a runtime of its own.
pub(crate) fn on_stage<T>(play: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(play)
}
