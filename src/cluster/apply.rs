//! Carries out one action, once.

use std::time::Duration;

use serde_json::Value;

use super::connect::Cluster;
use super::read;
use super::send::{Call, Finding, PatchKind, Problem, Reply, RequestError, fetch, send};
use crate::model::{Action, ApplyKind, FieldOwner, LiveSet, Reason, Record, RecordState, Request, WorkloadId};

mod manifest;
mod ownership;
mod patch;
#[cfg(test)]
mod tests;

pub(crate) use manifest::{dry_run, trial};

/// The record, as a JSON pointer.
pub(crate) const RECORD_PATH: &str = "/metadata/annotations/phaseline.dev~1rollout";

/// A person's request, as a JSON pointer.
pub(crate) const REQUEST_PATH: &str = "/metadata/annotations/phaseline.dev~1request";

/// A field that the server finds fault with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The field as the server names it: `spec.template.spec.containers[0].image`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done; with the set as the server shows it now, where it was the set that was written.
    Done(Option<Box<LiveSet>>),
    /// Not done: what it was decided on is no longer so. Look again.
    Moved(String),
    /// Not done: somebody else owns fields that it would change.
    Conflict {
        /// Who.
        managers: Vec<String>,
        /// Which.
        fields: Vec<String>,
    },
    /// Not done, and the same again would come to the same.
    Refused {
        /// Why, in one word.
        reason: Reason,
        /// What the server said.
        message: String,
    },
    /// Not done: the server or the way to it is in trouble. Try again later.
    Failed {
        /// What happened.
        message: String,
        /// When to come again, where the server says so.
        retry_after: Option<Duration>,
    },
}

impl Outcome {
    /// Why the same again would come to the same, in one word and in a sentence; none where it might not.
    pub fn refusal(&self) -> Option<(Reason, String)> {
        match self {
            Self::Conflict { managers, fields } => Some((
                Reason::Drifted,
                format!(
                    "{} owned by {}: `phaseline resume --overwrite` takes it, or let Git leave the field out",
                    fields.join(", "),
                    managers.join(", ")
                ),
            )),
            Self::Refused { reason, message } => Some((*reason, message.clone())),
            Self::Done(_) | Self::Moved(_) | Self::Failed { .. } => None,
        }
    }
}

/// Carries out one action: each request is sent once and with a precondition, and a lost answer is looked up.
pub async fn execute(cluster: &Cluster, workload: &WorkloadId, action: &Action) -> Outcome {
    match action {
        Action::Apply { kind, manifest, partition, record, base, takes_replicas } => {
            let takes = manifest::Takes { everything: *kind == ApplyKind::Overwrite, replicas: *takes_replicas };
            manifest::apply(cluster, workload, takes, manifest, *partition, record, base.as_ref()).await
        }
        Action::HandOverReplicas { replicas, base } => {
            manifest::hand_over_replicas(cluster, workload, *replicas, base).await
        }
        Action::Patch { partition, record, uid, generation, old_record, clear_request } => {
            let shown = patch::Shown { uid, generation: *generation, record: old_record };
            patch::stage(cluster, workload, *partition, record, &shown, clear_request.as_deref()).await
        }
        Action::HoldBack { partition, uid, generation, record } => {
            let shown = patch::Shown { uid, generation: *generation, record };
            patch::hold_back(cluster, workload, *partition, &shown).await
        }
        Action::DeletePod { ordinal, uid, resource_version } => {
            patch::delete_pod(cluster, workload, *ordinal, uid, resource_version).await
        }
        Action::Adopt { record, base, clear_request } => {
            ownership::adopt(cluster, workload, record, base, *clear_request).await
        }
        Action::Release { partition, base } => ownership::release(cluster, workload, *partition, base).await,
        // Why it is dropped is the caller's to say.
        Action::DropRequest { uid, resource_version, why: _ } => {
            patch::drop_request(cluster, workload, uid, resource_version).await
        }
    }
}

