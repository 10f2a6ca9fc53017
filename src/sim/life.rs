//! What happens by itself: every change wakes whom it concerns, a few milliseconds later, as informers and queues do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::compat::{Compat, Version};
use super::controllers::garbage_collector::{GarbageCollector, Item};
use super::controllers::stateful_set::{self, StatefulSets};
use super::controllers::{claims, controller_of};
use super::hands::{self, Hands, PodIndex};
use super::kubelet::schedule::{self, Claim, Verdict};
use super::kubelet::script::Moment;
use super::kubelet::{self, NODE, Pace, Script, Step};
use super::recorder::Recorder;
use super::resource::Resource;
use super::store::{Change, Key};
use super::world::World;

/// From a change to the scheduler's look at it.
const SCHEDULER: SignedDuration = SignedDuration::from_millis(2);
/// From a change to the kubelet's look at it.
const KUBELET: SignedDuration = SignedDuration::from_millis(2);

/// From a change to a controller's look at it: an informer's and a queue's delay, in which changes come together.
const CONTROLLER: SignedDuration = SignedDuration::from_millis(3);
/// From a change to the garbage collector's look at it. It asks the server about every owner and works through one queue
/// for all kinds, so that the other controllers are done with a change before it is.
const COLLECTOR: SignedDuration = SignedDuration::from_millis(50);
/// When a controller tries again what was refused: doubled each time.
const AGAIN: SignedDuration = SignedDuration::from_millis(5);
/// The longest that it waits.
const LONGEST: SignedDuration = SignedDuration::from_secs(1000);

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
    /// The StatefulSet controller looks at a set.
    Sync(Key),
    /// It looks again, whatever happens before.
    SyncAgain(Key),
    /// The garbage collector looks at an object.
    Collect(Item),
    /// The claims' controllers look at a claim.
    Claim(Key),
    /// A namespace that is going is emptied.
    Empty(String),
}

/// What the parts that act by themselves remember.
#[derive(Debug)]
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
    /// Pods by their controllers.
    pub(crate) pods: PodIndex,
    /// What was told in events.
    pub(crate) recorder: Recorder,
    sets: StatefulSets,
    collector: GarbageCollector,
    /// How often in a row something was refused.
    refused: BTreeMap<Task, u32>,
}

