//! Brings a cluster of a size into the middle of its rollouts, and measures batches of gates.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use phaseline::cluster::Cluster;
use phaseline::daemon::{Ended, RunOptions, Scope, Source, run};
use phaseline::git::{Credentials, SourceConfig, Waker, Wakes};
use phaseline::model::{PARKED, Phase};
use tokio::sync::{mpsc::UnboundedReceiver, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tower::BoxError;

use super::floor::{self, Known};
use super::repository::{Repository, name};
use super::service::{Arrival, Service};

/// The namespace that the daemon looks after.
pub(crate) const DAEMON: &str = "daemon";
/// The namespace of the floor program.
pub(crate) const FLOOR: &str = "floor";

/// A PATCH that has not come by then does not come.
const MISSING: Duration = Duration::from_secs(10);
/// Everybody comes to rest within that time after a PATCH.
const SETTLE: Duration = Duration::from_millis(2);
/// How long nothing may be written when nothing happens.
const QUIET: Duration = Duration::from_millis(300);
/// The longest time that a size may take to set up.
const SET_UP: Duration = Duration::from_secs(300);
/// Events of a burst whose cost is taken.
const BURST: u32 = 1_000;

/// A size under test.
pub(crate) struct Bench {
    service: Service,
    arrivals: UnboundedReceiver<Arrival>,
    cluster: Cluster,
    repository: Repository,
    waker: Waker,
    stop: oneshot::Sender<()>,
    daemon: JoinHandle<Ended>,
    floor: Option<JoinHandle<Result<(), BoxError>>>,
    sets: usize,
    replicas: usize,
    /// How many gates each lane has taken since the rollouts began.
    taken: HashMap<&'static str, usize>,
    /// Bytes of the last PATCH of each lane.
    pub(crate) patch_bytes: HashMap<&'static str, usize>,
}

impl Bench {
    /// Starts the daemon on an empty cluster and brings every set into the middle of a rollout.
    pub(crate) async fn start(folder: &Path, sets: usize, replicas: usize) -> Result<Self, BoxError> {
        let origin = folder.join("origin");
        let mut repository = Repository::new(&origin, sets, replicas)?;
        repository.commit()?;
        let (service, arrivals) = Service::new();
        let cluster = service.cluster();
        let config = SourceConfig {
            url: origin.to_str().ok_or("an odd folder")?.to_owned(),
            branch: Some("main".into()),
            path: String::new(),
            state_dir: folder.join("state"),
            credentials: Credentials::default(),
        };
        let source = Source::open(&config, Scope { default_namespace: DAEMON.into(), only: Vec::new() })?;
        let wakes = Wakes::new(None, Duration::from_secs(24 * 60 * 60));
        let waker = wakes.waker();
        let (stop, stopped) = oneshot::channel::<()>();
        let options = RunOptions { namespaces: vec![DAEMON.into()], ..RunOptions::default() };
        let daemon = tokio::spawn(run(cluster.clone(), source, Some(wakes), options, async {
            // An end of the sender is a stop too.
            let _stop = stopped.await;
        }));
        let (taken, patch_bytes) = Default::default();
        let mut bench = Self {
            service,
            arrivals,
            cluster,
            repository,
            waker,
            stop,
            daemon,
            floor: None,
            sets,
            replicas,
            taken,
            patch_bytes,
        };
        bench.until_at_rest().await?;
        bench.service.arm();
        bench.renew().await?;
        Ok(bench)
    }

    /// Bytes of a line of the watch, and of a set.
    pub(crate) fn payload(&self) -> (usize, usize) {
        let mut world = self.service.world();
        let key = key(DAEMON, 0);
        let (_, pods) = world.list(super::world::Kind::Pods, DAEMON);
        let pod = pods["items"][0].to_string().len();
        (pod, world.set(&key).object.to_string().len())
    }

    /// A batch of gates, one after the other.
    pub(crate) async fn batch(&mut self, lane: &'static str, gates: usize) -> Result<Vec<Duration>, BoxError> {
        let mut latencies = Vec::with_capacity(gates);
        self.service.world().bookmark();
        self.settle(lane).await?;
        for _ in 0..gates {
            if self.left(lane) == 0 {
                self.end_rollouts().await?;
                self.renew().await?;
            }
            let (set, ordinal) = self.next_gate(lane);
            self.service.world().make_ready(&key(lane, set), ordinal);
            let arrival = self.arrival(lane, set, ordinal as u64 - 1).await?;
            let handed = self.service.handed().ok_or("a PATCH before its event")?;
            latencies.push(arrival.at.saturating_duration_since(handed));
            self.patch_bytes.insert(lane, arrival.bytes);
            self.settle(lane).await?;
        }
        Ok(latencies)
    }

    /// The same while so many events a second tell of pods that no gate waits for.
    pub(crate) async fn batch_under_load(
        &mut self,
        lane: &'static str,
        gates: usize,
        every: Duration,
    ) -> Result<Vec<Duration>, BoxError> {
        let (service, sets) = (self.service.clone(), self.sets);
        let load = tokio::spawn(async move {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            for set in (0..sets).cycle() {
                ticks.tick().await;
                service.world().touch(&key(lane, set), 0);
            }
        });
        let latencies = self.batch(lane, gates).await;
        load.abort();
        latencies
    }

    /// What one event costs that no gate waits for: a burst of them, and the gate behind it.
    pub(crate) async fn burst(&mut self, lane: &'static str) -> Result<Duration, BoxError> {
        if self.left(lane) == 0 {
            self.end_rollouts().await?;
            self.renew().await?;
        }
        let (set, ordinal) = self.next_gate(lane);
        {
            let mut world = self.service.world();
            for (_, other) in (0..BURST).zip((0..self.sets).cycle()) {
                world.touch(&key(lane, other), 0);
            }
            world.make_ready(&key(lane, set), ordinal);
        }
        let began = Instant::now();
        let arrival = self.arrival(lane, set, ordinal as u64 - 1).await?;
        self.settle(lane).await?;
        Ok(arrival.at.saturating_duration_since(began) / BURST)
    }

    /// Nothing is written while nothing happens that a gate waits for; and the daemon is as it should be.
    pub(crate) async fn finish(mut self) -> Result<(), BoxError> {
        // A large cluster is left in the middle: a set waits there as quietly as at rest.
        if self.sets <= 100 {
            self.end_rollouts().await?;
        }
        for set in 0..self.sets.min(100) {
            self.service.world().touch(&key(DAEMON, set), 0);
        }
        sleep(QUIET).await;
        self.nothing_more("at rest")?;
        self.end_floor().await?;
        // It may have ended by itself, which is told below.
        let _gone = self.stop.send(());
        let ended = timeout(MISSING, self.daemon).await??;
        let well = |phase: &Phase| matches!(phase, Phase::Healthy | Phase::Progressing);
        if ended.phases.len() != self.sets || !ended.phases.values().all(well) {
            return Err(format!("the daemon ended with {:?}", ended.phases).into());
        }
        Ok(())
    }

    /// How many gates a lane has left in the running rollouts. The one that ends a rollout is none.
    fn left(&self, lane: &'static str) -> usize {
        self.sets * (self.replicas - 1) - self.taken.get(lane).copied().unwrap_or_default()
    }

    /// The set and the pod of a lane's next gate: set by set, so that one has long come to rest when it is next.
    fn next_gate(&mut self, lane: &'static str) -> (usize, usize) {
        let taken = self.taken.entry(lane).or_default();
        let gate = (*taken % self.sets, self.replicas - 1 - *taken / self.sets);
        *taken += 1;
        gate
    }

    /// The PATCH that a Ready pod brings.
    async fn arrival(&mut self, lane: &str, set: usize, partition: u64) -> Result<Arrival, BoxError> {
        let arrival = match timeout(MISSING, self.arrivals.recv()).await {
            Ok(Some(arrival)) => arrival,
            _ => return Err(self.wrong(format!("no PATCH of {lane}/{} to partition {partition}", name(set)))),
        };
        if arrival.key != key(lane, set) || arrival.partition != partition {
            return Err(self.wrong(format!("expected {lane}/{} at partition {partition}, got {arrival:?}", name(set))));
        }
        Ok(arrival)
    }

    /// Lets everybody come to rest, and sees that one PATCH was all.
    async fn settle(&mut self, lane: &str) -> Result<(), BoxError> {
        sleep(SETTLE).await;
        self.nothing_more(lane)
    }

    fn nothing_more(&mut self, when: &str) -> Result<(), BoxError> {
        if let Ok(arrival) = self.arrivals.try_recv() {
            return Err(self.wrong(format!("a write too many ({when}): {arrival:?}")));
        }
        let faults = std::mem::take(&mut self.service.world().faults);
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
    }

    fn wrong(&self, what: String) -> BoxError {
        let mut faults = std::mem::take(&mut self.service.world().faults);
        faults.insert(0, what);
        faults.join("\n").into()
    }

    /// Takes every rollout of the daemon to its end, as fast as it goes.
    async fn end_rollouts(&mut self) -> Result<(), BoxError> {
        while self.left(DAEMON) > 0 {
            let (set, ordinal) = self.next_gate(DAEMON);
            self.service.world().make_ready(&key(DAEMON, set), ordinal);
            self.arrival(DAEMON, set, ordinal as u64 - 1).await?;
        }
        for set in 0..self.sets {
            self.service.world().make_ready(&key(DAEMON, set), 0);
            self.arrival(DAEMON, set, u64::from(PARKED.0)).await?;
        }
        self.until_at_rest().await
    }

    /// Pushes a commit with another template for every set, and waits until each one exposes its first pod.
    async fn renew(&mut self) -> Result<(), BoxError> {
        self.repository.commit()?;
        self.waker.wake();
        let first = self.replicas as u64 - 1;
        self.until(|set| set.partition() == first && set.pods.last().is_some_and(|pod| !pod.ready)).await?;
        self.taken.clear();
        self.end_floor().await?;
        let (mut known, mut waiting) = (HashMap::new(), HashSet::new());
        {
            let mut world = self.service.world();
            world.copy(DAEMON, FLOOR);
            for set in 0..self.sets {
                let held = world.set(&key(FLOOR, set));
                let (uid, record) = (held.text("/metadata/uid").to_owned(), held.record().to_owned());
                let (generation, partition) = (held.generation(), held.partition());
                known.insert(name(set), Known { uid, generation, record, partition });
                waiting.insert(format!("{}-{first}", name(set)));
            }
        }
        self.floor = Some(tokio::spawn(floor::run(self.cluster.client.clone(), FLOOR, known, waiting)));
        while !self.service.world().is_watched(FLOOR) {
            sleep(SETTLE).await;
        }
        Ok(())
    }

    /// Ends the floor program; that it ended by itself is an error.
    async fn end_floor(&mut self) -> Result<(), BoxError> {
        let Some(floor) = self.floor.take() else { return Ok(()) };
        floor.abort();
        match floor.await {
            Ok(ended) => Err(format!("the floor program ended: {ended:?}").into()),
            Err(_aborted) => Ok(()),
        }
    }

    async fn until_at_rest(&mut self) -> Result<(), BoxError> {
        self.until(|set| set.record().contains(r#""done":true"#)).await
    }

    /// Waits until every set of the daemon is so.
    async fn until(&mut self, is_so: impl Fn(&super::world::Set) -> bool) -> Result<(), BoxError> {
        let deadline = Instant::now() + SET_UP;
        loop {
            let so = {
                let world = self.service.world();
                world.sets.iter().filter(|((namespace, _), set)| namespace == DAEMON && is_so(set)).count()
            };
            if so == self.sets {
                break;
            }
            if Instant::now() > deadline || self.daemon.is_finished() {
                return Err(self.wrong(format!("only {so} of {} sets came that far", self.sets)));
            }
            sleep(Duration::from_millis(20)).await;
        }
        // The writes that brought them there, and what the daemon still has to hear of them.
        sleep(Duration::from_millis(100)).await;
        while self.arrivals.try_recv().is_ok() {}
        Ok(())
    }
}

fn key(lane: &str, set: usize) -> (String, String) {
    (lane.to_owned(), name(set))
}
