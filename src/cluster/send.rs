//! One request and its answer: sent once, with a deadline, never repeated.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use kube::client::Body;
use serde::Deserialize;
use tokio::time::Instant;

use super::connect::{Cause, Cluster, chain};
use crate::model::WorkloadId;

/// How long one request may take, its answer read to the end included.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a page of a list may take: up to 500 objects.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// A request that is about to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Kubernetes' verb, as in RBAC rules: `get`, `list`, `watch`, `patch`, `delete`.
    pub(crate) verb: &'static str,
    /// The resource, as in RBAC rules.
    pub(crate) resource: &'static str,
    /// Where; empty for all namespaces.
    pub(crate) namespace: String,
    /// What follows the resource in the path.
    name: String,
    /// Query parameters, already encoded.
    query: String,
    /// The method, and the body with its type.
    method: Method,
    content: Option<(&'static str, Vec<u8>)>,
    /// What kind of answer is asked for.
    accept: &'static str,
    /// Its deadline.
    pub(crate) timeout: Duration,
}

impl Call {
    fn new(verb: &'static str, resource: &'static str, namespace: &str, name: &str) -> Self {
        Self {
            verb,
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            query: String::new(),
            method: Method::GET,
            content: None,
            accept: "application/json",
            timeout: REQUEST_TIMEOUT,
        }
    }

    /// Reads one object.
    pub(crate) fn get(resource: &'static str, namespace: &str, name: &str) -> Self {
        Self::new("get", resource, namespace, name)
    }

    /// Reads the metadata of one object: its content is neither sent nor held.
    pub(crate) fn get_metadata(resource: &'static str, namespace: &str, name: &str) -> Self {
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        Self { accept, ..Self::new("get", resource, namespace, name) }
    }

    /// Reads one StatefulSet.
    pub(crate) fn get_set(workload: &WorkloadId) -> Self {
        Self::get("statefulsets", &workload.namespace, &workload.name)
    }

    /// Reads a page of a list; an empty namespace means all.
    pub(crate) fn list(resource: &'static str, namespace: &str) -> Self {
        Self { timeout: LIST_TIMEOUT, ..Self::new("list", resource, namespace, "") }
    }

    /// Opens a watch; an empty namespace means all.
    pub(crate) fn watch(resource: &'static str, namespace: &str) -> Self {
        Self::new("watch", resource, namespace, "").query("watch", "true")
    }

    /// Changes a StatefulSet.
    pub(crate) fn patch(workload: &WorkloadId, kind: PatchKind, manager: &str, body: Vec<u8>) -> Self {
        Self {
            method: Method::PATCH,
            content: Some((kind.content_type(), body)),
            ..Self::new("patch", "statefulsets", &workload.namespace, &workload.name)
        }
        .query("fieldManager", manager)
        .query("fieldValidation", "Strict")
    }

    /// Makes an object of a kind that is ours alone.
    pub(crate) fn create(resource: &'static str, namespace: &str, manager: &str, body: Vec<u8>) -> Self {
        Self {
            method: Method::POST,
            content: Some(("application/json", body)),
            ..Self::new("create", resource, namespace, "")
        }
        .query("fieldManager", manager)
    }

    /// Changes an object of a kind that is ours alone.
    pub(crate) fn merge(resource: &'static str, namespace: &str, name: &str, manager: &str, body: Vec<u8>) -> Self {
        Self {
            method: Method::PATCH,
            content: Some((PatchKind::Merge.content_type(), body)),
            ..Self::new("patch", resource, namespace, name)
        }
        .query("fieldManager", manager)
    }

    /// Deletes a pod. There is no way to delete anything else.
    pub(crate) fn delete_pod(namespace: &str, name: &str, body: Vec<u8>) -> Self {
        Self {
            method: Method::DELETE,
            content: Some(("application/json", body)),
            ..Self::new("delete", "pods", namespace, name)
        }
    }

    /// The same with a query parameter.
    pub(crate) fn query(mut self, key: &str, value: &str) -> Self {
        self.query.push(if self.query.is_empty() { '?' } else { '&' });
        self.query.push_str(key);
        self.query.push('=');
        self.query.push_str(&encode(value));
        self
    }

