//! The budget: no healthy pod is taken down for a rollout while more are away than may be.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::facts::{Pods, Set};

/// Which pods of a set are away, and which of them were when we exposed more.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Ordinals that are not there, not Ready or on their way out, and since when.
    away: BTreeMap<u32, Timestamp>,
    /// Of these, those that the daemon knew of when it last exposed pods, and that never came back.
    known: BTreeSet<u32>,
    /// Pods that somebody else or we deleted by name, by uid.
    excused: BTreeSet<String>,
}

impl Budget {
    /// Takes in how the set and its pods are now.
    pub(super) fn look(&mut self, set: &Set, pods: &Pods, now: Timestamp) {
        let there = |ordinal: &u32| pods.get(ordinal).is_some_and(|pod| pod.ready.is_some() && !pod.terminating);
        let all = set.start..set.start.saturating_add(set.replicas);
        self.away.retain(|ordinal, _| all.contains(ordinal) && !there(ordinal));
        for ordinal in all.filter(|ordinal| !there(ordinal)) {
            self.away.entry(ordinal).or_insert(now);
        }
        self.known.retain(|ordinal| self.away.contains_key(ordinal));
    }

    /// We expose pods; with a person's word for it whatever is away does not count.
    pub(super) fn exposes(&mut self, by_word: bool, now: Timestamp, lag: SignedDuration) {
        let seen = self.away.iter().filter(|(_, since)| now.duration_since(**since) > lag);
        self.known = if by_word { BTreeSet::new() } else { seen.map(|(ordinal, _)| *ordinal).collect() };
    }

    /// Somebody else decided what becomes of the pods.
    pub(super) fn forgive(&mut self) {
        self.known.clear();
    }

    /// A pod is deleted by name: that is not the rollout's doing.
    pub(super) fn excuse(&mut self, uid: &str) {
        self.excused.insert(uid.to_owned());
    }

    /// A pod that was Ready and stayed is on its way out. What is wrong with that, if anything.
    pub(super) fn taken(&self, ordinal: u32, uid: &str, revision: &str, set: &Set) -> Option<String> {
        let replaced = set.has(ordinal) && set.exposes(ordinal, set.partition) && revision != set.update;
        if !replaced || self.excused.contains(uid) {
            return None;
        }
        let others = self.known.iter().filter(|at| **at != ordinal).count();
        let away = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1);
        (away > set.budget).then(|| {
            let (others, budget) = (&self.known, set.budget);
            format!("pod {ordinal} is taken down, and of {others:?} none was there before: {budget} may be away")
        })
    }
}
