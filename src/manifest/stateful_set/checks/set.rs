//! Checks the spec of the set itself, as every version of the server does.

use serde_json::Value;

use super::super::super::shown::Shown;
use super::super::super::words::{found, show};
use super::metadata;
use super::names::dns_label;
use super::node::{At, Node, Report};
use super::refusal::{FORBIDDEN, INVALID, REQUIRED, UNMATCHED};

const AGREE: &str = "selector and `spec.template.metadata.labels` have to agree";
const SELECT: &str = "select the labels of `spec.template.metadata.labels`";

/// The spec as the server defaults it.
pub(super) fn check(spec: &Node<'_>, report: &mut Report<'_, '_>) {
    if let Some(policy) = spec.given("podManagementPolicy").filter(|it| !["OrderedReady", "Parallel"].contains(it)) {
        let at = spec.at("podManagementPolicy");
        report.unsupported(&at, policy, &["OrderedReady", "Parallel"]);
        let value = Value::from(policy);
        report.reworded(INVALID, &at, format!("Invalid value: {value}: must be 'OrderedReady' or 'Parallel'"));
    }
    strategy(spec, report);
    for name in ["whenDeleted", "whenScaled"] {
        report.one_of(&spec.field("persistentVolumeClaimRetentionPolicy"), name, &["Retain", "Delete"]);
    }
    for (node, name) in [(spec, "replicas"), (spec, "minReadySeconds"), (&spec.field("ordinals"), "start")] {
        if let Some(number) = node.int(name).filter(|number| *number < 0) {
            negative(node, name, number, report);
        }
    }
    let template = spec.field("template");
    selector(spec, &template, report);
    let meta = template.field("metadata");
    let before = report.refusals.len();
    metadata::labels(&meta, "labels", report);
    metadata::annotations(&meta, report);
    // The server leaves `metadata` out of these places.
    for refusal in report.refusals.iter_mut().skip(before) {
        refusal.field = refusal.field.replacen(".metadata.", ".", 1);
    }
    metadata::pod_annotations(&template, report);
    let pod = template.field("spec");
    if let Some(policy) = pod.given("restartPolicy").filter(|policy| *policy != "Always") {
        report.unsupported(&pod.at("restartPolicy"), policy, &["Always"]);
    }
    if pod.has("activeDeadlineSeconds") {
        let at = pod.at("activeDeadlineSeconds");
        report.forbidden(&at, "the pods of a StatefulSet have no deadline");
        report.reworded(FORBIDDEN, &at, "Forbidden: activeDeadlineSeconds in StatefulSet is not Supported");
    }
    if !spec.text("serviceName").is_empty() {
        let name = spec.text("serviceName");
        report.check(&spec.at("serviceName"), name, dns_label);
        if name.contains('.') {
            let words = format!("Invalid value: {}: must not contain dots", Value::from(name));
            report.reworded(INVALID, &spec.at("serviceName"), words);
        }
    }
}

fn negative(node: &Node<'_>, name: &str, number: i64, report: &mut Report<'_, '_>) {
    report.invalid(&node.at(name), &Value::from(number), "must not be negative");
}

fn strategy(spec: &Node<'_>, report: &mut Report<'_, '_>) {
    let strategy = spec.field("updateStrategy");
    let block = strategy.field("rollingUpdate");
    match strategy.text("type") {
        "OnDelete" if strategy.has("rollingUpdate") => {
            let at = strategy.at("rollingUpdate");
            report.forbidden(&at, "only with the type `RollingUpdate`");
            let words = "only allowed for updateStrategy 'RollingUpdate'";
            report.reworded(
                INVALID,
                &at,
                format!("Invalid value: {}: {words}", Shown::rolling_update(block.value).at(report.level)),
            );
        }
        "RollingUpdate" => {
            if let Some(partition) = block.int("partition").filter(|partition| *partition < 0) {
                negative(&block, "partition", partition, report);
            }
            most_unavailable(&block, report);
        }
        "OnDelete" => {}
        other => {
            report.unsupported(&strategy.at("type"), other, &["RollingUpdate", "OnDelete"]);
            let value = Shown::strategy(other, block.value);
            let message = format!("Invalid value: {}: must be 'RollingUpdate' or 'OnDelete'", value.at(report.level));
            report.reworded(INVALID, &strategy.at, message);
        }
    }
}

/// What the server says of `maxUnavailable` where it has it: on the way through its defaults it is gone elsewhere.
fn most_unavailable(block: &Node<'_>, report: &mut Report<'_, '_>) {
    const NONE: &str = "cannot be 0";
    let at = block.at("maxUnavailable");
    match block.value.get("maxUnavailable") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            let value = Value::from(text.as_str());
            let share = text.strip_suffix('%').filter(|digits| is_digits(digits));
            match share.map(str::parse::<u32>) {
                Some(Ok(0)) => report.invalid(&at, &value, NONE),
                Some(Ok(..=100)) => {}
                Some(_) => report.invalid(&at, &value, "must not be greater than 100%"),
                None => {
                    let words = "a valid percent string must be a numeric string followed by an ending '%' (e.g. \
                                 '1%',  or '93%', regex used for validation is '[0-9]+%')";
                    report.invalid(&at, &value, words);
                    // A text that is not even a number counts as 0.
                    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
                    if !is_digits(digits) || digits.bytes().all(|byte| byte == b'0') {
                        report.refuse(INVALID, &at, format!("Invalid value: {value}: {NONE}"));
                    }
                }
            }
        }
        Some(value) => match value.as_i64() {
            Some(0) => report.invalid(&at, value, NONE),
            Some(count) if count < 0 => negative(block, "maxUnavailable", count, report),
            _ => {}
        },
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn selector(spec: &Node<'_>, template: &Node<'_>, report: &mut Report<'_, '_>) {
    let at = spec.at("selector");
    let error = |report: &mut Report<'_, '_>, at: &At, message: String, hint: &str| {
        let finding = report.findings.error(&at.pointer, message);
        (finding.hint, finding.path, finding.code) = (hint.into(), at.path.clone(), "selector".into());
    };
    let labels = template.field("metadata").field("labels");
    let level = report.level;
    let unmatched = || format!("Invalid value: {}: {UNMATCHED}", Shown::text_map(labels.value).at(level));
    let Some(selector) = spec.get("selector") else {
        report.refuse(REQUIRED, &at, "Required value".to_owned());
        report.refuse(INVALID, &labels.at, unmatched());
        let nowhere = At { pointer: "/spec".into(), path: at.path };
        return error(report, &nowhere, "the set has no `spec.selector`".into(), SELECT);
    };
    let shown = Shown::selector(selector.value);
    let before = report.refusals.len();
    metadata::selector(Some(&selector), report);
    let broken = report.refusals.len() > before;
    let empty = |name: &str| selector.map(name).next().is_none() && selector.items(name).is_empty();
    if empty("matchLabels") && empty("matchExpressions") {
        let words = "empty selector is invalid for statefulset";
        report.refuse(INVALID, &at, format!("Invalid value: {}: {words}", shown.at(level)));
        return error(report, &at, "the selector is empty".into(), SELECT);
    }
    if broken {
        report.refuse(INVALID, &at, format!("Invalid value: {}", shown.at(level)));
    } else if !metadata::matches(&selector, &labels) {
        report.refuse(INVALID, &labels.at, unmatched());
    }
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
