//! A cluster of objects for tests: caches that are never stale, an API that refuses what it is told to refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::control::{Control, Delete, Event};
use super::meta;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// The objects, what was done to them, and what will be refused.
#[derive(Debug, Default)]
pub(super) struct Fake {
    pub(super) objects: BTreeMap<(Resource, String, String), Arc<Value>>,
    /// Every write, `create pods web-0`; refused ones too.
    pub(super) writes: Vec<String>,
    pub(super) events: Vec<Event>,
    /// Writes (as in `writes`, by prefix) that are refused, and how often.
    pub(super) refusals: Vec<(String, Status, usize)>,
    /// Whether deleted pods stay, terminating.
    pub(super) lingering: bool,
    version: u64,
}

impl Fake {
    pub(super) fn put(&mut self, resource: Resource, mut object: Value) -> Arc<Value> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let namespace = meta::text(&object, "namespace").to_owned();
        let name = meta::text(&object, "name").to_owned();
        let object = Arc::new(object);
        self.objects.insert((resource, namespace, name), object.clone());
        object
    }

    pub(super) fn find(&self, resource: Resource, name: &str) -> Option<&Value> {
        self.objects.get(&(resource, "shop".into(), name.into())).map(Arc::as_ref)
    }

    pub(super) fn names(&self, resource: Resource) -> Vec<&str> {
        self.objects.keys().filter(|key| key.0 == resource).map(|key| key.2.as_str()).collect()
    }

    /// Changes an object by hand.
    pub(super) fn change(&mut self, resource: Resource, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.find(resource, name).unwrap().clone();
        change(&mut object);
        self.put(resource, object);
    }

    pub(super) fn remove(&mut self, resource: Resource, name: &str) {
        self.objects.remove(&(resource, "shop".into(), name.into())).unwrap();
    }

    /// What was written since it was last asked.
    pub(super) fn take_writes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.writes)
    }

    fn note(&mut self, verb: &str, resource: Resource, name: &str) -> Result<(), Status> {
        let write = format!("{verb} {} {name}", resource.plural());
        self.writes.push(write.clone());
        let refusal = self.refusals.iter_mut().find(|it| it.2 > 0 && write.starts_with(&it.0));
        refusal.map_or(Ok(()), |it| {
            it.2 -= 1;
            Err(it.1.clone())
        })
    }

    fn existing(&self, resource: Resource, object: &Value) -> Result<Arc<Value>, Status> {
        let name = meta::text(object, "name");
        let there = self.cached(resource, meta::text(object, "namespace"), name);
        let there = there.ok_or_else(|| Status::not_found(resource, name))?;
        let version = meta::text(object, "resourceVersion");
        if !version.is_empty() && version != meta::text(&there, "resourceVersion") {
            return Err(Status::conflict(resource, name, "the object has been modified"));
        }
        Ok(there)
    }
}

impl Control for Fake {
    fn cached(&self, resource: Resource, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.objects.get(&(resource, namespace.into(), name.into())).cloned()
    }

    fn listed(&self, resource: Resource, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let within = |key: &(Resource, String, String)| key.0 == resource && namespace.is_none_or(|it| it == key.1);
        self.objects.iter().filter(|(key, _)| within(key)).map(|(_, object)| object.clone()).collect()
    }

    fn get(&mut self, resource: Resource, namespace: &str, name: &str) -> Result<Arc<Value>, Status> {
        self.cached(resource, namespace, name).ok_or_else(|| Status::not_found(resource, name))
    }

    fn create(&mut self, resource: Resource, mut object: Value) -> Result<Arc<Value>, Status> {
        let name = meta::text(&object, "name").to_owned();
        self.note("create", resource, &name)?;
        if self.cached(resource, meta::text(&object, "namespace"), &name).is_some() {
            return Err(Status::already_exists(resource, &name));
        }
        object["metadata"]["uid"] = format!("uid-{}", self.version + 1).into();
        if resource == Resource::Pods {
            object["status"] = json!({"phase": "Pending"});
        }
        Ok(self.put(resource, object))
    }

    fn update(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        self.note("update", resource, meta::text(&object, "name"))?;
        self.existing(resource, &object)?;
        Ok(self.put(resource, object))
    }

    fn update_status(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        self.note("status", resource, meta::text(&object, "name"))?;
        let mut there = self.existing(resource, &object)?.as_ref().clone();
        there["status"] = object["status"].clone();
        if there.pointer("/status/currentReplicas").and_then(Value::as_i64).is_some_and(|it| it < 0) {
            return Err(Status::new(422, "Invalid", "status.currentReplicas: must be greater than or equal to 0"));
        }
        Ok(self.put(resource, there))
    }

    fn patch_owners(
        &mut self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<Value>, Status> {
        self.note("patch", resource, name)?;
        let there = self.get(resource, namespace, name)?;
        if meta::text(patch, "uid") != meta::text(&there, "uid") {
            return Err(Status::conflict(resource, name, "Precondition failed: UID in precondition"));
        }
        Ok(self.put(resource, meta::patched_owners(&there, patch)))
    }

    fn delete(&mut self, resource: Resource, namespace: &str, name: &str, options: &Delete) -> Result<(), Status> {
        self.note("delete", resource, name)?;
        let there = self.get(resource, namespace, name)?;
        if options.uid.as_ref().is_some_and(|uid| uid != meta::text(&there, "uid")) {
            return Err(Status::conflict(resource, name, "the UID in the precondition does not match"));
        }
        let held = there.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
        let finalizer = match options.propagation {
            Some("Foreground") => Some("foregroundDeletion"),
            Some("Orphan") => Some("orphan"),
            _ => None,
        };
        if held || finalizer.is_some() || (self.lingering && resource == Resource::Pods) {
            let mut object = there.as_ref().clone();
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            if let Some(finalizer) = finalizer {
                let mut all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                all.push(finalizer.into());
                object["metadata"]["finalizers"] = all.into();
            }
            self.put(resource, object);
        } else {
            self.objects.remove(&(resource, namespace.into(), name.into()));
        }
        Ok(())
    }

    fn event(&mut self, _about: &Value, event: Event) {
        self.events.push(event);
    }
}

impl Fake {
    /// How many pods are terminating.
    pub(super) fn listed_terminating(&self) -> usize {
        self.listed(Resource::Pods, None).iter().filter(|pod| meta::terminating(pod)).count()
    }
}
