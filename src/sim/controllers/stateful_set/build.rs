//! Builds the pods and the claims of a set.

use serde_json::{Map, Value, json};

use super::pod::{POD_INDEX, POD_NAME, REVISION};
use super::set::{Set, Strategy};
use crate::sim::controllers::meta;

/// Whether the pod of a missing ordinal is made of the update revision.
///
/// Where the set rolls with a partition, ordinals below it are made of the current one. Without a `rollingUpdate` block
/// that is so for as many ordinals as the status last counted at the current revision.
///
/// Mirrors `newVersionedStatefulSetPod` in `stateful_set_utils.go`, which asks for the type in the second case only.
pub(super) fn is_of_update(set: &Set, ordinal: i64) -> bool {
    let held = match &set.rolling {
        Some(rolling) => rolling.partition,
        None if set.strategy == Strategy::RollingUpdate => {
            set.object.pointer("/status/currentReplicas").and_then(Value::as_i64).unwrap_or(0)
        }
        None => 0,
    };
    ordinal >= set.start.saturating_add(held)
}

/// The pod of an ordinal, as it is sent to the API.
///
/// Mirrors `newStatefulSetPod` and `GetPodFromTemplate`; the claims' volumes come first, in the order of the templates.
pub(super) fn pod(set: &Set, template: &Value, ordinal: i64, revision: &str) -> Value {
    let name = format!("{}-{ordinal}", set.name);
    let of_template = |field: &str| template.get("metadata").and_then(|it| it.get(field));
    let mut labels = of_template("labels").and_then(Value::as_object).cloned().unwrap_or_default();
    put_identity(&mut labels, &name, ordinal);
    labels.insert(REVISION.into(), revision.into());
    let owner = meta::controller_reference("apps/v1", "StatefulSet", &set.name, &set.uid);
    let mut metadata = json!({
        "name": name,
        "namespace": set.namespace,
        "generateName": format!("{}-", set.name),
        "labels": labels,
        "ownerReferences": [owner],
    });
    if let Some(annotations) = of_template("annotations").filter(|it| it.as_object().is_some_and(|it| !it.is_empty())) {
        metadata["annotations"] = annotations.clone();
    }
    if let Some(finalizers) = of_template("finalizers").filter(|it| it.as_array().is_some_and(|it| !it.is_empty())) {
        metadata["finalizers"] = finalizers.clone();
    }
    let mut spec = template.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    spec.insert("hostname".into(), name.into());
    match set.object.pointer("/spec/serviceName").and_then(Value::as_str).unwrap_or_default() {
        "" => spec.remove("subdomain"),
        service => spec.insert("subdomain".into(), service.into()),
    };
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    put_storage(set, &mut pod, ordinal);
    pod
}

/// Gives a pod the name and the labels of its ordinal.
///
/// Mirrors `updateIdentity`.
pub(super) fn put_back_identity(set: &Set, pod: &mut Value, ordinal: i64) {
    let name = format!("{}-{ordinal}", set.name);
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("name".into(), name.clone().into());
        metadata.insert("namespace".into(), set.namespace.clone().into());
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if !labels.is_object() {
            *labels = json!({});
        }
        if let Some(labels) = labels.as_object_mut() {
            put_identity(labels, &name, ordinal);
        }
    }
}

fn put_identity(labels: &mut Map<String, Value>, name: &str, ordinal: i64) {
    labels.insert(POD_NAME.into(), name.into());
    labels.insert(POD_INDEX.into(), ordinal.to_string().into());
}

/// Puts the claims of an ordinal in the place of volumes with their names.
///
/// Mirrors `updateStorage`.
pub(super) fn put_storage(set: &Set, pod: &mut Value, ordinal: i64) {
    let templates = set.claim_templates();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let before = spec.remove("volumes");
    let claims = templates.iter().map(|template| {
        let claim = json!({"claimName": set.claim_name(template, ordinal)});
        json!({"name": meta::text(template, "name"), "persistentVolumeClaim": claim})
    });
    let others = before.as_ref().and_then(Value::as_array).into_iter().flatten();
    let others = others.filter(|volume| !templates.iter().any(|it| meta::text(it, "name") == volume["name"]));
    let volumes: Vec<Value> = claims.chain(others.cloned()).collect();
    if !volumes.is_empty() {
        spec.insert("volumes".into(), volumes.into());
    }
}

/// The claims of an ordinal, as they are sent to the API.
///
/// Mirrors `getPersistentVolumeClaims`.
pub(super) fn claims(set: &Set, ordinal: i64) -> Vec<Value> {
    let selected = set.object.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let claim = |template: &Value| {
        let mut claim = template.clone();
        if let Some(object) = claim.as_object_mut() {
            object.insert("apiVersion".into(), "v1".into());
            object.insert("kind".into(), "PersistentVolumeClaim".into());
            let metadata = object.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("name".into(), set.claim_name(template, ordinal).into());
                metadata.insert("namespace".into(), set.namespace.clone().into());
                let mut labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
                labels.extend(selected.cloned().unwrap_or_default());
                if !labels.is_empty() {
                    metadata.insert("labels".into(), labels.into());
                }
            }
        }
        claim
    };
    set.claim_templates().iter().map(claim).collect()
}
