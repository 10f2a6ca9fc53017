//! Checks containers: names, images, ports, mounts and devices, and what their kind may have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{self, dns_label};
use super::node::{Node, Report};
use super::volumes::Volumes;
use super::{env, probes, resources, security};

/// Containers and init containers.
pub(super) fn all<'v>(pod: &Node<'v>) -> impl Iterator<Item = Node<'v>> + use<'v> {
    pod.items("containers").into_iter().chain(pod.items("initContainers"))
}

/// What every rollout needs, whatever the version: containers, each with a name of its own.
pub(super) fn named(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    if pod.items("containers").is_empty() {
        let at = pod.at("containers");
        let finding = report.findings.error(&at.pointer, "the pods have no containers");
        finding.hint = "list at least one in `spec.template.spec.containers`".into();
        (finding.path, finding.code) = (at.path, "required-field".into());
    }
    let mut seen = BTreeSet::new();
    for container in all(pod) {
        name(&container, report);
        unique(&container, &mut seen, report);
    }
}

fn name(container: &Node<'_>, report: &mut Report<'_, '_>) {
    let at = container.at("name");
    match container.text("name") {
        "" => {
            let finding = report.findings.error(&container.at.pointer, "the container has no name");
            finding.hint = "give it a `name`, another one than the others have".into();
            (finding.path, finding.code) = (at.path, "required-field".into());
        }
        text if dns_label(text).is_err() => {
            let message = format!("{} is no name of a container", super::super::super::words::show(text));
            let finding = report.findings.error(&at.pointer, message);
            finding.hint = super::super::DNS_LABEL.into();
            (finding.path, finding.code) = (at.path, "invalid-value".into());
        }
        _ => {}
    }
}

fn unique<'v>(container: &Node<'v>, seen: &mut BTreeSet<&'v str>, report: &mut Report<'_, '_>) {
    let text = container.text("name");
    if !text.is_empty() && !seen.insert(text) {
        let at = container.at("name");
        let message = format!("there are two containers {}", super::super::super::words::show(text));
        let finding = report.findings.error(&at.pointer, message);
        finding.hint = "init containers share the names".into();
        (finding.path, finding.code) = (at.path, "duplicate".into());
    }
}

/// Everything that can be said about the containers of a pod.
pub(super) fn check(pod: &Node<'_>, volumes: &Volumes<'_>, report: &mut Report<'_, '_>) {
    if pod.items("containers").is_empty() {
        report.required(&pod.at("containers"));
    }
    let mut seen = BTreeSet::new();
    for container in all(pod) {
        match container.text("name") {
            "" => report.required(&container.at("name")),
            text => report.check(&container.at("name"), text, dns_label),
        }
        if !container.text("name").is_empty() && !seen.insert(container.text("name")) {
            report.duplicate(&container.at("name"), container.text("name"));
        }
        common(&container, pod, volumes, report);
    }
    for container in pod.items("containers") {
        probes::check(&container, pod, report);
        restart_policy(&container, report);
    }
    for container in pod.items("initContainers") {
        restart_policy(&container, report);
        if container.text("restartPolicy") == "Always" {
            probes::check(&container, pod, report);
            continue;
        }
        for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.has(name) {
                report.forbidden(&container.at(name), "only for init containers with `restartPolicy: Always`");
            }
        }
        for policy in container.items("resizePolicy") {
            if policy.text("restartPolicy") == "RestartContainer" {
                let at = policy.at("restartPolicy");
                report.bad_text(&at, "RestartContainer", "needs an init container with `restartPolicy: Always`");
            }
        }
    }
    host_ports(&pod.items("containers"), report);
    for container in pod.items("initContainers") {
        host_ports(&[container], report);
    }
}

