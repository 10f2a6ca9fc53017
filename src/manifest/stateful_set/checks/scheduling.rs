//! Checks affinity, tolerations and topology spread.

use std::collections::BTreeSet;

use serde_json::Value;

use super::metadata::selector;
use super::names::{dns_label, dns_subdomain, label_value, qualified_name};
use super::node::{Node, Report};
use super::refusal::INVALID;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Where the pods may run.
pub(super) fn check(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let affinity = pod.field("affinity");
    nodes(&affinity.field("nodeAffinity"), report);
    for name in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.field(name);
        for term in pods.items(REQUIRED) {
            pod_term(&term, report);
        }
        for term in pods.items(PREFERRED) {
            weight(&term, report);
            pod_term(&term.field("podAffinityTerm"), report);
        }
    }
    for toleration in pod.items("tolerations") {
        tolerate(&toleration, report);
    }
    spread(pod, report);
}

fn weight(term: &Node<'_>, report: &mut Report<'_, '_>) {
    let weight = term.int("weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        report.invalid(&term.at("weight"), &Value::from(weight), "must be from 1 to 100");
    }
}

fn nodes(nodes: &Node<'_>, report: &mut Report<'_, '_>) {
    if let Some(required) = nodes.get(REQUIRED) {
        let terms = required.items("nodeSelectorTerms");
        if terms.is_empty() {
            report.required(&required.at("nodeSelectorTerms"));
        }
        for term in terms {
            node_term(&term, true, report);
        }
    }
    for term in nodes.items(PREFERRED) {
        weight(&term, report);
        node_term(&term.field("preference"), false, report);
    }
}

fn node_term(term: &Node<'_>, strict: bool, report: &mut Report<'_, '_>) {
    const OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
    for expression in term.items("matchExpressions") {
        let count = expression.items("values").len();
        let at = expression.at("values");
        match expression.text("operator") {
            "In" | "NotIn" if count == 0 => report.required(&at),
            "Exists" | "DoesNotExist" if count > 0 => {
                report.forbidden(&at, "`Exists` and `DoesNotExist` take no values")
            }
            "Gt" | "Lt" if count != 1 => report.wrong(&at, "`Gt` and `Lt` take exactly one value"),
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => report.unsupported(&expression.at("operator"), other, &OPERATORS),
        }
        report.check(&expression.at("key"), expression.text("key"), qualified_name);
        if strict {
            for (value, at) in expression.texts("values") {
                report.check(&at, value, label_value);
            }
        }
    }
    for expression in term.items("matchFields") {
        match expression.text("operator") {
            "In" | "NotIn" if expression.items("values").len() != 1 => {
                report.wrong(&expression.at("values"), "exactly one value is wanted");
            }
            "In" | "NotIn" => {}
            other => report.unsupported(&expression.at("operator"), other, &["In", "NotIn"]),
        }
        if expression.text("key") != "metadata.name" {
            report.unsupported(&expression.at("key"), expression.text("key"), &["metadata.name"]);
        }
        for (value, at) in expression.texts("values") {
            report.check(&at, value, dns_subdomain);
        }
    }
}

fn pod_term(term: &Node<'_>, report: &mut Report<'_, '_>) {
    selector(term.get("labelSelector").as_ref(), report);
    selector(term.get("namespaceSelector").as_ref(), report);
    for (name, at) in term.texts("namespaces") {
        report.check(&at, name, dns_label);
    }
    match term.text("topologyKey") {
        "" => report.required(&term.at("topologyKey")),
        key => report.check(&term.at("topologyKey"), key, qualified_name),
    }
    label_keys(term, &["matchLabelKeys", "mismatchLabelKeys"], report);
    let mismatched = term.texts("mismatchLabelKeys");
    for (key, at) in term.texts("matchLabelKeys") {
        if mismatched.iter().any(|(other, _)| *other == key) {
            report.bad_text(&at, key, "stands in `mismatchLabelKeys` as well");
        }
    }
}

fn label_keys(of: &Node<'_>, fields: &[&str], report: &mut Report<'_, '_>) {
    for name in fields {
        let keys = of.texts(name);
        if !keys.is_empty() && !of.has("labelSelector") {
            report.forbidden(&of.at(name), "needs a `labelSelector`");
            continue;
        }
        for (key, at) in keys {
            report.check(&at, key, qualified_name);
        }
    }
}

fn tolerate(toleration: &Node<'_>, report: &mut Report<'_, '_>) {
    let (key, operator, value) = (toleration.text("key"), toleration.text("operator"), toleration.text("value"));
    let at = toleration.at("operator");
    if !key.is_empty() {
        report.check(&toleration.at("key"), key, qualified_name);
    } else if operator != "Exists" {
        report.bad_text(&at, operator, "must be `Exists` where there is no key");
    }
    if toleration.has("tolerationSeconds") && toleration.text("effect") != "NoExecute" {
        report.bad_text(
            &toleration.at("effect"),
            toleration.text("effect"),
            "must be `NoExecute` with `tolerationSeconds`",
        );
    }
    match operator {
        "Equal" | "" => report.check(&toleration.at("value"), value, label_value),
        "Exists" if !value.is_empty() => {
            report.bad_text(&toleration.at("value"), value, "must be empty with the operator `Exists`");
            let words =
                format!("Invalid value: {}: value must be empty when `operator` is 'Exists'", Value::from(value));
            report.reworded(INVALID, &at, words);
        }
        "Exists" => {}
        // Behind a gate that is closed in both versions: `Lt` and `Gt`.
        other => report.unsupported(&at, other, &["Equal", "Exists"]),
    }
    if !toleration.text("effect").is_empty() {
        report.one_of(toleration, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
    }
}

fn spread(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let mut seen = BTreeSet::new();
    for constraint in pod.items("topologySpreadConstraints") {
        let (key, unsatisfiable) = (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
        for name in ["maxSkew", "minDomains"] {
            let given = constraint.int(name);
            let number = given.unwrap_or(if name == "maxSkew" { 0 } else { 1 });
            if number <= 0 {
                report.invalid(&constraint.at(name), &Value::from(number), "must be greater than 0");
            }
            if name == "minDomains" && given.is_some() && unsatisfiable != "DoNotSchedule" {
                report.forbidden(&constraint.at(name), "only with `whenUnsatisfiable: DoNotSchedule`");
            }
        }
        if key.is_empty() {
            report.required(&constraint.at("topologyKey"));
        }
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&unsatisfiable) {
            report.unsupported(
                &constraint.at("whenUnsatisfiable"),
                unsatisfiable,
                &["DoNotSchedule", "ScheduleAnyway"],
            );
        }
        if !seen.insert((key, unsatisfiable)) {
            report.duplicate(&constraint.at, key);
        }
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            report.one_of(&constraint, name, &["Honor", "Ignore"]);
        }
        label_keys(&constraint, &["matchLabelKeys"], report);
        selector(constraint.get("labelSelector").as_ref(), report);
    }
}