impl Life {
    /// Nothing has happened yet.
    pub(crate) fn new(pace: Pace, compat: Compat) -> Self {
        Self {
            pace,
            script: Script::default(),
            began: Timestamp::UNIX_EPOCH,
            spent: BTreeMap::new(),
            waits: BTreeMap::new(),
            unplaced: BTreeSet::new(),
            addresses: BTreeMap::new(),
            given: 0,
            pods: PodIndex::default(),
            recorder: Recorder::default(),
            sets: StatefulSets::new(compat),
            collector: GarbageCollector::default(),
            refused: BTreeMap::new(),
        }
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
        // Nobody owns an event, and nobody waits for one.
        if key.resource != Resource::Events {
            for item in self.life.collector.observe(key.resource, &change.object, change.gone) {
                self.later(COLLECTOR, Task::Collect(item));
            }
        }
        if change.gone {
            let namespace = Key::new(Resource::Namespaces, "", &key.namespace);
            if self.store.get(&namespace).is_some_and(|it| is_dying(it)) {
                self.later(CONTROLLER, Task::Empty(key.namespace.clone()));
            }
        }
        match key.resource {
            Resource::Pods => {
                self.wake_for_pod(change);
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
            Resource::StatefulSets => self.later(CONTROLLER, Task::Sync(key.clone())),
            Resource::Namespaces if !change.gone && is_dying(&change.object) => {
                self.later(CONTROLLER, Task::Empty(key.name.clone()));
            }
            Resource::Claims => {
                if !change.gone {
                    self.later(CONTROLLER, Task::Claim(key.clone()));
                }
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

    /// Wakes the controllers that a pod concerns.
    fn wake_for_pod(&mut self, change: &Change) {
        self.life.pods.change(change);
        let (old, new) = (change.before.as_deref(), Some(&*change.object).filter(|_| !change.gone));
        let old = if change.gone { Some(&*change.object) } else { old };
        // One that is controlled by something else is no set's business.
        let concerns =
            |pod: &Value| controller_of(pod).is_none_or(|it| it.get("kind").is_some_and(|kind| kind == "StatefulSet"));
        if old.is_some_and(concerns) || new.is_some_and(concerns) {
            let compat = self.compat;
            for wake in stateful_set::wakes(&Hands::new(self), compat, old, new) {
                let set = Key::new(Resource::StatefulSets, &change.key.namespace, &wake.name);
                match wake.after {
                    None => self.later(CONTROLLER, Task::Sync(set)),
                    Some(wait) => self.later(wait, Task::SyncAgain(set)),
                }
            }
        }
        for name in schedule::claims(&change.object) {
            let claim = Key::new(Resource::Claims, &change.key.namespace, name);
            if self.store.get(&claim).is_some_and(|it| is_dying(it)) {
                self.later(CONTROLLER, Task::Claim(claim));
            }
        }
    }

    /// A sync of a set: one at a time, and again later where it was refused.
    fn sync(&mut self, key: &Key) {
        let mut sets = std::mem::replace(&mut self.life.sets, StatefulSets::new(self.compat));
        let now = self.now;
        let outcome = sets.sync(&mut Hands::of_set(self, key), &key.namespace, &key.name, now);
        self.life.sets = sets;
        self.settle(Task::Sync(key.clone()), Task::SyncAgain(key.clone()), outcome.error.is_some());
        if let Some(wait) = outcome.requeue_after {
            self.later(wait, Task::SyncAgain(key.clone()));
        }
    }

    fn collect(&mut self, item: &Item) {
        let mut collector = std::mem::take(&mut self.life.collector);
        let done = collector.sync(&mut Hands::new(self), item);
        self.life.collector = collector;
        let task = Task::Collect(item.clone());
        self.settle(task.clone(), task, done.is_err());
        for item in done.unwrap_or_default() {
            self.later(COLLECTOR, Task::Collect(item));
        }
    }

    /// What was refused is tried again, later each time.
    fn settle(&mut self, task: Task, again: Task, refused: bool) {
        if !refused {
            self.life.refused.remove(&task);
            return;
        }
        let times = self.life.refused.entry(task).or_insert(0);
        let wait = AGAIN.checked_mul(1 << (*times).min(20)).unwrap_or(LONGEST).min(LONGEST);
        *times += 1;
        self.later(wait, again);
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
            Task::Sync(key) | Task::SyncAgain(key) => self.sync(&key),
            Task::Collect(item) => self.collect(&item),
            Task::Claim(key) => {
                let done = claims::sync(&mut Hands::new(self), &key.namespace, &key.name);
                let task = Task::Claim(key);
                self.settle(task.clone(), task, done.is_err());
            }
            Task::Empty(namespace) => _ = hands::empty(self, &namespace),
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
                // What the scheduler of 1.33 says less.
                let old = self.compat.version == Version::V1_33;
                let why = if old { why.replace("no new claims to deallocate, ", "") } else { why };
                self.life.unplaced.insert(key.clone());
                let told = pod.pointer("/status/conditions/0/message").and_then(Value::as_str);
                if told != Some(why.as_str()) {
                    let mut waiting = kubelet::placed(&pod, Some(&why), self.now);
                    for condition in
                        waiting["status"]["conditions"].as_array_mut().into_iter().flatten().filter(|_| old)
                    {
                        condition.as_object_mut().and_then(|it| it.remove("observedGeneration"));
                    }
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

fn is_dying(object: &Value) -> bool {
    object.get("metadata").and_then(|it| it.get("deletionTimestamp")).is_some_and(|time| !time.is_null())
}

#[cfg(test)]
mod tests;
