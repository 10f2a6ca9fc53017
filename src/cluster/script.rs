//! A server that says what it is told to, for tests: in this process, without a socket.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use tower::BoxError;

use super::connect::Cluster;

/// What it answers.
pub(crate) enum Answer {
    /// A status and a JSON body.
    Json(u16, Value),
    /// A status, a header, and a body.
    Text(u16, (&'static str, &'static str), String),
    /// Nothing, ever.
    Hang,
    /// No connection.
    Refuse,
    /// The connection breaks after the request was sent.
    Reset,
    /// Lines; then the end, or silence.
    Lines(Vec<String>, bool),
}

/// What it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

impl Seen {
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(crate) fn is_dry(&self) -> bool {
        self.uri.contains("dryRun=All")
    }

    pub(crate) fn is_forced(&self) -> bool {
        self.uri.contains("force=true")
    }
}

/// The server's side of a test.
#[derive(Clone)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Script {
    /// A cluster that gives these answers, in order; after the last one there is no connection.
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> (Cluster, Self) {
        let script = Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            seen: Arc::new(Mutex::new(Vec::new())),
        };
        let server = script.clone();
        let service = tower::service_fn(move |request: Request<Body>| server.clone().answer(request));
        (Cluster::from_service(service), script)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError> {
        let (parts, body) = request.into_parts();
        let text = String::from_utf8(body.collect_bytes().await?.to_vec())?;
        let content_type = parts.headers.get("content-type").map_or("", |v| v.to_str().unwrap()).to_owned();
        let seen = Seen { method: parts.method.to_string(), uri: parts.uri.to_string(), content_type, text };
        self.seen.lock().unwrap().push(seen);
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Refuse);
        let full = |text: String| Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
        match answer {
            Answer::Json(status, body) => Ok(Response::builder().status(status).body(full(body.to_string()))?),
            Answer::Text(status, (name, value), body) => {
                Ok(Response::builder().status(status).header(name, value).body(full(body))?)
            }
            Answer::Hang => std::future::pending().await,
            Answer::Refuse => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into()),
            Answer::Reset => Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()),
            Answer::Lines(lines, stays_open) => {
                // In pieces, as they come over a wire.
                let text = Bytes::from(lines.into_iter().map(|line| line + "\n").collect::<String>());
                let pieces = (0..text.len()).step_by(50_000).map(move |at| text.slice(at..text.len().min(at + 50_000)));
                let lines = pieces.map(|piece| Ok(Frame::data(piece)));
                let body = match stays_open {
                    true => {
                        StreamBody::new(stream::StreamExt::chain(stream::iter(lines), stream::pending())).boxed_unsync()
                    }
                    false => StreamBody::new(stream::iter(lines)).boxed_unsync(),
                };
                Ok(Response::new(body))
            }
        }
    }
}

/// A Kubernetes `Status`.
pub(crate) fn status(code: u16, reason: &str, message: &str, causes: Value) -> Answer {
    Answer::Json(
        code,
        json!({"kind": "Status", "code": code, "reason": reason, "message": message, "details": {"causes": causes}}),
    )
}

/// A set as a server shows it.
pub(crate) fn set(version: u64, generation: i64, record: &str) -> Value {
    json!({
        "metadata": {
            "name": "web", "namespace": "prod", "uid": "u1", "resourceVersion": version.to_string(),
            "generation": generation, "annotations": {"phaseline.dev/rollout": record},
        },
        "spec": {
            "replicas": 3,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
            "template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}},
        },
        "status": {"observedGeneration": generation},
    })
}
