//! Turns the bytes of one file into documents.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::findings::limit;
use super::foreign;
use super::hint;
use super::kind::{self, PLAN_KIND, Role, role};
use super::places::{Places, Spot};
use super::words::show;
use super::yaml::{Reading, Remark};
use crate::model::{Diagnostic, Severity};
use stream::{Part, Refusal, parts, text};

/// The most bytes of a file that is read; etcd takes no object beyond 1.5 MiB.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// The most documents of a file, each item of a list counted as one.
pub const MAX_DOCUMENTS: usize = 10_000;

/// The most lists inside each other that are unrolled.
const MAX_LIST_DEPTH: usize = 8;

/// One document of a file: a Kubernetes object, an item of a list already unrolled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The file's path inside the repository.
    pub file: String,
    /// The line its first content is at, from 1.
    pub line: u32,
    /// The object.
    pub value: Value,
    /// Whether it could not be read (the findings say why) but mentions a rollout plan. Then the value holds what
    /// could be told of the plan's `workloadRef`, so that no set is rolled without the plan it was meant to have.
    pub unreadable: bool,
    source: Source,
}

/// Where a document's text is, to find places in it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Source {
    /// The text of the document, or of the list it is an item of.
    text: Arc<str>,
    /// The line of the file at which that text begins.
    line: u32,
    /// The JSON pointer of the object in that text.
    base: String,
}

impl Document {
    /// A document without a text: findings about it point to its line.
    pub fn new(file: impl Into<String>, line: u32, value: Value) -> Self {
        Self { file: file.into(), line, value, unreadable: false, source: Source::default() }
    }

    /// The object's kind; empty where it has none.
    pub fn kind(&self) -> &str {
        text_of(&self.value, "kind")
    }

    /// The object's API version; empty where it has none.
    pub fn api_version(&self) -> &str {
        text_of(&self.value, "apiVersion")
    }

    /// Where the value at a JSON pointer is in the file: line and column from 1, none when unsure.
    pub fn locate(&self, pointer: &str) -> Option<(u32, u32)> {
        let (line, column) = super::locate(self.text(), &format!("{}{pointer}", self.base()))?;
        Some((self.file_line(line), column))
    }

    /// What it is read as.
    pub(super) fn role(&self) -> Role {
        role(self.api_version(), self.kind())
    }

    pub(super) fn text(&self) -> &str {
        &self.source.text
    }

    pub(super) fn base(&self) -> &str {
        &self.source.base
    }

    /// The line of the file for a line of the text.
    pub(super) fn file_line(&self, line: u32) -> u32 {
        self.source.line.max(1).saturating_add(line).saturating_sub(1)
    }
}

/// Whether a file is a rollout plan by its name: `rollout-plan.yaml`, `.yml` or `.json`, in any case, also
/// `rollout_plan` and `rolloutplan`: nobody calls anything else so.
pub fn is_plan_file(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    matches!(extension, "yaml" | "yml" | "json") && matches!(stem, "rollout-plan" | "rollout_plan" | "rolloutplan")
}

/// Reads the documents of one file, and what is wrong with it. Never panics, takes well below a second.
///
/// An error among the findings means that part of the file could not be read: it may have held any workload.
pub fn parse(file: &str, bytes: &[u8]) -> (Vec<Document>, Vec<Diagnostic>) {
    let mut reader = Reader { file, documents: Vec::new(), findings: Vec::new(), taken: 0 };
    reader.file(bytes);
    reader.findings.sort();
    limit(&mut reader.findings);
    (reader.documents, reader.findings)
}

struct Reader<'a> {
    file: &'a str,
    documents: Vec<Document>,
    findings: Vec<Diagnostic>,
    /// Documents and items so far.
    taken: usize,
}

