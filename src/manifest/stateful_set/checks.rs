//! The checks of a StatefulSet's fields, one function for each part of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::findings::Findings;
use super::super::places::join;
use super::super::words::{found, is_dns_label, show};
use super::{ADOPT, ALLOW_CLAIM_DELETION, RESERVED, annotation};

/// Where a manifest states a partition.
pub(super) const PARTITION: &str = "/spec/updateStrategy/rollingUpdate/partition";

/// The greatest count that Kubernetes' fields hold.
const MAX_COUNT: i64 = i32::MAX as i64;

/// Checks everything but the name.
pub(super) fn run(value: &Value, findings: &mut Findings<'_>) {
    let Some(spec) = value.get("spec").and_then(Value::as_object) else {
        findings.error("/spec", "the set has no `spec`").hint = PATCH.into();
        return;
    };
    if is_patch(value, spec) {
        findings
            .error("/spec", "looks like a kustomize patch, not a whole StatefulSet: neither selector nor image")
            .hint = PATCH.into();
        return;
    }
    exported(value, findings);
    annotations(value, findings);
    selector(value, findings);
    strategy(value, findings);
    counts(value, findings);
    pods(value, findings);
    null_items(value, findings);
}

const PATCH: &str = "render the kustomization (`kubectl kustomize`) in CI and commit what comes out";

fn is_patch(value: &Value, spec: &Map<String, Value>) -> bool {
    let images = |list: &str| {
        let containers = value.pointer(list).and_then(Value::as_array);
        containers.is_some_and(|list| list.iter().any(|container| container.get("image").is_some()))
    };
    !spec.contains_key("selector") && !images("/spec/template/spec/containers")
}

/// An object taken from a cluster names one object there, and no other one may be made from it.
fn exported(value: &Value, findings: &mut Findings<'_>) {
    for key in ["uid", "resourceVersion"] {
        if value.pointer("/metadata").and_then(|metadata| metadata.get(key)).is_some_and(|value| !value.is_null()) {
            let message = format!("`metadata.{key}` belongs to one object of one cluster");
            findings.key_error(&join("/metadata", key), message).hint =
                "the manifest was exported from a cluster: remove `uid`, `resourceVersion` and `status`".into();
        }
    }
}

fn annotations(value: &Value, findings: &mut Findings<'_>) {
    let at = |key: &str| join("/metadata/annotations", key);
    for key in RESERVED {
        if annotation(value, key).is_some() {
            let message = format!("the annotation `{key}` is Phaseline's own");
            findings.key_error(&at(key), message).hint = "remove it from the manifest".into();
        }
    }
    for key in [ADOPT, ALLOW_CLAIM_DELETION] {
        match annotation(value, key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if matches!(text.as_str(), "true" | "false") => {}
            Some(Value::String(text)) => {
                findings.warning(&at(key), format!("{} is taken for \"false\"", show(text)));
            }
            Some(other) => {
                let message = format!("an annotation is text, not {}", found(other));
                findings.error(&at(key), message).hint = "quote it: \"true\"".into();
            }
        }
    }
}

fn selector(value: &Value, findings: &mut Findings<'_>) {
    let Some(selector) = value.pointer("/spec/selector").filter(|selector| !selector.is_null()) else {
        findings.error("/spec", "the set has no `spec.selector`").hint =
            "select the labels of `spec.template.metadata.labels`".into();
        return;
    };
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    if wanted.is_none_or(Map::is_empty) && expressions.is_none_or(Vec::is_empty) {
        findings.error("/spec/selector", "the selector is empty").hint =
            "select the labels of `spec.template.metadata.labels`".into();
        return;
    }
    let none = Map::new();
    let labels = value.pointer("/spec/template/metadata/labels").and_then(Value::as_object).unwrap_or(&none);
    for (key, label) in wanted.unwrap_or(&none) {
        if labels.get(key) != Some(label) {
            let message =
                format!("the selector wants {} to be {}, the template's labels do not say so", show(key), found(label));
            findings.error(&join("/spec/selector/matchLabels", key), message).hint =
                "selector and `spec.template.metadata.labels` have to agree".into();
        }
    }
    for (index, expression) in expressions.into_iter().flatten().enumerate() {
        if !matches_expression(expression, labels) {
            let message = "the selector does not match the template's labels";
            findings.error(&format!("/spec/selector/matchExpressions/{index}"), message).hint =
                "selector and `spec.template.metadata.labels` have to agree".into();
        }
    }
}

fn matches_expression(expression: &Value, labels: &Map<String, Value>) -> bool {
    let label = expression.get("key").and_then(Value::as_str).and_then(|key| labels.get(key));
    let values = expression.get("values").and_then(Value::as_array);
    let listed = || label.is_some_and(|label| values.is_some_and(|values| values.contains(label)));
    match expression.get("operator").and_then(Value::as_str) {
        Some("In") => listed(),
        Some("NotIn") => !listed(),
        Some("Exists") => label.is_some(),
        Some("DoesNotExist") => label.is_none(),
        _ => false,
    }
}

