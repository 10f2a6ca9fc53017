//! A folder that is there as long as its handle.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// How often another name is tried.
const TRIES: usize = 20;

/// A folder of our own among the temporary files, which only its owner reads.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Makes one.
    ///
    /// # Errors
    /// Where the folder of temporary files cannot be written to.
    pub(crate) fn new() -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            // Not from the simulation's chance: two runs of one seed are not to meet.
            let mut chance = fastrand::Rng::new();
            let folder = std::env::temp_dir().join(format!("phaseline-{:012x}", chance.u64(..) >> 16));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder.canonicalize()?)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes it now, and says whether that went well.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.0)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nobody is left to be told; `remove` says so.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_its_handle() {
        let (one, other) = (Temporary::new().unwrap(), Temporary::new().unwrap());
        assert_ne!(one.path(), other.path());
        fs::write(one.path().join("file"), "text").unwrap();
        let (path, second) = (one.path().to_owned(), other.path().to_owned());
        drop(one);
        other.remove().unwrap();
        assert!(!path.exists() && !second.exists());
    }
}
