//! Listens to a rollout: every change of a pod, every word of the daemon, in one order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use super::failures::Trouble;
use crate::cli::output::simulation::{Entry, Who};
use crate::daemon::{News, Said, What};
use crate::model::{StageView, WorkloadId};
use crate::sim::serve::Embedded;
use crate::sim::{Blow, Change, Resource, Stroke};

mod pods;

/// Events that are kept; what comes later is counted only.
const MOST_ENTRIES: usize = 100_000;

/// What was heard so far. All handles share it.
#[derive(Clone)]
pub(super) struct Listening {
    embedded: Embedded,
    heard: Arc<Mutex<Heard>>,
}

/// What was heard.
#[derive(Default)]
pub(super) struct Heard {
    /// When the rollout began; none before.
    pub(super) began: Option<Timestamp>,
    /// Up to which version the cluster's changes were taken in.
    version: u64,
    /// What happened.
    pub(super) entries: Vec<Entry>,
    /// How many events were too many.
    pub(super) left_out: usize,
    /// The workloads.
    pub(super) sets: BTreeMap<WorkloadId, Tally>,
    /// Strokes of the script, and whom they struck first when.
    pub(super) strokes: Vec<(Stroke, Option<(Timestamp, String)>)>,
}

/// What was heard of one workload.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// `spec.replicas`.
    pub(super) replicas: u32,
    /// `status.updateRevision`.
    pub(super) revision: String,
    /// Its pods: whether Ready, and the revision.
    pub(super) pods: BTreeMap<String, (bool, String)>,
    /// From when on how many were not Ready.
    pub(super) steps: Vec<(Timestamp, u32)>,
    /// What the daemon said, and when.
    pub(super) said: Vec<(Timestamp, Said)>,
    /// What the daemon wrote, and when.
    pub(super) wrote: Vec<(Timestamp, String)>,
}

impl Tally {
    /// Pods that are Ready.
    pub(super) fn ready(&self) -> u32 {
        u32::try_from(self.pods.values().filter(|(ready, _)| *ready).count()).unwrap_or(u32::MAX)
    }

    /// Pods that run the set's update revision.
    pub(super) fn updated(&self) -> u32 {
        let updated = self.pods.values().filter(|(_, revision)| *revision == self.revision);
        u32::try_from(updated.count()).unwrap_or(u32::MAX)
    }

    /// What was said last, and since when its phase and reason are these.
    pub(super) fn last(&self) -> Option<(Timestamp, &Said)> {
        let (at, last) = self.said.last()?;
        let same = |(_, said): &&(Timestamp, Said)| (said.phase, said.reason) == (last.phase, last.reason);
        let since = self.said.iter().rev().take_while(same).last().map_or(*at, |(at, _)| *at);
        Some((since, last))
    }

    fn count(&mut self, now: Timestamp) {
        let missing = self.replicas.saturating_sub(self.ready());
        match self.steps.last_mut() {
            Some((_, last)) if *last == missing => {}
            Some((at, last)) if *at == now => *last = missing,
            _ => self.steps.push((now, missing)),
        }
    }
}

impl Listening {
    /// Begins to listen to a cluster: what is there counts as known.
    pub(super) fn to(embedded: &Embedded) -> Self {
        let listening = Self { embedded: embedded.clone(), heard: Arc::default() };
        listening.take_in();
        listening
    }

    /// What was heard so far.
    pub(super) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is the rollout that is heard.
    pub(super) fn begin(&self, trouble: &Trouble) {
        self.take_in();
        let now = self.embedded.clock().now();
        let mut heard = self.heard();
        heard.began = Some(now);
        heard.strokes = trouble.script.strokes.iter().map(|stroke| (stroke.clone(), None)).collect();
        for tally in heard.sets.values_mut() {
            tally.steps.clear();
            tally.wrote.clear();
            tally.said.drain(..tally.said.len().saturating_sub(1));
            tally.count(now);
        }
    }

    /// Takes changes in, as they come.
    pub(super) async fn follow(&self) {
        loop {
            let mut changed = std::pin::pin!(self.embedded.changed());
            // From here on no change is missed.
            changed.as_mut().enable();
            self.take_in();
            changed.await;
        }
    }

    /// Takes in what changed up to now.
    pub(super) fn take_in(&self) {
        let from = self.heard().version;
        let (now, news) = self.embedded.with(|world, now| (now, world.news(from)));
        let mut heard = self.heard();
        if heard.version != from {
            return;
        }
        heard.version = news.version;
        for change in news.changes.into_iter().flatten() {
            heard.change(now, &change);
        }
    }

    /// Takes in what the daemon says.
    pub(super) fn hear(&self, news: News) {
        self.take_in();
        self.heard().news(news);
    }

    /// Something that a person or Git did.
    pub(super) fn note(&self, who: Who, workload: Option<&WorkloadId>, what: String) {
        let now = self.embedded.clock().now();
        let workload = workload.map(ToString::to_string).unwrap_or_default();
        self.heard().add(now, Entry { seconds: 0.0, who, workload, pod: String::new(), what, ordinary: false });
    }
}

