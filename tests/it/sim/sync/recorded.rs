//! Worlds with what the real controller did: `tests/data/sync-cases.jsonl`, run without Go.
//!
//! What once differed has a name that says how; the others are the first small ones of some seed that show something
//! new. `PHASELINE_RECORD=FILE` lets the differential write such ones.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;

use phaseline::sim::Version;
use serde_json::{Value, json};

use super::compare::difference;

/// The largest world that is recorded, in bytes.
const MOST_BYTES: usize = 6_000;

/// Picks worlds that show something which those before did not.
#[derive(Default)]
pub(super) struct Recorder {
    seen: BTreeSet<String>,
    cases: Vec<Value>,
}

impl Recorder {
    pub(super) fn see(&mut self, seed: u64, version: &str, world: &Value, answer: &Value) {
        if env::var_os("PHASELINE_RECORD").is_none() || world.to_string().len() > MOST_BYTES {
            return;
        }
        let policy = &world["set"]["spec"]["podManagementPolicy"];
        let told = answer["effects"].as_array().into_iter().flatten().map(|effect| match effect["do"].as_str() {
            Some("event") => effect["reason"].to_string(),
            _ => format!("{} {}", effect["do"], effect["what"]),
        });
        let errors = (answer["errors"] != json!([])).to_string();
        let new: Vec<String> = told.chain([errors]).map(|it| format!("{version} {policy} {it}")).collect();
        if new.iter().any(|it| !self.seen.contains(it)) {
            self.seen.extend(new);
            let name = format!("seed {seed}");
            self.cases.push(json!({"name": name, "version": version, "world": world, "answer": answer}));
        }
    }

    pub(super) fn write(&self) {
        if let Some(file) = env::var_os("PHASELINE_RECORD") {
            let lines: Vec<String> = self.cases.iter().map(|case| format!("{case}\n")).collect();
            fs::write(file, lines.concat()).unwrap();
        }
    }
}

#[test]
fn a_sync_does_what_was_recorded_of_the_real_controller() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sync-cases.jsonl");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in fs::read_to_string(file).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let version = if case["version"] == "1.33" { Version::V1_33 } else { Version::V1_36 };
        count += 1;
        if let Some(difference) = difference(&case["world"], version, &case["answer"]) {
            wrong.push(format!("{} at {}: {difference}", case["name"], case["version"]));
        }
    }
    assert!(count > 0 && wrong.is_empty(), "of {count} cases:\n{}", wrong.join("\n\n"));
}
