//! The loop: events in, decisions out, one request a workload at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::watch as watching;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::asking::Question;
use super::git_side::{GitSide, Waits};
use super::leader::{Leader, Presence};
use super::news::{Listener, News, What};
use super::pacer::Pacer;
use super::pass::Lost;
use super::publish::{self, audit};
use super::report::{Known, Report};
use super::sight::RewriteGrace;
use super::source::Source;
use super::sources::{SourceEvent, Told, serve};
use super::worker::{Grounds, Worker};
use crate::clock::Clock;
use crate::cluster::{
    Cluster, ClusterEvent, Doubts, Health, InSight, Outcome, RequestError, Source as Watched, Store, execute, read,
    watch_with,
};
use crate::git::{Waker, Wakes};
use crate::model::{Action, Decision, Observed, Phase, Pod, WaitingOn, WorkloadId};
use crate::rollout::{decide, progress};

mod views;

/// Requests under way at once: the API server has others to serve.
const REQUESTS_AT_ONCE: usize = 16;
/// How long requests under way may take to end when the daemon is asked to.
const GRACE: Duration = Duration::from_secs(20);
/// How long the first look at the repository may take before sets are looked at without it: nothing is advanced then,
/// but what a set needs that is not (a partition that rises, a person's hold) is not kept waiting by a host that hangs.
const FIRST_READ: Duration = Duration::from_secs(10);
/// When a full queue is tried again.
const FULL_QUEUE: Duration = Duration::from_millis(20);
/// Events waiting between a watch and the loop; a slow loop slows the watch down.
const EVENT_BUFFER: usize = 1024;

/// How the daemon is to run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// One pass: everything that is due is done, nothing is waited for.
    pub once: bool,
    /// When a pass that is not over ends all the same.
    pub timeout: Option<Duration>,
    /// Everything is decided, nothing is written.
    pub observe: bool,
    /// The Lease on which the daemon shows itself; none: it shows itself to nobody, and writes whoever else does.
    pub presence: Option<Presence>,
    /// What is written down on it about the daemon itself.
    pub about: Report,
    /// The namespaces to watch; none given: all.
    pub namespaces: Vec<String>,
    /// How long the source has to say the same before a rewritten history counts.
    pub rewrite_grace: RewriteGrace,
    /// Whichever repository the sets' records name, and at whichever commit: the one that is followed is the one. For
    /// plays of a cluster that stands in for another.
    pub any_source: bool,
    /// What time it is to the daemon; it may be wrong, the cluster's is what counts.
    pub clock: Clock,
    /// Who is told what happens, beside the log.
    pub listener: Option<Listener>,
}

impl RunOptions {
    fn tell(&self, workload: &WorkloadId, what: What) {
        if let Some(listener) = &self.listener {
            listener.tell(News { at: self.clock.now(), workload: workload.clone(), what });
        }
    }
}

/// How it ended: every workload's phase at the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// By workload.
    pub phases: BTreeMap<WorkloadId, Phase>,
    /// Why it did not come as far as it should have, in a line; none where it did, or was asked to end.
    pub problem: Option<String>,
}

/// What came of what was asked for on a workload's behalf.
pub(super) struct Finished {
    workload: WorkloadId,
    what: Came,
}

enum Came {
    /// Of its actions.
    Of(Grounds, Vec<(Action, Outcome)>),
    /// Its pods as they are, and the version of the set that they are at least as new as.
    Pods(Result<(Vec<Pod>, String), RequestError>, Option<u64>),
    /// The set and its pods as they are.
    Whole(Box<Result<Observed, RequestError>>),
}

