//! The whole product on the embedded cluster, in virtual time: a daemon, a repository, people, and what goes wrong.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use phaseline::clock::{Clock, Shift};
use phaseline::daemon::{Said, What};
use phaseline::model::{CommitId, PARKED, Phase, Record, Request as Wish, Verb};
use phaseline::sim::serve::Embedded;
use phaseline::sim::{Answer, Key, Request, Resource, Settings, Told, World};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::git::{Commit, Flaw, Repo};
use super::seat::{Heard, Seat};

/// As which the daemon comes to the door.
pub(crate) const DAEMON: &str = "phaseline";
/// As which a second one comes.
pub(crate) const SECOND: &str = "phaseline-b";
const SET: &str = "/apis/apps/v1/namespaces/default/statefulsets/web";
/// How long a daemon that died is away.
const AWAY: Duration = Duration::from_millis(500);

/// Rules and ways that are not for every day yet: `PHASELINE_PRODUCT_WITH=views,second`, or `all`, has them as well.
const LATER: &[&str] = &["views", "second"];

/// Whether a rule is looked at, or something may happen.
pub(crate) fn is_on(name: &str) -> bool {
    !LATER.contains(&name)
        || std::env::var("PHASELINE_PRODUCT_WITH").is_ok_and(|all| all.split(',').any(|it| it == name || it == "all"))
}

