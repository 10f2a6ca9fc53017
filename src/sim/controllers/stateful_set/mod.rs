//! The StatefulSet controller.
//!
//! One sync is: adopt orphaned revisions, adopt and release pods, find or make the revisions, create, replace and delete
//! pods, write the status, cut the history. It follows `pkg/controller/statefulset` of Kubernetes 1.33.13 and 1.36.3
//! effect by effect, with the gate `MaxUnavailableStatefulSet` off and on, and the tests hold it against that code. 1.37
//! is written after its source and compared with nothing: which reason Progressing=False has there is not known.
//!
//! Left out, because nothing can tell: metrics, logs, and the consistency store of 1.36, which skips syncs until the
//! caches show the controller's own writes (whoever hands out stale caches has to skip them too). Where Go starts
//! several requests at once, or walks a map, the order here is that of the ordinals and of the templates. The data of a
//! revision is compared in the form that Go writes: a store that keeps values knows nothing of spaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

mod build;
mod claims;
mod errors;
mod main_pass;
mod members;
mod pod;
mod pod_control;
mod recreate;
mod retention;
mod revision;
mod revisions;
mod route;
mod set;
mod status;
mod update_loop;

#[cfg(test)]
mod tests;

pub use errors::Errors;
pub use route::{Wake, wakes};

use super::control::{Control, Event, Severity};
use crate::sim::resource::Resource;
use crate::sim::{Compat, Version};
use pod::Pods;
use revision::{Revision, Revisions};
use set::{Set, Strategy};
use status::SetStatus;

/// The controller. What it remembers of a set saves work and decides nothing: a clone remembers nothing.
#[derive(Debug)]
pub struct StatefulSets {
    compat: Compat,
    recreate: bool,
    memory: BTreeMap<(String, String), Memory>,
}

impl Clone for StatefulSets {
    fn clone(&self) -> Self {
        Self { compat: self.compat, recreate: self.recreate, memory: BTreeMap::new() }
    }
}

/// What is remembered of a set between syncs.
#[derive(Debug, Default)]
struct Memory {
    pods: Pods,
    claims: claims::Seen,
    revisions: Revisions,
}

/// What came of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When to look again, whatever happens: the next pod becomes available then.
    pub requeue_after: Option<SignedDuration>,
    /// What failed; the sync is to be tried again, later each time (5 ms, doubled, up to 1000 s).
    pub error: Option<Errors>,
}

impl StatefulSets {
    /// A controller of that version.
    pub fn new(compat: Compat) -> Self {
        Self { compat, recreate: false, memory: BTreeMap::new() }
    }

    /// The same with the gate `StatefulSetRecreateStrategy` open, which 1.37 knows and has closed.
    #[must_use]
    pub fn with_recreate(mut self) -> Self {
        self.recreate = self.compat.version >= Version::V1_37;
        self
    }

    /// Brings one set nearer to what it states.
    pub fn sync(&mut self, control: &mut dyn Control, namespace: &str, name: &str, now: Timestamp) -> Outcome {
        let key = (namespace.to_owned(), name.to_owned());
        let Some(object) = control.cached(Resource::StatefulSets, namespace, name) else {
            self.memory.remove(&key);
            return Outcome::default();
        };
        // A selector that cannot be read will not get better by trying again.
        let Ok(set) = Set::read(object) else { return Outcome::default() };
        let mut memory = self.memory.remove(&key).unwrap_or_default();
        let mut sync =
            Sync { control, set: &set, compat: self.compat, recreate: self.recreate, now, memory: &mut memory };
        let done = sync.run();
        self.memory.insert(key, memory);
        match done {
            Ok(requeue_after) => Outcome { requeue_after, error: None },
            Err(error) => Outcome { requeue_after: None, error: Some(error) },
        }
    }
}

/// One sync of one set.
struct Sync<'a> {
    control: &'a mut dyn Control,
    set: &'a Set,
    compat: Compat,
    recreate: bool,
    now: Timestamp,
    memory: &'a mut Memory,
}

impl Sync<'_> {
    /// Mirrors `sync` and `syncStatefulSet` in `stateful_set.go`.
    fn run(&mut self) -> Result<Option<SignedDuration>, Errors> {
        self.adopt_revisions()?;
        let pods = self.claim_pods()?;
        self.look_at_claims();
        let status = self.update(&pods)?;
        Ok(self.next_look(&pods, &status))
    }

    /// Mirrors `UpdateStatefulSet` in `stateful_set_control.go`: whatever happens, the history is cut.
    fn update(&mut self, pods: &[Arc<pod::Pod>]) -> Result<SetStatus, Errors> {
        let revisions = self.list_revisions();
        let (live, done) = match self.find_revisions(&revisions) {
            Err(error) => (Vec::new(), Err(error)),
            Ok(found) => {
                let live = vec![found.current.name.clone(), found.update.name.clone()];
                (live, self.perform(pods, &found))
            }
        };
        let cut = self.truncate_history(pods, &revisions, &live);
        match (done, cut) {
            (Ok(status), Ok(())) => Ok(status),
            (Ok(_), Err(cut)) => Err(cut.into()),
            (Err(error), Ok(())) => Err(error),
            (Err(error), Err(cut)) => Err(error.and(cut.into())),
        }
    }

    /// Mirrors `performUpdate`: the status is written even where the pass failed.
    fn perform(&mut self, pods: &[Arc<pod::Pod>], found: &Found) -> Result<SetStatus, Errors> {
        let (mut status, done) = self.main_pass(pods, found)?;
        let written = self.write_status(&mut status);
        done.and(written).map(|()| status)
    }

    /// When the next pod becomes available.
    ///
    /// Mirrors `syncStatefulSet`: 1.33 looks again after all of minReadySeconds, 1.36 when a pod is due.
    fn next_look(&self, pods: &[Arc<pod::Pod>], status: &SetStatus) -> Option<SignedDuration> {
        let whole = SignedDuration::from_secs(self.set.min_ready);
        if self.set.min_ready <= 0 {
            return None;
        }
        if self.compat.version == Version::V1_33 {
            return (status.available != self.set.replicas).then_some(whole);
        }
        let due = |pod: &Arc<pod::Pod>| {
            let since = pod.ready_since.filter(|_| pod.ready)?;
            Some(since.checked_add(whole).ok()?.duration_since(self.now)).filter(SignedDuration::is_positive)
        };
        (status.ready != status.available).then(|| pods.iter().filter_map(due).min().unwrap_or(whole))
    }

    fn tell(&mut self, severity: Severity, reason: &'static str, message: String) {
        self.control.event(&self.set.object, Event { severity, reason, message });
    }
}

/// The revisions that a sync works with.
struct Found {
    current: Arc<Revision>,
    update: Arc<Revision>,
    collision_count: i32,
}

impl Found {
    /// The template of one side, as its revision has it.
    fn template(&self, update: bool) -> &Value {
        if update { self.update.template() } else { self.current.template() }
    }
}