pub(super) struct Controller {
    pub(super) cluster: Cluster,
    pub(super) options: RunOptions,
    pub(super) store: Store,
    pub(super) git: GitSide,
    pub(super) workers: BTreeMap<WorkloadId, Worker>,
    pub(super) dirty: BTreeSet<WorkloadId>,
    timers: BTreeSet<(Instant, WorkloadId)>,
    pub(super) tasks: JoinSet<Finished>,
    running: HashMap<Id, WorkloadId>,
    /// Whether the first look at the repository takes long.
    late: bool,
    /// Why the repository cannot be read, while it cannot.
    pub(super) git_trouble: Option<String>,
    /// How each watch was at the last look.
    health: BTreeMap<Watched, Health>,
    /// Where a watch that may be dead is named.
    doubts: Doubts,
    /// Namespaces that were missing: how often each was waited for, and whether it is now.
    namespaces: BTreeMap<String, (u32, bool)>,
    awaited: JoinSet<String>,
    pace: Pacer,
    /// Who leads, and where it is written down what is known.
    pub(super) leader: Leader,
    /// Asks for a look at the repository.
    waker: Option<Waker>,
    /// Watches that are lost: since when, and why.
    pub(super) lost: BTreeMap<Watched, Lost>,
    /// When a pass ends that is not over, and why one was not.
    pub(super) ends: Option<Instant>,
    pub(super) problem: Option<String>,
}

/// Runs until `shutdown` is done (or, with `once`, until nothing is due any more).
///
/// `wakes` says when the repository may have something new; a wake carries nothing.
pub async fn run(
    cluster: Cluster,
    source: Source,
    wakes: Option<Wakes>,
    options: RunOptions,
    shutdown: impl Future<Output = ()>,
) -> Ended {
    let (event_sender, mut events) = mpsc::channel::<ClusterEvent>(EVENT_BUFFER);
    let (source_sender, mut source_events) = mpsc::channel::<SourceEvent>(EVENT_BUFFER);
    let (questions, asked) = mpsc::channel::<Question>(EVENT_BUFFER);
    let (hurry, hurried) = watching::channel(None);
    let doubts = Doubts::default();
    let watches = tokio::spawn({
        let (cluster, namespaces, doubts) = (cluster.clone(), options.namespaces.clone(), doubts.clone());
        async move { watch_with(&cluster, &namespaces, event_sender, &doubts).await }
    });
    let waker = wakes.as_ref().map(Wakes::waker);
    let told = Told { questions: asked, hurry: hurried };
    let reader = tokio::spawn(serve(source, wakes, told, source_sender, options.clock));
    let about = Report { started: Some(options.clock.now()), ..options.about.clone() };
    let (cluster, leader) = Leader::start(options.presence.clone(), cluster, options.clock, about);
    info!(server = cluster.server, observe = options.observe, "phaseline runs");
    let mut controller = Controller {
        store: Store::new(&options.namespaces),
        pace: Pacer::new(options.clock),
        cluster,
        git: GitSide::new(questions, hurry, options.rewrite_grace, options.any_source),
        ends: options.timeout.filter(|_| options.once).map(|timeout| Instant::now() + timeout),
        options,
        workers: BTreeMap::new(),
        dirty: BTreeSet::new(),
        timers: BTreeSet::new(),
        tasks: JoinSet::new(),
        running: HashMap::new(),
        late: false,
        git_trouble: None,
        leader,
        waker,
        lost: BTreeMap::new(),
        problem: None,
        health: BTreeMap::new(),
        doubts,
        namespaces: BTreeMap::new(),
        awaited: JoinSet::new(),
    };
    controller.work(&mut events, &mut source_events, shutdown).await;
    watches.abort();
    reader.abort();
    controller.end().await
}

impl Controller {
    async fn work(
        &mut self,
        events: &mut Receiver<ClusterEvent>,
        source_events: &mut Receiver<SourceEvent>,
        shutdown: impl Future<Output = ()>,
    ) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut first_read = std::pin::pin!(tokio::time::sleep(FIRST_READ));
        loop {
            let next = self.next_turn(Instant::now()).into_iter().chain(self.pass_is_looked_at()).min();
            let timer = async {
                match next {
                    Some(when) => tokio::time::sleep_until(when).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = &mut shutdown => {
                    self.problem = self.options.once.then(|| "asked to end before the pass was over".to_owned());
                    return;
                }
                () = self.leader.changed() => self.takes_over(),
                Some(joined) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.finished(joined),
                Some(Ok(namespace)) = self.awaited.join_next(), if !self.awaited.is_empty() => self.made(&namespace),
                event = events.recv() => match event {
                    Some(event) => self.heard(event),
                    None => return self.problem = Some("the watches of the cluster have ended".into()),
                },
                event = source_events.recv() => match event {
                    Some(event) => self.read(event),
                    None => return self.problem = Some("the repository is read no more".into()),
                },
                () = timer => {}
                () = &mut first_read, if !self.late && !self.git.asked => self.late = true,
            }
            // Whatever else has arrived in the meantime: one look at a workload serves many events.
            while let Ok(event) = events.try_recv() {
                self.heard(event);
            }
            let now = Instant::now();
            if self.pace.look(&self.cluster.time, self.timers.first().map(|(due, _)| *due), now) {
                // What was to come in so much time may be due, or due later.
                self.dirty.extend(self.workers.keys().cloned());
            }
            let skew = self.pace.skew();
            self.leader.knows(|report| std::mem::replace(&mut report.skew_seconds, skew) != skew);
            self.ring(now);
            self.look_at_watches(now);
            self.look_at_dirty().await;
            self.git.hurry();
            if self.options.once && self.pass_is_over(Instant::now()) {
                return;
            }
        }
    }

