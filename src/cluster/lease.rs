//! Reads and writes the Lease of a daemon, each write with a condition, and follows it while somebody else holds it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect::{Cause, Cluster};
use super::send::{Call, RequestError, fetch, send};
use super::watch::{lines, list};
use crate::model::FieldOwner;

/// What tells our Leases from all others.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "phaseline");
/// Where a daemon writes down what it knows.
const REPORT: &str = "phaseline.dev/report";
/// When the server ends a watch.
const SERVER_SECONDS: &str = "200";
/// How long a watch may take to begin.
const OPEN: Duration = Duration::from_secs(5);

/// A Lease as the server shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lease {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// Who holds it; none where nobody does.
    pub holder: Option<String>,
    /// For how long, in seconds; none where it does not say, or says nonsense.
    pub seconds: Option<u32>,
    /// How often the holder has changed.
    pub transitions: u32,
    /// What its daemon knows, as it wrote it down; empty where it did not.
    pub report: String,
    /// When its daemon last wrote: by the server's clock where that is told, else by the daemon's.
    pub heard: Option<Timestamp>,
}

/// What is written on a Lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// Who is to hold it; none gives it back.
    pub holder: Option<String>,
    /// For how long.
    pub seconds: u32,
    /// How often the holder has changed, where it changes with this.
    pub transitions: Option<u32>,
    /// What the daemon knows, where that is new.
    pub report: Option<String>,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It is done, and the Lease is this one now.
    Done(Lease),
    /// Not done: it is another one than was seen.
    Moved,
    /// Not done: there is none any more.
    Gone,
}

/// The place of one Lease.
#[derive(Debug, Clone)]
pub struct Slot {
    cluster: Cluster,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Slot {
    /// The Lease of that name. Its own writes pass no fence.
    pub fn new(cluster: &Cluster, namespace: &str, name: &str) -> Self {
        let cluster = cluster.clone().behind(super::Fence::default());
        Self { cluster, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Reads it; none where there is none.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn read(&self, within: Duration) -> Result<Option<Lease>, RequestError> {
        let call = Call::get("leases", &self.namespace, &self.name).within(within);
        let body = fetch(&self.cluster, &call).await?;
        body.map(|body| read(&body)).transpose()
    }

    /// Makes it.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn create(&self, claim: &Claim, now: Timestamp, within: Duration) -> Result<Written, RequestError> {
        let mut body = body(claim, now);
        body["apiVersion"] = "coordination.k8s.io/v1".into();
        body["kind"] = "Lease".into();
        body["metadata"]["name"] = self.name.as_str().into();
        body["metadata"]["labels"] = json!({LABEL.0: LABEL.1, "app.kubernetes.io/name": "phaseline"});
        let body = body.to_string().into_bytes();
        self.write(Call::create("leases", &self.namespace, FieldOwner::DAEMON, body).within(within)).await
    }

    /// Writes on it; `seen` is the version that it has to have still.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn claim(
        &self,
        claim: &Claim,
        seen: &str,
        now: Timestamp,
        within: Duration,
    ) -> Result<Written, RequestError> {
        let mut body = body(claim, now);
        body["metadata"]["resourceVersion"] = seen.into();
        let body = body.to_string().into_bytes();
        let call = Call::merge("leases", &self.namespace, &self.name, FieldOwner::DAEMON, body);
        self.write(call.within(within)).await
    }

    async fn write(&self, call: Call) -> Result<Written, RequestError> {
        let reply = send(&self.cluster, &call).await?;
        match reply.problem() {
            None => Ok(Written::Done(read(&reply.body)?)),
            Some(problem) if problem.code == 409 => Ok(Written::Moved),
            // A namespace that is missing is a 404 too, and not what is meant.
            Some(problem) if problem.code == 404 && problem.details.kind != "namespaces" => Ok(Written::Gone),
            Some(problem) => Err(problem.into_error(&call)),
        }
    }

    /// Follows it from a version on.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn follow(&self, version: &str) -> Result<Follow, RequestError> {
        let call = Call::watch("leases", &self.namespace)
            .query("fieldSelector", &format!("metadata.name={}", self.name))
            .query("timeoutSeconds", SERVER_SECONDS)
            .query("resourceVersion", version);
        match tokio::time::timeout(OPEN, lines::open(&self.cluster, &call)).await {
            Ok(lines) => Ok(Follow(lines?)),
            Err(_) => Err(RequestError::TimedOut { seconds: OPEN.as_secs() }),
        }
    }
}

