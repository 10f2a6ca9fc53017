//! What the monitors know of sets and pods: read from the objects, nothing of it by the code that is watched.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::model::{PARKED, Pause, Plan, Ramp, Record, Schedule, Size};
use crate::revision::digest;

/// A pod, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    /// Its uid.
    pub(super) uid: String,
    /// The revision that it names.
    pub(super) revision: String,
    /// Since when it is Ready; none: it is not.
    pub(super) ready: Option<Timestamp>,
    /// Whether it is on its way out.
    pub(super) terminating: bool,
}

impl Pod {
    /// The set that a pod belongs to, its ordinal, and the pod; none where it belongs to none.
    pub(super) fn read(object: &Value) -> Option<(&str, u32, Self)> {
        let metadata = object.get("metadata")?;
        let owners = metadata.get("ownerReferences")?.as_array()?;
        let owner = owners.iter().find(|owner| {
            owner.get("controller") == Some(&Value::Bool(true))
                && owner.get("kind").and_then(Value::as_str) == Some("StatefulSet")
        })?;
        let set = owner.get("name")?.as_str()?;
        let ordinal = metadata.get("name")?.as_str()?.strip_prefix(set)?.strip_prefix('-')?.parse().ok()?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let status = object.get("status");
        let conditions = status.and_then(|it| it.get("conditions")?.as_array());
        let ready = conditions.into_iter().flatten().find(|it| {
            it.get("type").and_then(Value::as_str) == Some("Ready")
                && it.get("status").and_then(Value::as_str) == Some("True")
        });
        let ready = ready.map(|it| {
            let since = it.get("lastTransitionTime").and_then(Value::as_str);
            since.and_then(|time| time.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH)
        });
        let pod = Self {
            uid: text(metadata.get("uid")),
            revision: text(metadata.get("labels").and_then(|it| it.get("controller-revision-hash"))),
            ready,
            terminating: metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()),
        };
        Some((set, ordinal, pod))
    }
}

/// A set, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Set {
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) observed: i64,
    pub(super) replicas: u32,
    pub(super) start: u32,
    pub(super) min_ready: i64,
    pub(super) partition: u32,
    /// Pods that may be away at once.
    pub(super) budget: u32,
    /// Whether the controller itself waits for pods that are away before it takes another.
    pub(super) waits: bool,
    pub(super) current: String,
    pub(super) update: String,
    /// The record; none where there is none, or none that can be read.
    pub(super) record: Option<Record>,
    /// Claims go with pods that a smaller set has no place for.
    pub(super) gives_up_claims: bool,
    /// The manifest says that they may.
    pub(super) may_give_up_claims: bool,
}

impl Set {
    pub(super) fn read(object: &Value) -> Self {
        let number = |at: &str| object.pointer(at).and_then(Value::as_i64);
        let small = |at: &str, otherwise: u32| number(at).and_then(|it| u32::try_from(it).ok()).unwrap_or(otherwise);
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let annotation = |name: &str| object.get("metadata")?.get("annotations")?.get(name)?.as_str();
        let replicas = small("/spec/replicas", 1);
        let budget = match object.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable") {
            Some(Value::String(share)) => {
                let percent: u32 = share.trim_end_matches('%').parse().unwrap_or(0);
                u32::try_from(u64::from(replicas) * u64::from(percent) / 100).unwrap_or(u32::MAX)
            }
            Some(number) => number.as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(1),
            None => 1,
        };
        // Other strategies than a rolling update replace nothing by themselves.
        let rolls = text("/spec/updateStrategy/type") == "RollingUpdate";
        Self {
            uid: text("/metadata/uid").to_owned(),
            generation: number("/metadata/generation").unwrap_or_default(),
            observed: number("/status/observedGeneration").unwrap_or_default(),
            replicas,
            start: small("/spec/ordinals/start", 0),
            min_ready: number("/spec/minReadySeconds").unwrap_or_default(),
            partition: small("/spec/updateStrategy/rollingUpdate/partition", if rolls { 0 } else { PARKED.0 }),
            budget: budget.max(1),
            waits: text("/spec/podManagementPolicy") != "Parallel"
                || object.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable").is_some(),
            current: text("/status/currentRevision").to_owned(),
            update: text("/status/updateRevision").to_owned(),
            record: annotation(Record::ANNOTATION).and_then(|text| Record::decode(text).ok()),
            gives_up_claims: text("/spec/persistentVolumeClaimRetentionPolicy/whenScaled") == "Delete",
            may_give_up_claims: annotation("phaseline.dev/allow-claim-deletion") == Some("true"),
        }
    }

    /// Whether an ordinal is one of those that the set should have.
    pub(super) fn has(&self, ordinal: u32) -> bool {
        ordinal.checked_sub(self.start).is_some_and(|index| index < self.replicas)
    }

    /// Whether an ordinal lies at or above the partition.
    pub(super) fn exposes(&self, ordinal: u32, partition: u32) -> bool {
        ordinal.checked_sub(self.start).is_some_and(|index| index >= partition)
    }
}

