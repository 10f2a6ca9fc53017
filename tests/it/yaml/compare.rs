//! Says how a reading of ours differs from one of kubectl's.

use std::collections::BTreeMap;

use phaseline::manifest::{Reading, go_json, read_documents_as};
use phaseline::model::Diagnostic;
use serde_json::Value;
use serde_json::value::RawValue;

/// What kubectl makes of a file: each document in JSON as Go prints it, or that it refuses the file.
pub(super) type Answer = Option<Vec<String>>;

/// How a reading of ours differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Equal,
    /// Refused by both.
    Refused,
    /// Ours refuses what kubectl reads, with a reason that is ours to have.
    Strict(&'static str),
    /// Both read it, each something else.
    Silent(String),
    /// Ours reads what kubectl refuses.
    Lax(String),
    /// Ours refuses what kubectl reads, and should not.
    Wrong(String),
}

impl Verdict {
    pub(super) fn is_bad(&self) -> bool {
        matches!(self, Self::Silent(_) | Self::Lax(_) | Self::Wrong(_))
    }
}

/// Why ours may refuse what kubectl reads. Each is documented, and has a case in `cases`.
pub(super) const REASONS: &[&str] = &[
    "text after the end of the document",
    "kubectl keeps either of them",
    "nested more than 200 levels deep",
    "more than 200000 values in one file",
    "may not stand in YAML as it is",
    "the file is no valid UTF-8",
    "the file is no valid UTF-16",
    "stands behind the separator `---`",
    "more than 100 %TAG directives",
    "more than 10000 documents",
    "bytes of text, aliases counted as often as they are used",
    "this number is beyond what a float64 holds",
];

/// Reads a file as ours does: each document as Go would print it, or the errors.
pub(super) fn ours(bytes: &[u8], reading: Reading) -> Result<Vec<String>, Vec<Diagnostic>> {
    let (documents, mut findings) = read_documents_as("a.yaml", bytes, reading);
    findings.retain(Diagnostic::is_error);
    if findings.is_empty() {
        Ok(documents.iter().map(|document| go_json::exact(&document.value)).collect())
    } else {
        Err(findings)
    }
}

/// Compares; documents that are null count for nothing.
pub(super) fn compare(bytes: &[u8], reading: Reading, kubectl: &Answer) -> Verdict {
    match (ours(bytes, reading), kubectl) {
        (Err(_), None) => Verdict::Refused,
        (Err(findings), Some(_)) => {
            let message = &findings[0].message;
            match REASONS.iter().find(|reason| message.contains(*reason)) {
                Some(reason) => Verdict::Strict(reason),
                None => Verdict::Wrong(message.clone()),
            }
        }
        (Ok(documents), None) => Verdict::Lax(documents.join("\n")),
        (Ok(documents), Some(expected)) => {
            let told = |text: &String| (text != "null").then(|| canonical(text).unwrap());
            let documents: Vec<_> = documents.iter().filter_map(told).collect();
            let expected: Vec<_> = expected.iter().filter_map(told).collect();
            if documents == expected {
                Verdict::Equal
            } else {
                Verdict::Silent(format!("{} instead of {}", documents.join("\n"), expected.join("\n")))
            }
        }
    }
}

/// JSON as Go prints what it holds of it: keys sorted, of two the last, numbers by their value. None with a number
/// beyond a float64.
///
/// By text alone, so that no reader of ours comes in.
pub(super) fn canonical(json: &str) -> Option<String> {
    let json = json.trim();
    Some(match json.as_bytes()[0] {
        b'{' => {
            let map: BTreeMap<String, Box<RawValue>> = serde_json::from_str(json).unwrap();
            let entry = |key: &String, value: &RawValue| {
                Some(format!("{}:{}", go_json::exact(&Value::from(key.as_str())), canonical(value.get())?))
            };
            let entries: Option<Vec<_>> = map.iter().map(|(key, value)| entry(key, value)).collect();
            format!("{{{}}}", entries?.join(","))
        }
        b'[' => {
            let list: Vec<Box<RawValue>> = serde_json::from_str(json).unwrap();
            let items: Option<Vec<_>> = list.iter().map(|value| canonical(value.get())).collect();
            format!("[{}]", items?.join(","))
        }
        b'"' => go_json::exact(&serde_json::from_str(json).unwrap()),
        b't' | b'f' | b'n' => json.to_owned(),
        _ => match (json.parse::<i64>(), json.parse::<f64>().unwrap()) {
            (Ok(whole), _) => whole.to_string(),
            (_, 0.0) => "0".to_owned(),
            (_, float) => Some(go_json::exact(&Value::from(float))).filter(|_| float.is_finite())?,
        },
    })
}
