//! Changes recorded sets in one or two places, as people get them wrong: misspelt, misplaced, odd values, grafts.

use std::collections::BTreeMap;

use fastrand::Rng;
use phaseline::manifest::parse;
use serde_json::{Value, json};

/// A changed set, and what was changed.
pub(super) struct Mutated {
    pub(super) manifest: Value,
    pub(super) changes: Vec<String>,
}

/// The recorded sets, and what stands in them by the name of its field.
pub(super) struct Mutator {
    sets: Vec<Value>,
    values: BTreeMap<String, Vec<Value>>,
}

const WORDS: [&str; 40] = [
    "",
    "a",
    "A",
    "a.b",
    "-a",
    "a_b",
    "a b",
    "ü",
    "../x",
    "/abs",
    "..x",
    "0",
    "80",
    "http",
    "http-web-too-long-name",
    "TCP",
    "tcp",
    "Always",
    "Never",
    "OnFailure",
    "Localhost",
    "RuntimeDefault",
    "In",
    "Exists",
    "Gt",
    "1Gi",
    "500m",
    "-1",
    "1.5",
    "one",
    "10.0.0.1",
    "010.0.0.1",
    "metadata.name",
    "metadata.labels['a']",
    "metadata.labels",
    "limits.cpu",
    "DoNotSchedule",
    "ReadWriteOncePod",
    "NoExecute",
    "Equal",
];

impl Mutator {
    pub(super) fn new() -> Self {
        let mut sets = Vec::new();
        for line in include_str!("../../data/revision-cases.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let (mut documents, _) = parse("case.yaml", case["yaml"].as_str().unwrap().as_bytes());
            documents.retain(|document| document.kind() == "StatefulSet");
            let name = documents.first().and_then(|document| document.value.pointer("/metadata/name").cloned());
            sets.extend(documents.into_iter().map(|document| document.value));
            // As the server returned it: with every default written out.
            if let (Some(name), true) = (name, case["1.36.3"]["spec"].is_object()) {
                let metadata = json!({"name": name, "namespace": "default"});
                let spec = case["1.36.3"]["spec"].clone();
                sets.push(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}));
            }
        }
        let mut values = BTreeMap::new();
        for set in &sets {
            collect(set, &mut values);
        }
        Self { sets, values }
    }

    /// A recorded set as it is, and changed outside of its pod template; the same for the same seed.
    pub(super) fn pair(&self, seed: u64) -> (Value, Mutated) {
        let mut rng = Rng::with_seed(seed);
        let before = self.sets[rng.usize(..self.sets.len())].clone();
        let mut manifest = before.clone();
        let mut places = Vec::new();
        walk(&manifest["spec"], "/spec", &mut places);
        places.retain(|place| !place.starts_with("/spec/template"));
        let mut changes = Vec::new();
        if !places.is_empty() {
            let place = places[rng.usize(..places.len())].clone();
            let what = self.change(&mut manifest, &place, &mut rng);
            changes.push(format!("{place}: {what}"));
        }
        (before, Mutated { manifest, changes })
    }

    /// A recorded set, changed; the same for the same seed.
    pub(super) fn manifest(&self, seed: u64) -> Mutated {
        let mut rng = Rng::with_seed(seed);
        let mut manifest = self.sets[rng.usize(..self.sets.len())].clone();
        let mut changes = Vec::new();
        for _ in 0..rng.usize(1..3) {
            let mut places = Vec::new();
            for top in ["metadata", "spec"] {
                walk(&manifest[top], &format!("/{top}"), &mut places);
            }
            let place = places[rng.usize(..places.len())].clone();
            if matches!(place.as_str(), "/metadata/name" | "/metadata/namespace") {
                continue;
            }
            let what = self.change(&mut manifest, &place, &mut rng);
            changes.push(format!("{place}: {what}"));
        }
        Mutated { manifest, changes }
    }

    fn change(&self, manifest: &mut Value, place: &str, rng: &mut Rng) -> String {
        let (above, name) = place.rsplit_once('/').unwrap();
        let field = place.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default().to_owned();
        match rng.u8(..10) {
            0 | 1 => {
                match manifest.pointer_mut(above) {
                    Some(Value::Object(map)) => drop(map.remove(&name.replace("~1", "/").replace("~0", "~"))),
                    Some(Value::Array(list)) => drop(list.remove(name.parse().unwrap())),
                    _ => {}
                }
                "removed".into()
            }
            2 => {
                let copy = manifest.pointer(place).cloned().unwrap_or_default();
                match manifest.pointer_mut(above) {
                    Some(Value::Array(list)) => list.push(copy),
                    Some(Value::Object(map)) => drop(map.insert(format!("{}x", name.replace("~1", "/")), copy)),
                    _ => {}
                }
                "doubled".into()
            }
            3..=5 => {
                // What stands in a field of this name somewhere else.
                let known = self.values.get(&field).map_or(&[Value::Null][..], Vec::as_slice);
                let value = known[rng.usize(..known.len())].clone();
                let same = manifest.pointer(place).is_some_and(|old| old.is_array() == value.is_array());
                let value = if same || !value.is_array() { value } else { value[0].clone() };
                set(manifest, place, value)
            }
            6 => {
                let numbers = [
                    json!(-1),
                    json!(0),
                    json!(1),
                    json!(101),
                    json!(65536),
                    json!(1.5),
                    json!(4_294_967_376_i64),
                    json!(2.0),
                    json!(512),
                ];
                set(manifest, place, numbers[rng.usize(..numbers.len())].clone())
            }
            7 | 8 => {
                let word = match rng.u8(..8) {
                    0 => "a".repeat([64, 254][rng.usize(..2)]),
                    _ => WORDS[rng.usize(..WORDS.len())].to_owned(),
                };
                set(manifest, place, word.into())
            }
            _ => {
                let odd = [
                    json!(null),
                    json!(true),
                    json!({}),
                    json!([]),
                    json!([null]),
                    json!({"name": "x"}),
                    json!(["x", "x"]),
                ];
                set(manifest, place, odd[rng.usize(..odd.len())].clone())
            }
        }
    }
}

fn set(manifest: &mut Value, place: &str, value: Value) -> String {
    let said = format!("{}", value).chars().take(200).collect();
    if let Some(target) = manifest.pointer_mut(place) {
        *target = value;
    }
    said
}

fn walk(value: &Value, at: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                places.push(place.clone());
                walk(value, &place, places);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                places.push(format!("{at}/{index}"));
                walk(value, &format!("{at}/{index}"), places);
            }
        }
        _ => {}
    }
}

fn collect(value: &Value, values: &mut BTreeMap<String, Vec<Value>>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                values.entry(key.replace('~', "~0").replace('/', "~1")).or_default().push(value.clone());
                collect(value, values);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, values)),
        _ => {}
    }
}
