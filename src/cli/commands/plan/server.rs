//! Asks the server what an apply would come to: a dry run, compared with the set as it is.

use serde_json::{Value, json};

use super::existing::{self, Existing};
use super::predict;
use crate::cli::error::{CliError, Kind};
use crate::cli::foresee::Foreseen;
use crate::cli::output::diff::{self, Change};
use crate::cli::output::plan::{Conflict, Predicted};
use crate::cli::session::Session;
use crate::cluster::read;
use crate::cluster::{FieldFault, Outcome, RequestError, max_unavailable_pods};
use crate::manifest::apply_body;
use crate::manifest::default::Level;
use crate::model::{Desired, FieldOwner, Observed, Reason, Record, RecordState, WorkloadId};
use crate::revision::{controller_revision, digest};

/// The most fields that a warning names.
const MOST_NAMED: usize = 10;

/// What the server showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shown {
    /// Fields in which the set would differ.
    pub(super) fields: Vec<Change>,
    /// The name of the ControllerRevision that the template will have in this cluster.
    pub(super) revision: Option<String>,
    /// What we foretold ourselves, and where the server's answer is another.
    pub(super) predicted: Option<Predicted>,
    /// The ControllerRevision that is there already and will be used again.
    pub(super) returns_to: Option<String>,
    /// How many pods may be down at a time, where the server knows of such a number.
    pub(super) max_unavailable: Option<u32>,
    /// Who would have to give fields up.
    pub(super) conflicts: Vec<Conflict>,
    /// What is odd.
    pub(super) warnings: Vec<String>,
    /// Why it would be refused; empty where it would not.
    pub(super) refused: String,
    /// The fields at fault then.
    pub(super) faults: Vec<FieldFault>,
}

/// One dry run (a second one where somebody else owns fields), and the set as it is; nothing where nothing is applied.
pub(super) fn ask(
    session: &Session,
    desired: &Desired,
    foreseen: &Foreseen,
    observed: &Observed,
    level: Level,
) -> Result<Shown, CliError> {
    let Some(body) = body(desired, foreseen, observed) else { return Ok(Shown::default()) };
    let workload = &observed.workload;
    let mut shown = Shown::default();
    let mut outcome = session.wait(read::try_apply(&session.cluster, workload, &body, false));
    if let Err((Outcome::Conflict { managers, fields }, _)) = outcome {
        if managers.iter().any(|manager| !FieldOwner::is_our_manager(manager)) {
            shown.conflicts.push(Conflict { managers, fields });
        }
        outcome = session.wait(read::try_apply(&session.cluster, workload, &body, true));
    }
    let object = match outcome {
        Ok(object) => object,
        Err((Outcome::Refused { message, .. } | Outcome::Moved(message), faults)) => {
            (shown.refused, shown.faults) = (message, faults);
            return Ok(shown);
        }
        Err((Outcome::Conflict { managers, fields }, _)) => {
            shown.conflicts.push(Conflict { managers, fields });
            return Ok(shown);
        }
        Err((Outcome::Failed { message, .. }, _)) => {
            return Err(CliError::new(Kind::Cluster, format!("the dry run of {workload} failed: {message}")));
        }
        Err((Outcome::Done(_), _)) => return Ok(shown),
    };
    shown.revision = predicted(&workload.name, &object);
    shown.max_unavailable = max_unavailable(&object);
    let live = match observed.set {
        Some(_) => Some(session.object(workload)?).filter(|live| !live.is_null()),
        None => None,
    };
    compare(&mut shown, &workload.name, &predict::spec(live.as_ref(), &body, level), &object);
    if let Some(live) = live {
        existing(&mut shown, session, workload, &object, level)?;
        shown.fields = diff::changes(&cleaned(live), &cleaned(object));
    }
    Ok(shown)
}

