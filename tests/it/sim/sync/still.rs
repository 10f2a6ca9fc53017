//! A world that stands still around a controller: its caches do not see what it does, the API does. The effects are
//! written down as the oracle writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use phaseline::sim::controllers::{Control, Delete, Event};
use phaseline::sim::{Resource, Status};
use serde_json::{Value, json};

type Objects = BTreeMap<(Resource, String), Arc<Value>>;

pub(super) struct Still {
    cached: Objects,
    stored: Objects,
    refusals: Vec<Value>,
    pub(super) effects: Vec<Value>,
}

impl Still {
    pub(super) fn of(world: &Value) -> Self {
        let kinds = [("pods", Resource::Pods), ("revisions", Resource::Revisions), ("claims", Resource::Claims)];
        let mut cached = Objects::new();
        let put = |into: &mut Objects, resource, object: &Value| {
            into.insert((resource, name(object).to_owned()), Arc::new(object.clone()));
        };
        put(&mut cached, Resource::StatefulSets, &world["set"]);
        for (field, resource) in kinds {
            list(world, field).iter().for_each(|object| put(&mut cached, resource, object));
        }
        let mut stored = cached.clone();
        list(world, "unseen").iter().for_each(|object| put(&mut stored, Resource::Revisions, object));
        Self { cached, stored, refusals: list(world, "refusals").to_vec(), effects: Vec::new() }
    }

    fn note(&mut self, verb: &str, resource: Resource, name: &str, object: Option<Value>) -> Result<(), Status> {
        let mut effect = json!({"do": verb, "what": resource.plural(), "name": name});
        if let Some(object) = object {
            effect["object"] = object;
        }
        self.effects.push(effect);
        let meant = |it: &&mut Value| {
            it["verb"] == verb
                && it["resource"] == resource.plural()
                && it["name"] == name
                && it["times"].as_i64().is_some_and(|times| times > 0)
        };
        let Some(refusal) = self.refusals.iter_mut().find(meant) else { return Ok(()) };
        refusal["times"] = (refusal["times"].as_i64().unwrap() - 1).into();
        let reason = match refusal["reason"].as_str().unwrap() {
            "Conflict" => "Conflict",
            "NotFound" => "NotFound",
            "AlreadyExists" => "AlreadyExists",
            "Forbidden" => "Forbidden",
            "Invalid" => "Invalid",
            "InternalError" => "InternalError",
            other => panic!("{other}: no reason known here"),
        };
        let code = u16::try_from(refusal["code"].as_u64().unwrap()).unwrap();
        Err(Status::new(code, reason, refusal["message"].as_str().unwrap()))
    }

    fn stored(&self, resource: Resource, name: &str) -> Result<Arc<Value>, Status> {
        let found = self.stored.get(&(resource, name.to_owned()));
        found.cloned().ok_or_else(|| Status::not_found(resource, name))
    }

    fn replace(&mut self, verb: &str, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        let name = name(&object).to_owned();
        let sent = if verb == "status" { &object["status"] } else { &object };
        self.note(verb, resource, &name, Some(sent.clone()))?;
        self.stored(resource, &name)?;
        let object = Arc::new(object);
        self.stored.insert((resource, name), object.clone());
        Ok(object)
    }
}

fn list<'a>(world: &'a Value, field: &str) -> &'a [Value] {
    world[field].as_array().map_or(&[], Vec::as_slice)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

impl Control for Still {
    fn cached(&self, resource: Resource, _namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.cached.get(&(resource, name.to_owned())).cloned()
    }

    fn listed(&self, resource: Resource, _namespace: Option<&str>) -> Vec<Arc<Value>> {
        let all = self.cached.iter().filter(|(key, _)| key.0 == resource);
        all.map(|(_, object)| object.clone()).collect()
    }

    fn get(&mut self, resource: Resource, _namespace: &str, name: &str) -> Result<Arc<Value>, Status> {
        self.stored(resource, name)
    }

    fn create(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        let name = name(&object).to_owned();
        self.note("create", resource, &name, Some(object.clone()))?;
        if self.stored(resource, &name).is_ok() {
            return Err(Status::already_exists(resource, &name));
        }
        let object = Arc::new(object);
        self.stored.insert((resource, name), object.clone());
        Ok(object)
    }

    fn update(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        self.replace("update", resource, object)
    }

    fn update_status(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status> {
        self.replace("status", resource, object)
    }

    fn patch_owners(
        &mut self,
        resource: Resource,
        _namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<Value>, Status> {
        self.note("patch", resource, name, Some(patch.clone()))?;
        self.stored(resource, name)
    }

    fn delete(&mut self, resource: Resource, _namespace: &str, name: &str, _options: &Delete) -> Result<(), Status> {
        self.note("delete", resource, name, None)?;
        let gone = self.stored.remove(&(resource, name.to_owned()));
        gone.map(|_| ()).ok_or_else(|| Status::not_found(resource, name))
    }

    fn event(&mut self, _about: &Value, event: Event) {
        let kind = event.severity.as_str();
        let told = json!({"do": "event", "type": kind, "reason": event.reason, "message": event.message});
        self.effects.push(told);
    }
}
