//! The API server, in this process: a tower service without a socket.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use phaseline::cluster::Cluster;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::BoxError;

use super::world::{Answer, Kind, Line, World, refused};

/// A write that has arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// When, before its body was read.
    pub(crate) at: Instant,
    /// The namespace and the name of the set.
    pub(crate) key: (String, String),
    /// The partition that it left the set at.
    pub(crate) partition: u64,
    /// The bytes of its body.
    pub(crate) bytes: usize,
}

/// The server; clones are the same one.
#[derive(Clone)]
pub(crate) struct Service {
    world: Arc<Mutex<World>>,
    handed: Arc<Mutex<Option<Instant>>>,
    arrivals: UnboundedSender<Arrival>,
    armed: Arc<Mutex<bool>>,
}

impl Service {
    /// An empty server, and what arrives at it.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Arrival>) {
        let (arrivals, receiver) = unbounded_channel();
        let (world, handed, armed) = Default::default();
        (Self { world, handed, arrivals, armed }, receiver)
    }

    /// A client of it.
    pub(crate) fn cluster(&self) -> Cluster {
        let service = self.clone();
        Cluster::from_service(tower::service_fn(move |request: Request<Body>| {
            let at = Instant::now();
            service.clone().answer(request, at)
        }))
    }

    /// The objects.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a read is a fault.
    pub(crate) fn arm(&self) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// When the client took the last marked line.
    pub(crate) fn handed(&self) -> Option<Instant> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn answer(
        self,
        request: Request<Body>,
        at: Instant,
    ) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let query = parts.uri.query().unwrap_or_default();
        let has = |pair: &str| query.split('&').any(|other| other == pair);
        let path: Vec<&str> = parts.uri.path().split('/').skip_while(|part| *part != "namespaces").collect();
        let (kind, namespace, name) = match path[..] {
            ["namespaces", namespace, "statefulsets"] => (Kind::Sets, namespace, None),
            ["namespaces", namespace, "pods"] => (Kind::Pods, namespace, None),
            ["namespaces", namespace, "statefulsets", name] => (Kind::Sets, namespace, Some(name)),
            _ => return Err(format!("not served: {} {}", parts.method, parts.uri).into()),
        };
        if let (&Method::GET, None, true) = (&parts.method, name, has("watch=true")) {
            let version = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion=")?.parse().ok());
            return Ok(Response::new(self.watch(kind, namespace, version.unwrap_or_default())));
        }
        let (status, body) = match (&parts.method, name) {
            (&Method::GET, None) => {
                self.read(&parts.uri.to_string());
                self.world().list(kind, namespace)
            }
            (&Method::GET, Some(name)) => {
                self.read(&parts.uri.to_string());
                let key = (namespace.to_owned(), name.to_owned());
                let found = self.world().sets.get(&key).map(|set| (200, set.object.clone()));
                found.unwrap_or_else(|| refused(404, "NotFound", "no such set"))
            }
            (&Method::PATCH, Some(name)) => {
                let key = (namespace.to_owned(), name.to_owned());
                let value: Value = serde_json::from_slice(&body)?;
                let dry = has("dryRun=All");
                let answer = self.write(&key, value, dry);
                if !dry {
                    let partition = self.world().sets.get(&key).map_or(0, |set| set.partition());
                    // Nobody may be listening any more.
                    let _closed = self.arrivals.send(Arrival { at, key, partition, bytes: body.len() });
                }
                answer
            }
            _ => return Err(format!("not served: {} {}", parts.method, parts.uri).into()),
        };
        let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
        Ok(Response::builder().status(status).body(body)?)
    }

    fn write(&self, key: &(String, String), body: Value, dry: bool) -> Answer {
        match body {
            Value::Array(steps) => self.world().patch(key, &steps),
            body => self.world().apply(key, body, dry),
        }
    }

    fn read(&self, uri: &str) {
        if *self.armed.lock().unwrap_or_else(PoisonError::into_inner) {
            self.world().faults.push(format!("a read after the start: {uri}"));
        }
    }

    fn watch(&self, kind: Kind, namespace: &str, version: u64) -> UnsyncBoxBody<Bytes, Infallible> {
        let (sender, receiver) = unbounded_channel::<Line>();
        self.world().watch(kind, namespace, version, sender);
        let handed = self.handed.clone();
        let lines =
            futures_util::stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
        StreamBody::new(lines.map(move |line| {
            if line.marked {
                *handed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            }
            Ok(Frame::data(line.bytes))
        }))
        .boxed_unsync()
    }
}
