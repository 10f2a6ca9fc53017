//! What a run leaves once what may differ is out of it, and how two values differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// A normalized run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Trace {
    /// The answer of each step.
    pub(super) steps: Vec<Value>,
    /// The states of each object (`Pod/web-0#2`: its second incarnation), without equal neighbours.
    pub(super) objects: BTreeMap<String, Vec<Value>>,
    /// What happened to all objects, in order.
    pub(super) story: Vec<String>,
    /// The cluster's events.
    pub(super) events: BTreeSet<String>,
}

/// Where and how two values differ.
pub(super) type Changes = BTreeMap<String, (Option<Value>, Option<Value>)>;

/// Every smallest place at which they differ, as a JSON pointer; lists of different lengths differ as a whole.
pub(super) fn changes(a: &Value, b: &Value) -> Changes {
    let mut found = BTreeMap::new();
    collect(a, b, &mut String::new(), &mut found);
    found
}

fn collect(a: &Value, b: &Value, place: &mut String, found: &mut Changes) {
    let here = place.len();
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                place.push('/');
                place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => collect(a, b, place, found),
                    (a, b) => {
                        found.insert(place.clone(), (a.cloned(), b.cloned()));
                    }
                }
                place.truncate(here);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                place.push_str(&format!("/{index}"));
                collect(a, b, place, found);
                place.truncate(here);
            }
        }
        _ if a != b => {
            found.insert(place.clone(), (Some(a.clone()), Some(b.clone())));
        }
        _ => {}
    }
}

/// Puts a value at a pointer (made by [`changes`]), or takes away what is there.
pub(super) fn put(target: &mut Value, pointer: &str, value: Option<&Value>) {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        *target = value.cloned().unwrap_or_default();
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    match (target.pointer_mut(parent), value) {
        (Some(Value::Object(map)), Some(value)) => {
            map.insert(key, value.clone());
        }
        (Some(Value::Object(map)), None) => {
            map.remove(&key);
        }
        (Some(Value::Array(items)), Some(value)) => {
            if let Some(item) = key.parse::<usize>().ok().and_then(|it| items.get_mut(it)) {
                *item = value.clone();
            }
        }
        _ => {}
    }
}

/// An empty mapping.
pub(super) fn nothing() -> Value {
    Value::Object(Map::new())
}

#[test]
fn changes_lead_from_one_value_to_the_other() {
    let a = serde_json::json!({"a": [1, {"b/c": 2}], "d": 3, "e": [1]});
    let b = serde_json::json!({"a": [1, {"b/c": 4}], "f": null, "e": []});
    let mut c = a.clone();
    for (pointer, (_, value)) in changes(&a, &b) {
        put(&mut c, &pointer, value.as_ref());
    }
    assert_eq!(c, b);
}
