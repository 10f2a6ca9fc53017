//! The view: every set and pod as last shown, and how well it is seen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::watch::{Change, ClusterEvent, Kind, Source};
use super::wire::version_number;
use crate::model::{LiveSet, Observed, Ordinal, Pace, Pod, Pods, Progress, Sight, WorkloadId};

/// Sets and pods by name, and how fresh they are.
///
/// Between two lists versions of an object only rise: one with a lower resourceVersion than the one held is an echo of
/// the past and is passed over. A full list replaces everything: a server that was restored from a backup, or another
/// one behind the same name, counts from somewhere else. Only a write of ours that was answered after the list was asked
/// for stays: the list may not know it yet.
#[derive(Debug)]
pub struct Store {
    sets: BTreeMap<WorkloadId, LiveSet>,
    pods: BTreeMap<WorkloadId, Pods>,
    /// The version at which each set was first seen with its generation, or of our last write to it.
    written: BTreeMap<WorkloadId, u64>,
    /// Up to which of these versions pods were read beside the watch.
    read: BTreeMap<WorkloadId, u64>,
    /// Our last write to each set, until its watch has told it too.
    own: BTreeMap<WorkloadId, Own>,
    sources: BTreeMap<Source, Freshness>,
}

/// What is known of one watch.
#[derive(Debug, Default)]
struct Freshness {
    /// When it last said anything; none before its first list.
    heard: Option<Instant>,
    /// The version up to which it has told everything.
    version: u64,
    /// Why it says nothing; none while it does.
    lost: Option<Lost>,
}

/// Why a watch says nothing.
#[derive(Debug)]
struct Lost {
    since: Instant,
    error: String,
    forbidden: bool,
}

/// A write of ours that was answered, and not yet told by the watch.
#[derive(Debug)]
struct Own {
    uid: String,
    version: u64,
    at: Instant,
}

/// Silence of a watch after which nothing is decided on what it said: bookmarks come about once a minute, and a watch
/// that is silent for two is begun anew.
const STALE_AFTER: Duration = Duration::from_secs(150);
/// How long a watch may be lost before its workloads are said to be out of sight: a connection breaks now and then.
const LOST_SAID: Duration = Duration::from_secs(10);
/// The same where a right is missing: an API server that has just been started denies everybody for a moment.
const FORBIDDEN_SAID: Duration = Duration::from_secs(3);
/// How long the watch may take to tell what we have written ourselves: what is later does not come any more.
const OWN_WRITE_LATE: Duration = Duration::from_secs(20);

/// How well a workload is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InSight {
    /// Not every watch of it has told everything once: what is missing and what is new look alike.
    Unseen,
    /// As it is.
    Clear,
    /// As it was: nothing is to be decided on it, for nothing was heard for so long.
    Stale(Duration),
    /// A right is missing to see it, and which.
    Forbidden(String),
}

/// How a watch is, as far as the looks at its workloads depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It tells what happens.
    Fine,
    /// It does not at the moment: nothing is decided on it.
    Blind,
    /// It does not for so long that its workloads are to be said to be out of sight.
    Lost,
}

impl Freshness {
    /// How it is; and when that will be worse, if nothing is heard.
    fn health(&self, now: Instant) -> (Health, Option<Instant>) {
        let stale = self.heard.map(|heard| heard + STALE_AFTER);
        let said = self.lost.as_ref().map(|lost| {
            lost.since
                + match lost.forbidden {
                    true => FORBIDDEN_SAID,
                    false => LOST_SAID,
                }
        });
        let turns = stale.into_iter().chain(said).min();
        match turns {
            Some(turn) if turn <= now => (Health::Lost, None),
            Some(turn) => (if self.lost.is_some() { Health::Blind } else { Health::Fine }, Some(turn)),
            None => (Health::Fine, None),
        }
    }
}

impl Store {
    /// An empty view of all namespaces, or of those given.
    pub fn new(namespaces: &[String]) -> Self {
        let sources = Source::all(namespaces).into_iter().map(|source| (source, Freshness::default())).collect();
        Self {
            sets: BTreeMap::new(),
            pods: BTreeMap::new(),
            written: BTreeMap::new(),
            read: BTreeMap::new(),
            own: BTreeMap::new(),
            sources,
        }
    }

