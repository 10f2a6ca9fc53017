//! A small model world: Git, one StatefulSet with its controller and kubelet, other actors, and the daemon; virtual
//! seconds, no randomness but a seed's.

mod actors;
mod cluster;
mod controller;
mod daemon;
mod git;
mod kubelet;
mod monitor;
mod server;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use phaseline::model::Plan;

pub(super) use cluster::{Cluster, Pod, View};
pub(super) use daemon::{Daemon, Mutant};
pub(super) use git::Git;
pub(super) use kubelet::Behaviour;
pub(super) use monitor::Monitor;

use super::bench::T0;

/// What goes wrong between the daemon and the server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// Of 100 writes, how many are lost before they are committed.
    pub(super) lost: u32,
    /// Of 100 writes, how many are committed and not answered.
    pub(super) unanswered: u32,
    /// Of 100 looks, how many see an older view than the newest.
    pub(super) stale: u32,
    /// Of 100 steps, how many restart the daemon.
    pub(super) restarts: u32,
}

/// Everything there is.
pub(super) struct World {
    /// Virtual seconds since the start.
    pub(super) now: i64,
    pub(super) rng: fastrand::Rng,
    /// Whether delays vary.
    pub(super) varies: bool,
    pub(super) git: Git,
    pub(super) cluster: Cluster,
    pub(super) behaviours: BTreeMap<char, Behaviour>,
    pub(super) daemon: Daemon,
    pub(super) faults: Faults,
    pub(super) monitor: Monitor,
    /// States of the server, oldest first; the last is the truth. With the number of the first.
    pub(super) views: VecDeque<Rc<View>>,
    pub(super) first_view: u64,
    pub(super) trace: Vec<String>,
    pub(super) tracing: bool,
}

impl World {
    /// A world before the first install: one commit with template A.
    pub(super) fn new(seed: u64, replicas: Option<u32>, plan: Plan) -> Self {
        let mut world = Self {
            now: 0,
            rng: fastrand::Rng::with_seed(seed),
            varies: false,
            git: Git::new(replicas, plan),
            cluster: Cluster::default(),
            behaviours: BTreeMap::new(),
            daemon: Daemon::default(),
            faults: Faults::default(),
            monitor: Monitor::default(),
            views: VecDeque::new(),
            first_view: 0,
            trace: Vec::new(),
            tracing: true,
        };
        world.look();
        world
    }

    /// The moment as the planner sees it.
    pub(super) fn at(&self) -> i64 {
        T0 + self.now
    }

    /// Writes a line of the trace.
    pub(super) fn say(&mut self, who: &str, what: impl FnOnce() -> String) {
        if self.tracing {
            let line = format!("{:>5}s {who:<8} {}", self.now, what());
            self.trace.push(line);
        }
    }

    /// The number of the newest view.
    pub(super) fn newest(&self) -> u64 {
        self.first_view + self.views.len() as u64 - 1
    }

    /// Takes a new view if anything changed.
    pub(super) fn look(&mut self) {
        let same = self.views.back().is_some_and(|view| view.rv == self.cluster.rv);
        if !same {
            self.views.push_back(Rc::new(self.cluster.view()));
            while self.views.len() > 24 {
                self.views.pop_front();
                self.first_view += 1;
            }
        }
    }

    /// One second passes everywhere: kubelet, controller, daemon, each until it rests.
    pub(super) fn second(&mut self) {
        self.now += 1;
        self.settle();
    }

    /// Everybody acts until nobody has anything to do at this moment.
    pub(super) fn settle(&mut self) {
        for _ in 0..200 {
            let mut moved = self.kubelet();
            moved |= self.controller();
            self.look();
            moved |= self.daemon_round();
            self.look();
            if !moved {
                return;
            }
        }
        self.monitor.fail("livelock: nobody comes to rest within a second");
    }

    /// Lets that many seconds pass.
    pub(super) fn run(&mut self, seconds: i64) -> &mut Self {
        for _ in 0..seconds {
            self.second();
        }
        self
    }

    /// Lets time pass until something holds, for at most an hour.
    pub(super) fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> &mut Self {
        for _ in 0..3600 {
            if holds(self) {
                return self;
            }
            self.second();
        }
        panic!("never: {what}\n{}", self.trace.join("\n"));
    }

    /// The next moment at which anything happens by itself; none when nothing does.
    pub(super) fn next_event(&self) -> Option<i64> {
        let pods = self.cluster.pods.values().filter_map(|pod| pod.gone_at.or(Some(pod.next)));
        let available = self.cluster.set.as_ref().map_or(0, |set| i64::from(set.min_ready));
        let ready = self.cluster.pods.values().filter(|pod| pod.ready).map(|pod| pod.ready_since + available);
        pods.chain(ready).chain(self.daemon.requeue).filter(|at| *at > self.now && *at < i64::MAX / 2).min()
    }
}
