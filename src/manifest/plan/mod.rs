//! Reads a rollout plan and checks it, so that what is in force later is only what makes sense.

mod fields;
mod keys;
mod stages;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use self::tests::EXAMPLE;

use serde_json::Value;

use self::fields::Fields;
use super::findings::{Findings, misspelt};
use super::kind::{Role, SET_KIND};
use super::parse::Document;
use super::words::{digest, found, is_dns_label, show};
use crate::model::{Diagnostic, OnNewRevision, Plan, RepairPolicy};

pub(super) use self::keys::{METADATA, PAUSE, RAMP, RAMP_RULES, ROLLBACK_WINDOW, SPEC, STAGE, TOP, WORKLOAD_REF};

/// The only API version of plans that this version reads.
pub const API_VERSION: &str = "phaseline.dev/v1alpha1";

/// The longest pause, deadline or soak, in seconds: 30 days. What is to wait longer waits for a person (`pause: {}`).
pub const MAX_SECONDS: u32 = 30 * 24 * 60 * 60;

/// The most stages; a plan of more does not fit into the rollout's record either.
pub const MAX_STAGES: usize = 64;

/// The most proven revisions that are remembered, and so the widest rollback window.
pub const MAX_ROLLBACK_WINDOW: u32 = crate::model::Record::MAX_PROVEN as u32;

/// A checked plan and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanDocument {
    /// The file's path inside the repository.
    pub file: String,
    /// The line of its document.
    pub line: u32,
    /// `metadata.name`; empty where it has none.
    pub name: String,
    /// The set it names: the plan's namespace where it states one, and the set's name.
    pub workload_ref: Option<(Option<String>, String)>,
    /// The folder of its file; empty at the top of the repository.
    pub folder: String,
    /// The plan.
    pub plan: Plan,
    /// Its digest: see [`plan_digest`].
    pub digest: String,
}

/// What came of reading one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanReading {
    /// The set it names, as far as that can be told; none where it is for the sets of its folder.
    pub workload_ref: Option<(Option<String>, String)>,
    /// The folder of its file.
    pub folder: String,
    /// The plan; none where a finding is an error.
    pub plan: Option<PlanDocument>,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether a document is for [`read`]: a plan, or what was most likely meant as one.
pub fn is_plan(document: &Document) -> bool {
    document.role() == Role::Plan
}

/// The folder of a file: the path up to its last `/`, empty where it has none.
pub fn folder_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// SHA-256 over the canonical JSON of a checked plan, its stages' names included, 20 hexadecimal digits of it.
pub fn plan_digest(plan: &Plan) -> String {
    // Values sort their keys; the plan itself keeps the order of its fields.
    let canonical = serde_json::to_value(plan).unwrap_or_default();
    digest(canonical.to_string().as_bytes())
}

/// Reads a plan. Every finding is collected; with an error among them there is no plan.
pub fn read(document: &Document) -> PlanReading {
    let mut findings = Findings::about(document);
    let value = &document.value;
    let workload_ref = workload_ref(value);
    let mut plan = None;
    if !document.unreadable {
        misspelt(document, Role::Plan, &mut findings);
        if document.api_version() == API_VERSION {
            plan = Fields::of(value, String::new(), &TOP, &mut findings).and_then(|top| {
                let name = metadata(&top, &mut findings).unwrap_or_default();
                Some((name, spec(&top, &mut findings)?))
            });
        } else {
            let message = format!("this version reads {API_VERSION}, not {}", show(document.api_version()));
            findings.error("/apiVersion", message).hint = format!("write `apiVersion: {API_VERSION}`");
        }
    }
    if let Some((_, plan)) = &plan {
        let bytes = plan.frozen().len();
        if bytes > Plan::MAX_FROZEN_BYTES && !findings.has_error() {
            let message =
                format!("the plan takes {bytes} bytes in the rollout's record, at most {}", Plan::MAX_FROZEN_BYTES);
            findings.error("/spec/stages", message).hint =
                "shorten the stages' names, or write a `ramp` instead of stages".into();
        }
    }
    let folder = folder_of(&document.file).to_owned();
    let plan = plan.filter(|_| !findings.has_error()).map(|(name, plan)| PlanDocument {
        file: document.file.clone(),
        line: document.line,
        name,
        workload_ref: workload_ref.clone(),
        folder: folder.clone(),
        digest: plan_digest(&plan),
        plan,
    });
    PlanReading { workload_ref, folder, plan, diagnostics: findings.finish() }
}

/// The set a plan names, told as well as can be even of a plan that is wrong elsewhere.
fn workload_ref(value: &Value) -> Option<(Option<String>, String)> {
    let name = value.pointer("/spec/workloadRef/name")?.as_str()?;
    let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    Some((namespace.map(str::to_owned), name.to_owned()))
}

