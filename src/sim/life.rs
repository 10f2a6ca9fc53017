//! What happens by itself: every change wakes whom it concerns, a few milliseconds later, as informers and queues do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::hands;
use super::kubelet::schedule::{self, Claim, Verdict};
use super::kubelet::script::Moment;
use super::kubelet::{self, NODE, Pace, Script, Step};
use super::resource::Resource;
use super::store::{Change, Key};
use super::world::World;

/// From a change to the scheduler's look at it.
const SCHEDULER: SignedDuration = SignedDuration::from_millis(2);
/// From a change to the kubelet's look at it.
const KUBELET: SignedDuration = SignedDuration::from_millis(2);

/// Something that will happen by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The scheduler looks at a pod.
    Place(Key),
    /// The kubelet looks at a pod.
    Look(Key),
    /// The kubelet does to a pod what it waited for.
    Act(Key, Step),
    /// A stroke of the script falls, or is over.
    Stroke(usize, bool),
}

/// What the parts that act by themselves remember.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// How fast pods are.
    pub(crate) pace: Pace,
    script: Script,
    /// When the script began.
    began: Timestamp,
    /// Strokes that fall once, and on which pod, by uid.
    spent: BTreeMap<usize, String>,
    /// What the kubelet waits to do.
    waits: BTreeMap<Key, Step>,
    /// Pods that wait for a node.
    unplaced: BTreeSet<Key>,
    /// The addresses of pods, by uid.
    addresses: BTreeMap<String, u32>,
    given: u32,
}

impl Life {
    /// Nothing has happened yet.
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, ..Self::default() }
    }

    /// The stroke that hits a pod now.
    fn stroke(&self, pod: &Value, moment: Moment, now: Timestamp) -> Option<(usize, kubelet::Blow)> {
        let uid = pod.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let spent = |at: usize| self.spent.get(&at).is_some_and(|hit| hit != uid);
        self.script.stroke(pod, moment, now.duration_since(self.began), spent)
    }

    /// The address of a pod, which it keeps.
    fn address(&mut self, pod: &Value) -> String {
        let uid = pod.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let number = *self.addresses.entry(uid.to_owned()).or_insert_with(|| {
            self.given += 1;
            self.given
        });
        let byte = |shift: u32| number >> shift & 0xff;
        format!("10.{}.{}.{}", byte(16), byte(8), byte(0))
    }
}

impl World {
    /// Begins a script: from now on pods break as it says. It takes the place of the one before.
    pub fn play(&mut self, mut script: Script) {
        let revisions = self.store.list(Resource::Revisions, None);
        script.old.extend(revisions.map(|(key, _)| key.name.clone()));
        for (at, stroke) in script.strokes.iter().enumerate() {
            self.later(stroke.from, Task::Stroke(at, false));
            if let Some(until) = stroke.until {
                self.later(until, Task::Stroke(at, true));
            }
        }
        self.life.spent.clear();
        (self.life.script, self.life.began) = (script, self.now);
    }

    /// Tells everybody what changed since they were last told.
    pub(crate) fn tell(&mut self) {
        let changes: Vec<Change> = match self.store.since(self.told) {
            Some(changes) => changes.cloned().collect(),
            // Too much at once: everybody looks at everything.
            None => self.store.all().map(|(key, object)| Change::of(key, object, self.store.version())).collect(),
        };
        self.told = self.store.version();
        for change in changes {
            self.monitor.changed(&change, &self.store, self.now);
            self.wake(&change);
        }
    }

    fn wake(&mut self, change: &Change) {
        let key = &change.key;
        match key.resource {
            Resource::Pods => {
                if let Some(step) = self.life.waits.remove(key) {
                    self.agenda.drop(&Task::Act(key.clone(), step));
                }
                if change.gone {
                    self.life.unplaced.remove(key);
                    if let Some(uid) = change.object.pointer("/metadata/uid").and_then(Value::as_str) {
                        self.life.addresses.remove(uid);
                    }
                    return;
                }
                if change.object.pointer("/spec/nodeName").is_none() {
                    self.later(SCHEDULER, Task::Place(key.clone()));
                } else {
                    self.life.unplaced.remove(key);
                    self.later(KUBELET, Task::Look(key.clone()));
                }
            }
            Resource::Claims => {
                let waiting: Vec<Key> =
                    self.life.unplaced.iter().filter(|pod| pod.namespace == key.namespace).cloned().collect();
                for pod in waiting {
                    let uses = |pod: &Arc<Value>| schedule::claims(pod).any(|name| name == key.name);
                    if self.store.get(&pod).is_some_and(uses) {
                        self.later(SCHEDULER, Task::Place(pod));
                    }
                }
            }
            _ => {}
        }
    }

