//! What commands ask of a repository beyond what the daemon needs: two commits at once, numbers, documents.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Contents, Scope, Source, View};
use crate::git::{GitError, Goal, Listing};
use crate::manifest::{Checks, Document, bind_for, is_plan_file, stateful_set};
use crate::model::{CommitId, Diagnostic, WorkloadId};
use crate::revision::history::{Numbered, number};

impl Source {
    /// What the files of a commit say, with the checks of whoever asks.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn contents(&mut self, commit: &CommitId, checks: Checks) -> Result<Contents, GitError> {
        let listing = self.mirror.files(commit)?;
        self.contents_of(listing, checks)
    }

    /// What the files that are staged say.
    ///
    /// # Errors
    /// See [`crate::git::Mirror::staged_files`].
    pub fn staged_contents(&mut self, checks: Checks) -> Result<Contents, GitError> {
        let listing = self.mirror.staged_files()?;
        self.contents_of(listing, checks)
    }

    fn contents_of(&mut self, listing: Listing, checks: Checks) -> Result<Contents, GitError> {
        let mut files = BTreeMap::new();
        for file in listing.files {
            let parsed = self.parse(&file.path, &file.blob)?;
            files.insert(file.path, parsed);
        }
        let read = files.iter().map(|(path, parsed)| (path.as_str(), &parsed.documents[..], &parsed.diagnostics[..]));
        let read = read.chain(plans_left_out(&listing.skipped));
        let bound = bind_for(read, &self.scope.default_namespace, checks);
        Ok(Contents { bound, skipped: listing.skipped, files })
    }

    /// The namespace of manifests that state none.
    pub fn default_namespace(&self) -> &str {
        &self.scope.default_namespace
    }

    /// The same repository with another namespace for manifests that state none.
    #[must_use]
    pub fn placed_in(self, default_namespace: &str) -> Self {
        let scope = Scope { default_namespace: default_namespace.to_owned(), ..self.scope };
        Self { tip: self.tip, ..Self::on(self.mirror, scope) }
    }

    /// What two commits say, the older one first; what they share is read once.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn views(&mut self, old: &CommitId, new: &CommitId) -> Result<(View, View), GitError> {
        let (before, histories) = self.read(old, None)?;
        let (after, _) = self.read(new, Some(histories))?;
        Ok((before, after))
    }

    /// Every revision of every workload up to a commit, oldest first, from the first commit on.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn revisions(&mut self, commit: &CommitId) -> Result<BTreeMap<WorkloadId, Vec<Numbered>>, GitError> {
        let found = self.walk(commit, Goal::Everything, None)?.found.entries;
        Ok(found
            .into_iter()
            .map(|(workload, mut entries)| {
                entries.reverse();
                (workload, number(&entries))
            })
            .collect())
    }

    /// The document of a workload at a commit, to find places in it; none where no file names it there.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn document(&mut self, commit: &CommitId, workload: &WorkloadId) -> Result<Option<Document>, GitError> {
        let listing = self.mirror.files(commit)?;
        for file in listing.files {
            let parsed = self.parse(&file.path, &file.blob)?;
            let text = |document: &Document, pointer: &str| {
                document
                    .value
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())
                    .map(str::to_owned)
            };
            let found = parsed.documents.iter().find(|document| {
                stateful_set::is_stateful_set(document)
                    && text(document, "/metadata/name").as_ref() == Some(&workload.name)
                    && text(document, "/metadata/namespace").as_ref().unwrap_or(&self.scope.default_namespace)
                        == &workload.namespace
            });
            if let Some(document) = found {
                return Ok(Some(document.clone()));
            }
        }
        Ok(None)
    }

    /// Every object of a commit, sets and plans among them, by the files' order.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn documents(&mut self, commit: &CommitId) -> Result<Vec<Document>, GitError> {
        let mut all = Vec::new();
        for file in self.mirror.files(commit)?.files {
            all.extend(self.parse(&file.path, &file.blob)?.documents.iter().cloned());
        }
        Ok(all)
    }
}

/// Plans that are there and are not read, such as symbolic links: each counts as a plan that cannot be used.
pub fn plans_left_out(skipped: &[Diagnostic]) -> impl Iterator<Item = (&str, &[Document], &[Diagnostic])> {
    let plans = skipped.iter().filter(|finding| is_plan_file(&finding.file));
    plans.map(|finding| (finding.file.as_str(), &[][..], std::slice::from_ref(finding)))
}
