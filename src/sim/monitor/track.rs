//! What is remembered of one set between two writes, and the rules that need it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::Write;
use super::budget::Budget;
use super::facts::{Pod, Pods, Set, counts, pause, soak, template};
use super::rules;
use super::words::Words;
use crate::model::{Mode, PARKED, Pause, Plan, Record, Schedule};
use crate::sim::resource::Resource;
use crate::sim::store::{Key, Store};

/// How old a state may be that a decision was based on, where pods are deleted.
const SEEN: SignedDuration = SignedDuration::from_secs(300);
/// States that are remembered.
const MOST_STATES: usize = 256;

/// Rules that are broken, and how.
pub(super) type Found = Vec<(&'static str, String)>;

/// One set.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// As it is now.
    pub(super) set: Set,
    /// Its pods.
    pub(super) pods: Pods,
    /// Of these, how many name the update revision, are Ready and stay.
    fit: u32,
    /// Of these, how many are on their way out.
    ending: u32,
    /// Templates by the names of revisions.
    templates: BTreeMap<String, String>,
    /// Moments since our last write at which the gate of the partition held.
    gate: Option<Gate>,
    /// Whether since our last write every pod ran the target, Ready.
    complete: bool,
    /// Whether since our last write every pod ran the target, and the exposed ones were Ready.
    back: bool,
    /// Somebody else moved template or partition: shares are no measure any more.
    pub(super) meddled: bool,
    /// Replicas when we last wrote the spec; none: somebody scaled since.
    pub(super) replicas: Option<u32>,
    /// Stages written, by rollout, plan and stage.
    stages: BTreeSet<(String, Option<u32>)>,
    /// Pods that we deleted, by uid.
    deleted: BTreeSet<String>,
    /// How the set was lately.
    states: VecDeque<(Timestamp, Set)>,
    /// Whether the next change of the set is of our making.
    pub(super) ours: bool,
    /// The digest of its template.
    pub(super) live: String,
    /// What the daemons say of it.
    pub(super) words: Words,
    /// Which of its pods are away.
    pub(super) budget: Budget,
}

/// The best moment at which a gate held.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Gate {
    /// Of which partition.
    partition: u32,
    /// When the last of its pods became Ready.
    since: Timestamp,
    /// Pods that were away.
    away: Vec<u32>,
}

impl Track {
    /// The set is gone, or another one of its name is there.
    pub(super) fn end(&mut self) {
        let words = std::mem::take(&mut self.words);
        *self = Self { words, ..Self::default() };
    }

    /// Takes in whether it is healthy, and who is away.
    pub(super) fn odd(&mut self, now: Timestamp) {
        self.words.look(&self.set, &self.pods, &self.live, now);
        self.budget.look(&self.set, &self.pods, now);
    }

    /// A pod as it is now; none: it is gone.
    pub(super) fn pod(&mut self, ordinal: u32, pod: Option<Pod>) {
        let fit = |pod: &Pod, update: &str| pod.ready.is_some() && !pod.terminating && pod.revision == update;
        let before = match pod {
            Some(pod) => {
                self.fit += u32::from(fit(&pod, &self.set.update));
                self.ending += u32::from(pod.terminating);
                self.pods.insert(ordinal, pod)
            }
            None => self.pods.remove(&ordinal),
        };
        if let Some(before) = before {
            self.fit = self.fit.saturating_sub(u32::from(fit(&before, &self.set.update)));
            self.ending = self.ending.saturating_sub(u32::from(before.terminating));
        }
    }

    /// The set as it is now.
    pub(super) fn become_set(&mut self, set: Set, now: Timestamp) {
        let updated = set.update != self.set.update;
        if set.current != self.set.current && set.replicas == 0 && set.record.as_ref().is_some_and(|it| !it.done) {
            // Promoted by a scale to zero (kubernetes#121534).
            self.meddled = true;
        }
        self.words.moved(&self.set, &set, self.ours, now);
        self.ours = false;
        self.set = set;
        if updated {
            let fit = |pod: &&Pod| pod.ready.is_some() && !pod.terminating && pod.revision == self.set.update;
            self.fit = u32::try_from(self.pods.values().filter(fit).count()).unwrap_or(u32::MAX);
        }
        let old = |(at, _): &(Timestamp, Set)| now.duration_since(*at) > SEEN;
        // The oldest that counts was still true when the next one came.
        while self.states.len() > MOST_STATES || self.states.get(1).is_some_and(old) {
            self.states.pop_front();
        }
        self.states.push_back((now, self.set.clone()));
    }

