//! A Pod as it comes over the wire.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Text, count, or_default, time, workload};
use crate::model::{ContainerFault, Ordinal, Pod, PodPhase, WorkloadId};

/// The most characters of a fault's message.
const MAX_MESSAGE: usize = 200;

/// Decodes a Pod. `None` where it is no StatefulSet's: another controller's, or without a number in its name.
///
/// # Errors
/// A field of a wrong type.
pub(crate) fn pod(json: &str) -> Result<Option<(WorkloadId, Pod)>, serde_json::Error> {
    serde_json::from_str(json).map(cut_down)
}

/// Decodes a line of a watch of pods in one go: what happened, the pod as [`pod`] gives it, and the object's version.
///
/// # Errors
/// A field of a wrong type: also where the line tells of something else than a pod.
pub(crate) fn pod_line(line: &str) -> Result<PodLine, serde_json::Error> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(rename = "type")]
        kind: String,
        #[serde(borrow)]
        object: WirePod<'a>,
    }
    let Line { kind, object } = serde_json::from_str(line)?;
    let version = object.metadata.resource_version.to_string();
    Ok((kind, cut_down(object), version))
}

/// What a line of a watch of pods says.
pub(crate) type PodLine = (String, Option<(WorkloadId, Pod)>, String);

fn cut_down(WirePod { metadata, spec, status }: WirePod<'_>) -> Option<(WorkloadId, Pod)> {
    let (set, ordinal) = parent(&metadata.name)?;
    let owner = metadata.owner_references.iter().find(|owner| owner.controller);
    let ours = match owner {
        Some(owner) => &*owner.kind == "StatefulSet" && owner.api_version.starts_with("apps/") && &*owner.name == set,
        None => *metadata.labels.pod_name == *metadata.name,
    };
    if !ours {
        return None;
    }
    let id = workload(metadata.namespace.to_string(), set.to_owned());
    let condition = |kind: &'static str| status.conditions.iter().filter(move |c| &*c.kind == kind);
    let phase = match &*status.phase {
        "Running" => PodPhase::Running,
        "Succeeded" => PodPhase::Succeeded,
        "Failed" => PodPhase::Failed,
        "Unknown" => PodPhase::Unknown,
        _ => PodPhase::Pending,
    };
    let pod = Pod {
        ordinal,
        owner: owner.map(|owner| owner.uid.to_string()).unwrap_or_default(),
        uid: metadata.uid.to_string(),
        resource_version: metadata.resource_version.to_string(),
        revision: metadata.labels.revision.to_string(),
        created: metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH),
        scheduled: condition("PodScheduled").filter(|c| &*c.status == "True").find_map(|c| c.last_transition_time),
        started: status.start_time,
        // There should be one such condition. Where there are two, all have to agree, and the newest one counts.
        ready: condition("Ready").next().is_some() && condition("Ready").all(|c| &*c.status == "True"),
        ready_since: condition("Ready").filter_map(|c| c.last_transition_time).max(),
        terminating: metadata.deletion_timestamp.is_some(),
        phase,
        restarts: status.containers().map(|container| count(container.restart_count)).max().unwrap_or(0),
        node_lost: &*status.reason == "NodeLost"
            || phase == PodPhase::Unknown
            || condition("Ready").any(|c| &*c.status == "Unknown")
            || is_given_up(&status),
        node: spec.node_name.to_string(),
        gone_by: metadata.deletion_timestamp.as_ref().and_then(|by| by.parse().ok()),
        finalizers: metadata.finalizers.iter().map(|finalizer| finalizer.chars().take(MAX_MESSAGE).collect()).collect(),
        longest_run: status.containers().filter_map(WireContainer::longest_run).max(),
        faults: faults(&status),
    };
    Some((id, pod))
}

/// Whether the control plane has taken readiness from it because its node does not answer: a kubelet that does says why,
/// and its containers are then not all ready.
fn is_given_up(status: &WireStatus<'_>) -> bool {
    let is = |kind: &str, wanted: &str| status.conditions.iter().any(|c| &*c.kind == kind && &*c.status == wanted);
    let silent = status.conditions.iter().any(|c| &*c.kind == "Ready" && &*c.status == "False" && c.reason.is_empty());
    silent && is("ContainersReady", "True")
}

/// The set and the number that a pod's name speaks of: `^(.*)-([0-9]+)$`, without leading zeros.
fn parent(name: &str) -> Option<(&str, Ordinal)> {
    let (set, digits) = name.rsplit_once('-')?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let ordinal = digits.parse().ok().filter(|_| plain && !set.is_empty())?;
    Some((set, Ordinal(ordinal)))
}