/// The pods of a set.
pub(super) type Pods = BTreeMap<u32, Pod>;

/// The digest of a set's template, or of a revision's.
pub(super) fn template(object: &Value) -> String {
    let template = object.pointer("/spec/template").or_else(|| object.pointer("/data/spec/template"));
    let Some(mut template) = template.cloned() else { return String::new() };
    if let Some(template) = template.as_object_mut() {
        template.remove("$patch");
    }
    digest::template(&template).hash.0
}

/// How many pods each stage of a plan reaches: worked out anew.
pub(super) fn counts(plan: &Plan, replicas: u32) -> Vec<u32> {
    let raw: Vec<u32> = match &plan.schedule {
        Schedule::ByHand(partition) => vec![replicas.saturating_sub(*partition)],
        Schedule::Stages(stages) => stages
            .iter()
            .map(|stage| match stage.size {
                Size::Pods(pods) => pods,
                Size::Percent(percent) => {
                    let pods = (u64::from(replicas) * u64::from(percent)).div_ceil(100);
                    u32::try_from(pods).unwrap_or(u32::MAX)
                }
                Size::Partition(partition) => replicas.saturating_sub(partition),
            })
            .collect(),
        Schedule::Ramp { ramp, .. } => {
            let (mut list, mut reached, mut step) = (Vec::new(), 0_u32, 1_u32);
            while reached < replicas {
                reached = match ramp {
                    Ramp::Linear(by) => reached.saturating_add((*by).max(1)),
                    Ramp::Geometric(factor) => {
                        let next = reached.saturating_add(step);
                        step = step.saturating_mul((*factor).max(1));
                        next
                    }
                    Ramp::Exponential(base) => reached.saturating_mul((*base).max(2)).max(1),
                };
                list.push(reached);
            }
            list
        }
    };
    let mut most = 0;
    let mut rising = Vec::new();
    for count in raw {
        let count = if matches!(plan.schedule, Schedule::ByHand(_)) { count } else { count.max(1) };
        let count = count.min(replicas);
        if count > most {
            most = count;
            rising.push(count);
        }
    }
    rising
}

/// How long the pods of the stage that reaches exactly so many must have been Ready.
pub(super) fn soak(plan: &Plan, replicas: u32, exposed: u32) -> u32 {
    match &plan.schedule {
        Schedule::Stages(stages) => {
            // A stage that falls back behind one before it counts with that one.
            let (mut most, mut soak) = (0, 0);
            for stage in stages {
                most = most.max(stage.size.count(replicas));
                if most == exposed {
                    soak = soak.max(stage.min_ready_seconds);
                }
            }
            soak
        }
        Schedule::Ramp { min_ready_seconds, .. } if counts(plan, replicas).contains(&exposed) => *min_ready_seconds,
        Schedule::Ramp { .. } | Schedule::ByHand(_) => 0,
    }
}

/// The wait behind the stage that reaches exactly so many pods, where it is not the last one.
pub(super) fn pause(plan: &Plan, replicas: u32, exposed: u32) -> Pause {
    if exposed >= replicas || !counts(plan, replicas).contains(&exposed) {
        return Pause::None;
    }
    match &plan.schedule {
        Schedule::Stages(stages) => {
            let (mut most, mut wait) = (0, Pause::None);
            for stage in stages {
                most = most.max(stage.size.count(replicas));
                if most == exposed {
                    wait = wait.max(stage.pause);
                }
            }
            wait
        }
        Schedule::Ramp { pause, .. } => *pause,
        Schedule::ByHand(_) => Pause::None,
    }
}