/// A Lease that is being followed.
pub struct Follow(lines::Lines);

impl Follow {
    /// What it is now; `Some(None)` where it is gone, and `None` where nothing more comes. Safe to be dropped.
    pub async fn next(&mut self) -> Option<Option<Lease>> {
        #[derive(Deserialize)]
        struct Event {
            r#type: String,
            object: Wire,
        }
        loop {
            let line = self.0.next().await.ok()??;
            // An error, or nonsense: it is read anew.
            let Event { r#type, object } = serde_json::from_str(&line).ok()?;
            match r#type.as_str() {
                "ADDED" | "MODIFIED" => return Some(Some(object.into())),
                "DELETED" => return Some(None),
                "BOOKMARK" => {}
                _ => return None,
            }
        }
    }
}

/// The Leases of our daemons in a namespace, or in all of them.
///
/// # Errors
/// See [`RequestError`]; [`RequestError::Forbidden`] where they may not be read.
pub async fn all(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<Lease>, RequestError> {
    let call = Call::list("leases", namespace.unwrap_or_default())
        .query("labelSelector", &format!("{}={}", LABEL.0, LABEL.1))
        .within(super::send::REQUEST_TIMEOUT);
    let (leases, _) = list(cluster, &call, |item| serde_json::from_str::<Wire>(item).map(Some)).await?;
    Ok(leases.into_iter().map(Lease::from).collect())
}

/// The body of a write. Times are for people: nobody compares them with a clock of his own.
fn body(claim: &Claim, now: Timestamp) -> Value {
    let now = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let mut spec = json!({
        "holderIdentity": claim.holder,
        "leaseDurationSeconds": claim.seconds,
        "renewTime": now,
    });
    if let Some(transitions) = claim.transitions {
        spec["leaseTransitions"] = transitions.into();
        spec["acquireTime"] = now.into();
    }
    let mut metadata = json!({});
    if let Some(report) = &claim.report {
        metadata["annotations"] = json!({REPORT: report});
    }
    json!({"metadata": metadata, "spec": spec})
}

fn read(body: &[u8]) -> Result<Lease, RequestError> {
    let wire: Wire = serde_json::from_slice(body)
        .map_err(|error| RequestError::Undecodable { what: "Lease".into(), source: Cause::of(&error) })?;
    Ok(wire.into())
}

/// A Lease as it comes.
#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    name: String,
    resource_version: String,
    annotations: BTreeMap<String, String>,
    managed_fields: Vec<Owner>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Owner {
    manager: String,
    time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<i64>,
    lease_transitions: Option<i64>,
    renew_time: Option<Timestamp>,
}

impl From<Wire> for Lease {
    fn from(Wire { metadata, spec }: Wire) -> Self {
        let mut metadata = metadata;
        let ours = metadata.managed_fields.iter().filter(|owner| owner.manager == FieldOwner::DAEMON);
        Self {
            heard: ours.filter_map(|owner| owner.time).max().or(spec.renew_time),
            report: metadata.annotations.remove(REPORT).unwrap_or_default(),
            namespace: metadata.namespace,
            name: metadata.name,
            version: metadata.resource_version,
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            seconds: spec.lease_duration_seconds.and_then(|s| u32::try_from(s).ok()).filter(|s| *s > 0),
            transitions: spec.lease_transitions.and_then(|n| u32::try_from(n).ok()).unwrap_or_default(),
        }
    }
}
