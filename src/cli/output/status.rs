//! What `status` prints: the DTO of `-o json|yaml`, and how it is made from what was observed and decided.
//!
//! Numbers and names that Kubernetes has too (`partition`, `generation`, `updateRevision`, ..) are those of
//! `kubectl get statefulset -o json`.

use jiff::Timestamp;
use serde::Serialize;

use super::API_VERSION;
use super::ways::Ways;
use super::words;
use crate::daemon::report::{Followed, Trouble};
use crate::model::record::Hold;
use crate::model::{
    Decision, LiveSet, Observed, Phase, Pod, Reason, Record, RecordState, Seen, StageView, WaitingOn, WorkloadId,
};
use crate::rollout::{explain, stage};

/// Several workloads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusList {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `StatusList`.
    kind: &'static str,
    /// One for each workload, by namespace and name.
    pub(crate) items: Vec<Status>,
    /// The repository; left out where it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<SourceState>,
}

impl StatusList {
    /// A list of them.
    pub(crate) fn of(items: Vec<Status>, source: Option<SourceState>) -> Self {
        Self { api_version: API_VERSION, kind: "StatusList", items, source }
    }
}

/// One workload, asked for by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusObject<'a> {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `Status`.
    kind: &'static str,
    /// The same fields as an item of a list.
    #[serde(flatten)]
    item: &'a Status,
    /// The repository; left out where it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceState>,
}

impl<'a> StatusObject<'a> {
    /// One of them.
    pub(crate) fn of(item: &'a Status, source: Option<&'a SourceState>) -> Self {
        Self { api_version: API_VERSION, kind: "Status", item, source }
    }
}

/// The repository at the time of asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceState {
    /// Its address, without credentials.
    pub(crate) url: String,
    /// The commit that was looked at: the tip, or the last good one where there is trouble.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) commit: String,
    /// Why the tip could not be read; left out where it could.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) trouble: String,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    /// `metadata.namespace`.
    pub(crate) namespace: String,
    /// `metadata.name`.
    pub(crate) name: String,
    /// `Healthy`, `Progressing`, `Paused`, `Degraded` or `Blocked`.
    pub(crate) phase: Phase,
    /// Why, in one word.
    pub(crate) reason: Reason,
    /// A sentence; may be empty.
    pub(crate) message: String,
    /// Where the rollout stands; left out at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stage: Option<StageState>,
    /// `spec.replicas`; left out where there is no set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<u32>,
    /// Pods that run the target; left out where the controller has not named its revision yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) updated: Option<u32>,
    /// Pods that are Ready; left out where there is no set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<u32>,
    /// When it came to where it stands: at its stage, or at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// What it waits for; left out where it waits for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting_on: Option<Waiting>,
    /// The pod to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) culprit: Option<Culprit>,
    /// What is being rolled out, or was last; left out where there is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Revision>,
    /// What last completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stable: Option<Revision>,
    /// A commit that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pending_commit: Option<String>,
    /// The commit that was asked about, and where the workload stands towards it; left out where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) awaited: Option<AwaitedState>,
    /// The daemon that looks after it and what it said last; null where no daemon was heard of, left out where nobody
    /// may read it, or it cannot be told which one it is.
    #[serde(skip_serializing_if = "DaemonSeen::is_unknown")]
    pub(crate) daemon: DaemonSeen,
    /// `spec.updateStrategy.rollingUpdate.partition`; 2147483647 at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition: Option<u32>,
    /// `metadata.generation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
    /// `status.observedGeneration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
    /// `status.updateRevision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) update_revision: Option<String>,
    /// `status.currentRevision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current_revision: Option<String>,
    /// The rollout's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollout: Option<String>,
    /// A person's hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hold: Option<HoldState>,
    /// What a person has asked for and no daemon has taken yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<RequestState>,
    /// What the daemon is about to do, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) next: Vec<String>,
    /// Commands that would move it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
}

/// What is known of the daemon that looks after a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum DaemonSeen {
    /// Nobody may read it, or it may be one of several.
    Unknown,
    /// No daemon was heard of.
    Nobody,
    /// This one.
    Is(Box<DaemonState>),
}