impl Reader<'_> {
    fn file(&mut self, bytes: &[u8]) {
        let text = match text(bytes, Reading::Applied) {
            Ok(text) => text,
            Err((fault, text)) => {
                let hint = "save it as UTF-8; split it, or keep data out of it, where it is too long";
                let message = fault.message;
                return self.refuse(Refusal { line: fault.line, column: fault.column, message, hint, text: &text });
            }
        };
        if let Some(foreign) = hint::foreign(&text.text) {
            let hint::Foreign { line, message, hint } = foreign;
            return self.refuse(Refusal { line, column: 0, message: message.into(), hint, text: &text.text });
        }
        for part in parts(self.file, &text, Reading::Applied) {
            match part {
                Part::Refused(refusal) => self.refuse(refusal),
                Part::Read { line, text_line, text, read } => {
                    let before = self.documents.len();
                    self.document(line, text_line, text, read.value);
                    self.remarks(before, text_line, text, read.remarks);
                }
            }
        }
    }

    /// Says what is to be said about a text that holds sets or plans, which are those from `before` on.
    fn remarks(&mut self, before: usize, text_line: u32, text: &str, remarks: Vec<Remark>) {
        let read = self.documents.get(before..).unwrap_or_default();
        if !read.iter().any(|document| document.role() != Role::Other) {
            return;
        }
        // No kubectl reads a plan, so nobody is used to the last of two keys.
        let plan = read.iter().find(|document| document.role() == Role::Plan).map(|document| document.line);
        let hopeless = plan.filter(|_| remarks.iter().any(|remark| remark.twice));
        for remark in remarks {
            let severity = if hopeless.is_some() && remark.twice { Severity::Error } else { Severity::Warning };
            self.findings.push(Diagnostic { severity, ..warning(self.file, text_line, remark) });
        }
        if let Some(line) = hopeless {
            self.documents.truncate(before);
            self.salvage(line, text);
        }
    }

    /// Takes one value that was read: unrolls lists, checks that it is an object at all.
    fn document(&mut self, line: u32, text_line: u32, text: &str, value: Value) {
        let source = Source { text: Arc::from(text), line: text_line, base: String::new() };
        let document = Document { file: self.file.to_owned(), line, value, unreadable: false, source };
        // Once for the text, however many items its lists have.
        let places = document.kind().ends_with("List").then(|| Places::of(text)).flatten();
        let spot = places.as_ref().map(|places| (places, places.root()));
        self.take(document, spot, 0);
    }

    fn take(&mut self, document: Document, spot: Option<(&Places, Spot)>, depth: usize) {
        if document.value.is_null() {
            return;
        }
        self.taken += 1;
        if self.taken > MAX_DOCUMENTS {
            if self.taken == MAX_DOCUMENTS + 1 {
                let finding = Diagnostic::error(self.file, document.line, stream::too_many_documents());
                self.findings.push(finding.hint(stream::SPLIT));
            }
            return;
        }
        let Value::Object(object) = &document.value else {
            return self.no_object(&document, "the document is no mapping");
        };
        if object.get("items").is_some_and(Value::is_array) && document.kind().ends_with("List") {
            if depth >= MAX_LIST_DEPTH {
                let message = format!("lists inside lists, more than {MAX_LIST_DEPTH} deep");
                self.findings.push(Diagnostic::error(self.file, document.line, message));
                return;
            }
            return self.unroll(document, spot, depth);
        }
        let text = |key| object.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        match (text("apiVersion"), text("kind")) {
            (true, true) if document.kind().starts_with("ENC[") => self.encrypted(&document),
            (true, true) if kind::misspelt_list(&document.value).is_some() => self.misspelt_list(&document),
            (true, true) if hint::is_encrypted(&document.value) && document.role() != Role::Other => {
                self.encrypted(&document);
            }
            (true, true) => self.documents.push(document),
            (false, true) => self.no_object(&document, "the document has no `apiVersion`"),
            (true, false) => self.no_object(&document, "the document has no `kind`"),
            (false, false) => self.no_object(&document, "the document has neither `apiVersion` nor `kind`"),
        }
    }

    fn unroll(&mut self, mut list: Document, spot: Option<(&Places, Spot)>, depth: usize) {
        let kind = list.kind().strip_suffix("List").unwrap_or_default().to_owned();
        let api_version = list.api_version().to_owned();
        let Some(Value::Array(items)) = list.value.get_mut("items").map(Value::take) else { return };
        let spot = spot.and_then(|(places, spot)| Some((places, places.child(spot, "items")?)));
        for (index, mut value) in items.into_iter().enumerate() {
            // The items of a typed list need not repeat what the list says.
            if let (Value::Object(item), false) = (&mut value, kind.is_empty()) {
                item.entry("apiVersion").or_insert_with(|| api_version.clone().into());
                item.entry("kind").or_insert_with(|| kind.clone().into());
            }
            let source = Source { base: format!("{}/items/{index}", list.source.base), ..list.source.clone() };
            let spot = spot.and_then(|(places, spot)| Some((places, places.item(spot, index)?)));
            let line = spot.map_or(list.line, |(_, spot)| list.file_line(spot.place().0));
            self.take(Document { file: list.file.clone(), line, value, unreadable: false, source }, spot, depth + 1);
        }
    }

    fn encrypted(&mut self, document: &Document) {
        let message = "the document is encrypted with SOPS";
        self.findings.push(Diagnostic::error(self.file, document.line, message).hint(hint::DECRYPT));
        self.salvage(document.line, document.text());
    }

    /// Reports a list under a kind that is none: nothing of it would be read, sets and plans neither.
    fn misspelt_list(&mut self, document: &Document) {
        let Some(list) = kind::misspelt_list(&document.value) else { return };
        let message = format!("{} is no kind of a list, and its `items` are not read", show(document.kind()));
        let (line, column) = document.locate("/kind").unwrap_or((document.line, 0));
        let finding = Diagnostic::error(self.file, line, message).at_column(column);
        self.findings.push(finding.hint(format!("did you mean `kind: {list}`?")));
        self.salvage(document.line, document.text());
    }

    /// Reports a document that is no Kubernetes object: an error where it may have been meant as a set or a plan.
    fn no_object(&mut self, document: &Document, message: &str) {
        if let Some(known) = foreign::document(self.file, &document.value) {
            let severity = if known.hides { Severity::Error } else { Severity::Warning };
            let message = format!("this is {}, and no Kubernetes object", known.what);
            let finding = Diagnostic::error(self.file, document.line, message).hint(known.hint).code("no-object");
            self.findings.push(Diagnostic { severity, ..finding });
            if known.hides {
                self.salvage(document.line, document.text());
            }
            return;
        }
        let spec = document.value.get("spec").unwrap_or(&document.value);
        let has = |key| spec.get(key).is_some();
        let role = document.role();
        let lists = document.value.get("items").and_then(Value::as_array);
        let meant = if is_plan_file(self.file) || role == Role::Plan || has("stages") || has("ramp") {
            Some(PLAN_BEGINS)
        } else if role == Role::Set || document.api_version() == "apps/v1" || has("serviceName") {
            Some("a StatefulSet begins with `apiVersion: apps/v1` and `kind: StatefulSet`")
        } else if lists.is_some_and(|items| items.iter().any(kind::is_ours)) {
            Some("a list begins with `apiVersion: v1` and `kind: List`")
        } else {
            None
        };
        match meant {
            Some(hint) => {
                self.findings.push(Diagnostic::error(self.file, document.line, message).hint(hint));
                self.salvage(document.line, document.text());
            }
            None => self.findings.push(
                Diagnostic::warning(self.file, document.line, format!("{message}: it is no Kubernetes object"))
                    .hint("move it out of the path, if it is not meant for the cluster"),
            ),
        }
    }

    /// Reports a text that cannot be read.
    fn refuse(&mut self, refusal: Refusal<'_>) {
        let Refusal { line, column, message, hint, text } = refusal;
        self.findings.push(Diagnostic::error(self.file, line, message).at_column(column).hint(hint));
        self.salvage(line, text);
    }

    /// Keeps of an unreadable plan which set it was for, as far as that can be told.
    fn salvage(&mut self, line: u32, text: &str) {
        if !is_plan_file(self.file) && !kind::mentions_plan(text) {
            return;
        }
        let mut object = Map::new();
        object.insert("kind".into(), PLAN_KIND.into());
        if let Some(name) = text.split_once("workloadRef").and_then(|(_, behind)| name_in(behind)) {
            object.insert("spec".into(), serde_json::json!({"workloadRef": {"name": name}}));
        }
        let document = Document::new(self.file, line, Value::Object(object));
        self.documents.push(Document { unreadable: true, ..document });
    }
}

/// How a plan begins.
pub(super) const PLAN_BEGINS: &str =
    "a rollout plan begins with `apiVersion: phaseline.dev/v1alpha1` and `kind: RolloutPlan`";

/// The first word behind `name:`.
fn name_in(text: &str) -> Option<String> {
    let behind = text.split_once("name")?.1.trim_start_matches(['"', '\'', ':', ' ']);
    let word: String =
        behind.chars().take(63).take_while(|letter| letter.is_alphanumeric() || *letter == '-').collect();
    (!word.is_empty()).then_some(word)
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A remark about a text that begins at a line of a file.
fn warning(file: &str, text_line: u32, remark: Remark) -> Diagnostic {
    let line = text_line.saturating_add(remark.line).saturating_sub(1);
    Diagnostic::warning(file, line, remark.message).at_column(remark.column).hint(remark.hint)
}

mod raw;
mod stream;

pub use raw::{RawDocument, read_documents, read_documents_as};

#[cfg(test)]
mod tests;
