//! Reads one document's text into a JSON value exactly as kubectl does, within bounds.
//!
//! kubectl reads YAML 1.1 with go.yaml.in/yaml/v2 and makes JSON of it with sigs.k8s.io/yaml. No other reader agrees
//! with that one in everything, so its scanner and grammar are kept here in safe Rust, function by function: `scan`,
//! `scalar` and `tag` make tokens of a text, `compose` makes nodes of them, `resolve` tells what a scalar is, `decode`
//! makes values, and `json` reads what begins with `{`. What kubectl takes and this does not has a message that says
//! so. `tests/it/yaml` holds all of it against recorded answers of kubectl, and against its own code.

mod compose;
mod cursor;
mod decode;
mod go;
mod json;
mod node;
mod remark;
mod resolve;
mod scalar;
mod scan;
mod tag;
mod timestamp;
mod token;

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::Value;

pub(super) use json::read_json;
pub(super) use node::{Content, Document, Id};
pub(super) use remark::Remark;

use super::words::message;
use cursor::Problem;

/// The most levels a document may be deep. Kubernetes' own types end near 20; what reads recursively stays far within
/// the stack of a thread.
pub const MAX_DEPTH: usize = 200;

/// The most values a file may have, aliases counted as often as they are used: what bounds an alias bomb. A mapping
/// counts as four.
pub const MAX_NODES: usize = 200_000;

/// What a mapping costs of [`MAX_NODES`]: an empty one takes the memory of so many other values.
const MAPPING: usize = 4;

/// The most bytes of text that a file may expand to, aliases counted as often as they are used.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// The most remarks about one file; no more than half of them are shown.
const MAX_REMARKS: usize = 200;

/// What a file may still have, counted down while its documents are read.
#[derive(Debug)]
pub(super) struct Budget {
    nodes: Cell<usize>,
    text: Cell<usize>,
    remarks: Cell<usize>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { nodes: Cell::new(MAX_NODES), text: Cell::new(MAX_TEXT_BYTES), remarks: Cell::new(MAX_REMARKS) }
    }

    fn take(&self, nodes: usize) -> Result<(), String> {
        if take(&self.nodes, nodes) { Ok(()) } else { Err(too_many()) }
    }

    fn take_text(&self, bytes: usize) -> Result<(), String> {
        let message = || format!("more than {MAX_TEXT_BYTES} bytes of text, aliases counted as often as they are used");
        if take(&self.text, bytes) { Ok(()) } else { Err(message()) }
    }

    fn take_remark(&self) -> bool {
        take(&self.remarks, 1)
    }
}

/// Whose reading of a text is wanted, where kubectl has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// That of `kubectl apply`: text that goes to the server as an object. What has no last line break gets one, and
    /// numbers are `int64` or else `float64`.
    Applied,
    /// That of `kubectl patch --patch-file`, which is sigs.k8s.io/yaml alone: integers up to `uint64` are kept.
    Plain,
}

/// Why a text was not read: line and column from 1 in that text, 0 where they are not known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
}

/// What a text says.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) value: Value,
    /// What a person should look at, in the order it was read.
    pub(super) remarks: Vec<Remark>,
}

/// Reads a text of one YAML document; null for an empty one.
pub(super) fn read(text: &str, reading: Reading, budget: &Budget) -> Result<Read, Fault> {
    decode::decode(&nodes(text, reading)?, reading, budget)
}

/// What one YAML document says, as a server reads the body of a request.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn body(text: &str) -> Result<Value, String> {
    match read(text, Reading::Plain, &Budget::new()) {
        Ok(read) => Ok(read.value),
        Err(Fault { line: 0, message, .. }) => Err(message),
        Err(Fault { line, message, .. }) => Err(format!("line {line}: {message}")),
    }
}

/// The nodes of a text of one YAML document.
pub(super) fn nodes(text: &str, reading: Reading) -> Result<Document, Fault> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_characters(body)?;
    compose::compose(&as_lines(body, reading)).map_err(|Problem { at, context, problem }| Fault {
        line: at.line.saturating_add(1),
        column: at.column.saturating_add(1),
        message: message(&if context.is_empty() { problem } else { format!("{problem}, {context}") }),
    })
}

/// The nodes of a text as they would be read from a file: JSON where it is that, else YAML.
pub(super) fn nodes_of_any(text: &str) -> Option<Document> {
    match json::is_json(text).then(|| json::first(text)) {
        Some(Ok(document)) => Some(document),
        _ => nodes(text, Reading::Applied).ok(),
    }
}

/// What kubectl's line reader makes of a text: every line ends in LF.
fn as_lines(text: &str, reading: Reading) -> Cow<'_, str> {
    if reading == Reading::Plain {
        return Cow::Borrowed(text);
    }
    // Elsewhere CR LF is one line break as well.
    let mut text = if text.contains("\r\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    if !text.ends_with('\n') && !text.is_empty() {
        text.to_mut().push('\n');
    }
    text
}

/// Refuses the characters that YAML 1.1 does not print, and byte order marks inside a text.
fn check_characters(text: &str) -> Result<(), Fault> {
    let printable = |letter: char| !letter.is_control() || matches!(letter, '\t' | '\n' | '\r' | '\u{85}');
    let bad = |letter: char| !printable(letter) || matches!(letter, '\u{fffe}' | '\u{ffff}' | '\u{feff}');
    let Some((at, letter)) = text.char_indices().find(|(_, letter)| bad(*letter)) else { return Ok(()) };
    let before = text.get(..at).unwrap_or_default();
    let row = before.rsplit('\n').next().unwrap_or_default();
    Err(Fault {
        line: lines(before).saturating_add(1),
        column: number(row.chars().count()).saturating_add(1),
        message: format!("the character U+{:04X} may not stand in YAML as it is", u32::from(letter)),
    })
}

fn take(from: &Cell<usize>, count: usize) -> bool {
    let left = from.get().checked_sub(count);
    from.set(left.unwrap_or_default());
    left.is_some()
}

fn too_deep() -> String {
    format!("nested more than {MAX_DEPTH} levels deep")
}

fn too_many() -> String {
    format!("more than {MAX_NODES} values in one file, aliases counted as often as they are used and mappings fourfold")
}

fn lines(text: &str) -> u32 {
    number(text.matches('\n').count())
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