    /// Takes in what a watch said, and tells which workloads look different now.
    pub fn apply(&mut self, event: ClusterEvent, now: Instant) -> BTreeSet<WorkloadId> {
        let ClusterEvent { source, change } = event;
        let freshness = self.sources.entry(source.clone()).or_default();
        if let Change::Lost { error, forbidden, permanent: _ } = change {
            let since = freshness.lost.take().map_or(now, |lost| lost.since);
            freshness.lost = Some(Lost { since, error, forbidden });
            return BTreeSet::new();
        }
        freshness.heard = Some(now);
        freshness.lost = None;
        let version = change.version().and_then(version_number);
        let anew = matches!(change, Change::Sets { .. } | Change::Pods { .. });
        freshness.version = match version {
            // Another server may count from somewhere else.
            Some(version) if anew => version,
            Some(version) => version.max(freshness.version),
            None if anew => 0,
            None => freshness.version,
        };
        if source.kind == Kind::StatefulSets {
            let told = freshness.version;
            self.own.retain(|workload, own| !source.covers(workload) || own.version > told);
        }
        match change {
            Change::Sets { sets, version, asked } => self.all_sets(&source, sets, &version, asked),
            Change::Set { workload, set } => self.set(workload, *set),
            Change::SetGone { workload, uid, version } => self.set_gone(workload, &uid, &version),
            Change::Pods { pods, version: _ } => self.all_pods(&source, pods),
            Change::Pod { workload, pod } => self.pod(workload, *pod),
            Change::PodGone { workload, ordinal, uid, version } => self.pod_gone(workload, ordinal, &uid, &version),
            Change::Heard { .. } | Change::Lost { .. } => BTreeSet::new(),
        }
    }

    /// Takes in the answer to our own write, which came now, so that the view is never older than it.
    pub fn note_write(&mut self, workload: &WorkloadId, set: LiveSet, now: Instant) {
        // What the watch has passed already it has told already, the deletion of the set included.
        let told = self.sources.iter().any(|(source, freshness)| {
            source.kind == Kind::StatefulSets
                && source.covers(workload)
                && version_number(&set.resource_version).is_some_and(|version| version <= freshness.version)
        });
        if !told {
            // A record alone counts too: what it was based on is to be seen again after it.
            if let Some(version) = version_number(&set.resource_version) {
                self.written.insert(workload.clone(), version);
                self.own.insert(workload.clone(), Own { uid: set.uid.clone(), version, at: now });
            }
            self.set(workload.clone(), set);
        }
    }

    /// One workload as the view has it. Whether the view is too old to act on, and what is remembered of earlier
    /// looks, is the caller's to add.
    pub fn observed(&self, workload: &WorkloadId) -> Observed {
        Observed {
            workload: workload.clone(),
            set: self.sets.get(workload).cloned(),
            pods: self.pods.get(workload).cloned().unwrap_or_default(),
            stale_seconds: None,
            forbidden: None,
            pods_behind: self.pods_behind(workload),
            sight: Sight::default(),
            refused: None,
            progress: Progress::default(),
            pace: Pace::default(),
        }
    }

    /// Whether nothing was heard of a workload's pods since its set's spec was last written.
    ///
    /// Watches are streams of their own: that of the pods can be late where that of the sets is not.
    fn pods_behind(&self, workload: &WorkloadId) -> bool {
        let Some(written) = self.written.get(workload) else { return false };
        let late = |(source, freshness): (&Source, &Freshness)| {
            source.kind == Kind::Pods && source.covers(workload) && freshness.version < *written
        };
        self.read.get(workload) != Some(written) && self.sources.iter().any(late)
    }

    /// What a read of pods that begins now will be at least as new as: to be given to [`Store::note_pods`].
    pub fn written(&self, workload: &WorkloadId) -> Option<u64> {
        self.written.get(workload).copied()
    }

    /// Takes in a workload's pods as a list at `version` has them, which was asked for when the set was `written`.
    pub fn note_pods(&mut self, workload: &WorkloadId, pods: Vec<Pod>, version: &str, written: Option<u64>) {
        if let Some(held) = self.pods.get_mut(workload) {
            held.retain(|ordinal, pod| {
                pods.iter().any(|listed| listed.ordinal == *ordinal) || is_older(version, &pod.resource_version)
            });
        }
        for pod in pods {
            self.pod(workload.clone(), pod);
        }
        self.read.extend(written.map(|written| (workload.clone(), written)));
    }

    /// Every workload that has a set or a pod.
    pub fn workloads(&self) -> BTreeSet<&WorkloadId> {
        self.sets.keys().chain(self.pods.keys()).collect()
    }

    /// The set as last shown.
    pub fn set_of(&self, workload: &WorkloadId) -> Option<&LiveSet> {
        self.sets.get(workload)
    }

