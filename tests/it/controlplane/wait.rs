//! Waiting for a cluster that gets there in its own time.

use std::time::{Duration, Instant};

/// Calls `probe` every 50 ms until it answers `Ok`; after `timeout` panics with its last answer.
#[track_caller]
pub(crate) fn eventually<T>(timeout: Duration, probe: impl FnMut() -> Result<T, String>) -> T {
    match try_eventually(timeout, probe) {
        Ok(value) => value,
        Err(last) => panic!("not within {timeout:?}: {last}"),
    }
}

/// Like [`eventually`], but hands back the last answer instead of panicking.
pub(crate) fn try_eventually<T>(timeout: Duration, mut probe: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let end = Instant::now() + timeout;
    loop {
        match probe() {
            Ok(value) => return Ok(value),
            Err(last) if Instant::now() >= end => return Err(last),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
