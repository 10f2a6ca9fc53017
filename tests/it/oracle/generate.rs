//! Makes manifests from the Go types: every field of a StatefulSet, in usual and in odd spellings.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use phaseline::manifest::default::Level;
use serde_json::{Map, Value, json};

use super::types::{Field, ROOT, Shape, Types};
use super::values;

/// How deep structs are filled beyond what a manifest is made for.
const DEPTH: usize = 12;

/// A manifest, and how it is sent.
pub(super) struct Generated {
    pub(super) manifest: Value,
    /// `apply` or `create`.
    pub(super) mode: &'static str,
    /// The fields it has, as (struct, field).
    pub(super) fields: BTreeSet<(String, String)>,
}

/// Makes manifests of one version, one for each seed.
pub(super) struct Generator {
    types: Types,
    targets: Vec<(String, String)>,
}

impl Generator {
    pub(super) fn of(level: Level) -> Self {
        let types = Types::of(level);
        Self { targets: types.fields(), types }
    }

    /// Whether every item of a list with keys has them: without, an item is live under another key than it was given.
    pub(super) fn has_keys(&self, value: &Value) -> bool {
        let keys: BTreeMap<_, _> =
            self.types.structs.values().flatten().map(|field| (field.name.as_str(), &field.keys)).collect();
        has_keys(&keys, value)
    }

    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.targets
    }

    /// The same manifest for the same seed.
    pub(super) fn manifest(&self, seed: u64) -> Generated {
        let mut rng = Rng::with_seed(seed);
        // A few fields that shall be there, and all on the way to them; the rest is chance.
        let mut wanted = BTreeSet::new();
        for _ in 0..rng.usize(1..5) {
            let target = &self.targets[rng.usize(..self.targets.len())];
            wanted.extend(self.types.way(&target.0).iter().cloned());
            wanted.insert(target.clone());
        }
        let calm = rng.u8(..4) == 0;
        let mut draft = Draft { types: &self.types, wanted, fields: BTreeSet::new(), nodes: 150, oddities: !calm, rng };
        let mut spec = draft.structure(ROOT, 0);
        draft.dress(&mut spec);
        let mut manifest =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": spec});
        let mode = if draft.rng.u8(..5) == 0 { "create" } else { "apply" };
        if draft.rng.u8(..8) == 0 {
            spoil(&mut draft.rng, &mut manifest["spec"]);
        }
        if mode == "create" && draft.rng.bool() {
            add_unknown(&mut draft.rng, &mut manifest["spec"]);
        }
        Generated { manifest, mode, fields: draft.fields }
    }
}

fn has_keys(keys: &BTreeMap<&str, &Vec<String>>, value: &Value) -> bool {
    let inner = |name: &str, value: &Value| {
        let Some(wanted) = keys.get(name).filter(|keys| !keys.is_empty()) else { return true };
        let has = |item: &Value, key: &String| match item.get(key) {
            Some(Value::Number(port)) => port.as_i64().is_some_and(|port| (1..65_536).contains(&port)),
            Some(value) => !value.is_null() && value != "",
            None => key == "protocol",
        };
        value.as_array().is_none_or(|items| items.iter().all(|item| wanted.iter().all(|key| has(item, key))))
    };
    match value {
        Value::Object(map) => map.iter().all(|(name, value)| inner(name, value) && has_keys(keys, value)),
        Value::Array(items) => items.iter().all(|item| has_keys(keys, item)),
        _ => true,
    }
}

/// The manifest as somebody changes it: a few values of the template gone, others as another manifest has them.
pub(super) fn changed(rng: &mut Rng, manifest: &Value, other: &Value) -> Value {
    let mut now = manifest.clone();
    for _ in 0..rng.usize(1..5) {
        let Some(place) = now.pointer_mut("/spec/template/spec").filter(|place| place.is_object()) else { break };
        match rng.u8(..4) {
            0 => {
                if let Some(container) = place.pointer_mut("/containers/0").filter(|item| item.is_object()) {
                    container["image"] = values::text(rng, "image").into();
                }
            }
            1 => {
                let Some(theirs) = other["spec"]["template"]["spec"].as_object().filter(|theirs| !theirs.is_empty())
                else {
                    continue;
                };
                let names: Vec<_> = theirs.keys().collect();
                let name = names[rng.usize(..names.len())];
                place[name] = theirs[name].clone();
            }
            2 => {
                if let Some(Value::Array(items)) = somewhere(rng, place).filter(|place| place.is_array()) {
                    items.reverse();
                    items.pop();
                }
            }
            _ => {
                if let Some(Value::Object(map)) = somewhere(rng, place)
                    && !map.is_empty()
                {
                    let name = map.keys().nth(rng.usize(..map.len())).cloned();
                    map.remove(&name.unwrap());
                }
            }
        }
    }
    now
}

struct Draft<'a> {
    types: &'a Types,
    wanted: BTreeSet<(String, String)>,
    fields: BTreeSet<(String, String)>,
    /// How many more values may be made by chance.
    nodes: usize,
    /// Whether nulls, empty values and the like are wanted.
    oddities: bool,
    rng: Rng,
}

