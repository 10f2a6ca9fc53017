//! Holds what `lint` refuses against what Kubernetes refuses: recorded sets, each changed a little, and generated ones.

use std::collections::BTreeMap;
use std::env;
use std::time::SystemTime;

use phaseline::manifest::default::Level;
use phaseline::manifest::update::forbidden_changes;
use phaseline::manifest::{Checks, Document, Manifest, stateful_set};
use serde_json::{Value, json};

use super::generate::Generator;
use super::mutate::Mutator;
use super::shrink::shrink;
use super::{LEVELS, Oracle, minor};

/// How many manifests are asked about before the answers are read.
const BATCH: u64 = 200;

/// After so many wrong refusals there is enough to mend.
const MOST_SHOWN: usize = 20;

/// The errors of `lint`.
fn errors(manifest: &Value, level: Level) -> Vec<String> {
    let document = Document::new("set.yaml", 1, manifest.clone());
    let reading = stateful_set::read_for(&document, "default", Checks::Server(level));
    reading.diagnostics.into_iter().filter(|finding| finding.is_error()).map(|finding| finding.message).collect()
}

/// How many manifests to ask about, and the seed.
fn wanted() -> (u64, u64) {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    (number("PHASELINE_DIFFERENTIAL").unwrap_or(2_000), number("PHASELINE_SEED").unwrap_or_else(clock))
}

fn applying(manifest: &Value) -> Value {
    json!({"mode": "apply", "manifest": manifest})
}

/// Asks about manifests, each made from a seed; `what` says where they come from.
fn compare(what: &str, level: Level, make: impl Fn(u64) -> (Value, String)) {
    let (count, seed) = wanted();
    let Some(mut oracle) = Oracle::of(level) else { return };
    let (mut refused, mut caught, mut wrong) = (0_u32, 0_u32, Vec::new());
    let mut missed: BTreeMap<String, String> = BTreeMap::new();
    for first in (0..count).step_by(usize::try_from(BATCH).unwrap()) {
        let seeds = first..count.min(first + BATCH);
        let made: Vec<_> = seeds.map(|index| make(seed.wrapping_mul(1_000_003).wrapping_add(index))).collect();
        let requests: Vec<Value> = made.iter().map(|(manifest, _)| applying(manifest)).collect();
        for ((manifest, changes), answer) in made.iter().zip(oracle.ask_all(&requests)) {
            let said = errors(manifest, level);
            if answer["accepted"] == true {
                if !said.is_empty() && wrong.len() < MOST_SHOWN {
                    let smallest = shrink(manifest, |smaller| {
                        !errors(smaller, level).is_empty() && oracle.ask(applying(smaller))["accepted"] == true
                    });
                    wrong.push(format!("{changes}: {:?}\n  {smallest}", errors(&smallest, level)));
                }
                continue;
            }
            refused += 1;
            if said.is_empty() {
                let why = answer["message"].as_str().unwrap_or_default().chars().take(300).collect();
                missed.insert(why, changes.clone());
            } else {
                caught += 1;
            }
        }
    }
    println!(
        "Kubernetes {}: {} wrong refusals; {caught} of {refused} refused ones are refused, of {count} {what} ones, seed {seed}",
        minor(level),
        wrong.len()
    );
    for (why, changes) in missed.iter().take(10) {
        println!("  missed: {why}\n    {changes}");
    }
    assert!(wrong.is_empty(), "seed {seed}, refused though a server takes it:\n{}", wrong.join("\n"));
    assert!(count < 500 || caught * 100 >= refused * 90, "too little is seen");
}

#[test]
fn nothing_is_refused_that_a_server_takes() {
    let mutator = Mutator::new();
    for level in LEVELS {
        compare("changed", level, |seed| {
            let made = mutator.manifest(seed);
            (made.manifest, made.changes.join("; "))
        });
    }
}

#[test]
fn nothing_generated_is_refused_that_a_server_takes() {
    for level in LEVELS {
        let generator = Generator::of(level);
        compare("generated", level, |seed| (generator.manifest(seed).manifest, String::new()));
    }
}

fn read(manifest: &Value) -> Option<(Manifest, Document)> {
    let document = Document::new("set.yaml", 1, manifest.clone());
    Some((stateful_set::read_for(&document, "default", Checks::Past).manifest?, document))
}

#[test]
fn a_change_is_forbidden_where_the_server_forbids_it() {
    let (count, seed) = wanted();
    let mutator = Mutator::new();
    let mut wrong = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let minor = minor(level);
        let (mut forbidden, mut free) = (0, 0);
        for first in (0..count).step_by(usize::try_from(BATCH).unwrap()) {
            let seeds = first..count.min(first + BATCH);
            let pairs: Vec<_> =
                seeds.map(|index| mutator.pair(seed.wrapping_mul(1_000_003).wrapping_add(index))).collect();
            let requests: Vec<Value> = pairs
                .iter()
                .map(|(before, after)| json!({"mode": "update", "before": [before], "manifest": after.manifest}))
                .collect();
            for ((before, after), answer) in pairs.iter().zip(oracle.ask_all(&requests)) {
                // What was refused to begin with is no set to change.
                let (Some((old, _)), Some((new, document))) = (read(before), read(&after.manifest)) else { continue };
                if answer.get("before").is_some() || answer["accepted"] != true && answer["code"] != 422 {
                    continue;
                }
                let causes = answer["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let theirs = causes.iter().any(|cause| {
                    cause["message"].as_str().is_some_and(|message| message.contains("updates to statefulset spec"))
                });
                let ours = forbidden_changes(&old, &new, &document, level, "before");
                (forbidden, free) = (forbidden + usize::from(theirs), free + usize::from(!theirs));
                if theirs == ours.is_empty() && wrong.len() < MOST_SHOWN {
                    wrong.push(format!("{minor} forbidden is {theirs}: {:?} {ours:?}", after.changes));
                }
            }
        }
        println!(
            "Kubernetes {minor}: of {count} changes {forbidden} forbidden and {free} free ones are told, seed {seed}"
        );
    }
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
}
