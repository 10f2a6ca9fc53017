//! What a command asks the cluster, and what it writes on it: requests and restarts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::apply::{self, FieldFault, Outcome};
use super::connect::{Cause, Cluster};
use super::send::{Call, PatchKind, RequestError, fetch};
use super::watch::{POD_LABEL, list as list_pages};
use super::wire::{self, Templates};
use crate::model::{
    FieldOwner, LiveSet, Observed, Ordinal, Pace, Pod, Progress, RecordState, Request, Sight, TemplateHash, WorkloadId,
};

/// A ControllerRevision of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerRevision {
    /// `metadata.name`: what pods carry as `controller-revision-hash`.
    pub name: String,
    /// `revision`: the number that `kubectl rollout history` shows.
    pub number: i64,
    /// The digest of its template without `restartedAt`.
    pub hash: TemplateHash,
    /// Its `restartedAt`; empty without one.
    pub restarted_at: String,
    /// The annotation `kubernetes.io/change-cause`; empty without one.
    pub change_cause: String,
}

/// Reads one workload: its set, and its pods with orphans that carry its name. Two requests.
///
/// # Errors
/// See [`RequestError`].
pub async fn observe(cluster: &Cluster, workload: &WorkloadId) -> Result<Observed, RequestError> {
    let body = fetch(cluster, &Call::get_set(workload)).await?;
    let live = body.as_deref().map(set).transpose()?;
    let (pods, _) = pods_beside(cluster, workload, body.as_deref()).await?;
    Ok(observed(workload.clone(), live, pods.into_iter().map(|pod| (pod.ordinal, pod)).collect()))
}

/// Reads the pods of one workload, and orphans that carry its name, as they are now: with the version of that list.
/// Two requests.
///
/// # Errors
/// See [`RequestError`].
pub async fn pods(cluster: &Cluster, workload: &WorkloadId) -> Result<(Vec<Pod>, String), RequestError> {
    let body = fetch(cluster, &Call::get_set(workload)).await?;
    pods_beside(cluster, workload, body.as_deref()).await
}

/// The pods of a workload whose set looks like that.
async fn pods_beside(
    cluster: &Cluster,
    workload: &WorkloadId,
    set: Option<&[u8]>,
) -> Result<(Vec<Pod>, String), RequestError> {
    let labels = set.map(wire::selector).transpose().map_err(|error| unreadable("StatefulSet", &error))?;
    let labels = labels.map(|labels| labels.query()).filter(|labels| !labels.is_empty());
    let selector = labels.map_or_else(|| POD_LABEL.to_owned(), |labels| format!("{labels},{POD_LABEL}"));
    let call = Call::list("pods", &workload.namespace).query("labelSelector", &selector);
    let (pods, version) = list_pages(cluster, &call, wire::pod).await?;
    Ok((pods.into_iter().filter(|(id, _)| id == workload).map(|(_, pod)| pod).collect(), version))
}

/// Reads every workload of a namespace, or of all: a list of sets and a list of pods, page by page.
///
/// # Errors
/// See [`RequestError`].
pub async fn list(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<Observed>, RequestError> {
    let namespace = namespace.unwrap_or_default();
    let mut templates = Templates::default();
    let sets = Call::list("statefulsets", namespace);
    let (sets, _) = list_pages(cluster, &sets, |item| wire::set(item, &mut templates).map(Some)).await?;
    let pods = Call::list("pods", namespace).query("labelSelector", POD_LABEL);
    let (pods, _) = list_pages(cluster, &pods, wire::pod).await?;
    let mut all: BTreeMap<WorkloadId, (Option<LiveSet>, BTreeMap<Ordinal, Pod>)> =
        sets.into_iter().map(|(id, set)| (id, (Some(set), BTreeMap::new()))).collect();
    for (id, pod) in pods {
        all.entry(id).or_default().1.insert(pod.ordinal, pod);
    }
    Ok(all.into_iter().map(|(id, (set, pods))| observed(id, set, pods)).collect())
}

/// The server's version, as it calls itself: `v1.36.3`.
///
/// # Errors
/// See [`RequestError`].
pub async fn server_version(cluster: &Cluster) -> Result<String, RequestError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    let body = fetch(cluster, &Call::get("version", "", "")).await?.unwrap_or_default();
    let version: Version = serde_json::from_slice(&body).map_err(|error| unreadable("version", &error))?;
    Ok(version.git_version)
}

