//! The mirror's folder on disk: private, swept of what killed processes left behind, and looked after while it is read.
//!
//! It is a copy and may be removed, changed or cut short at any time by anybody. libgit2 maps packs into memory, and a map
//! of a file that became shorter kills the process; so their sizes are looked at before they are read.

use std::cell::Cell;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::GitError;
use super::mirror::{beside, remove};

/// How long a look at the packs' sizes is good for. A look costs some microseconds a pack, so it is not made at every object.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Rights of others, and what a folder shared by all users carries.
const OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;
/// Deepest folder of references that is swept: branch names have slashes.
const REFERENCES_DEPTH: usize = 16;

/// Makes a folder that only its owner reads, or narrows one that is there.
///
/// What belongs to somebody else, or is shared by all (`/tmp`), stays as it is: each mirror in it is private by itself.
///
/// # Errors
/// [`GitError::State`] where it cannot be made, or is no folder.
pub(crate) fn make_private(dir: &Path) -> Result<(), GitError> {
    let failed = |cause| GitError::State { path: dir.to_owned(), cause };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
    let data = fs::metadata(dir).map_err(failed)?;
    if data.mode() & OTHERS == 0 || data.mode() & STICKY != 0 {
        return Ok(());
    }
    match fs::set_permissions(dir, Permissions::from_mode(data.mode() & !OTHERS & 0o7777)) {
        // A volume that a cluster mounts belongs to root.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result.map_err(failed),
    }
}

/// Removes what a process that was killed leaves in a mirror: half a pack, a lock of a reference, half a copy beside it.
///
/// Only whoever holds the mirror's lock, and has no download of its own left behind, may call it. What cannot be removed
/// stays: it only takes room.
pub(crate) fn sweep(dir: &Path) {
    for folder in [dir.join("objects/pack"), dir.join("objects")] {
        for path in entries(&folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if ["pack_git2_", "tmp_object_git2_", "tmp_"].iter().any(|prefix| name.starts_with(prefix)) {
                let _ = fs::remove_file(&path);
            }
        }
    }
    sweep_locks(&dir.join("refs"), REFERENCES_DEPTH);
    for path in entries(dir) {
        if path.extension().is_some_and(|extension| extension == "lock") && path.is_file() && !is_ours(&path) {
            let _ = fs::remove_file(&path);
        }
    }
    let _ = remove(&beside(dir, "new"));
}

/// The locks of the files that are kept beside the objects end with their process; they are no leftovers.
fn is_ours(lock: &Path) -> bool {
    lock.file_name().is_some_and(|name| name.to_string_lossy().starts_with("phaseline-"))
}

fn sweep_locks(dir: &Path, depth: usize) {
    for path in entries(dir) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        if is_folder && depth > 0 {
            sweep_locks(&path, depth - 1);
        } else if !is_folder && path.extension().is_some_and(|extension| extension == "lock") {
            let _ = fs::remove_file(&path);
        }
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// The bytes that the packs of a mirror take.
pub(crate) fn pack_bytes(dir: &Path) -> u64 {
    packs(dir).iter().map(|(_, data)| data.len()).fold(0, u64::saturating_add)
}

/// The packs and their indexes.
fn packs(dir: &Path) -> Vec<(PathBuf, Metadata)> {
    let wanted = |path: &Path| path.extension().is_some_and(|extension| extension == "pack" || extension == "idx");
    let found = entries(&dir.join("objects/pack")).into_iter().filter(|path| wanted(path));
    found.filter_map(|path| fs::metadata(&path).ok().map(|data| (path, data))).collect()
}

/// A mirror's folder as it was when it was opened, or fetched into last.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The folder of the objects; none where it is not there.
    objects: Option<(u64, u64)>,
    packs: Vec<(PathBuf, u64, u64)>,
    looked: Cell<Option<Instant>>,
}

impl Known {
    /// As it is now.
    pub(crate) fn of(dir: &Path) -> Self {
        let packs = packs(dir).into_iter().map(|(path, data)| (path, data.ino(), data.len())).collect();
        Self { objects: objects(dir), packs, looked: Cell::new(Some(Instant::now())) }
    }

