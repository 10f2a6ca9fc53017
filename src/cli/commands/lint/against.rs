//! Compares what is checked with what was there before: fields that are fixed, and sets that are gone.

use std::collections::BTreeMap;

use crate::daemon::Contents;
use crate::manifest::default::Level;
use crate::manifest::update::forbidden_changes;
use crate::manifest::{Bound, BoundWorkload, Document, Manifest, ONE_STAGE};
use crate::model::{CommitId, Diagnostic, WorkloadId};

/// What was there before.
pub(super) struct Before {
    bound: Bound,
    /// The commit, as a message names it.
    since: String,
    /// The folder or file that is checked, inside the repository; empty is all of it.
    inside: String,
    /// What a single file is called that is checked; empty for a folder.
    given: String,
}

impl Before {
    /// A commit's sets, of which those at or below `inside` are expected to be there still.
    pub(super) fn of(contents: Contents, commit: &CommitId, inside: &str, given: &str) -> Self {
        let since = commit.short().to_owned();
        Self { bound: contents.bound, since, inside: inside.to_owned(), given: given.to_owned() }
    }

    /// A commit without sets.
    pub(super) fn nothing(commit: &CommitId) -> Self {
        Self { bound: Bound::default(), since: commit.short().to_owned(), inside: String::new(), given: String::new() }
    }

    /// A path of the commit as the findings of what is checked name it; none where it is elsewhere.
    fn shown<'a>(&'a self, file: &'a str) -> Option<&'a str> {
        if !self.given.is_empty() {
            return (file == self.inside).then_some(&self.given);
        }
        if self.inside.is_empty() {
            return Some(file);
        }
        file.strip_prefix(&self.inside)?.strip_prefix('/')
    }

    fn good(&self) -> impl Iterator<Item = (&WorkloadId, &Manifest)> {
        self.bound.workloads.iter().filter_map(|(workload, outcome)| Some((workload, &outcome.as_ref().ok()?.manifest)))
    }
}

/// What is wrong, or worth a word, about the way from `before` to `after`; `documents` are those of each file of `after`.
pub(super) fn compare(
    before: &Before,
    after: &Bound,
    documents: &BTreeMap<&str, &[Document]>,
    level: Level,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (workload, old) in before.good() {
        match after.workloads.get(workload) {
            Some(Ok(new)) => {
                findings.extend(unplanned(before, workload, new));
                let new = &new.manifest;
                let document = documents
                    .get(new.file.as_str())
                    .and_then(|documents| documents.iter().find(|document| is_of(document, new)));
                if let Some(document) = document {
                    findings.extend(forbidden_changes(old, new, document, level, &before.since));
                }
            }
            // What is wrong with it has been said.
            Some(Err(_)) => {}
            None => findings.extend(gone(before, workload, old, after)),
        }
    }
    findings
}

/// The warning about a set that had a plan and has none.
fn unplanned(before: &Before, workload: &WorkloadId, new: &BoundWorkload) -> Option<Diagnostic> {
    let old = before.bound.workloads.get(workload)?.as_ref().ok()?.plan.as_ref().filter(|_| new.is_unstaged())?;
    let message = format!(
        "{workload} has no plan any more ({}:{} was its plan in {}): a change reaches {ONE_STAGE}",
        old.file, old.line, before.since
    );
    let hint = "if that is not meant, bring the plan back, or bind one to the set with `workloadRef`";
    let finding = Diagnostic::warning(&new.manifest.file, new.manifest.line, message);
    Some(finding.hint(hint).code("plan-removed"))
}

/// Whether a set was read from a document.
fn is_of(document: &Document, manifest: &Manifest) -> bool {
    document.line == manifest.line
        && document.value.pointer("/metadata/name").is_some_and(|name| *name == manifest.workload.name.as_str())
}

/// The warning about a set that no file names any more.
fn gone(before: &Before, workload: &WorkloadId, old: &Manifest, after: &Bound) -> Option<Diagnostic> {
    let file = before.shown(&old.file)?;
    // A file that cannot be read may still hold it.
    if after.broken_files.contains_key(file) {
        return None;
    }
    let new_here = after.workloads.iter().find_map(|(other, outcome)| {
        let manifest = &outcome.as_ref().ok()?.manifest;
        let is_new = manifest.file == file && !before.bound.workloads.contains_key(other);
        is_new.then_some((other, manifest.line))
    });
    let message = format!("no file names StatefulSet {workload} any more; it was there in {}", before.since);
    let (line, hint) = match new_here {
        Some((other, line)) => (
            line,
            format!(
                "renamed to {other}? Kubernetes makes a new set beside the old one, which stays in the cluster with its pods and claims"
            ),
        ),
        None => (
            0,
            format!(
                "it stays in the cluster as it is, Orphaned; `kubectl delete statefulset {} -n {}` removes it",
                workload.name, workload.namespace
            ),
        ),
    };
    Some(Diagnostic::warning(file, line, message).hint(hint).code("set-removed"))
}
