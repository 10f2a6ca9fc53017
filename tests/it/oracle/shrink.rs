//! Makes a manifest smaller as long as it still shows the same thing.

use serde_json::{Value, json};

/// The smallest manifest found for which `shows` still says so; `shows` is asked a bounded number of times.
pub(crate) fn shrink(manifest: &Value, mut shows: impl FnMut(&Value) -> bool) -> Value {
    const MOST: usize = 1_500;
    let mut smallest = manifest.clone();
    let mut asked = 0;
    loop {
        let before = smallest.clone();
        // Large cuts first: places come with those above before those below. Some are gone when it is their turn.
        for place in places(&before) {
            for smaller in smaller_at(&smallest, &place) {
                asked += 1;
                if asked > MOST {
                    return smallest;
                }
                if shows(&smaller) {
                    smallest = smaller;
                    break;
                }
            }
        }
        if smallest == before {
            return smallest;
        }
    }
}

type Place = Vec<String>;

/// Every place below the top, by keys and indices, breadth first.
fn places(value: &Value) -> Vec<Place> {
    let mut found: Vec<Place> = vec![Vec::new()];
    let mut next = 0;
    while let Some(place) = found.get(next).cloned() {
        next += 1;
        let below: Vec<String> = match at(value, &place) {
            Some(Value::Object(map)) => map.keys().cloned().collect(),
            Some(Value::Array(items)) => (0..items.len()).rev().map(|index| index.to_string()).collect(),
            _ => continue,
        };
        found.extend(below.into_iter().map(|key| [place.clone(), vec![key]].concat()));
    }
    found.remove(0);
    found
}

fn at<'a>(value: &'a Value, place: &[String]) -> Option<&'a Value> {
    place.iter().try_fold(value, |value, key| match value {
        Value::Object(map) => map.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

fn at_mut<'a>(value: &'a mut Value, place: &[String]) -> Option<&'a mut Value> {
    place.iter().try_fold(value, |value, key| match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The manifest without what is at the place, and with simpler things there.
fn smaller_at(manifest: &Value, place: &[String]) -> Vec<Value> {
    let Some((last, above)) = place.split_last() else { return Vec::new() };
    let mut found = Vec::new();
    let mut without = manifest.clone();
    match at_mut(&mut without, above) {
        Some(Value::Object(map)) => drop(map.remove(last)),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => drop(items.remove(index)),
            _ => return found,
        },
        _ => return found,
    }
    if without == *manifest {
        return found;
    }
    found.push(without);
    let simpler = match at(manifest, place) {
        Some(Value::Object(map)) if !map.is_empty() => vec![json!({})],
        Some(Value::Array(items)) if items.len() > 1 => vec![json!([])],
        Some(Value::String(text)) if !text.is_empty() && text != "a" => vec![json!("a"), json!("")],
        Some(Value::Number(number)) if number.as_i64() != Some(1) => vec![json!(1)],
        _ => Vec::new(),
    };
    for value in simpler {
        let mut with = manifest.clone();
        if let Some(target) = at_mut(&mut with, place) {
            *target = value;
            found.push(with);
        }
    }
    found
}

#[test]
fn what_is_left_is_what_matters() {
    let manifest = json!({"a": [1, 2, {"b": "x", "c": "long"}], "d": {"e": 3}});
    let smallest = shrink(&manifest, |value| value.pointer("/d/e").is_some() && value["a"].is_array());
    assert_eq!(smallest, json!({"a": [], "d": {"e": 1}}));
}
