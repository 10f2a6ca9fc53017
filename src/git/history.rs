//! Walks the mirror's history for the entries of workloads: all of them, or only as far as needed.

use std::sync::Arc;

use super::error::GitError;
use super::mirror::Mirror;
use crate::model::{CommitId, WorkloadId};
use crate::revision::history::{BlobId, Found, Reading, Walk};

/// Most commits that one walk looks at: years of a busy repository, and some seconds of time.
pub const MAX_COMMITS: usize = 100_000;

/// How far a walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal<'a> {
    /// To the root: every entry of every workload.
    Everything,
    /// Until each of these workloads has its newest entry.
    Latest(&'a [WorkloadId]),
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histories {
    /// Where it began.
    pub tip: CommitId,
    /// Its entries, newest first, and what is in force at the tip.
    pub found: Found,
    /// How many commits were looked at.
    pub walked: usize,
    /// How it ended.
    pub end: End,
}

impl Histories {
    /// Adds what an earlier walk found, where this one stopped at that one's tip; otherwise this one needs nothing added.
    #[must_use]
    pub fn with_older(mut self, earlier: Self) -> Self {
        if self.end == End::Joined {
            for (workload, older) in earlier.found.entries {
                self.found.entries.entry(workload).or_default().extend(older);
            }
            self.end = earlier.end;
            self.walked += earlier.walked;
        }
        self
    }
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the root: the entries are complete.
    Root,
    /// At the earlier walk's tip: older entries are the earlier walk's.
    Joined,
    /// As soon as each wanted workload had its newest entry.
    Settled,
    /// At the limit, or at a commit that changes too much: what is in force there counts as brought by it.
    CutOff,
}

/// Walks from a tip back along first parents, at most `limit` commits ([`MAX_COMMITS`] where the caller has no wish).
///
/// Where it meets the tip of an `earlier` walk it stops: the entries are those in between, and older ones are the earlier
/// walk's. Where it does not (history was rewritten), it goes on as if there had been none.
///
/// `read` says what a blob holds. It is asked for the same blob again and again, so the caller keeps its answers. A blob that
/// cannot be read ([`Mirror::read`] says too large) is an unreadable [`Reading`], not an error.
///
/// # Errors
/// [`GitError::UnknownRevision`], [`GitError::RepositoryCorrupt`], and whatever `read` reports.
pub fn histories(
    mirror: &Mirror,
    tip: &CommitId,
    goal: Goal<'_>,
    earlier: Option<&Histories>,
    limit: usize,
    mut read: impl FnMut(&BlobId) -> Result<Arc<Reading>, GitError>,
) -> Result<Histories, GitError> {
    let files = mirror.all_files(tip)?.into_iter().filter_map(|change| Some((change.path, change.new?)));
    let mut walk = Walk::from_tip(files, &mut read)?;
    let mut steps = mirror.first_parent(tip)?;
    let mut walked = 0;
    let end = loop {
        match goal {
            Goal::Latest(wanted) if walk.settled(wanted) => break End::Settled,
            Goal::Latest(_) | Goal::Everything => {}
        }
        if earlier.is_some_and(|earlier| steps.upcoming().as_ref() == Some(&earlier.tip)) {
            break End::Joined;
        }
        if walked >= limit && steps.upcoming().is_some() {
            break End::CutOff;
        }
        match steps.next() {
            None => break End::Root,
            Some(Ok(step)) => walk.step(&step, &mut read)?,
            Some(Err(GitError::TooMany { .. } | GitError::ObjectTooLarge { .. })) => break End::CutOff,
            Some(Err(error)) => return Err(error),
        }
        walked += 1;
    };
    let found = match (end, earlier) {
        (End::Joined, Some(earlier)) => walk.join(&earlier.found),
        (End::CutOff, _) => walk.cut_off(),
        (End::Root | End::Settled | End::Joined, _) => walk.finish(),
    };
    Ok(Histories { tip: tip.clone(), found, walked, end })
}
