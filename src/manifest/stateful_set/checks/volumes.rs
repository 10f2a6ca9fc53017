//! Checks the volumes of a pod: one source each, and what that source needs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::env::{VOLUME_FIELDS, field_reference, resource_reference};
use super::names::{descending_path, dns_label, dns_subdomain, local_path, no_backsteps};
use super::node::{Node, Report};
use super::refusal::FORBIDDEN;
use super::{claims, metadata};

/// The volumes that mounts may name, those of claim templates among them.
pub(super) struct Volumes<'v> {
    known: BTreeMap<&'v str, Node<'v>>,
    /// Those with a finding of their own: the server forgets them, and then misses them at every mount.
    broken: BTreeSet<&'v str>,
}

impl<'v> Volumes<'v> {
    /// A volume by its name; a claim template is a claim.
    pub(super) fn source(&self, name: &str) -> Option<&Node<'v>> {
        self.known.get(name)
    }

    pub(super) fn is_broken(&self, name: &str) -> bool {
        self.broken.contains(name)
    }

    pub(super) fn names(&self) -> Vec<&'v str> {
        self.known.keys().copied().collect()
    }
}

/// What a claim template is as a volume.
static CLAIM: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| serde_json::json!({"persistentVolumeClaim": {}}));

/// The fields that a source has to have, those with text in them.
const REQUIRED: [(&str, &[&str]); 20] = [
    ("gitRepo", &["repository"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &["image"]),
    ("cinder", &["volumeID"]),
    ("quobyte", &["registry", "volume"]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("storageos", &["volumeName"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("csi", &["driver"]),
    ("hostPath", &["path"]),
];

/// Checks every volume, and says which there are.
pub(super) fn check<'v>(spec: &Node<'v>, pod: &Node<'v>, report: &mut Report<'_, '_>) -> Volumes<'v> {
    let mut volumes = Volumes { known: BTreeMap::new(), broken: BTreeSet::new() };
    for template in spec.items("volumeClaimTemplates") {
        let meta = template.field("metadata");
        match meta.text("name") {
            "" => report.required(&meta.at("name")),
            name => {
                report.check(&meta.at("name"), name, dns_label);
                volumes.known.insert(name, Node::new(&CLAIM, meta.at("name")));
            }
        }
    }
    let mut seen = BTreeSet::new();
    for volume in pod.items("volumes") {
        let name = volume.text("name");
        // A claim template takes the place of a volume of its name, unseen.
        if volumes.known.contains_key(name) && !seen.contains(name) {
            continue;
        }
        match name {
            "" => report.required(&volume.at("name")),
            name => report.check(&volume.at("name"), name, dns_label),
        }
        if !seen.insert(name) {
            report.duplicate(&volume.at("name"), name);
        }
        if source(&volume, report) {
            volumes.known.insert(name, volume);
        } else {
            volumes.broken.insert(name);
        }
    }
    volumes
}

/// Whether the volume has one source, and how it is.
fn source(volume: &Node<'_>, report: &mut Report<'_, '_>) -> bool {
    let Some(fields) = volume.value.as_object() else { return false };
    let given: Vec<&String> =
        fields.iter().filter(|(key, value)| *key != "name" && !value.is_null()).map(|(key, _)| key).collect();
    let first = match given.as_slice() {
        [] => {
            report.wrong(&volume.at, "a source is required, `emptyDir: {}` for one");
            return false;
        }
        [first] => *first,
        [first, ..] => {
            for more in given.iter().skip(1) {
                report.forbidden(&volume.at(more), &format!("only one source is possible, and there is `{first}`"));
                let words = "Forbidden: may not specify more than 1 volume type";
                report.reworded(FORBIDDEN, &volume.at(more), words);
            }
            return false;
        }
    };
    let of = volume.field(first);
    if let Some((_, names)) = REQUIRED.iter().find(|(kind, _)| kind == first) {
        for name in names.iter().filter(|name| of.text(name).is_empty()) {
            report.required(&of.at(name));
        }
    }
    special(first, &of, report);
    true
}

fn special(kind: &str, of: &Node<'_>, report: &mut Report<'_, '_>) {
    match kind {
        "emptyDir" => {
            let limit = of.text("sizeLimit");
            if super::super::super::quantity::Number::parse(limit).is_some_and(|limit| limit.is_negative()) {
                report.bad_text(&of.at("sizeLimit"), limit, "must not be negative");
            }
        }
        "hostPath" => {
            const KINDS: [&str; 8] =
                ["", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"];
            report.check(&of.at("path"), of.text("path"), no_backsteps);
            report.one_of(of, "type", &KINDS);
        }
        "gitRepo" => report.check(&of.at("directory"), of.text("directory"), descending_path),
        "nfs" if !of.text("path").is_empty() && !of.text("path").starts_with('/') => {
            report.bad_text(&of.at("path"), of.text("path"), "must be an absolute path");
        }
        "secret" | "configMap" => {
            let name = if kind == "secret" { "secretName" } else { "name" };
            if of.text(name).is_empty() {
                report.required(&of.at(name));
            }
            mode(of, "defaultMode", report);
            items(of, report);
        }
        "downwardAPI" => {
            mode(of, "defaultMode", report);
            for file in of.items("items") {
                downward_file(&file, report);
            }
        }
        "projected" => projected(of, report),
        "rbd" | "cephfs" if of.items("monitors").is_empty() => report.required(&of.at("monitors")),
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            if let Some(number) = of.int("partition").filter(|number| !(0..=255).contains(number)) {
                report.invalid(&of.at("partition"), &Value::from(number), "must be from 0 to 255");
            }
        }
        "azureDisk" => {
            report.one_of(of, "cachingMode", &["None", "ReadOnly", "ReadWrite"]);
            report.one_of(of, "kind", &["Shared", "Dedicated", "Managed"]);
        }
        "fc" if of.items("targetWWNs").is_empty() == of.items("wwids").is_empty() => {
            report.wrong(&of.at, "exactly one of `targetWWNs` and `wwids` is wanted");
        }
        "flocker" if of.text("datasetName").is_empty() == of.text("datasetUUID").is_empty() => {
            report.wrong(&of.at, "exactly one of `datasetName` and `datasetUUID` is wanted");
        }
        "csi" => {
            if let Some(secret) = of.get("nodePublishSecretRef") {
                match secret.text("name") {
                    "" => report.required(&secret.at("name")),
                    name => report.check(&secret.at("name"), name, dns_subdomain),
                }
            }
            let driver = of.text("driver");
            if !driver.is_empty() && (driver.len() > 63 || dns_subdomain(&driver.to_lowercase()).is_err()) {
                report.bad_text(&of.at("driver"), driver, "must be a DNS name of at most 63 characters");
            }
        }
        "ephemeral" => ephemeral(of, report),
        "image" => report.one_of(of, "pullPolicy", &["Always", "IfNotPresent", "Never"]),
        _ => {}
    }
}

fn ephemeral(of: &Node<'_>, report: &mut Report<'_, '_>) {
    let Some(template) = of.get("volumeClaimTemplate") else {
        return report.required(&of.at("volumeClaimTemplate"));
    };
    let meta = template.field("metadata");
    metadata::labels(&meta, "labels", report);
    metadata::annotations(&meta, report);
    for (key, value) in template.map("metadata") {
        let allowed = matches!(key.as_str(), "labels" | "annotations" | "creationTimestamp");
        let empty = value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        if !allowed && !empty && value != 0 {
            report.forbidden(&meta.at(key), "only labels and annotations are possible here");
        }
    }
    claims::spec(&template.field("spec"), report);
}

fn mode(of: &Node<'_>, name: &str, report: &mut Report<'_, '_>) {
    if let Some(number) = of.int(name).filter(|number| !(0..=0o777).contains(number)) {
        let words = "must be from 0 to 0777 (octal), which is 511";
        report.invalid(&of.at(name), &Value::from(number), words);
    }
}

fn items(of: &Node<'_>, report: &mut Report<'_, '_>) {
    for item in of.items("items") {
        for name in ["key", "path"] {
            if item.text(name).is_empty() {
                report.required(&item.at(name));
            }
        }
        report.check(&item.at("path"), item.text("path"), local_path);
        mode(&item, "mode", report);
    }
}

fn downward_file(file: &Node<'_>, report: &mut Report<'_, '_>) {
    match file.text("path") {
        "" => report.required(&file.at("path")),
        path => report.check(&file.at("path"), path, local_path),
    }
    match (file.get("fieldRef"), file.get("resourceFieldRef")) {
        (Some(field), None) => field_reference(&field, &VOLUME_FIELDS, report),
        (None, Some(resource)) => resource_reference(&resource, true, report),
        _ => report.wrong(&file.at, "exactly one of `fieldRef` and `resourceFieldRef` is wanted"),
    }
    mode(file, "mode", report);
}

fn projected(of: &Node<'_>, report: &mut Report<'_, '_>) {
    mode(of, "defaultMode", report);
    let mut paths = BTreeSet::new();
    for source in of.items("sources") {
        let given =
            source.value.as_object().map_or(0, |fields| fields.values().filter(|value| !value.is_null()).count());
        if given > 1 {
            report.forbidden(&source.at, "only one kind of source is possible in an item");
        }
        for kind in ["secret", "configMap"] {
            let Some(part) = source.get(kind) else { continue };
            if part.text("name").is_empty() {
                report.required(&part.at("name"));
            }
            items(&part, report);
            for item in part.items("items") {
                once(&item, &mut paths, report);
            }
        }
        for file in source.field("downwardAPI").items("items") {
            downward_file(&file, report);
            once(&file, &mut paths, report);
        }
        if let Some(token) = source.get("serviceAccountToken") {
            let seconds = token.int("expirationSeconds").unwrap_or(3600);
            if !(600..=1 << 32).contains(&seconds) {
                report.invalid(&token.at("expirationSeconds"), &Value::from(seconds), "must be from 600 to 2^32");
            }
            match token.text("path") {
                "" => report.required(&token.at("path")),
                path => report.check(&token.at("path"), path, local_path),
            }
        }
    }
}

fn once<'v>(file: &Node<'v>, paths: &mut BTreeSet<&'v str>, report: &mut Report<'_, '_>) {
    let path = file.text("path");
    if !path.is_empty() && !paths.insert(path) {
        report.duplicate(&file.at("path"), path);
    }
}
