//! What was decided: the phase, what is waited for, and the effects to carry out.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::observed::Progress;
use super::record::Record;
use super::workload::{Ordinal, Partition};

/// How a workload is, in Argo's words; derived, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// The last stage is done and every pod runs the target.
    Healthy,
    /// Something is under way.
    Progressing,
    /// Waits for a person, or for a pause to end.
    Paused,
    /// Something is wrong; nothing advances.
    Degraded,
    /// Not acted on until a person has done something about it.
    Blocked,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Why it is so, in one word; part of the stable output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The rollout is complete.
    Completed,
    /// The set was put back to stable, or to a proven revision.
    RolledBack,
    /// The set is about to be created, or its first pods are coming up.
    Installing,
    /// A rollout is about to start, or a write is on its way.
    Starting,
    /// Pods are being updated or are not Ready long enough.
    WaitingReady,
    /// A pause of the plan.
    StagePaused,
    /// A person's hold.
    PausedByUser,
    /// A newer commit waits for the running rollout, or for a person.
    Superseded,
    /// No progress for longer than the plan allows.
    ProgressDeadlineExceeded,
    /// A pod restarted too often.
    TooManyRestarts,
    /// A pod below the partition broke, a pod is stuck and may not be replaced, or more are away than may be.
    StuckPod,
    /// A half-done rollout was scaled to zero, which promotes it.
    PromotedByScaleToZero,
    /// Somebody else changed what Phaseline owns.
    Drifted,
    /// A person took a template of somebody else as it is: Git says otherwise until it agrees, or is put back.
    DriftAccepted,
    /// The view of the cluster is too old to act on.
    ViewStale,
    /// There is a set of that name, and nobody said that it may be taken over.
    AdoptionRequired,
    /// The set cannot be adopted as it is.
    NotAdoptable,
    /// The set is gone, its pods are not.
    Missing,
    /// Git has no manifest of it any more.
    Orphaned,
    /// The view of Git is older than what the set was last rolled to, or nobody has confirmed it yet.
    SourceBehind,
    /// Git's history was rewritten, and that stands.
    SourceRewritten,
    /// The set is rolled out from another repository, branch or folder.
    OtherSource,
    /// The manifest or the plan cannot be used.
    InvalidManifest,
    /// The server refused the manifest.
    Refused,
    /// The daemon lacks a right.
    Forbidden,
    /// There is no such namespace.
    NamespaceMissing,
    /// The commit changes a field that cannot be changed.
    ImmutableField,
    /// A scale-down would delete claims.
    ClaimDeletion,
    /// A scale to zero in the middle of a rollout.
    ScaleToZero,
    /// The record cannot be read.
    RecordUnreadable,
    /// The set is being deleted.
    Terminating,
    /// No pod carries the set's current revision: a pod that dies would come back at a revision nobody expects.
    StaleCurrentRevision,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a decision without an action waits for. `rollout::explain` has the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum WaitingOn {
    /// The StatefulSet controller has not seen the last write yet.
    ObservedGeneration {
        /// `metadata.generation`.
        generation: i64,
    },
    /// A pod is missing.
    PodCreated {
        /// Its number.
        ordinal: Ordinal,
    },
    /// A pod still carries another revision.
    PodUpdated {
        /// Its number.
        ordinal: Ordinal,
        /// The revision it carries.
        revision: String,
    },
    /// A pod is going away.
    PodGone {
        /// Its number.
        ordinal: Ordinal,
    },
    /// A pod is not Ready.
    PodReady {
        /// Its number.
        ordinal: Ordinal,
        /// Kubernetes' word for its trouble; empty where there is none yet.
        why: String,
    },
    /// A pod is Ready, but not for long enough.
    PodAvailable {
        /// Its number.
        ordinal: Ordinal,
        /// When it will be.
        at: Timestamp,
    },
    /// The stage counts fewer pods than it has to.
    PodCount {
        /// Verified ones.
        have: u32,
        /// Needed ones.
        need: u32,
    },
    /// The StatefulSet controller has not made the target its current revision yet.
    ControllerPromotion,
    /// A pause with an end.
    Pause {
        /// Its end.
        until: Timestamp,
    },
    /// Somebody to promote the stage.
    Promotion,
    /// Somebody to resume.
    Resume,
    /// Somebody to retry, or a new commit.
    Decision,
    /// Somebody to decide about a drift.
    DriftDecision,
    /// Somebody to let a newer commit in.
    NewRevisionDecision,
    /// A commit that lowers the partition in the manifest.
    PartitionCommit,
    /// Somebody to adopt the set.
    Adoption,
    /// Somebody to put the source right: manifest, plan, or record.
    Correction,
    /// Fresh news from the cluster.
    FreshView,
    /// A view of Git that is new enough.
    Source,
    /// Pods as they are since the set's spec was last written: nothing was heard of them since.
    FreshPods,
    /// The set to be gone.
    SetGone,
}

