//! Checks the pod template, as `ValidatePodTemplateSpec` does from 1.36 on and every version with the pods themselves.

use core::net::IpAddr;

use serde_json::Value;

use super::names::{dns_label, dns_subdomain, dns_subdomain_with_underscores, qualified_name};
use super::node::{Node, Report};
use super::refusal::FORBIDDEN;
use super::volumes::Volumes;
use super::{containers, metadata, resources, scheduling, security, volumes};

/// The most name servers, search domains, and characters of these that a pod may have.
const MOST_NAMESERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const MOST_SEARCH_CHARACTERS: usize = 2048;

/// The template of a set whose spec the server has defaulted.
pub(super) fn check(spec: &Node<'_>, report: &mut Report<'_, '_>) {
    let pod = spec.field("template").field("spec");
    check_spec(spec, &pod, report);
    if !pod.items("ephemeralContainers").is_empty() {
        report.forbidden(&pod.at("ephemeralContainers"), "no template may have ephemeral containers");
        report.reworded(
            FORBIDDEN,
            &pod.at("ephemeralContainers"),
            "Forbidden: ephemeral containers not allowed in pod template",
        );
    }
}

/// The spec of a pod; `set` is the spec of its set, or null where it has none.
pub(super) fn check_spec(set: &Node<'_>, pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let volumes = volumes::check(set, pod, report);
    resource_claims(pod, report);
    containers::check(pod, &volumes, report);
    pod_resources(pod, report);
    host_network(pod, report);
    report.one_of(pod, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    report.one_of(pod, "preemptionPolicy", &["PreemptLowerPriority", "Never"]);
    metadata::labels(pod, "nodeSelector", report);
    security::pod(pod, report);
    scheduling::check(pod, report);
    dns(pod, report);
    for gate in pod.items("readinessGates") {
        report.check(&gate.at("conditionType"), gate.text("conditionType"), qualified_name);
    }
    for gate in pod.items("schedulingGates") {
        report.check(&gate.at, gate.text("name"), qualified_name);
    }
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        if !pod.text(name).is_empty() {
            report.check(&pod.at(name), pod.text(name), dns_subdomain);
        }
    }
    if let Some(class) = pod.given("runtimeClassName") {
        report.check(&pod.at("runtimeClassName"), class, dns_subdomain);
    }
    for alias in pod.items("hostAliases") {
        if !is_ip(alias.text("ip")) {
            report.bad_text(&alias.at("ip"), alias.text("ip"), "must be an IP address");
        }
        for (name, at) in alias.texts("hostnames") {
            report.check(&at, name, dns_subdomain);
        }
    }
    if let Some(os) = pod.get("os") {
        match os.text("name") {
            "" => report.required(&os.at("name")),
            "linux" | "windows" => {}
            other => report.unsupported(&os.at("name"), other, &["linux", "windows"]),
        }
    }
    hostname_override(pod, report);
    file_references(pod, &volumes, report);
}

fn resource_claims(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    for claim in pod.items("resourceClaims") {
        match claim.text("name") {
            "" => report.required(&claim.at("name")),
            name => report.check(&claim.at("name"), name, dns_label),
        }
        match (claim.has("resourceClaimName"), claim.has("resourceClaimTemplateName")) {
            (true, false) | (false, true) => {}
            _ => {
                report.wrong(&claim.at, "exactly one of `resourceClaimName` and `resourceClaimTemplateName` is wanted")
            }
        }
        for name in ["resourceClaimName", "resourceClaimTemplateName"] {
            if let Some(text) = claim.given(name) {
                report.check(&claim.at(name), text, dns_subdomain);
            }
        }
    }
}

/// The resources of the pod as a whole.
fn pod_resources(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let Some(own) = pod.get("resources") else { return };
    resources::of_pod(&own, report);
    // Each container alone is a lower bound of all of them together.
    for (containers, field) in [("containers", "limits"), ("containers", "requests")] {
        for container in pod.items(containers) {
            for (name, amount) in container.field("resources").map(field) {
                let most = own.field(field).value.get(name);
                if let Some(most) = most.filter(|most| resources::is_more(amount, most)) {
                    let at = own.at(field).key(name);
                    let words = format!("is less than what container `{}` asks for", container.text("name"));
                    report.invalid(&at, most, &words);
                }
            }
        }
    }
}

fn host_network(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    if !pod.is("hostNetwork") {
        return;
    }
    for port in pod.items("containers").iter().flat_map(|container| container.items("ports")) {
        let host = port.int("hostPort").unwrap_or_default();
        if host != 0 && Some(host) != port.int("containerPort") {
            report.invalid(
                &port.at("hostPort"),
                &Value::from(host),
                "must match `containerPort` when `hostNetwork` is true",
            );
        }
    }
}

fn dns(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let config = pod.field("dnsConfig");
    let servers = config.texts("nameservers");
    if pod.text("dnsPolicy") == "None" && servers.is_empty() {
        return report.required(&config.at("nameservers"));
    }
    if servers.len() > MOST_NAMESERVERS {
        report.wrong(&config.at("nameservers"), "at most 3 name servers are possible");
    }
    for (server, at) in servers {
        if !is_ip(server) {
            report.bad_text(&at, server, "must be an IP address");
        }
    }
    let searches = config.texts("searches");
    let characters = searches.iter().map(|(search, _)| search.len() + 1).sum::<usize>().saturating_sub(1);
    if searches.len() > MOST_SEARCHES || characters > MOST_SEARCH_CHARACTERS {
        report.wrong(&config.at("searches"), "at most 32 search domains of 2048 characters in all are possible");
    }
    for (search, at) in searches.into_iter().filter(|(search, _)| *search != ".") {
        report.check(&at, search.strip_suffix('.').unwrap_or(search), dns_subdomain_with_underscores);
    }
    for option in config.items("options") {
        if option.text("name").is_empty() {
            report.required(&option.at);
        }
    }
}

fn hostname_override(pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let Some(name) = pod.given("hostnameOverride") else { return };
    let at = pod.at("hostnameOverride");
    for other in ["setHostnameAsFQDN", "hostNetwork"] {
        if pod.is(other) {
            report.forbidden(&at, &format!("not while `{other}` is true"));
        }
    }
    if name.len() > 64 {
        report.bad_text(&at, name, "must have at most 64 characters");
    }
    report.check(&at, name, dns_subdomain);
}

/// The volumes that environment variables are read from have to be empty ones.
fn file_references(pod: &Node<'_>, volumes: &Volumes<'_>, report: &mut Report<'_, '_>) {
    for container in containers::all(pod) {
        for variable in container.items("env") {
            let Some(file) = variable.field("valueFrom").get("fileKeyRef") else { continue };
            let name = file.text("volumeName");
            match volumes.source(name) {
                None => report.not_found(&file.at("volumeName"), name, &volumes.names()),
                Some(volume) if volume.has("emptyDir") => {}
                Some(_) => report.bad_text(&file.at("volumeName"), name, "must be an `emptyDir` volume"),
            }
        }
    }
}

/// An address in the one spelling that 1.36 takes: no leading zeros, and no IPv4 address in the form of IPv6.
fn is_ip(text: &str) -> bool {
    match text.parse() {
        Ok(IpAddr::V4(_)) => true,
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped().is_none(),
        Err(_) => false,
    }
}