    /// Lets something happen.
    pub(crate) fn run(&mut self, task: Task) {
        match task {
            Task::Place(key) => self.place(&key),
            Task::Look(key) => self.look(&key),
            Task::Act(key, step) => {
                self.life.waits.remove(&key);
                self.act(&key, step);
            }
            Task::Stroke(at, _) => self.strike(at),
        }
    }

    /// The scheduler's look at a pod.
    fn place(&mut self, key: &Key) {
        let Some(pod) = self.store.get(key).cloned() else { return };
        let blocked = self.life.stroke(&pod, Moment::Placing, self.now).is_some();
        let claim = |name: &str| {
            let Some(claim) = self.store.get(&Key::new(Resource::Claims, &key.namespace, name)) else {
                return Claim::Missing;
            };
            if claim.pointer("/metadata/deletionTimestamp").is_some() {
                return Claim::Terminating;
            }
            let bound = claim.pointer("/status/phase").is_some_and(|phase| phase == "Bound");
            if bound { Claim::Bound } else { Claim::Unbound }
        };
        match schedule::verdict(&pod, blocked, claim) {
            None => {
                self.life.unplaced.remove(key);
            }
            Some(Verdict::Bind) => {
                let placed = kubelet::placed(&pod, None, self.now);
                self.store.put(key.clone(), placed);
                let told = format!("Successfully assigned {}/{} to {NODE}", key.namespace, key.name);
                hands::scheduler_event(self, &pod, "Normal", "Scheduled", "Binding", &told);
            }
            Some(Verdict::Wait(why)) => {
                self.life.unplaced.insert(key.clone());
                let told = pod.pointer("/status/conditions/0/message").and_then(Value::as_str);
                if told != Some(why.as_str()) {
                    let waiting = kubelet::placed(&pod, Some(&why), self.now);
                    hands::write_status(self, key, waiting, "kube-scheduler");
                    hands::scheduler_event(self, &pod, "Warning", "FailedScheduling", "Scheduling", &why);
                }
            }
        }
    }

    /// The kubelet's look at a pod.
    fn look(&mut self, key: &Key) {
        let Some(pod) = self.store.get(key).cloned() else { return };
        let dies = pod.pointer("/metadata/deletionTimestamp").is_some();
        let moment = if dies { Moment::Ending } else { Moment::Living };
        let blow = self.life.stroke(&pod, moment, self.now);
        let next = kubelet::next(&pod, self.life.pace, blow.map(|(_, blow)| blow), self.now);
        if let Some(step) = self.life.waits.remove(key) {
            self.agenda.drop(&Task::Act(key.clone(), step));
        }
        let Some((wait, step)) = next else { return };
        if wait.is_zero() {
            return self.act(key, step);
        }
        self.life.waits.insert(key.clone(), step);
        self.later(wait, Task::Act(key.clone(), step));
    }

    /// The kubelet does something to a pod.
    fn act(&mut self, key: &Key, step: Step) {
        let Some(pod) = self.store.get(key).cloned() else { return };
        if step == Step::Fail
            && let Some((at, kubelet::Blow::Evicted)) = self.life.stroke(&pod, Moment::Living, self.now)
        {
            let uid = pod.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
            self.life.spent.insert(at, uid.to_owned());
        }
        let address = self.life.address(&pod);
        match kubelet::after(step, &pod, &address, self.now) {
            None => hands::end(self, key),
            Some(status) => {
                let mut pod = Value::clone(&pod);
                pod["status"] = status;
                hands::write_status(self, key, pod, "kwok");
            }
        }
    }

    /// A stroke begins or ends: the pods that it means are looked at.
    fn strike(&mut self, at: usize) {
        let Some(stroke) = self.life.script.strokes.get(at) else { return };
        let meant = |(key, pod): (&Key, &Arc<Value>)| self.life.script.means(stroke, pod).then(|| key.clone());
        let pods: Vec<Key> = self.store.list(Resource::Pods, stroke.namespace.as_deref()).filter_map(meant).collect();
        for pod in pods {
            let placed = self.store.get(&pod).is_some_and(|pod| pod.pointer("/spec/nodeName").is_some());
            self.later(SignedDuration::ZERO, if placed { Task::Look(pod) } else { Task::Place(pod) });
        }
    }
}

#[cfg(test)]
mod tests;
