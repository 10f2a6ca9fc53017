//! The objects of the API server and the StatefulSet controller behind it, as far as a rollout needs them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::objects::{self, Pod};

/// The rollout record, as a JSON pointer.
const RECORD_PATH: &str = "/metadata/annotations/phaseline.dev~1rollout";
/// `spec.updateStrategy.rollingUpdate.partition`, as a JSON pointer.
const PARTITION_PATH: &str = "/spec/updateStrategy/rollingUpdate/partition";

/// Which objects a list or a watch is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// StatefulSets.
    Sets,
    /// Pods.
    Pods,
}

/// A line of a watch.
#[derive(Debug)]
pub(crate) struct Line {
    /// The bytes.
    pub(crate) bytes: Bytes,
    /// Whether the moment at which it is handed to the client counts.
    pub(crate) marked: bool,
}

/// A set and its pods.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    /// The object.
    pub(crate) object: Value,
    /// Its pods, by ordinal.
    pub(crate) pods: Vec<Pod>,
    current: String,
    update: String,
}

impl Set {
    fn number(&self, pointer: &str) -> u64 {
        self.object.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
    }

    /// `metadata.resourceVersion`.
    fn version(&self) -> u64 {
        self.text("/metadata/resourceVersion").parse().unwrap_or_default()
    }

    /// The partition.
    pub(crate) fn partition(&self) -> u64 {
        self.number(PARTITION_PATH)
    }

    /// A string in it.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The record.
    pub(crate) fn record(&self) -> &str {
        self.text(RECORD_PATH)
    }

    /// `metadata.generation`.
    pub(crate) fn generation(&self) -> u64 {
        self.number("/metadata/generation")
    }
}

struct Watcher {
    kind: Kind,
    namespace: String,
    lines: UnboundedSender<Line>,
}

/// Everything there is.
#[derive(Default)]
pub(crate) struct World {
    /// The sets by namespace and name.
    pub(crate) sets: BTreeMap<(String, String), Set>,
    /// What the clients did wrong.
    pub(crate) faults: Vec<String>,
    version: u64,
    watchers: Vec<Watcher>,
}

/// An answer: status and body.
pub(crate) type Answer = (u16, Value);

