//! How the view of Git that a decision is made on stands to what a set's record names: whose it is, and how new.

use serde::{Deserialize, Serialize};

use super::record::Record;
use super::workload::CommitId;

/// A place that rollouts come from, as records name it: a branch of a repository, and a folder in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The digest of the repository's address without credentials and scheme, and of the folder in it.
    pub id: String,
    /// The digest of the branch's name.
    pub branch: String,
    /// Whether the branch is the one that the remote's `HEAD` names, whichever that is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head: bool,
    /// The same for people, without credentials; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl Origin {
    /// The most bytes of a name: the record is bounded.
    pub const MAX_NAME_BYTES: usize = 96;

    /// Whether the two are one place. A remote whose `HEAD` names another branch now is the same one to those who
    /// follow `HEAD`.
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && (self.branch == other.branch || (self.head && other.head))
    }

    /// What people are shown.
    pub fn shown(&self) -> &str {
        if self.name.is_empty() { "another repository" } else { &self.name }
    }
}

/// How a commit stands to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Lineage {
    /// It is the same, or a descendant.
    #[default]
    Onward,
    /// It is an ancestor.
    Behind,
    /// The earlier one is not known.
    Unknown,
    /// Neither descends from the other.
    Aside,
}

/// The view of Git that a decision is made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Whose view it is; none of a command, which only reads: its repository may have another address.
    pub origin: Option<Origin>,
    /// The commit that it is a view of; empty where Git could not be read at all yet.
    pub tip: CommitId,
    /// How that stands to the commit that the record names.
    pub lineage: Lineage,
    /// Whether the source has said the same for so long that it counts, wherever it stands.
    pub settled: bool,
    /// Whether the source has confirmed the view to this process: a copy on disk may be of last week.
    pub confirmed: bool,
    /// Why the source cannot be read; empty where it can.
    pub trouble: String,
}

impl Default for Sight {
    /// Of somebody who only reads: nobody's, and new enough.
    fn default() -> Self {
        Self {
            origin: None,
            tip: CommitId::default(),
            lineage: Lineage::Onward,
            settled: false,
            confirmed: true,
            trouble: String::new(),
        }
    }
}

impl Sight {
    /// Nothing was read yet.
    pub fn none(trouble: impl Into<String>) -> Self {
        Self { lineage: Lineage::Unknown, confirmed: false, trouble: trouble.into(), ..Self::default() }
    }

    /// Whether it may be older than what the record names.
    pub fn is_behind(&self) -> bool {
        self.lineage != Lineage::Onward && !self.settled
    }

    /// Whether the source has gone another way than what the record names, and means it.
    pub fn is_rewritten(&self) -> bool {
        self.lineage != Lineage::Onward && self.settled
    }

    /// Where the record comes from, if that is another place than the view's.
    pub fn elsewhere<'a>(&'a self, record: &'a Record) -> Option<(&'a Origin, &'a Origin)> {
        let (ours, theirs) = (self.origin.as_ref()?, record.src.as_ref()?);
        (!ours.is_same(theirs)).then_some((ours, theirs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(branch: &str, head: bool) -> Origin {
        Origin { id: "a".into(), branch: branch.into(), head, name: String::new() }
    }

    #[test]
    fn a_default_branch_that_is_renamed_is_the_same_place_to_those_who_follow_it() {
        let cases = [
            (origin("main", true), origin("trunk", true), true),
            (origin("main", true), origin("main", false), true),
            (origin("main", false), origin("main", true), true),
            (origin("main", true), origin("prod", false), false),
            (origin("prod", false), origin("main", true), false),
            (origin("prod", false), origin("main", false), false),
            (origin("main", true), Origin { id: "b".into(), ..origin("main", true) }, false),
        ];
        for (ours, theirs, same) in cases {
            assert_eq!((ours.is_same(&theirs), theirs.is_same(&ours)), (same, same), "{ours:?} {theirs:?}");
        }
    }
}
