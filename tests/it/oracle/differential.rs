//! Compares predicted specs and names with those of Kubernetes, on as many generated manifests as one likes.

use std::{
    collections::BTreeSet,
    env,
    time::{Instant, SystemTime},
};

use phaseline::{
    manifest::default::{self, Level},
    revision::controller_revision,
};
use serde_json::{Value, json};

use super::{
    LEVELS, Oracle,
    generate::{Generator, changed},
    minor,
    shrink::shrink,
};

/// How many manifests are asked about at once.
const BATCH: u64 = 500;

/// After so many differences there is enough to mend.
const MOST_SHOWN: usize = 10;

/// The request that creates the set, as we send it, with what validation finds put aside.
pub(super) fn creation(manifest: &Value, mode: &str) -> Value {
    json!({"mode": mode, "lenient": true, "manifest": manifest})
}

/// Where prediction and answer differ, or nothing; nothing too where the object was not taken.
pub(super) fn difference(manifest: &Value, level: Level, answer: &Value) -> Option<String> {
    if answer["accepted"] != true {
        return None;
    }
    let spec = default::stateful_set(&manifest["spec"], level);
    let mut found = Vec::new();
    differences("spec", &spec, &answer["spec"], &mut found);
    if !found.is_empty() {
        return Some(found.join("\n"));
    }
    let template = default::template(&manifest["spec"]["template"], level);
    if template != spec["template"] {
        return Some("the template alone is predicted otherwise than within the set".to_owned());
    }
    let name = controller_revision::name(manifest["metadata"]["name"].as_str().unwrap_or_default(), &template, 0);
    (answer["revision"] != *name).then(|| format!("the name is {name} instead of {}", answer["revision"]))
}

#[test]
fn predictions_are_what_kubernetes_makes_of_changes() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    // A tenth: a change is three requests.
    let count = number("PHASELINE_DIFFERENTIAL").unwrap_or(2_000) / 10;
    let seed = number("PHASELINE_SEED").unwrap_or(1);
    let mut shown = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let generator = Generator::of(level);
        let (mut taken, mut not_as_new) = (0, 0);
        for index in 0..count {
            let made =
                |salt: u64| generator.manifest(seed.wrapping_mul(1_000_033).wrapping_add(index * 2 + salt)).manifest;
            let (before, other) = (made(0), made(1));
            // Spoiled beyond changing.
            if [&before, &other].iter().any(|made| made.pointer("/spec/template/spec/containers/0/name").is_none()) {
                continue;
            }
            let mut now = changed(&mut fastrand::Rng::with_seed(seed ^ index), &before, &other);
            if level == Level::V1_33 {
                strip_empties(&mut now["spec"]);
            }
            if !generator.has_keys(&before) {
                continue;
            }
            let mut ask = |now: &Value| {
                // The merge of 1.33 takes a null, or an empty list or map, for neither given nor taken away; no manifest
                // needs one, and what becomes of it there is not foretold.
                if !generator.has_keys(now) || (level == Level::V1_33 && has_empties(&now["spec"])) {
                    return Vec::new();
                }
                let answer =
                    oracle.ask(json!({"mode": "update", "lenient": true, "manifest": now, "before": [before]}));
                let live = default::stateful_set(&before["spec"], level);
                let spec = default::applied(&live, &before["spec"], &now["spec"], level);
                let mut found = Vec::new();
                if answer["accepted"] == true {
                    taken += 1;
                    not_as_new += usize::from(spec != default::stateful_set(&now["spec"], level));
                    differences("spec", &spec, &answer["spec"], &mut found);
                }
                found
            };
            if !ask(&now).is_empty() && shown.len() < MOST_SHOWN {
                let smallest = shrink(&now, |smaller| !ask(smaller).is_empty());
                let text = format!(
                    "{}: {}\n  {}\n  {}",
                    minor(level),
                    ask(&smallest).join("\n"),
                    before["spec"]["template"],
                    smallest["spec"]["template"]
                );
                println!("{text}");
                shown.push(text);
            }
        }
        println!("Kubernetes {}: {taken} of {count} changes, {not_as_new} come out otherwise than new", minor(level));
        assert!(count < 200 || taken * 5 > count as usize, "hardly any of them is taken");
    }
    assert!(shown.is_empty(), "seed {seed}: {} differences are shown above", shown.len());
}