impl DaemonSeen {
    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

/// What a daemon said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DaemonState {
    /// Who leads; left out where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holder: Option<String>,
    /// Its version.
    pub(crate) version: String,
    /// The repository that it follows, without credentials, the branch and the folder.
    pub(crate) source: Followed,
    /// The namespace that it gives to manifests which state none.
    pub(crate) default_namespace: String,
    /// The commit that is in force in its eyes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) commit: String,
    /// When it was last heard, by the server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) heard: Option<Timestamp>,
    /// Whether that is longer ago than it may be of one that works.
    pub(crate) silent: bool,
    /// What it says of the workload, where that is not the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) says: Vec<String>,
    /// Why it cannot read the repository, while it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trouble: Option<Trouble>,
}

/// Where a workload stands towards a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AwaitedState {
    /// The commit.
    pub(crate) commit: String,
    /// `InForce`, `Passed`, `NotNamed` (it says nothing of the workload), `Coming` or `Unseen` (not in the repository).
    pub(crate) state: &'static str,
    /// The newer commit that is in force, with `Passed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

/// The stage a rollout stands at, resolved at the current replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StageState {
    /// Counted from 1; 0 before the first.
    pub(crate) number: u32,
    /// How many there are.
    pub(crate) of: u32,
    /// Its name; may be empty.
    pub(crate) name: String,
    /// Pods that are to run the target.
    pub(crate) count: u32,
    /// The partition that exposes them.
    pub(crate) partition: u32,
    /// Pods that run it, Ready for long enough; left out where they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verified: Option<u32>,
}

/// What a rollout waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Waiting {
    /// `PodReady`, `PodUpdated`, `Pause`, `Promotion`, ..; `Daemon` where something is due that only it does.
    pub(crate) kind: &'static str,
    /// The pod that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pod: Option<String>,
    /// The end of the pause, or of the soak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Timestamp>,
    /// The same for people.
    pub(crate) text: String,
}

/// A pod and its trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Culprit {
    /// Its name.
    pub(crate) pod: String,
    /// Kubernetes' word: `ImagePullBackOff`, `CrashLoopBackOff`, ..
    pub(crate) reason: String,
}

/// One revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revision {
    /// The commit that brought it; left out for what was there before adoption.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) commit: String,
    /// The digest of its template.
    pub(crate) hash: String,
    /// The ControllerRevision, where it is known from the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<String>,
    /// The restart that travels with it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) restarted_at: String,
}

/// A person's hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HoldState {
    /// Who paused it.
    pub(crate) by: String,
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestState {
    /// What is asked for: `promote`, `promote --full`, `pause`, ..
    pub(crate) verb: &'static str,
    /// Who asks.
    pub(crate) by: String,
}

impl Status {
    /// The status of what was observed, by what was decided about it.
    pub(crate) fn of(observed: &Observed, decision: &Decision, ways: &Ways, now: Timestamp) -> Self {
        let WorkloadId { namespace, name } = observed.workload.clone();
        let set = observed.set.as_ref();
        let record = set.and_then(|set| match &set.record {
            RecordState::Is(record, _) => Some(&**record),
            RecordState::Absent | RecordState::Unreadable(_) => None,
        });
        let revisions = set.zip(record);
        Self {
            phase: decision.phase,
            reason: decision.reason,
            message: ways.complete(&decision.message),
            stage: stage_of(decision, set, record),
            replicas: set.map(|set| set.replicas),
            updated: set.and_then(|set| updated(observed, set, target_name(set, record?)?)),
            ready: set.map(|set| count(observed, set, |pod| pod.ready)),
            since: record.and_then(|record| Timestamp::from_second(record.at).ok()),
            waiting_on: waiting(decision, &name, ways, now),
            culprit: decision
                .culprit
                .as_ref()
                .map(|(ordinal, why)| Culprit { pod: format!("{name}-{ordinal}"), reason: why.clone() }),
            target: revisions.map(|(set, record)| revision(&record.target, target_name(set, record))),
            stable: revisions.and_then(|(set, record)| {
                record.stable.as_ref().map(|stable| revision(stable, stable_name(set, record, stable)))
            }),
            pending_commit: decision.pending.clone(),
            awaited: None,
            daemon: DaemonSeen::Unknown,
            partition: set.and_then(|set| set.partition).map(|partition| partition.0),
            generation: set.map(|set| set.generation),
            observed_generation: set.map(|set| set.observed_generation),
            update_revision: set.map(|set| set.update_revision.clone()),
            current_revision: set.map(|set| set.current_revision.clone()),
            rollout: record.map(|record| record.rollout.clone()),
            hold: record.and_then(|record| record.hold.as_ref()).map(|Hold { by }| HoldState { by: by.clone() }),
            request: set
                .and_then(words::open_request)
                .map(|request| RequestState { verb: words::verb(request.verb), by: request.by.clone() }),
            next: decision.actions.iter().map(words::action).collect(),
            hints: ways.on(decision, observed),
            namespace,
            name,
        }
    }

