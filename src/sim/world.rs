//! The cluster as a whole: requests in, answers out, and all that happens by itself as time passes.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::agenda::Agenda;
use super::api;
use super::api::watch::{Poll, Watch};
use super::chance::Chance;
use super::compat::{Compat, Version};
use super::fault::{self, Door, Faults, Spoilt};
use super::kubelet::{Pace, Script};
use super::life::{Life, Task};
use super::monitor::{Monitor, Told, Violation, Write};
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
    /// What goes wrong at the API's door.
    pub faults: Faults,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compat: Compat::of(Version::V1_36),
            seed: 0,
            start: Timestamp::UNIX_EPOCH,
            pace: Pace::default(),
            script: Script::default(),
            faults: Faults::default(),
        }
    }
}

/// An embedded cluster. It has no clock: whoever asks it says what time it is.
#[derive(Debug)]
pub struct World {
    pub(crate) compat: Compat,
    pub(crate) store: Store,
    pub(crate) chance: Chance,
    pub(crate) now: Timestamp,
    pub(crate) agenda: Agenda<Task>,
    /// What acts by itself.
    pub(crate) life: Life,
    /// Up to which change it has been told.
    pub(crate) told: u64,
    /// What goes wrong with requests.
    door: Door,
    /// What must not happen.
    pub(crate) monitor: Monitor,
}

impl World {
    /// A cluster with its namespaces and nothing in them.
    pub fn new(settings: &Settings) -> Self {
        let mut world = Self {
            compat: settings.compat,
            store: Store::beginning(settings.compat.first_version()),
            chance: Chance::new(settings.seed),
            now: settings.start,
            agenda: Agenda::default(),
            life: Life::new(settings.pace, settings.compat),
            told: 0,
            door: Door::new(settings.seed),
            monitor: Monitor::default(),
        };
        api::furnish(&mut world);
        world.go_wrong(settings.faults.clone());
        world.play(settings.script.clone());
        world.tell();
        world
    }

    /// Answers a request at that time. Time does not run backwards: an earlier one counts as the latest known.
    pub fn handle(&mut self, now: Timestamp, request: &Request) -> Answer {
        self.advance(now);
        self.monitor.asked(request, self.now);
        let fault = self.door.fault(request, self.now);
        if let Some(refused) = fault.and_then(fault::before) {
            return refused;
        }
        let answer = self.answer(request);
        match fault {
            None => answer,
            Some(fault) => fault::after(fault, answer),
        }
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let written = if fault::is_write(request) { api::names(&request.path) } else { None };
        let before = written.as_ref().and_then(|(key, _)| self.store.get(key).cloned());
        let answer = self.carry_out(request);
        // Changes come first: what the write itself made is news to nobody who judges it by what was before.
        if let (Some((key, part)), Answer::Whole(response)) = (&written, &answer) {
            let after = self.store.get(key).cloned();
            let done = response.code < 300;
            let write = Write { request, key, part: *part, before, after, done };
            self.monitor.wrote(&write, &self.store, self.now);
        }
        self.tell();
        answer
    }

    fn carry_out(&mut self, request: &Request) -> Answer {
        // One object is always read as it is; lists and watches may come from a server whose cache lags behind.
        let lists = request.method == "GET" && request.parameter("resourceVersion").is_some();
        let past = if lists { self.past(&request.user) } else { None };
        let newest = past.map(|past| std::mem::replace(&mut self.store, past));
        let mut answer = api::handle(self, request);
        if let Some(newest) = newest {
            self.store = newest;
        }
        if let Answer::Watch(watch) = &mut answer {
            watch.user.clone_from(&request.user);
        }
        answer
    }

    /// What a user sees whose view lags behind.
    fn past(&self, user: &str) -> Option<Store> {
        let version = self.door.shows(user, self.store.version(), self.now)?;
        self.store.at(version)
    }

    /// The lines that a watch has to tell since it was last asked.
    pub fn poll(&mut self, now: Timestamp, watch: &mut Watch) -> Poll {
        self.advance(now);
        if let Some(poll) = watch.held(self.now) {
            return poll;
        }
        let mut poll = match self.past(&watch.user) {
            None => watch.poll(self),
            Some(past) => {
                let newest = std::mem::replace(&mut self.store, past);
                let mut poll = watch.poll(self);
                self.store = newest;
                let caught_up = self.door.catches_up(&watch.user, self.now);
                poll.again = poll.again.into_iter().chain(caught_up).min();
                poll
            }
        };
        if poll.lines.is_empty() {
            return poll;
        }
        match self.door.spoil(&watch.user, &mut poll.lines, self.now) {
            Spoilt::Told => poll,
            Spoilt::Ended => Poll { ended: true, ..poll },
            Spoilt::Later(until) => watch.hold(poll, until),
        }
    }

    /// From now on this goes wrong with requests, and writes count from 1.
    pub fn go_wrong(&mut self, faults: Faults) {
        self.door.set(faults);
    }

    /// What must not happen and did, by the invariants of a rollout.
    pub fn violations(&self) -> &[Violation] {
        self.monitor.violations()
    }

    /// Tells the monitors what no request shows.
    pub fn note(&mut self, now: Timestamp, told: Told) {
        self.advance(now);
        self.monitor.note(told, self.now);
    }

    /// Lets the monitors look at how it is now: what stays as it is makes no news of its own.
    pub fn judge(&mut self, now: Timestamp) {
        self.advance(now);
        self.monitor.judge(self.now);
    }

    /// Says that everything is where it should be, or no longer: whatever the daemon writes while it is, is a violation.
    pub fn at_rest(&mut self, rest: bool) {
        self.monitor.quiet = rest;
    }

    /// Says that a commit gives claims up in words.
    pub fn give_up_claims(&mut self) {
        self.monitor.claims_may_go = true;
    }

    /// How many writes of a user came to the door since it was last told what goes wrong.
    pub fn writes(&self, user: &str) -> u64 {
        self.door.writes(user)
    }

    /// How many requests and watches met a fault so far.
    pub fn hits(&self) -> u64 {
        self.door.hits()
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

    /// Forgets what changed up to now, as a real server lets its store do every five minutes: lists and watches of what
    /// was before are refused. (A real server answers watches from its cache for longer.)
    pub fn forget(&mut self) {
        self.store.compact(self.store.version());
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
