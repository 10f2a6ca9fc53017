//! Walks first-parent history and finds the manifest files that each commit changed.
//!
//! Two trees are compared by the ids of their entries and equal folders are skipped unread: an order of magnitude faster than
//! libgit2's own diff, which reads both trees completely.

use std::cmp::Ordering;
use std::sync::Arc;

use git2::Oid;

use super::error::{Cause, GitError};
use super::files::{MAX_DEPTH, MAX_FOLDERS, MAX_PATH_BYTES, blob_id, is_manifest, join, key, kustomization};
use super::mirror::Mirror;
use super::object::{Entry, Kind, Tree};
use crate::model::CommitId;
use crate::revision::history::{Change, Step};

/// Most files that one commit may change, in a history that is walked: twice the most that one commit may hold.
pub const MAX_CHANGES: usize = 2 * super::files::MAX_FILES;

/// First-parent history, newest first; see [`Mirror::first_parent`].
#[derive(Debug)]
pub struct FirstParent<'m> {
    mirror: &'m Mirror,
    next: Option<Oid>,
}

/// What comes before a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// Nothing: it is a root.
    None,
    /// This commit.
    Is(Oid),
    /// This commit, which a shallow repository does not have.
    CutOff(Oid),
}

impl Mirror {
    /// Walks from a commit back along first parents; each step says which manifest files below the path it changed.
    ///
    /// The root commit is compared with the empty tree, and so is the oldest commit of a shallow repository.
    /// After an error there are no further steps.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] where the mirror does not have the commit. Steps: [`GitError::RepositoryCorrupt`], and
    /// [`GitError::TooMany`] for a commit that changes more than 40,000 manifest files.
    pub fn first_parent(&self, from: &CommitId) -> Result<FirstParent<'_>, GitError> {
        Ok(FirstParent { mirror: self, next: Some(self.known_commit(from)?) })
    }

    /// A commit's tree, and the commit before it on the first-parent line.
    pub(crate) fn first_parent_of(&self, id: Oid) -> Result<(Oid, Parent), GitError> {
        let (tree, parent) = self.raw_commit(id, |commit| (commit.tree, commit.parents.first().copied()))?;
        let parent = match parent {
            Some(parent) if self.odb()?.exists(parent) => Parent::Is(parent),
            Some(parent) if self.repo.is_shallow() => Parent::CutOff(parent),
            Some(parent) => return Err(self.corrupt(parent, Cause::new("the commit is missing"))),
            None => Parent::None,
        };
        Ok((tree, parent))
    }

    /// The manifest files of a commit by the same filter as the steps, as changes against nothing.
    pub(crate) fn all_files(&self, commit: &CommitId) -> Result<Vec<Change>, GitError> {
        let tree = self.raw_commit(self.known_commit(commit)?, |commit| commit.tree)?;
        self.changes(commit, None, Some(tree))
    }

    /// The manifest files in which two trees differ.
    pub(crate) fn changes(
        &self,
        commit: &CommitId,
        before: Option<Oid>,
        after: Option<Oid>,
    ) -> Result<Vec<Change>, GitError> {
        if before == after {
            return Ok(Vec::new());
        }
        let root = |tree: Option<Oid>| tree.map_or(Ok(None), |tree| self.root(tree));
        let mut comparison = Comparison { mirror: self, commit, changes: Vec::new(), folders: 0 };
        comparison.folders(root(before)?, root(after)?, self.path().as_bytes(), 0)?;
        Ok(comparison.changes)
    }
}

impl FirstParent<'_> {
    /// The commit that the next step is about.
    pub fn upcoming(&self) -> Option<CommitId> {
        self.next.map(|id| CommitId(id.to_string()))
    }

    fn step(&mut self, id: Oid) -> Result<Step, GitError> {
        let (tree, parent) = self.mirror.first_parent_of(id)?;
        let parent = match parent {
            Parent::Is(parent) => Some(parent),
            Parent::None | Parent::CutOff(_) => None,
        };
        let before = parent.map(|parent| self.mirror.raw_commit(parent, |commit| commit.tree)).transpose()?;
        let commit = CommitId(id.to_string());
        let changes = self.mirror.changes(&commit, before, Some(tree))?;
        self.next = parent;
        Ok(Step { commit, changes })
    }
}