/// What is wrong with a pod, the worst first.
fn faults(status: &WireStatus<'_>) -> Vec<ContainerFault> {
    let mut faults = Vec::new();
    if &*status.phase == "Failed" {
        let reason = if status.reason.is_empty() { "Failed" } else { &status.reason };
        faults.push(fault("", reason, &status.message));
    }
    let unschedulable =
        |c: &&WireCondition<'_>| &*c.kind == "PodScheduled" && &*c.status == "False" && !c.reason.is_empty();
    if let Some(condition) = status.conditions.iter().find(unschedulable) {
        faults.push(fault("", &condition.reason, &condition.message));
    }
    for container in status.containers() {
        if let Some(waiting) = &container.state.waiting
            && !["", "ContainerCreating", "PodInitializing"].contains(&&*waiting.reason)
        {
            faults.push(fault(&container.name, &waiting.reason, &waiting.message));
        }
        // Why it ended, now or the last time: as long as it is not well again.
        let ended = container.state.terminated.as_ref().or(container.last_state.terminated.as_ref());
        let down = container.state.running.is_none() || !container.ready;
        if let Some(ended) = ended.filter(|ended| down && ended.exit_code != 0) {
            let reason = if ended.reason.is_empty() { "Error" } else { &ended.reason };
            faults.push(fault(&container.name, reason, &ended.words()));
        }
    }
    faults.sort_by_key(|fault| severity(&fault.reason));
    faults.shrink_to_fit();
    faults
}

/// How far a fault is from mending itself; 0 is the furthest.
fn severity(reason: &str) -> u8 {
    match reason {
        "Evicted" | "NodeLost" | "InvalidImageName" | "ErrImageNeverPull" => 0,
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" | "StartError" => 1,
        "CrashLoopBackOff" => 2,
        "ImagePullBackOff" => 3,
        "ErrImagePull" | "ImageInspectError" | "RegistryUnavailable" => 4,
        "OOMKilled" => 5,
        "Error" | "ContainerCannotRun" | "DeadlineExceeded" | "Failed" => 6,
        "Unschedulable" => 7,
        _ => 8,
    }
}

fn fault(container: &str, reason: &str, message: &str) -> ContainerFault {
    ContainerFault {
        container: container.to_owned(),
        reason: reason.chars().take(MAX_MESSAGE).collect(),
        message: message.chars().take(MAX_MESSAGE).collect(),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WirePod<'a> {
    #[serde(borrow)]
    metadata: WireMeta<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    spec: WireSpec<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    status: WireStatus<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireMeta<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    uid: Text<'a>,
    #[serde(borrow)]
    resource_version: Text<'a>,
    #[serde(deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
    #[serde(borrow)]
    deletion_timestamp: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    finalizers: Vec<Text<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    labels: WireLabels<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    owner_references: Vec<OwnerReference<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSpec<'a> {
    #[serde(borrow)]
    node_name: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireLabels<'a> {
    #[serde(rename = "controller-revision-hash", borrow)]
    revision: Text<'a>,
    #[serde(rename = "statefulset.kubernetes.io/pod-name", borrow)]
    pod_name: Text<'a>,
}

/// An owner of any object.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OwnerReference<'a> {
    #[serde(borrow)]
    api_version: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    pub(super) uid: Text<'a>,
    #[serde(deserialize_with = "or_default")]
    pub(super) controller: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireStatus<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(deserialize_with = "time")]
    start_time: Option<Timestamp>,
    #[serde(borrow, deserialize_with = "or_default")]
    conditions: Vec<WireCondition<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    init_container_statuses: Vec<WireContainer<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    container_statuses: Vec<WireContainer<'a>>,
}

impl WireStatus<'_> {
    /// Init containers and containers.
    fn containers(&self) -> impl Iterator<Item = &WireContainer<'_>> {
        self.init_container_statuses.iter().chain(&self.container_statuses)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireCondition<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(deserialize_with = "time")]
    last_transition_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireContainer<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(deserialize_with = "or_default")]
    ready: bool,
    #[serde(deserialize_with = "or_default")]
    restart_count: i64,
    #[serde(borrow, deserialize_with = "or_default")]
    state: WireState<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    last_state: WireState<'a>,
}

impl WireContainer<'_> {
    /// The longest of its runs that have ended, in seconds, as far as the status tells.
    fn longest_run(&self) -> Option<i64> {
        let ended = [&self.state.terminated, &self.last_state.terminated];
        ended.into_iter().flatten().filter_map(WireTerminated::seconds).max()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireState<'a> {
    #[serde(borrow)]
    waiting: Option<WireWaiting<'a>>,
    running: Option<serde::de::IgnoredAny>,
    #[serde(borrow)]
    terminated: Option<WireTerminated<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireWaiting<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireTerminated<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(deserialize_with = "or_default")]
    exit_code: i64,
    #[serde(deserialize_with = "time")]
    started_at: Option<Timestamp>,
    #[serde(deserialize_with = "time")]
    finished_at: Option<Timestamp>,
}

impl WireTerminated<'_> {
    fn seconds(&self) -> Option<i64> {
        Some(self.finished_at?.duration_since(self.started_at?).as_secs().max(0))
    }

    fn words(&self) -> String {
        match self.message.trim() {
            "" => format!("exit code {}", self.exit_code),
            message => format!("exit code {}: {message}", self.exit_code),
        }
    }
}
