//! Reads generated files with kubectl's own code and with ours.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use phaseline::manifest::Reading;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::compare::{Answer, Verdict, compare};
use super::generator::Generator;

/// Files that one process of the oracle is asked about.
const BATCH: usize = 2_000;

/// What the oracle says of one file.
#[derive(Deserialize)]
struct Said {
    /// What `YAMLToJSON` makes of it, which reads the first document.
    raw: Option<Box<RawValue>>,
    #[serde(default)]
    raw_err: String,
    #[serde(default)]
    stream: Option<Vec<Box<RawValue>>>,
    /// Why the stream ends before its end.
    #[serde(default)]
    stream_err: String,
}

impl Said {
    fn plain(&self) -> Answer {
        let document = self.raw.as_ref().map_or("null", |raw| raw.get()).to_owned();
        self.raw_err.is_empty().then(|| vec![document])
    }

    fn applied(&self) -> Answer {
        let documents = self.stream.iter().flatten().map(|raw| raw.get().to_owned());
        self.stream_err.is_empty().then(|| documents.collect())
    }
}

fn ask(oracle: &Path, files: &[Vec<u8>]) -> Vec<Said> {
    let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String =
        files.iter().map(|file| base64::engine::general_purpose::STANDARD.encode(file) + "\n").collect();
    // An empty file is an empty line, which would be passed over.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = BufReader::new(child.stdout.take().unwrap());
    let said: Vec<Said> = output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    writer.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(said.len(), files.len());
    said
}

/// How ours differs from both of kubectl's readings.
fn verdicts(file: &[u8], said: &Said) -> Vec<Verdict> {
    let mut verdicts = vec![compare(file, Reading::Applied, &said.applied())];
    // The other reading knows no streams, and leaves JSON as it is.
    let text = String::from_utf8_lossy(file);
    let separators = text.lines().skip(1).filter(|line| line.starts_with("---")).count();
    if separators == 0 && !text.trim_start().starts_with('{') {
        verdicts.push(compare(file, Reading::Plain, &said.plain()));
    }
    verdicts
}

/// The smallest file that differs as well.
fn shrink(oracle: &Path, file: &[u8]) -> Vec<u8> {
    let mut smallest = file.to_vec();
    let mut width = smallest.len() / 2;
    while width > 0 {
        let candidates: Vec<Vec<u8>> = (0..smallest.len())
            .step_by(width)
            .map(|at| [&smallest[..at], &smallest[(at + width).min(smallest.len())..]].concat())
            .filter(|candidate| !candidate.is_empty())
            .collect();
        let said = ask(oracle, &candidates);
        let bad =
            candidates.into_iter().zip(said).find(|(file, said)| verdicts(file, said).iter().any(Verdict::is_bad));
        match bad {
            Some((file, _)) => {
                smallest = file;
                width = width.min(smallest.len());
            }
            None => width /= 2,
        }
    }
    smallest
}

fn manifests() -> Vec<String> {
    let cases = include_str!("../../data/revision-cases.jsonl").lines();
    cases
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["yaml"].as_str().map(str::to_owned))
        .collect()
}

fn oracle() -> Option<PathBuf> {
    std::env::var_os("PHASELINE_YAML_ORACLE").map(PathBuf::from)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn generated_files_are_read_as_kubectl_reads_them() {
    let Some(oracle) = oracle() else {
        eprintln!("left out: needs the oracle");
        return;
    };
    let seed = number("PHASELINE_SEED").unwrap_or_else(|| fastrand::u64(..));
    let count = usize::try_from(number("PHASELINE_COUNT").unwrap_or(20_000)).unwrap();
    println!("seed {seed}, {count} files");
    let mut generator = Generator::new(seed, manifests());
    let (mut equal, mut refused, mut strict) = (0, 0, std::collections::BTreeMap::new());
    let mut bad = Vec::new();
    for _ in 0..count.div_ceil(BATCH) {
        let files: Vec<_> =
            std::iter::repeat_with(|| generator.file()).filter(|file| !file.is_empty()).take(BATCH).collect();
        for (file, said) in files.iter().zip(ask(&oracle, &files)) {
            for verdict in verdicts(file, &said) {
                match verdict {
                    Verdict::Equal => equal += 1,
                    Verdict::Refused => refused += 1,
                    Verdict::Strict(reason) => *strict.entry(reason).or_insert(0) += 1,
                    _ if bad.len() < 15 => {
                        let file = shrink(&oracle, file);
                        let verdict = verdicts(&file, &ask(&oracle, std::slice::from_ref(&file))[0]);
                        bad.push(format!("{:?}: {verdict:?}", String::from_utf8_lossy(&file)));
                    }
                    _ => bad.push(String::new()),
                }
            }
        }
    }
    println!("{equal} equal, {refused} refused by both, refused by us alone: {strict:?}");
    let shown: Vec<_> = bad.iter().filter(|bad| !bad.is_empty()).map(String::as_str).collect();
    assert!(bad.is_empty(), "seed {seed}: {} differences\n{}", bad.len(), shown.join("\n"));
}