fn common(container: &Node<'_>, pod: &Node<'_>, volumes: &Volumes<'_>, report: &mut Report<'_, '_>) {
    if container.text("image").is_empty() {
        report.required(&container.at("image"));
    }
    report.one_of(container, "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]);
    report.one_of(container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"]);
    ports(container, report);
    env::check(container, report);
    mounts(container, volumes, report);
    devices(container, volumes, report);
    resources::of_container(&container.field("resources"), pod, report);
    let mut resized = BTreeSet::new();
    for policy in container.items("resizePolicy") {
        report.one_of(&policy, "resourceName", &["cpu", "memory"]);
        report.one_of(&policy, "restartPolicy", &["NotRequired", "RestartContainer"]);
        if !resized.insert(policy.text("resourceName")) {
            report.duplicate(&policy.at, policy.text("resourceName"));
        }
    }
    security::container(container, pod, report);
}

fn restart_policy(container: &Node<'_>, report: &mut Report<'_, '_>) {
    report.one_of(container, "restartPolicy", &["Always", "Never", "OnFailure"]);
    let rules = container.items("restartPolicyRules");
    if !rules.is_empty() && !container.has("restartPolicy") {
        report.required(&container.at("restartPolicy"));
    }
    if rules.len() > 20 {
        report.wrong(&container.at("restartPolicyRules"), "at most 20 rules are possible");
    }
    for rule in rules {
        report.one_of(&rule, "action", &["Restart", "RestartAllContainers"]);
        if rule.text("action").is_empty() {
            report.required(&rule.at("action"));
        }
        match rule.get("exitCodes") {
            None => report.required(&rule.at("exitCodes")),
            Some(codes) => match codes.text("operator") {
                "" => report.required(&codes.at("operator")),
                _ => report.one_of(&codes, "operator", &["In", "NotIn"]),
            },
        }
    }
}

fn ports(container: &Node<'_>, report: &mut Report<'_, '_>) {
    let mut seen = BTreeSet::new();
    for port in container.items("ports") {
        let name = port.text("name");
        if !name.is_empty() {
            match names::port_name(name) {
                Err(words) => report.bad_text(&port.at("name"), name, words),
                Ok(()) if !seen.insert(name) => report.duplicate(&port.at("name"), name),
                Ok(()) => {}
            }
        }
        match port.int("containerPort").unwrap_or_default() {
            0 => report.required(&port.at("containerPort")),
            number => port_number(&port, "containerPort", number, report),
        }
        let host = port.int("hostPort").unwrap_or_default();
        if host != 0 {
            port_number(&port, "hostPort", host, report);
        }
        report.one_of(&port, "protocol", &["TCP", "UDP", "SCTP"]);
    }
}

fn port_number(port: &Node<'_>, name: &str, number: i64, report: &mut Report<'_, '_>) {
    if let Err(words) = names::port_number(number) {
        report.invalid(&port.at(name), &Value::from(number), words);
    }
}

fn host_ports(containers: &[Node<'_>], report: &mut Report<'_, '_>) {
    let mut seen = BTreeSet::new();
    for port in containers.iter().flat_map(|container| container.items("ports")) {
        let number = port.int("hostPort").unwrap_or_default();
        let key = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
        if number != 0 && !seen.insert(key.clone()) {
            report.duplicate(&port.at("hostPort"), &key);
        }
    }
}

fn mounts(container: &Node<'_>, volumes: &Volumes<'_>, report: &mut Report<'_, '_>) {
    let devices = container.items("volumeDevices");
    let mut seen = BTreeSet::new();
    for mount in container.items("volumeMounts") {
        let (name, path) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            report.required(&mount.at("name"));
        } else if volumes.source(name).is_none() && !volumes.is_broken(name) {
            report.not_found(&mount.at("name"), name, &volumes.names());
        }
        if path.is_empty() {
            report.required(&mount.at("mountPath"));
        }
        if !seen.insert(path) {
            report.bad_text(&mount.at("mountPath"), path, "must be the path of one mount only");
        }
        for device in &devices {
            if device.text("name") == name {
                report.bad_text(&mount.at("name"), name, "is a device of the container already");
            }
            if device.text("devicePath") == path {
                report.bad_text(&mount.at("mountPath"), path, "is the path of a device already");
            }
        }
        let (below, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        for (name, text) in [("subPath", below), ("subPathExpr", expression)] {
            if !text.is_empty() {
                report.check(&mount.at(name), text, names::descending_path);
            }
        }
        if !below.is_empty() && !expression.is_empty() {
            report.bad_text(&mount.at("subPathExpr"), expression, "cannot stand beside `subPath`");
        }
        propagation(&mount, container, report);
    }
}

fn propagation(mount: &Node<'_>, container: &Node<'_>, report: &mut Report<'_, '_>) {
    report.one_of(mount, "mountPropagation", &["Bidirectional", "HostToContainer", "None"]);
    if mount.text("mountPropagation") == "Bidirectional" && !container.field("securityContext").is("privileged") {
        report.forbidden(&mount.at("mountPropagation"), "`Bidirectional` is for privileged containers only");
    }
    report.one_of(mount, "recursiveReadOnly", &["Disabled", "IfPossible", "Enabled"]);
    if matches!(mount.text("recursiveReadOnly"), "IfPossible" | "Enabled") {
        if !mount.is("readOnly") {
            report.forbidden(&mount.at("recursiveReadOnly"), "only while `readOnly` is true");
        }
        if !matches!(mount.text("mountPropagation"), "" | "None") {
            report.forbidden(&mount.at("recursiveReadOnly"), "only without a `mountPropagation`");
        }
    }
}

fn devices(container: &Node<'_>, volumes: &Volumes<'_>, report: &mut Report<'_, '_>) {
    let (mut taken, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in container.items("volumeDevices") {
        let (name, path) = (device.text("name"), device.text("devicePath"));
        match volumes.source(name) {
            _ if name.is_empty() => report.required(&device.at("name")),
            None if volumes.is_broken(name) => {}
            None => report.not_found(&device.at("name"), name, &volumes.names()),
            Some(volume) if volume.has("persistentVolumeClaim") || volume.has("ephemeral") => {}
            Some(_) => report.bad_text(&device.at("name"), name, "must be a claim to be used as a device"),
        }
        if !taken.insert(name) {
            report.bad_text(&device.at("name"), name, "must be used as one device only");
        }
        if path.is_empty() {
            report.required(&device.at("devicePath"));
        } else {
            report.check(&device.at("devicePath"), path, names::no_backsteps);
        }
        if !paths.insert(path) {
            report.bad_text(&device.at("devicePath"), path, "must be the path of one device only");
        }
    }
}
