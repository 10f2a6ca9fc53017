//! Compares what the embedded cluster makes of recorded writes with what Kubernetes made of them; without Kubernetes.
//!
//! `tests/data/write-cases.json` has sequences of writes on one set, and what came of each at either version. With the
//! oracle at hand it is held to it; `PHASELINE_BLESS=1` writes the outcomes anew.

use std::{env, fs, path::Path};

use phaseline::{manifest::default::Level, sim::apply::Scope};
use serde_json::{Value, json};

use super::{
    LEVELS, Oracle, minor,
    writes::{Outcome, compared, ours},
};

const FILE: &str = "tests/data/write-cases.json";

/// Every case with what is asked and what was answered at a level.
fn cases() -> Vec<Value> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A set as a store would give it back.
fn stored(level: Level, set: &Value) -> Value {
    let mut set = Scope::stateful_set(level).stored(set);
    for (name, value) in [("namespace", "default"), ("uid", "1"), ("resourceVersion", "1")] {
        set["metadata"][name] = value.into();
    }
    set
}

/// What becomes of the writes of a case, each on what the one before left.
fn play(case: &Value, level: Level, mut write: impl FnMut(&Value) -> Outcome) -> Vec<Value> {
    let mut live = Value::Null;
    let mut outcomes = Vec::new();
    for step in case["steps"].as_array().unwrap() {
        let mut step = step.clone();
        step.as_object_mut().unwrap().remove("outcome");
        if !live.is_null() {
            step["live"] = stored(level, &live);
        }
        let outcome = write(&step);
        let shown = compared(level, &outcome);
        if outcome.is_ok() {
            live = shown.clone();
        }
        outcomes.push(shown);
    }
    outcomes
}

#[test]
fn recorded_writes_come_out_as_kubernetes_had_them() {
    let cases = cases();
    let mut different = Vec::new();
    for level in LEVELS {
        for case in &cases {
            let outcomes = play(case, level, |write| ours(level, write));
            for (index, (ours, step)) in outcomes.iter().zip(case["steps"].as_array().unwrap()).enumerate() {
                let mut found = Vec::new();
                super::differential::differences("", ours, &step["outcome"][minor(level)], &mut found);
                if !found.is_empty() {
                    different.push(format!("{} {}, {index}: {}", minor(level), case["name"], found.join("\n")));
                }
            }
        }
    }
    assert!(cases.len() >= 20, "{} cases", cases.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn the_recorded_writes_are_what_kubernetes_makes_of_them() {
    let mut now = cases();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        for case in &mut now {
            let outcomes = play(case, level, |write| {
                let answer = oracle.ask(json!({"mode": "write", "write": write}));
                match answer["accepted"] == true {
                    true => Ok(answer["object"].clone()),
                    false => Err(answer["status"].clone()),
                }
            });
            for (step, outcome) in case["steps"].as_array_mut().unwrap().iter_mut().zip(outcomes) {
                step["outcome"][minor(level)] = outcome;
            }
        }
    }
    if env::var_os("PHASELINE_BLESS").is_some() {
        // A write a line: a change can be read.
        let text = json!(now).to_string().replace("{\"body\":", "\n{\"body\":") + "\n";
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE), text).unwrap();
    }
    assert!(json!(now) == json!(cases()), "PHASELINE_BLESS=1 writes {FILE} anew");
}
