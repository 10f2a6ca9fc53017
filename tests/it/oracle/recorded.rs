//! Holds the oracle itself against what running control planes were recorded to answer.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use phaseline::manifest::default::Level;
use serde_json::{Value, json};

use super::{
    LEVELS, Oracle,
    differential::{creation, difference},
};

fn cases() -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/revision-cases.jsonl");
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn version(level: Level) -> &'static str {
    match level {
        Level::V1_36 => "1.36.3",
        Level::V1_33 => "1.33.13",
    }
}

/// Where the answer is another one than the recorded outcome.
fn disagreement(outcome: &Value, answer: &Value) -> Option<String> {
    let same = |left: &Value, right: &Value| left == right || (left.is_null() && right == "");
    if let Some(status) = outcome.get("status") {
        let causes = |of: &Value, kind: &str| -> BTreeSet<String> {
            let one = |cause: &Value| format!("{} {} {}", cause["field"], cause[kind], cause["message"]);
            of["causes"].as_array().into_iter().flatten().map(one).collect()
        };
        let agree = answer["accepted"] == false
            && answer["code"] == status["code"]
            && same(&status["reason"], answer.get("reason").unwrap_or(&Value::Null))
            && causes(status, "reason") == causes(answer, "type");
        return (!agree).then(|| format!("{answer} instead of {status}"));
    }
    // "same" is told apart by the name.
    let spec = outcome["spec"].is_string() || outcome["spec"] == answer["spec"];
    let agree = answer["accepted"] == true && spec && outcome["revision"] == answer["revision"];
    (!agree).then(|| format!("{answer} instead of {outcome}"))
}

#[test]
fn the_oracle_answers_as_running_control_planes_did() {
    let mut wrong = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let mut compared = 0;
        for case in cases() {
            let outcome = &case[version(level)];
            if outcome.get("client").is_some() {
                continue;
            }
            let yaml = STANDARD.encode(case["yaml"].as_str().unwrap());
            let applied = oracle.ask(json!({"mode": "apply", "yaml": yaml}));
            let created =
                outcome.get("create").map(|create| (create, oracle.ask(json!({"mode": "create", "yaml": yaml}))));
            for (outcome, answer) in [(outcome, applied)].into_iter().chain(created) {
                compared += 1;
                wrong.extend(disagreement(outcome, &answer).map(|text| format!("{} {level:?} {text}", case["id"])));
            }
        }
        assert!(compared >= 120, "{compared}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every set in the files of `PHASELINE_MANIFESTS`, a folder: what other people wrote.
#[test]
fn predictions_are_right_for_the_manifests_of_a_folder() {
    let Some(folder) = env::var_os("PHASELINE_MANIFESTS") else { return };
    let mut wrong = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let (mut sets, mut compared, mut valid) = (0, 0, 0);
        for file in files(Path::new(&folder)) {
            let read = oracle.ask(json!({"mode": "yaml", "yaml": STANDARD.encode(fs::read(&file).unwrap())}));
            for object in read["objects"].as_array().unwrap() {
                if object["kind"] != "StatefulSet" || object["apiVersion"] != "apps/v1" {
                    continue;
                }
                sets += 1;
                // An exported one has a uid, a version and a namespace, with which it cannot be created.
                let mut manifest = object.clone();
                manifest["metadata"] = json!({"name": "published"});
                let manifest = &manifest;
                for mode in ["apply", "create"] {
                    let answer = oracle.ask(creation(manifest, mode));
                    compared += usize::from(answer["accepted"] == true);
                    valid += usize::from(answer["accepted"] == true && answer.get("causes").is_none());
                    let found = difference(manifest, level, &answer);
                    wrong.extend(found.map(|text| format!("{} {level:?} {mode}: {text}", file.display())));
                }
            }
        }
        println!("{level:?}: {sets} sets, {compared} times taken, {valid} times valid");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension.to_str().unwrap_or("")))
        {
            found.push(path);
        }
    }
    found
}

/// With kubectl's reading of the files: the names and specs of every case, at both versions.
#[test]
fn predictions_are_right_for_every_recorded_case_as_kubectl_reads_it() {
    let mut wrong = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let mut compared = 0;
        for case in cases() {
            let yaml = STANDARD.encode(case["yaml"].as_str().unwrap());
            let read = oracle.ask(json!({"mode": "yaml", "yaml": yaml}));
            let Some(manifest) = read["objects"].get(0).filter(|_| read.get("refused").is_none()) else { continue };
            for mode in ["apply", "create"] {
                let answer = oracle.ask(json!({"mode": mode, "manifest": manifest}));
                compared += usize::from(answer["accepted"] == true);
                wrong.extend(
                    difference(manifest, level, &answer).map(|text| format!("{} {level:?} {text}", case["id"])),
                );
            }
        }
        assert!(compared >= 180, "{compared}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