    /// The same with a deadline of its own.
    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Whether it changes anything.
    fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// The kind of patch, where it is one.
    pub(crate) fn patch_kind(&self) -> Option<PatchKind> {
        let (content_type, _) = self.content.as_ref()?;
        [PatchKind::Apply, PatchKind::Json, PatchKind::Merge]
            .into_iter()
            .find(|kind| kind.content_type() == *content_type)
    }

    /// Its path and query.
    fn uri(&self) -> String {
        let group = match self.resource {
            "version" => return "/version".into(),
            "namespaces" | "pods" | "configmaps" | "secrets" | "persistentvolumeclaims" => "/api/v1",
            "poddisruptionbudgets" => "/apis/policy/v1",
            "leases" => "/apis/coordination.k8s.io/v1",
            _ => "/apis/apps/v1",
        };
        let mut uri = group.to_owned();
        for part in [("/namespaces/", &*self.namespace), ("/", self.resource), ("/", &*self.name)] {
            if !part.1.is_empty() {
                uri.push_str(part.0);
                uri.push_str(&encode(part.1));
            }
        }
        uri + &self.query
    }

    /// The request itself.
    pub(crate) fn request(&self) -> Result<Request<Body>, RequestError> {
        let mut request = Request::builder().method(self.method.clone()).uri(self.uri()).header(ACCEPT, self.accept);
        if let Some((kind, _)) = &self.content {
            request = request.header(CONTENT_TYPE, *kind);
        }
        let body = self.content.as_ref().map_or_else(Vec::new, |(_, body)| body.clone());
        request
            .body(Body::from(body))
            .map_err(|error| RequestError::Undecodable { what: "request".into(), source: Cause::of(&error) })
    }

    /// Who asked what, as RBAC says it.
    fn what(&self) -> String {
        match &*self.namespace {
            "" => self.resource.to_owned(),
            namespace => format!("{} in namespace {namespace}", self.resource),
        }
    }
}

/// The three ways of changing an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// Server-side apply.
    Apply,
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
}

impl PatchKind {
    fn content_type(self) -> &'static str {
        match self {
            Self::Apply => "application/apply-patch+yaml",
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
        }
    }
}

/// Everything but letters, digits and `-._~` as `%XX`.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            // Writing to a string has no way to fail.
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

/// An answer, good or bad.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// Its status.
    pub(crate) status: StatusCode,
    /// The header `Retry-After`, in seconds.
    retry_after: Option<u64>,
    /// Its body.
    pub(crate) body: Bytes,
}

/// What a server says when it does not do what it was asked: Kubernetes' `Status`, or what could be made of the body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Problem {
    /// The HTTP status.
    pub(crate) code: u16,
    /// One word.
    pub(crate) reason: String,
    /// A sentence, cut to a length that can be shown.
    pub(crate) message: String,
    /// More.
    pub(crate) details: Details,
}

/// `details` of a `Status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Details {
    /// The kind of the object that it is about.
    pub(crate) kind: String,
    /// The single findings.
    pub(crate) causes: Vec<Finding>,
    /// When to come again.
    pub(crate) retry_after_seconds: u64,
}

/// One of `details.causes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Finding {
    /// One word.
    pub(crate) reason: String,
    /// A sentence.
    pub(crate) message: String,
    /// The field.
    pub(crate) field: String,
}

impl Reply {
    /// What went wrong; none where it went well.
    pub(crate) fn problem(&self) -> Option<Problem> {
        if self.status.is_success() {
            return None;
        }
        let mut problem = Problem::read(self.status, &self.body);
        if let Some(seconds) = self.retry_after {
            problem.details.retry_after_seconds = seconds;
        }
        Some(problem)
    }
}

impl Problem {
    /// What an answer with that status says.
    pub(crate) fn read(status: StatusCode, body: &[u8]) -> Self {
        let mut problem: Self = serde_json::from_slice(body).unwrap_or_else(|_| Self {
            message: String::from_utf8_lossy(&body[..body.len().min(500)]).into_owned(),
            ..Self::default()
        });
        problem.code = status.as_u16();
        problem.message = Cause::text(&problem.message).to_string();
        problem
    }

