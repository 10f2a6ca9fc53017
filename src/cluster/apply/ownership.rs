//! Takes a set over, and gives it back: who owns its fields, in `metadata.managedFields`.

use serde_json::{Map, Value, json};

use super::patch::{json_patch, partition_step};
use super::{
    Outcome, RECORD_PATH, has_annotation, is_ours, read_base, read_live, record_off, request_off, shows, step, write,
};
use crate::cluster::connect::Cluster;
use crate::model::{FieldOwner, LiveSet, Partition, Record, RecordState, WorkloadId};

/// Managers whose fields an adoption takes over: what a manifest was written with before. Not among them are those of
/// single fields that others go on writing (`kubectl-rollout`, autoscalers, the control plane).
const KNOWN_TOOLS: [&str; 26] = [
    "argocd",
    "argocd-application-controller",
    "argocd-controller",
    "before-first-apply",
    "fleetagent",
    "flux",
    "flux-client-side-apply",
    "gotk",
    "hashicorp",
    "helm",
    "helm-controller",
    "kapp",
    "kapp-controller",
    "kluctl",
    "kubectl",
    "kubectl-client-side-apply",
    "kubectl-create",
    "kubectl-edit",
    "kubectl-last-applied",
    "kubectl-patch",
    "kubectl-replace",
    "kubectl-set",
    "kustomize-controller",
    "pulumi",
    "pulumi-kubernetes",
    "terraform",
];

/// The annotation of client-side apply. It goes: left behind, a `kubectl apply` would go by it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The same, as a JSON pointer.
const LAST_APPLIED_PATH: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// Makes the set ours in one write that restarts no pod: fields moved, partition and record set.
pub(super) async fn adopt(
    cluster: &Cluster,
    workload: &WorkloadId,
    record: &Record,
    base: &(String, String),
    clear_request: bool,
) -> Outcome {
    let (object, live) = match read_base(cluster, workload, base).await {
        Ok(read) => read,
        Err(outcome) => return outcome,
    };
    let partition = partition_step(&live, record.partition);
    let record = Record {
        // A partition that changes is a change of the spec; annotations and managed fields are none.
        generation: live.generation + i64::from(partition.is_some()),
        live: live.template.clone(),
        ..record.clone()
    };
    let text = record.encode();
    let mut steps = conditions(&live);
    steps.extend(moved(managed_fields(&object)).map(|fields| step::replace("/metadata/managedFields", fields)));
    steps.extend(has_annotation(&object, LAST_APPLIED).then(|| step::remove(LAST_APPLIED_PATH)));
    if object.pointer("/metadata/annotations").is_none() {
        steps.push(step::add("/metadata/annotations", json!({})));
    }
    steps.push(step::add(RECORD_PATH, text.as_str()));
    steps.extend(clear_request.then(|| request_off(&object)).flatten());
    steps.extend(partition);
    write(cluster, workload, &json_patch(workload, steps), |live| shows(live, &text)).await
}

/// Gives the set back: record, request and our ownership removed, the partition as told.
pub(super) async fn release(
    cluster: &Cluster,
    workload: &WorkloadId,
    partition: Option<Partition>,
    base: &(String, String),
) -> Outcome {
    let (object, live) = match read_base(cluster, workload, base).await {
        Ok(read) => read,
        Err(outcome) => return outcome,
    };
    let mut steps = conditions(&live);
    steps.extend(without_ours(managed_fields(&object)).map(|fields| step::replace("/metadata/managedFields", fields)));
    steps.extend(record_off(&object));
    steps.extend(request_off(&object));
    steps.extend(partition.and_then(|partition| partition_step(&live, partition)));
    let released = |live: &LiveSet| live.record == RecordState::Absent;
    let outcome = write(cluster, workload, &json_patch(workload, steps), released).await;
    // A partition that was written with it is ours again; so the traces of that go too.
    match &outcome {
        Outcome::Done(Some(live)) if live.owners.iter().any(FieldOwner::is_ours) => {
            forget_us(cluster, workload, &live.uid).await.unwrap_or(outcome)
        }
        _ => outcome,
    }
}

