//! One daemon: its view of Git, its clock, and its life.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use phaseline::clock::Clock;
use phaseline::cluster::Cluster;
use phaseline::daemon::{self, Listener, News, RunOptions, Said, Scope, Source, Tip, What};
use phaseline::git::{Place, Waker, Wakes};
use phaseline::model::CommitId;
use phaseline::sim::Told;
use phaseline::sim::serve::Embedded;
use tokio::task::JoinHandle;

/// How often a daemon asks the repository, woken or not.
const POLL: Duration = Duration::from_secs(20);

/// What was said, when it really was, and by whom.
pub(crate) type Heard = Arc<Mutex<Vec<(Timestamp, &'static str, News)>>>;

/// A daemon, or the place of one that is dead.
pub(crate) struct Seat {
    /// As which it comes to the door.
    pub(crate) user: &'static str,
    /// What it takes for the time.
    clock: Clock,
    /// The commit that its remote names.
    pub(crate) tip: Tip,
    /// Whether its remote follows the branch.
    pub(crate) follows: bool,
    /// The namespaces that it watches; none: all.
    pub(crate) namespaces: Vec<String>,
    life: Option<Living>,
    heard: Heard,
}

/// What runs.
struct Living {
    daemon: JoinHandle<daemon::Ended>,
    polls: JoinHandle<()>,
    waker: Waker,
}

impl Drop for Living {
    fn drop(&mut self) {
        self.daemon.abort();
        self.polls.abort();
    }
}

impl Seat {
    /// A place whose remote names a commit.
    pub(crate) fn new(user: &'static str, clock: Clock, tip: CommitId, heard: &Heard) -> Self {
        Self {
            user,
            clock,
            tip: Tip::new(tip),
            follows: true,
            namespaces: Vec::new(),
            life: None,
            heard: heard.clone(),
        }
    }

    pub(crate) fn lives(&self) -> bool {
        self.life.is_some()
    }

    /// A daemon begins.
    pub(crate) fn begin(&mut self, embedded: &Embedded, repo: &Path) {
        let scope = Scope { default_namespace: "default".into(), only: Vec::new() };
        let source = Source::in_place(Place::At(repo), "", scope).unwrap().at(self.tip.clone());
        let wakes = Wakes::by_hand();
        let waker = wakes.waker();
        let listener = self.listener(embedded);
        let namespaces = self.namespaces.clone();
        let options = RunOptions { clock: self.clock, listener: Some(listener), namespaces, ..RunOptions::default() };
        let cluster = Cluster::from_service(embedded.service(self.user));
        let daemon = tokio::spawn(daemon::run(cluster, source, Some(wakes), options, std::future::pending()));
        let polls = tokio::spawn({
            let waker = waker.clone();
            async move {
                loop {
                    tokio::time::sleep(POLL).await;
                    waker.wake();
                }
            }
        });
        self.life = Some(Living { daemon, polls, waker });
    }

    /// Keeps what is said, and tells the monitors.
    fn listener(&self, embedded: &Embedded) -> Listener {
        let (heard, embedded, by) = (self.heard.clone(), embedded.clone(), self.user);
        Listener::new(move |news| {
            if let What::Is(Said { phase, reason, .. }) = &news.what {
                let (namespace, name) = (news.workload.namespace.clone(), news.workload.name.clone());
                let told = Told::Said { by: by.into(), namespace, name, phase: *phase, reason: *reason };
                embedded.with(|world, now| world.note(now, told));
            }
            heard.lock().unwrap().push((embedded.clock().now(), by, news));
        })
    }

    /// It is killed, as it stands. Whether it lived.
    pub(crate) fn kill(&mut self) -> bool {
        self.life.take().is_some()
    }

    /// Its remote names a commit from now on; it is woken where somebody wakes it.
    pub(crate) fn shows(&self, tip: &CommitId, wakes: bool) {
        self.tip.set(tip.clone());
        if let (Some(life), true) = (&self.life, wakes) {
            life.waker.wake();
        }
    }
}
