//! Makes the requests that change one set, one after the other, as several people and controllers would.

use std::collections::BTreeMap;

use fastrand::Rng;
use phaseline::{manifest::default::Level, sim::apply::Scope};
use serde_json::{Map, Value, json};

use super::generate::{Generator, changed, somewhere};

/// The requests on one set.
pub(super) struct Requests {
    rng: Rng,
    /// Two manifests, out of which everything is taken.
    manifests: [Value; 2],
    scope: Scope,
    /// What each of the managers applied last.
    applied: BTreeMap<String, Value>,
}

const APPLIERS: [&str; 4] = ["phaseline", "kubectl", "one", ""];

impl Requests {
    pub(super) fn of(level: Level, seed: u64) -> Self {
        let generator = Generator::of(level);
        let mut rng = Rng::with_seed(seed);
        let manifests = [0, 1].map(|_| {
            let mut manifest = generator.manifest(rng.u64(..)).manifest;
            manifest["metadata"] = metadata(&mut rng);
            in_plain_form(&mut manifest);
            manifest
        });
        Self { rng, manifests, scope: Scope::stateful_set(level), applied: BTreeMap::new() }
    }

    /// The next one.
    pub(super) fn next(&mut self, live: Option<&Value>, now: &str) -> Value {
        let mut write = match live {
            None if self.rng.bool() => {
                let body = self.manifests[0].clone();
                json!({"verb": "create", "manager": "kubectl-create", "body": body})
            }
            None => self.apply(None),
            Some(live) => match self.rng.u8(..20) {
                0..10 => self.apply(Some(live)),
                10..12 => self.put(live),
                12..15 => self.patch(live),
                15..17 => self.status(live),
                _ => self.scale(live),
            },
        };
        write["now"] = now.into();
        if let Some(live) = live {
            write["live"] = live.clone();
        }
        write
    }

    /// Remembers what was applied.
    pub(super) fn taken(&mut self, write: &Value) {
        if write["verb"] == "apply" {
            let manager = write["manager"].as_str().unwrap().to_owned();
            self.applied.insert(manager, write["body"].clone());
        }
    }

    fn apply(&mut self, live: Option<&Value>) -> Value {
        let rng = &mut self.rng;
        let manager = APPLIERS[rng.usize(..3)];
        let mine = self.applied.get(manager);
        let mut body = match (rng.u8(..10), live) {
            // The same once more.
            (0, _) if mine.is_some() => mine.unwrap().clone(),
            (1..6, _) if mine.is_some() => changed(rng, mine.unwrap(), &self.manifests[1]),
            // What others applied, or what is there.
            (6, _) if !self.applied.is_empty() => {
                let index = rng.usize(..self.applied.len());
                self.applied.values().nth(index).unwrap().clone()
            }
            (7, Some(live)) => without_what_the_server_keeps(live),
            _ => self.manifests[rng.usize(..2)].clone(),
        };
        for _ in 0..rng.usize(..4) {
            match rng.u8(..4) {
                0 => body = thinned(rng, &body, 8),
                1 => body["metadata"] = metadata(rng),
                2 => set(&mut body, "/spec", "replicas", json!(rng.u8(..3))),
                _ => graft(rng, &mut body, &self.manifests[1]),
            }
        }
        if rng.u8(..6) == 0 {
            body = thinned(rng, &body, 2);
        }
        if rng.u8(..8) == 0
            && let Some(place) = somewhere(rng, &mut body["spec"])
        {
            *place = [json!(null), json!({}), json!([])][rng.usize(..3)].clone();
        }
        body["apiVersion"] = "apps/v1".into();
        body["kind"] = "StatefulSet".into();
        body["metadata"]["name"] = "web".into();
        if rng.u8(..12) == 0 {
            body["status"] = status(rng);
        }
        json!({"verb": "apply", "manager": manager, "force": rng.u8(..3) == 0, "body": body})
    }

    /// The whole set as somebody edits it, or as a manifest has it; in the server's own spelling, for within lists that are
    /// one value it takes another one for a change.
    fn put(&mut self, live: &Value) -> Value {
        let rng = &mut self.rng;
        let mut body = if rng.u8(..4) == 0 { self.manifests[1].clone() } else { live.clone() };
        for _ in 0..rng.usize(..4) {
            match rng.u8(..4) {
                0 => body = changed(rng, &body, &self.manifests[1]),
                1 => body["metadata"]["labels"] = labels(rng),
                2 => set(&mut body, "/spec", "replicas", json!(rng.u8(..3))),
                _ => graft(rng, &mut body, &self.manifests[1]),
            }
        }
        body = self.scope.stored(&body);
        match rng.u8(..8) {
            0 => body["metadata"]["managedFields"] = json!([]),
            1 => body["metadata"]["managedFields"] = json!([{}]),
            2 => drop(body["metadata"].as_object_mut().unwrap().remove("managedFields")),
            3 => {
                if let Some(entries) = body["metadata"]["managedFields"].as_array_mut() {
                    entries.pop();
                }
            }
            _ => {}
        }
        if rng.u8(..3) == 0 {
            body["status"] = status(rng);
        }
        json!({"verb": "put", "manager": self.updater(), "body": body})
    }

