//! How one commit stands to another.

use super::mirror::Mirror;
use crate::model::{CommitId, Lineage};

impl Mirror {
    /// How a commit stands to an earlier one that somebody else names; any way of not knowing is [`Lineage::Unknown`].
    pub fn lineage(&self, commit: &CommitId, earlier: &CommitId) -> Lineage {
        if commit == earlier {
            return Lineage::Onward;
        }
        let (Ok(commit), Ok(earlier)) = (self.known_commit(commit), self.known_commit(earlier)) else {
            return Lineage::Unknown;
        };
        let descends = |child, ancestor| self.repo.graph_descendant_of(child, ancestor);
        match (descends(commit, earlier), descends(earlier, commit)) {
            (Ok(true), _) => Lineage::Onward,
            (Ok(false), Ok(true)) => Lineage::Behind,
            (Ok(false), Ok(false)) => Lineage::Aside,
            (Err(_), _) | (_, Err(_)) => Lineage::Unknown,
        }
    }
}
