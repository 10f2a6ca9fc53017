//! What Git asks for, one workload at a time, complete: no later step reads Git.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diagnostic::Diagnostic;
use super::plan::Plan;
use super::workload::{CommitId, TemplateHash, WorkloadId};

/// A commit as people read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitInfo {
    /// The full object id.
    pub id: CommitId,
    /// The author's name.
    pub author: String,
    /// The author's e-mail address.
    pub email: String,
    /// The author date, seconds since 1970-01-01 UTC.
    pub time: i64,
    /// The author's own clock, minutes ahead of UTC.
    #[serde(default)]
    pub zone: i32,
    /// The first paragraph of the message in one line, as `git log --format=%s` shows it.
    pub subject: String,
    /// The whole message.
    pub message: String,
}

/// A workload's manifest at one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The first-parent commit that brought this template: with the hash, the identity of a revision.
    pub commit: CommitInfo,
    /// The StatefulSet as it was written, `status` and nulls taken out, the namespace filled in.
    pub manifest: Arc<Value>,
    /// The digest of its pod template.
    pub hash: TemplateHash,
    /// The digest of everything else that a commit can change without a new revision
    /// (the partition excepted, which is never the manifest's).
    pub rest: String,
    /// The same of the manifest as it is written, defaults spelled out or not: what an earlier phaseline recorded.
    pub rest_as_written: String,
    /// `spec.replicas` where the manifest states it; without it the number belongs to an autoscaler.
    pub replicas: Option<u32>,
    /// The `kubectl.kubernetes.io/restartedAt` that the manifest's template states, where it does.
    pub restart: Option<String>,
    /// `spec.ordinals.start` as the manifest states it, 0 without.
    pub start: u32,
    /// Whether the manifest states `persistentVolumeClaimRetentionPolicy.whenScaled: Delete`.
    pub deletes_claims_when_scaled: bool,
    /// Whether manifest or commit message allows a scale-down to delete claims.
    pub allow_claim_deletion: bool,
    /// Whether the manifest asks for adoption (`phaseline.dev/adopt: "true"`).
    pub adopt: bool,
}

impl Version {
    /// Whether a record says that everything but the template was applied as it is here.
    pub fn is_rest(&self, recorded: &str) -> bool {
        self.rest == recorded || (!self.rest_as_written.is_empty() && self.rest_as_written == recorded)
    }
}

/// Everything Git says about one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// Which set.
    pub workload: WorkloadId,
    /// The manifest at the tip (or at the last good commit).
    pub tip: Version,
    /// The manifest at the commit that the record names as in force ([`super::Record::in_force`]), when that is not the
    /// tip's and Git still has it: what a replicas-only commit keeps in force while a newer template waits.
    pub target: Option<Version>,
    /// The digest of the template at the commit that the record names as stable, where it had to be asked for: the record
    /// is of a phaseline that tells templates apart in another way.
    pub stable: Option<TemplateHash>,
    /// The plan at the tip.
    pub plan: Plan,
    /// The plan's digest, to notice an edited one.
    pub plan_digest: String,
}

/// Why a workload cannot be acted on, though Git names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What is wrong, with the places.
    pub diagnostics: Vec<Diagnostic>,
}

/// What is known of Git's side when a workload is looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted<'a> {
    /// Git was not asked (a command that reads only the cluster).
    Unknown,
    /// Git has no manifest of it any more.
    Absent,
    /// Git has one that cannot be used, and there is no last good one.
    Broken(&'a Problem),
    /// Git's wish; with the problem of a newer commit that could not be used, if any.
    Is(&'a Desired, Option<&'a Problem>),
}
