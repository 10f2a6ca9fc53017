//! Checks probes and lifecycle hooks.

use serde_json::Value;

use super::names::{header_name, port_name, port_number};
use super::node::{Node, Report};
use super::refusal::{FORBIDDEN, INVALID, REQUIRED};

/// The probes and hooks of a container that may have some.
pub(super) fn check(container: &Node<'_>, pod: &Node<'_>, report: &mut Report<'_, '_>) {
    let grace = pod.int("terminationGracePeriodSeconds");
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get(name) else { continue };
        handler(&probe, &["exec", "httpGet", "tcpSocket", "grpc"], grace, report);
        for number in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            if let Some(value) = probe.int(number).filter(|value| *value < 0) {
                report.invalid(&probe.at(number), &Value::from(value), "must not be negative");
            }
        }
        let successes = probe.int("successThreshold").unwrap_or(1);
        if name != "readinessProbe" && successes != 1 {
            report.invalid(&probe.at("successThreshold"), &Value::from(successes), "must be 1 in this probe");
        }
        let at = probe.at("terminationGracePeriodSeconds");
        match probe.int("terminationGracePeriodSeconds") {
            Some(_) if name == "readinessProbe" => {
                report.forbidden(&at, "a readiness probe ends no container");
                let seconds = probe.int("terminationGracePeriodSeconds").unwrap_or(0);
                let message = format!("Invalid value: {seconds}: must not be set for readinessProbes");
                report.reworded(INVALID, &at, message);
            }
            Some(seconds) if seconds <= 0 => report.invalid(&at, &Value::from(seconds), "must be greater than 0"),
            _ => {}
        }
    }
    let hooks = container.field("lifecycle");
    for name in ["postStart", "preStop"] {
        if let Some(hook) = hooks.get(name) {
            handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], grace, report);
        }
    }
}

fn handler(of: &Node<'_>, kinds: &[&str], grace: Option<i64>, report: &mut Report<'_, '_>) {
    let given: Vec<&str> = kinds.iter().copied().filter(|kind| of.has(kind)).collect();
    match given.as_slice() {
        [] => {
            report.wrong(&of.at, &format!("one of {} is required", kinds.join(", ")));
            report.reworded(REQUIRED, &of.at, "Required value: must specify a handler type");
        }
        [_] => {}
        [_, more @ ..] => {
            for kind in more {
                report.forbidden(&of.at(kind), "only one handler is possible");
                report.reworded(FORBIDDEN, &of.at(kind), "Forbidden: may not specify more than 1 handler type");
            }
        }
    }
    let Some(kind) = given.first().copied() else { return };
    let handler = of.field(kind);
    match kind {
        "exec" if handler.items("command").is_empty() => report.required(&handler.at("command")),
        "httpGet" => {
            port(&handler, report);
            report.one_of(&handler, "scheme", &["HTTP", "HTTPS"]);
            for header in handler.items("httpHeaders") {
                report.check(&header.at("name"), header.text("name"), header_name);
            }
        }
        "tcpSocket" | "grpc" => port(&handler, report),
        "sleep" => {
            let seconds = handler.int("seconds").unwrap_or_default();
            if grace.is_some_and(|grace| seconds < 0 || seconds > grace) {
                let words = "must be from 0 to `terminationGracePeriodSeconds`";
                report.invalid(&of.at("sleep"), &Value::from(seconds), words);
            }
        }
        _ => {}
    }
}

fn port(handler: &Node<'_>, report: &mut Report<'_, '_>) {
    let at = handler.at("port");
    match handler.value.get("port") {
        Some(Value::String(name)) => report.check(&at, name, port_name),
        Some(Value::Number(number)) => {
            if let Err(words) = port_number(number.as_i64().unwrap_or_default()) {
                report.invalid(&at, &Value::from(number.clone()), words);
            }
        }
        _ => report.required(&at),
    }
}
