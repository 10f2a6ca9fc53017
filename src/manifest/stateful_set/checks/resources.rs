//! Checks requests and limits.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::super::quantity::Number;
use super::names::{dns_label, qualified_name};
use super::node::{At, Node, Report};
use super::refusal::INVALID;

/// The resources of one container; `pod` names the claims that it may use.
pub(super) fn of_container(resources: &Node<'_>, pod: &Node<'_>, report: &mut Report<'_, '_>) {
    amounts(resources, container_name, report);
    let claims: Vec<&str> = pod.items("resourceClaims").iter().map(|claim| claim.text("name")).collect();
    let mut seen = BTreeSet::new();
    for claim in resources.items("claims") {
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            report.required(&claim.at);
            continue;
        }
        if !claims.contains(&name) {
            report.not_found(&claim.at, name, &claims);
        }
        if !request.is_empty() {
            report.check(&claim.at("request"), request, dns_label);
        }
        if !seen.insert((name, request)) {
            report.duplicate(&claim.at, name);
        }
    }
}

/// The resources of a pod as a whole.
pub(super) fn of_pod(resources: &Node<'_>, report: &mut Report<'_, '_>) {
    amounts(resources, pod_name, report);
    if resources.has("claims") {
        report.forbidden(&resources.at("claims"), "only containers have claims");
    }
}

/// Whether one amount is more than another; false where one is no amount.
pub(super) fn is_more(left: &Value, right: &Value) -> bool {
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left > right,
        _ => false,
    }
}

fn number(value: &Value) -> Option<Number> {
    Some(Number::parse(value.as_str()?)?.in_thousandths())
}

type NameRule = fn(&str, &At, &mut Report<'_, '_>);

fn amounts(resources: &Node<'_>, name_rule: NameRule, report: &mut Report<'_, '_>) {
    let limits = resources.field("limits");
    let (mut huge, mut plain) = (false, false);
    for list in ["limits", "requests"] {
        for (name, amount) in resources.map(list) {
            let at = resources.at(list).key(name);
            name_rule(name, &at, report);
            huge |= is_huge(name);
            plain |= matches!(name.as_str(), "cpu" | "memory");
            let Some(number) = number(amount) else { continue };
            if number.is_negative() {
                report.invalid(&at, amount, "must not be negative");
            }
            if let Some(page) = name.strip_prefix("hugepages-")
                && !Number::parse(page).is_some_and(|page| number.is_multiple_of(&page))
            {
                report.invalid(&at, amount, "must be a multiple of the size of its pages");
            }
            if is_whole(name) && !number.is_whole() {
                report.invalid(&at, amount, "must be a whole number");
            }
        }
    }
    for (name, amount) in resources.map("requests") {
        let at = resources.at("requests").key(name);
        let shared = is_native(name) && !is_huge(name);
        match limits.value.get(name) {
            Some(limit) if is_more(amount, limit) => {
                let words = format!("is more than its limit of {}", super::super::super::words::found(limit));
                report.invalid(&at, amount, &words);
                let limit = limit.as_str().unwrap_or_default();
                let words = format!("must be less than or equal to {name} limit of {limit}");
                report.reworded(INVALID, &resources.at("requests"), format!("Invalid value: {amount}: {words}"));
            }
            Some(limit) if !shared && is_more(limit, amount) => {
                report.invalid(&at, amount, "must equal its limit");
            }
            None if !shared => report.required(&limits.at.key(name)),
            _ => {}
        }
    }
    if huge && !plain {
        report.forbidden(&resources.at, "huge pages need cpu or memory beside them");
    }
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Extended resources come in whole pieces.
fn is_whole(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.")
}

fn container_name(name: &str, at: &At, report: &mut Report<'_, '_>) {
    if let Err(words) = qualified_name(name) {
        return report.bad_text(at, name, words);
    }
    const KNOWN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
    if !name.contains('/') && !KNOWN.contains(&name) && !is_huge(name) {
        return report.unsupported(at, name, &KNOWN);
    }
    if !is_native(name) && (name.starts_with("requests.") || qualified_name(&format!("requests.{name}")).is_err()) {
        report.bad_text(at, name, "is no name of an extended resource");
    }
}

fn pod_name(name: &str, at: &At, report: &mut Report<'_, '_>) {
    const KNOWN: [&str; 2] = ["cpu", "memory"];
    if !KNOWN.contains(&name) && !is_huge(name) {
        report.unsupported(at, name, &KNOWN);
    }
}