    /// The time by the server's clock: what its stamps are compared with.
    fn now(&self) -> Timestamp {
        self.cluster.time.now(self.options.clock.now(), Instant::now())
    }

    /// The lead has come or gone. What was only looked at so far is looked at again, and said.
    fn takes_over(&mut self) {
        if !self.leader.leads() {
            for worker in self.workers.values_mut() {
                worker.said = None;
            }
            return;
        }
        // Whoever led may have read something newer.
        if let Some(waker) = &self.waker {
            waker.wake();
        }
        for worker in self.workers.values_mut() {
            worker.starts_afresh();
        }
        self.dirty.extend(self.workers.keys().cloned());
    }

    /// Takes in news from the cluster.
    fn heard(&mut self, event: ClusterEvent) {
        self.note_lost(&event);
        let changed = self.store.apply(event, Instant::now());
        self.dirty.extend(changed);
    }

    /// Takes in news from Git.
    fn read(&mut self, event: SourceEvent) {
        if let SourceEvent::Read(read) = &event {
            let unread = Some(&read.trouble).filter(|trouble| !trouble.is_empty());
            self.git_trouble = read.fetched.as_ref().err().or(unread).cloned();
            let now = self.options.clock.now();
            self.leader.knows(|report| report.note_source(self.git_trouble.as_deref(), now));
        }
        let (dirty, all) = self.git.read(event);
        self.dirty.extend(dirty);
        let commit = self.git.view.as_ref().map(|view| view.commit.id.0.clone()).unwrap_or_default();
        self.leader.knows(|report| std::mem::replace(&mut report.commit, commit.clone()) != commit);
        if all {
            self.dirty.extend(self.store.workloads().into_iter().cloned());
        }
    }

    /// Takes in what came of a request.
    fn finished(&mut self, joined: Result<(Id, Finished), tokio::task::JoinError>) {
        let now = Instant::now();
        let Finished { workload, what } = match joined {
            Ok((id, finished)) => {
                self.running.remove(&id);
                finished
            }
            Err(broken) => {
                if let Some(workload) = self.running.remove(&broken.id()) {
                    error!(%workload, "a request broke off: {broken}");
                    let worker = self.workers.entry(workload.clone()).or_default();
                    worker.busy = false;
                    worker.broke(now);
                    self.dirty.insert(workload);
                }
                return;
            }
        };
        let worker = self.workers.entry(workload.clone()).or_default();
        worker.busy = false;
        let (grounds, results) = match what {
            Came::Of(grounds, results) => (grounds, results),
            Came::Whole(read) => {
                match *read {
                    Ok(observed) => {
                        let pods = observed.pods.values().cloned().collect();
                        self.store.replace(&workload, observed.set, pods);
                    }
                    Err(error) => warn!(%workload, %error, "it cannot be read, tried again later"),
                }
                self.dirty.insert(workload);
                return;
            }
            Came::Pods(read, written) => {
                match read {
                    Ok((pods, version)) => self.store.note_pods(&workload, pods, &version, written),
                    Err(error) => warn!(%workload, %error, "its pods cannot be read, tried again later"),
                }
                // What was read may still not be what is waited for.
                worker.missed(now);
                self.dirty.insert(workload);
                return;
            }
        };
        for (action, outcome) in results {
            worker.took(&outcome, grounds.clone(), now);
            if let (Action::DeletePod { ordinal, uid, .. }, Outcome::Done(_)) = (&action, &outcome) {
                let pods = self.store.observed(&workload).pods;
                let revision = pods.get(ordinal).map(|pod| pod.revision.clone()).unwrap_or_default();
                progress::note_repair(&mut worker.progress, *ordinal, &revision, uid);
            }
            if let Outcome::Done(Some(set)) = outcome {
                self.store.note_write(&workload, *set, now);
            }
        }
        if worker.lacks_namespace() {
            self.wait_for(&workload.namespace);
        }
        self.dirty.insert(workload);
    }

