//! What the cluster shows of one workload, cut down to what a decision needs.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::pods::Pods;
use super::record::Record;
use super::sight::Sight;
use super::workload::{Ordinal, Partition, TemplateHash, WorkloadId};

/// What the annotation says.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RecordState {
    /// There is none: the set is not ours.
    #[default]
    Absent,
    /// A record, and the very text it was read from (what a conditional write tests).
    Is(Box<Record>, String),
    /// Something that cannot be read, and why.
    Unreadable(String),
}

/// What a person asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// End the pause the stage stands in.
    Promote,
    /// To the end without further pauses and soaks.
    PromoteFull,
    /// Hold.
    Pause,
    /// End a hold, or take a blocked commit.
    Resume,
    /// Put Git's state back over a drift.
    ResumeOverwrite,
    /// Go on from a drift as it is.
    ResumeAccept,
    /// Take an edited plan in the middle of a rollout.
    ResumeReplan,
    /// Try a failed target again.
    Retry,
    /// Take over a set that exists.
    Adopt,
    /// Give it back.
    Release,
}

/// A request as it is written on a set, in the annotation [`Request::ANNOTATION`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Tells this request from every other.
    pub id: String,
    /// What is asked for.
    pub verb: Verb,
    /// Who asks, for the log and the hold.
    pub by: String,
    /// The rollout that the person was shown; a request about another one is refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rollout: String,
    /// The stage that the person was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
}

impl Request {
    /// The annotation it lives in.
    pub const ANNOTATION: &'static str = "phaseline.dev/request";
    /// The most bytes it may have.
    pub const MAX_BYTES: usize = 512;
    /// The most bytes of its id: it is repeated in the record.
    pub const MAX_ID_BYTES: usize = 64;
}

/// Who owns a part of the set that matters to us, from `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOwner {
    /// The field manager.
    pub manager: String,
    /// Whether it came by server-side apply (else by any other write).
    pub apply: bool,
    /// The subresource, where it came by one (`scale`).
    pub subresource: String,
    /// When it last wrote, where the server says so.
    pub time: Option<Timestamp>,
    /// Whether it owns anything of `spec.template`.
    pub template: bool,
    /// Whether it owns anything of `spec.updateStrategy`.
    pub strategy: bool,
    /// Whether it owns `spec.replicas`.
    pub replicas: bool,
    /// Whether it owns the rollout record.
    pub record: bool,
}

impl FieldOwner {
    /// The field manager of the daemon's writes.
    pub const DAEMON: &'static str = "phaseline";
    /// The field manager that takes `replicas` over when a manifest drops it.
    pub const HANDOVER: &'static str = "phaseline-handover";
    /// The field manager of people's requests.
    pub const CLI: &'static str = "phaseline-cli";

    /// Whether it is one of our own.
    pub fn is_ours(&self) -> bool {
        Self::is_our_manager(&self.manager)
    }

    /// Whether a field manager is one of our own.
    pub fn is_our_manager(manager: &str) -> bool {
        [Self::DAEMON, Self::HANDOVER, Self::CLI].contains(&manager)
    }
}

/// A StatefulSet as the server last showed it.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveSet {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// `spec.replicas`.
    pub replicas: u32,
    /// `spec.ordinals.start`.
    pub start: u32,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: u32,
    /// Whether `spec.podManagementPolicy` is `Parallel`.
    pub parallel: bool,
    /// `spec.updateStrategy.type`.
    pub strategy: String,
    /// `spec.updateStrategy.rollingUpdate.partition`; none where there is no `rollingUpdate` block.
    pub partition: Option<Partition>,
    /// `maxUnavailable` of the live `rollingUpdate` block, in pods; none where it shows none: then it is one.
    pub max_unavailable: Option<u32>,
    /// Whether `persistentVolumeClaimRetentionPolicy.whenScaled` is `Delete`.
    pub deletes_claims_when_scaled: bool,
    /// Names of the claim templates.
    pub claim_templates: Vec<String>,
    /// The digest of the live template without `restartedAt`.
    pub template: TemplateHash,
    /// The live template's `kubectl.kubernetes.io/restartedAt`; empty without one.
    pub restarted_at: String,
    /// `status.readyReplicas`: nothing is decided by it, but where it names more pods than are shown Ready, these are late.
    pub ready_replicas: u32,
    /// `status.observedGeneration`.
    pub observed_generation: i64,
    /// `status.currentRevision`.
    pub current_revision: String,
    /// `status.updateRevision`.
    pub update_revision: String,
    /// The rollout record.
    pub record: RecordState,
    /// A person's request; none where there is none, `Err` where it cannot be read.
    pub request: Option<Result<Request, String>>,
    /// The request as it is written, which a write that takes it off tests; empty without one.
    pub request_text: String,
    /// Who owns what.
    pub owners: Vec<FieldOwner>,
}

