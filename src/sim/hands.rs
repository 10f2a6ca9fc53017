//! How the parts of the cluster that act by themselves see and write: through caches, and through the API as a client.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::delete::{Deletion, Policy, delete};
use super::api::route::Sub;
use super::api::update::update;
use super::api::{self, Terms};
use super::controllers::{Control, Delete, Event, controller_of, patched_owners};
use super::resource::Resource;
use super::status::Status;
use super::store::{Change, Key};
use super::world::World;

/// The name under which the controllers write: they all live in one process.
pub(crate) const CONTROLLERS: &str = "kube-controller-manager";

/// Pods by who controls them: what a set has to look at is its own, whatever else is in the namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodIndex {
    /// By namespace and the controller's uid, which is empty for those that nobody controls.
    by_owner: BTreeMap<(String, String), BTreeMap<String, Arc<Value>>>,
}

impl PodIndex {
    fn place(pod: &Value) -> (String, String) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let namespace = text(pod.get("metadata").and_then(|it| it.get("namespace")));
        (namespace, text(controller_of(pod).and_then(|owner| owner.get("uid"))))
    }

    /// Takes a change of a pod in.
    pub(crate) fn change(&mut self, change: &Change) {
        let now = Self::place(&change.object);
        if let Some(before) = change.before.as_deref().map(Self::place)
            && (change.gone || before != now)
        {
            self.remove(&before, &change.key.name);
        }
        if change.gone {
            self.remove(&now, &change.key.name);
        } else {
            let pods = self.by_owner.entry(now).or_default();
            pods.insert(change.key.name.clone(), change.object.clone());
        }
    }

    fn remove(&mut self, place: &(String, String), name: &str) {
        if let Some(pods) = self.by_owner.get_mut(place) {
            pods.remove(name);
            if pods.is_empty() {
                self.by_owner.remove(place);
            }
        }
    }

    /// The pods that this one controls, and those that nobody does.
    fn of(&self, namespace: &str, uid: &str) -> Vec<Arc<Value>> {
        let of = |uid: &str| self.by_owner.get(&(namespace.to_owned(), uid.to_owned())).into_iter().flatten();
        of(uid).chain(of("")).map(|(_, pod)| pod.clone()).collect()
    }
}

/// What a controller sees and does.
pub(crate) struct Hands<'a> {
    pub(crate) world: &'a mut World,
    /// The set whose pods it asks for; none: it asks for all of them.
    pub(crate) only: Option<(String, String)>,
}

impl<'a> Hands<'a> {
    /// Hands that see everything.
    pub(crate) fn new(world: &'a mut World) -> Self {
        Self { world, only: None }
    }

    /// Hands that see of pods only those that concern one set.
    pub(crate) fn of_set(world: &'a mut World, set: &Key) -> Self {
        let uid = world.store.get(set).and_then(|it| it.get("metadata")?.get("uid")?.as_str().map(str::to_owned));
        Self { world, only: uid.map(|uid| (set.namespace.clone(), uid)) }
    }
}

