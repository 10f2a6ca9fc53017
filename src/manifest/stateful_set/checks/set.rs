//! Checks the spec of the set itself, as every version of the server does.

use serde_json::Value;

use super::super::super::words::{found, show};
use super::metadata;
use super::names::dns_label;
use super::node::{At, Node, Report};

const AGREE: &str = "selector and `spec.template.metadata.labels` have to agree";
const SELECT: &str = "select the labels of `spec.template.metadata.labels`";

/// The spec as the server defaults it.
pub(super) fn check(spec: &Node<'_>, report: &mut Report<'_, '_>) {
    strategy(spec, report);
    for name in ["whenDeleted", "whenScaled"] {
        report.one_of(&spec.field("persistentVolumeClaimRetentionPolicy"), name, &["Retain", "Delete"]);
    }
    report.one_of(spec, "podManagementPolicy", &["OrderedReady", "Parallel"]);
    for (node, name) in [
        (spec, "replicas"),
        (spec, "minReadySeconds"),
        (&spec.field("ordinals"), "start"),
        (&spec.field("updateStrategy").field("rollingUpdate"), "partition"),
    ] {
        if let Some(number) = node.int(name).filter(|number| *number < 0) {
            report.invalid(&node.at(name), &Value::from(number), "must not be negative");
        }
    }
    if !spec.text("serviceName").is_empty() {
        report.check(&spec.at("serviceName"), spec.text("serviceName"), dns_label);
    }
    let template = spec.field("template");
    selector(spec, &template, report);
    let meta = template.field("metadata");
    metadata::labels(&meta, "labels", report);
    metadata::annotations(&meta, report);
    metadata::pod_annotations(&template, report);
    let pod = template.field("spec");
    if let Some(policy) = pod.given("restartPolicy").filter(|policy| *policy != "Always") {
        report.unsupported(&pod.at("restartPolicy"), policy, &["Always"]);
    }
    if pod.has("activeDeadlineSeconds") {
        report.forbidden(&pod.at("activeDeadlineSeconds"), "the pods of a StatefulSet have no deadline");
    }
}

fn strategy(spec: &Node<'_>, report: &mut Report<'_, '_>) {
    let strategy = spec.field("updateStrategy");
    match strategy.text("type") {
        "OnDelete" if strategy.has("rollingUpdate") => {
            report.forbidden(&strategy.at("rollingUpdate"), "only with the type `RollingUpdate`");
        }
        "RollingUpdate" | "OnDelete" => {}
        other => report.unsupported(&strategy.at("type"), other, &["RollingUpdate", "OnDelete"]),
    }
}

fn selector(spec: &Node<'_>, template: &Node<'_>, report: &mut Report<'_, '_>) {
    let at = spec.at("selector");
    let error = |report: &mut Report<'_, '_>, at: &At, message: String, hint: &str| {
        let finding = report.findings.error(&at.pointer, message);
        (finding.hint, finding.path, finding.code) = (hint.into(), at.path.clone(), "selector".into());
    };
    let Some(selector) = spec.get("selector") else {
        let nowhere = At { pointer: "/spec".into(), path: at.path };
        return error(report, &nowhere, "the set has no `spec.selector`".into(), SELECT);
    };
    metadata::selector(Some(&selector), report);
    let empty = |name: &str| selector.map(name).next().is_none() && selector.items(name).is_empty();
    if empty("matchLabels") && empty("matchExpressions") {
        return error(report, &at, "the selector is empty".into(), SELECT);
    }
    let labels = template.field("metadata").field("labels");
    if metadata::matches(&selector, &labels) {
        return;
    }
    for (key, label) in selector.map("matchLabels") {
        if labels.value.get(key) != Some(label) {
            let message =
                format!("the selector wants {} to be {}, the template's labels do not say so", show(key), found(label));
            error(report, &selector.at("matchLabels").child(key), message, AGREE);
        }
    }
    for expression in selector.items("matchExpressions") {
        let alone = serde_json::json!({"matchExpressions": [expression.value]});
        if !metadata::matches(&Node::new(&alone, at.clone()), &labels) {
            error(report, &expression.at, "the selector does not match the template's labels".into(), AGREE);
        }
    }
}
