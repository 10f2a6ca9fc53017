//! Pods.

use serde_json::{Map, Value, json};

use super::super::route::Sub;
use super::pod_spec;
use crate::manifest::default;
use crate::manifest::shown::Shown;
use crate::manifest::stateful_set::pod_refusals;
use crate::sim::compat::Compat;
use crate::sim::status::Cause;

pub(super) fn shape(object: &mut Map<String, Value>, compat: Compat) {
    let mut spec = default::pod_spec(object.get("spec").unwrap_or(&Value::Null), compat.level());
    pod_spec::defaults(&mut spec);
    object.insert("spec".into(), spec);
    let status = object.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    if status["phase"].is_null() {
        status["phase"] = "Pending".into();
    }
    object.retain(|field, _| ["apiVersion", "kind", "metadata", "spec", "status"].contains(&field.as_str()));
}

/// What `podStrategy.PrepareForCreate` and admission (`Priority`, `DefaultTolerationSeconds`) put in.
pub(super) fn prepare(object: &mut Value) {
    object["metadata"]["generation"] = json!(1);
    let spec = &mut object["spec"];
    pod_spec::admit(spec);
    let class = pod_spec::quality(spec);
    object["status"] = json!({"phase": "Pending", "qosClass": class});
}

pub(super) fn prepare_change(sub: Sub, old: &Value, new: &mut Value) {
    if sub == Sub::None {
        if let Some(spec) = new["spec"].as_object_mut() {
            pod_spec::tolerate(spec);
        }
        super::next_generation(old, new);
    }
    // A kubelet need not say the class again.
    if let (Some(class), true) = (old.pointer("/status/qosClass"), new["status"]["qosClass"].is_null()) {
        new["status"]["qosClass"] = class.clone();
    }
}

/// Here also what a set's template got away with is refused, and the label that too long a name of the set gives.
pub(super) fn check(object: &Value, compat: Compat) -> Vec<Cause> {
    super::causes(pod_refusals(&object["spec"], compat.level()))
}

pub(super) fn check_change(old: &Value, new: &Value, compat: Compat) -> Vec<Cause> {
    let fixed = |pod: &Value| {
        let mut spec = pod["spec"].clone();
        for list in ["containers", "initContainers"] {
            for container in spec[list].as_array_mut().into_iter().flatten() {
                container["image"] = Value::Null;
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|field, _| !["activeDeadlineSeconds", "tolerations"].contains(&field.as_str()));
        }
        spec
    };
    if old["spec"] == new["spec"] {
        return Vec::new();
    }
    let count = |pod: &Value| pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    if count(old) != count(new) {
        return vec![Cause::forbidden("spec.containers", "pod updates may not add or remove containers")];
    }
    let mut causes = check(new, compat);
    // The server looks at images once more.
    let images = causes.iter().filter(|it| it.field.ends_with("].image")).cloned();
    let images: Vec<Cause> = images.collect();
    causes.extend(images);
    let deadline = |pod: &Value| pod["spec"]["activeDeadlineSeconds"].as_i64();
    match (deadline(old), deadline(new)) {
        (Some(before), Some(now)) if now > before => {
            let words = "must be less than or equal to previous value";
            causes.push(Cause::invalid("spec.activeDeadlineSeconds", &now.into(), words));
        }
        (Some(_), None) => {
            let words = "must not update from a positive integer to nil value";
            causes.push(Cause::shown(
                "spec.activeDeadlineSeconds",
                Shown::optional(&Value::Null).at(compat.level()),
                words,
            ));
        }
        _ => {}
    }
    let tolerations = |pod: &Value| pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let timeless = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration.as_object_mut().map(|it| it.remove("tolerationSeconds"));
        toleration
    };
    let now: Vec<Value> = tolerations(new).iter().map(timeless).collect();
    if tolerations(old).iter().any(|toleration| !now.contains(&timeless(toleration))) {
        let words = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", words));
    }
    if fixed(old) != fixed(new) {
        let words = "pod updates may not change fields other than `spec.containers[*].image`,\
            `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
            tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        causes.push(Cause::forbidden("spec", words));
    }
    causes
}

/// The class is fixed when a pod is made.
pub(super) fn check_status(old: &Value, new: &Value) -> Vec<Cause> {
    let (before, now) = (&old["status"]["qosClass"], &new["status"]["qosClass"]);
    if before == now {
        return Vec::new();
    }
    vec![Cause::invalid("status.qosClass", now, "field is immutable")]
}

/// Mirrors `podStrategy.CheckGracefulDelete`.
pub(super) fn grace(pod: &Value, asked: Option<i64>) -> i64 {
    let own = || pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let unscheduled = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    if unscheduled || ended {
        return 0;
    }
    let period = asked.unwrap_or_else(own);
    if period < 0 { 1 } else { period }
}