/// Sends a write of the set. Where its outcome is unknown the set is read once, and `done` tells whether it shows it.
pub(crate) async fn write(
    cluster: &Cluster,
    workload: &WorkloadId,
    call: &Call,
    done: impl Fn(&LiveSet) -> bool,
) -> Outcome {
    let (message, retry_after) = match judge(call, send(cluster, call).await) {
        Verdict::Good(reply) => match read::set(&reply.body) {
            Ok(live) => return Outcome::Done(Some(Box::new(live))),
            Err(error) => (error.words(), None),
        },
        Verdict::Bad(outcome) => return outcome,
        Verdict::Unknown { message, retry_after } => (message, retry_after),
    };
    tracing::warn!(%workload, %message, "a write without a clear answer; reading the set back");
    let found = match fetch(cluster, &Call::get_set(workload)).await {
        Ok(found) => found.map(|body| read::set(&body)).transpose(),
        Err(error) => Err(error),
    };
    match found {
        Ok(Some(live)) if done(&live) => Outcome::Done(Some(Box::new(live))),
        Ok(_) => Outcome::Failed { message, retry_after },
        Err(error) => Outcome::Failed {
            message: format!("{message}; and reading it back failed: {}", error.words()),
            retry_after,
        },
    }
}

/// The set now, if it is still the one that an action is based on.
async fn read_base(
    cluster: &Cluster,
    workload: &WorkloadId,
    base: &(String, String),
) -> Result<(Value, LiveSet), Outcome> {
    let (object, live) = read_live(cluster, workload).await?;
    match (&live.uid, &live.resource_version) == (&base.0, &base.1) {
        true => Ok((object, live)),
        false => Err(Outcome::Moved("the set has changed since it was looked at".into())),
    }
}

/// The set now, whole and cut down.
async fn read_live(cluster: &Cluster, workload: &WorkloadId) -> Result<(Value, LiveSet), Outcome> {
    let failed = |message: String| Outcome::Failed { message, retry_after: None };
    let body = fetch(cluster, &Call::get_set(workload)).await.map_err(|error| failed(error.words()))?;
    let body = body.ok_or_else(|| Outcome::Moved("the set is gone".into()))?;
    let live = read::set(&body).map_err(|error| failed(error.words()))?;
    let object = serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))?;
    Ok((object, live))
}

/// Whether a field manager is one of our own.
fn is_ours(manager: &str) -> bool {
    [FieldOwner::DAEMON, FieldOwner::HANDOVER, FieldOwner::CLI].contains(&manager)
}

/// Whether a set shows exactly this record.
fn shows(live: &LiveSet, record: &str) -> bool {
    matches!(&live.record, RecordState::Is(_, text) if text == record)
}

/// What an answer means.
enum Verdict {
    /// It is done.
    Good(Reply),
    /// It is not done.
    Bad(Outcome),
    /// It may be done.
    Unknown { message: String, retry_after: Option<Duration> },
}

fn judge(call: &Call, answer: Result<Reply, RequestError>) -> Verdict {
    let reply = match answer {
        Ok(reply) => reply,
        Err(error) if error.may_have_happened() => {
            return Verdict::Unknown { message: error.words(), retry_after: None };
        }
        Err(error) => return Verdict::Bad(Outcome::Failed { message: error.words(), retry_after: None }),
    };
    match reply.problem() {
        None => Verdict::Good(reply),
        Some(problem) => judge_problem(call, problem),
    }
}

fn judge_problem(call: &Call, problem: Problem) -> Verdict {
    let retry_after = problem.retry_after();
    let message = problem.words();
    let refused = |reason| Verdict::Bad(Outcome::Refused { reason, message: message.clone() });
    match problem.code {
        409 => Verdict::Bad(ownership_conflict(&problem.details.causes).unwrap_or(Outcome::Moved(message))),
        404 if problem.details.kind == "namespaces" => Verdict::Bad(Outcome::Refused {
            reason: Reason::NamespaceMissing,
            message: format!(
                "{message}: `kubectl create namespace {}`, and it goes on as soon as that is there",
                call.namespace
            ),
        }),
        404 => Verdict::Bad(Outcome::Moved(message)),
        422 if is_failed_test(call, &problem) => Verdict::Bad(Outcome::Moved(message)),
        422 if is_immutable(&problem) => refused(Reason::ImmutableField),
        // A wrong field in an apply is a 500 without a reason; nothing was stored.
        500 if message.contains("failed to create typed") => refused(Reason::Refused),
        429 | 401 => Verdict::Bad(Outcome::Failed { message, retry_after }),
        403 => {
            // A missing right, and not a policy of admission: it may be granted any moment, and an API server that has
            // just been started denies everybody until it has read the roles.
            let right = message.contains(" cannot ");
            let error = Problem { message, ..problem }.into_error(call);
            Verdict::Bad(match right {
                true => Outcome::Refused { reason: Reason::Forbidden, message: error.with_way_out(&call.namespace) },
                false => Outcome::Refused { reason: Reason::Refused, message: error.to_string() },
            })
        }
        400..=499 => refused(Reason::Refused),
        // A 500 may come from etcd, a 502, 503 or 504 from something in between: it may be stored all the same.
        _ => Verdict::Unknown { message, retry_after },
    }
}

