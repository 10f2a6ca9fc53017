//! The rollout record: the one annotation in which a rollout's state lives.
//!
//! `phaseline.dev/rollout` holds it as JSON of at most 2 KiB (Kubernetes copies a set's annotations into every
//! ControllerRevision). What can be derived from the set and its pods is not in it.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::sight::Origin;
use super::workload::{CommitId, Partition, TemplateHash};

/// A revision as the record names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The commit that brought it; empty for what was there before adoption.
    pub commit: CommitId,
    /// The template's digest.
    pub hash: TemplateHash,
    /// The `kubectl.kubernetes.io/restartedAt` that travels with it, where somebody asked for a restart: bounded, a value
    /// of any length is cut down to its digest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub restart: String,
}

impl Seen {
    /// Whether the two make the same pods.
    pub fn same_pods(&self, other: &Self) -> bool {
        self.hash == other.hash && self.restart == other.restart
    }
}

/// A target that failed and is not tried again until somebody decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// The commit.
    pub commit: CommitId,
    /// The template's digest.
    pub hash: TemplateHash,
    /// Why, in one word: a [`crate::model::Reason`].
    pub reason: String,
    /// The pod to blame, and its trouble, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub culprit: String,
}

/// A person's hold on the rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Who paused it.
    pub by: String,
}

/// How a rollout goes through its stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Through the stages of the plan.
    #[default]
    Staged,
    /// To the end without pauses and soaks, because a person said so (`promote --full`).
    Full,
    /// To the end without pauses and soaks: a proven revision inside the rollback window.
    Fast,
    /// Back to stable: nothing more is exposed.
    Back,
    /// A first install: there is no stable revision yet.
    Install,
}

/// The state of one workload's rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The record's version. A greater one than ours is not read any further.
    pub v: u32,
    /// Rises with every write of ours.
    pub epoch: u64,
    /// The rollout's id: `<hash>-<epoch of its start>`.
    pub rollout: String,
    /// What is being rolled out, or was last.
    pub target: Seen,
    /// Where the target comes from; none in the record of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Origin>,
    /// The tip of Git as of which something of Git was last written here, see [`Record::mark`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub mark: CommitId,
    /// What last completed; none before the first completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable: Option<Seen>,
    /// The name under which the controller keeps stable: what pods below the partition come back at. Another current
    /// revision than this in the middle of a rollout means that the controller has promoted something else. Empty
    /// before the first completion.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub back: String,
    /// How the rollout goes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// The plan in force, frozen at the start.
    pub plan: Plan,
    /// The digest of the plan as it was read, to notice that a newer one waits.
    pub digest: String,
    /// The stage it stands at, an index into the plan's stages, from 0. None: exposed pods were kept from an earlier
    /// rollout and are fewer than the first stage's. At rest it is the last stage reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
    /// Pods exposed where that is not what the stage says (kept from an earlier rollout).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed: Option<u32>,
    /// Whether the rollout is over: parked, or (after a scale to zero) never started.
    #[serde(default, skip_serializing_if = "is_default")]
    pub done: bool,
    /// The partition of our last write.
    pub partition: Partition,
    /// `spec.replicas` at our last write of the partition: how many pods it exposes is told from both, whoever scales
    /// later. Records of older versions do not have it.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// `metadata.generation` after our last write of the spec.
    pub generation: i64,
    /// The digest of the live template after our last write of it, as the server returned it (a mutating admission
    /// may have changed it).
    pub live: TemplateHash,
    /// The digest of the rest of the manifest as last applied.
    pub rest: String,
    /// When the rollout began, in the same clock: what was broken before is not held against it.
    pub began: i64,
    /// When the stage was written: seconds since 1970-01-01 UTC by the API server's clock. The deadline counts from here
    /// until a pod moves.
    pub at: i64,
    /// Whether the current stage's pause was ended by a person.
    #[serde(default, skip_serializing_if = "is_default")]
    pub promoted: bool,
    /// Which definition of a template's digest its digests are of; left out where it is the first.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub hashes: u32,
    /// The `kubectl.kubernetes.io/restartedAt` that the manifest stated when its template was last applied; empty where it
    /// stated none. A later one on the live template is a wish, until the manifest states another.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stated: String,
    /// Whether the live template is one of somebody else's that a person took as it is.
    #[serde(rename = "acc", default, skip_serializing_if = "is_default")]
    pub accepted: bool,
    /// What was stable before a scale to zero made the target current for good: what `resume --overwrite` goes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Seen>,
    /// A person's hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Targets that failed, newest last, at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
    /// Digests that completed, newest last, at most ten and never more than the rollback window (but one).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven: Vec<TemplateHash>,
    /// The last request that was dealt with, and what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req: Option<Answer>,
}