/// Our own prediction beside the server's answer: where they differ, somebody changes templates on their way in.
fn compare(shown: &mut Shown, name: &str, spec: &Value, object: &Value) {
    let nothing = Value::Null;
    let ours = spec.get("template").unwrap_or(&nothing);
    let theirs = object.pointer("/spec/template").unwrap_or(&nothing);
    let in_template = |change: Change| Change { path: format!("spec.template.{}", change.path), ..change };
    let differences: Vec<Change> = diff::changes(ours, theirs).into_iter().map(in_template).collect();
    if !differences.is_empty() {
        let paths: Vec<&str> = differences.iter().take(MOST_NAMED).map(|change| change.path.as_str()).collect();
        let more = if differences.len() > MOST_NAMED { ", .." } else { "" };
        shown.warnings.push(format!(
            "the server makes another template of it than the manifest says: {}{more}. An admission webhook changes \
             it, or another manager owns fields of it; the revision's name is the server's",
            paths.join(", ")
        ));
    }
    let collisions = object.pointer("/status/collisionCount").and_then(Value::as_i64).unwrap_or_default();
    let revision = controller_revision::name(name, ours, i32::try_from(collisions).unwrap_or_default());
    shown.predicted = Some(Predicted { revision, differences });
}

/// Whether the cluster has the template's revision already, by which name, and what follows from it.
fn existing(
    shown: &mut Shown,
    session: &Session,
    workload: &WorkloadId,
    object: &Value,
    level: Level,
) -> Result<(), CliError> {
    let revisions = match session.wait(read::controller_revisions(&session.cluster, workload)) {
        Ok(revisions) => revisions,
        Err(RequestError::Forbidden { .. }) => {
            shown.warnings.push(
                "ControllerRevisions may not be read: whether the template goes back to an existing one was not checked"
                    .to_owned(),
            );
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let template = object.pointer("/spec/template").unwrap_or(&Value::Null);
    let new = shown.revision.clone().unwrap_or_default();
    match existing::find(&revisions, &digest::template(template), &new, level) {
        Existing::Same(name) => {
            shown.revision = Some(name.clone());
            shown.returns_to = Some(name);
        }
        Existing::OlderForm(name) => shown.warnings.push(existing::once_more(&name, &new)),
        Existing::None => {}
    }
    Ok(())
}

/// `maxUnavailable` in pods, as the server shows it: it does so only where it heeds it.
fn max_unavailable(object: &Value) -> Option<u32> {
    let stated = object.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable")?;
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
    Some(max_unavailable_pods(&serde_json::from_value(stated.clone()).ok()?, u32::try_from(replicas).ok()?))
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
pub(super) fn cleaned(mut object: Value) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(image: &str) -> Value {
        json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}})
    }

    #[test]
    fn what_a_webhook_adds_is_named_beside_our_own_prediction() {
        let body = set("nginx:1");
        let mut object = body.clone();
        object["spec"] = predict::spec(None, &body, Level::V1_36);
        let mut plain = Shown { revision: predicted("web", &object), ..Shown::default() };
        compare(&mut plain, "web", &predict::spec(None, &body, Level::V1_36), &object);
        let ours = plain.predicted.unwrap();
        assert_eq!((Some(ours.revision.clone()), ours.differences.len()), (plain.revision, 0));
        assert!(plain.warnings.is_empty());
        let sidecar = json!({"name": "proxy", "image": "proxy:1"});
        object["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(sidecar);
        let mut changed = Shown { revision: predicted("web", &object), ..Shown::default() };
        compare(&mut changed, "web", &predict::spec(None, &body, Level::V1_36), &object);
        let predicted = changed.predicted.unwrap();
        assert_eq!(predicted.revision, ours.revision, "ours is what the manifest says");
        assert_ne!(Some(predicted.revision), changed.revision, "the name is the server's");
        assert_eq!(predicted.differences[0].path, "spec.template.spec.containers[proxy]");
        assert!(changed.warnings[0].contains("spec.template.spec.containers[proxy]"), "{:?}", changed.warnings);
    }

    #[test]
    fn max_unavailable_counts_where_the_server_shows_it() {
        let at = |value: Value| {
            max_unavailable(
                &json!({"spec": {"replicas": 10, "updateStrategy": {"rollingUpdate": {"maxUnavailable": value}}}}),
            )
        };
        assert_eq!(
            (at(json!(3)), at(json!("25%")), at(json!("1%")), at(json!(0))),
            (Some(3), Some(2), Some(1), Some(1))
        );
        assert_eq!((at(Value::Null), max_unavailable(&json!({}))), (None, None));
    }
}
