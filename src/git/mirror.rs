//! A bare mirror of one branch of one source, kept between runs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use git2::{ErrorClass, ErrorCode, ObjectType, Odb, Oid, Repository};
use sha1::{Digest, Sha1};

use super::credentials::Credentials;
use super::error::{Cause, GitError};
use super::fetch::Limits;
use super::files::MAX_BLOB_BYTES;
use super::folder::{self, Known};
use super::lock::Lock;
use super::object::{Commit, Tree};
use super::source::{Source, SourceConfig};
use crate::model::{CommitId, CommitInfo};
use crate::revision::history::BlobId;

/// How long opening waits for another process that is setting the same mirror up or fetching into it.
const OPEN_WAIT: Duration = Duration::from_secs(30);
/// Largest commit or tree object that is read, in bytes: a message of 10 MB, a folder of 200,000 files.
const MAX_OBJECT_BYTES: usize = 16 << 20;
/// Memory for trees that were read, in bytes: the walk reads each tree of a large repository once.
const TREE_CACHE_BYTES: usize = 32 << 20;
/// Names the last good tip's reference. Not `HEAD`: Git wants that to name a branch.
pub(crate) const TIP: &str = "refs/phaseline-tip";

/// A mirror: the last good state of one branch, and all that leads to it.
///
/// `refs/phaseline-tip` names the last good tip (`refs/phaseline/<branch>`). A fetch that fails, a branch that is deleted and
/// a repository that is emptied leave it where it is.
pub struct Mirror {
    pub(crate) source: Source,
    pub(crate) credentials: Credentials,
    pub(crate) dir: PathBuf,
    pub(crate) repo: Repository,
    pub(crate) limits: Limits,
    /// An object turned out to be missing or damaged; the next fetch makes a new copy.
    pub(crate) suspect: Arc<AtomicBool>,
    /// When a new copy was last made or tried.
    pub(crate) renewed: Option<Instant>,
    /// Whether it is no copy: somebody's repository, read where it lies.
    pub(crate) in_place: bool,
    pub(crate) trees: RefCell<TreeCache>,
    /// The folder as it was when it was opened; nothing is known of one that is not ours.
    pub(crate) known: Known,
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror").field("source", &self.source.shown).field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Mirror {
    /// Opens the source's mirror and makes it where there is none; speaks to no network.
    ///
    /// A folder that is no repository any more is moved aside (`.damaged`) and replaced by an empty mirror.
    ///
    /// # Errors
    /// An address, branch or path that is refused ([`GitError::BadUrl`], [`GitError::BadBranch`], [`GitError::BadPath`]), or
    /// a state folder that cannot be used ([`GitError::State`], [`GitError::Locked`], [`GitError::Mirror`]).
    pub fn open(config: &SourceConfig) -> Result<Self, GitError> {
        // libgit2's object cache keeps what is never read again, and not the large trees that are.
        git2::opts::enable_caching(false);
        verify_ourselves();
        let source = Source::parse(config)?;
        folder::make_private(&config.state_dir)?;
        let dir = config.state_dir.join(source.folder());
        let repo = {
            let _lock = Lock::take(&lock_path(&dir), OPEN_WAIT)?;
            match open_repository(&dir) {
                Ok(repo) => {
                    folder::make_private(&dir)?;
                    repo
                }
                Err(_) => {
                    set_aside(&dir)?;
                    create(&dir)?
                }
            }
        };
        let mirror = Self {
            known: Known::of(&dir),
            source,
            credentials: config.credentials.clone(),
            dir,
            repo,
            limits: Limits::default(),
            suspect: Arc::default(),
            renewed: None,
            in_place: false,
            trees: RefCell::default(),
        };
        mirror.last_good();
        Ok(mirror)
    }

