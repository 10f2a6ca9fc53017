//! Checks environment variables and where they come from.

use serde_json::Value;

use super::names::{config_key, dns_label, dns_subdomain, env_name, no_backsteps, qualified_name};
use super::node::{Node, Report};
use super::refusal::INVALID;

/// The fields of a pod that a variable may take its value from.
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields of a pod that a file of a volume may hold.
pub(super) const VOLUME_FIELDS: [&str; 5] =
    ["metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
];

const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

/// The variables of a container.
pub(super) fn check(container: &Node<'_>, report: &mut Report<'_, '_>) {
    for variable in container.items("env") {
        match variable.text("name") {
            "" => report.required(&variable.at("name")),
            name => report.check(&variable.at("name"), name, env_name),
        }
        if let Some(from) = variable.get("valueFrom") {
            value_from(&from, variable.text("value"), report);
        }
    }
    for source in container.items("envFrom") {
        if !source.text("prefix").is_empty() {
            report.check(&source.at("prefix"), source.text("prefix"), env_name);
        }
        let given: Vec<Node<'_>> = ["configMapRef", "secretRef"].iter().filter_map(|name| source.get(name)).collect();
        if given.len() != 1 {
            report.wrong(&source.at, "exactly one of `configMapRef` and `secretRef` is wanted");
        }
        for reference in given {
            match reference.text("name") {
                "" => report.required(&reference.at("name")),
                name => {
                    let name = name.strip_suffix('-').unwrap_or(name);
                    report.check(&reference.at("name"), name, dns_subdomain);
                }
            }
        }
    }
}

fn value_from(from: &Node<'_>, value: &str, report: &mut Report<'_, '_>) {
    let count = SOURCES.iter().filter(|name| from.has(name)).count();
    if count == 0 {
        report.wrong(&from.at, "one of `fieldRef`, `resourceFieldRef`, `configMapKeyRef` and `secretKeyRef` is wanted");
        let words =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        report.reworded(INVALID, &from.at, format!("Invalid value: \"\": {words}"));
    } else if !value.is_empty() {
        report.wrong(&from.at, "`value` and `valueFrom` exclude each other");
        let words = "may not be specified when `value` is not empty";
        report.reworded(INVALID, &from.at, format!("Invalid value: \"\": {words}"));
    } else if count > 1 {
        report.wrong(&from.at, "only one source is possible");
    }
    if let Some(field) = from.get("fieldRef") {
        field_reference(&field, &ENV_FIELDS, report);
    }
    if let Some(resource) = from.get("resourceFieldRef") {
        resource_reference(&resource, false, report);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        let Some(key) = from.get(name) else { continue };
        report.check(&key.at("name"), key.text("name"), dns_subdomain);
        match key.text("key") {
            "" => report.required(&key.at("key")),
            text => report.check(&key.at("key"), text, config_key),
        }
    }
    if let Some(file) = from.get("fileKeyRef") {
        for (name, rule) in [("key", env_name as fn(&str) -> _), ("volumeName", dns_label), ("path", no_backsteps)] {
            match file.text(name) {
                "" => report.required(&file.at(name)),
                text => report.check(&file.at(name), text, rule),
            }
        }
    }
}

/// A field of the pod: a path, or one label or annotation.
pub(super) fn field_reference(field: &Node<'_>, known: &[&str], report: &mut Report<'_, '_>) {
    let (path, at) = (field.text("fieldPath"), field.at("fieldPath"));
    if path.is_empty() {
        return report.required(&at);
    }
    if field.text("apiVersion") != "v1" {
        return report.unsupported(&field.at("apiVersion"), field.text("apiVersion"), &["v1"]);
    }
    match path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        Some(("metadata.labels", key)) => report.check(&field.at, key, qualified_name),
        Some(("metadata.annotations", key)) => {
            if let Err(words) = qualified_name(&key.to_lowercase()) {
                report.bad_text(&field.at, key, words);
            }
        }
        Some(_) => report.bad_text(&at, path, "takes no key: only `metadata.labels` and `metadata.annotations` do"),
        // An old name of the same.
        None if path == "spec.host" && known.contains(&"spec.nodeName") => {}
        None if known.contains(&path) => {}
        None => {
            report.unsupported(&at, path, known);
            let words = format!("error converting fieldPath: field label not supported: {path}");
            report.reworded(INVALID, &at, format!("Invalid value: {}: {words}", Value::from(path)));
        }
    }
}

/// A resource of a container, in the parts of a divisor.
pub(super) fn resource_reference(field: &Node<'_>, in_volume: bool, report: &mut Report<'_, '_>) {
    let resource = field.text("resource");
    let is_huge = ["limits.hugepages-", "requests.hugepages-"].iter().any(|prefix| resource.starts_with(prefix));
    if in_volume && field.text("containerName").is_empty() {
        report.required(&field.at("containerName"));
    } else if resource.is_empty() {
        report.required(&field.at("resource"));
    } else if !is_huge && !RESOURCES.contains(&resource) {
        report.unsupported(&field.at("resource"), resource, &RESOURCES);
    }
    let divisor = field.value.get("divisor").and_then(Value::as_str).unwrap_or("0");
    if super::super::super::quantity::Number::parse(divisor).is_none_or(|divisor| divisor.is_zero()) {
        return;
    }
    let known: &[&str] = match resource {
        "limits.cpu" | "requests.cpu" => &["1m", "1"],
        _ if is_huge || RESOURCES.contains(&resource) => {
            &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"]
        }
        _ => return,
    };
    if !known.contains(&divisor) {
        report.unsupported(&field.at("divisor"), divisor, known);
    }
}
