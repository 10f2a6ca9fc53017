//! PersistentVolumeClaims.

use serde_json::{Map, Value, json};

use crate::manifest::default;
use crate::manifest::stateful_set::claim_refusals;
use crate::sim::compat::Compat;
use crate::sim::status::Cause;

/// The class that a claim without one gets: the embedded cluster has one, and it is the default.
const DEFAULT_CLASS: &str = "standard";

/// What keeps a claim while a pod uses it.
const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(super) fn shape(object: &mut Map<String, Value>, compat: Compat) {
    let spec = default::claim_spec(object.get("spec").unwrap_or(&Value::Null), compat.level());
    object.insert("spec".into(), spec);
    let status = object.entry("status").or_insert_with(|| json!({}));
    if status["phase"].is_null() {
        status["phase"] = "Pending".into();
    }
    object.retain(|field, _| ["apiVersion", "kind", "metadata", "spec", "status"].contains(&field.as_str()));
}

/// `StorageObjectInUseProtection` and `DefaultStorageClass` are admission, on by default.
pub(super) fn prepare(object: &mut Value) {
    object["status"] = json!({"phase": "Pending"});
    if object["spec"].get("storageClassName").is_none() {
        object["spec"]["storageClassName"] = DEFAULT_CLASS.into();
    }
    let metadata = &mut object["metadata"];
    match metadata["finalizers"].as_array_mut() {
        Some(finalizers) if finalizers.iter().any(|it| it == PROTECTION) => {}
        Some(finalizers) => finalizers.push(PROTECTION.into()),
        None => metadata["finalizers"] = json!([PROTECTION]),
    }
}

pub(super) fn check(object: &Value, compat: Compat) -> Vec<Cause> {
    super::causes(claim_refusals(&object["spec"], compat.level()))
}

pub(super) fn check_change(old: &Value, new: &Value, compat: Compat) -> Vec<Cause> {
    if old["spec"] == new["spec"] {
        return Vec::new();
    }
    let mut causes = check(new, compat);
    let bound = old["status"]["phase"] == "Bound";
    let fixed = |claim: &Value| {
        let mut spec = claim["spec"].clone();
        // Only what is bound may grow.
        if let Some(requests) = spec["resources"]["requests"].as_object_mut().filter(|_| bound) {
            requests.remove("storage");
        }
        spec
    };
    // A claim may be bound once, by the binder; from then on nothing but its size changes.
    let mut before = fixed(old);
    let now = fixed(new);
    if before.get("volumeName").is_none() && now.get("volumeName").is_some() {
        before["volumeName"] = now["volumeName"].clone();
    }
    if before != now {
        let message =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        causes.push(Cause::forbidden("spec", message));
    }
    causes
}