/// `status.phase` of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PodPhase {
    /// Not yet running.
    #[default]
    Pending,
    /// Running.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly, or evicted.
    Failed,
    /// The node does not answer.
    Unknown,
}

/// What is wrong with a pod's container, or with its scheduling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFault {
    /// The container; empty when it is the pod.
    pub container: String,
    /// Kubernetes' word: `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable`, ..
    pub reason: String,
    /// Its message, cut to 200 characters.
    pub message: String,
}

/// A pod of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its number.
    pub ordinal: Ordinal,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// The uid of the controlling owner; empty for an orphan.
    pub owner: String,
    /// The label `controller-revision-hash`: a ControllerRevision's name.
    pub revision: String,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// When it was bound to a node.
    pub scheduled: Option<Timestamp>,
    /// `status.startTime`.
    pub started: Option<Timestamp>,
    /// The Ready condition: whether it is, and since when.
    pub ready: bool,
    /// `lastTransitionTime` of the Ready condition, whole seconds.
    pub ready_since: Option<Timestamp>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Its phase.
    pub phase: PodPhase,
    /// The most restarts of any of its containers.
    pub restarts: u32,
    /// What is wrong with it, the worst first.
    pub faults: Vec<ContainerFault>,
    /// The node is lost: it may still run there.
    pub node_lost: bool,
    /// The node it was bound to; empty without one.
    pub node: String,
    /// When it is to be gone by: its deletion and its grace period.
    pub gone_by: Option<Timestamp>,
    /// What holds its deletion up.
    pub finalizers: Vec<String>,
    /// The longest run of a container that has ended, in whole seconds, as far as the statuses tell.
    pub longest_run: Option<i64>,
}

/// How far a pod of a stage has ever come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Milestone {
    /// It exists at the target.
    Created,
    /// It has a node.
    Scheduled,
    /// Its kubelet took it on.
    Started,
    /// It was Ready once.
    Ready,
}

/// What the deadline is counted from: kept by the caller between two looks, forgotten at a restart
/// (then it is derived anew from the pods, which gives a stage at most one more deadline).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The rollout and stage it belongs to.
    pub key: String,
    /// The furthest each ordinal has come.
    pub reached: BTreeMap<Ordinal, Milestone>,
    /// The most pods that were verified at once.
    pub verified: u32,
    /// When that last grew, by the steady clock; none before the first look.
    pub at: Option<SignedDuration>,
    /// Since when the gate is passed, by the steady clock, while it is: the deadline stands still.
    pub passed: Option<SignedDuration>,
    /// How often the clocks had parted at the last look: [`Pace::jumps`].
    pub jumps: u32,
    /// Pods as they were Ready at the last look; none before the first one.
    pub ready: Option<BTreeMap<Ordinal, SeenReady>>,
    /// Restarts that a pod had when the stage began, by its uid; a pod made since has none.
    pub restarts: BTreeMap<String, u32>,
    /// Pods that were deleted as broken: how often, by ordinal and revision.
    pub repairs: BTreeMap<(Ordinal, String), u32>,
    /// The uid of the pod deleted last.
    pub repairing: Option<String>,
}

/// A pod that was seen to be Ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenReady {
    /// Since when, by its own stamp.
    pub since: Timestamp,
    /// Since when, by the steady clock.
    pub seen: SignedDuration,
}

/// How time passes beside the server's clock: that one may be wrong, and so may those of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// How long the daemon runs by a clock that nobody can set (on Linux it stands still while the machine sleeps). None
    /// where nobody counts, as in a command that looks once: then the time of the look goes for it.
    pub steady: Option<SignedDuration>,
    /// How often its own clock and the steady one parted since it began: set, asleep, or stopped in between.
    pub jumps: u32,
    /// How many seconds its own clock is ahead of the server's; negative where it is behind.
    pub ahead_seconds: i64,
}

/// One workload as the cluster shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Which one.
    pub workload: WorkloadId,
    /// The set; none where there is none.
    pub set: Option<LiveSet>,
    /// Its pods, and orphans that carry its name.
    pub pods: Pods,
    /// Whether the view is too old to act on: seconds since the watches last said anything.
    pub stale_seconds: Option<u32>,
    /// The right that is missing to see the workload, in words; then nothing that is shown of it counts.
    pub forbidden: Option<String>,
    /// Whether the pods may be shown as they were before the set's spec was last written, or before our last write.
    pub pods_behind: bool,
    /// The view of Git that is decided on.
    pub sight: Sight,
    /// What was refused lately by the server and is not to be sent again until something changes: the reason and
    /// the message. The adapter forgets it as soon as Git's wish or the set's generation is another one.
    pub refused: Option<(super::decision::Reason, String)>,
    /// The deadline's memory.
    pub progress: Progress,
    /// How time passes.
    pub pace: Pace,
}
