//! What the daemon did, from the audit log: every write, and whether it kept to the protocol.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::site::{PARKED, Site, image, partition, record};
use crate::controlplane::AuditEntry;

const REQUEST: &str = "/metadata/annotations/phaseline.dev~1request";
const RECORD: &str = "/metadata/annotations/phaseline.dev~1rollout";

/// One write of the daemon to a set that came to pass.
#[derive(Debug, Clone)]
pub(crate) struct SetWrite {
    /// The set.
    pub(crate) name: String,
    /// Whether it was a server-side apply; else a JSON patch.
    pub(crate) apply: bool,
    /// The partition after it.
    pub(crate) partition: Option<u64>,
    /// The template's image after it.
    pub(crate) image: String,
    /// The record after it.
    pub(crate) record: Value,
    /// The number of pods after it.
    pub(crate) replicas: u64,
    /// When the server got it.
    pub(crate) received: Timestamp,
    /// All of it.
    pub(crate) entry: AuditEntry,
}

impl SetWrite {
    fn of(entry: AuditEntry) -> Self {
        let set = &entry.response;
        Self {
            name: entry.name.clone(),
            apply: entry.request.is_object(),
            partition: partition(set),
            image: image(set).to_owned(),
            record: record(set),
            replicas: set["spec"]["replicas"].as_u64().unwrap_or_default(),
            received: entry.received,
            entry,
        }
    }

    /// In one line: what two runs of the same rollout have in common.
    pub(crate) fn shape(&self) -> String {
        let Self { name, apply, partition, image, replicas, .. } = self;
        let verb = if *apply { "apply" } else { "patch" };
        let partition = match partition {
            Some(PARKED) => "parked".into(),
            Some(partition) => partition.to_string(),
            None => "none".into(),
        };
        let done = if self.record["done"] == true { "done" } else { "running" };
        let failed = self.record["failed"].as_array().map_or(0, Vec::len);
        format!("{verb} {name} {image} partition {partition} of {replicas} {done} failed {failed}")
    }

    /// Whether the request itself brings the template.
    pub(crate) fn brings_template(&self) -> bool {
        self.entry.request.pointer("/spec/template").is_some()
    }

    /// The partition in the request itself.
    pub(crate) fn brings_partition(&self) -> Option<u64> {
        match self.entry.request.as_array() {
            None => partition(&self.entry.request),
            Some(steps) => {
                let step = steps.iter().find(|it| it["path"] == "/spec/updateStrategy/rollingUpdate/partition")?;
                step["value"].as_u64()
            }
        }
    }
}

