//! Holds defaulting, names and digests against what real control planes made of 120 StatefulSets.
//!
//! `tests/data/revision-cases.jsonl` has, line by line, a manifest and the answers of Kubernetes 1.36.3 and 1.33.13.

use serde_json::Value;

use super::{controller_revision, digest};
use crate::manifest::default::{self, Level};
use crate::manifest::{Reading, read_documents_as};

/// Sets with content that 1.33 drops for closed gates, so that no digest can show them unchanged.
const DROPPED_AT_1_33: &[&str] =
    &["d011", "d037", "d045", "d046", "d057", "d058", "d062", "d067", "d094", "d097", "d105"];

struct Accepted {
    id: String,
    level: Level,
    set_name: String,
    /// `.spec` as the manifest states it.
    written: Value,
    /// `.spec` as the server returned it.
    returned: Value,
    revision: String,
}

/// Every case that a server accepted, by server-side apply or by the plain create recorded beside its refusal.
fn accepted() -> Vec<Accepted> {
    include_str!("../../tests/data/revision-cases.jsonl").lines().flat_map(of_line).collect()
}

fn of_line(line: &str) -> Vec<Accepted> {
    let case: Value = serde_json::from_str(line).unwrap_or_default();
    let id = case["id"].as_str().unwrap_or_default();
    let Some(manifest) = read(case["yaml"].as_str().unwrap_or_default()) else { return Vec::new() };
    let levels = [(Level::V1_36, "1.36.3"), (Level::V1_33, "1.33.13")];
    levels
        .into_iter()
        .filter_map(|(level, version)| {
            let outcome = case[version].get("create").unwrap_or(&case[version]);
            let returned = match outcome.get("spec")? {
                Value::String(_same) => {
                    let newer = case["1.36.3"].get("create").unwrap_or(&case["1.36.3"]);
                    as_1_33_writes_it(newer["spec"].clone())
                }
                spec => spec.clone(),
            };
            Some(Accepted {
                id: id.to_owned(),
                level,
                set_name: manifest["metadata"]["name"].as_str()?.to_owned(),
                written: manifest["spec"].clone(),
                returned,
                revision: outcome["revision"].as_str()?.to_owned(),
            })
        })
        .collect()
}

/// The first document that is an object, as it would be applied.
fn read(yaml: &str) -> Option<Value> {
    let (documents, _) = read_documents_as("case.yaml", yaml.as_bytes(), Reading::Applied);
    documents.into_iter().map(|document| document.value).find(Value::is_object)
}

fn as_1_33_writes_it(mut spec: Value) -> Value {
    mark_created(&mut spec["template"]);
    for list in ["/volumeClaimTemplates", "/template/spec/volumes"] {
        let Some(items) = spec.pointer_mut(list).and_then(Value::as_array_mut) else { continue };
        for item in items {
            match item.pointer_mut("/ephemeral/volumeClaimTemplate") {
                Some(claim) => mark_created(claim),
                None if list == "/volumeClaimTemplates" => mark_created(item),
                None => {}
            }
        }
    }
    spec
}

fn mark_created(object: &mut Value) {
    object["metadata"]["creationTimestamp"] = Value::Null;
}

/// The places where two values differ, for the message of a failed test.
fn differences(path: &str, left: &Value, right: &Value, out: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                let absent = Value::String("(absent)".to_owned());
                let (left, right) = (left.get(key).unwrap_or(&absent), right.get(key).unwrap_or(&absent));
                differences(&format!("{path}.{key}"), left, right, out);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{index}]"), left, right, out);
            }
        }
        (left, right) if left == right => {}
        (left, right) => out.push(format!("{path}: {left} instead of {right}")),
    }
}

fn assert_none(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_cases_are_all_there() {
    let cases = accepted();
    let count = |level| cases.iter().filter(|case| case.level == level).count();
    assert_eq!((count(Level::V1_36), count(Level::V1_33)), (96, 107));
}

#[test]
fn specs_are_defaulted_as_the_servers_do_it() {
    let mut failures = Vec::new();
    for case in accepted() {
        let ours = default::stateful_set(&case.written, case.level);
        let mut found = Vec::new();
        differences("", &ours, &case.returned, &mut found);
        failures.extend(found.into_iter().map(|found| format!("{} {:?} {found}", case.id, case.level)));
    }
    assert_none(&failures);
}

#[test]
fn names_are_those_of_the_controller() {
    let mut failures = Vec::new();
    for case in accepted() {
        let template = default::template(&case.written["template"], case.level);
        let name = controller_revision::name(&case.set_name, &template, 0);
        if name != case.revision {
            failures.push(format!("{} {:?}: {name} instead of {}", case.id, case.level, case.revision));
        }
    }
    assert_none(&failures);
}

#[test]
fn defaulting_what_a_server_returned_changes_nothing() {
    let mut failures = Vec::new();
    for case in accepted() {
        let again = default::stateful_set(&case.returned, case.level);
        differences(&case.id, &again, &case.returned, &mut failures);
        let once = default::template(&case.written["template"], case.level);
        differences(&case.id, &default::template(&once, case.level), &once, &mut failures);
    }
    assert_none(&failures);
}

#[test]
fn a_template_has_one_digest_written_and_returned_by_either_version() {
    let mut failures = Vec::new();
    for case in accepted() {
        let written = digest::template(&case.written["template"]);
        let returned = digest::template(&case.returned["template"]);
        let dropped = case.level == Level::V1_33 && DROPPED_AT_1_33.contains(&case.id.as_str());
        if (written != returned) != dropped {
            failures.push(format!("{} {:?}: digests equal is not {dropped}", case.id, case.level));
        }
        let seen = digest::template(&default::template(&case.written["template"], case.level));
        if seen != returned {
            failures.push(format!("{} {:?}: as that server would see it", case.id, case.level));
        }
    }
    assert_none(&failures);
}
