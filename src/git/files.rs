//! Lists the manifest files of one commit, by object ids, and says what was left out and why.

use std::fmt::Write as _;

use git2::Oid;

use super::error::{GitError, clean};
use super::mirror::Mirror;
use super::object::{Entry, Kind, Tree};
use crate::model::{CommitId, Diagnostic};
use crate::revision::history::BlobId;

/// Most manifest files of one commit.
pub const MAX_FILES: usize = 20_000;
/// Most folders of one commit that are looked into: a folder may hold itself many times over by its id.
pub const MAX_FOLDERS: usize = 100_000;
/// Deepest folder below the path.
pub const MAX_DEPTH: usize = 64;
/// Longest path, in bytes: what Linux takes.
pub const MAX_PATH_BYTES: usize = 4096;
/// Largest file, in bytes: etcd takes objects of 1.5 MiB at most.
pub const MAX_BLOB_BYTES: usize = 1 << 20;
/// Largest sum of all files of one commit, in bytes.
pub const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// Most findings of one commit that are reported.
const MAX_SKIPPED: usize = 1_000;
/// Most folders that are named where one is missing.
const MOST_FOLDERS_NAMED: usize = 10;
/// Longest target of a symbolic link that is followed to see whether it leads to a folder, in bytes.
const MAX_LINK_BYTES: u64 = 4096;

/// One manifest file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileEntry {
    /// The path inside the repository; bytes that are no UTF-8 and control characters are shown as U+FFFD.
    pub path: String,
    /// The content's id.
    pub blob: BlobId,
    /// The content's size in bytes.
    pub size: u64,
}

/// The manifest files of one commit below the configured path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Files whose names end in `.yaml`, `.yml` or `.json`, in any case of letters, sorted by path.
    pub files: Vec<FileEntry>,
    /// What looked like manifests and is not read, and what is read but looks odd; sorted by path.
    pub skipped: Vec<Diagnostic>,
    /// The places among them that are not read at all: what was there before may still be there.
    pub dark: Vec<Dark>,
}

/// A place of a commit's tree that is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dark {
    /// The path of a file, or of a folder of which nothing is read; empty is the folder that is configured.
    pub path: String,
    /// Its id.
    pub id: BlobId,
    /// What is there.
    pub what: DarkKind,
    /// Why it is not read.
    pub why: Vec<Diagnostic>,
}

/// What a place is that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DarkKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link, or too much to be looked at: nobody knows what is in it.
    Unknown,
    /// Another repository.
    Submodule,
}

impl Dark {
    /// Whether a file of that path would be in it.
    pub fn covers(&self, file: &str) -> bool {
        let below = file.strip_prefix(self.path.as_str());
        below.is_some_and(|rest| rest.is_empty() || self.path.is_empty() || rest.starts_with('/'))
    }
}

impl Mirror {
    /// Lists the manifest files of a commit below the configured path.
    ///
    /// # Errors
    /// [`GitError::PathMissing`] where the path is not there, [`GitError::TooMany`] over 20,000 files or 100,000 folders,
    /// [`GitError::TotalTooLarge`] over 256 MiB, [`GitError::RepositoryCorrupt`] where an object is missing or damaged.
    pub fn files(&self, commit: &CommitId) -> Result<Listing, GitError> {
        let oid = self.known_commit(commit)?;
        let top = self.raw_commit(oid, |commit| commit.tree)?;
        self.files_of(commit, top)
    }

    /// The same of a tree; `commit` is what it is called in messages.
    pub(crate) fn files_of(&self, commit: &CommitId, top: Oid) -> Result<Listing, GitError> {
        let path = self.path();
        let Some(root) = self.root(top)? else {
            let others = self.folders_there(top)?;
            return Err(GitError::PathMissing { others, commit: commit.clone(), path });
        };
        let mut walk = Lister { mirror: self, commit, top, listing: Listing::default(), folders: 0, total: 0 };
        walk.folder(root, path.as_bytes(), 0)?;
        let mut listing = walk.listing;
        listing.files.sort();
        listing.skipped.sort();
        listing.dark.sort();
        Ok(listing)
    }
}

