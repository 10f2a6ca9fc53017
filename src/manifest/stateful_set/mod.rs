//! Reads a StatefulSet manifest and checks what the server, or a rollout, would stumble over.

mod checks;

pub(crate) use checks::refusal::{self, Refusal};
pub(crate) use checks::{claim_refusals, metadata_refusals, pod_refusals, refusals};

use serde_json::Value;

use super::findings::{Findings, misspelt};
use super::foreign;
use super::kind::{Role, SET_KIND};
use super::level::Checks;
use super::parse::Document;
use super::words::{is_dns_label, show};
use crate::model::{Diagnostic, Record, Request, WorkloadId};

/// The only API version of sets that is driven.
pub const API_VERSION: &str = "apps/v1";

/// The annotation that asks for adoption of a set that exists.
pub const ADOPT: &str = "phaseline.dev/adopt";

/// The annotation that allows a scale-down to delete claims.
pub const ALLOW_CLAIM_DELETION: &str = "phaseline.dev/allow-claim-deletion";

/// The longest name whose pods can carry the label `controller-revision-hash`: `<name>-<hash>` in 63 characters.
const MAX_LABELLED_NAME: usize = 52;

/// One StatefulSet as a file of the deploy repository states it.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The file's path inside the repository.
    pub file: String,
    /// The line of its document.
    pub line: u32,
    /// Which set, the default namespace filled in.
    pub workload: WorkloadId,
    /// Whether the manifest itself names the namespace.
    pub namespace_given: bool,
    /// The object as written: status, nulls and what only a server writes taken out, the namespace filled in.
    pub value: Value,
    /// `spec.replicas` where it is stated.
    pub replicas: Option<u32>,
    /// `spec.updateStrategy.rollingUpdate.partition` where it is stated; still in `value`.
    pub partition: Option<u32>,
    /// Whether it asks for adoption.
    pub adopt: bool,
    /// Whether it allows a scale-down to delete claims.
    pub allow_claim_deletion: bool,
}