    /// A few values, as a merge patch; null takes one away.
    fn patch(&mut self, live: &Value) -> Value {
        let rng = &mut self.rng;
        let mut body = json!({"spec": {}});
        for _ in 0..rng.usize(1..4) {
            match rng.u8(..6) {
                0 => body["metadata"] = json!({"labels": labels(rng)}),
                1 => set(&mut body, "/spec", "replicas", [json!(null), json!(1), json!(2)][rng.usize(..3)].clone()),
                2 => {
                    let strategy = json!({"rollingUpdate": {"partition": rng.u8(..3)}});
                    set(&mut body, "/spec", "updateStrategy", strategy);
                }
                3 => body["spec"] = json!({"template": {"spec": thinned(rng, &live["spec"]["template"]["spec"], 2)}}),
                4 => body["metadata"] = json!({"annotations": {"note": (["x", "y"][rng.usize(..2)])}}),
                _ => body["spec"] = thinned(rng, &self.scope.stored(&self.manifests[1])["spec"], 2),
            }
        }
        without_empties(&mut body["spec"]);
        if rng.u8(..20) == 0 {
            body["metadata"]["managedFields"] = json!([]);
        }
        json!({"verb": "merge", "manager": self.updater(), "body": body})
    }

    fn status(&mut self, live: &Value) -> Value {
        let rng = &mut self.rng;
        let manager = ["controller", "one", "phaseline"][rng.usize(..3)];
        let mut body = json!({"status": status(rng)});
        if rng.u8(..4) == 0 {
            body["spec"] = json!({"replicas": 7});
            body["metadata"] = json!({"labels": labels(rng)});
        }
        let verb = ["put", "merge", "apply"][rng.usize(..3)];
        match verb {
            "put" => {
                let mut whole = live.clone();
                for (name, value) in body.as_object().unwrap() {
                    whole[name] = value.clone();
                }
                whole["metadata"] = live["metadata"].clone();
                body = whole;
            }
            "apply" => {
                body["apiVersion"] = "apps/v1".into();
                body["kind"] = "StatefulSet".into();
                body["metadata"]["name"] = "web".into();
            }
            _ => {}
        }
        let force = rng.bool();
        json!({"verb": verb, "subresource": "status", "manager": manager, "force": force, "body": body})
    }

    fn scale(&mut self, live: &Value) -> Value {
        let rng = &mut self.rng;
        let manager = ["autoscaler", "kubectl", "one"][rng.usize(..3)];
        let replicas =
            [json!(0), json!(1), json!(2), json!(5), live["spec"]["replicas"].clone()][rng.usize(..5)].clone();
        let verb = ["put", "merge", "apply"][rng.usize(..3)];
        let mut body = json!({"spec": {"replicas": replicas}});
        if verb != "merge" {
            body["apiVersion"] = "autoscaling/v1".into();
            body["kind"] = "Scale".into();
            body["metadata"] = json!({"name": "web"});
        }
        if verb == "put" {
            body["metadata"]["namespace"] = "default".into();
        }
        let force = rng.bool();
        json!({"verb": verb, "subresource": "scale", "manager": manager, "force": force, "body": body})
    }

    fn updater(&mut self) -> String {
        match self.rng.u8(..4) {
            0 => "kubectl-edit".to_owned(),
            1 => "one".to_owned(),
            // Many, to see what becomes of the oldest.
            _ => format!("u{}", self.rng.u8(..16)),
        }
    }
}

/// Sets a field of an object, if it is one.
fn set(body: &mut Value, place: &str, name: &str, value: Value) {
    if let Some(Value::Object(object)) = body.pointer_mut(place) {
        object.insert(name.to_owned(), value);
    }
}

fn labels(rng: &mut Rng) -> Value {
    let mut labels = Map::new();
    for key in ["app", "a", "b.io/c"] {
        if rng.bool() {
            labels.insert(key.into(), ["x", "y", ""][rng.usize(..3)].into());
        }
    }
    labels.into()
}