    /// The template of a revision.
    fn template_of(&mut self, store: &Store, namespace: &str, revision: &str) -> String {
        if let Some(known) = self.templates.get(revision) {
            return known.clone();
        }
        let object = store.get(&Key::new(Resource::Revisions, namespace, revision));
        let Some(found) = object.map(|object| template(object)) else { return String::new() };
        self.templates.insert(revision.to_owned(), found.clone());
        found
    }

    /// Notes whether this is a moment at which a gate holds.
    pub(super) fn look(&mut self, store: &Store, namespace: &str) {
        let set = &self.set;
        let all = u32::try_from(self.pods.len()).is_ok_and(|pods| pods == set.replicas);
        let exposed = set.replicas.saturating_sub(set.partition);
        if set.observed != set.generation || !all || self.ending > 0 || self.fit < exposed {
            return;
        }
        if !self.pods.keys().all(|ordinal| set.has(*ordinal)) {
            return;
        }
        let update = set.update.clone();
        let fit = |pod: &Pod| pod.revision == update && pod.ready.is_some();
        let above = |(ordinal, _): &(&u32, &Pod)| set.exposes(**ordinal, set.partition);
        if !self.pods.iter().filter(above).all(|(_, pod)| fit(pod)) {
            return;
        }
        let since = self.pods.iter().filter(above).filter_map(|(_, pod)| pod.ready).max();
        let since = since.unwrap_or(Timestamp::UNIX_EPOCH);
        let away: Vec<u32> = self.pods.iter().filter(|(_, pod)| pod.ready.is_none()).map(|(at, _)| *at).collect();
        let gate = Gate { partition: set.partition, since, away };
        let better =
            |best: &Gate| best.partition == gate.partition && best.away.len() <= gate.away.len() && best.since <= since;
        if !self.gate.as_ref().is_some_and(better) {
            self.gate = Some(gate);
        }
        if self.complete && self.back {
            return;
        }
        // The digest of what lives is the target's too, where an admission, or who had the set before, added something.
        let target = set.record.as_ref().map(|record| (record.target.hash.0.clone(), record.live.0.clone()));
        let Some((target, live)) = target else { return };
        let whole = self.fit == set.replicas;
        let revisions: BTreeSet<String> = self.pods.values().map(|pod| pod.revision.clone()).collect();
        let mut templates = revisions.iter().map(|revision| self.template_of(store, namespace, revision));
        if templates.all(|template| template == target || template == live) {
            self.back = true;
            self.complete |= whole;
        }
    }

    /// After a write of ours everything is to be seen anew.
    fn begin_anew(&mut self) {
        (self.gate, self.complete, self.back) = (None, false, false);
    }

    /// Looks at a write of ours to the set.
    pub(super) fn written(&mut self, write: &Write<'_>, store: &Store, claims_may_go: bool, now: Timestamp) -> Found {
        let mut found = Found::new();
        let Some(after_object) = &write.after else { return found };
        let after = Set::read(after_object);
        let Some(before_object) = &write.before else {
            self.recorded(&after, write, &mut found);
            return found;
        };
        let before = Set::read(before_object);
        let applied = rules::applied(write);
        if before.replicas != after.replicas && rules::stated_replicas(write) != Some(after.replicas) {
            let (is, was) = (after.replicas, before.replicas);
            found.push(("I8", format!("replicas {was} become {is}, and no manifest says so")));
        }
        if !applied {
            for field in ["/spec/volumeClaimTemplates", "/spec/persistentVolumeClaimRetentionPolicy", "/spec/template"]
            {
                if before_object.pointer(field) != after_object.pointer(field) {
                    found.push(("I8", format!("{field} is changed, and not by a manifest")));
                }
            }
        }
        let gives_up = after.replicas < before.replicas || after.start > before.start;
        if gives_up && after.gives_up_claims && !after.may_give_up_claims && !claims_may_go {
            found.push(("I8", "claims would be deleted that nobody gave up".into()));
        }
        match (before.record.clone(), after.record.clone()) {
            (Some(old), Some(new)) => {
                if new.epoch != old.epoch + 1 && new != old {
                    found.push(("I7", format!("epoch {} after {}", new.epoch, old.epoch)));
                }
                if applied {
                    let ids = (template(before_object), template(after_object));
                    self.template(
                        &before,
                        &after,
                        (&old, &new),
                        (&ids.0, &ids.1),
                        store,
                        &write.key.namespace,
                        &mut found,
                    );
                } else {
                    self.stage(&before, rules::partition(write), (&old, &new), now, &mut found);
                }
                self.recorded(&after, write, &mut found);
            }
            // Adopted, or given back: what was before is of no account.
            (old, new) => {
                if old.is_some() != new.is_some() {
                    self.stages.clear();
                    self.meddled = false;
                }
                if new.is_some() {
                    self.recorded(&after, write, &mut found);
                }
            }
        }
        self.begin_anew();
        if applied || rules::partition(write).is_some() {
            self.replicas = Some(after.replicas);
        }
        found
    }

