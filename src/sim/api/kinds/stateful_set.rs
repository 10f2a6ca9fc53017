//! StatefulSets.

use serde_json::{Map, Value, json};

use super::super::route::Sub;
use crate::manifest::default;
use crate::manifest::stateful_set::refusals;
use crate::manifest::update::MUTABLE;
use crate::sim::compat::Compat;
use crate::sim::status::Cause;

/// What the server says of a change of any other.
const FIXED: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

pub(super) fn shape(object: &mut Map<String, Value>, compat: Compat) {
    let given = object.get("spec").unwrap_or(&Value::Null);
    let most = given.pointer("/updateStrategy/rollingUpdate/maxUnavailable").filter(|it| !it.is_null()).cloned();
    let mut spec = default::stateful_set(given, compat.level());
    if let (Some(most), Some(block)) = (most, spec.pointer_mut("/updateStrategy/rollingUpdate"))
        && compat.max_unavailable
    {
        block["maxUnavailable"] = most;
    }
    fill_max_unavailable(&mut spec, compat);
    object.insert("spec".into(), spec);
    shape_status(object.entry("status").or_insert_with(|| json!({})));
    object.retain(|field, _| ["apiVersion", "kind", "metadata", "spec", "status"].contains(&field.as_str()));
}

/// A set that was decoded from a request, with what the gates fill in.
pub(super) fn gated(mut set: Value, compat: Compat) -> Value {
    if let Some(spec) = set.get_mut("spec") {
        fill_max_unavailable(spec, compat);
    }
    set
}

/// What a block `rollingUpdate` gets by default where the gate is open.
fn fill_max_unavailable(spec: &mut Value, compat: Compat) {
    let strategy = spec.get_mut("updateStrategy").filter(|it| it["type"] == "RollingUpdate" && compat.max_unavailable);
    if let Some(block) = strategy.and_then(|it| it.get_mut("rollingUpdate")?.as_object_mut()) {
        block.entry("maxUnavailable").or_insert(json!(1));
    }
}

/// Two counts are always written, the others where they are not 0.
pub(super) fn shape_status(status: &mut Value) {
    if !status.is_object() {
        *status = json!({});
    }
    let Some(status) = status.as_object_mut() else { return };
    status.retain(|_, value| !value.is_null() && value != "");
    for always in ["replicas", "availableReplicas"] {
        status.entry(always).or_insert_with(|| json!(0));
    }
    for nonzero in ["observedGeneration", "readyReplicas", "currentReplicas", "updatedReplicas"] {
        if status.get(nonzero).is_some_and(|it| it == 0) {
            status.remove(nonzero);
        }
    }
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        // A time in Go is never left out.
        if let Some(condition) = condition.as_object_mut() {
            condition.entry("lastTransitionTime").or_insert(Value::Null);
        }
    }
    if status.get("conditions").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        status.remove("conditions");
    }
}

pub(super) fn prepare(object: &mut Value) {
    object["status"] = json!({"replicas": 0, "availableReplicas": 0});
    object["metadata"]["generation"] = json!(1);
}

pub(super) fn prepare_change(sub: Sub, old: &Value, new: &mut Value) {
    if sub != Sub::Status {
        super::next_generation(old, new);
    }
}

/// The metadata has been checked already.
pub(super) fn check(object: &Value, compat: Compat) -> Vec<Cause> {
    super::causes(refusals(&object["spec"], compat.level()))
}

pub(super) fn check_change(old: &Value, new: &Value, compat: Compat) -> Vec<Cause> {
    let mut causes = check(new, compat);
    let fixed = |set: &Value| -> Map<String, Value> {
        let fields = set["spec"].as_object().into_iter().flatten();
        fields.filter(|(name, _)| !MUTABLE.contains(&name.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    if fixed(old) != fixed(new) {
        causes.push(Cause::forbidden("spec", FIXED));
    }
    causes
}

/// Mirrors `ValidateStatefulSetStatus`.
pub(super) fn check_status(old: &Value, new: &Value) -> Vec<Cause> {
    let (old, new) = (&old["status"], &new["status"]);
    let count = |status: &Value, name: &str| status[name].as_i64().unwrap_or(0);
    let mut causes = Vec::new();
    let mut wrong = |name: &str, number: i64, words: &str| {
        causes.push(Cause::invalid(&format!("status.{name}"), &number.into(), words));
    };
    let counts = ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    for name in counts.into_iter().chain(["observedGeneration", "collisionCount"]) {
        let number = count(new, name);
        if number < 0 {
            wrong(name, number, "must be greater than or equal to 0");
        }
    }
    for name in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
        let number = count(new, name);
        if number > count(new, "replicas") {
            wrong(name, number, "cannot be greater than status.replicas");
        }
    }
    if count(new, "availableReplicas") > count(new, "readyReplicas") {
        wrong("availableReplicas", count(new, "availableReplicas"), "cannot be greater than status.readyReplicas");
    }
    if count(new, "collisionCount") < count(old, "collisionCount") {
        wrong("collisionCount", count(new, "collisionCount"), "cannot be decremented");
    }
    causes
}
