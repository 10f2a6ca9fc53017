//! What the daemons say of a set, held against how it is: Healthy means healthy, and what is frozen exposes nobody.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::facts::{Pods, Set};
use crate::model::{Phase, Reason};

/// How long the view of a daemon may be behind where nothing goes wrong.
pub(super) const LAG: SignedDuration = SignedDuration::from_secs(5);

/// How long something is said before it counts.
const WORD: SignedDuration = SignedDuration::from_secs(1);

/// What is said of one set, and what has to be so.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// By daemon.
    said: BTreeMap<String, (Phase, Reason)>,
    /// Since when Healthy is said, by daemon.
    healthy: BTreeMap<String, Timestamp>,
    /// By daemon the digest of the template that Git asks for; none where Git has nothing to ask.
    wants: BTreeMap<String, Option<String>>,
    /// By daemon since when it is not healthy, and why.
    odd: BTreeMap<String, (Timestamp, &'static str)>,
    /// Daemons whose lie has been told of.
    told: BTreeSet<String>,
    /// How it stood when it was frozen or scaled last.
    frozen: Option<Frozen>,
}

/// A set in which nothing is to be advanced.
#[derive(Debug, Clone)]
struct Frozen {
    /// Since when it is this large.
    since: Timestamp,
    /// Pods that there were to be.
    replicas: u32,
    /// How many of them were exposed.
    exposed: u32,
    /// New ordinals that were made at the target since.
    made: BTreeSet<u32>,
}

/// Whether in that state nothing is to be advanced.
fn is_frozen((phase, reason): (Phase, Reason)) -> bool {
    match phase {
        Phase::Healthy | Phase::Progressing => false,
        // A stage that pauses follows its share; it is no more than that which it may expose.
        Phase::Paused => reason != Reason::StagePaused,
        Phase::Degraded | Phase::Blocked => true,
    }
}

impl Words {
    pub(super) fn said(&mut self, by: &str, phase: Phase, reason: Reason, set: &Set, now: Timestamp) {
        let before = self.all_frozen();
        self.said.insert(by.to_owned(), (phase, reason));
        if phase == Phase::Healthy {
            self.healthy.entry(by.to_owned()).or_insert(now);
        } else {
            self.healthy.remove(by);
            self.told.remove(by);
        }
        match (before, self.all_frozen()) {
            (false, true) => {
                let exposed = set.replicas.saturating_sub(set.partition);
                self.frozen = Some(Frozen { since: now, replicas: set.replicas, exposed, made: BTreeSet::new() });
            }
            (_, false) => self.frozen = None,
            (true, true) => {}
        }
    }

    pub(super) fn dead(&mut self, by: &str) {
        self.said.remove(by);
        self.healthy.remove(by);
        if !self.all_frozen() {
            self.frozen = None;
        }
    }

    pub(super) fn wants(&mut self, by: String, digest: Option<String>) {
        self.wants.insert(by, digest);
    }

    fn all_frozen(&self) -> bool {
        !self.said.is_empty() && self.said.values().all(|said| is_frozen(*said))
    }

    /// What this daemon says is frozen.
    pub(super) fn frozen_to(&self, by: &str) -> Option<Reason> {
        self.said.get(by).filter(|said| is_frozen(**said)).map(|(_, reason)| *reason)
    }

    /// Takes in how the set and its pods are now; `live` is the digest of its template.
    pub(super) fn look(&mut self, set: &Set, pods: &Pods, live: &str, now: Timestamp) {
        let odd = if set.observed != set.generation {
            Some("the controller has not seen the last write")
        } else if set.current != set.update {
            Some("its current revision is not the update revision")
        } else if u32::try_from(pods.len()).is_ok_and(|have| have != set.replicas)
            || !pods.keys().all(|ordinal| set.has(*ordinal))
        {
            Some("there are not the pods that it is to have")
        } else if pods.values().any(|pod| pod.revision != set.update) {
            Some("a pod runs another revision")
        } else if pods.values().any(|pod| pod.ready.is_none() || pod.terminating) {
            Some("a pod is not Ready")
        } else {
            None
        };
        for (by, digest) in &self.wants {
            let differs = (digest.as_deref() != Some(live)).then_some("its template is not what Git asks for");
            match odd.or(differs) {
                None => {
                    self.odd.remove(by);
                }
                // One trouble may end and another begin with nobody to blame for not knowing the second.
                Some(what) if self.odd.get(by).is_none_or(|(_, known)| *known != what) => {
                    self.odd.insert(by.clone(), (now, what));
                }
                Some(_) => {}
            }
        }
    }

    /// Healthy is said, and it is not so, for longer than one may not know it.
    pub(super) fn lie(&mut self, now: Timestamp, lag: SignedDuration) -> Option<String> {
        // One that says so as it writes that a rollout is over takes up what waits with its next word.
        let lasts = |since: &Timestamp| now.duration_since(*since) > WORD;
        let healthy = |by: &&String| self.healthy.get(*by).is_some_and(lasts);
        let late = |(_, (since, _)): &(&String, &(Timestamp, &str))| now.duration_since(*since) > lag;
        let mut lies = self.odd.iter().filter(|(by, _)| healthy(by)).filter(late);
        let (by, (since, what)) = lies.find(|(by, _)| !self.told.contains(*by))?;
        let (by, what) = (by.clone(), format!("Healthy is said, and since {since} {what}"));
        self.told.insert(by);
        Some(what)
    }

    /// The set was scaled, or its partition was moved.
    pub(super) fn moved(&mut self, before: &Set, after: &Set, by_us: bool, now: Timestamp) {
        let Some(frozen) = &mut self.frozen else { return };
        if before.replicas != after.replicas {
            // What is counted is what is made after it was scaled last, above what there was when it was frozen.
            frozen.replicas = frozen.replicas.min(after.replicas);
            (frozen.since, frozen.made) = (now, BTreeSet::new());
        } else if before.partition != after.partition && !by_us {
            // Whoever moves the partition by hand exposes what he likes.
            frozen.exposed = after.replicas.saturating_sub(after.partition);
        }
    }

    /// A pod was made. How many are too many, where they are.
    pub(super) fn made(
        &mut self,
        ordinal: u32,
        revision: &str,
        set: &Set,
        now: Timestamp,
        lag: SignedDuration,
    ) -> Option<String> {
        let stable = set.record.as_ref().is_some_and(|record| record.stable.is_some());
        let frozen = self.frozen.as_mut()?;
        let index = ordinal.checked_sub(set.start)?;
        let is_new = index >= frozen.replicas && revision == set.update && set.current != set.update;
        if !stable || !is_new || now.duration_since(frozen.since) <= lag {
            return None;
        }
        frozen.made.insert(ordinal);
        let made = u32::try_from(frozen.made.len()).unwrap_or(u32::MAX);
        (made > frozen.exposed).then(|| {
            let (exposed, since) = (frozen.exposed, frozen.since);
            format!("pod {ordinal} is new at the target: {made} since {since}, and {exposed} were exposed")
        })
    }
}
