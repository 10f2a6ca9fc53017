//! Server-side applies: the whole manifest, or the one field that is handed over.

use serde_json::{Map, Value, json};

use super::{FieldFault, Outcome, Verdict, field_faults, is_ours, judge, shows, write};
use crate::cluster::connect::Cluster;
use crate::cluster::read;
use crate::cluster::send::{Call, PatchKind, Reply, send};
use crate::model::{FieldOwner, LiveSet, Partition, Reason, Record, WorkloadId};

/// `spec.replicas` as a conflict names it.
const REPLICAS: &str = ".spec.replicas";

/// What is taken from other managers, where they own it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takes {
    /// Whatever the manifest states: somebody decided so.
    pub(super) everything: bool,
    /// `spec.replicas`.
    pub(super) replicas: bool,
}

/// Applies a manifest with partition and record in it: one dry run to see who would be overridden and what comes of
/// it, then the apply itself.
///
/// It is forced only where every conflict is with ourselves (a patch of ours owns a field beside the apply), or where
/// it was decided so.
pub(super) async fn apply(
    cluster: &Cluster,
    workload: &WorkloadId,
    takes: Takes,
    manifest: &Value,
    partition: Partition,
    record: &Record,
    base: Option<&(String, String)>,
) -> Outcome {
    let Some(mut body) = body(manifest, partition, base) else {
        return Outcome::Refused { reason: Reason::InvalidManifest, message: "the manifest is no object".into() };
    };
    write_record(&mut body, record);
    let mut force = false;
    let shown = match try_out(cluster, workload, &body, force).await {
        Err(Outcome::Conflict { managers, fields })
            if takes.everything
                || managers.iter().all(|manager| is_ours(manager))
                || (takes.replicas && fields.iter().all(|field| field == REPLICAS)) =>
        {
            force = true;
            try_out(cluster, workload, &body, force).await
        }
        shown => shown,
    };
    let shown = match shown {
        Ok((live, _)) => live,
        Err(outcome) => return outcome,
    };
    let record = Record { generation: shown.generation, live: shown.template, ..record.clone() };
    write_record(&mut body, &record);
    let text = record.encode();
    write(cluster, workload, &call(workload, FieldOwner::DAEMON, &body, force), |live| shows(live, &text)).await
}

/// Hands `replicas` over to a manager of its own, so that an apply without it leaves it as it is.
pub(super) async fn hand_over_replicas(
    cluster: &Cluster,
    workload: &WorkloadId,
    replicas: u32,
    base: &(String, String),
) -> Outcome {
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": workload.name,
            "namespace": workload.namespace,
            "uid": base.0,
            "resourceVersion": base.1,
        },
        "spec": {"replicas": replicas},
    });
    // Forced: it takes a share in a value that stays as it is.
    let call = call(workload, FieldOwner::HANDOVER, &body, true);
    write(cluster, workload, &call, |live| {
        live.owners.iter().any(|owner| owner.manager == FieldOwner::HANDOVER && owner.replicas)
    })
    .await
}

/// Applies a manifest as it is, and changes nothing.
///
/// # Errors
/// The outcome where it is not good.
pub(crate) async fn dry_run(
    cluster: &Cluster,
    workload: &WorkloadId,
    manifest: &Value,
    force: bool,
) -> Result<(Box<LiveSet>, Value), Outcome> {
    let (live, object) = try_out(cluster, workload, manifest, force).await?;
    Ok((Box::new(live), object))
}

/// The same, with the fields that the server finds fault with.
///
/// # Errors
/// The outcome where it is not good, and the faults where it names any.
pub(crate) async fn trial(
    cluster: &Cluster,
    workload: &WorkloadId,
    manifest: &Value,
    force: bool,
) -> Result<Value, (Outcome, Vec<FieldFault>)> {
    let call = call(workload, FieldOwner::DAEMON, manifest, force).query("dryRun", "All");
    let answer = send(cluster, &call).await;
    let faults =
        answer.as_ref().ok().and_then(Reply::problem).map(|problem| field_faults(&problem)).unwrap_or_default();
    let failed = |message: String, retry_after| (Outcome::Failed { message, retry_after }, Vec::new());
    match judge(&call, answer) {
        Verdict::Good(reply) => serde_json::from_slice(&reply.body).map_err(|error| failed(error.to_string(), None)),
        Verdict::Bad(outcome) => Err((outcome, faults)),
        Verdict::Unknown { message, retry_after } => Err(failed(message, retry_after)),
    }
}

/// A dry run. An unknown outcome is a failure: nothing can have happened.
async fn try_out(
    cluster: &Cluster,
    workload: &WorkloadId,
    body: &Value,
    force: bool,
) -> Result<(LiveSet, Value), Outcome> {
    let call = call(workload, FieldOwner::DAEMON, body, force).query("dryRun", "All");
    let reply = match judge(&call, send(cluster, &call).await) {
        Verdict::Good(reply) => reply,
        Verdict::Bad(outcome) => return Err(outcome),
        Verdict::Unknown { message, retry_after } => return Err(Outcome::Failed { message, retry_after }),
    };
    let undecodable = |message: String| Outcome::Failed { message, retry_after: None };
    let live = read::set(&reply.body).map_err(|error| undecodable(error.words()))?;
    let object = serde_json::from_slice(&reply.body).map_err(|error| undecodable(error.to_string()))?;
    Ok((live, object))
}

/// An apply as a request. Strict, though an apply never lets an unknown field through: it is what we mean.
fn call(workload: &WorkloadId, manager: &str, body: &Value, force: bool) -> Call {
    let call = Call::patch(workload, PatchKind::Apply, manager, escaped(body).into_bytes());
    if force { call.query("force", "true") } else { call }
}

/// The manifest with the partition and the preconditions in it; none where it is no object.
fn body(manifest: &Value, partition: Partition, base: Option<&(String, String)>) -> Option<Value> {
    let mut body = manifest.clone();
    let root = body.as_object_mut()?;
    let strategy = object_in(object_in(root, "spec")?, "updateStrategy")?;
    // Without the type, an apply that drops the block would fall back to the default and run on.
    strategy.entry("type").or_insert_with(|| "RollingUpdate".into());
    object_in(strategy, "rollingUpdate")?.insert("partition".into(), partition.0.into());
    let metadata = object_in(root, "metadata")?;
    metadata.remove("managedFields");
    metadata.remove("uid");
    match base {
        Some((uid, version)) => {
            metadata.insert("uid".into(), uid.as_str().into());
            metadata.insert("resourceVersion".into(), version.as_str().into());
        }
        // Create only: a set that exists has another version (409), and for one that does not it is of no account.
        None => _ = metadata.insert("resourceVersion".into(), "1".into()),
    }
    Some(body)
}

fn write_record(body: &mut Value, record: &Record) {
    let annotations = body
        .as_object_mut()
        .and_then(|root| object_in(root, "metadata"))
        .and_then(|metadata| object_in(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(Record::ANNOTATION.into(), record.encode().into());
    }
}

/// The object under a key; an empty one is put there where there is something else, or nothing.
fn object_in<'a>(parent: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let entry = parent.entry(key).or_insert(Value::Null);
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    entry.as_object_mut()
}

/// JSON that is also YAML: the server reads the body of an apply as YAML 1.1, which forbids some characters of a JSON
/// string and takes others for line breaks.
fn escaped(body: &Value) -> String {
    let json = body.to_string();
    let mut yaml = String::with_capacity(json.len());
    for char in json.chars() {
        match char {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                yaml.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            _ => yaml.push(char),
        }
    }
    yaml
}