/// Takes them out; a list item of nothing stays.
fn strip_empties(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(strip_empties);
            map.retain(|_, value| !is_empty(value));
        }
        Value::Array(list) => list.iter_mut().for_each(strip_empties),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        other => other.is_null(),
    }
}

fn has_empties(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty() || map.values().any(has_empties),
        Value::Array(list) => list.is_empty() || list.iter().any(has_empties),
        other => other.is_null(),
    }
}

pub(super) fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => differences(&format!("{path}.{key}"), left, right, found),
                    (Some(left), None) => found.push(format!("{path}.{key}: too much: {left}")),
                    (None, Some(right)) => found.push(format!("{path}.{key}: missing: {right}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{index}]"), left, right, found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push(format!("{path}: {left} instead of {right}")),
    }
}

#[test]
fn predictions_are_what_kubernetes_makes_of_generated_manifests() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("PHASELINE_DIFFERENTIAL").unwrap_or(2_000);
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let seed = number("PHASELINE_SEED").unwrap_or_else(clock);
    let mut shown = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let generator = Generator::of(level);
        let (mut different, mut taken, mut valid, mut covered) = (0, 0, 0, BTreeSet::new());
        let start = Instant::now();
        let mut predicting = std::time::Duration::ZERO;
        for first in (0..count).step_by(BATCH as usize) {
            let batch: Vec<_> = (first..count.min(first + BATCH))
                .map(|index| generator.manifest(seed.wrapping_mul(1_000_003).wrapping_add(index)))
                .collect();
            let requests: Vec<_> = batch.iter().map(|made| creation(&made.manifest, made.mode)).collect();
            for (made, answer) in batch.into_iter().zip(oracle.ask_all(&requests)) {
                if answer["accepted"] == true {
                    taken += 1;
                    valid += usize::from(answer.get("causes").is_none());
                    covered.extend(made.fields);
                }
                let begin = Instant::now();
                let found = difference(&made.manifest, level, &answer);
                predicting += begin.elapsed();
                different += usize::from(found.is_some());
                if found.is_some() && shown.len() < MOST_SHOWN {
                    let mut last = String::new();
                    let smallest = shrink(&made.manifest, |smaller| {
                        let answer = oracle.ask(creation(smaller, made.mode));
                        let found = difference(smaller, level, &answer);
                        last = found.clone().unwrap_or(std::mem::take(&mut last));
                        found.is_some()
                    });
                    let text = format!("{} {}: {last}\n  {}", minor(level), made.mode, smallest["spec"]);
                    println!("{text}");
                    shown.push(text);
                }
            }
        }
        let missing: Vec<_> = generator.fields().iter().filter(|field| !covered.contains(*field)).collect();
        println!(
            "Kubernetes {}: {different} differences in {taken} of {count} manifests that can be decoded ({valid} of them valid), \
             seed {seed}, {} of {} fields, {:.0} s, of which {:?} for each prediction",
            minor(level),
            generator.fields().len() - missing.len(),
            generator.fields().len(),
            start.elapsed().as_secs_f64(),
            predicting / u32::try_from(count).unwrap().max(1),
        );
        if count >= 2_000 {
            assert!(taken * 2 > count as usize, "hardly any of them is taken");
            assert!(missing.len() * 50 < generator.fields().len(), "not tried: {missing:?}");
        }
    }
    assert!(shown.is_empty(), "seed {seed}: {} differences are shown above", shown.len());
    println!("0 differences, seed {seed}");
}
