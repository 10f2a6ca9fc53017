//! Asks the server what an apply would come to: a dry run, compared with the set as it is.

use serde_json::{Value, json};

use crate::cli::error::{CliError, Kind};
use crate::cli::foresee::Foreseen;
use crate::cli::output::diff::{self, Change};
use crate::cli::output::plan::Conflict;
use crate::cli::session::Session;
use crate::cluster::Outcome;
use crate::cluster::read;
use crate::manifest::apply_body;
use crate::model::{Desired, FieldOwner, Observed, Reason, Record, RecordState};
use crate::revision::{controller_revision, digest};

/// What the server showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shown {
    /// Fields in which the set would differ.
    pub(super) fields: Vec<Change>,
    /// The name of the ControllerRevision of the template as the server would keep it.
    pub(super) revision: Option<String>,
    /// Who would have to give fields up.
    pub(super) conflicts: Vec<Conflict>,
    /// Why it would be refused; empty where it would not.
    pub(super) refused: String,
}

/// One dry run (a second one where somebody else owns fields), and the set as it is; nothing where nothing is applied.
pub(super) fn ask(
    session: &Session,
    desired: &Desired,
    foreseen: &Foreseen,
    observed: &Observed,
) -> Result<Shown, CliError> {
    let Some(body) = body(desired, foreseen, observed) else { return Ok(Shown::default()) };
    let workload = &observed.workload;
    let mut shown = Shown::default();
    let mut outcome = session.wait(read::dry_run_apply(&session.cluster, workload, &body, false));
    if let Err(Outcome::Conflict { managers, fields }) = outcome {
        if managers.iter().any(|manager| !FieldOwner::is_our_manager(manager)) {
            shown.conflicts.push(Conflict { managers, fields });
        }
        outcome = session.wait(read::dry_run_apply(&session.cluster, workload, &body, true));
    }
    let object = match outcome {
        Ok((_, object)) => object,
        Err(Outcome::Refused { message, .. } | Outcome::Moved(message)) => {
            shown.refused = message;
            return Ok(shown);
        }
        Err(Outcome::Conflict { managers, fields }) => {
            shown.conflicts.push(Conflict { managers, fields });
            return Ok(shown);
        }
        Err(Outcome::Failed { message, .. }) => {
            return Err(CliError::new(Kind::Cluster, format!("the dry run of {workload} failed: {message}")));
        }
        Err(Outcome::Done(_)) => return Ok(shown),
    };
    shown.revision = predicted(&workload.name, &object);
    if observed.set.is_some() {
        let live = session.object(workload)?;
        shown.fields = diff::changes(&cleaned(live), &cleaned(object));
    }
    Ok(shown)
}

/// What would be applied; after a drift, what would put Git's state back.
fn body(desired: &Desired, foreseen: &Foreseen, observed: &Observed) -> Option<Value> {
    let Some(apply) = &foreseen.apply else {
        let RecordState::Is(record, _) = &observed.set.as_ref()?.record else { return None };
        if foreseen.decision.reason != Reason::Drifted || record.target.hash != desired.tip.hash {
            return None;
        }
        let mut body = apply_body::for_apply(&desired.tip.manifest, None);
        apply_body::set_partition(&mut body, record.partition.0);
        if !record.target.restart.is_empty() {
            apply_body::set_template_annotation(&mut body, digest::RESTARTED_AT, &record.target.restart);
        }
        return Some(body);
    };
    let mut body = (*apply.manifest).clone();
    apply_body::set_partition(&mut body, apply.partition.0);
    if let Some(replicas) = foreseen.hands_over {
        // Handed over before the apply, the number stays; in a dry run nothing was handed over.
        body["spec"]["replicas"] = replicas.into();
    }
    Some(body)
}

/// The ControllerRevision's name, from the template as the server returned it.
fn predicted(name: &str, object: &Value) -> Option<String> {
    let template = object.pointer("/spec/template")?;
    let collisions = object.pointer("/status/collisionCount").and_then(Value::as_i64).unwrap_or_default();
    Some(controller_revision::name(name, template, i32::try_from(collisions).ok()?))
}

/// The object without what the server or the daemon keeps in it.
fn cleaned(mut object: Value) -> Value {
    for (parent, keys) in [
        ("", &["status"][..]),
        ("/metadata", &["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"]),
        (
            "/metadata/annotations",
            &[
                Record::ANNOTATION,
                crate::model::Request::ANNOTATION,
                "kubernetes.io/change-cause",
                "kubectl.kubernetes.io/last-applied-configuration",
            ],
        ),
        ("/spec/updateStrategy/rollingUpdate", &["partition"]),
    ] {
        if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            for key in keys {
                parent.remove(*key);
            }
        }
    }
    // An annotation map that held nothing but these is no difference to none.
    if object.pointer("/metadata/annotations") == Some(&json!({}))
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("annotations");
    }
    object
}