fn strategy(value: &Value, findings: &mut Findings<'_>) {
    match value.pointer("/spec/updateStrategy/type") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind == "RollingUpdate" => {}
        Some(Value::String(kind)) if kind == "OnDelete" => {
            findings.error("/spec/updateStrategy/type", "with `OnDelete` nothing would roll").hint =
                "Phaseline drives `RollingUpdate`".into();
        }
        Some(other) => {
            let message = format!("{} is no update strategy", found(other));
            findings.error("/spec/updateStrategy/type", message).hint = "Phaseline drives `RollingUpdate`".into();
        }
    }
    let at = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    match value.pointer(at) {
        None | Some(Value::Null) => {}
        Some(Value::Number(number)) if number.as_i64().is_some_and(|count| (1..=MAX_COUNT).contains(&count)) => {}
        Some(Value::String(text)) if percent(text).is_some_and(|percent| (1..=100).contains(&percent)) => {}
        Some(other) => {
            findings.error(at, format!("`maxUnavailable` cannot be {}", found(other))).hint =
                "a number of pods from 1, or a share from \"1%\" to \"100%\"".into();
        }
    }
}

fn percent(text: &str) -> Option<u32> {
    let digits = text.strip_suffix('%')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn counts(value: &Value, findings: &mut Findings<'_>) {
    for at in ["/spec/replicas", PARTITION, "/spec/minReadySeconds", "/spec/ordinals/start"] {
        let name = at.trim_start_matches('/').replace('/', ".");
        match value.pointer(at) {
            None | Some(Value::Null) => {}
            Some(Value::Number(number)) if number.as_i64().is_some_and(|count| (0..=MAX_COUNT).contains(&count)) => {}
            Some(Value::Number(number)) => {
                let message = format!("`{name}` cannot be {number}");
                findings.error(at, message).hint = format!("a whole number from 0 to {MAX_COUNT}");
            }
            Some(other) => {
                let message = format!("`{name}` is {}, not a number", found(other));
                findings.error(at, message).hint = match other {
                    Value::String(text) if text.parse::<u32>().is_ok() => "write it without quotes".into(),
                    _ => format!("a whole number from 0 to {MAX_COUNT}"),
                };
            }
        }
    }
}

fn pods(value: &Value, findings: &mut Findings<'_>) {
    let Some(pod) = value.pointer("/spec/template/spec").and_then(Value::as_object) else {
        findings.error("/spec/template", "the set has no `spec.template.spec`").hint =
            "describe the pods: at least one container".into();
        return;
    };
    match pod.get("restartPolicy") {
        None | Some(Value::Null) => {}
        Some(Value::String(policy)) if policy == "Always" => {}
        Some(other) => {
            let message = format!("`restartPolicy` cannot be {}", found(other));
            findings.error("/spec/template/spec/restartPolicy", message).hint = "only `Always` in a StatefulSet".into();
        }
    }
    if pod.get("containers").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        findings.error("/spec/template/spec/containers", "the pods have no containers").hint =
            "list at least one in `spec.template.spec.containers`".into();
    }
    let mut seen = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        for (index, container) in pod.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let at = format!("/spec/template/spec/{list}/{index}");
            match container.get("name") {
                Some(Value::String(name)) if !is_dns_label(name) => {
                    findings.error(&join(&at, "name"), format!("{} is no name of a container", show(name))).hint =
                        super::DNS_LABEL.into();
                }
                Some(Value::String(name)) if seen.insert(name) => {}
                Some(Value::String(name)) => {
                    findings.error(&join(&at, "name"), format!("there are two containers {}", show(name))).hint =
                        "init containers share the names".into();
                }
                _ => {
                    findings.error(&at, "the container has no name");
                }
            }
        }
    }
}

/// A list item without a value is refused by the server, with a message that does not say where. The first is told.
fn null_items(value: &Value, findings: &mut Findings<'_>) {
    if let Some(mut names) = null_item(value) {
        names.reverse();
        let at = names.iter().fold(String::new(), |at, name| join(&at, name));
        findings.error(&at, "a list item without a value").hint = "remove the `-`, or write the item".into();
    }
}

/// The way to the first list item without a value, innermost name first.
fn null_item(value: &Value) -> Option<Vec<String>> {
    let below = |name: &str, value: &Value| {
        let mut names = null_item(value)?;
        names.push(name.to_owned());
        Some(names)
    };
    match value {
        Value::Object(map) => map.iter().find_map(|(key, value)| below(key, value)),
        Value::Array(list) => list.iter().enumerate().find_map(|(index, value)| {
            let name = index.to_string();
            if value.is_null() { Some(vec![name]) } else { below(&name, value) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