impl Iterator for FirstParent<'_> {
    type Item = Result<Step, GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.next.take()?;
        Some(self.step(id))
    }
}

struct Comparison<'a> {
    mirror: &'a Mirror,
    commit: &'a CommitId,
    changes: Vec<Change>,
    folders: usize,
}

impl Comparison<'_> {
    fn folders(&mut self, before: Option<Oid>, after: Option<Oid>, path: &[u8], depth: usize) -> Result<(), GitError> {
        if before == after || depth > MAX_DEPTH {
            return Ok(());
        }
        self.folders += 1;
        if self.folders > MAX_FOLDERS {
            return Err(GitError::TooMany { commit: self.commit.clone(), what: "changed folders", limit: MAX_FOLDERS });
        }
        let (before, after) = (self.plain_tree(before)?, self.plain_tree(after)?);
        let (mut olds, mut news) = (before.entries.iter().peekable(), after.entries.iter().peekable());
        loop {
            let order = match (olds.peek(), news.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => in_tree_order((before.name(old), old.kind), (after.name(new), new.kind)),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            let name = match (old, new) {
                (Some(old), _) => before.name(old),
                (None, Some(new)) => after.name(new),
                (None, None) => return Ok(()),
            };
            if old.map(|entry| (entry.id, entry.kind)) != new.map(|entry| (entry.id, entry.kind)) {
                self.entry(old, new, name, path, depth)?;
            }
        }
    }

    fn entry(
        &mut self,
        old: Option<&Entry>,
        new: Option<&Entry>,
        name: &[u8],
        path: &[u8],
        depth: usize,
    ) -> Result<(), GitError> {
        let full = join(path, name);
        if full.len() > MAX_PATH_BYTES {
            return Ok(());
        }
        let of = |entry: Option<&Entry>, kind| entry.filter(|entry| entry.kind == kind).map(|entry| entry.id);
        self.folders(of(old, Kind::Folder), of(new, Kind::Folder), &full, depth + 1)?;
        let (old, new) = (of(old, Kind::File), of(new, Kind::File));
        if old == new || !is_manifest(name) {
            return Ok(());
        }
        if self.changes.len() >= MAX_CHANGES {
            return Err(GitError::TooMany { commit: self.commit.clone(), what: "changed files", limit: MAX_CHANGES });
        }
        self.changes.push(Change { path: key(&full), old: old.map(blob_id), new: new.map(blob_id) });
        Ok(())
    }

    /// A folder's tree; nothing and a kustomization count as empty.
    fn plain_tree(&self, id: Option<Oid>) -> Result<Arc<Tree>, GitError> {
        let Some(id) = id else { return Ok(Arc::default()) };
        let tree = self.mirror.tree(id)?;
        Ok(if kustomization(&tree).is_some() { Arc::default() } else { tree })
    }
}

/// Git's order of entries: a folder sorts as if its name ended in a slash.
///
/// Trees that break the order are compared all the same: what does not line up shows as deleted and added.
fn in_tree_order((a, a_kind): (&[u8], Kind), (b, b_kind): (&[u8], Kind)) -> Ordering {
    let slash = |kind| if kind == Kind::Folder { b'/' } else { 0 };
    let shared = a.len().min(b.len());
    a[..shared].cmp(&b[..shared]).then_with(|| {
        let after = |name: &[u8], kind| name.get(shared).copied().unwrap_or_else(|| slash(kind));
        after(a, a_kind).cmp(&after(b, b_kind)).then_with(|| a.len().cmp(&b.len()))
    })
}
