//! Recordings as files, one for each folder of cases: values that resemble each other are stored once, and as what is
//! different.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::record::Recording;

/// How many values back a likeness is looked for.
const BACK: usize = 40;

/// Recordings of cases as text: one value a line.
pub(super) fn pack(recordings: &BTreeMap<String, Recording>) -> String {
    let mut pool = Pool::default();
    let cases: Vec<String> = recordings
        .iter()
        .map(|(name, recording)| {
            let steps: Vec<Value> =
                recording.steps.iter().map(|seen| seen.iter().map(|it| pool.index(it)).collect()).collect();
            let mut objects = Map::new();
            for (key, seen) in &recording.objects {
                let sequence = |it: &Vec<Value>| it.iter().map(|state| pool.index(state)).collect::<Value>();
                objects.insert(key.clone(), seen.iter().map(sequence).collect());
            }
            let stories: Vec<Value> =
                recording.stories.iter().map(|it| it.iter().map(|line| pool.index(&json!(line))).collect()).collect();
            let mut events = Map::new();
            for (event, runs) in &recording.events {
                events.insert(pool.index(&json!(event)).to_string(), json!(runs));
            }
            let case = json!({"runs": recording.runs, "steps": steps, "objects": objects, "stories": stories, "events": events});
            format!("{}:{case}", json!(name))
        })
        .collect();
    let lines: Vec<String> = pool.packed.iter().map(Value::to_string).collect();
    format!("{{\"cases\":{{\n{}\n}},\"pool\":[\n{}\n]}}\n", cases.join(",\n"), lines.join(",\n"))
}

/// Reads what [`pack`] wrote.
pub(super) fn unpack(text: &str) -> Result<BTreeMap<String, Recording>, String> {
    let file: Value = serde_json::from_str(text).map_err(|it| it.to_string())?;
    let mut pool: Vec<Value> = Vec::new();
    for packed in file["pool"].as_array().ok_or("no pool")? {
        let value = match packed.get("like") {
            None => packed["is"].clone(),
            Some(base) => {
                let base = number(base).and_then(|it| pool.get(it)).ok_or("no such base")?;
                patched(base, packed.get("but").unwrap_or(&Value::Null))
            }
        };
        pool.push(value);
    }
    let at =
        |index: &Value| number(index).and_then(|it| pool.get(it)).cloned().ok_or("an index without a value".to_owned());
    let many = |list: &Value| list.as_array().into_iter().flatten().map(at).collect::<Result<Vec<Value>, String>>();
    let lists = |list: &Value| list.as_array().into_iter().flatten().map(many).collect::<Result<Vec<_>, String>>();
    let mut recordings = BTreeMap::new();
    for (name, case) in file["cases"].as_object().ok_or("no cases")? {
        let runs = number(&case["runs"]).ok_or("no runs")?;
        let mut recording = Recording { runs, steps: lists(&case["steps"])?, ..Recording::default() };
        for (key, seen) in case["objects"].as_object().into_iter().flatten() {
            recording.objects.insert(key.clone(), lists(seen)?);
        }
        for story in lists(&case["stories"])? {
            recording.stories.push(story.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect());
        }
        for (event, runs) in case["events"].as_object().into_iter().flatten() {
            let event = at(&event.parse::<usize>().map_err(|it| it.to_string())?.into())?;
            let event = event.as_str().ok_or("an event is a text")?.to_owned();
            recording.events.insert(event, number(runs).ok_or("no count")?);
        }
        recordings.insert(name.clone(), recording);
    }
    Ok(recordings)
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|it| usize::try_from(it).ok())
}

#[derive(Default)]
struct Pool {
    values: Vec<Value>,
    packed: Vec<Value>,
    known: HashMap<String, usize>,
}

impl Pool {
    fn index(&mut self, value: &Value) -> Value {
        let text = value.to_string();
        if let Some(at) = self.known.get(&text) {
            return (*at).into();
        }
        self.packed.push(self.packed_form(value, text.len()));
        self.values.push(value.clone());
        self.known.insert(text, self.values.len() - 1);
        (self.values.len() - 1).into()
    }