impl Control for Hands<'_> {
    fn cached(&self, resource: Resource, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.world.store.get(&Key::new(resource, namespace, name)).cloned()
    }

    fn listed(&self, resource: Resource, namespace: Option<&str>) -> Vec<Arc<Value>> {
        match (&self.only, resource) {
            (Some((here, uid)), Resource::Pods) if namespace == Some(here.as_str()) => {
                self.world.life.pods.of(here, uid)
            }
            _ => self.world.store.list(resource, namespace).map(|(_, object)| object.clone()).collect(),
        }
    }

    fn get(&mut self, resource: Resource, namespace: &str, name: &str) -> Result<Arc<Value>, Status> {
        let object = self.world.store.get(&Key::new(resource, namespace, name)).cloned();
        object.ok_or_else(|| Status::not_found(resource, name))
    }

    fn create(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        let namespace = text(&object, "namespace").to_owned();
        api::create(self.world, resource, &namespace, object, &Terms::of(CONTROLLERS))
    }

    fn update(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        let key = key_of(resource, &object);
        update(self.world, &key, Sub::None, object, &Terms::of(CONTROLLERS))
    }

    fn update_status(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        let key = key_of(resource, &object);
        update(self.world, &key, Sub::Status, object, &Terms::of(CONTROLLERS))
    }

    fn patch_owners(
        &mut self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<Value>, Status> {
        let key = Key::new(resource, namespace, name);
        let object = self.get(resource, namespace, name)?;
        let mut patched = patched_owners(&object, patch);
        // A patch of another object than this one is refused for its uid, as an update is.
        if let Some(uid) = patch.get("metadata").and_then(|it| it.get("uid")) {
            patched["metadata"]["uid"] = uid.clone();
        }
        update(self.world, &key, Sub::None, patched, &Terms::of(CONTROLLERS))
    }

    fn delete(&mut self, resource: Resource, namespace: &str, name: &str, options: &Delete) -> Result<(), Status> {
        let policy = match options.propagation {
            Some("Orphan") => Some(Policy::Orphan),
            Some("Foreground") => Some(Policy::Foreground),
            Some(_) => Some(Policy::Background),
            None => None,
        };
        let options = Deletion {
            uid: options.uid.clone(),
            version: options.resource_version.clone(),
            policy,
            ..Deletion::default()
        };
        delete(self.world, &Key::new(resource, namespace, name), &options).map(|_| ())
    }

    fn event(&mut self, about: &Value, event: Event) {
        let recorded = self.world.life.recorder.record(about, &event, self.world.now);
        let Some(recorded) = recorded else { return };
        let namespace = text(&recorded, "namespace").to_owned();
        let terms = Terms::of(CONTROLLERS);
        let key = key_of(Resource::Events, &recorded);
        // An event that is refused is lost, as everywhere: nothing may depend on events.
        match self.world.store.get(&key).cloned() {
            None => _ = api::create(self.world, Resource::Events, &namespace, recorded, &terms),
            Some(before) => {
                let mut again = Value::clone(&before);
                for field in ["count", "message", "lastTimestamp"] {
                    again[field] = recorded[field].clone();
                }
                let _ = update(self.world, &key, Sub::None, again, &terms);
            }
        }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|it| it.get(field)?.as_str()).unwrap_or_default()
}

fn key_of(resource: Resource, object: &Value) -> Key {
    Key::new(resource, text(object, "namespace"), text(object, "name"))
}

/// Writes an object's status. Where it is refused nothing has happened: whoever writes looks again as things change.
pub(crate) fn write_status(world: &mut World, key: &Key, object: Value, manager: &str) {
    let _ = update(world, key, Sub::Status, object, &Terms::of(manager));
}

/// Ends a pod that has been deleted. It may be gone already, and it stays for as long as a finalizer holds it.
pub(crate) fn end(world: &mut World, key: &Key) {
    let _ = delete(world, key, &Deletion { grace: Some(0), ..Deletion::default() });
}

/// Takes everything out of a namespace that is going, and then the namespace. Whether it is gone.
pub(crate) fn empty(world: &mut World, namespace: &str) -> bool {
    let mut left: Vec<Key> = Vec::new();
    for resource in Resource::ALL.into_iter().filter(|it| it.namespaced()) {
        left.extend(world.store.list(resource, Some(namespace)).map(|(key, _)| key.clone()));
    }
    let going = Deletion { policy: Some(Policy::Background), ..Deletion::default() };
    for key in &left {
        let dying = world.store.get(key).is_some_and(|it| !text(it, "deletionTimestamp").is_empty());
        if !dying {
            let _ = delete(world, key, &going);
        }
    }
    if left.iter().any(|key| world.store.get(key).is_some()) {
        return false;
    }
    let key = Key::new(Resource::Namespaces, "", namespace);
    let held = world.store.get(&key).is_some_and(|it| {
        it.get("metadata").and_then(|it| it.get("finalizers")?.as_array()).is_some_and(|it| !it.is_empty())
    });
    if !held {
        world.store.remove(&key);
    }
    !held
}

/// An event as the scheduler writes it.
pub(crate) fn scheduler_event(
    world: &mut World,
    about: &Value,
    severity: &str,
    reason: &str,
    action: &str,
    message: &str,
) {
    let (name, namespace) = (text(about, "name"), text(about, "namespace"));
    let event = json!({
        "metadata": {"name": format!("{name}.{:016x}", world.chance.number()), "namespace": namespace},
        "action": action,
        "eventTime": super::moment::micros(world.now),
        "firstTimestamp": null,
        "lastTimestamp": null,
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": name,
            "namespace": namespace,
            "resourceVersion": text(about, "resourceVersion"),
            "uid": text(about, "uid"),
        },
        "message": message,
        "reason": reason,
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-embedded",
        "source": {},
        "type": severity,
    });
    // One that is refused is lost, as everywhere: nothing may depend on events.
    let _ = api::create(world, Resource::Events, namespace, event, &Terms::of("kube-scheduler"));
}