    /// A second way into the same mirror, for another thread. Damage that one finds, the other one's next fetch mends.
    pub(crate) fn another(&self) -> Result<Self, GitError> {
        let repo = if self.in_place {
            let flags = git2::RepositoryOpenFlags::NO_SEARCH;
            Repository::open_ext(self.repo.path(), flags, std::iter::empty::<&Path>())
        } else {
            open_repository(&self.dir)
        };
        let another = Self {
            known: if self.in_place { Known::default() } else { Known::of(&self.dir) },
            source: self.source.clone(),
            credentials: self.credentials.clone(),
            dir: self.dir.clone(),
            repo: repo.map_err(|error| self.mirror_error(&error))?,
            limits: self.limits,
            suspect: self.suspect.clone(),
            renewed: self.renewed,
            in_place: self.in_place,
            trees: RefCell::default(),
        };
        if another.in_place {
            another.add_objects_of_a_push()?;
        }
        Ok(another)
    }

    /// The address as it may be shown: without credentials.
    pub fn shown_url(&self) -> &str {
        &self.source.shown
    }

    /// The folder inside the repository, without slashes at its ends; empty is all of it.
    pub fn path(&self) -> String {
        self.source.path.join("/")
    }

    /// The mirror's own folder.
    pub fn folder(&self) -> &Path {
        &self.dir
    }

    /// The repository's folder where the source is a local path: what can be watched for pushes.
    pub fn local_source(&self) -> Option<&Path> {
        match &self.source.transport {
            super::source::Transport::Local(path) => Some(path),
            super::source::Transport::Http | super::source::Transport::Ssh { .. } => None,
        }
    }

    /// Replaces the limits of a fetch.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The tip of the last fetch that succeeded, in this process or an earlier one.
    ///
    /// Of a repository that is read in place, the commit of its `HEAD`.
    pub fn last_good(&self) -> Option<CommitId> {
        if self.in_place {
            let head = self.repo.find_reference("HEAD").and_then(|head| head.peel_to_commit()).ok()?;
            return Some(CommitId(head.id().to_string()));
        }
        let found = self.repo.find_reference(TIP).and_then(|tip| tip.resolve());
        match found {
            Ok(found) => {
                let tip = found.target()?;
                let readable = self.raw_commit(tip, |commit| commit.tree).and_then(|tree| self.tree(tree));
                readable.is_ok().then(|| CommitId(tip.to_string()))
            }
            Err(error) => {
                // A branch file that was cut short; "not found" is a mirror that was never fetched into.
                if error.code() != ErrorCode::NotFound {
                    self.suspect.store(true, Ordering::Relaxed);
                }
                None
            }
        }
    }

    /// One commit as people read it.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] where the mirror does not have it, [`GitError::RepositoryCorrupt`] where it is damaged.
    pub fn commit(&self, id: &CommitId) -> Result<CommitInfo, GitError> {
        let oid = self.known_commit(id)?;
        self.raw_commit(oid, |commit| commit.info(oid))
    }

    /// The content of one file.
    ///
    /// # Errors
    /// [`GitError::ObjectTooLarge`] over 1 MiB, [`GitError::RepositoryCorrupt`] where it is missing or damaged.
    pub fn read(&self, blob: &BlobId) -> Result<Vec<u8>, GitError> {
        let oid = Oid::from_bytes(&blob.0).map_err(|error| self.mirror_error(&error))?;
        self.object(oid, ObjectType::Blob, MAX_BLOB_BYTES)
    }

    /// The commit that a person means by a branch, a tag, `HEAD`, an id or its beginning, with `~2` and `^` behind it.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] and [`GitError::AmbiguousRevision`].
    pub fn resolve(&self, rev: &str) -> Result<CommitId, GitError> {
        super::revision::resolve(self, rev)
    }