/// Takes our entries off the managed fields of the same set, as it is by now: status writes come in between. Where that
/// does not work it is no harm: an entry of ours hinders only an apply that changes the same field without force.
async fn forget_us(cluster: &Cluster, workload: &WorkloadId, uid: &str) -> Option<Outcome> {
    for _ in 0..3 {
        let (object, live) = read_live(cluster, workload).await.ok()?;
        if live.uid != uid {
            return None;
        }
        let mut steps = conditions(&live);
        steps.push(step::replace("/metadata/managedFields", without_ours(managed_fields(&object))?));
        match write(cluster, workload, &json_patch(workload, steps), |_| false).await {
            Outcome::Moved(_) => {}
            outcome => return matches!(outcome, Outcome::Done(_)).then_some(outcome),
        }
    }
    None
}

fn conditions(live: &LiveSet) -> Vec<Value> {
    vec![
        step::test("/metadata/uid", live.uid.as_str()),
        step::test("/metadata/resourceVersion", live.resource_version.as_str()),
    ]
}

fn managed_fields(object: &Value) -> &[Value] {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The managed fields with everything that known tools own in one entry of ours, as kubectl's own upgrade to
/// server-side apply does it (client-go, `util/csaupgrade`). `None` where they own nothing.
fn moved(entries: &[Value]) -> Option<Value> {
    let (taken, kept): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| is_taken(entry) || is_our_apply(entry));
    if !taken.iter().any(|entry| is_taken(entry)) {
        return None;
    }
    let mut fields = Map::new();
    for entry in &taken {
        if let Some(Value::Object(owned)) = entry.get("fieldsV1") {
            unite(&mut fields, owned);
        }
    }
    if let Some(annotations) =
        fields.get_mut("f:metadata").and_then(|metadata| metadata.get_mut("f:annotations")?.as_object_mut())
    {
        annotations.remove(&format!("f:{LAST_APPLIED}"));
    }
    let time = taken.iter().filter_map(|entry| entry.get("time")?.as_str()).max();
    let mut ours = json!({
        "manager": FieldOwner::DAEMON,
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if let (Some(time), Some(ours)) = (time, ours.as_object_mut()) {
        ours.insert("time".into(), time.into());
    }
    Some(std::iter::once(ours).chain(kept.into_iter().cloned()).collect())
}

/// The managed fields without our own. `None` where there are none of ours.
fn without_ours(entries: &[Value]) -> Option<Value> {
    let kept: Vec<_> = entries.iter().filter(|entry| !is_ours(text(entry, "manager"))).cloned().collect();
    if kept.len() == entries.len() {
        return None;
    }
    // An empty list would be taken for a client that knows nothing of managed fields, and change nothing.
    Some(if kept.is_empty() { json!([{}]) } else { Value::Array(kept) })
}

fn is_taken(entry: &Value) -> bool {
    text(entry, "subresource").is_empty()
        && text(entry, "apiVersion") == "apps/v1"
        && KNOWN_TOOLS.contains(&text(entry, "manager").to_ascii_lowercase().as_str())
}

fn is_our_apply(entry: &Value) -> bool {
    text(entry, "manager") == FieldOwner::DAEMON
        && text(entry, "operation") == "Apply"
        && text(entry, "subresource").is_empty()
        && text(entry, "apiVersion") == "apps/v1"
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Puts one set of fields into another; both are trees of names.
fn unite(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (name, below) in from {
        match (into.get_mut(name), below) {
            (Some(Value::Object(into)), Value::Object(below)) => unite(into, below),
            (Some(_), _) => {}
            (None, below) => _ = into.insert(name.clone(), below.clone()),
        }
    }
}