    /// How well a workload is seen: by its own watches, whatever the others do.
    pub fn sight(&self, workload: &WorkloadId, now: Instant) -> InSight {
        let watches = || self.sources.iter().filter(|(source, _)| source.covers(workload)).map(|(_, it)| it);
        let forbidden = |freshness: &Freshness| {
            let lost = freshness.lost.as_ref().filter(|lost| lost.forbidden)?;
            (freshness.health(now).0 == Health::Lost).then(|| lost.error.clone())
        };
        if let Some(error) = watches().find_map(forbidden) {
            return InSight::Forbidden(error);
        }
        let heard: Option<Vec<Instant>> = watches().map(|freshness| freshness.heard).collect();
        let Some(oldest) = heard.and_then(|heard| heard.into_iter().min()) else { return InSight::Unseen };
        // A watch that is known to be lost shows the past, however short it has been.
        match watches().any(|freshness| freshness.health(now).0 != Health::Fine) {
            true => InSight::Stale(now.saturating_duration_since(oldest)),
            false => InSight::Clear,
        }
    }

    /// How each watch is; and when one of them will be worse than it is, if it goes on saying nothing.
    pub fn health(&self, now: Instant) -> (BTreeMap<Source, Health>, Option<Instant>) {
        let all: Vec<_> = self.sources.iter().map(|(source, freshness)| (source, freshness.health(now))).collect();
        let turns = all.iter().filter_map(|(_, (_, turn))| *turn).min();
        (all.into_iter().map(|(source, (health, _))| (source.clone(), health)).collect(), turns)
    }

    /// Watches that should have told a write of ours by now and have not: their connection may be dead without a word.
    /// Each is named once.
    pub fn doubtful(&mut self, now: Instant) -> BTreeSet<Source> {
        let is_late = |own: &Own| own.at + OWN_WRITE_LATE <= now;
        let sources = || self.sources.keys().filter(|source| source.kind == Kind::StatefulSets);
        let late: Vec<_> = self.own.iter().filter(|(_, own)| is_late(own)).map(|(id, _)| id.clone()).collect();
        let doubtful = sources().filter(|source| late.iter().any(|id| source.covers(id))).cloned().collect();
        self.own.retain(|_, own| !is_late(own));
        doubtful
    }

    /// When the next one would be.
    pub fn next_doubt(&self) -> Option<Instant> {
        self.own.values().map(|own| own.at + OWN_WRITE_LATE).min()
    }

    /// Whether every watch has told everything once, but for those that may not.
    pub fn has_told_all(&self, now: Instant) -> bool {
        let may_not =
            |it: &Freshness| it.health(now).0 == Health::Lost && it.lost.as_ref().is_some_and(|it| it.forbidden);
        self.sources.values().all(|freshness| freshness.heard.is_some() || may_not(freshness))
    }

    /// How long the quietest watch has been silent; `None` until each of them has listed once.
    pub fn view_age(&self, now: Instant) -> Option<Duration> {
        let heard: Option<Vec<_>> = self.sources.values().map(|freshness| freshness.heard).collect();
        heard?.into_iter().map(|heard| now.saturating_duration_since(heard)).max()
    }

    /// The watches that say nothing at the moment, and why.
    pub fn lost(&self) -> impl Iterator<Item = (&Source, &str)> {
        self.sources.iter().filter_map(|(source, freshness)| Some((source, freshness.lost.as_ref()?.error.as_str())))
    }

    /// Takes in a workload as it was read beside the watches, whatever was held of it: where writes come too late again
    /// and again, what is held is not what is there.
    pub fn replace(&mut self, workload: &WorkloadId, set: Option<LiveSet>, pods: Vec<Pod>) {
        self.forget(workload);
        match set {
            Some(set) => {
                self.written.extend(version_number(&set.resource_version).map(|version| (workload.clone(), version)));
                self.read.extend(self.written.get(workload).map(|written| (workload.clone(), *written)));
                self.sets.insert(workload.clone(), set);
            }
            None => _ = self.sets.remove(workload),
        }
        match pods.is_empty() {
            true => _ = self.pods.remove(workload),
            false => _ = self.pods.insert(workload.clone(), pods.into_iter().map(|pod| (pod.ordinal, pod)).collect()),
        }
    }