    /// Whether the folder is still the one that was opened: not removed, and not replaced by another process.
    pub(crate) fn stands(&self, dir: &Path) -> bool {
        let is_repository = dir.join("refs").is_dir() && dir.join("HEAD").is_file();
        is_repository
            && self.objects.is_some()
            && self.objects == objects(dir)
            && (self.packs.is_empty() || !packs(dir).is_empty())
    }

    /// A pack whose size has changed since; none where there is none, or it was looked at a moment ago.
    ///
    /// One that is gone, or was replaced, is still there for whoever has it open.
    pub(crate) fn cut_short(&self) -> Option<&Path> {
        let now = Instant::now();
        if self.looked.get().is_some_and(|looked| now.duration_since(looked) < LOOK_EVERY) {
            return None;
        }
        self.looked.set(Some(now));
        let changed = |(path, inode, size): &&(PathBuf, u64, u64)| {
            fs::metadata(path).is_ok_and(|data| data.ino() == *inode && data.len() != *size)
        };
        let found = self.packs.iter().find(changed);
        if found.is_some() {
            // The next one who asks is told as well.
            self.looked.set(None);
        }
        found.map(|(path, ..)| path.as_path())
    }
}

fn objects(dir: &Path) -> Option<(u64, u64)> {
    fs::metadata(dir.join("objects")).ok().filter(Metadata::is_dir).map(|data| (data.dev(), data.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_folder_of_ours_is_narrowed_and_a_shared_one_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, shared) = (folder.path().join("ours"), folder.path().join("shared"));
        for (path, before) in [(&ours, 0o755), (&shared, 0o1777)] {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, Permissions::from_mode(before)).unwrap();
            make_private(path).unwrap();
        }
        assert_eq!((mode(&ours), mode(&shared)), (0o700, 0o1777));
        let deep = folder.path().join("a/b");
        make_private(&deep).unwrap();
        assert_eq!(mode(&deep), 0o700);
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(matches!(make_private(&folder.path().join("file")), Err(GitError::State { .. })));
    }

    #[test]
    fn leftovers_go_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("mirror");
        let all = [
            "objects/pack/pack_git2_Ab1",
            "objects/pack/pack-1.pack",
            "refs/phaseline/a/main.lock",
            "refs/phaseline/a/main",
            "HEAD.lock",
            "HEAD",
            "phaseline-history.lock",
        ];
        for file in all {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        sweep(&dir);
        let left: Vec<_> = all.into_iter().filter(|file| dir.join(file).exists()).collect();
        assert_eq!(left, ["objects/pack/pack-1.pack", "refs/phaseline/a/main", "HEAD", "phaseline-history.lock"]);
    }

    #[test]
    fn a_pack_that_was_cut_is_noticed_and_one_that_was_replaced_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let pack = folder.path().join("objects/pack/pack-1.pack");
        fs::create_dir_all(pack.parent().unwrap()).unwrap();
        fs::write(&pack, "12345").unwrap();
        fs::create_dir(folder.path().join("refs")).unwrap();
        fs::write(folder.path().join("HEAD"), "").unwrap();
        let known = Known::of(folder.path());
        assert!(known.stands(folder.path()));
        known.looked.set(None);
        assert_eq!(known.cut_short(), None);
        assert_eq!(known.cut_short(), None, "a look is good for a while");
        File::options().write(true).open(&pack).unwrap().set_len(2).unwrap();
        known.looked.set(None);
        assert_eq!(known.cut_short(), Some(pack.as_path()));
        assert_eq!(known.cut_short(), Some(pack.as_path()), "and told every time");
        fs::remove_file(&pack).unwrap();
        assert_eq!(known.cut_short(), None);
        fs::remove_dir_all(folder.path().join("objects")).unwrap();
        assert!(!known.stands(folder.path()));
    }

    use std::fs::File;
}