impl Mirror {
    /// The folders beside which the configured path would have to be.
    fn folders_there(&self, top: Oid) -> Result<Vec<String>, GitError> {
        let (mut at, mut path) = (self.tree(top)?, Vec::new());
        for part in &self.source.path {
            match at.find(part.as_bytes()) {
                Some(entry) if entry.kind == Kind::Folder => {
                    (at, path) = (self.tree(entry.id)?, join(&path, part.as_bytes()));
                }
                _ => break,
            }
        }
        let folders = at.entries.iter().filter(|entry| entry.kind == Kind::Folder);
        Ok(folders.take(MOST_FOLDERS_NAMED).map(|entry| shown(&join(&path, at.name(entry)))).collect())
    }
}

struct Lister<'a> {
    mirror: &'a Mirror,
    commit: &'a CommitId,
    top: Oid,
    listing: Listing,
    folders: usize,
    total: u64,
}

impl Lister<'_> {
    fn folder(&mut self, id: Oid, path: &[u8], depth: usize) -> Result<(), GitError> {
        self.folders += 1;
        if self.folders > MAX_FOLDERS {
            return Err(GitError::TooMany { commit: self.commit.clone(), what: "folders", limit: MAX_FOLDERS });
        }
        let tree = self.mirror.tree(id)?;
        if let Some(name) = kustomization(&tree) {
            let folder = if path.is_empty() { "the folder".into() } else { format!("folder {}", shown(path)) };
            self.hide(
                path,
                id,
                DarkKind::Folder,
                Diagnostic::error(
                    shown(&join(path, name)),
                    0,
                    format!("{folder} is a kustomization; none of its files is read"),
                )
                .hint("render it in CI: kubectl kustomize, and commit the result to the branch that is deployed"),
            );
            return Ok(());
        }
        for entry in &tree.entries {
            let name = tree.name(entry);
            let full = join(path, name);
            if full.len() > MAX_PATH_BYTES {
                if is_manifest(name) || entry.kind == Kind::Folder {
                    let why = format!("its path is longer than {MAX_PATH_BYTES} bytes");
                    self.hide(&full, entry.id, DarkKind::Unknown, Diagnostic::error(shown(&full), 0, why));
                }
                continue;
            }
            match entry.kind {
                Kind::File if is_manifest(name) => self.file(entry, &full)?,
                Kind::Folder if depth < MAX_DEPTH => self.folder(entry.id, &full, depth + 1)?,
                Kind::Folder => {
                    let why = format!("deeper than {MAX_DEPTH} folders; it is not read");
                    self.hide(&full, entry.id, DarkKind::Folder, Diagnostic::error(shown(&full), 0, why));
                }
                Kind::Symlink => self.symlink(entry, name, &full),
                Kind::Submodule => self.hide(
                    &full,
                    entry.id,
                    DarkKind::Submodule,
                    Diagnostic::warning(shown(&full), 0, "a submodule; nothing in it is read")
                        .hint("commit the manifests themselves"),
                ),
                Kind::File | Kind::Other => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, entry: &Entry, path: &[u8]) -> Result<(), GitError> {
        let size = self.mirror.blob_size(entry.id)?;
        let shown_path = shown(path);
        if size > MAX_BLOB_BYTES as u64 {
            let message = format!("{size} bytes; files of more than {MAX_BLOB_BYTES} are not read");
            self.hide(path, entry.id, DarkKind::File, Diagnostic::error(shown_path, 0, message));
            return Ok(());
        }
        if std::str::from_utf8(path).is_err() {
            self.report(Diagnostic::warning(shown_path.clone(), 0, "its name is no UTF-8"));
        }
        self.total += size;
        if self.total > MAX_TOTAL_BYTES {
            return Err(GitError::TotalTooLarge { commit: self.commit.clone(), limit: MAX_TOTAL_BYTES });
        }
        if self.listing.files.len() >= MAX_FILES {
            return Err(GitError::TooMany { commit: self.commit.clone(), what: "manifest files", limit: MAX_FILES });
        }
        self.listing.files.push(FileEntry { path: shown_path, blob: blob_id(entry.id), size });
        Ok(())
    }

    /// Reports a link that hides manifests: one that is named like one, or that leads to a folder of this tree.
    fn symlink(&mut self, entry: &Entry, name: &[u8], path: &[u8]) {
        if is_manifest(name) || self.leads_to_folder(entry, path) {
            self.hide(
                path,
                entry.id,
                DarkKind::Unknown,
                Diagnostic::warning(shown(path), 0, "a symbolic link; links are not followed")
                    .hint("commit the file itself in its place"),
            );
        }
    }

    fn leads_to_folder(&self, entry: &Entry, path: &[u8]) -> bool {
        if self.listing.skipped.len() >= MAX_SKIPPED {
            return false;
        }
        if !self.mirror.blob_size(entry.id).is_ok_and(|size| size <= MAX_LINK_BYTES) {
            return false;
        }
        let Ok(target) = self.mirror.read(&blob_id(entry.id)) else { return false };
        let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        parts.pop();
        if target.starts_with(b"/") {
            return false;
        }
        for part in target.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." if parts.pop().is_some() => {}
                b".." => return false,
                part => parts.push(part),
            }
        }
        let mut at = self.top;
        for part in parts {
            match self.mirror.tree(at).as_deref().map(|tree| tree.find(part).map(|entry| (entry.kind, entry.id))) {
                Ok(Some((Kind::Folder, id))) => at = id,
                _ => return false,
            }
        }
        true
    }

    /// Reports a place that is not read.
    fn hide(&mut self, path: &[u8], id: Oid, what: DarkKind, why: Diagnostic) {
        let place = Dark { path: shown(path), id: blob_id(id), what, why: vec![why.clone()] };
        match self.listing.dark.len() {
            count if count < MAX_SKIPPED => self.listing.dark.push(place),
            // Beyond the bound nothing is told apart any more: anything may be anywhere.
            MAX_SKIPPED => {
                self.listing.dark.push(Dark { path: String::new(), what: DarkKind::Unknown, ..place });
            }
            _ => {}
        }
        self.report(why);
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        match self.listing.skipped.len() {
            count if count < MAX_SKIPPED => self.listing.skipped.push(diagnostic),
            MAX_SKIPPED => {
                let message = format!("more than {MAX_SKIPPED} findings; the rest is left out");
                self.listing.skipped.push(Diagnostic::warning("", 0, message));
            }
            _ => {}
        }
    }
}

