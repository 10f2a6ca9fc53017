//! Checks labels, annotations, owners and finalizers, as `ValidateObjectMeta` does.

use serde_json::Value;

use super::super::super::default::Level;
use super::super::super::shown::Shown;
use super::names::{dns_label, label_value, qualified_name};
use super::node::{At, Node, Report};
use super::refusal::{FORBIDDEN, INVALID, REQUIRED, qualified};

/// The most bytes that all annotations of an object may have.
const MOST_ANNOTATIONS: usize = 256 << 10;

/// The metadata of the set but for its name and namespace.
pub(super) fn check(metadata: &Node<'_>, report: &mut Report<'_, '_>) {
    labels(metadata, "labels", report);
    annotations(metadata, report);
    let generated = metadata.text("generateName");
    if !generated.is_empty() && dns_label(generated.trim_end_matches('-')).is_err() {
        report.bad_text(&metadata.at("generateName"), generated, "must begin the name of a set: a-z, 0-9 and `-`");
    }
    for owner in metadata.items("ownerReferences") {
        for name in ["apiVersion", "kind", "name", "uid"] {
            if owner.text(name).is_empty() {
                let at = owner.at(name);
                report.required(&at);
                let part = match name {
                    "apiVersion" => "version ".to_owned(),
                    _ if report.level < Level::V1_36 => format!("{name} "),
                    _ => String::new(),
                };
                let owners = At { path: format!("{}.{name}", metadata.at("ownerReferences").path), ..at };
                report.reworded(INVALID, &owners, format!("Invalid value: \"\": {part}must not be empty"));
            }
        }
    }
    let controllers = metadata.items("ownerReferences").iter().filter(|owner| owner.is("controller")).count();
    if controllers > 1 {
        let at = metadata.at("ownerReferences");
        report.wrong(&at, "only one owner may be the controller");
        report.reworded(INVALID, &at, too_many_controllers(metadata, report.level));
    }
    for (finalizer, at) in metadata.texts("finalizers") {
        let standard = ["kubernetes", "orphan", "foregroundDeletion"].contains(&finalizer);
        if qualified_name(finalizer).is_err() || !standard && !finalizer.contains('/') {
            report.bad_text(&at, finalizer, "must be a qualified name like `example.com/name`");
            let value = Value::from(finalizer);
            match qualified(finalizer).first() {
                Some(words) => {
                    let list = At { path: metadata.at("finalizers").path, ..at };
                    report.reworded(INVALID, &list, format!("Invalid value: {value}: {words}"));
                }
                None => {
                    let words = "name is neither a standard finalizer name nor is it fully qualified";
                    report.reworded(INVALID, &at, format!("Invalid value: {value}: {words}"));
                }
            }
        }
    }
}

/// A map of labels; a null value is an empty one.
pub(super) fn labels(node: &Node<'_>, name: &str, report: &mut Report<'_, '_>) {
    let at = node.at(name);
    for (key, value) in node.map(name) {
        let place = At { path: at.path.clone(), ..at.key(key) };
        report.check(&place, key, qualified_name);
        report.check(&place, value.as_str().unwrap_or_default(), label_value);
    }
}

/// The annotations of an object.
pub(super) fn annotations(node: &Node<'_>, report: &mut Report<'_, '_>) {
    let at = node.at("annotations");
    let mut size = 0_usize;
    for (key, value) in node.map("annotations") {
        size += key.len() + value.as_str().map_or(0, str::len);
        if let Err(words) = qualified_name(&key.to_lowercase()) {
            let place = At { path: at.path.clone(), ..at.key(key) };
            report.bad_text(&place, key, words);
            let known = qualified(&key.to_lowercase());
            let words = known.first().map_or(words, String::as_str);
            report.reworded(INVALID, &place, format!("Invalid value: {}: {words}", Value::from(key.as_str())));
        }
    }
    if size > MOST_ANNOTATIONS {
        report.wrong(&at, &format!("{size} bytes; all annotations together may have {MOST_ANNOTATIONS}"));
    }
}