impl Heard {
    /// Seconds from the begin on.
    pub(super) fn seconds(&self, at: Timestamp) -> f64 {
        let began = self.began.unwrap_or(at);
        // Whole milliseconds: what is finer is of no interest, and would not be printed the same everywhere.
        let milliseconds = at.duration_since(began).as_millis();
        i32::try_from(milliseconds).map_or(f64::from(i32::MAX) / 1e3, |it| f64::from(it) / 1e3)
    }

    fn add(&mut self, now: Timestamp, entry: Entry) {
        if self.began.is_none() {
            return;
        }
        if self.entries.len() >= MOST_ENTRIES {
            self.left_out += 1;
            return;
        }
        let seconds = self.seconds(now);
        self.entries.push(Entry { seconds, ..entry });
    }

    fn change(&mut self, now: Timestamp, change: &Change) {
        match change.key.resource {
            Resource::StatefulSets => {
                let tally = self.sets.entry(WorkloadId::new(&*change.key.namespace, &*change.key.name)).or_default();
                let number = change.object.pointer("/spec/replicas").and_then(Value::as_u64);
                tally.replicas = number.and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
                let revision = change.object.pointer("/status/updateRevision").and_then(Value::as_str);
                revision.unwrap_or_default().clone_into(&mut tally.revision);
                tally.count(now);
            }
            Resource::Pods => self.pod(now, change),
            _ => {}
        }
    }

    fn pod(&mut self, now: Timestamp, change: &Change) {
        let Some((set, _)) = change.key.name.rsplit_once('-') else { return };
        let workload = WorkloadId::new(&*change.key.namespace, set);
        let tally = self.sets.entry(workload.clone()).or_default();
        let name = change.key.name.clone();
        match change.gone {
            true => {
                tally.pods.remove(&name);
            }
            false => {
                let state = (pods::is_there(&change.object), pods::revision(&change.object).to_owned());
                tally.pods.insert(name.clone(), state);
            }
        }
        tally.count(now);
        let passed = self.began.map(|began| now.duration_since(began));
        let mut struck = Vec::new();
        for (stroke, hit) in self.strokes.iter_mut().filter(|(_, hit)| hit.is_none()) {
            let due = passed.is_some_and(|passed| passed >= stroke.from);
            if due && !change.gone && pods::is_meant(stroke, &change.object) && pods::shows(stroke.blow, change) {
                *hit = Some((now, name.clone()));
                struck.push(stroke.blow);
            }
        }
        let entry = |who, what: String, ordinary| Entry {
            seconds: 0.0,
            who,
            workload: workload.to_string(),
            pod: name.clone(),
            what,
            ordinary,
        };
        for blow in struck.into_iter().filter(|blow| !matches!(blow, Blow::SlowStart(_))) {
            self.add(now, entry(Who::Fault, format!("{blow} strikes"), false));
        }
        let revision = self.sets.get(&workload).map(|tally| tally.revision.clone()).unwrap_or_default();
        for (what, ordinary) in pods::events(change, &revision) {
            self.add(now, entry(Who::Pod, what, ordinary));
        }
    }

    fn news(&mut self, news: News) {
        let News { at, workload, what } = news;
        let entry = |who, what: String| Entry {
            seconds: 0.0,
            who,
            workload: workload.to_string(),
            pod: String::new(),
            what,
            ordinary: false,
        };
        match what {
            What::Is(said) => {
                let before = self.sets.get(&workload).and_then(|tally| tally.said.last()).map(|(_, said)| said.clone());
                let place = |said: &Said| said.stage.as_ref().map(|stage| (stage.number, stage.partition));
                if let Some(stage) = &said.stage
                    && before.as_ref().and_then(place) != place(&said)
                {
                    self.add(at, entry(Who::Stage, stage_words(stage)));
                }
                let headline = |said: &Said| (said.phase, said.reason, trouble(said), said.message.clone());
                if before.as_ref().map(headline) != Some(headline(&said)) {
                    self.add(at, entry(Who::Daemon, said_words(&said)));
                }
                self.sets.entry(workload).or_default().said.push((at, said));
            }
            What::Wrote { action, failed: None } => {
                self.add(at, entry(Who::Daemon, action.clone()));
                self.sets.entry(workload).or_default().wrote.push((at, action));
            }
            What::Wrote { action, failed: Some(why) } => self.add(at, entry(Who::Daemon, format!("{action}: {why}"))),
        }
    }
}

/// The pod to blame and its trouble, where it is more than that it is on its way.
fn trouble(said: &Said) -> String {
    if said.culprit.ends_with(": NotReady") { String::new() } else { said.culprit.clone() }
}

/// A stage in words.
fn stage_words(stage: &StageView) -> String {
    let pods = if stage.count == 1 { "pod" } else { "pods" };
    format!("{}: partition {}, {} {pods}", stage_name(stage), stage.partition, stage.count)
}

/// `2/3 third`.
pub(super) fn stage_name(stage: &StageView) -> String {
    let name = if stage.name.is_empty() { String::new() } else { format!(" {}", stage.name) };
    format!("{}/{}{name}", stage.number, stage.of)
}

fn said_words(said: &Said) -> String {
    let mut words = format!("{} ({})", said.phase, said.reason);
    for more in [&trouble(said), &said.message].into_iter().filter(|more| !more.is_empty()) {
        words.push_str(": ");
        words.push_str(more);
    }
    words
}