    /// What the record says is so.
    fn recorded(&self, after: &Set, write: &Write<'_>, found: &mut Found) {
        let Some(record) = &after.record else { return };
        // Higher than recorded it stands where added pods are held back.
        if record.partition.0 > after.partition && !self.meddled {
            let (is, there) = (record.partition, after.partition);
            found.push(("record", format!("partition {is} is recorded, {there} is there")));
        }
        let told = write.before.as_deref().map(Set::read).and_then(|before| before.record);
        let held_back = told.as_ref() == Some(record);
        let spec = rules::applies_record(write) || (rules::partition(write).is_some() && !held_back);
        if spec && record.generation != after.generation {
            let (is, there) = (record.generation, after.generation);
            found.push(("record", format!("generation {is} is recorded, {there} is there")));
        }
    }

    /// I2: a new template exposes no more than it may.
    #[allow(clippy::too_many_arguments, reason = "before and after of one write")]
    fn template(
        &mut self,
        before: &Set,
        after: &Set,
        (old, new): (&Record, &Record),
        (was, is): (&str, &str),
        store: &Store,
        namespace: &str,
        found: &mut Found,
    ) {
        if self.meddled || old.stable.is_none() {
            return;
        }
        let changed = was != is;
        let replicas = after.replicas;
        let exposed: Vec<String> = self
            .pods
            .iter()
            .filter(|(ordinal, _)| before.has(**ordinal) && after.has(**ordinal))
            .filter(|(ordinal, _)| after.exposes(**ordinal, after.partition))
            .map(|(_, pod)| pod.revision.clone())
            .collect();
        let touched = exposed.iter().filter(|revision| self.template_of(store, namespace, revision) != is).count();
        let touched = u32::try_from(touched).unwrap_or(u32::MAX);
        let first = counts(&new.plan, replicas).first().copied().unwrap_or(0);
        let proven = old.proven.iter().any(|hash| hash.0 == is);
        let stable = old.stable.as_ref().is_some_and(|stable| stable.hash.0 == is);
        let kept = if old.done { 0 } else { before.replicas.saturating_sub(before.partition) };
        let share = if new.done { 0 } else { replicas.saturating_sub(after.partition) };
        let allowed = match (changed, old.done && proven) {
            (true, true) => replicas,
            (true, false) => kept.max(first),
            // The same template: the pods that it exposes are those of its stage.
            (false, _) => share.min(kept.max(counts(&old.plan, replicas).into_iter().max().unwrap_or(0))),
        };
        // Nothing stands that could be lost.
        let stands = |pod: &Pod| pod.ready.is_some() && !pod.terminating && pod.revision == before.current;
        let fallen = new.mode == Mode::Install && !self.pods.values().any(stands);
        let goes_back = stable && !old.done;
        if touched > allowed && !goes_back && !fallen {
            found.push(("I2", format!("template {is} touches {touched} pods at once, {allowed} may be")));
        }
        let failed = rules::has_failed(old);
        let more = share > kept.max(replicas.saturating_sub(old.partition.0));
        if !changed && failed && more && new.hold.is_none() && new.rollout == old.rollout {
            found.push(("I16", "a halted rollout exposes more".into()));
        }
    }