/// What some annotations of a pod template mean to the server.
pub(super) fn pod_annotations(template: &Node<'_>, report: &mut Report<'_, '_>) {
    const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
    const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const SECCOMP_OF: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let metadata = template.field("metadata");
    let spec = template.field("spec");
    // The server leaves `metadata` out of this place.
    let at = metadata.at("annotations");
    let has_container = |name: &str| {
        ["containers", "initContainers"].iter().any(|list| spec.items(list).iter().any(|of| of.text("name") == name))
    };
    for (key, value) in metadata.map("annotations") {
        let (value, place) = (value.as_str().unwrap_or_default(), at.key(key));
        if key == "controller.kubernetes.io/pod-deletion-cost" && !is_deletion_cost(value) {
            report.bad_text(&place, value, "must be a whole number of 32 bits");
        }
        if key == "kubernetes.io/config.mirror" && spec.text("nodeName").is_empty() {
            report.bad_text(&place, value, "needs `spec.nodeName`: it marks a mirror of a static pod");
        }
        if key == SECCOMP || key.starts_with(SECCOMP_OF) {
            let known = ["runtime/default", "docker/default", "unconfined"].contains(&value);
            if !known
                && value.strip_prefix("localhost/").is_none_or(|path| super::names::descending_path(path).is_err())
            {
                report.bad_text(&place, value, "must be a seccomp profile");
            }
        }
        if let Some(container) = key.strip_prefix(APP_ARMOR) {
            if !has_container(container) {
                report.bad_text(&place, container, "is no container of the template");
            }
            if !value.is_empty()
                && !["runtime/default", "unconfined"].contains(&value)
                && !value.starts_with("localhost/")
            {
                report.bad_text(&place, value, "must be an AppArmor profile");
            }
        }
    }
}

/// As Go reads it: no `+`, no leading zeros.
fn is_deletion_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.parse::<i32>().is_ok() && !text.starts_with('+') && (digits == "0" || !digits.starts_with('0'))
}

/// A label selector; none where it is absent.
pub(super) fn selector(selector: Option<&Node<'_>>, report: &mut Report<'_, '_>) {
    let Some(selector) = selector else { return };
    labels(selector, "matchLabels", report);
    for expression in selector.items("matchExpressions") {
        let values = expression.items("values");
        match expression.text("operator") {
            "In" | "NotIn" if values.is_empty() => {
                let at = expression.at("values");
                report.required(&at);
                let words = "must be specified when `operator` is 'In' or 'NotIn'";
                report.reworded(REQUIRED, &at, format!("Required value: {words}"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let at = expression.at("values");
                report.forbidden(&at, "`Exists` and `DoesNotExist` take no values");
                let words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                report.reworded(FORBIDDEN, &at, format!("Forbidden: {words}"));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let at = expression.at("operator");
                report.unsupported(&at, other, &["In", "NotIn", "Exists", "DoesNotExist"]);
                let value = Value::from(other);
                report.reworded(INVALID, &at, format!("Invalid value: {value}: not a valid selector operator"));
            }
        }
        report.check(&expression.at("key"), expression.text("key"), qualified_name);
        for (value, at) in expression.texts("values") {
            report.check(&at, value, label_value);
        }
    }
}

/// Whether labels are those that a selector asks for.
pub(super) fn matches(selector: &Node<'_>, labels: &Node<'_>) -> bool {
    let label = |key: &str| labels.value.get(key).and_then(Value::as_str);
    let pairs = selector.map("matchLabels").all(|(key, value)| label(key) == value.as_str());
    pairs
        && selector.items("matchExpressions").iter().all(|expression| {
            let found = label(expression.text("key"));
            let listed = found.is_some_and(|found| expression.texts("values").iter().any(|(value, _)| *value == found));
            match expression.text("operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => true,
            }
        })
}

/// What the server says of several controllers: all owners, with the fields in Go's order, and the first two of them.
fn too_many_controllers(metadata: &Node<'_>, level: Level) -> String {
    let owners = metadata.items("ownerReferences");
    let shown = Shown::owners(&owners.iter().map(|owner| owner.value).collect::<Vec<_>>());
    let both: Vec<String> = owners
        .iter()
        .filter(|owner| owner.is("controller"))
        .take(2)
        .map(|owner| format!("{}/{}", owner.text("kind"), owner.text("name")))
        .collect();
    format!(
        "Invalid value: {}: Only one reference can have Controller set to true. Found \"true\" in references for {}",
        shown.at(level),
        both.join(" and ")
    )
}
