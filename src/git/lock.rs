//! Lets one process at a time write into a mirror: a lock that ends with its process, whatever happens to it.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::GitError;

/// How often a lock that is held is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// A held lock; it is given back when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, waiting at most so long.
    pub(crate) fn take(path: &Path, wait: Duration) -> Result<Self, GitError> {
        let failed = |cause| GitError::State { path: path.to_owned(), cause };
        if path.is_dir() {
            // It is our place, and what lies there is in the way of every fetch.
            fs::remove_dir_all(path).map_err(failed)?;
        }
        let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path).map_err(failed)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if started.elapsed() < wait => sleep(RETRY),
                Err(TryLockError::WouldBlock) => {
                    return Err(GitError::Locked { path: path.to_owned(), seconds: wait.as_secs() });
                }
                Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            }
        }
    }
}
