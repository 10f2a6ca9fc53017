//! The checks of a StatefulSet, one file for each part of it: what the server would refuse, and what is not driven.
//!
//! First what server-side apply refuses while it reads ([`typed`]); only where that is in order, what validation refuses,
//! on the spec as the server defaults it. Mirrors `pkg/apis/{core,apps}/validation` of Kubernetes, for a new set and
//! with the feature gates at their defaults. What is not mirrored here comes from the server's dry run.

use serde_json::{Map, Value};

use super::super::default::{self, Level};
use super::super::findings::Findings;
use super::super::foreign::placeholder;
use super::super::level::Checks;
use super::super::parse::Document;
use super::super::places::join;
use super::super::words::{found, show};
use super::{ADOPT, ALLOW_CLAIM_DELETION, RESERVED, annotation};

mod claims;
mod containers;
mod env;
mod metadata;
mod names;
mod node;
mod pod;
mod probes;
pub(crate) mod refusal;
mod resources;
mod scheduling;
mod security;
mod set;
mod typed;
mod volumes;

use node::{At, Grade, Node, Report};
use refusal::Refusal;

/// Where a manifest states a partition.
pub(super) const PARTITION: &str = "/spec/updateStrategy/rollingUpdate/partition";

/// The greatest count that Kubernetes' fields hold.
const MAX_COUNT: i64 = i32::MAX as i64;

/// Checks everything but the name.
pub(super) fn run(value: &Value, checks: Checks, findings: &mut Findings<'_>) {
    let Some(spec) = value.get("spec").and_then(Value::as_object) else {
        findings.error("/spec", "the set has no `spec`").hint = PATCH.into();
        return;
    };
    if is_patch(value, spec) {
        findings
            .error("/spec", "looks like a kustomize patch, not a whole StatefulSet: neither selector nor image")
            .hint = PATCH.into();
        return;
    }
    exported(value, findings);
    annotations(value, findings);
    driven(value, checks, findings);
    images(value, findings);
    if findings.has_error() {
        // What server-side apply cannot read it does not validate either.
        typed::check(value, checks.level(), findings);
        return;
    }
    typed::check(value, checks.level(), findings);
    if !findings.has_error() {
        validate(value, checks, findings);
    }
}

/// An image may be any text to the server; one that was to be filled in is none to a node.
fn images(value: &Value, findings: &mut Findings<'_>) {
    for list in ["containers", "initContainers"] {
        let containers = value.pointer("/spec/template/spec").and_then(|pod| pod.get(list)).and_then(Value::as_array);
        for (index, container) in containers.into_iter().flatten().enumerate() {
            let Some(image) = container.get("image").and_then(Value::as_str) else { continue };
            let Some(hint) = placeholder(image) else { continue };
            let at = At::top("spec").child("template").child("spec").child(list).index(index).child("image");
            let finding = findings.warning(&at.pointer, format!("`{}`: {} is no image", at.path, show(image)));
            (finding.hint, finding.path, finding.code) = (hint.into(), at.path, "placeholder".into());
        }
    }
}

/// What validation refuses, after defaulting.
fn validate(value: &Value, checks: Checks, findings: &mut Findings<'_>) {
    let level = checks.level().unwrap_or(Level::V1_33);
    let spec = default::stateful_set(value.get("spec").unwrap_or(&Value::Null), level);
    let spec = Node::new(&spec, At::top("spec"));
    let mut report = Report { findings, grade: Grade::Refused, level, refusals: Vec::new() };
    if let Some(meta) = value.get("metadata") {
        metadata::check(&Node::new(meta, At::top("metadata")), &mut report);
    }
    set::check(&spec, &mut report);
    let pods = spec.field("template").field("spec");
    match checks {
        Checks::Rollout => containers::named(&pods, &mut report),
        Checks::Past => {}
        Checks::Server(level) => {
            if level < Level::V1_36 {
                // Pod and claim templates are taken unseen; whoever makes the pods finds out.
                report.grade = Grade::NoPods;
            }
            pod::check(&spec, &mut report);
            claims::check(&spec, &mut report);
        }
    }
}

/// What a server of that level refuses of a set, in its words and its order; the spec is as the server defaults it.
pub(crate) fn refusals(spec: &Value, level: Level) -> Vec<Refusal> {
    let nowhere = Document::default();
    let mut findings = Findings::about(&nowhere);
    let mut report = Report { findings: &mut findings, grade: Grade::Refused, level, refusals: Vec::new() };
    let spec = Node::new(spec, At::top("spec"));
    set::check(&spec, &mut report);
    if level >= Level::V1_36 {
        // The metadata of the template is looked at again, as that of any template.
        let of_template = ["spec.template.labels", "spec.template.annotations"];
        let again = report.refusals.iter().filter(|it| of_template.contains(&it.field.as_str())).cloned();
        let again: Vec<Refusal> = again.collect();
        report.refusals.extend(again);
        pod::check(&spec, &mut report);
        claims::check(&spec, &mut report);
    }
    report.refusals
}

/// What a server refuses of the spec of a pod, in its words.
pub(crate) fn pod_refusals(spec: &Value, level: Level) -> Vec<Refusal> {
    let nowhere = Document::default();
    let mut findings = Findings::about(&nowhere);
    let mut report = Report { findings: &mut findings, grade: Grade::Refused, level, refusals: Vec::new() };
    pod::check_spec(&Node::new(&Value::Null, At::top("")), &Node::new(spec, At::top("spec")), &mut report);
    report.refusals
}

