//! Forward in Git only: what was written of a commit is never followed by what an earlier one says.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::model::CommitId;

/// How long a remote has to name another line before it counts.
const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// Git as it is.
#[derive(Debug, Default)]
pub(super) struct Git {
    /// Every commit, and the one before it.
    parents: BTreeMap<CommitId, Option<CommitId>>,
    /// Commits by what their manifests carry.
    stamps: BTreeMap<String, CommitId>,
    /// What each remote names, and since when.
    remotes: BTreeMap<String, (Option<CommitId>, Timestamp)>,
}

impl Git {
    pub(super) fn commit(&mut self, id: CommitId, parent: Option<CommitId>, stamp: String) {
        if !stamp.is_empty() {
            self.stamps.insert(stamp, id.clone());
        }
        self.parents.insert(id, parent);
    }

    pub(super) fn branch(&mut self, remote: String, tip: Option<CommitId>, now: Timestamp) {
        let same = self.remotes.get(&remote).is_some_and(|(known, _)| *known == tip);
        if !same {
            self.remotes.insert(remote, (tip, now));
        }
    }

    pub(super) fn stamped(&self, stamp: &str) -> Option<&CommitId> {
        self.stamps.get(stamp)
    }

    /// Whether a commit is another one or comes before it.
    fn leads_to(&self, commit: &CommitId, later: &CommitId) -> bool {
        let mut at = Some(later);
        while let Some(id) = at {
            if id == commit {
                return true;
            }
            at = self.parents.get(id).and_then(Option::as_ref);
        }
        false
    }

    /// Whether what a commit says may follow what another one says: forward, or because a remote was rewritten and has
    /// stayed so.
    pub(super) fn may_follow(&self, old: &CommitId, new: &CommitId, now: Timestamp) -> bool {
        // What nobody told of was there before: adopted, or of another world.
        if !self.parents.contains_key(old) || !self.parents.contains_key(new) || self.leads_to(old, new) {
            return true;
        }
        let rewritten = |(tip, since): &(Option<CommitId>, Timestamp)| {
            now.duration_since(*since) >= GRACE
                && tip.as_ref().is_some_and(|tip| self.leads_to(new, tip) && !self.leads_to(old, tip))
        };
        self.remotes.values().any(rewritten)
    }
}
