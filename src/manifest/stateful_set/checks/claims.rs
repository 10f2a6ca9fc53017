//! Checks claim templates, as `ValidatePersistentVolumeClaimSpec` does.

use serde_json::Value;

use super::super::super::quantity::Number;
use super::metadata;
use super::names::{dns_label, dns_subdomain};
use super::node::{At, Node, Report};
use super::refusal::{INVALID, NOT_SUPPORTED, REQUIRED};

const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

/// The claim templates of a set.
pub(super) fn check(set: &Node<'_>, report: &mut Report<'_, '_>) {
    for template in set.items("volumeClaimTemplates") {
        spec(&template.field("spec"), report);
    }
}

/// The spec of one claim.
pub(super) fn spec(spec: &Node<'_>, report: &mut Report<'_, '_>) {
    let modes = spec.texts("accessModes");
    if modes.is_empty() {
        let at = spec.at("accessModes");
        report.required(&at);
        report.reworded(REQUIRED, &at, "Required value: at least 1 access mode is required");
    }
    for (mode, at) in &modes {
        if !MODES.contains(mode) {
            report.unsupported(at, mode, &MODES);
            const SORTED: &str = r#""ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod""#;
            let value = Value::from(*mode);
            let message = format!("Unsupported value: {value}: supported values: {SORTED}");
            report.reworded(NOT_SUPPORTED, &spec.at("accessModes"), message);
        }
    }
    let alone = |mode: &str| mode == "ReadWriteOncePod";
    if modes.iter().any(|(mode, _)| alone(mode)) && modes.iter().any(|(mode, _)| !alone(mode) && MODES.contains(mode)) {
        report.forbidden(&spec.at("accessModes"), "`ReadWriteOncePod` stands alone");
    }
    metadata::selector(spec.get("selector").as_ref(), report);
    let requests = spec.field("resources").field("requests");
    // The server leaves `requests` out of this place.
    let storage = At { path: spec.at("resources").key("storage").path, ..requests.at.key("storage") };
    match requests.value.get("storage").and_then(Value::as_str) {
        None => {
            report.required(&requests.at.key("storage"));
            report.reworded(REQUIRED, &storage, "Required value");
        }
        Some(text) => {
            if Number::parse(text).is_some_and(|amount| amount.is_negative() || amount.is_zero()) {
                report.bad_text(&requests.at.key("storage"), text, "must be greater than zero");
                let value = Value::from(text);
                report.reworded(INVALID, &storage, format!("Invalid value: {value}: must be greater than zero"));
            }
        }
    }
    for name in ["storageClassName", "volumeAttributesClassName"] {
        if !spec.text(name).is_empty() {
            report.check(&spec.at(name), spec.text(name), dns_subdomain);
        }
    }
    report.one_of(spec, "volumeMode", &["Block", "Filesystem"]);
    for name in ["dataSource", "dataSourceRef"] {
        if let Some(source) = spec.get(name) {
            data_source(&source, report);
        }
    }
    let (source, reference) = (spec.field("dataSource"), spec.field("dataSourceRef"));
    if spec.has("dataSource") && spec.has("dataSourceRef") {
        let same = ["apiGroup", "kind", "name"].iter().all(|name| source.given(name) == reference.given(name));
        if !reference.text("namespace").is_empty() || !same {
            report.wrong(&source.at, "`dataSource` and `dataSourceRef` have to name the same");
        }
    }
}

fn data_source(source: &Node<'_>, report: &mut Report<'_, '_>) {
    for name in ["name", "kind"] {
        if source.text(name).is_empty() {
            report.required(&source.at(name));
        }
    }
    let group = source.text("apiGroup");
    if group.is_empty() && source.text("kind") != "PersistentVolumeClaim" {
        report.bad_text(
            &source.at("kind"),
            source.text("kind"),
            "must be `PersistentVolumeClaim`, or needs an `apiGroup`",
        );
    }
    if !group.is_empty() {
        report.check(&source.at("apiGroup"), group, dns_subdomain);
    }
    if !source.text("namespace").is_empty() {
        report.check(&source.at("namespace"), source.text("namespace"), dns_label);
    }
}
