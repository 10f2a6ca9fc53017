//! `/eviction`: a DELETE of a pod that keeps to the disruption budgets.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Terms;
use super::create::now;
use super::delete::{Deletion, check_preconditions, delete};
use super::route::Sub;
use super::update::{Owned, change};
use crate::manifest::Selector;
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// Evicts a pod, unless a budget forbids it.
///
/// # Errors
/// 429 where a budget would not be kept; else as the server refuses a DELETE.
pub(crate) fn evict(world: &mut World, key: &Key, options: &Deletion) -> Result<(), Status> {
    let pod = world.store.get(key).cloned().ok_or_else(|| Status::not_found(key.resource, &key.name))?;
    let text = |at: &str| pod.pointer(at).and_then(Value::as_str).unwrap_or_default();
    // Who is not at work is missed by nobody.
    let idle = matches!(text("/status/phase"), "Pending" | "Succeeded" | "Failed")
        || pod.pointer("/metadata/deletionTimestamp").is_some();
    if !idle {
        let budgets = world.store.list(Resource::Budgets, Some(&key.namespace)).map(|(_, budget)| budget.clone());
        let budgets: Vec<_> = budgets.filter(|budget| selects(budget, &pod)).collect();
        match budgets.as_slice() {
            [] => {}
            [budget] => keep_to(world, key, &pod, budget)?,
            _ => {
                let words = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not \
                     support.";
                return Err(Status::new(500, "", words));
            }
        }
    }
    check_preconditions(key, &pod, options)?;
    let mut options = options.clone();
    if !options.dry_run {
        let marked = mark(world, key, &pod)?;
        // Who asked for a version meant the one before that.
        options.version = options.version.and(marked["metadata"]["resourceVersion"].as_str().map(str::to_owned));
    }
    delete(world, key, &options)?;
    Ok(())
}

/// Says in the pod's status why it goes. Mirrors `addConditionAndDeletePod`.
fn mark(world: &mut World, key: &Key, pod: &Arc<Value>) -> Result<Arc<Value>, Status> {
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now(world),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    let mut marked = Value::clone(pod);
    let conditions = &mut marked["status"]["conditions"];
    match conditions.as_array_mut() {
        Some(conditions) => {
            conditions.retain(|it| it["type"] != "DisruptionTarget");
            conditions.push(condition);
        }
        None => *conditions = json!([condition]),
    }
    change(world, key, pod, Sub::Status, marked, &Terms::of("kube-apiserver"), Owned::ByWriter)
}

/// Refuses what would leave too few.
fn keep_to(world: &World, key: &Key, pod: &Value, budget: &Value) -> Result<(), Status> {
    let spec = &budget["spec"];
    let pods = world.store.list(Resource::Pods, Some(&key.namespace)).map(|(_, pod)| pod);
    let all: Vec<_> = pods.filter(|it| selects(budget, it)).collect();
    let expected = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let healthy = all.iter().filter(|it| is_healthy(it)).count();
    let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
    let desired = match (count(&spec["minAvailable"], expected), count(&spec["maxUnavailable"], expected)) {
        (Some(least), _) => least,
        (None, Some(most)) => (expected - most).max(0),
        // A budget that says nothing lets one go at a time.
        (None, None) => (expected - 1).max(0),
    };
    let enough = healthy > desired;
    let broken = !is_healthy(pod);
    let always = spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
    if enough || broken && (always || healthy >= desired && desired > 0) {
        return Ok(());
    }
    let name = budget["metadata"]["name"].as_str().unwrap_or_default();
    let told = format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently");
    let words = "Cannot evict pod as it would violate the pod's disruption budget.";
    let details = json!({"causes": [{"reason": "DisruptionBudget", "message": told}]});
    Err(Status { details, ..Status::new(429, "TooManyRequests", words) })
}

/// Whether a budget is about a pod; one whose selector cannot be read is about none.
fn selects(budget: &Value, pod: &Value) -> bool {
    let labels = pod["metadata"]["labels"].as_object();
    Selector::read(budget["spec"].get("selector")).is_ok_and(|selector| selector.matches(labels))
}

fn is_healthy(pod: &Value) -> bool {
    let ready = pod["status"]["conditions"].as_array().into_iter().flatten();
    pod.pointer("/metadata/deletionTimestamp").is_none()
        && ready.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// A number, or a share of the pods there should be, rounded up.
fn count(value: &Value, of: i64) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            Some(percent.saturating_mul(of).saturating_add(99) / 100)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::count;

    #[test]
    fn a_share_is_rounded_up() {
        assert_eq!(count(&json!("50%"), 3), Some(2));
        assert_eq!(count(&json!(2), 3), Some(2));
        assert_eq!(count(&json!(null), 3), None);
        assert_eq!(count(&json!("half"), 3), None);
    }
}