    /// I1, I3, I4, I5, I7, I16: one stage after the other, each through its gate.
    fn stage(
        &mut self,
        set: &Set,
        partition: Option<u32>,
        (old, new): (&Record, &Record),
        now: Timestamp,
        found: &mut Found,
    ) {
        if new.done && !old.done {
            return self.completion(set, old, new, found);
        }
        let asked = new.req != old.req;
        if asked && new.rollout == old.rollout && new.stage < old.stage {
            // What a person decided about a set of another size comes to an earlier stage: the later ones come again.
            self.stages.retain(|(rollout, stage)| !rollout.starts_with(&new.rollout) || *stage <= new.stage);
        }
        let Some(to) = partition else {
            if rules::says_nothing(old, new) {
                found.push(("I12", "a write that says nothing".into()));
            }
            return;
        };
        if new == old {
            // Nothing but the partition: pods that were added to a frozen set are held back.
            if to <= set.partition {
                found.push(("I3", format!("the partition falls from {} to {to}, and no record of it", set.partition)));
            }
            return;
        }
        if self.meddled {
            return;
        }
        let (from, replicas) = (set.partition, set.replicas);
        let exposed = |partition: u32| replicas.saturating_sub(partition);
        let by_hand = matches!(new.plan.schedule, Schedule::ByHand(_));
        if new.rollout != old.rollout {
            // From rest: the first stage, or all of it in the cases without one.
            let first = counts(&new.plan, replicas).first().copied().unwrap_or(0);
            if old.done && exposed(to) > first && !by_hand {
                let pods = exposed(to);
                found.push(("I2", format!("a restart begins with {pods} pods, {first} may be")));
            }
            return;
        }
        if new.mode == Mode::Install {
            if to != 0 {
                found.push(("I3", format!("an install is held at {to}")));
            }
            return;
        }
        if (new.stage, new.exposed, new.at) == (old.stage, old.exposed, old.at) {
            return self.follows(set, to, old, new, found);
        }
        if to > from {
            found.push(("I3", format!("the partition rises from {from} to {to}")));
        }
        if rules::has_failed(old) || (old.hold.is_some() && new.hold.is_some()) {
            found.push(("I16", "a stage after a failure or under a hold".into()));
        }
        let stage = (format!("{} by {}", new.rollout, new.digest), new.stage);
        if !by_hand && !self.stages.insert(stage) && new.plan == old.plan {
            found.push(("I7", format!("stage {:?} of {} is written twice", new.stage, new.rollout)));
        }
        if new.mode == Mode::Staged && !by_hand {
            let next = counts(&old.plan, replicas).into_iter().find(|count| *count > exposed(from));
            if next != Some(exposed(to)) {
                found.push(("I1", format!("{} pods after {}, not {next:?}", exposed(to), exposed(from))));
            }
        }
        if new.mode == Mode::Staged && !old.promoted && !asked {
            self.paused(&old.plan, set, to, now, found);
        }
        // `promote --full` skips the soak that it finds.
        let wait = match (new.mode, old.mode) {
            (Mode::Full, _) => 0,
            (_, Mode::Staged) => soak(&old.plan, replicas, exposed(from)),
            _ => 0,
        };
        let wait = SignedDuration::from_secs(i64::from(wait).max(set.min_ready));
        let gate = self.gate.as_ref().filter(|gate| gate.partition == from && now.duration_since(gate.since) >= wait);
        match gate {
            None => {
                let (pods, gate) = (exposed(to), exposed(from));
                found.push(("I4", format!("{pods} pods are exposed, and the gate of {gate} was never passed")));
            }
            Some(gate) if !asked && self.takes_down(set, &gate.away, to) => {
                found.push(("I5", format!("{} pods are exposed while too many are away", exposed(to))));
            }
            Some(_) => {}
        }
    }

    /// The pause of the stage that is left: it began when the last of its pods became Ready.
    fn paused(&self, plan: &Plan, set: &Set, to: u32, now: Timestamp, found: &mut Found) {
        let (from, next) = (set.replicas.saturating_sub(set.partition), set.replicas.saturating_sub(to));
        let since = self.gate.as_ref().filter(|gate| gate.partition == set.partition).map(|gate| gate.since);
        match pause(plan, set.replicas, from) {
            Pause::None => {}
            Pause::UntilPromoted => found.push(("pause", format!("{next} pods after {from}, and nobody promoted"))),
            Pause::Seconds(seconds) => {
                let passed = since.is_some_and(|since| now.duration_since(since).as_secs() >= i64::from(seconds));
                if !passed {
                    found.push(("pause", format!("{next} pods after {from} within {seconds} s")));
                }
            }
        }
    }