impl Site<'_> {
    /// Everything that the daemon asked for in the namespace.
    #[track_caller]
    pub(crate) fn asked(&self) -> Vec<AuditEntry> {
        self.plane.audit(&self.ns).into_iter().filter(|it| it.user == self.user).collect()
    }

    /// The daemon's writes to all sets that came to pass.
    #[track_caller]
    pub(crate) fn writes(&self) -> Vec<SetWrite> {
        let is = |it: &AuditEntry| {
            let write = it.is_write() && !it.is_dry_run() && it.succeeded();
            write && it.resource == "statefulsets" && it.stage == "ResponseComplete"
        };
        self.asked().into_iter().filter(is).map(SetWrite::of).collect()
    }

    /// The daemon's writes to `web`.
    #[track_caller]
    pub(crate) fn set_writes(&self) -> Vec<SetWrite> {
        self.writes().into_iter().filter(|it| it.name == "web").collect()
    }

    /// The same from the first one that has something to do with a commit.
    #[track_caller]
    pub(crate) fn set_writes_for(&self, commit: &str) -> Vec<SetWrite> {
        let writes = self.set_writes().into_iter();
        writes.filter(|it| it.record["target"]["commit"] == commit).collect()
    }

    /// The names of the pods that the daemon deleted.
    #[track_caller]
    pub(crate) fn deleted_pods(&self) -> Vec<String> {
        let is = |it: &AuditEntry| it.resource == "pods" && it.is_write() && it.succeeded() && !it.is_dry_run();
        self.asked().into_iter().filter(is).map(|it| it.name).collect()
    }

    /// When a pod was first shown as Ready by whoever wrote its status.
    #[track_caller]
    pub(crate) fn ready_at(&self, uid: &str) -> Option<Timestamp> {
        let shows = |it: &AuditEntry| {
            let pod = &it.response;
            let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
            it.resource == "pods"
                && it.is_write()
                && pod["metadata"]["uid"] == uid
                && conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
        };
        self.plane.audit(&self.ns).into_iter().find(shows).map(|it| it.completed)
    }

    /// Holds every request of the daemon to the protocol.
    #[track_caller]
    pub(crate) fn assert_guarded(&self) {
        self.assert_guarded_but_for(|_| false);
    }

    /// The same, but for requests that are excused.
    #[track_caller]
    pub(crate) fn assert_guarded_but_for(&self, excused: impl Fn(&AuditEntry) -> bool) {
        let asked = self.asked();
        let lost = asked.iter().filter(|it| it.is_write() && it.resource != "leases" && !it.succeeded()).count();
        let own_reads = self.reads_of_protocol();
        let (mut lists, mut gets) = (BTreeMap::<&str, usize>::new(), 0);
        for entry in asked.iter().filter(|it| it.stage == "ResponseComplete" && !excused(it)) {
            let what = format!("{} {} {}", entry.verb, entry.request_uri, entry.code);
            assert!(!entry.is_forbidden() && ![401, 403].contains(&entry.code), "denied: {what}");
            match (entry.verb.as_str(), entry.resource.as_str(), entry.subresource.as_str()) {
                ("watch", "statefulsets" | "pods", "") => {}
                ("list", "statefulsets" | "pods", "") if entry.query("continue").is_some() => {}
                // The history of the API server may be gone after a restart of it: then a list is due again.
                ("list", resource @ ("statefulsets" | "pods"), "") if entry.succeeded() => {
                    *lists.entry(resource).or_default() += 1;
                }
                ("get", "statefulsets" | "pods", "") => gets += 1,
                ("patch", "statefulsets", "") if entry.request.is_array() => guarded_patch(entry),
                ("patch", "statefulsets", "") => guarded_apply(entry),
                ("delete", "pods", "") => {
                    let guard = entry.preconditions().and_then(|it| it["uid"].as_str());
                    assert!(guard.is_some(), "a delete without a uid: {what} {}", entry.request);
                    assert!(entry.request["gracePeriodSeconds"].is_null(), "by force: {what}");
                }
                // The heartbeat, and what the daemon knows.
                ("get" | "watch" | "create" | "patch", "leases", "") => {}
                _ => panic!("not a request of the daemon's: {what}"),
            }
        }
        let starts = *self.starts.borrow();
        // Pods of which nothing was heard since a write are read once before a stage is taken for done.
        let writes = self.writes().len();
        let again = lists.get("pods").copied().unwrap_or_default().saturating_sub(starts);
        assert!(again <= writes, "listed {lists:?} in {starts} starts with {writes} writes");
        assert!(lists.get("statefulsets").is_none_or(|it| *it <= starts), "listed {lists:?} in {starts} starts");
        assert!(gets <= lost + own_reads + again, "{gets} reads with {lost} lost writes and {again} of pods");
    }

    /// Reads that belong to a write: an adoption and a release rewrite what they read.
    fn reads_of_protocol(&self) -> usize {
        let managed = |it: &&SetWrite| {
            let steps = it.entry.request.as_array().map(Vec::as_slice).unwrap_or_default();
            steps.iter().any(|it| it["path"] == "/metadata/managedFields")
                || steps.iter().any(|it| it["path"] == "/metadata/resourceVersion")
        };
        self.writes().iter().filter(managed).count()
    }
}

fn guarded_apply(entry: &AuditEntry) {
    let body = &entry.request;
    let what = format!("{} {body}", entry.request_uri);
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (uid, version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
    assert!(!version.is_empty() && (!uid.is_empty() || version == "1"), "an apply without a condition: {what}");
    if entry.field_manager().as_deref() == Some("phaseline-handover") {
        assert!(body["spec"].as_object().is_some_and(|it| it.keys().eq(["replicas"])), "{what}");
        return;
    }
    assert_eq!(entry.field_manager().as_deref(), Some("phaseline"), "{what}");
    assert!(!text("/spec/updateStrategy/type").is_empty(), "an apply without a strategy: {what}");
    assert!(partition(body).is_some(), "an apply without a partition: {what}");
    assert!(!text(RECORD).is_empty(), "an apply without a record: {what}");
}

fn guarded_patch(entry: &AuditEntry) {
    let what = format!("{} {}", entry.request_uri, entry.request);
    let tests: Vec<_> = entry.patch_tests().into_iter().map(|it| it.0.to_owned()).collect();
    let has = |path: &str| tests.iter().any(|it| it == path);
    let on_state = has("/metadata/generation") && has(RECORD);
    assert!(has("/metadata/uid") && (on_state || has("/metadata/resourceVersion")), "an unguarded patch: {what}");
    let steps = entry.request.as_array().map(Vec::as_slice).unwrap_or_default();
    let takes_off = steps.iter().any(|it| it["op"] == "remove" && it["path"] == REQUEST);
    assert!(!takes_off || has(REQUEST) || has("/metadata/resourceVersion"), "a request taken off unseen: {what}");
    assert_eq!(entry.field_manager().as_deref(), Some("phaseline"), "{what}");
}