/// What came of a person's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The request's id.
    pub id: String,
    /// Why it was refused; empty when it was carried out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refused: String,
}

impl Record {
    /// The annotation it lives in.
    pub const ANNOTATION: &'static str = "phaseline.dev/rollout";
    /// The version written by this program.
    pub const VERSION: u32 = 1;
    /// The most bytes the annotation may have.
    pub const MAX_BYTES: usize = 2048;
    /// How many failed targets are remembered.
    pub const MAX_FAILED: usize = 5;
    /// How many proven revisions are remembered, whatever the plan says.
    pub const MAX_PROVEN: usize = 10;

    /// The high-water mark: a view of Git that does not contain this commit is older than the record. Empty where
    /// nothing is known.
    ///
    /// The target alone would not do: a commit that only scales or relabels is written while the target stays.
    pub fn mark(&self) -> &CommitId {
        if self.mark.0.is_empty() { &self.target.commit } else { &self.mark }
    }

    /// The annotation's value. What can best be spared is left out where it would become too long.
    pub fn encode(&self) -> String {
        // Serialising plain data with string keys into a string has no way to fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        if text.len() > Self::MAX_BYTES {
            let mut record = self.clone();
            while text.len() > Self::MAX_BYTES && record.shed() {
                text = serde_json::to_string(&record).unwrap_or_default();
            }
        }
        text
    }

    /// The revision that has to be known of Git beside the tip: what an overwrite of this record would put back.
    pub fn in_force(&self) -> &Seen {
        self.was.as_ref().unwrap_or(&self.target)
    }

    /// Leaves out what can best be spared: old failures, old proven revisions, then words. Never the failure in
    /// force, without which a halted rollout would go on. False when nothing is left to spare.
    fn shed(&mut self) -> bool {
        /// A name that is still a name.
        const SHORT: usize = 12;
        let old = |failed: &Failed| failed.commit != self.target.commit || failed.hash != self.target.hash;
        if let Some(at) = self.failed.iter().position(old) {
            self.failed.remove(at);
        } else if self.proven.len() > 3 {
            self.proven.remove(0);
        } else if let Some(answer) = self.req.as_mut().filter(|answer| answer.refused.len() > SHORT) {
            "refused".clone_into(&mut answer.refused);
        } else if let Some(origin) = self.src.as_mut().filter(|origin| !origin.name.is_empty()) {
            origin.name.clear();
        } else if let Some(failed) = self.failed.iter_mut().find(|failed| !failed.culprit.is_empty()) {
            failed.culprit.clear();
        } else if let Some(hold) = self.hold.as_mut().filter(|hold| hold.by.chars().count() > SHORT) {
            hold.by = hold.by.chars().take(SHORT).collect();
        } else if self.proven.len() > 1 {
            self.proven.remove(0);
        } else if self.was.is_some() {
            self.was = None;
        } else {
            return false;
        }
        true
    }

    /// Reads the annotation's value.
    ///
    /// # Errors
    /// In words for people: no JSON, a field that this version does not know, or a version above ours.
    pub fn decode(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            v: u32,
        }
        if text.len() > Self::MAX_BYTES {
            return Err(format!("it has {} bytes, more than {}", text.len(), Self::MAX_BYTES));
        }
        let Versioned { v } = serde_json::from_str(text).map_err(|error| format!("no record: {error}"))?;
        if v > Self::VERSION {
            return Err(format!("it was written by a newer phaseline (version {v}, this one reads {})", Self::VERSION));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

fn first() -> u32 {
    1
}

fn is_first(hashes: &u32) -> bool {
    *hashes == first()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
