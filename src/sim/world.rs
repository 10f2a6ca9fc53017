//! The cluster as a whole: requests in, answers out, and all that happens by itself as time passes.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::agenda::Agenda;
use super::api;
use super::api::watch::{Poll, Watch};
use super::chance::Chance;
use super::compat::{Compat, Version};
use super::kubelet::{Pace, Script};
use super::life::{Life, Task};
use super::request::{Answer, Request};
use super::store::{Key, Store};

/// What happens by itself at one moment at most: a loop that never rests is cut off.
const MOST_STEPS: usize = 1_000_000;

/// What a cluster begins with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which Kubernetes it behaves like.
    pub compat: Compat,
    /// From which everything follows that is left to chance.
    pub seed: u64,
    /// The time at which it begins.
    pub start: Timestamp,
    /// How fast pods start and end.
    pub pace: Pace,
    /// What goes wrong with which pod, from the start on.
    pub script: Script,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compat: Compat::of(Version::V1_36),
            seed: 0,
            start: Timestamp::UNIX_EPOCH,
            pace: Pace::default(),
            script: Script::default(),
        }
    }
}

/// An embedded cluster. It has no clock: whoever asks it says what time it is.
#[derive(Debug)]
pub struct World {
    #[allow(dead_code, reason = "asked from the first defaulting on")]
    pub(crate) compat: Compat,
    pub(crate) store: Store,
    pub(crate) chance: Chance,
    pub(crate) now: Timestamp,
    pub(crate) agenda: Agenda<Task>,
    /// What acts by itself.
    pub(crate) life: Life,
    /// Up to which change it has been told.
    pub(crate) told: u64,
}

impl World {
    /// A cluster with its namespaces and nothing in them.
    pub fn new(settings: &Settings) -> Self {
        let mut world = Self {
            compat: settings.compat,
            store: Store::default(),
            chance: Chance::new(settings.seed),
            now: settings.start,
            agenda: Agenda::default(),
            life: Life::new(settings.pace),
            told: 0,
        };
        api::furnish(&mut world);
        world.play(settings.script.clone());
        world.tell();
        world
    }

    /// Answers a request at that time. Time does not run backwards: an earlier one counts as the latest known.
    pub fn handle(&mut self, now: Timestamp, request: &Request) -> Answer {
        self.advance(now);
        let answer = api::handle(self, request);
        self.tell();
        answer
    }

    /// The lines that a watch has to tell since it was last asked.
    pub fn poll(&mut self, now: Timestamp, watch: &mut Watch) -> Poll {
        self.advance(now);
        watch.poll(self)
    }

    /// Lets everything happen that is due by then.
    pub fn advance(&mut self, now: Timestamp) {
        for _ in 0..MOST_STEPS {
            let Some((at, task)) = self.agenda.take(now) else { break };
            self.now = self.now.max(at);
            self.run(task);
            self.tell();
        }
        self.now = self.now.max(now);
    }

    /// When something will happen by itself next; none: never, unless it is asked something.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.agenda.next()
    }

    /// The newest resource version: as long as it stays, no watch has anything new to tell.
    pub fn version(&self) -> u64 {
        self.store.version()
    }

    /// An object.
    pub fn object(&self, key: &Key) -> Option<&Arc<Value>> {
        self.store.get(key)
    }

    /// Puts a task down for later.
    pub(crate) fn later(&mut self, wait: SignedDuration, task: Task) {
        let at = self.now.checked_add(wait).unwrap_or(Timestamp::MAX);
        self.agenda.add(at, task);
    }
}