    /// A commit's tree at the configured path.
    ///
    /// `None` where the path is not there or is no folder.
    pub(crate) fn root(&self, tree: Oid) -> Result<Option<Oid>, GitError> {
        let mut at = tree;
        for part in &self.source.path {
            let tree = self.tree(at)?;
            match tree.find(part.as_bytes()) {
                Some(entry) if entry.kind == super::object::Kind::Folder => at = entry.id,
                _ => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The object id of a commit that the mirror has.
    pub(crate) fn known_commit(&self, id: &CommitId) -> Result<Oid, GitError> {
        let unknown = || GitError::UnknownRevision { rev: super::error::clean(&id.0, 64) };
        let oid = Some(&id.0).filter(|hex| hex.len() == 40).and_then(|hex| Oid::from_str(hex).ok());
        let oid = oid.ok_or_else(unknown)?;
        if self.odb()?.exists(oid) { Ok(oid) } else { Err(unknown()) }
    }

    /// Reads a commit.
    pub(crate) fn raw_commit<T>(&self, id: Oid, take: impl FnOnce(&Commit<'_>) -> T) -> Result<T, GitError> {
        let bytes = self.object(id, ObjectType::Commit, MAX_OBJECT_BYTES)?;
        match Commit::parse(&bytes) {
            Some(commit) => Ok(take(&commit)),
            None => Err(self.corrupt(id, Cause::new("the commit names no tree"))),
        }
    }

    /// Reads a tree, or finds it among those that were read lately.
    pub(crate) fn tree(&self, id: Oid) -> Result<Arc<Tree>, GitError> {
        if let Some(tree) = self.trees.borrow_mut().get(id) {
            return Ok(tree);
        }
        let tree = Arc::new(Tree::parse(self.object(id, ObjectType::Tree, MAX_OBJECT_BYTES)?));
        self.trees.borrow_mut().put(id, tree.clone());
        Ok(tree)
    }

    /// The size of a blob, in bytes.
    pub(crate) fn blob_size(&self, id: Oid) -> Result<u64, GitError> {
        let (size, kind) = self.odb()?.read_header(id).map_err(|error| self.corrupt(id, Cause::from(&error)))?;
        match kind {
            ObjectType::Blob => Ok(size as u64),
            _ => Err(self.corrupt(id, Cause::new("it is no file"))),
        }
    }

    /// The objects, where nobody has cut a pack short under us.
    pub(crate) fn odb(&self) -> Result<Odb<'_>, GitError> {
        if let Some(pack) = self.known.cut_short() {
            self.suspect.store(true, Ordering::Relaxed);
            let object = pack.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(GitError::RepositoryCorrupt { object, cause: Cause::new("its size has changed") });
        }
        self.repo.odb().map_err(|error| self.mirror_error(&error))
    }

    /// Lets go of the repository that was open, packs and all, and opens what is in its place now.
    pub(crate) fn reopen(&mut self) -> Result<(), GitError> {
        self.repo = open_repository(&self.dir).map_err(|error| self.mirror_error(&error))?;
        self.trees = RefCell::default();
        self.known = Known::of(&self.dir);
        Ok(())
    }

    pub(crate) fn mirror_error(&self, error: &git2::Error) -> GitError {
        GitError::Mirror { path: self.dir.clone(), cause: Cause::from(error) }
    }

    pub(crate) fn corrupt(&self, id: Oid, cause: Cause) -> GitError {
        if self.in_place {
            return GitError::Unreadable { path: self.dir.clone(), object: id.to_string(), cause };
        }
        self.suspect.store(true, Ordering::Relaxed);
        GitError::RepositoryCorrupt { object: id.to_string(), cause }
    }

    fn object(&self, id: Oid, kind: ObjectType, limit: usize) -> Result<Vec<u8>, GitError> {
        let odb = self.odb()?;
        let failed = |error: git2::Error| match error.class() {
            ErrorClass::NoMemory => self.mirror_error(&error),
            _ => self.corrupt(id, Cause::from(&error)),
        };
        // The header first: a few compressed kilobytes can unfold into gigabytes.
        let (size, _) = odb.read_header(id).map_err(failed)?;
        if size > limit {
            return Err(GitError::ObjectTooLarge { object: id.to_string(), size: size as u64, limit: limit as u64 });
        }
        let object = odb.read(id).map_err(failed)?;
        if object.kind() != kind {
            return Err(self.corrupt(id, Cause::new(&format!("it is a {}, no {kind}", object.kind()))));
        }
        if !is_content_of(id, kind, object.data()) {
            return Err(self.corrupt(id, Cause::new("its content is not what its id says")));
        }
        Ok(object.data().to_vec())
    }
}

/// Trees that were read lately, in two generations: what is not asked for while one fills up is dropped.
#[derive(Default)]
pub(crate) struct TreeCache {
    young: HashMap<Oid, Arc<Tree>>,
    old: HashMap<Oid, Arc<Tree>>,
    weight: usize,
}

impl TreeCache {
    fn get(&mut self, id: Oid) -> Option<Arc<Tree>> {
        if let Some(tree) = self.young.get(&id) {
            return Some(tree.clone());
        }
        let tree = self.old.remove(&id)?;
        self.put(id, tree.clone());
        Some(tree)
    }

    fn put(&mut self, id: Oid, tree: Arc<Tree>) {
        self.weight += tree.weight() + size_of::<(Oid, Arc<Tree>)>();
        self.young.insert(id, tree);
        if self.weight > TREE_CACHE_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
    }
}

/// Leaves the check of ids to [`is_content_of`]: libgit2's own looks for forged SHA-1 each time, which takes a third of all
/// reading. What comes in is still checked by it, once, when it is fetched.
pub(crate) fn verify_ourselves() {
    git2::opts::strict_hash_verification(false);
}

/// Whether an object is the one that its id names.
fn is_content_of(id: Oid, kind: ObjectType, content: &[u8]) -> bool {
    let header = format!("{kind} {}\0", content.len());
    let digest = Sha1::new().chain_update(header).chain_update(content).finalize();
    id.as_bytes() == &digest[..]
}

pub(crate) fn lock_path(dir: &Path) -> PathBuf {
    beside(dir, "lock")
}

/// A neighbour of the mirror's folder.
pub(crate) fn beside(dir: &Path, extension: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// An empty bare repository, with the settings that a mirror needs.
pub(crate) fn create(dir: &Path) -> Result<Repository, GitError> {
    let failed = |error: git2::Error| GitError::Mirror { path: dir.to_owned(), cause: Cause::from(&error) };
    folder::make_private(dir)?;
    let mut options = git2::RepositoryInitOptions::new();
    options.bare(true).mkpath(true).external_template(false);
    let repo = Repository::init_opts(dir, &options).map_err(failed)?;
    let mut config = repo.config().and_then(|config| config.open_level(git2::ConfigLevel::Local)).map_err(failed)?;
    // A redirect to another host is refused: libgit2 would take the credentials there.
    config.set_str("http.followRedirects", "false").map_err(failed)?;
    Repository::open_bare(dir).map_err(failed)
}

fn open_repository(dir: &Path) -> Result<Repository, git2::Error> {
    let repo = Repository::open_bare(dir)?;
    let config = repo.config()?;
    // A mirror whose settings were lost must not follow redirects either.
    if config.open_level(git2::ConfigLevel::Local)?.get_string("http.followRedirects")? != "false" {
        return Err(git2::Error::from_str("the mirror's settings are damaged"));
    }
    Ok(repo)
}

/// Moves a damaged folder out of the way; of several, the last is kept.
fn set_aside(dir: &Path) -> Result<(), GitError> {
    let aside = beside(dir, "damaged");
    let failed = |cause| GitError::State { path: dir.to_owned(), cause };
    match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => {
            remove(&aside)?;
            fs::rename(dir, &aside).map_err(failed)
        }
    }
}

/// Removes a folder that may not be there.
pub(crate) fn remove(dir: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            fs::remove_file(dir).map_err(|cause| GitError::State { path: dir.to_owned(), cause })
        }
        result => result.map_err(|cause| GitError::State { path: dir.to_owned(), cause }),
    }
}