/// Checks the metadata; gives the name.
fn metadata(top: &Fields<'_>, findings: &mut Findings<'_>) -> Option<String> {
    let metadata = top.inner("metadata", &METADATA, findings)?;
    for key in ["name", "namespace"] {
        match metadata.get(key) {
            Some(Value::String(name)) if is_dns_label(name) => {}
            Some(other) => {
                let message = format!("`metadata.{key}` cannot be {}", found(other));
                findings.error(&metadata.at(key), message).hint =
                    "at most 63 of a-z, 0-9 and `-`, and neither begins nor ends with `-`".into();
            }
            None => {}
        }
    }
    metadata.get("name").and_then(Value::as_str).map(str::to_owned)
}

/// Checks everything below `spec`.
fn spec(top: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Plan> {
    if top.get("spec").is_none() {
        findings.error("", "the plan has no `spec`").hint =
            "write at least `spec: {stages: [{replicas: \"100%\"}]}`".into();
        return None;
    }
    let spec = top.inner("spec", &SPEC, findings)?;
    check_workload_ref(&spec, findings);
    on_failure(&spec, findings);
    if let Some(threshold) = spec.get("failureThreshold")
        && threshold.as_i64() != Some(0)
    {
        let message = format!("`failureThreshold` {} is not built yet", found(threshold));
        findings.error(&spec.at("failureThreshold"), message).hint = "leave it out: no pod may fail".into();
    }
    let default = Plan::default();
    let deadline = spec.count("progressDeadlineSeconds", 1, MAX_SECONDS, findings);
    let window = spec
        .inner("rollbackWindow", &ROLLBACK_WINDOW, findings)
        .and_then(|window| window.count("revisions", 0, MAX_ROLLBACK_WINDOW, findings));
    let restarts = spec.count("maxRestarts", 0, i32::MAX as u32, findings);
    let on_new_revision = spec.word(
        "onNewRevision",
        &[
            ("Continue", OnNewRevision::Continue),
            ("Restart", OnNewRevision::Restart),
            ("Queue", OnNewRevision::Queue),
            ("Block", OnNewRevision::Block),
        ],
        findings,
    );
    let repair_policy = repair_policy(&spec, findings);
    let deadline = deadline.unwrap_or(default.progress_deadline_seconds);
    Some(Plan {
        schedule: stages::schedule(&spec, deadline, findings)?,
        progress_deadline_seconds: deadline,
        on_new_revision: on_new_revision.unwrap_or_default(),
        rollback_window: window.unwrap_or(default.rollback_window),
        repair_policy: repair_policy.unwrap_or_default(),
        max_restarts: restarts.unwrap_or(default.max_restarts),
    })
}

fn check_workload_ref(spec: &Fields<'_>, findings: &mut Findings<'_>) {
    if spec.get("workloadRef").is_none() {
        return;
    }
    let Some(reference) = spec.inner("workloadRef", &WORKLOAD_REF, findings) else { return };
    for (key, expected) in [("apiVersion", super::stateful_set::API_VERSION), ("kind", SET_KIND)] {
        if let Some(value) = reference.get(key)
            && value.as_str() != Some(expected)
        {
            let message = format!("`workloadRef.{key}` cannot be {}", found(value));
            findings.error(&reference.at(key), message).hint = format!("only `{expected}` is driven");
        }
    }
    match reference.get("name") {
        Some(Value::String(name)) if is_dns_label(name) => {}
        Some(other) => {
            let message = format!("{} is no name of a StatefulSet", found(other));
            findings.error(&reference.at("name"), message);
        }
        None => {
            findings.error(&spec.at("workloadRef"), "`workloadRef` names no set").hint =
                "write `workloadRef: {apiVersion: apps/v1, kind: StatefulSet, name: ..}`, or leave it out: then the plan \
                 is for every StatefulSet of its folder"
                    .into();
        }
    }
}

fn on_failure(spec: &Fields<'_>, findings: &mut Findings<'_>) {
    if spec.get("onFailure").and_then(Value::as_str) == Some("Revert") {
        findings.error(&spec.at("onFailure"), "`onFailure: Revert` is not built yet").hint =
            "write `Halt`, and undo with `git revert`".into();
    } else {
        spec.word("onFailure", &[("Halt", ())], findings);
    }
}

fn repair_policy(spec: &Fields<'_>, findings: &mut Findings<'_>) -> Option<RepairPolicy> {
    if spec.get("repairPolicy").and_then(Value::as_str).is_some_and(|word| word.eq_ignore_ascii_case("Evict")) {
        findings.error(&spec.at("repairPolicy"), "`repairPolicy: Evict` is not built yet").hint =
            "write `Delete`, or `None`".into();
        return None;
    }
    spec.word("repairPolicy", &[("Delete", RepairPolicy::Delete), ("None", RepairPolicy::None)], findings)
}
