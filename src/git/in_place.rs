//! Reads a repository where it lies: for hooks and for people at their work tree. Nothing is copied or written.

use std::cell::RefCell;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ErrorClass, ErrorCode, Index, Repository, RepositoryOpenFlags};

use super::credentials::Credentials;
use super::error::{Cause, GitError};
use super::fetch::Limits;
use super::files::Listing;
use super::folder::Known;
use super::mirror::Mirror;
use super::source::Source;
use crate::model::CommitId;

/// The most paths in conflict that a message names.
const MOST_CONFLICTS: usize = 3;

/// Which repository on disk is meant.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The one that `GIT_DIR` names, as in a hook; else the one around the current folder.
    Here,
    /// The one around a folder.
    Around(&'a Path),
    /// The one at a folder: a work tree, its `.git`, or a bare repository.
    At(&'a Path),
}

impl Mirror {
    /// Opens a repository for reading in place; `path` is the folder inside of it that holds the manifests.
    ///
    /// Objects that a push has brought and that no hook has let in yet are seen as well, as `git` itself sees them: by
    /// `GIT_OBJECT_DIRECTORY` and `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
    ///
    /// # Errors
    /// [`GitError::NotARepository`], [`GitError::NotOwner`], [`GitError::Unsupported`], [`GitError::BadPath`].
    pub fn in_place(place: Place<'_>, path: &str) -> Result<Self, GitError> {
        git2::opts::enable_caching(false);
        super::mirror::verify_ourselves();
        let named = env::var_os("GIT_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let (folder, search) = match (place, &named) {
            (Place::Here, Some(dir)) => (dir.as_path(), false),
            (Place::Here, None) => (Path::new("."), true),
            (Place::Around(folder), _) => (folder, true),
            (Place::At(folder), _) => (folder, false),
        };
        let flags = if search { RepositoryOpenFlags::empty() } else { RepositoryOpenFlags::NO_SEARCH };
        let repo = Repository::open_ext(folder, flags, std::iter::empty::<&Path>())
            .map_err(|error| not_opened(folder, &error))?;
        let dir = repo.workdir().unwrap_or_else(|| repo.path()).to_owned();
        let mirror = Self {
            source: Source::in_place(&dir, path)?,
            credentials: Credentials::default(),
            dir,
            repo,
            limits: Limits::default(),
            suspect: Arc::default(),
            renewed: None,
            in_place: true,
            trees: RefCell::default(),
            known: Known::default(),
        };
        mirror.add_objects_of_a_push()?;
        Ok(mirror)
    }

    /// A folder that belongs to no repository, as if it were all of one: its files are read by [`Mirror::work_tree_commit`].
    ///
    /// `path` is the folder inside of it that holds the manifests; `scratch` is an empty one, for the repository that it takes; nothing is written to `folder`.
    ///
    /// # Errors
    /// [`GitError::Mirror`] where the one cannot be made.
    pub fn of_folder(folder: &Path, path: &str, scratch: &Path) -> Result<Self, GitError> {
        super::mirror::verify_ourselves();
        let failed = |error: git2::Error| GitError::Mirror { path: scratch.to_owned(), cause: Cause::from(&error) };
        let repo = super::mirror::create(scratch)?;
        repo.set_workdir(folder, false).map_err(failed)?;
        Ok(Self {
            source: Source::in_place(folder, path)?,
            credentials: Credentials::default(),
            dir: scratch.to_owned(),
            repo,
            limits: Limits::default(),
            suspect: Arc::default(),
            renewed: None,
            in_place: true,
            trees: RefCell::default(),
            known: Known::default(),
        })
    }

    /// The work tree of a repository that is read in place; none where it is bare, or a copy.
    pub fn work_tree(&self) -> Option<&Path> {
        self.repo.workdir().filter(|_| self.in_place)
    }

    /// The first parent of a commit; none for the first commit, and where a shallow clone ends.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] and what reading the commit reports.
    pub fn parent(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let parent = self.raw_commit(self.known_commit(commit)?, |commit| commit.parents.first().copied())?;
        let Some(parent) = parent else { return Ok(None) };
        if !self.odb()?.exists(parent) && self.repo.is_shallow() {
            return Ok(None);
        }
        Ok(Some(CommitId(parent.to_string())))
    }

    /// Lists the manifest files that are staged, by the rules that hold for a commit.
    ///
    /// # Errors
    /// [`GitError::Index`] where the index cannot be read or holds conflicts; what [`Mirror::files`] reports.
    pub fn staged_files(&self) -> Result<Listing, GitError> {
        let failed = |cause| GitError::Index { path: self.dir.clone(), cause };
        // A commit of some paths only has an index of its own, which Git names to the hook.
        let index = match env::var_os("GIT_INDEX_FILE").filter(|file| !file.is_empty()) {
            Some(file) => Index::open(Path::new(&file)),
            None => self.repo.index(),
        };
        let mut index = index.map_err(|error| failed(Cause::from(&error)))?;
        if let Some(cause) = conflicts(&index) {
            return Err(failed(cause));
        }
        // The trees are made in memory: an index has none, and the repository is not to be written to.
        let odb = self.odb()?;
        let _kept_by_the_database = odb.add_new_mempack_backend(1000).map_err(|error| failed(Cause::from(&error)))?;
        let tree = index.write_tree_to(&self.repo).map_err(|error| failed(Cause::from(&error)))?;
        self.files_of(&CommitId(STAGED.to_owned()), tree)
    }

    /// Adds the folders in which Git keeps what a push brought until the hooks have let it in.
    pub(crate) fn add_objects_of_a_push(&self) -> Result<(), GitError> {
        let folders = ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"].into_iter().filter_map(env::var_os);
        let odb = self.odb()?;
        for folder in folders.flat_map(|list| env::split_paths(&list).collect::<Vec<_>>()) {
            let Some(text) = folder.to_str().filter(|_| folder.is_dir()) else { continue };
            odb.add_disk_alternate(text).map_err(|error| self.mirror_error(&error))?;
        }
        Ok(())
    }
}

/// What the index is called where a commit would be named.
const STAGED: &str = "index";

/// The paths that wait for a merge to be resolved; none where there are none.
fn conflicts(index: &Index) -> Option<Cause> {
    let mut paths: Vec<String> = Vec::new();
    for conflict in index.conflicts().ok()?.flatten() {
        let entry = conflict.our.or(conflict.their).or(conflict.ancestor)?;
        paths.push(super::files::shown(&entry.path));
    }
    if paths.is_empty() {
        return None;
    }
    let more = if paths.len() > MOST_CONFLICTS { ", .." } else { "" };
    paths.truncate(MOST_CONFLICTS);
    Some(Cause::new(&format!("not merged yet: {}{more}", paths.join(", "))))
}

fn not_opened(folder: &Path, error: &git2::Error) -> GitError {
    let (url, cause) = (folder.to_string_lossy().into_owned(), Cause::from(error));
    match (error.code(), error.class()) {
        (ErrorCode::Owner, _) => GitError::NotOwner { url, cause },
        (_, ErrorClass::Repository) if error.code() != ErrorCode::NotFound => GitError::Unsupported { url, cause },
        _ => GitError::NotARepository { url, cause },
    }
}