/// The ControllerRevisions of a set, by number; none where there is no set.
///
/// # Errors
/// See [`RequestError`].
pub async fn controller_revisions(
    cluster: &Cluster,
    workload: &WorkloadId,
) -> Result<Vec<ControllerRevision>, RequestError> {
    let Some(body) = fetch(cluster, &Call::get_set(workload)).await? else { return Ok(Vec::new()) };
    let uid = set(&body)?.uid;
    let selector = wire::selector(&body).map_err(|error| unreadable("StatefulSet", &error))?.query();
    let call = Call::list("controllerrevisions", &workload.namespace).query("labelSelector", &selector);
    let (mut revisions, _) = list_pages(cluster, &call, |item| {
        let (name, number, template, change_cause, owner) = wire::controller_revision(item)?;
        let wire::TemplateDigest { hash, restarted_at } = template;
        Ok((owner == uid).then_some(ControllerRevision { name, number, hash, restarted_at, change_cause }))
    })
    .await?;
    revisions.sort_by_key(|revision| revision.number);
    Ok(revisions)
}

/// The pods and ControllerRevisions that a set's selector finds, each with its resource, as the server shows them.
///
/// # Errors
/// See [`RequestError`].
pub async fn owned_objects(
    cluster: &Cluster,
    workload: &WorkloadId,
    set: &Value,
) -> Result<Vec<(&'static str, Value)>, RequestError> {
    let selector = wire::selector(set.to_string().as_bytes()).map_err(|error| unreadable("StatefulSet", &error))?;
    let mut objects = Vec::new();
    for resource in ["controllerrevisions", "pods"] {
        let call = Call::list(resource, &workload.namespace).query("labelSelector", &selector.query());
        let (found, _) = list_pages(cluster, &call, |item| serde_json::from_str(item).map(Some)).await?;
        objects.extend(found.into_iter().map(|object: Value| (resource, object)));
    }
    Ok(objects)
}

/// The claims that a set's pods have of its claim templates, as the server shows them.
///
/// # Errors
/// See [`RequestError`]; [`RequestError::Forbidden`] where they may not be read.
pub async fn claims(cluster: &Cluster, workload: &WorkloadId, set: &Value) -> Result<Vec<Value>, RequestError> {
    let templates = set.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    let names = templates.into_iter().flatten().filter_map(|it| it.pointer("/metadata/name")?.as_str());
    let beginnings: Vec<String> = names.map(|name| format!("{name}-{}-", workload.name)).collect();
    if beginnings.is_empty() {
        return Ok(Vec::new());
    }
    let selector = wire::selector(set.to_string().as_bytes()).map_err(|error| unreadable("StatefulSet", &error))?;
    let call = Call::list("persistentvolumeclaims", &workload.namespace).query("labelSelector", &selector.query());
    let (mut found, _) = list_pages(cluster, &call, |item| serde_json::from_str::<Value>(item).map(Some)).await?;
    let is_its = |claim: &Value| {
        let name = claim.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let ordinals = beginnings.iter().filter_map(|beginning| name.strip_prefix(beginning.as_str()));
        ordinals.into_iter().any(|ordinal| ordinal.parse::<u32>().is_ok())
    };
    found.retain(is_its);
    Ok(found)
}

