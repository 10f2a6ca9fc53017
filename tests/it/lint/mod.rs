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
use phaseline::manifest::{Checks, Document, stateful_set};
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

    fn ask(&mut self, manifests: &[Value]) -> Vec<Value> {
        let requests: Vec<String> =
            manifests.iter().map(|manifest| json!({"mode": "apply", "manifest": manifest}).to_string()).collect();
        let mut stdin = self.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            for request in requests {
                writeln!(stdin, "{request}").unwrap();
            }
            stdin.flush().unwrap();
            stdin
        });
        let answers = manifests
            .iter()
            .map(|manifest| {
                let mut line = String::new();
                self.stdout.read_line(&mut line).unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                assert!(answer.get("failure").is_none(), "{answer} to {manifest}");
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

#[test]
fn nothing_is_refused_that_a_server_takes() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(count) = number("PHASELINE_DIFFERENTIAL") else {
        println!("left out: PHASELINE_DIFFERENTIAL=N asks Kubernetes about N manifests");
        return;
    };
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let seed = number("PHASELINE_SEED").unwrap_or_else(clock);
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
            let manifests: Vec<Value> = made.iter().map(|made| made.manifest.clone()).collect();
            for (made, answer) in made.iter().zip(oracle.ask(&manifests)) {
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