    /// Marks what is due.
    fn ring(&mut self, now: Instant) {
        while let Some((when, workload)) = self.timers.pop_first() {
            if when > now {
                self.timers.insert((when, workload));
                return;
            }
            if let Some(worker) = self.workers.get_mut(&workload) {
                worker.due = None;
            }
            self.dirty.insert(workload);
        }
    }

    async fn look_at_dirty(&mut self) {
        let now = Instant::now();
        // Before both sides have told everything once, what is missing and what is new look alike.
        if !self.git.asked && !self.late {
            return;
        }
        for workload in std::mem::take(&mut self.dirty) {
            let sight = self.store.sight(&workload, now);
            if sight == InSight::Unseen {
                // Looked at as soon as its watches have told everything once.
                self.dirty.insert(workload);
                continue;
            }
            if !self.is_ours(&workload) {
                self.forget(&workload);
                continue;
            }
            let worker = self.workers.entry(workload.clone()).or_default();
            worker.queued = false;
            // It is looked at again when its request comes back.
            if worker.busy || self.waits_for_git(&workload) {
                continue;
            }
            let looked = catch_unwind(AssertUnwindSafe(|| self.look(&workload, sight)));
            match looked {
                Ok((decision, grounds)) => self.carry_out(workload, decision, grounds).await,
                Err(_) => {
                    error!(%workload, "deciding about it broke off; it is left alone for a while");
                    if let Some(worker) = self.workers.get_mut(&workload) {
                        worker.broke(now);
                        let when = worker.not_before.unwrap_or(now);
                        self.wake_at(workload, when);
                    }
                }
            }
        }
    }

    fn is_ours(&self, workload: &WorkloadId) -> bool {
        self.git.is_ours(workload, self.store.set_of(workload))
    }

    fn forget(&mut self, workload: &WorkloadId) {
        self.git.forget(workload);
        if let Some(due) = self.workers.remove(workload).and_then(|worker| worker.due) {
            self.timers.remove(&(due, workload.clone()));
        }
        self.leader.knows(|report| report.note(workload, None));
    }

    /// Decides about one workload.
    fn look(&mut self, workload: &WorkloadId, sight: InSight) -> (Decision, Grounds) {
        let mut observed = self.store.observed(workload);
        match sight {
            InSight::Clear | InSight::Unseen => {}
            InSight::Stale(age) => observed.stale_seconds = Some(u32::try_from(age.as_secs()).unwrap_or(u32::MAX)),
            InSight::Forbidden(message) => observed.forbidden = Some(message),
        }
        observed.pace = self.pace.now(Instant::now());
        let side = self.git.of(workload, observed.set.as_ref(), Instant::now());
        observed.sight = side.sight.clone();
        let grounds = Grounds::of(side.desired.as_ref(), observed.set.as_ref());
        if let Some(worker) = self.workers.get(workload) {
            observed.refused = worker.refusal(&grounds, Instant::now());
            observed.progress.clone_from(&worker.progress);
        }
        (decide(&side.wanted(), &observed, self.now()), grounds)
    }

    /// Whether Git has to be asked first. Its answer marks the workload again.
    fn waits_for_git(&mut self, workload: &WorkloadId) -> bool {
        match self.git.waits(workload, self.store.set_of(workload), Instant::now()) {
            Waits::No => false,
            Waits::ForAnswer => true,
            Waits::ForRoom => {
                self.queue(workload.clone());
                true
            }
        }
    }

    /// It is looked at again when there may be room.
    fn queue(&mut self, workload: WorkloadId) {
        if let Some(worker) = self.workers.get_mut(&workload) {
            worker.queued = true;
        }
        self.wake_at(workload, Instant::now() + FULL_QUEUE);
    }

