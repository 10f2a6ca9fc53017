//! The invariants of a rollout, watched at every change of the store and every request of ours.
//!
//! The monitors know what the API shows and nothing of how the planner decides. A request is ours where its field
//! manager or its agent is `phaseline`; what others do to a set that is ours may excuse it from the rules that count
//! pods ([`Monitor::meddled`]), never from those about claims and preconditions. What no request shows, Git's side and
//! what a daemon says, they are told ([`Told`]); as long as they are told nothing, the rules about it rest.
//!
//! | rule | says |
//! |---|---|
//! | I1 | stages of a rollout come one after the other |
//! | I2 | a new template exposes no more than the first stage, or what was exposed already |
//! | I3 | the partition never rises by itself |
//! | I4 | the next stage comes after a moment, newer than our last write, at which all exposed pods were updated, Ready and settled |
//! | I5 | no healthy pod is exposed while more are away than may be, unless a person promotes |
//! | I6 | every write says on which state it is based |
//! | I7 | each transition happens once |
//! | I8 | claims, replicas and sets are left alone; a pod is only deleted where it is broken and comes back another |
//! | I12 | at rest nothing is written |
//! | I16 | after a failure or under a hold nothing goes on |
//! | pause | a pause lasts as long as the plan says, or until a person ends it |
//! | budget | no healthy pod is taken down for a rollout while it and those that were away before are more than may be |
//! | forward | what one commit says is never followed by what an earlier one says, unless the remote was rewritten |
//! | frozen | where nothing is to be advanced, nobody is exposed: not by the partition, not by a larger set |
//! | healthy | Healthy is said of what is healthy |
//! | rate | nobody sends more than ten requests a second |
//! | record | what the record says of the set is so |

mod budget;
mod facts;
mod forward;
mod news;
mod rate;
mod rules;
mod told;
mod track;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::request::Request;
use super::resource::Resource;
use super::store::{Change, Key, Store};
use crate::model::Record;
use facts::{Pod, Set};
use forward::Git;
use rate::Rate;
pub use told::{STAMP, Told};
use track::Track;

/// Violations that are kept.
const MOST: usize = 100;

/// Something that must not happen and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static str,
    /// When.
    pub at: Timestamp,
    /// The set: `namespace/name`.
    pub set: String,
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} of {}: {}", self.rule, self.at, self.set, self.what)
    }
}

/// The monitors.
#[derive(Debug)]
pub(crate) struct Monitor {
    violations: Vec<Violation>,
    tracks: BTreeMap<(String, String), Track>,
    git: Git,
    rate: Rate,
    /// So late may a daemon be told what happened.
    lag: SignedDuration,
    /// Whether everything is where it should be: whatever we write now is too much.
    pub(crate) quiet: bool,
    /// Whether commits said in words that claims may go.
    pub(crate) claims_may_go: bool,
}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            violations: Vec::new(),
            tracks: BTreeMap::new(),
            git: Git::default(),
            rate: Rate::default(),
            lag: words::LAG,
            quiet: false,
            claims_may_go: false,
        }
    }
}

/// A write at the moment it is done.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    /// The request.
    pub(crate) request: &'a Request,
    /// What it is about.
    pub(crate) key: &'a Key,
    /// Whether it is about a part of it, `status` say.
    pub(crate) part: bool,
    /// The object before.
    pub(crate) before: Option<Arc<Value>>,
    /// The object after; none where it is gone.
    pub(crate) after: Option<Arc<Value>>,
    /// Whether it was done.
    pub(crate) done: bool,
}

/// Whether a request is the daemon's.
pub(crate) fn is_ours(request: &Request) -> bool {
    let manager = request.parameter("fieldManager").unwrap_or_default();
    matches!(manager, "phaseline" | "phaseline-handover")
        || request.agent.starts_with("phaseline/")
        || request.user == "phaseline"
}

impl Monitor {
    /// What went wrong so far.
    pub(crate) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn wrong(&mut self, key: (&str, &str), at: Timestamp, rule: &'static str, what: String) {
        if self.violations.len() < MOST {
            self.violations.push(Violation { rule, at, set: format!("{}/{}", key.0, key.1), what });
        }
    }

    /// Takes in what no request shows.
    pub(crate) fn note(&mut self, told: Told, now: Timestamp) {
        match told {
            Told::Commit { id, parent, stamp } => self.git.commit(id, parent, stamp),
            Told::Branch { remote, tip } => self.git.branch(remote, tip, now),
            Told::Wants { by, namespace, name, manifest } => {
                let digest = manifest.as_ref().map(facts::template);
                let track = self.tracks.entry((namespace, name)).or_default();
                track.words.wants(by, digest);
                track.odd(now);
            }
            Told::Said { by, namespace, name, phase, reason } => {
                let track = self.tracks.entry((namespace, name)).or_default();
                track.words.said(&by, phase, reason, &track.set, now);
                self.judge(now);
            }
            Told::Dead { by } => self.tracks.values_mut().for_each(|track| track.words.dead(&by)),
            Told::Lag(lag) => self.lag = lag,
        }
    }

    /// Whether what is said is so, by now.
    pub(crate) fn judge(&mut self, now: Timestamp) {
        let lag = self.lag;
        let lie = |(key, track): (&(String, String), &mut Track)| Some((key.clone(), track.words.lie(now, lag)?));
        let lies: Vec<_> = self.tracks.iter_mut().filter_map(lie).collect();
        for ((namespace, name), what) in lies {
            self.wrong((&namespace, &name), now, "healthy", what);
        }
    }

