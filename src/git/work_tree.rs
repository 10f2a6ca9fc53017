//! Takes the files of a work tree, as they are on disk, for a commit that exists in memory only.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{Index, ObjectType, Odb, OdbLookupFlags, Oid};

use super::error::GitError;
use super::files::{MAX_BLOB_BYTES, MAX_DEPTH, MAX_FILES, MAX_FOLDERS, MAX_TOTAL_BYTES, is_manifest, join};
use super::mirror::Mirror;
use crate::model::CommitId;

/// Above every backend that writes to disk.
const PRIORITY: i32 = 1_000;
/// Who is said to have made the commit that nobody has made.
pub const AUTHOR: &str = "working tree";
/// What is said of it.
pub const SUBJECT: &str = "files as they are, not committed";

impl Mirror {
    /// The manifests of the work tree as a commit on top of `HEAD` would have them; it exists in memory only.
    ///
    /// Taken is what `git add --all` would take: tracked files as they are on disk, and new ones that are not ignored.
    /// Of these only manifests, links and what makes a folder a kustomization: nothing else is ever read.
    ///
    /// # Errors
    /// [`GitError::NoWorkTree`], [`GitError::State`] where a file cannot be read, and the limits of [`Mirror::files`].
    pub fn work_tree_commit(&self) -> Result<CommitId, GitError> {
        let no_tree = || GitError::NoWorkTree { url: self.source.shown.clone() };
        let root = self.work_tree().ok_or_else(no_tree)?;
        let failed = |error: git2::Error| self.mirror_error(&error);
        let odb = self.odb()?;
        odb.add_new_mempack_backend(PRIORITY).map_err(failed)?;
        let index = self.repo.index().map_err(failed)?;
        let parent = self.repo.head().ok().and_then(|head| head.peel_to_commit().ok()).map(|head| head.id());
        let commit = CommitId(parent.map(|id| id.to_string()).unwrap_or_default());
        let mut taker = Taker { mirror: self, odb: &odb, index: &index, commit, files: 0, folders: 0, bytes: 0 };
        let tree = match taker.folder(root, b"", 0)? {
            Some(tree) => tree,
            None => taker.put(ObjectType::Tree, b"")?,
        };
        let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
        let who = format!("{AUTHOR} <> {} +0000", self.newest(&index));
        let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n{SUBJECT}\n");
        Ok(CommitId(taker.put(ObjectType::Commit, text.as_bytes())?.to_string()))
    }

    /// Whether history ends before its beginning, as after `git clone --depth`.
    pub fn is_shallow(&self) -> bool {
        self.repo.is_shallow()
    }

    /// The time of the last `git add`, which is not now: the same files give the same commit.
    fn newest(&self, index: &Index) -> i64 {
        index.iter().map(|entry| i64::from(entry.mtime.seconds())).max().unwrap_or_default()
    }
}

struct Taker<'a> {
    mirror: &'a Mirror,
    odb: &'a Odb<'a>,
    index: &'a Index,
    /// The commit that the files come after, for messages.
    commit: CommitId,
    files: usize,
    folders: usize,
    bytes: u64,
}

/// One line of a tree.
struct Line {
    mode: &'static str,
    name: Vec<u8>,
    id: Oid,
}

impl Taker<'_> {
    /// The tree of one folder; none where it would be empty.
    fn folder(&mut self, folder: &Path, path: &[u8], depth: usize) -> Result<Option<Oid>, GitError> {
        let failed = |cause| GitError::State { path: folder.to_owned(), cause };
        self.folders += 1;
        if self.folders > MAX_FOLDERS {
            return Err(GitError::TooMany { commit: self.commit.clone(), what: "folders", limit: MAX_FOLDERS });
        }
        let mut lines = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().as_bytes().to_vec();
            let (at, full, kind) = (entry.path(), join(path, &name), entry.file_type().map_err(failed)?);
            if name == b".git" || self.is_left_out(&full, kind.is_dir()) {
                continue;
            }
            let line = if kind.is_symlink() {
                let target = fs::read_link(&at).map_err(|cause| GitError::State { path: at, cause })?;
                Some(("120000", self.put(ObjectType::Blob, target.as_os_str().as_bytes())?))
            } else if kind.is_dir() && depth <= MAX_DEPTH {
                match self.submodule(&full, &at) {
                    Some(id) => Some(("160000", id)),
                    None => self.folder(&at, &full, depth + 1)?.map(|tree| ("40000", tree)),
                }
            } else if kind.is_file() && (is_manifest(&name) || name == b"Kustomization") {
                Some(("100644", self.file(&at)?))
            } else {
                None
            };
            lines.extend(line.map(|(mode, id)| Line { mode, name, id }));
        }
        if lines.is_empty() {
            return Ok(None);
        }
        // Git's order: a folder sorts as if its name ended in a slash.
        lines.sort_by_cached_key(|line| {
            let slash: &[u8] = if line.mode == "40000" { b"/" } else { b"" };
            [&line.name, slash].concat()
        });
        let mut tree = Vec::new();
        for line in lines {
            tree.extend([line.mode.as_bytes(), b" ", &line.name, b"\0", line.id.as_bytes()].concat());
        }
        self.put(ObjectType::Tree, &tree).map(Some)
    }

    fn file(&mut self, path: &Path) -> Result<Oid, GitError> {
        let failed = |cause| GitError::State { path: path.to_owned(), cause };
        self.files += 1;
        if self.files > MAX_FILES {
            return Err(GitError::TooMany { commit: self.commit.clone(), what: "manifest files", limit: MAX_FILES });
        }
        // A byte more than is ever read: enough to be told that it is too large.
        let mut content = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(MAX_BLOB_BYTES as u64 + 1).read_to_end(&mut content).map_err(failed)?;
        self.bytes += content.len() as u64;
        if self.bytes > MAX_TOTAL_BYTES {
            return Err(GitError::TotalTooLarge { commit: self.commit.clone(), limit: MAX_TOTAL_BYTES });
        }
        self.put(ObjectType::Blob, &content)
    }

    /// Whether it is ignored and not tracked all the same.
    fn is_left_out(&self, path: &[u8], folder: bool) -> bool {
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        if !self.mirror.repo.is_path_ignored(path).unwrap_or(false) {
            return false;
        }
        match folder {
            true => {
                !self.index.iter().any(|entry| Path::new(std::ffi::OsStr::from_bytes(&entry.path)).starts_with(path))
            }
            false => self.index.get_path(path, 0).is_none(),
        }
    }

    /// The commit of a submodule, or of another repository that lies in this one.
    fn submodule(&self, path: &[u8], at: &Path) -> Option<Oid> {
        let known = self.index.get_path(Path::new(std::ffi::OsStr::from_bytes(path)), 0);
        match known.filter(|entry| entry.mode == 0o160_000) {
            Some(entry) => Some(entry.id),
            None => at.join(".git").exists().then_some(Oid::ZERO_SHA1),
        }
    }

    /// Puts an object into memory, unless the repository has it.
    fn put(&self, kind: ObjectType, content: &[u8]) -> Result<Oid, GitError> {
        let failed = |error: git2::Error| self.mirror.mirror_error(&error);
        let id = Oid::hash_object(kind, content).map_err(failed)?;
        // Writing what is there would touch the file that it is in.
        if self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH) {
            Ok(id)
        } else {
            self.odb.write(kind, content).map_err(failed)
        }
    }
}