fn metadata(rng: &mut Rng) -> Value {
    let mut metadata = json!({"name": "web"});
    if rng.bool() {
        metadata["labels"] = labels(rng);
    }
    if rng.u8(..3) == 0 {
        metadata["annotations"] = json!({"note": (["x", "y"][rng.usize(..2)])});
    }
    if rng.u8(..6) == 0 {
        let noted = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"replicas": rng.u8(..3)}});
        metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = noted.to_string().into();
    }
    if rng.u8(..4) == 0 {
        let mut finalizers = vec![json!("a.io/x"), json!("b.io/y"), json!("c.io/z")];
        rng.shuffle(&mut finalizers);
        finalizers.truncate(rng.usize(..3));
        metadata["finalizers"] = finalizers.into();
    }
    if rng.u8(..4) == 0 {
        let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": format!("o{uid}"), "uid": uid});
        let mut owners = vec![owner("1"), owner("2"), owner("3")];
        rng.shuffle(&mut owners);
        owners.truncate(rng.usize(1..3));
        metadata["ownerReferences"] = owners.into();
    }
    metadata
}

fn status(rng: &mut Rng) -> Value {
    let mut status = json!({"replicas": rng.u8(..3)});
    if rng.bool() {
        status["readyReplicas"] = json!(rng.u8(..3));
    }
    if rng.u8(..4) == 0 {
        status["currentRevision"] = ["web-1", "web-2"][rng.usize(..2)].into();
    }
    if rng.u8(..3) == 0 {
        let mut conditions: Vec<_> = ["Ready", "Progressing", "Odd"]
            .iter()
            .map(|kind| json!({"type": kind, "status": (["True", "False"][rng.usize(..2)])}))
            .collect();
        rng.shuffle(&mut conditions);
        conditions.truncate(rng.usize(1..4));
        status["conditions"] = conditions.into();
    }
    status
}

/// A part of a value: of its fields and items some are left out, but never what tells items apart.
fn thinned(rng: &mut Rng, value: &Value, one_in: u8) -> Value {
    const KEYS: [&str; 11] = [
        "name",
        "containerPort",
        "protocol",
        "mountPath",
        "devicePath",
        "ip",
        "topologyKey",
        "whenUnsatisfiable",
        "uid",
        "type",
        "kind",
    ];
    match value {
        Value::Object(map) => map
            .iter()
            .filter_map(|(name, value)| {
                let stays = KEYS.contains(&name.as_str()) || rng.u8(..one_in) > 0;
                stays.then(|| (name.clone(), thinned(rng, value, one_in)))
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(|item| thinned(rng, item, one_in)).collect();
            items.retain(|_| rng.u8(..one_in) > 0);
            if rng.u8(..4) == 0 {
                rng.shuffle(&mut items);
            }
            items.into()
        }
        other => other.clone(),
    }
}

/// Takes out what the server compares as it has it in memory: bytes of sets of fields, fractions of seconds.
fn in_plain_form(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::Null => {}
                    Value::String(time)
                        if time.contains(['.', ',']) && time.contains('T') && time.starts_with("2024-") =>
                    {
                        *value = "2024-01-02T03:04:05Z".into();
                    }
                    _ if name == "fieldsV1" => *value = json!({"f:a": {}}),
                    _ => in_plain_form(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(in_plain_form),
        _ => {}
    }
}

/// Takes empty lists and maps out of lists, and with them what is empty then.
fn without_empties(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(without_empties);
            map.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(without_empties),
        _ => {}
    }
}

/// Puts what the other has somewhere into the same place; lists may get longer by it.
fn graft(rng: &mut Rng, value: &mut Value, other: &Value) {
    match (value, other) {
        (Value::Object(value), Value::Object(other)) if !other.is_empty() && rng.u8(..6) > 0 => {
            let name = other.keys().nth(rng.usize(..other.len())).unwrap();
            match value.get_mut(name) {
                Some(inner) => graft(rng, inner, &other[name]),
                None => drop(value.insert(name.clone(), other[name].clone())),
            }
        }
        (Value::Array(value), Value::Array(other)) if !other.is_empty() && rng.u8(..3) > 0 => {
            let item = &other[rng.usize(..other.len())];
            let at = rng.usize(..=value.len());
            value.insert(at, item.clone());
        }
        (value, other) => *value = other.clone(),
    }
}

fn without_what_the_server_keeps(live: &Value) -> Value {
    let mut body = live.clone();
    let metadata = body["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, _| matches!(name.as_str(), "name" | "labels" | "annotations" | "finalizers"));
    body.as_object_mut().unwrap().remove("status");
    body
}
