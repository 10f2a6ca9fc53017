//! Collects what is wrong with one document, each finding with its line and column.

use std::cell::OnceCell;

use super::kind::Role;
use super::parse::Document;
use super::places::{Place, Places};
use super::words::show;
use crate::model::{Diagnostic, Severity};

/// The most findings about one document or file: a hopeless one shall not fill the log.
pub(super) const MAX_FINDINGS: usize = 100;

/// The findings about one document.
pub(super) struct Findings<'a> {
    document: &'a Document,
    places: OnceCell<Option<Places>>,
    list: Vec<Diagnostic>,
    /// Whether there was an error, also among those that are not kept.
    has_error: bool,
    /// The last one that was not kept.
    overflow: Option<Diagnostic>,
}

impl<'a> Findings<'a> {
    pub(super) fn about(document: &'a Document) -> Self {
        Self { document, places: OnceCell::new(), list: Vec::new(), has_error: false, overflow: None }
    }

    /// An error about the value at a JSON pointer.
    pub(super) fn error(&mut self, pointer: &str, message: impl Into<String>) -> &mut Diagnostic {
        self.has_error = true;
        self.add(pointer, Places::near, Severity::Error, message.into())
    }

    /// An error about the key at a JSON pointer.
    pub(super) fn key_error(&mut self, pointer: &str, message: impl Into<String>) -> &mut Diagnostic {
        self.has_error = true;
        self.add(pointer, Places::key, Severity::Error, message.into())
    }

    /// A warning about the key at a JSON pointer.
    pub(super) fn key_warning(&mut self, pointer: &str, message: impl Into<String>) -> &mut Diagnostic {
        self.add(pointer, Places::key, Severity::Warning, message.into())
    }

    /// A warning about the value at a JSON pointer.
    pub(super) fn warning(&mut self, pointer: &str, message: impl Into<String>) -> &mut Diagnostic {
        self.add(pointer, Places::near, Severity::Warning, message.into())
    }

    /// Whether there is an error among them.
    pub(super) fn has_error(&self) -> bool {
        self.has_error
    }

    /// The findings, in the order of the text.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort();
        if self.overflow.is_some() {
            let message = format!("more than {MAX_FINDINGS} findings; the others are not shown");
            self.list.push(Diagnostic::error(&self.document.file, self.document.line, message));
        }
        self.list
    }

    fn add(
        &mut self,
        pointer: &str,
        find: fn(&Places, &str) -> Option<Place>,
        severity: Severity,
        message: String,
    ) -> &mut Diagnostic {
        let finding = Diagnostic { severity, ..Diagnostic::error(&self.document.file, self.document.line, message) };
        if self.list.len() >= MAX_FINDINGS {
            return self.overflow.insert(finding);
        }
        let place = self.places().and_then(|places| find(places, &format!("{}{pointer}", self.document.base())));
        let finding = match place {
            Some((line, column)) => Diagnostic { line: self.document.file_line(line), column, ..finding },
            None => finding,
        };
        let index = self.list.len();
        self.list.push(finding);
        &mut self.list[index]
    }

    fn places(&self) -> Option<&Places> {
        self.places.get_or_init(|| Places::of(self.document.text())).as_ref()
    }
}

/// Reports a kind that is only nearly the one of its role.
pub(super) fn misspelt(document: &Document, role: Role, findings: &mut Findings<'_>) {
    if document.kind() != role.kind() {
        let message = format!("there is no kind {}", show(document.kind()));
        findings.error("/kind", message).hint = format!("did you mean `kind: {}`?", role.kind());
    }
}

/// Cuts a list of findings at [`MAX_FINDINGS`], errors kept before warnings, and says how many were left out.
pub(super) fn limit(list: &mut Vec<Diagnostic>) {
    if list.len() <= MAX_FINDINGS {
        return;
    }
    let more = list.len() - MAX_FINDINGS;
    list.sort_by_key(|finding| !finding.is_error());
    list.truncate(MAX_FINDINGS);
    list.sort();
    if let Some(last) = list.last().cloned() {
        list.push(Diagnostic::warning(last.file, 0, format!("{more} more findings are not shown")));
    }
}