    /// The same without what changes by time alone: two looks that are equal so far show nothing new.
    pub(crate) fn still(&self) -> Self {
        let mut still = self.clone();
        if let Some(waiting) = &mut still.waiting_on {
            waiting.text.clear();
        }
        if let DaemonSeen::Is(daemon) = &mut still.daemon {
            daemon.heard = None;
        }
        still
    }
}

/// The stage of a running rollout; what was decided may not have come as far as counting its pods.
fn stage_of(decision: &Decision, set: Option<&LiveSet>, record: Option<&Record>) -> Option<StageState> {
    if let Some(StageView { number, of, name, count, partition, verified }) = &decision.stage {
        let (partition, verified) = (partition.0, Some(*verified));
        return Some(StageState { number: *number, of: *of, name: name.clone(), count: *count, partition, verified });
    }
    let (set, record) = (set?, record.filter(|record| !record.done)?);
    let standing = stage::standing(record, set.replicas);
    Some(StageState {
        number: standing.number,
        of: standing.of,
        name: standing.group.map(|group| group.name).unwrap_or_default(),
        count: standing.count,
        partition: record.partition.0,
        verified: None,
    })
}

/// How many pods of the set are so; what is on its way out is none of it.
fn count(observed: &Observed, set: &LiveSet, is: impl Fn(&Pod) -> bool) -> u32 {
    let own = observed.pods.values().filter(|pod| pod.owner == set.uid && !pod.terminating && is(pod));
    u32::try_from(own.count()).unwrap_or(u32::MAX)
}

/// How many pods run the target; not known before the controller has seen the set's replicas as they are.
fn updated(observed: &Observed, set: &LiveSet, target: &str) -> Option<u32> {
    (set.observed_generation >= set.generation).then(|| count(observed, set, |pod| pod.revision == target))
}

fn waiting(decision: &Decision, set: &str, ways: &Ways, now: Timestamp) -> Option<Waiting> {
    let Some(waiting) = &decision.waiting_on else {
        return (!decision.actions.is_empty()).then(|| Waiting {
            kind: "Daemon",
            text: "for the daemon to act".to_owned(),
            ..Waiting::default()
        });
    };
    let pod = match waiting {
        WaitingOn::PodCreated { ordinal }
        | WaitingOn::PodUpdated { ordinal, .. }
        | WaitingOn::PodGone { ordinal }
        | WaitingOn::PodReady { ordinal, .. }
        | WaitingOn::PodAvailable { ordinal, .. } => Some(format!("{set}-{ordinal}")),
        _ => None,
    };
    let until = match waiting {
        WaitingOn::PodAvailable { at, .. } => Some(*at),
        WaitingOn::Pause { until } => Some(*until),
        _ => None,
    };
    let text = ways.complete(&explain::waiting(waiting, set, now));
    Some(Waiting { kind: words::kind(waiting), pod, until, text })
}

fn revision(seen: &Seen, name: Option<&str>) -> Revision {
    Revision {
        commit: seen.commit.0.clone(),
        hash: seen.hash.0.clone(),
        revision: name.map(str::to_owned),
        restarted_at: seen.restart.clone(),
    }
}

/// The target's ControllerRevision: what the controller updates to, if it has seen our write and nobody else wrote.
fn target_name<'a>(set: &'a LiveSet, record: &Record) -> Option<&'a str> {
    let is_ours = set.observed_generation >= set.generation && set.template == record.live;
    Some(set.update_revision.as_str()).filter(|name| is_ours && !name.is_empty())
}

/// The stable revision's ControllerRevision: the target's where they are the same, else what the set updates from.
fn stable_name<'a>(set: &'a LiveSet, record: &Record, stable: &Seen) -> Option<&'a str> {
    if stable.same_pods(&record.target) {
        return target_name(set, record);
    }
    Some(set.current_revision.as_str()).filter(|name| !name.is_empty() && *name != set.update_revision)
}