impl Draft<'_> {
    fn structure(&mut self, name: &str, depth: usize) -> Value {
        let fields = &self.types.structs[name];
        // About three of the fields of every struct, be there 2 or 30.
        let chance = 3.0_f64.min(fields.len() as f64) / fields.len() as f64;
        let mut map = Map::new();
        for field in fields {
            let id = (name.to_owned(), field.name.clone());
            let by_chance = depth < DEPTH && self.nodes > 0 && self.rng.f64() < chance;
            let is_wanted = self.wanted.contains(&id) && self.rng.u8(..10) > 0;
            if by_chance || is_wanted {
                self.nodes = self.nodes.saturating_sub(1);
                let value = self.field(field, depth + 1);
                map.insert(field.name.clone(), value);
                self.fields.insert(id);
            }
        }
        Value::Object(map)
    }

    fn field(&mut self, field: &Field, depth: usize) -> Value {
        if self.oddities && self.rng.u8(..25) == 0 {
            return Value::Null;
        }
        match field.shape {
            Shape::Plain => self.item(field, depth),
            Shape::List => {
                let most = if self.nodes == 0 { 2 } else { 4 };
                let count = if self.oddities && self.rng.u8(..10) == 0 { 0 } else { self.rng.usize(1..most) };
                let mut items: Vec<_> = (0..count).map(|_| self.item(field, depth)).collect();
                if self.rng.u8(..20) > 0 {
                    self.tell_apart(field, &mut items);
                }
                items.into()
            }
            Shape::Map => {
                let count = self.rng.usize(..4);
                let pairs = (0..count).map(|_| {
                    let key = values::key(&mut self.rng);
                    let is_null = self.oddities && self.rng.u8(..20) == 0;
                    (key, if is_null { Value::Null } else { self.item(field, depth) })
                });
                Value::Object(pairs.collect())
            }
        }
    }

    fn item(&mut self, field: &Field, depth: usize) -> Value {
        let rng = &mut self.rng;
        match field.of.as_str() {
            "string" => values::text(rng, &field.name).into(),
            "bool" => rng.bool().into(),
            "int32" => values::whole(rng, 32),
            "int64" => values::whole(rng, 64),
            "Quantity" => values::quantity(rng),
            "IntOrString" => values::int_or_text(rng),
            "Time" => values::time(rng),
            "FieldsV1" => values::anything(rng),
            of => self.structure(of, depth),
        }
    }

    /// Gives the items of a list the keys by which server-side apply must be able to tell them apart.
    fn tell_apart(&mut self, field: &Field, items: &mut [Value]) {
        if field.keys.is_empty() {
            return;
        }
        for (index, item) in items.iter_mut().enumerate() {
            for key in &field.keys {
                let value = match key.as_str() {
                    "containerPort" => json!(80 + index),
                    "protocol" if self.rng.bool() => continue,
                    "protocol" => json!("TCP"),
                    "name" => json!(["data", "cfg", "v0", "v1"][index]),
                    _ => json!(format!("/{index}")),
                };
                item[key] = value;
            }
        }
    }

    /// Puts in what nearly every manifest has, so that most of them are taken.
    fn dress(&mut self, spec: &mut Value) {
        if self.rng.u8(..10) > 0 {
            spec["selector"] = json!({"matchLabels": {"app": "web"}});
        }
        if !spec["template"].is_object() {
            spec["template"] = json!({});
        }
        let template = &mut spec["template"];
        if !template["metadata"].is_object() {
            template["metadata"] = json!({});
        }
        if self.rng.u8(..10) > 0 {
            template["metadata"]["labels"] = json!({"app": "web"});
        }
        if !template["spec"].is_object() {
            template["spec"] = json!({});
        }
        if template["spec"]["containers"].is_null() {
            template["spec"]["containers"] = json!([{"name": "web", "image": values::text(&mut self.rng, "image")}]);
        }
    }
}

/// Puts a value of a wrong kind somewhere.
fn spoil(rng: &mut Rng, value: &mut Value) {
    let wrong = values::wrong(rng);
    if let Some(place) = somewhere(rng, value) {
        *place = wrong;
    }
}

/// Adds a field that nobody knows, or knows in another spelling.
fn add_unknown(rng: &mut Rng, value: &mut Value) {
    for _ in 0..10 {
        let name = ["unknown", "Name", "x-y", "hostpath", "resource"][rng.usize(..5)];
        let of = values::wrong(rng);
        if let Some(Value::Object(map)) = somewhere(rng, value) {
            map.entry(name).or_insert(of);
            return;
        }
    }
}

/// A place within the value, the deeper ones as likely as the others.
pub(super) fn somewhere<'a>(rng: &mut Rng, value: &'a mut Value) -> Option<&'a mut Value> {
    let is_empty = match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_empty || rng.u8(..5) == 0 {
        return Some(value);
    }
    match value {
        Value::Object(map) => {
            let index = rng.usize(..map.len());
            map.values_mut().nth(index).and_then(|inner| somewhere(rng, inner))
        }
        Value::Array(items) => {
            let index = rng.usize(..items.len());
            items.get_mut(index).and_then(|inner| somewhere(rng, inner))
        }
        _ => None,
    }
}

#[test]
fn a_seed_gives_one_manifest_and_seeds_give_many() {
    let generator = Generator::of(Level::V1_36);
    let text = |seed| generator.manifest(seed).manifest.to_string();
    assert_eq!(text(1), text(1));
    let all: BTreeSet<_> = (0..500).map(text).collect();
    assert!(all.len() > 450, "{}", all.len());
    let fields: BTreeSet<_> = (0..2_000).flat_map(|seed| generator.manifest(seed).fields).collect();
    assert!(fields.len() * 100 > generator.fields().len() * 95, "{} of {}", fields.len(), generator.fields().len());
}