/// Whether a file of this name is read as manifests.
pub(crate) fn is_manifest(name: &[u8]) -> bool {
    [&b".yaml"[..], b".yml", b".json"].iter().any(|extension| {
        name.len().checked_sub(extension.len()).is_some_and(|at| name[at..].eq_ignore_ascii_case(extension))
    })
}

/// The name of the file that makes this folder a kustomization.
pub(crate) fn kustomization(tree: &Tree) -> Option<&[u8]> {
    let named = |name: &[u8]| matches!(name, b"kustomization.yaml" | b"kustomization.yml" | b"Kustomization");
    let mut files = tree.entries.iter().filter(|entry| matches!(entry.kind, Kind::File | Kind::Symlink));
    files.find(|entry| named(tree.name(entry))).map(|entry| tree.name(entry))
}

pub(crate) fn blob_id(id: Oid) -> BlobId {
    let mut bytes = [0; 20];
    bytes.iter_mut().zip(id.as_bytes()).for_each(|(to, from)| *to = *from);
    BlobId(bytes)
}

pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

/// A path as a key: as it is shown, but no two paths have the same; what cannot be shown is spelled out behind a NUL.
pub(crate) fn key(path: &[u8]) -> String {
    let mut key = shown(path);
    if key.as_bytes() != path {
        key.push('\0');
        path.iter().for_each(|byte| _ = write!(key, "{byte:02x}"));
    }
    key
}

/// A path as it may be shown, cut where it is longer than any path.
pub(crate) fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    if text.len() > MAX_PATH_BYTES {
        return clean(&text, 200);
    }
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