    /// Takes in that a request came.
    pub(crate) fn asked(&mut self, request: &Request, now: Timestamp) {
        if is_ours(request)
            && let Some(what) = self.rate.asked(&request.user, now)
        {
            self.wrong(("", "*"), now, "rate", what);
        }
    }

    /// Takes in a change of the store.
    pub(crate) fn changed(&mut self, change: &Change, store: &Store, now: Timestamp) {
        self.judge(now);
        match change.key.resource {
            Resource::Pods => {
                let Some((set, ordinal, pod)) = Pod::read(&change.object) else { return };
                let key = (change.key.namespace.clone(), set.to_owned());
                let lag = self.lag;
                let Some(track) = self.tracks.get_mut(&key) else { return };
                let found = track.happened(ordinal, &pod, change.gone, now, lag);
                track.pod(ordinal, (!change.gone).then_some(pod));
                track.look(store, &key.0);
                track.odd(now);
                for (rule, what) in found {
                    self.wrong((&key.0, &key.1), now, rule, what);
                }
            }
            Resource::StatefulSets => {
                let key = (change.key.namespace.clone(), change.key.name.clone());
                if change.gone {
                    self.tracks.entry(key).or_default().end();
                    return;
                }
                let set = Set::read(&change.object);
                let track = self.tracks.entry(key.clone()).or_default();
                if track.set.uid != set.uid {
                    track.end();
                    for (_, object) in store.list(Resource::Pods, Some(&key.0)) {
                        if let Some((_, ordinal, pod)) = Pod::read(object).filter(|(name, ..)| *name == key.1) {
                            track.pod(ordinal, Some(pod));
                        }
                    }
                }
                if track.set.generation != set.generation {
                    track.live = facts::template(&change.object);
                }
                track.become_set(set, now);
                track.look(store, &key.0);
                track.odd(now);
            }
            _ => {}
        }
    }

    /// Looks at a write.
    pub(crate) fn wrote(&mut self, write: &Write<'_>, store: &Store, now: Timestamp) {
        if write.done && write.key.resource == Resource::Pods && write.request.method == "DELETE" {
            self.by_name(write);
        }
        if !is_ours(write.request) {
            if write.done && write.key.resource == Resource::StatefulSets && !write.part {
                self.others(write);
            }
            return;
        }
        let key = write.key;
        let place = (key.namespace.as_str(), key.name.as_str());
        let method = write.request.method.as_str();
        match (key.resource, method) {
            (Resource::Claims | Resource::Namespaces | Resource::Revisions, _) | (Resource::StatefulSets, "DELETE") => {
                let what = format!("{method} of {} {}", key.resource.plural(), key.name);
                return self.wrong(place, now, "I8", what);
            }
            (Resource::StatefulSets | Resource::Pods, _) => {}
            // Leases, events and the like are nobody's rollout.
            _ => return,
        }
        let found = rules::guarded(write);
        let place = match key.resource {
            Resource::Pods => key.name.rsplit_once('-').map_or(place, |(set, _)| (place.0, set)),
            _ => place,
        };
        if let Err(what) = found {
            self.wrong(place, now, "I6", what);
        }
        if !write.done {
            return;
        }
        if self.quiet {
            self.wrong(place, now, "I12", format!("{method} of {} {} at rest", key.resource.plural(), key.name));
        }
        let track = self.tracks.entry((place.0.to_owned(), place.1.to_owned())).or_default();
        let found = match key.resource {
            Resource::Pods => track.deleted(write, store, place.0),
            _ => {
                let mut found = track.written(write, store, self.claims_may_go, now);
                found.extend(track.backwards(write, &self.git, now));
                track.exposing(write, self.lag, now, &mut found);
                found
            }
        };
        for (rule, what) in found {
            self.wrong(place, now, rule, what);
        }
    }

    /// A pod that is deleted by name is nobody's rollout.
    fn by_name(&mut self, write: &Write<'_>) {
        let Some((set, _, pod)) = write.before.as_deref().and_then(Pod::read) else { return };
        if let Some(track) = self.tracks.get_mut(&(write.key.namespace.clone(), set.to_owned())) {
            track.budget.excuse(&pod.uid);
        }
    }

    /// What somebody else wrote: a set that was moved by hand counts its pods otherwise.
    fn others(&mut self, write: &Write<'_>) {
        let (Some(before), Some(after)) = (&write.before, &write.after) else { return };
        let Some(track) = self.tracks.get_mut(&(write.key.namespace.clone(), write.key.name.clone())) else { return };
        let record = |object: &Value| {
            object.get("metadata").and_then(|it| it.get("annotations")?.get(Record::ANNOTATION)).cloned()
        };
        let strategy = |object: &Value| object.pointer("/spec/updateStrategy").cloned();
        let spec = |object: &Value, field: &str| object.get("spec").and_then(|it| it.get(field)).cloned();
        if strategy(before) != strategy(after) || spec(before, "template") != spec(after, "template") {
            track.budget.forgive();
        }
        // A restart is a wish, and no meddling: the digest leaves it out.
        if strategy(before) != strategy(after)
            || record(before) != record(after)
            || facts::template(before) != facts::template(after)
        {
            track.meddled = true;
        }
        if before.pointer("/spec/replicas") != after.pointer("/spec/replicas") {
            track.replicas = None;
        }
    }
}

#[cfg(test)]
mod tests;