/// What came of reading one StatefulSet.
#[derive(Debug, Clone, PartialEq)]
pub struct SetReading {
    /// Which set it is about, as far as that can be told.
    pub workload: Option<WorkloadId>,
    /// The manifest; none where a finding is an error.
    pub manifest: Option<Manifest>,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether a document is for [`read`]: a StatefulSet of whatever group.
pub fn is_stateful_set(document: &Document) -> bool {
    document.kind() == SET_KIND
}

/// Whether a document is a StatefulSet, or was most likely meant as one: then [`read`] says what is wrong with it.
pub fn is_meant(document: &Document) -> bool {
    document.role() == Role::Set
}

/// Whether a document is a set of OpenKruise, which brings its own controller.
pub fn is_kruise(document: &Document) -> bool {
    is_stateful_set(document) && document.api_version().starts_with("apps.kruise.io/")
}

/// Reads a StatefulSet; without a namespace of its own it is in `default_namespace`.
pub fn read(document: &Document, default_namespace: &str) -> SetReading {
    read_for(document, default_namespace, Checks::Rollout)
}

/// The same with the checks of somebody else than a rollout.
pub fn read_for(document: &Document, default_namespace: &str, checks: Checks) -> SetReading {
    let mut findings = Findings::about(document);
    let value = &document.value;
    let workload = identify(value, default_namespace, &mut findings);
    let mut manifest = None;
    misspelt(document, Role::Set, &mut findings);
    if document.api_version() != API_VERSION {
        let message = format!("a StatefulSet of {} is not driven", show(document.api_version()));
        findings.error("/apiVersion", message).hint = if is_kruise(document) {
            "it is Kruise's, not driven by Phaseline".into()
        } else {
            match document.api_version() {
                "apps/v1beta1" | "apps/v1beta2" | "extensions/v1beta1" => format!(
                    "Kubernetes serves it no more: write `apiVersion: {API_VERSION}`, and `spec.selector` with the \
                     labels of the template"
                ),
                _ => format!("write `apiVersion: {API_VERSION}`"),
            }
        };
    } else {
        checks::run(value, checks, &mut findings);
        manifest = workload.clone().map(|workload| build(document, workload, &mut findings));
    }
    let manifest = manifest.filter(|_| !findings.has_error());
    SetReading { workload, manifest, diagnostics: findings.finish() }
}

/// Namespace and name; none where the name cannot be used at all.
fn identify(value: &Value, default_namespace: &str, findings: &mut Findings<'_>) -> Option<WorkloadId> {
    let namespace = match value.pointer("/metadata/namespace") {
        None | Some(Value::Null) => Some(default_namespace),
        Some(Value::String(namespace)) if namespace.is_empty() => Some(default_namespace),
        Some(Value::String(namespace)) if is_dns_label(namespace) => Some(namespace.as_str()),
        Some(other) => {
            let message = format!("{} is no name of a namespace", super::words::found(other));
            findings.error("/metadata/namespace", message).hint = DNS_LABEL.into();
            None
        }
    };
    let name = match value.pointer("/metadata/name") {
        None | Some(Value::Null) => {
            let (message, hint) = if value.pointer("/metadata/generateName").is_some() {
                ("`generateName` without a name", "give it a `metadata.name`: a set from Git needs a lasting one")
            } else {
                ("the set has no name", "give it a `metadata.name`")
            };
            findings.error("/metadata", message).hint = hint.into();
            return None;
        }
        Some(Value::String(name)) if is_dns_label(name) => name,
        Some(other) => {
            let message = format!("{} is no name of a StatefulSet", super::words::found(other));
            let hint = other.as_str().and_then(foreign::placeholder).unwrap_or(DNS_LABEL);
            findings.error("/metadata/name", message).hint = hint.into();
            return None;
        }
    };
    if name.len() > MAX_LABELLED_NAME {
        let message = format!("the name has {} characters, more than {MAX_LABELLED_NAME}", name.len());
        findings.warning("/metadata/name", message).hint =
            "its pods carry `<name>-<hash>` as a label, which would not fit into 63 characters: none would start"
                .into();
    }
    namespace.map(|namespace| WorkloadId::new(namespace, name))
}

/// What a name of a set or a namespace has to be.
const DNS_LABEL: &str = "at most 63 of a-z, 0-9 and `-`, and neither begins nor ends with `-`";

/// Takes out what is not the author's, fills in what the rest of the program counts on.
fn build(document: &Document, workload: WorkloadId, findings: &mut Findings<'_>) -> Manifest {
    let mut value = document.value.clone();
    strip_nulls(&mut value);
    let object = value.as_object_mut();
    if object
        .and_then(|object| object.remove("status"))
        .is_some_and(|status| status != Value::Object(Default::default()))
    {
        findings.warning("/status", "`status` is left out: only the server writes it");
    }
    let namespace_given =
        value.pointer("/metadata/namespace").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["creationTimestamp", "generation", "managedFields", "selfLink"] {
            if metadata.remove(key).is_some() {
                findings.warning(
                    &format!("/metadata/{key}"),
                    format!("`metadata.{key}` is left out: only the server writes it"),
                );
            }
        }
        metadata.insert("namespace".into(), workload.namespace.clone().into());
    }
    let annotated = |key| annotation(&value, key).and_then(Value::as_str) == Some("true");
    let (adopt, allow_claim_deletion) = (annotated(ADOPT), annotated(ALLOW_CLAIM_DELETION));
    Manifest {
        file: document.file.clone(),
        line: document.line,
        workload,
        namespace_given,
        replicas: natural(&value, "/spec/replicas"),
        partition: natural(&value, checks::PARTITION),
        adopt,
        allow_claim_deletion,
        value,
    }
}

/// Maps of strings: there a key without a value is read as one with an empty text.
const STRING_MAPS: [&str; 6] = ["labels", "annotations", "matchLabels", "nodeSelector", "volumeAttributes", "options"];
/// Maps of quantities: there a key without a value is read as zero.
const QUANTITY_MAPS: [&str; 4] = ["limits", "requests", "overhead", "capacity"];

/// Takes out the keys of mappings that have no value, as Kubernetes reads them; in its maps they have one.
fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            for (key, value) in map.iter_mut() {
                if let (Some(nothing), Value::Object(inner)) = (zero_of(key), &mut *value) {
                    inner.values_mut().filter(|value| value.is_null()).for_each(|value| *value = nothing.into());
                }
                strip_nulls(value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strip_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a key without a value is read as in a map of this name; none where the key is as good as absent.
fn zero_of(map: &str) -> Option<&'static str> {
    if STRING_MAPS.contains(&map) { Some("") } else { QUANTITY_MAPS.contains(&map).then_some("0") }
}

fn natural(value: &Value, pointer: &str) -> Option<u32> {
    value.pointer(pointer).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
}

fn annotation<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.pointer("/metadata/annotations")?.get(key)
}

/// The annotations that hold a rollout's state and people's requests: never a manifest's.
const RESERVED: [&str; 2] = [Record::ANNOTATION, Request::ANNOTATION];

#[cfg(test)]
mod cases;
#[cfg(test)]
pub(in crate::manifest) mod tests;