/// When every play begins.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub(crate) struct Play {
    pub(crate) embedded: Embedded,
    /// By how much the first daemon's clock is wrong; it may be let jump at any time.
    pub(crate) shift: Shift,
    repo: Rc<Repo>,
    /// The daemons.
    pub(crate) seats: Vec<Seat>,
    heard: Heard,
    /// The commits of the branch, with their ids.
    pub(crate) commits: Vec<(CommitId, Commit)>,
    /// How many commits there were, those of lines that were given up included.
    made: usize,
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
            seats: Vec::new(),
            heard: Arc::default(),
            commits: Vec::new(),
            made: 0,
            deaths: 0,
            done: Vec::new(),
            wishes: 0,
        };
        play.take(id, first);
        play.join(DAEMON);
        play
    }

    /// The daemons begin anew, and watch these namespaces each by itself.
    pub(crate) fn watch_each(&mut self, namespaces: &[&str]) {
        self.kill();
        for seat in &mut self.seats {
            seat.namespaces = namespaces.iter().map(|it| (*it).to_owned()).collect();
        }
        self.revive();
    }

    /// One more daemon.
    pub(crate) fn join(&mut self, user: &'static str) {
        let (tip, _) = self.commits.last().cloned().unwrap();
        let clock = self.embedded.clock();
        let clock = if user == DAEMON { clock.shifted(self.shift) } else { clock };
        let mut seat = Seat::new(user, clock, tip.clone(), &self.heard);
        seat.namespaces = self.seats.first().map(|first| first.namespaces.clone()).unwrap_or_default();
        self.seats.push(seat);
        self.note(Told::Branch { remote: user.into(), tip: Some(tip) });
        self.wants(self.seats.len() - 1, self.commits.len() - 1);
        self.revive();
    }

    fn revive(&mut self) {
        let path = self.repo.path().to_owned();
        for seat in self.seats.iter_mut().filter(|seat| !seat.lives()) {
            seat.begin(&self.embedded, &path);
        }
    }

    /// The monitors hear what no request shows.
    pub(crate) fn note(&self, told: Told) {
        self.embedded.with(|world, now| world.note(now, told));
    }

    /// The daemons are killed, as they stand.
    pub(crate) fn kill(&mut self) {
        for at in 0..self.seats.len() {
            if self.seats[at].kill() {
                self.deaths += 1;
                let by = self.seats[at].user;
                self.note(Told::Dead { by: by.into() });
                self.say(format!("{by} dies"));
            }
        }
    }

    /// They are killed, and come back a moment later.
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
        commit.flaw = Flaw::None;
        change(&mut commit);
        let number = self.made;
        let id = self.repo.commit(Some(&parent), number, &commit);
        self.say(format!("commit {number}: {commit:?}"));
        self.take(id, commit);
        for at in 0..self.seats.len() {
            if self.seats[at].follows {
                self.show(at, self.commits.len() - 1, true);
            }
        }
        number
    }

    /// The last commits are given up: the branch goes on from an earlier one, with the next push.
    pub(crate) fn give_up(&mut self, commits: usize) {
        let left = self.commits.len().saturating_sub(commits).max(1);
        self.commits.truncate(left);
        self.say(format!("{commits} commits are given up"));
    }

    /// A commit is there, and the branch names it.
    fn take(&mut self, id: CommitId, commit: Commit) {
        if commit.allow_claim_deletion {
            self.embedded.with(|world, _| world.give_up_claims());
        }
        let parent = self.commits.last().map(|(id, _)| id.clone());
        let stamp = if commit.stamped { self.made.to_string() } else { String::new() };
        self.note(Told::Commit { id: id.clone(), parent, stamp });
        self.made += 1;
        self.commits.push((id, commit));
    }

    /// The remote of a daemon names a commit of the branch.
    pub(crate) fn show(&mut self, seat: usize, commit: usize, wakes: bool) {
        let id = self.commits[commit].0.clone();
        self.note(Told::Branch { remote: self.seats[seat].user.into(), tip: Some(id.clone()) });
        self.wants(seat, commit);
        self.seats[seat].shows(&id, wakes);
    }

    /// What a commit says is what a daemon can know.
    fn wants(&self, seat: usize, commit: usize) {
        let manifest = self.commits[commit].1.usable();
        let by = self.seats[seat].user.to_owned();
        self.note(Told::Wants { by, namespace: "default".into(), name: "web".into(), manifest });
    }

    /// From now on a remote stays where it is.
    pub(crate) fn stands(&mut self, seat: usize) {
        self.seats[seat].follows = false;
        self.say(format!("the remote of {} stands still", self.seats[seat].user));
    }

    /// A remote stays where it is, at a commit that is so many commits old.
    pub(crate) fn lags(&mut self, seat: usize, commits: usize) {
        let at = (self.commits.len() - 1).saturating_sub(commits);
        self.seats[seat].follows = false;
        self.say(format!("the remote of {} names the commit before the last {commits}", self.seats[seat].user));
        self.show(seat, at, true);
    }

    /// A remote names the newest commit, and follows from now on.
    pub(crate) fn catches_up(&mut self, seat: usize) {
        self.seats[seat].follows = true;
        self.say(format!("the remote of {} names the newest commit", self.seats[seat].user));
        self.show(seat, self.commits.len() - 1, true);
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

    /// What the first daemon said last of the set.
    pub(crate) fn said(&self) -> Option<Said> {
        self.said_by(DAEMON)
    }

    fn said_by(&self, user: &str) -> Option<Said> {
        let heard = self.heard.lock().unwrap();
        let last = heard.iter().rev().filter(|(_, by, news)| *by == user && news.workload.namespace == "default");
        last.into_iter().find_map(|(_, _, news)| match &news.what {
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
            content_type: if method == "POST" { "application/json" } else { "application/merge-patch+json" }.into(),
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
            && self.seats.iter().all(|seat| self.said_by(seat.user).is_some_and(|said| said.phase == Phase::Healthy))
    }

    /// A namespace is made.
    pub(crate) fn make_namespace(&mut self, name: &str) {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.person("POST", "/api/v1/namespaces", &body);
    }

    /// Whether the set in another namespace is where Git wants it.
    pub(crate) fn is_converged_in(&self, namespace: &str) -> bool {
        let key = Key::new(Resource::StatefulSets, namespace, "web");
        let image = self.tip().image_beside();
        self.embedded.with(|world, _| {
            let Some(set) = world.object(&key) else { return false };
            let mut pods = world.objects(Resource::Pods, Some(namespace));
            set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == PARKED.0
                && world.objects(Resource::Pods, Some(namespace)).count() == 2
                && pods.all(|pod| pod["spec"]["containers"][0]["image"] == image.as_str() && is_ready(pod))
        })
    }

    /// What must not happen and did.
    pub(crate) fn wrong(&self) -> Option<String> {
        self.embedded.with(|world, now| {
            world.judge(now);
            world.violations().iter().find(|it| is_on(it.rule)).map(ToString::to_string)
        })
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
        for (at, by, news) in self.heard.lock().unwrap().iter() {
            let by = if *by == DAEMON { "daemon  " } else { "daemon b" };
            let line = match &news.what {
                What::Is(said) => {
                    format!("{by} {} {} {} {} {}", said.phase, said.reason, said.waiting, said.culprit, said.message)
                }
                What::Wrote { action, failed } => match failed {
                    None => format!("{by} wrote: {action}"),
                    Some(why) => format!("{by} failed to write: {action}: {why}"),
                },
            };
            lines.push((*at, line));
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
