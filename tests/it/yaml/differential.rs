//! Reads generated files with kubectl's own code and with ours.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use phaseline::manifest::Reading;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::compare::{Answer, Verdict, canonical, compare};
use super::generator::Generator;

/// Files that one process of the oracle is asked about.
const BATCH: usize = 1_000;

/// What the oracle says of one file, in either of its modes.
#[derive(Deserialize)]
struct Said {
    /// Of `yaml`: every document up to what cannot be read.
    #[serde(default)]
    documents: Vec<Box<RawValue>>,
    /// Of `raw`: the first document.
    json: Option<Box<RawValue>>,
    #[serde(default)]
    error: String,
    /// The oracle's own, where kubectl itself would fall over.
    #[serde(default)]
    failure: String,
}

impl Said {
    fn refuses(&self) -> bool {
        !self.error.is_empty() || !self.failure.is_empty()
    }

    fn plain(&self) -> Answer {
        let document = self.json.as_ref().map_or("null", |json| json.get()).to_owned();
        (!self.refuses()).then(|| vec![document])
    }

    /// None as well where a document holds a number that kubectl cannot keep: it decodes each once more.
    fn applied(&self) -> Answer {
        let documents = self.documents.iter().map(|json| canonical(&with_pairs(json.get())));
        if self.refuses() { None } else { documents.collect() }
    }
}

/// JSON in which half of a surrogate pair is what Go makes of it.
fn with_pairs(json: &str) -> String {
    let code = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut out = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let pair = (code(behind), behind.get(6..).and_then(code));
        let (text, width) = match pair {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (&behind[..12], 12),
            (Some(0xd800..0xe000), _) => ("\u{fffd}", 6),
            _ => (&behind[..2], 2),
        };
        out.push_str(text);
        rest = &behind[width..];
    }
    out + rest
}

/// The answers to both modes for each file.
fn ask(oracle: &Path, files: &[Vec<u8>]) -> Vec<[Said; 2]> {
    let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let request = |file: &Vec<u8>| {
        let yaml = base64::engine::general_purpose::STANDARD.encode(file);
        ["yaml", "raw"].map(|mode| format!("{{\"mode\":\"{mode}\",\"yaml\":\"{yaml}\"}}\n")).concat()
    };
    let lines: String = files.iter().map(request).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut said = output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let pairs: Vec<[Said; 2]> = files.iter().map(|_| [said.next().unwrap(), said.next().unwrap()]).collect();
    writer.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    pairs
}

/// How ours differs from both of kubectl's readings.
fn verdicts(file: &[u8], [applied, plain]: &[Said; 2]) -> Vec<Verdict> {
    let mut verdicts = vec![compare(file, Reading::Applied, &applied.applied())];
    // The other reading knows no streams, and `kubectl patch` does not ask it about JSON.
    let text = String::from_utf8_lossy(file);
    let separators = text.lines().skip(1).filter(|line| line.starts_with("---")).count();
    if separators == 0 && !text.trim_start().starts_with('{') {
        verdicts.push(compare(file, Reading::Plain, &plain.plain()));
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

/// The oracle of `tests/controlplane/build`; none, with a line that says so, unless the differential run is asked for.
fn oracle() -> Option<PathBuf> {
    if env::var_os("PHASELINE_DIFFERENTIAL").is_none() {
        println!(
            "left out: set PHASELINE_DIFFERENTIAL and build tests/controlplane to compare with kubectl's own code"
        );
        return None;
    }
    let cache = env::var_os("PHASELINE_CACHE").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").unwrap()).join(".cache/phaseline"));
    let program = cache.join("controlplane/1.36/oracle");
    assert!(program.exists(), "{}: tests/controlplane/build makes it", program.display());
    Some(program)
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
}

#[test]
fn generated_files_are_read_as_kubectl_reads_them() {
    let Some(oracle) = oracle() else { return };
    let seed = number("PHASELINE_SEED").unwrap_or_else(|| fastrand::u64(..));
    let count = usize::try_from(number("PHASELINE_YAML_FILES").unwrap_or(20_000)).unwrap();
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
