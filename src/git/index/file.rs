//! A file that is complete or counts as none: a digest at its end, put in its place in one step.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::git::error::GitError;
use crate::git::lock::Lock;
use crate::git::mirror::beside;

/// Largest file that is read or written, in bytes: more than the largest history that is kept needs.
const MAX_BYTES: u64 = 256 << 20;
/// How long another process that is writing the same is waited for.
const WAIT: Duration = Duration::from_millis(200);
/// Length of the digest.
const DIGEST: usize = 32;

/// The content of a file; none where there is none, or it is damaged.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let body = bytes.len().checked_sub(DIGEST)?;
    let digest = Sha256::digest(bytes.get(..body)?);
    if bytes.get(body..)? != &digest[..] {
        return None;
    }
    bytes.truncate(body);
    Some(bytes)
}

/// Puts a content in a file's place, unless another process is doing so.
pub(super) fn write(path: &Path, body: &[u8]) -> Result<(), GitError> {
    if body.len() as u64 + DIGEST as u64 > MAX_BYTES {
        return Ok(());
    }
    let _lock = match Lock::take(&beside(path, "lock"), WAIT) {
        Err(GitError::Locked { .. }) => return Ok(()),
        // The mirror is being replaced by a new copy.
        Err(GitError::State { cause, .. }) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        lock => lock?,
    };
    let fresh = beside(path, "new");
    let failed = |cause| GitError::State { path: path.to_owned(), cause };
    let mut bytes = body.to_vec();
    bytes.extend_from_slice(&Sha256::digest(body));
    fs::write(&fresh, bytes).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)
}