    /// When to come again, where the server says so.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        // More than ten minutes is somebody's mistake; then we ask again all the same.
        Some(self.details.retry_after_seconds).filter(|s| *s > 0).map(|s| Duration::from_secs(s.min(600)))
    }

    /// The words for it: what the server said, or at least its status.
    pub(crate) fn words(&self) -> String {
        match self.message.trim() {
            "" => format!("the server answered {}", self.code),
            message => message.to_owned(),
        }
    }

    /// The same as an error.
    pub(crate) fn into_error(self, call: &Call) -> RequestError {
        let message = self.words();
        match self.code {
            401 => RequestError::Unauthorized { message },
            403 => RequestError::Forbidden { verb: call.verb, resource: call.what(), message },
            status => RequestError::Answer { status, message },
        }
    }
}

/// Why there is no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No connection: nothing was sent.
    #[error("cannot reach {server}")]
    Unreachable {
        /// Its address.
        server: String,
        /// Why.
        source: Cause,
    },
    /// No trust in the server, or the server has none in us: nothing was sent.
    #[error("no secure connection to {server}")]
    Tls {
        /// Its address.
        server: String,
        /// Why.
        source: Cause,
    },
    /// No credentials to send: nothing was sent.
    #[error("cannot get credentials")]
    Credentials {
        /// Why.
        source: Cause,
    },
    /// The Lease is somebody else's, or was not renewed in time: nothing was sent.
    #[error("not sent: this daemon does not hold the Lease")]
    NotLeader,
    /// No answer in time: what was asked may have been done.
    #[error("no answer within {seconds} s")]
    TimedOut {
        /// The deadline.
        seconds: u64,
    },
    /// The connection broke: what was asked may have been done.
    #[error("the connection broke")]
    Interrupted {
        /// Why.
        source: Cause,
    },
    /// 401.
    #[error("the server does not know us: {message}")]
    Unauthorized {
        /// What it said.
        message: String,
    },
    /// 403.
    #[error("not allowed to {verb} {resource}: {message}")]
    Forbidden {
        /// The verb to allow.
        verb: &'static str,
        /// The resource to allow it on.
        resource: String,
        /// What the server said.
        message: String,
    },
    /// Any other refusal.
    #[error("the server answered {status}: {message}")]
    Answer {
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// Something that makes no sense.
    #[error("cannot read the {what}")]
    Undecodable {
        /// Of what.
        what: String,
        /// Why.
        source: Cause,
    },
}

impl RequestError {
    /// Whether the server may have done what was asked.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::Interrupted { .. } | Self::Undecodable { .. } => true,
            Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Credentials { .. }
            | Self::NotLeader
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::Answer { .. } => false,
        }
    }

    /// Whether a right is missing.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden { .. })
    }

    /// Whether asking again soon is of no use.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Unauthorized { .. } | Self::Forbidden { .. } | Self::Tls { .. })
    }

    /// What to do about it; may be empty.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "is the API server up, and is it the right --context?",
            Self::Tls { .. } => "check certificate-authority and client-certificate in the kubeconfig",
            Self::Credentials { .. } | Self::Unauthorized { .. } => {
                "the credentials are missing or expired; try `kubectl auth whoami` with the same kubeconfig"
            }
            Self::Forbidden { .. } => "a Role or ClusterRole has to allow it",
            Self::NotLeader
            | Self::TimedOut { .. }
            | Self::Interrupted { .. }
            | Self::Answer { .. }
            | Self::Undecodable { .. } => "",
        }
    }

    /// The error, and what gives a right that is missing in this namespace; in all of them where it is empty.
    pub fn with_way_out(&self, namespace: &str) -> String {
        let words = self.words();
        match (self, namespace) {
            (Self::Forbidden { .. }, "") => format!(
                "{words}; a ClusterRole has to allow it: `phaseline install` prints the one it needs, and \
                 `phaseline run --watch-namespace NAME` needs none"
            ),
            (Self::Forbidden { .. }, namespace) => format!(
                "{words}; a Role in {namespace} has to allow it: `phaseline install --watch-namespace {namespace}` \
                 prints the one it needs"
            ),
            _ => words,
        }
    }

    /// The error and its cause on one line.
    pub fn words(&self) -> String {
        Cause::of(self).to_string()
    }

    /// Sorts what the client reports.
    pub(crate) fn of(cluster: &Cluster, error: &kube::Error) -> Self {
        use hyper_util::client::legacy;
        let source = match error {
            kube::Error::Service(inner) => Cause::of(inner.as_ref()),
            other => Cause::of(other),
        };
        if chain(error).any(|error| error.is::<kube::client::AuthError>()) {
            return Self::Credentials { source };
        }
        let refused = |error: &(dyn std::error::Error + 'static)| {
            error.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect)
                || error
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
        };
        if !chain(error).any(refused) {
            return Self::Interrupted { source };
        }
        let words = source.to_string().to_ascii_lowercase();
        match ["certificate", "tls", "handshake"].iter().any(|word| words.contains(word)) {
            true => Self::Tls { server: cluster.server.clone(), source },
            false => Self::Unreachable { server: cluster.server.clone(), source },
        }
    }
}

