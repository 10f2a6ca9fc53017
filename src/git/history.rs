//! What can be asked of the history, and the answer: the entries of workloads, all of them or only as far as needed.

use std::collections::BTreeMap;

use crate::model::{CommitId, WorkloadId};
use crate::revision::history::{BlobId, Found};

/// Most commits that one walk looks at: years of a busy repository, and some seconds of time.
pub const MAX_COMMITS: usize = 100_000;

/// How far a walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal<'a> {
    /// To the root: every entry of every workload.
    Everything,
    /// To the root, but only for this workload: what cannot concern it is not read.
    Of(&'a WorkloadId),
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
    /// Where one workload was asked for: the files that named it, by the commits that may have changed it. The paths are keys
    /// of the walk, not for people.
    pub files: BTreeMap<CommitId, Vec<(String, BlobId)>>,
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