    /// The shorter of the value itself and its difference from one before.
    fn packed_form(&self, value: &Value, length: usize) -> Value {
        let mut best = json!({"is": value});
        if !value.is_object() {
            return best;
        }
        let mut length = length + 7;
        for (base, other) in self.values.iter().enumerate().rev().filter(|it| it.1.is_object()).take(BACK) {
            let mut form = json!({"like": base});
            if let Some(change) = difference(other, value) {
                form["but"] = change;
            }
            let its = form.to_string().len();
            if its < length {
                (best, length) = (form, its);
            }
        }
        best
    }
}

/// What leads from one value to another: `{"~": [gone keys], "key": change}` of mappings, `{"@": length, "0": change}`
/// of lists, `[value]` of anything that is replaced.
fn difference(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        _ if from == to => None,
        (Value::Object(from), Value::Object(to)) if !to.keys().any(|it| it == "~") => {
            let mut change = Map::new();
            let gone: Vec<&String> = from.keys().filter(|it| !to.contains_key(*it)).collect();
            if !gone.is_empty() {
                change.insert("~".into(), json!(gone));
            }
            for (key, value) in to {
                match from.get(key) {
                    Some(before) => change.extend(difference(before, value).map(|it| (key.clone(), it))),
                    None => drop(change.insert(key.clone(), json!([value]))),
                }
            }
            Some(change.into())
        }
        (Value::Array(from), Value::Array(to)) if !from.is_empty() && !to.is_empty() => {
            let mut change = Map::new();
            if from.len() != to.len() {
                change.insert("@".into(), to.len().into());
            }
            for (index, value) in to.iter().enumerate() {
                match from.get(index) {
                    Some(before) => change.extend(difference(before, value).map(|it| (index.to_string(), it))),
                    None => drop(change.insert(index.to_string(), json!([value]))),
                }
            }
            Some(change.into())
        }
        _ => Some(json!([to])),
    }
}

/// Undoes [`difference`].
fn patched(from: &Value, change: &Value) -> Value {
    match (from, change) {
        (_, Value::Array(whole)) => whole.first().cloned().unwrap_or_default(),
        (Value::Object(from), Value::Object(change)) => {
            let mut result = from.clone();
            for key in change.get("~").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
                result.remove(key);
            }
            for (key, change) in change.iter().filter(|it| it.0 != "~") {
                let value = patched(from.get(key).unwrap_or(&Value::Null), change);
                result.insert(key.clone(), value);
            }
            result.into()
        }
        (Value::Array(from), Value::Object(change)) => {
            let length = change.get("@").and_then(number).unwrap_or(from.len());
            let item = |index: usize| match (from.get(index), change.get(&index.to_string())) {
                (Some(before), Some(change)) => patched(before, change),
                (Some(before), None) => before.clone(),
                (None, change) => patched(&Value::Null, change.unwrap_or(&Value::Null)),
            };
            (0..length).map(item).collect()
        }
        _ => from.clone(),
    }
}

#[test]
fn a_recording_survives_its_file() {
    let states = vec![
        json!({"kind": "Pod", "a": {"b": 1}, "c": [1, {"d": 2}]}),
        json!({"kind": "Pod", "a": {}, "c": [1, {"d": 3}, {"e": null}]}),
        json!({"kind": "Pod", "c": []}),
        json!("gone"),
    ];
    let recording = Recording {
        runs: 2,
        steps: vec![vec![json!({"step": "GET x", "code": 200, "body": {"a/b": null}})]],
        objects: BTreeMap::from([("Pod/a#1".to_owned(), vec![states, Vec::new()])]),
        stories: vec![vec!["x made".into()], vec![]],
        events: BTreeMap::from([("Normal".to_owned(), 1)]),
    };
    let recordings = BTreeMap::from([("a".to_owned(), recording.clone()), ("b".to_owned(), recording)]);
    assert_eq!(unpack(&pack(&recordings)).unwrap(), recordings);
}