/// What an apply of this manifest would come to: the set, and the object as the server shows it. Changes nothing.
///
/// `force` takes fields from other managers, as an adoption or `resume --overwrite` would.
///
/// # Errors
/// The outcome of the apply where it is not [`Outcome::Done`].
pub async fn dry_run_apply(
    cluster: &Cluster,
    workload: &WorkloadId,
    manifest: &Value,
    force: bool,
) -> Result<(Box<LiveSet>, Value), Outcome> {
    apply::dry_run(cluster, workload, manifest, force).await
}

/// The same as [`dry_run_apply`], with the fields that the server finds fault with, where it refuses.
///
/// # Errors
/// The outcome of the apply where it is not good, and the faults.
pub async fn try_apply(
    cluster: &Cluster,
    workload: &WorkloadId,
    manifest: &Value,
    force: bool,
) -> Result<Value, (Outcome, Vec<FieldFault>)> {
    apply::trial(cluster, workload, manifest, force).await
}

/// Writes a person's request on a set, for the daemon to find. Conditional on the set and, where it can be told, on
/// the very record that the person was shown.
pub async fn write_request(cluster: &Cluster, workload: &WorkloadId, live: &LiveSet, request: &Request) -> Outcome {
    // Serialising plain data with string keys into a string has no way to fail.
    let text = serde_json::to_string(request).unwrap_or_default();
    let (kind, body) = match &live.record {
        RecordState::Is(_, record) => (
            PatchKind::Json,
            json!([
                {"op": "test", "path": "/metadata/uid", "value": live.uid},
                {"op": "test", "path": apply::RECORD_PATH, "value": record},
                {"op": "add", "path": apply::REQUEST_PATH, "value": text},
            ]),
        ),
        // Without a record there may be no annotations at all, and only a merge makes them. A wrong uid is refused.
        RecordState::Absent | RecordState::Unreadable(_) => {
            (PatchKind::Merge, json!({"metadata": {"uid": live.uid, "annotations": {Request::ANNOTATION: text}}}))
        }
    };
    let call = Call::patch(workload, kind, FieldOwner::CLI, body.to_string().into_bytes());
    let wanted = request.clone();
    apply::write(cluster, workload, &call, move |live| live.request == Some(Ok(wanted.clone()))).await
}

/// Asks for a restart as `kubectl rollout restart` does, on exactly this version of the set.
///
/// The wish is a time in whole seconds: a second one within the same second is dated a second later, or it would be none.
pub async fn restart(cluster: &Cluster, workload: &WorkloadId, live: &LiveSet, now: Timestamp) -> Outcome {
    let last = live.restarted_at.parse::<Timestamp>().ok();
    let next = last.and_then(|last| last.checked_add(SignedDuration::from_secs(1)).ok());
    let at = next.map_or(now, |next| now.max(next)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let body = json!({
        "metadata": {"uid": live.uid, "resourceVersion": live.resource_version},
        "spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": at}}}},
    });
    let call = Call::patch(workload, PatchKind::Merge, FieldOwner::CLI, body.to_string().into_bytes());
    apply::write(cluster, workload, &call, move |live| live.restarted_at == at).await
}

/// Decodes a single set.
pub(crate) fn set(body: &[u8]) -> Result<LiveSet, RequestError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| RequestError::Undecodable { what: "StatefulSet".into(), source: Cause::of(&error) })?;
    let (_, live) = wire::set(text, &mut Templates::default()).map_err(|error| unreadable("StatefulSet", &error))?;
    Ok(live)
}

fn unreadable(what: &str, error: &serde_json::Error) -> RequestError {
    RequestError::Undecodable { what: what.to_owned(), source: Cause::of(error) }
}

fn observed(workload: WorkloadId, set: Option<LiveSet>, pods: BTreeMap<Ordinal, Pod>) -> Observed {
    Observed {
        workload,
        set,
        pods: pods.into_iter().collect(),
        stale_seconds: None,
        forbidden: None,
        pods_behind: false,
        sight: Sight::default(),
        refused: None,
        progress: Progress::default(),
        pace: Pace::default(),
    }
}