/// Sends a request once and reads the whole answer. A write passes the fence first, and has to be over while it holds.
///
/// # Errors
/// Where there is no answer; a bad one is a [`Reply`] too.
pub(crate) async fn send(cluster: &Cluster, call: &Call) -> Result<Reply, RequestError> {
    let (mut request, mut timeout) = (call.request()?, call.timeout);
    if call.is_write() {
        timeout = timeout.min(cluster.fence.left().ok_or(RequestError::NotLeader)?);
        cluster.fence.onto(&mut request);
    }
    let exchange = async {
        let asked = Instant::now();
        let response = cluster.client.send(request).await?;
        cluster.time.note(response.headers(), asked);
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()?.trim().parse().ok());
        Ok(Reply { status: response.status(), retry_after, body: response.into_body().collect_bytes().await? })
    };
    match tokio::time::timeout(timeout, exchange).await {
        Ok(answer) => answer.map_err(|error: kube::Error| RequestError::of(cluster, &error)),
        Err(_) => Err(RequestError::TimedOut { seconds: timeout.as_secs() }),
    }
}

/// Reads: sends a request and takes only a good answer.
///
/// # Errors
/// Where there is none; a 404 is `None`.
pub(crate) async fn fetch(cluster: &Cluster, call: &Call) -> Result<Option<Bytes>, RequestError> {
    let reply = send(cluster, call).await?;
    match reply.problem() {
        None => Ok(Some(reply.body)),
        Some(problem) if problem.code == 404 => Ok(None),
        Some(problem) => Err(problem.into_error(call)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kubernetes_paths() {
        let web = WorkloadId::new("prod", "web");
        for (call, uri) in [
            (Call::get_set(&web), "/apis/apps/v1/namespaces/prod/statefulsets/web"),
            (Call::list("pods", "").query("limit", "500"), "/api/v1/pods?limit=500"),
            (Call::get("pods", "a/b", "x y"), "/api/v1/namespaces/a%2Fb/pods/x%20y"),
            (Call::get("version", "", ""), "/version"),
            (Call::get_metadata("secrets", "prod", "db"), "/api/v1/namespaces/prod/secrets/db"),
            (Call::list("persistentvolumeclaims", "prod"), "/api/v1/namespaces/prod/persistentvolumeclaims"),
            (Call::list("poddisruptionbudgets", "prod"), "/apis/policy/v1/namespaces/prod/poddisruptionbudgets"),
        ] {
            assert_eq!(call.uri(), uri);
        }
    }

    #[test]
    fn a_refusal_names_verb_and_resource() {
        let reply = Reply {
            status: StatusCode::FORBIDDEN,
            retry_after: None,
            body: Bytes::from_static(br#"{"kind":"Status","message":"no","reason":"Forbidden","code":403}"#),
        };
        let call = Call::list("pods", "prod");
        let error = reply.problem().unwrap().into_error(&call);
        assert_eq!(error.to_string(), "not allowed to list pods in namespace prod: no");
        assert!(error.is_permanent());
    }

    #[test]
    fn an_answer_that_is_no_status_is_shown_in_part() {
        let reply = Reply {
            status: StatusCode::BAD_GATEWAY,
            retry_after: Some(100_000),
            body: Bytes::from("<html>".to_owned() + &"x".repeat(10_000)),
        };
        let problem = reply.problem().unwrap();
        assert_eq!(problem.message.len(), 500);
        assert_eq!(problem.retry_after(), Some(Duration::from_secs(600)));
    }
}