    fn all_sets(
        &mut self,
        source: &Source,
        sets: Vec<(WorkloadId, LiveSet)>,
        version: &str,
        asked: Instant,
    ) -> BTreeSet<WorkloadId> {
        let told = version_number(version);
        let mut listed: BTreeMap<WorkloadId, LiveSet> = sets.into_iter().collect();
        let mut changed = BTreeSet::new();
        let held: Vec<WorkloadId> = self.sets.keys().filter(|workload| source.covers(workload)).cloned().collect();
        for workload in held {
            let Some(held) = self.sets.get(&workload) else { continue };
            // Answered after the list was asked for, and newer: the list does not know it yet.
            let ours = self.own.get(&workload).filter(|own| own.uid == held.uid && own.at >= asked);
            if ours.is_some_and(|own| told.is_some_and(|told| own.version > told)) {
                listed.remove(&workload);
                continue;
            }
            let Some(set) = listed.remove(&workload) else {
                self.sets.remove(&workload);
                self.forget(&workload);
                changed.insert(workload);
                continue;
            };
            let (same, differs) = (held.uid == set.uid && held.generation == set.generation, *held != set);
            let known =
                self.written.get(&workload).filter(|written| same && told.is_some_and(|told| **written <= told));
            if known.is_none() {
                // Of another server's count, or never seen before.
                self.forget(&workload);
                self.written.extend(version_number(&set.resource_version).map(|version| (workload.clone(), version)));
            }
            if differs {
                self.sets.insert(workload.clone(), set);
                changed.insert(workload);
            }
        }
        for (workload, set) in listed {
            changed.append(&mut self.set(workload, set));
        }
        changed
    }

    fn set(&mut self, workload: WorkloadId, set: LiveSet) -> BTreeSet<WorkloadId> {
        match self.sets.get(&workload) {
            Some(held) if is_older(&set.resource_version, &held.resource_version) || *held == set => BTreeSet::new(),
            held => {
                let same = held.is_some_and(|held| held.uid == set.uid && held.generation == set.generation);
                if let (false, Some(version)) = (same, version_number(&set.resource_version)) {
                    self.written.insert(workload.clone(), version);
                }
                self.sets.insert(workload.clone(), set);
                BTreeSet::from([workload])
            }
        }
    }

    fn forget(&mut self, workload: &WorkloadId) {
        self.written.remove(workload);
        self.read.remove(workload);
        self.own.remove(workload);
    }

    fn set_gone(&mut self, workload: WorkloadId, uid: &str, version: &str) -> BTreeSet<WorkloadId> {
        match self.sets.get(&workload) {
            Some(held) if held.uid == uid || is_older(&held.resource_version, version) => {
                self.sets.remove(&workload);
                self.forget(&workload);
                BTreeSet::from([workload])
            }
            _ => BTreeSet::new(),
        }
    }

    fn all_pods(&mut self, source: &Source, pods: Vec<(WorkloadId, Pod)>) -> BTreeSet<WorkloadId> {
        let mut listed: BTreeMap<WorkloadId, Pods> = BTreeMap::new();
        for (workload, pod) in pods {
            listed.entry(workload).or_default().insert(pod.ordinal, pod);
        }
        // What was read beside the watch may have been newer: it is read again where that matters.
        self.read.retain(|workload, _| !source.covers(workload));
        let known = self.pods.keys().filter(|workload| source.covers(workload)).chain(listed.keys());
        let changed: BTreeSet<_> = known.filter(|it| self.pods.get(*it) != listed.get(*it)).cloned().collect();
        self.pods.retain(|workload, _| !source.covers(workload));
        self.pods.append(&mut listed);
        changed
    }

    fn pod(&mut self, workload: WorkloadId, pod: Pod) -> BTreeSet<WorkloadId> {
        let held = self.pods.get(&workload).and_then(|pods| pods.get(&pod.ordinal));
        if held.is_some_and(|held| is_older(&pod.resource_version, &held.resource_version) || *held == pod) {
            return BTreeSet::new();
        }
        self.pods.entry(workload.clone()).or_default().insert(pod.ordinal, pod);
        BTreeSet::from([workload])
    }

    fn pod_gone(&mut self, workload: WorkloadId, ordinal: Ordinal, uid: &str, version: &str) -> BTreeSet<WorkloadId> {
        let Some(pods) = self.pods.get_mut(&workload) else { return BTreeSet::new() };
        match pods.get(&ordinal) {
            Some(held) if held.uid == uid || is_older(&held.resource_version, version) => {
                pods.remove(&ordinal);
                if pods.is_empty() {
                    self.pods.remove(&workload);
                }
                BTreeSet::from([workload])
            }
            _ => BTreeSet::new(),
        }
    }
}

/// Whether a resourceVersion is older than another; versions that are no numbers cannot be compared and never are.
fn is_older(version: &str, than: &str) -> bool {
    match (version_number(version), version_number(than)) {
        (Some(version), Some(than)) => version < than,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