    /// Publishes a decision and sends its actions off.
    async fn carry_out(&mut self, workload: WorkloadId, decision: Decision, grounds: Grounds) {
        let now = Instant::now();
        let Some(worker) = self.workers.get_mut(&workload) else { return };
        worker.progress.clone_from(&decision.progress);
        worker.phase = Some(decision.phase);
        worker.meet(&grounds);
        // One that is over is no reason to look again: nothing may be sent while the set is out of sight.
        let refused_until = worker.refused_until(&grounds).filter(|until| *until > now);
        let time = self.cluster.time.now(self.options.clock.now(), now);
        let leads = self.leader.leads();
        // Whoever stands by says nothing: the one who leads does.
        let is_news = leads && publish::say(&workload, &decision, &mut worker.said, time);
        let requeue = decision.requeue.map(|when| {
            let wait = Duration::try_from(when.duration_since(time)).unwrap_or_default();
            now + wait.max(Duration::from_millis(10))
        });
        if let (true, Some(said)) = (is_news, &worker.said) {
            self.options.tell(&workload, What::Is(said.clone()));
        }
        let known = Known::of(&decision, &worker.failing);
        self.leader.knows(|report| report.note(&workload, known));
        let reads = decision.waiting_on == Some(WaitingOn::FreshPods);
        if !leads || !reads && (decision.actions.is_empty() || self.options.observe) {
            if is_news {
                for action in &decision.actions {
                    info!(%workload, "would: {}", publish::describe(action));
                }
            }
            // What is due is the other one's to do, where this one stands by: it is not looked at in a circle.
            let overdue = !leads && !decision.actions.is_empty();
            if let Some(when) = requeue.filter(|_| !overdue).into_iter().chain(refused_until).min() {
                self.wake_at(workload, when);
            }
            return;
        }
        if let Some(when) = worker.not_before.filter(|when| *when > now) {
            self.wake_at(workload, when);
            return;
        }
        if self.tasks.len() >= REQUESTS_AT_ONCE {
            // One that ends makes room.
            self.queue(workload);
            return;
        }
        if worker.sees_ghosts() {
            worker.busy = true;
            let (cluster, name) = (self.cluster.clone(), workload.clone());
            let handle = self.tasks.spawn(async move {
                let read = read::observe(&cluster, &name).await;
                Finished { workload: name, what: Came::Whole(Box::new(read)) }
            });
            self.running.insert(handle.id(), workload);
            return;
        }
        worker.busy = true;
        let (cluster, name, actions) = (self.cluster.clone(), workload.clone(), decision.actions);
        if reads {
            let written = self.store.written(&workload);
            let handle = self.tasks.spawn(async move {
                let read = read::pods(&cluster, &name).await;
                Finished { workload: name, what: Came::Pods(read, written) }
            });
            self.running.insert(handle.id(), workload);
            return;
        }
        let options = self.options.clone();
        let handle = self.tasks.spawn(async move {
            let mut results = Vec::with_capacity(actions.len());
            for action in actions {
                let outcome = execute(&cluster, &name, &action).await;
                let (action_words, failed) = audit(&name, &action, &outcome);
                options.tell(&name, What::Wrote { action: action_words, failed });
                let goes_on = matches!(outcome, Outcome::Done(_));
                results.push((action, outcome));
                if !goes_on {
                    break;
                }
            }
            Finished { workload: name, what: Came::Of(grounds, results) }
        });
        self.running.insert(handle.id(), workload);
    }

    fn wake_at(&mut self, workload: WorkloadId, when: Instant) {
        let Some(worker) = self.workers.get_mut(&workload) else { return };
        if let Some(before) = worker.due.replace(when) {
            self.timers.remove(&(before, workload.clone()));
        }
        self.timers.insert((when, workload));
    }

    /// Lets requests under way end.
    async fn end(mut self) -> Ended {
        let drained = tokio::time::timeout(GRACE, async {
            while let Some(joined) = self.tasks.join_next_with_id().await {
                self.finished(joined);
            }
        })
        .await;
        if drained.is_err() {
            warn!("a request did not end in time; its outcome is found out at the next start");
        }
        let phases = self.workers.iter().filter_map(|(name, worker)| Some((name.clone(), worker.phase?))).collect();
        // After the last write: nobody else begins before.
        self.leader.end().await;
        Ended { phases, problem: self.problem }
    }
}
