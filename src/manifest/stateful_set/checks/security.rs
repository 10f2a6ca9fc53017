//! Checks security contexts of pods and containers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::containers;
use super::names::{self, descending_path};
use super::node::{Node, Report};

/// What the pod itself says.
pub(super) fn pod(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let context = pod.field("securityContext");
    ids(&context, &["fsGroup", "runAsUser", "runAsGroup"], report);
    for group in context.items("supplementalGroups") {
        if let Some(Err(words)) = group.value.as_i64().map(names::id) {
            report.invalid(&group.at, group.value, words);
        }
    }
    if pod.is("shareProcessNamespace") && pod.is("hostPID") {
        report.wrong(&pod.at("shareProcessNamespace"), "excludes `hostPID`");
    }
    sysctls(pod, &context, report);
    report.one_of(&context, "fsGroupChangePolicy", &["OnRootMismatch", "Always"]);
    report.one_of(&context, "supplementalGroupsPolicy", &["Merge", "Strict"]);
    // `MountOption` stands behind a gate that is closed in both versions.
    report.one_of(&context, "seLinuxChangePolicy", &["Recursive"]);
    profiles(&context, report);
    if pod.flag("hostUsers") == Some(false) {
        for name in ["hostNetwork", "hostPID", "hostIPC"] {
            if pod.is(name) {
                report.forbidden(&pod.at(name), "not while `hostUsers` is false");
            }
        }
        for container in containers::all(pod) {
            if !container.items("volumeDevices").is_empty() {
                report.forbidden(&container.at("volumeDevices"), "not while `hostUsers` is false");
            }
        }
    }
    if pod.field("os").text("name") == "linux" {
        let contexts = containers::all(pod).map(|container| container.field("securityContext"));
        for context in contexts.chain([context]) {
            if context.has("windowsOptions") {
                report.forbidden(&context.at("windowsOptions"), "not for a pod whose `os` is linux");
            }
        }
    }
}

/// What one container says.
pub(super) fn container(container: &Node<'_>, pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let Some(context) = container.get("securityContext") else { return };
    ids(&context, &["runAsUser", "runAsGroup"], report);
    report.one_of(&context, "procMount", &["Default", "Unmasked"]);
    if context.text("procMount") == "Unmasked" && pod.flag("hostUsers") != Some(false) {
        report.bad_text(&context.at("procMount"), "Unmasked", "needs `hostUsers: false`");
    }
    if context.flag("allowPrivilegeEscalation") == Some(false) {
        let at = context.at("allowPrivilegeEscalation");
        if context.is("privileged") {
            report.wrong(&at, "cannot be false while `privileged` is true");
        }
        if context.field("capabilities").texts("add").iter().any(|(name, _)| *name == "CAP_SYS_ADMIN") {
            report.wrong(&at, "cannot be false beside the capability CAP_SYS_ADMIN");
        }
    }
    profiles(&context, report);
}

fn ids(context: &Node<'_>, fields: &[&str], report: &mut Report<'_, '_>) {
    for name in fields {
        if let Some((number, Err(words))) = context.int(name).map(|number| (number, names::id(number))) {
            report.invalid(&context.at(name), &Value::from(number), words);
        }
    }
}

fn profiles(context: &Node<'_>, report: &mut Report<'_, '_>) {
    for (name, is_seccomp) in [("seccompProfile", true), ("appArmorProfile", false)] {
        let Some(profile) = context.get(name) else { continue };
        let file = profile.given("localhostProfile");
        let at = profile.at("localhostProfile");
        match (profile.text("type"), file) {
            ("Localhost", None) => report.required(&at),
            ("Localhost", Some(file)) if is_seccomp => report.check(&at, file, descending_path),
            ("Localhost", Some(file)) => {
                if file.trim() != file || file.is_empty() || file.len() > 4095 {
                    report.bad_text(&at, file, "must be a name without spaces around it");
                }
            }
            ("", _) => report.required(&profile.at("type")),
            ("RuntimeDefault" | "Unconfined", None) => {}
            ("RuntimeDefault" | "Unconfined", Some(_)) => report.forbidden(&at, "only with the type `Localhost`"),
            (other, _) => {
                report.unsupported(&profile.at("type"), other, &["Localhost", "RuntimeDefault", "Unconfined"])
            }
        }
    }
}

fn sysctls(pod: &Node<'_>, context: &Node<'_>, report: &mut Report<'_, '_>) {
    let mut seen = BTreeSet::new();
    for setting in context.items("sysctls") {
        let (name, at) = (setting.text("name"), setting.at("name"));
        match name {
            "" => report.required(&at),
            name => report.check(&at, name, names::sysctl),
        }
        if !name.is_empty() && !seen.insert(name) {
            report.duplicate(&at, name);
        }
        let dotted = name.replace('/', ".");
        if pod.is("hostNetwork") && dotted.starts_with("net.") {
            report.bad_text(&at, name, "is the host's own while `hostNetwork` is true");
        }
        let of_ipc = ["kernel.sem", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"].contains(&dotted.as_str())
            || dotted.starts_with("kernel.shm")
            || dotted.starts_with("fs.mqueue.");
        if pod.is("hostIPC") && of_ipc {
            report.bad_text(&at, name, "is the host's own while `hostIPC` is true");
        }
    }
}