/// What a server refuses of the metadata of any object, but for its name, in its words.
pub(crate) fn metadata_refusals(metadata: &Value, level: Level) -> Vec<Refusal> {
    let nowhere = Document::default();
    let mut findings = Findings::about(&nowhere);
    let mut report = Report { findings: &mut findings, grade: Grade::Refused, level, refusals: Vec::new() };
    metadata::check(&Node::new(metadata, At::top("metadata")), &mut report);
    report.refusals
}

/// What a server refuses of the spec of a claim, in its words.
pub(crate) fn claim_refusals(spec: &Value, level: Level) -> Vec<Refusal> {
    let nowhere = Document::default();
    let mut findings = Findings::about(&nowhere);
    let mut report = Report { findings: &mut findings, grade: Grade::Refused, level, refusals: Vec::new() };
    claims::spec(&Node::new(spec, At::top("spec")), &mut report);
    report.refusals
}

/// What the server takes and Phaseline does not drive: an error for a rollout, a warning for who asks what a server takes.
fn driven(value: &Value, checks: Checks, findings: &mut Findings<'_>) {
    let mut rule = |at: &str, message: String, hint: String| {
        let finding = match checks {
            Checks::Rollout => findings.error(at, message),
            Checks::Server(_) => findings.warning(at, message),
            Checks::Past => return,
        };
        (finding.hint, finding.code) = (hint, "not-driven".into());
        finding.path = at.trim_start_matches('/').replace('/', ".");
    };
    if value.pointer("/spec/updateStrategy/type").is_some_and(|kind| kind == "OnDelete") {
        let message = "with `OnDelete` nothing would roll".to_owned();
        rule("/spec/updateStrategy/type", message, "Phaseline drives `RollingUpdate`".into());
    }
    let at = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    match value.pointer(at) {
        None | Some(Value::Null) => {}
        Some(Value::Number(number)) if number.as_i64().is_some_and(|count| (1..=MAX_COUNT).contains(&count)) => {}
        Some(Value::String(text)) if percent(text).is_some_and(|percent| (1..=100).contains(&percent)) => {}
        Some(other) => {
            let hint = "a number of pods from 1, or a share from \"1%\" to \"100%\"";
            rule(at, format!("`maxUnavailable` cannot be {}", found(other)), hint.into());
        }
    }
    for at in ["/spec/replicas", PARTITION, "/spec/minReadySeconds", "/spec/ordinals/start"] {
        let name = at.trim_start_matches('/').replace('/', ".");
        let Some(Value::Number(number)) = value.pointer(at) else { continue };
        let whole = number.as_f64().is_some_and(|float| float.fract() == 0.0);
        let fits = number.as_i64().is_some_and(|count| count <= MAX_COUNT && count >= i64::from(i32::MIN));
        if whole && !fits {
            let hint =
                format!("a whole number from 0 to {MAX_COUNT}: the server would take another one for it, unseen");
            rule(at, format!("`{name}` cannot be {number}"), hint);
        }
    }
}

fn percent(text: &str) -> Option<u32> {
    let digits = text.strip_suffix('%')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

const PATCH: &str = "render the kustomization (`kubectl kustomize`) in CI and commit what comes out";

fn is_patch(value: &Value, spec: &Map<String, Value>) -> bool {
    let images = |list: &str| {
        let containers = value.pointer(list).and_then(Value::as_array);
        containers.is_some_and(|list| list.iter().any(|container| container.get("image").is_some()))
    };
    !spec.contains_key("selector") && !images("/spec/template/spec/containers")
}

/// An object taken from a cluster names one object there, and no other one may be made from it.
fn exported(value: &Value, findings: &mut Findings<'_>) {
    for key in ["uid", "resourceVersion"] {
        if value.pointer("/metadata").and_then(|metadata| metadata.get(key)).is_some_and(|value| !value.is_null()) {
            let message = format!("`metadata.{key}` belongs to one object of one cluster");
            findings.key_error(&join("/metadata", key), message).hint =
                "the manifest was exported from a cluster: remove `uid`, `resourceVersion` and `status`".into();
        }
    }
    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    if annotation(value, LAST_APPLIED).is_some() {
        let message = format!("the annotation `{LAST_APPLIED}` is kubectl's own note of an older state");
        findings.key_warning(&join("/metadata/annotations", LAST_APPLIED), message).hint =
            "the manifest was exported from a cluster: remove the annotation".into();
    }
}

fn annotations(value: &Value, findings: &mut Findings<'_>) {
    let at = |key: &str| join("/metadata/annotations", key);
    for key in RESERVED {
        if annotation(value, key).is_some() {
            let message = format!("the annotation `{key}` is Phaseline's own");
            findings.key_error(&at(key), message).hint = "remove it from the manifest".into();
        }
    }
    for key in [ADOPT, ALLOW_CLAIM_DELETION] {
        match annotation(value, key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if matches!(text.as_str(), "true" | "false") => {}
            Some(Value::String(text)) => {
                findings.warning(&at(key), format!("{} is taken for \"false\"", show(text)));
            }
            // That it is no text is said with all other types.
            Some(_) => {}
        }
    }
}
