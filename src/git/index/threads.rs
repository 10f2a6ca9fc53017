//! Spreads reading over threads, each with a way of its own into the mirror.

use std::thread;

use crate::git::error::{Cause, GitError};
use crate::git::mirror::Mirror;

/// Most threads: reading is bound by memory beyond.
const MAX_THREADS: usize = 4;

/// Does the same with each item, in the order given; fewer than `worth` a thread are done by this one alone.
pub(super) fn spread<T: Sync, R: Send>(
    mirror: &Mirror,
    items: &[T],
    worth: usize,
    work: impl Fn(&Mirror, &T) -> Result<R, GitError> + Sync,
) -> Result<Vec<R>, GitError> {
    // What a push brings, and the files of a work tree, are only seen through the one way in that was opened for them.
    let worth = if mirror.in_place { usize::MAX } else { worth };
    let threads =
        thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(items.len() / worth.max(1));
    if threads < 2 {
        return items.iter().map(|item| work(mirror, item)).collect();
    }
    let mut chunks = items.chunks(items.len().div_ceil(threads));
    let own = chunks.next().unwrap_or_default();
    let work = &work;
    thread::scope(|scope| {
        let mut helpers = Vec::new();
        for chunk in chunks {
            let mirror = mirror.another()?;
            helpers
                .push(scope.spawn(move || chunk.iter().map(|item| work(&mirror, item)).collect::<Result<Vec<_>, _>>()));
        }
        let mut done: Vec<R> = own.iter().map(|item| work(mirror, item)).collect::<Result<_, _>>()?;
        for helper in helpers {
            let broke_off = |_| GitError::Worker { cause: Cause::new("a thread that reads the history broke off") };
            done.extend(helper.join().map_err(broke_off)??);
        }
        Ok(done)
    })
}
