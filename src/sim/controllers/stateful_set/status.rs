//! The status of a set: counts, revisions, completion, and the write.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::errors::Errors;
use super::recreate::{PROGRESSING, condition};
use super::set::{Set, Strategy};
use super::{Found, Sync};
use crate::sim::resource::Resource;
use crate::sim::{Compat, Version};

/// How often a write that meets a conflict is tried (`retry.DefaultRetry`).
const MOST_ATTEMPTS: usize = 5;

/// `status` as a sync works it out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SetStatus {
    pub(super) observed_generation: i64,
    pub(super) replicas: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) current: i64,
    pub(super) updated: i64,
    pub(super) current_revision: String,
    pub(super) update_revision: String,
    collision_count: i32,
    /// Those of the set from 1.37 on; earlier versions drop them with each write.
    conditions: Vec<Value>,
}

impl SetStatus {
    /// The status before anything is counted.
    pub(super) fn begin(set: &Set, found: &Found, compat: Compat) -> Self {
        let conditions = set.object.pointer("/status/conditions").and_then(Value::as_array);
        let conditions = conditions.filter(|_| compat.version >= Version::V1_37);
        Self {
            observed_generation: set.object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            replicas: 0,
            ready: 0,
            available: 0,
            current: 0,
            updated: 0,
            current_revision: found.current.name.clone(),
            update_revision: found.update.name.clone(),
            collision_count: found.collision_count,
            conditions: conditions.cloned().unwrap_or_default(),
        }
    }

    pub(super) fn clear_counts(&mut self) {
        (self.replicas, self.ready, self.available, self.current, self.updated) = (0, 0, 0, 0, 0);
    }

    /// Puts a condition in the place of the one of its type; its time is that of the last change of its status.
    pub(super) fn put_condition(&mut self, mut condition: Value, now: Timestamp) {
        let whole = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
        let known = self.conditions.iter_mut().find(|it| it["type"] == condition["type"]);
        let same = known.as_ref().filter(|it| it["status"] == condition["status"]);
        condition["lastTransitionTime"] = same.map_or(whole.into(), |it| it["lastTransitionTime"].clone());
        match known {
            Some(known) => *known = condition,
            None => self.conditions.push(condition),
        }
    }

    /// The current revision becomes the update's once every pod is updated and Ready. Neither the partition nor
    /// minReadySeconds is asked, and no replicas are as good as all.
    ///
    /// Mirrors `completeRollingUpdate`; 1.37 does it whatever the strategy.
    fn complete(&mut self, set: &Set, compat: Compat, now: Timestamp) {
        let rolls = set.strategy == Strategy::RollingUpdate || compat.version >= Version::V1_37;
        if rolls && [self.updated, self.ready, self.replicas] == [set.replicas; 3] {
            self.current = self.updated;
            self.current_revision.clone_from(&self.update_revision);
            let progressing = |it: &&Value| it["type"] == PROGRESSING && it["status"] == "True";
            if set.strategy == Strategy::Recreate && self.conditions.iter().any(|it| progressing(&it)) {
                self.put_condition(condition("False", "RecreateComplete", "All pods are of the new revision"), now);
            }
        }
    }

    /// Whether it has to be written. A count of collisions alone is no reason.
    ///
    /// Mirrors `inconsistentStatus`.
    fn differs(&self, stored: &Value, compat: Compat) -> bool {
        let number = |field| stored.get(field).and_then(Value::as_i64).unwrap_or(0);
        let text = |field| stored.get(field).and_then(Value::as_str).unwrap_or_default();
        let conditions = stored.get("conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.observed_generation > number("observedGeneration")
            || self.replicas != number("replicas")
            || self.current != number("currentReplicas")
            || self.ready != number("readyReplicas")
            || self.updated != number("updatedReplicas")
            || self.current_revision != text("currentRevision")
            || self.available != number("availableReplicas")
            || self.update_revision != text("updateRevision")
            || (compat.version >= Version::V1_37 && self.conditions != conditions)
    }

    /// As the API has it: `replicas` and `availableReplicas` are always there, zeros otherwise left out, but for the
    /// collisions.
    pub(super) fn to_json(&self) -> Value {
        let mut status = json!({
            "replicas": self.replicas,
            "availableReplicas": self.available,
            "collisionCount": self.collision_count,
        });
        for (field, number) in [
            ("observedGeneration", self.observed_generation),
            ("readyReplicas", self.ready),
            ("currentReplicas", self.current),
            ("updatedReplicas", self.updated),
        ] {
            if number != 0 {
                status[field] = number.into();
            }
        }
        for (field, name) in [("currentRevision", &self.current_revision), ("updateRevision", &self.update_revision)] {
            if !name.is_empty() {
                status[field] = name.as_str().into();
            }
        }
        if !self.conditions.is_empty() {
            status["conditions"] = self.conditions.clone().into();
        }
        status
    }
}

impl Sync<'_> {
    /// Writes the status where it differs; over a conflict with the set as the cache has it then.
    ///
    /// Mirrors `updateStatefulSetStatus` and `stateful_set_status_updater.go`.
    pub(super) fn write_status(&mut self, status: &mut SetStatus) -> Result<(), Errors> {
        status.complete(self.set, self.compat, self.now);
        if self.compat.max_unavailable {
            self.set.max_unavailable().map_err(Errors::of)?;
        }
        if !status.differs(self.set.object.get("status").unwrap_or(&Value::Null), self.compat) {
            return Ok(());
        }
        let mut set = self.set.object.clone();
        let mut refused = Ok(());
        for _ in 0..MOST_ATTEMPTS {
            let mut object = set.as_ref().clone();
            object["status"] = status.to_json();
            let Err(refusal) = self.control.update_status(Resource::StatefulSets, object) else { return Ok(()) };
            let again = refusal.reason == "Conflict";
            refused = Err(refusal.into());
            if !again {
                break;
            }
            if let Some(fresh) = self.control.cached(Resource::StatefulSets, &self.set.namespace, &self.set.name) {
                set = fresh;
            }
        }
        refused
    }
}
