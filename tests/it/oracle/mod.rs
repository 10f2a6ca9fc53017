//! Holds what we predict offline against Kubernetes itself, on generated and on recorded manifests.
//!
//! `tests/controlplane/differential [N] [SEED]` runs these; `tests/controlplane/oracle` is the program that answers.

mod differential;
mod generate;
mod lint;
mod mutate;
mod recorded;
mod requests;
pub(crate) mod shrink;
mod types;
mod values;
mod writes;
mod written;

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use phaseline::manifest::{apply_body, default::Level};
use serde_json::{Value, json};

pub(crate) const LEVELS: [Level; 2] = [Level::V1_36, Level::V1_33];

/// `1.36`.
pub(crate) fn minor(level: Level) -> &'static str {
    match level {
        Level::V1_36 => "1.36",
        Level::V1_33 => "1.33",
    }
}

/// A running oracle of one version.
pub(crate) struct Oracle {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Oracle {
    /// `None`, and a line that says so, unless `PHASELINE_DIFFERENTIAL` asks for it.
    pub(crate) fn of(level: Level) -> Option<Self> {
        if env::var_os("PHASELINE_DIFFERENTIAL").is_none() {
            println!("left out: tests/controlplane/differential compares with Kubernetes {}", minor(level));
            return None;
        }
        let cache = env::var_os("PHASELINE_CACHE").map(PathBuf::from);
        let cache = cache.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").unwrap()).join(".cache/phaseline"));
        let program = cache.join("controlplane").join(minor(level)).join("oracle");
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}: tests/controlplane/build makes it", program.display()));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Some(Self { stdin: child.stdin.take(), child, stdout })
    }

    fn ask(&mut self, request: Value) -> Value {
        self.ask_all(&[request]).remove(0)
    }

    /// The answers in the order of the requests; written beside the reading, so that neither waits for the other. A
    /// manifest is within its request as we send it to a server.
    pub(crate) fn ask_all(&mut self, requests: &[Value]) -> Vec<Value> {
        let answers = self.answers(requests);
        for (answer, request) in answers.iter().zip(requests) {
            assert!(answer.get("failure").is_none(), "{answer} to {request}");
        }
        answers
    }

    /// The same, where a request may make no sense.
    pub(crate) fn answers(&mut self, requests: &[Value]) -> Vec<Value> {
        let stdin = self.stdin.as_mut().unwrap();
        let stdout = &mut self.stdout;
        thread::scope(|scope| {
            scope.spawn(move || {
                for request in requests {
                    writeln!(stdin, "{}", apply_body::to_apply_json(request)).unwrap();
                }
                stdin.flush().unwrap();
            });
            // Nothing may fail before all is read: the writer would wait for ever.
            let read = |_: &Value| {
                let mut line = String::new();
                stdout.read_line(&mut line).map(|_| line).unwrap_or_default()
            };
            requests.iter().map(read).collect::<Vec<_>>()
        })
        .into_iter()
        .zip(requests)
        .map(|(line, request)| {
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?} to {request}"))
        })
        .collect()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It ends when its input does.
        self.stdin = None;
        let _ = self.child.wait();
    }
}

#[test]
fn an_oracle_gives_ids_back_and_names_what_it_cannot_do() {
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let answer = oracle.ask(json!({"mode": "raw", "yaml": "YTogeWVz", "id": [1]}));
        assert_eq!(answer, json!({"json": {"a": true}, "id": [1]}));
        let refused = oracle.ask(json!({"mode": "apply", "manifest": {}}));
        assert_eq!(refused["accepted"], false);
    }
}
