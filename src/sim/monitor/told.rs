//! What whoever plays a world tells the monitors: Git's side, and what a daemon says.

use jiff::SignedDuration;
use serde_json::Value;

use crate::model::{CommitId, Phase, Reason};

/// A piece of news that no request shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// There is a commit.
    Commit {
        /// Its id.
        id: CommitId,
        /// The one before it; none for the first of a line.
        parent: Option<CommitId>,
        /// What its manifests carry in the annotation [`STAMP`]; empty where they carry none.
        stamp: String,
    },
    /// A remote repository's branch names a commit from now on.
    Branch {
        /// Which remote.
        remote: String,
        /// The commit; none while nobody can ask.
        tip: Option<CommitId>,
    },
    /// What the branch that a daemon can see says of a set from now on.
    Wants {
        /// Which daemon.
        by: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The set as the manifest states it; none where there is no manifest, or none that can be used.
        manifest: Option<Value>,
    },
    /// A daemon says how a set is.
    Said {
        /// Which daemon: as the door knows it.
        by: String,
        /// The set's namespace.
        namespace: String,
        /// The set's name.
        name: String,
        /// How it is.
        phase: Phase,
        /// Why.
        reason: Reason,
    },
    /// A daemon is dead: what it said is no longer said.
    Dead {
        /// Which.
        by: String,
    },
    /// So late may a daemon be told what happened.
    Lag(SignedDuration),
}

/// The annotation by which a manifest says which commit it is of, where it does.
pub const STAMP: &str = "example.org/commit";