/// Why a manifest is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplyKind {
    /// The set does not exist: create only.
    Create,
    /// A new target, with the partition that holds it.
    Start,
    /// Everything but the template: replicas, metadata.
    Sync,
    /// Git's state over a drift, or the first apply after an adoption.
    Overwrite,
}

/// Every effect there is on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A server-side apply of the whole manifest with partition and record in it.
    Apply {
        /// Why.
        kind: ApplyKind,
        /// The body but for the record, uid and resourceVersion, which the adapter puts in.
        manifest: Arc<Value>,
        /// The partition to hold it at.
        partition: Partition,
        /// The record to write; `generation` and `live` are filled in from the server's dry run.
        record: Box<Record>,
        /// uid and resourceVersion of the set it is based on; none for a creation.
        base: Option<(String, String)>,
        /// Whether `replicas` are taken from whoever changed them: a newer manifest states them.
        takes_replicas: bool,
    },
    /// `replicas` handed over before a manifest without it is applied.
    HandOverReplicas {
        /// The live number.
        replicas: u32,
        /// uid and resourceVersion of the set.
        base: (String, String),
    },
    /// A JSON Patch of partition and record, tested on uid, generation and the old record.
    Patch {
        /// The new partition; none where only the record changes.
        partition: Option<Partition>,
        /// The new record.
        record: Box<Record>,
        /// `metadata.uid` to test.
        uid: String,
        /// `metadata.generation` to test.
        generation: i64,
        /// The annotation's text to test.
        old_record: String,
        /// The text of the request that is answered, tested and taken off in the same write: a newer one that was
        /// written meanwhile is looked at first.
        clear_request: Option<String>,
    },
    /// A partition raised on a set that is frozen, so that pods that somebody adds do not join what is not approved.
    /// The record stays as it is: whatever the set is frozen for stays to be seen.
    HoldBack {
        /// The new partition.
        partition: Partition,
        /// `metadata.uid` to test.
        uid: String,
        /// `metadata.generation` to test.
        generation: i64,
        /// The annotation's text to test.
        record: String,
    },
    /// A broken pod deleted, with uid and resourceVersion as preconditions.
    DeletePod {
        /// Its number.
        ordinal: Ordinal,
        /// `metadata.uid`.
        uid: String,
        /// `metadata.resourceVersion`.
        resource_version: String,
    },
    /// The set is taken over: managed fields moved to us, parked, recorded. No pod restarts.
    Adopt {
        /// The record to write.
        record: Box<Record>,
        /// uid and resourceVersion of the set.
        base: (String, String),
        /// A request is taken off in the same write.
        clear_request: bool,
    },
    /// The set is given back: record and ownership removed, the partition set where nothing is pending.
    Release {
        /// The partition to leave; none to leave it as it is.
        partition: Option<Partition>,
        /// uid and resourceVersion of the set.
        base: (String, String),
    },
    /// A request that cannot be answered in a record is taken off.
    DropRequest {
        /// `metadata.uid` to test.
        uid: String,
        /// uid and resourceVersion of the set.
        resource_version: String,
        /// Why, for the log.
        why: String,
    },
}

/// The stage a rollout stands at, resolved at the current replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageView {
    /// Counted from 1 among the resolved stages.
    pub number: u32,
    /// How many resolved stages there are.
    pub of: u32,
    /// Its name; empty where the plan gives none.
    pub name: String,
    /// Pods that are to run the target.
    pub count: u32,
    /// The partition that exposes them.
    pub partition: Partition,
    /// Pods that run it, Ready for long enough.
    pub verified: u32,
}

/// What one look at a workload came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What to do now, in order; the first failure stops the list. At most one write to the set.
    pub actions: Vec<Action>,
    /// How it is.
    pub phase: Phase,
    /// Why.
    pub reason: Reason,
    /// What it waits for; none when it rests or acts.
    pub waiting_on: Option<WaitingOn>,
    /// The pod to blame: its name's ordinal and its trouble.
    pub culprit: Option<(Ordinal, String)>,
    /// A sentence that adds what the reason leaves out: names of managers, hints; may be empty.
    pub message: String,
    /// The stage, while a rollout runs.
    pub stage: Option<StageView>,
    /// A commit that waits, by its id.
    pub pending: Option<String>,
    /// When to look again even if nothing happens.
    pub requeue: Option<Timestamp>,
    /// The deadline's memory, to be handed back at the next look.
    pub progress: Progress,
}