    /// Whether a lower partition has a healthy pod replaced while too many are away that are not replaced before it.
    fn takes_down(&self, set: &Set, away: &[u32], to: u32) -> bool {
        let between = |ordinal: u32| set.exposes(ordinal, to) && !set.exposes(ordinal, set.partition);
        let taken =
            |(ordinal, pod): &(&u32, &Pod)| between(**ordinal) && pod.ready.is_some() && pod.revision != set.update;
        let Some((first, _)) = self.pods.iter().filter(taken).max_by_key(|(ordinal, _)| **ordinal) else {
            return false;
        };
        let free = |ordinal: u32| set.exposes(ordinal, to) && (set.waits || ordinal > *first);
        let away = away.iter().filter(|ordinal| !free(**ordinal)).count();
        !u32::try_from(away).is_ok_and(|away| away < set.budget)
    }

    /// The partition follows a set that was scaled.
    fn follows(&self, set: &Set, to: u32, old: &Record, new: &Record, found: &mut Found) {
        let exposed = set.replicas.saturating_sub(to);
        let stages = counts(&new.plan, set.replicas);
        let fits = stages.contains(&exposed) || exposed == old.exposed.unwrap_or(0).min(set.replicas);
        let frozen = old.hold.is_some() || rules::has_failed(old);
        let before = old.replicas.map_or(exposed, |before| before.saturating_sub(old.partition.0));
        if frozen && exposed > before {
            found.push(("I16", format!("frozen at {before} pods, and a scale-up exposes {exposed}")));
        }
        // As many as before, where nothing more may be exposed.
        if !fits && exposed != before && old.mode != Mode::Back {
            let replicas = set.replicas;
            found.push(("I3", format!("the partition follows to {to} of {replicas}: no stage of {stages:?}")));
        }
        let scaled = self.replicas != Some(set.replicas);
        if to > set.partition && !scaled && old.hold.is_none() && old.failed.is_empty() {
            found.push(("I3", format!("the partition rises from {} to {to} and nobody scaled", set.partition)));
        }
    }

    /// Parked means done: every pod at the target, Ready.
    fn completion(&self, set: &Set, old: &Record, new: &Record, found: &mut Found) {
        if new.failed.len() > old.failed.len() || self.meddled || set.replicas == 0 || new.partition != PARKED {
            return;
        }
        if !(self.complete || (old.mode == Mode::Back && self.back)) {
            found.push(("I4", format!("{} is called complete and is not", new.rollout)));
        }
    }

    /// I7, I8: only a broken pod whose replacement is another, one at a time.
    pub(super) fn deleted(&mut self, write: &Write<'_>, store: &Store, namespace: &str) -> Found {
        let mut found = Found::new();
        let Some((_, ordinal, pod)) = write.before.as_deref().and_then(Pod::read) else { return found };
        let name = &write.key.name;
        if write.request.method != "DELETE" {
            found.push(("I8", format!("{} of pod {name}", write.request.method)));
            return found;
        }
        if pod.ready.is_some() {
            found.push(("I8", format!("{name} is Ready and deleted")));
        }
        let own = self.template_of(store, namespace, &pod.revision);
        let states: Vec<Set> = self.states.iter().map(|(_, set)| set.clone()).collect();
        let mut other = false;
        for set in &states {
            let above = set.exposes(ordinal, set.partition) || set.current.is_empty();
            let native = if above { &set.update } else { &set.current };
            other |= !set.has(ordinal) || self.template_of(store, namespace, native) != own;
        }
        if !other {
            found.push(("I8", format!("{name} would come back the same")));
        }
        if !states.iter().any(|set| set.observed == set.generation) {
            found.push(("I8", format!("{name} is deleted before the controller has seen the last write")));
        }
        let outstanding = |pod: &Pod| pod.terminating && self.deleted.contains(&pod.uid);
        if let Some((ordinal, _)) = self.pods.iter().find(|(at, pod)| **at != ordinal && outstanding(pod)) {
            found.push(("I8", format!("{name} is deleted while pod {ordinal} of ours terminates")));
        }
        if !self.deleted.insert(pod.uid) {
            found.push(("I7", format!("{name} is deleted twice")));
        }
        found
    }
}
