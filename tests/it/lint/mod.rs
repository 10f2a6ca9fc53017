//! Holds what `lint` refuses against what an API server refuses: recorded sets, each changed a little, asked about one by
//! one.
//!
//! Runs where `PHASELINE_DIFFERENTIAL` says how many; `tests/controlplane/oracle` is the program that answers.

mod mutate;

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use phaseline::manifest::default::Level;
use phaseline::manifest::update::forbidden_changes;
use phaseline::manifest::{Checks, Document, Manifest, stateful_set};
use serde_json::{Value, json};

use mutate::Mutator;

/// How many manifests are asked about before the answers are read.
const BATCH: u64 = 200;

/// After so many wrong refusals there is enough to mend.
const MOST_SHOWN: usize = 20;

struct Oracle {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Oracle {
    fn of(minor: &str) -> Self {
        let cache = env::var_os("PHASELINE_CACHE").map(PathBuf::from);
        let cache = cache.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").unwrap()).join(".cache/phaseline"));
        let program = cache.join("controlplane").join(minor).join("oracle");
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}: tests/controlplane/build makes it", program.display()));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { stdin: child.stdin.take(), child, stdout }
    }

    fn ask(&mut self, requests: &[Value]) -> Vec<Value> {
        let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
        let mut stdin = self.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            for line in lines {
                writeln!(stdin, "{line}").unwrap();
            }
            stdin.flush().unwrap();
            stdin
        });
        let answers = requests
            .iter()
            .map(|request| {
                let mut line = String::new();
                self.stdout.read_line(&mut line).unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                assert!(answer.get("failure").is_none(), "{answer} to {request}");
                answer
            })
            .collect();
        self.stdin = Some(writer.join().unwrap());
        answers
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It ends when its input does.
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// The errors of `lint`.
fn errors(manifest: &Value, level: Level) -> Vec<String> {
    let document = Document::new("set.yaml", 1, manifest.clone());
    let reading = stateful_set::read_for(&document, "default", Checks::Server(level));
    reading.diagnostics.into_iter().filter(|finding| finding.is_error()).map(|finding| finding.message).collect()
}

/// How many manifests to ask about, and the seed; none where nobody wants it.
fn wanted() -> Option<(u64, u64)> {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(count) = number("PHASELINE_DIFFERENTIAL") else {
        println!("left out: PHASELINE_DIFFERENTIAL=N asks Kubernetes about N manifests");
        return None;
    };
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    Some((count, number("PHASELINE_SEED").unwrap_or_else(clock)))
}

fn read(manifest: &Value) -> Option<(Manifest, Document)> {
    let document = Document::new("set.yaml", 1, manifest.clone());
    Some((stateful_set::read_for(&document, "default", Checks::Past).manifest?, document))
}

#[test]
fn a_change_is_forbidden_where_the_server_forbids_it() {
    let Some((count, seed)) = wanted() else { return };
    let mutator = Mutator::new();
    let mut wrong = Vec::new();
    for (level, minor) in [(Level::V1_36, "1.36"), (Level::V1_33, "1.33")] {
        let mut oracle = Oracle::of(minor);
        let (mut forbidden, mut free) = (0, 0);
        for first in (0..count).step_by(usize::try_from(BATCH).unwrap()) {
            let seeds = first..count.min(first + BATCH);
            let pairs: Vec<_> =
                seeds.map(|index| mutator.pair(seed.wrapping_mul(1_000_003).wrapping_add(index))).collect();
            let requests: Vec<Value> = pairs
                .iter()
                .map(|(before, after)| json!({"mode": "update", "before": [before], "manifest": after.manifest}))
                .collect();
            for ((before, after), answer) in pairs.iter().zip(oracle.ask(&requests)) {
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

#[test]
fn nothing_is_refused_that_a_server_takes() {
    let Some((count, seed)) = wanted() else { return };
    let mutator = Mutator::new();
    let mut wrong = Vec::new();
    for (level, minor) in [(Level::V1_36, "1.36"), (Level::V1_33, "1.33")] {
        let mut oracle = Oracle::of(minor);
        let (mut refused, mut caught) = (0_u32, 0_u32);
        let mut missed: BTreeMap<String, (u32, Value)> = BTreeMap::new();
        for first in (0..count).step_by(usize::try_from(BATCH).unwrap()) {
            let seeds = first..count.min(first + BATCH);
            let made: Vec<_> =
                seeds.map(|index| mutator.manifest(seed.wrapping_mul(1_000_003).wrapping_add(index))).collect();
            let requests: Vec<Value> =
                made.iter().map(|made| json!({"mode": "apply", "manifest": made.manifest})).collect();
            for (made, answer) in made.iter().zip(oracle.ask(&requests)) {
                let said = errors(&made.manifest, level);
                if answer["accepted"] == true {
                    if !said.is_empty() && wrong.len() < MOST_SHOWN {
                        wrong.push(format!("{minor} {}: {said:?}", made.changes.join("; ")));
                    }
                    continue;
                }
                refused += 1;
                if said.is_empty() {
                    let why = answer["message"].as_str().unwrap_or_default().chars().take(300).collect();
                    missed.entry(why).or_insert((0, json!(made.changes))).0 += 1;
                } else {
                    caught += 1;
                }
            }
        }
        println!("Kubernetes {minor}: {caught} of {refused} refused ones are refused, of {count}, seed {seed}");
        for (why, (times, changes)) in missed.iter().take(25) {
            println!("  missed {times}: {why}\n    {changes}");
        }
        assert!(count < 500 || caught * 100 >= refused * 90, "too little is seen");
    }
    assert!(wrong.is_empty(), "seed {seed}, refused though a server takes it:\n{}", wrong.join("\n"));
    println!("0 refused that a server takes, seed {seed}");
}
