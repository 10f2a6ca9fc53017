//! Says how a reading of ours differs from one of kubectl's.

use phaseline::manifest::{Reading, go_json, read_documents_as};
use phaseline::model::Diagnostic;

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
    "nested more than 400 levels deep",
    "more than 200000 values in one file",
    "may not stand in YAML as it is",
    "which `kubectl apply` cannot split into lines",
    "the file is no valid UTF-8",
    "the file is no valid UTF-16",
    "stands behind the separator `---`",
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
            let told = |text: &String| (text != "null").then(|| plain(text));
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

/// Minus zero is zero, where it is a value; and Go escapes what it puts in the place of bytes that are no text.
fn plain(json: &str) -> String {
    let json = json.replace("\\ufffd", "\u{fffd}");
    let mut out = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for letter in json.chars() {
        if quoted {
            quoted = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else if letter == '"' {
            quoted = true;
        } else if matches!(letter, ',' | ']' | '}') && out.ends_with("-0") && !out.ends_with("e-0") {
            out.truncate(out.len() - 2);
            out.push('0');
        }
        out.push(letter);
    }
    if out == "-0" { "0".into() } else { out }
}
