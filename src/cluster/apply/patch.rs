//! Small conditional writes: partition and record, a pod's end, a request taken off.

use serde_json::{Value, json};

use super::{Outcome, RECORD_PATH, REQUEST_PATH, Verdict, judge, read_live, shows, step, write};
use crate::cluster::connect::Cluster;
use crate::cluster::read;
use crate::cluster::send::{Call, PatchKind, fetch, send};
use crate::cluster::wire;
use crate::model::{FieldOwner, LiveSet, Ordinal, Partition, Record, WorkloadId};

/// `spec.updateStrategy`.
pub(super) const STRATEGY_PATH: &str = "/spec/updateStrategy";

/// `spec.updateStrategy.rollingUpdate.partition`.
pub(super) const PARTITION_PATH: &str = "/spec/updateStrategy/rollingUpdate/partition";

/// What a decision saw, and its write tests.
pub(super) struct Shown<'a> {
    /// `metadata.uid`.
    pub(super) uid: &'a str,
    /// `metadata.generation`.
    pub(super) generation: i64,
    /// The record's text.
    pub(super) record: &'a str,
}

/// Writes partition and record, tested on uid, generation, the old record and the request that it takes off: not on the
/// resourceVersion, which every status moves.
pub(super) async fn stage(
    cluster: &Cluster,
    workload: &WorkloadId,
    partition: Option<Partition>,
    record: &Record,
    shown: &Shown<'_>,
    clear_request: Option<&str>,
) -> Outcome {
    let record = record.encode();
    let send = async |partition: Option<Value>| {
        let mut steps = vec![
            step::test("/metadata/uid", shown.uid),
            step::test("/metadata/generation", shown.generation),
            step::test(RECORD_PATH, shown.record),
        ];
        steps.extend(clear_request.map(|text| step::test(REQUEST_PATH, text)));
        steps.extend(partition);
        steps.push(step::replace(RECORD_PATH, record.as_str()));
        steps.extend(clear_request.map(|_| step::remove(REQUEST_PATH)));
        write(cluster, workload, &json_patch(workload, steps), |live| shows(live, &record)).await
    };
    let outcome = send(partition.map(|partition| step::add(PARTITION_PATH, partition.0))).await;
    // A path that is missing fails like a test. Somebody may have taken the block away that the partition goes into.
    if let (Outcome::Moved(_), Some(partition)) = (&outcome, partition)
        && let Ok(Some(body)) = fetch(cluster, &Call::get_set(workload)).await
        && let Ok(live) = read::set(&body)
        && live.partition.is_none()
        && live.uid == shown.uid
        && live.generation == shown.generation
        && shows(&live, shown.record)
    {
        return send(partition_step(&live, partition)).await;
    }
    outcome
}

/// Raises the partition and nothing else, tested on uid, generation and the record, which stays as it is.
pub(super) async fn hold_back(
    cluster: &Cluster,
    workload: &WorkloadId,
    partition: Partition,
    shown: &Shown<'_>,
) -> Outcome {
    let (_, live) = match read_live(cluster, workload).await {
        Ok(read) => read,
        Err(outcome) => return outcome,
    };
    let mut steps = vec![
        step::test("/metadata/uid", shown.uid),
        step::test("/metadata/generation", shown.generation),
        step::test(RECORD_PATH, shown.record),
    ];
    steps.extend(partition_step(&live, partition));
    write(cluster, workload, &json_patch(workload, steps), |live| live.partition == Some(partition)).await
}

/// The step that sets the partition, whatever block there is; none where it is set already.
pub(super) fn partition_step(live: &LiveSet, partition: Partition) -> Option<Value> {
    match live.partition {
        Some(set) if set == partition => None,
        Some(_) => Some(step::add(PARTITION_PATH, partition.0)),
        None => {
            let block = json!({"type": live.strategy, "rollingUpdate": {"partition": partition.0}});
            Some(step::add(STRATEGY_PATH, block))
        }
    }
}

/// Deletes a pod: this one, as it was seen, with its own grace period.
pub(super) async fn delete_pod(
    cluster: &Cluster,
    workload: &WorkloadId,
    ordinal: Ordinal,
    uid: &str,
    version: &str,
) -> Outcome {
    let name = format!("{}-{ordinal}", workload.name);
    let body = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid, "resourceVersion": version},
    });
    let call = Call::delete_pod(&workload.namespace, &name, body.to_string().into_bytes());
    let (message, retry_after) = match judge(&call, send(cluster, &call).await) {
        Verdict::Good(_) => return Outcome::Done(None),
        Verdict::Bad(outcome) => return outcome,
        Verdict::Unknown { message, retry_after } => (message, retry_after),
    };
    tracing::warn!(%workload, %ordinal, %message, "a delete without a clear answer; reading the pod back");
    let there = match fetch(cluster, &Call::get("pods", &workload.namespace, &name)).await {
        Ok(body) => body.and_then(|body| wire::pod(std::str::from_utf8(&body).unwrap_or_default()).ok()?),
        Err(error) => {
            let message = format!("{message}; and reading it back failed: {}", error.words());
            return Outcome::Failed { message, retry_after };
        }
    };
    match there {
        Some((_, pod)) if pod.uid == uid && !pod.terminating => Outcome::Failed { message, retry_after },
        _ => Outcome::Done(None),
    }
}

/// Takes a request off that cannot be answered.
pub(super) async fn drop_request(cluster: &Cluster, workload: &WorkloadId, uid: &str, version: &str) -> Outcome {
    let steps = vec![
        step::test("/metadata/uid", uid),
        step::test("/metadata/resourceVersion", version),
        step::remove(REQUEST_PATH),
    ];
    write(cluster, workload, &json_patch(workload, steps), |live| live.request.is_none()).await
}

/// A JSON patch by the daemon.
pub(super) fn json_patch(workload: &WorkloadId, steps: Vec<Value>) -> Call {
    // Serialising JSON into memory has no way to fail.
    let body = serde_json::to_vec(&steps).unwrap_or_default();
    Call::patch(workload, PatchKind::Json, FieldOwner::DAEMON, body)
}