impl World {
    /// A list.
    pub(crate) fn list(&self, kind: Kind, namespace: &str) -> Answer {
        let sets = self.sets.iter().filter(|((other, _), _)| other == namespace);
        let items: Vec<Value> = match kind {
            Kind::Sets => sets.map(|(_, set)| set.object.clone()).collect(),
            Kind::Pods => sets
                .flat_map(|((namespace, name), set)| {
                    let owner = set.text("/metadata/uid");
                    let pods = set.pods.iter().enumerate();
                    pods.map(move |(ordinal, pod)| objects::pod(namespace, name, owner, ordinal, pod))
                })
                .filter_map(|text| serde_json::from_str(&text).ok())
                .collect(),
        };
        (200, json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items}))
    }

    /// A watch; first comes what is newer than `version`.
    pub(crate) fn watch(&mut self, kind: Kind, namespace: &str, version: u64, lines: UnboundedSender<Line>) {
        self.watchers.push(Watcher { kind, namespace: namespace.to_owned(), lines });
        let keys: Vec<_> = self.sets.keys().filter(|(other, _)| other == namespace).cloned().collect();
        for key in keys {
            let Some(set) = self.sets.get(&key) else { continue };
            match kind {
                Kind::Sets if set.version() > version => self.tell_set(&key, "MODIFIED"),
                Kind::Sets => {}
                Kind::Pods => {
                    let newer: Vec<_> = (0..set.pods.len()).filter(|pod| set.pods[*pod].version > version).collect();
                    newer.into_iter().for_each(|ordinal| self.tell_pod(&key, ordinal, "MODIFIED", false));
                }
            }
        }
    }

    /// A bookmark for every watch.
    pub(crate) fn bookmark(&mut self) {
        let line = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": self.version.to_string()}}});
        let bytes = Bytes::from(line.to_string() + "\n");
        self.watchers.retain(|watcher| watcher.lines.send(Line { bytes: bytes.clone(), marked: false }).is_ok());
    }

    /// A server-side apply.
    pub(crate) fn apply(&mut self, key: &(String, String), mut body: Value, dry: bool) -> Answer {
        let before = self.sets.get(key);
        let stated = |field: &str| body["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (uid, version) = (stated("uid"), stated("resourceVersion"));
        if version.is_empty() || (before.is_some() && uid.is_empty()) {
            self.faults.push(format!("an apply of {} without a precondition", key.1));
        }
        let (uid, generation) = match before {
            Some(set) if set.text("/metadata/uid") != uid || set.text("/metadata/resourceVersion") != version => {
                return refused(409, "Conflict", "the object has been modified");
            }
            Some(set) => (uid, set.generation() + u64::from(set.object["spec"] != body["spec"])),
            None => (format!("uid-{}-{}", key.0, key.1), 1),
        };
        let time = now();
        let fields = objects::managed_fields(&body, &time);
        let created = before.map_or(time, |set| set.text("/metadata/creationTimestamp").to_owned());
        let status = before.map_or_else(|| json!({}), |set| set.object["status"].clone());
        let metadata = &mut body["metadata"];
        metadata["uid"] = uid.into();
        metadata["generation"] = generation.into();
        metadata["creationTimestamp"] = created.into();
        metadata["managedFields"] = fields;
        body["status"] = status;
        if dry {
            return (200, body);
        }
        let is_new = before.is_none();
        body["metadata"]["resourceVersion"] = self.next().to_string().into();
        let replicas = usize::try_from(body["spec"]["replicas"].as_u64().unwrap_or(1)).unwrap_or_default();
        let revision = revision_of(&key.1, &body["spec"]["template"]);
        if is_new {
            let set =
                Set { object: body.clone(), pods: Vec::new(), current: revision.clone(), update: revision.clone() };
            self.sets.insert(key.clone(), set);
            self.tell_set(key, "ADDED");
            for ordinal in 0..replicas {
                let pod = self.fresh_pod(&revision, true);
                self.set(key).pods.push(pod);
                self.tell_pod(key, ordinal, "ADDED", false);
            }
        } else {
            let set = self.set(key);
            set.object = body.clone();
            set.update = revision;
            self.tell_set(key, "MODIFIED");
        }
        self.control(key);
        (if is_new { 201 } else { 200 }, body)
    }

    /// A JSON patch of partition and record.
    pub(crate) fn patch(&mut self, key: &(String, String), steps: &[Value]) -> Answer {
        let Some(set) = self.sets.get(key) else { return refused(404, "NotFound", "no such set") };
        let mut object = set.object.clone();
        let tested = |path: &str| steps.iter().any(|step| step["op"] == "test" && step["path"] == path);
        if !["/metadata/uid", "/metadata/generation", RECORD_PATH].iter().all(|path| tested(path)) {
            self.faults.push(format!("a patch of {} without its tests", key.1));
        }
        for step in steps {
            let path = step["path"].as_str().unwrap_or_default();
            let there = object.pointer_mut(path);
            match (step["op"].as_str().unwrap_or_default(), there) {
                ("test", Some(there)) if *there == step["value"] => {}
                ("add" | "replace", Some(there)) => *there = step["value"].clone(),
                _ => {
                    self.faults.push(format!("a patch of {} failed at {step}", key.1));
                    return refused(422, "Invalid", "the server rejected our request due to an error in our request");
                }
            }
        }
        if object["spec"] != set.object["spec"] {
            object["metadata"]["generation"] = (set.generation() + 1).into();
        }
        object["metadata"]["resourceVersion"] = self.next().to_string().into();
        self.set(key).object = object.clone();
        self.tell_set(key, "MODIFIED");
        self.control(key);
        (200, object)
    }

    /// A pod becomes Ready; the moment at which the client is told is marked.
    pub(crate) fn make_ready(&mut self, key: &(String, String), ordinal: usize) {
        let (version, since) = (self.next(), now());
        let pod = &mut self.set(key).pods[ordinal];
        (pod.ready, pod.version, pod.since) = (true, version, since);
        self.tell_pod(key, ordinal, "MODIFIED", true);
        if ordinal == 0 {
            self.control(key);
        }
    }

    /// Something about a pod changes that is of no account: an annotation, a managed field.
    pub(crate) fn touch(&mut self, key: &(String, String), ordinal: usize) {
        self.set(key).pods[ordinal].version = self.next();
        self.tell_pod(key, ordinal, "MODIFIED", false);
    }

    /// Whether anybody watches the pods of a namespace.
    pub(crate) fn is_watched(&self, namespace: &str) -> bool {
        self.watchers
            .iter()
            .any(|watcher| watcher.kind == Kind::Pods && watcher.namespace == namespace && !watcher.lines.is_closed())
    }

    /// Copies a namespace's sets, as they are, to another one; nobody is told.
    pub(crate) fn copy(&mut self, from: &str, to: &str) {
        let copies: Vec<_> = self.sets.iter().filter(|((namespace, _), _)| namespace == from).collect();
        let copies: Vec<_> = copies.into_iter().map(|((_, name), set)| (name.clone(), set.clone())).collect();
        for (name, mut set) in copies {
            set.object["metadata"]["namespace"] = to.into();
            self.sets.insert((to.to_owned(), name), set);
        }
    }

    /// Does what the StatefulSet controller does: one pod at a time, from the top, and the status.
    fn control(&mut self, key: &(String, String)) {
        let set = self.set(key);
        let partition = usize::try_from(set.partition()).unwrap_or(usize::MAX);
        let outdated = (0..set.pods.len())
            .rev()
            .find(|ordinal| *ordinal >= partition && set.pods[*ordinal].revision != set.update);
        let at_update = set.pods.iter().filter(|pod| pod.revision == set.update && pod.ready).count();
        if at_update == set.pods.len() && partition == 0 {
            set.current.clone_from(&set.update);
        }
        let (replicas, update, generation) = (set.pods.len(), set.update.clone(), set.generation());
        let status = json!({
            "observedGeneration": generation, "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "updatedReplicas": at_update, "currentReplicas": replicas - at_update, "collisionCount": 0,
            "currentRevision": set.current, "updateRevision": set.update,
        });
        if set.object["status"] != status {
            set.object["status"] = status;
            let version = self.next().to_string();
            self.set(key).object["metadata"]["resourceVersion"] = version.into();
            self.tell_set(key, "MODIFIED");
        }
        if let Some(ordinal) = outdated {
            let version = self.next();
            self.set(key).pods[ordinal].version = version;
            self.tell_pod(key, ordinal, "DELETED", false);
            self.set(key).pods[ordinal] = self.fresh_pod(&update, false);
            self.tell_pod(key, ordinal, "ADDED", false);
            self.touch(key, ordinal);
        }
    }

    fn fresh_pod(&mut self, revision: &str, ready: bool) -> Pod {
        let version = self.next();
        Pod { uid: format!("pod-{version}"), revision: revision.to_owned(), ready, since: now(), version }
    }

    /// A set that is there.
    pub(crate) fn set(&mut self, key: &(String, String)) -> &mut Set {
        self.sets.get_mut(key).unwrap_or_else(|| panic!("no set {}/{}", key.0, key.1))
    }

    fn next(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn tell_set(&mut self, key: &(String, String), kind: &str) {
        let object = self.set(key).object.to_string();
        self.tell(Kind::Sets, &key.0, kind, &object, false);
    }

    fn tell_pod(&mut self, key: &(String, String), ordinal: usize, kind: &str, marked: bool) {
        let set = self.set(key);
        let object = objects::pod(&key.0, &key.1, set.text("/metadata/uid"), ordinal, &set.pods[ordinal]);
        self.tell(Kind::Pods, &key.0, kind, &object, marked);
    }

    fn tell(&mut self, of: Kind, namespace: &str, kind: &str, object: &str, marked: bool) {
        let bytes = Bytes::from(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"));
        self.watchers.retain(|watcher| {
            let theirs = watcher.kind == of && watcher.namespace == namespace;
            !theirs || watcher.lines.send(Line { bytes: bytes.clone(), marked }).is_ok()
        });
    }
}

/// A Kubernetes `Status`.
pub(crate) fn refused(code: u16, reason: &str, message: &str) -> Answer {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}))
}

/// The time as the server writes it: whole seconds.
fn now() -> String {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default().to_string()
}

fn revision_of(name: &str, template: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    template.to_string().hash(&mut hasher);
    format!("{name}-{:010x}", hasher.finish() & 0xff_ffff_ffff)
}