/// The fields in a refusal: its causes, or those that the typed stage of an apply names in its message.
fn field_faults(problem: &Problem) -> Vec<FieldFault> {
    let causes = problem.details.causes.iter().filter(|cause| !cause.field.is_empty());
    let faults: Vec<FieldFault> =
        causes.map(|cause| FieldFault { field: cause.field.clone(), message: cause.message.clone() }).collect();
    match problem.message.split_once("failed to create typed patch object") {
        Some((_, words)) if faults.is_empty() => typed_faults(words),
        Some(_) | None => faults,
    }
}

/// `(ns/web; apps/v1, Kind=StatefulSet): .spec.a: text`, or `errors:` and a line for each.
fn typed_faults(words: &str) -> Vec<FieldFault> {
    let mut faults: Vec<FieldFault> = Vec::new();
    for word in words.split_whitespace() {
        match word.strip_prefix('.').and_then(|word| word.strip_suffix(':')) {
            Some(field) => faults.push(FieldFault { field: field.to_owned(), message: String::new() }),
            None => {
                let Some(fault) = faults.last_mut() else { continue };
                if !fault.message.is_empty() {
                    fault.message.push(' ');
                }
                fault.message.push_str(word);
            }
        }
    }
    faults
}

/// A conflict about who owns a field, and not about the version.
fn ownership_conflict(causes: &[Finding]) -> Option<Outcome> {
    let conflicts: Vec<&Finding> = causes.iter().filter(|cause| cause.reason == "FieldManagerConflict").collect();
    // Those with ourselves are worth a word only where there is no other.
    let foreign = conflicts.iter().any(|cause| !is_ours(manager(&cause.message)));
    let named: Vec<&Finding> =
        conflicts.into_iter().filter(|cause| !foreign || !is_ours(manager(&cause.message))).collect();
    named.first()?;
    let mut managers: Vec<_> = named.iter().map(|cause| manager(&cause.message).to_owned()).collect();
    managers.sort();
    managers.dedup();
    Some(Outcome::Conflict { managers, fields: named.iter().map(|cause| cause.field.clone()).collect() })
}

/// The manager in `conflict with "NAME" using apps/v1`; the whole message where there is none.
fn manager(message: &str) -> &str {
    message.split_once('"').and_then(|(_, rest)| rest.split_once('"')).map_or(message, |(name, _)| name)
}

/// A JSON patch whose `test` failed or whose path is missing has no causes; a wrong uid in a body has that field.
fn is_failed_test(call: &Call, problem: &Problem) -> bool {
    let causes = &problem.details.causes;
    (causes.is_empty() && call.patch_kind() == Some(PatchKind::Json))
        || causes.iter().any(|cause| cause.field == "metadata.uid" || cause.field == "metadata.resourceVersion")
}

fn is_immutable(problem: &Problem) -> bool {
    const WORDS: &str = "updates to statefulset spec for fields other than";
    problem.message.contains(WORDS)
        || problem.details.causes.iter().any(|cause| cause.field == "spec" && cause.message.contains(WORDS))
}

/// `op` steps of a JSON patch.
mod step {
    use serde_json::{Value, json};

    pub(super) fn test(path: &str, value: impl Into<Value>) -> Value {
        json!({"op": "test", "path": path, "value": value.into()})
    }

    pub(super) fn add(path: &str, value: impl Into<Value>) -> Value {
        json!({"op": "add", "path": path, "value": value.into()})
    }

    pub(super) fn replace(path: &str, value: impl Into<Value>) -> Value {
        json!({"op": "replace", "path": path, "value": value.into()})
    }

    pub(super) fn remove(path: &str) -> Value {
        json!({"op": "remove", "path": path})
    }
}

/// Whether an object carries an annotation.
fn has_annotation(object: &Value, key: &str) -> bool {
    object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(key)).is_some()
}

/// The steps that take the request off, where there is one.
fn request_off(object: &Value) -> Option<Value> {
    has_annotation(object, Request::ANNOTATION).then(|| step::remove(REQUEST_PATH))
}

/// The steps that take the record off, where there is one.
fn record_off(object: &Value) -> Option<Value> {
    has_annotation(object, Record::ANNOTATION).then(|| step::remove(RECORD_PATH))
}
