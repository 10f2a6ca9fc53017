//! What is seen of the objects of a namespace while a script is played.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tokio::{task::JoinHandle, time::Instant};

/// The kinds that are watched, as paths name them.
const WATCHED: [&str; 5] = [
    "/apis/apps/v1/namespaces/NS/statefulsets",
    "/api/v1/namespaces/NS/pods",
    "/apis/apps/v1/namespaces/NS/controllerrevisions",
    "/api/v1/namespaces/NS/persistentvolumeclaims",
    "/api/v1/namespaces/NS/events",
];

/// One event of a watch.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// `ADDED`, `MODIFIED`, `DELETED`.
    pub(super) what: String,
    /// The object as it came.
    pub(super) object: Value,
}

#[derive(Debug)]
struct Log {
    seen: Vec<Seen>,
    last: Instant,
    /// With the cluster's events.
    any: Instant,
    broken: Option<String>,
}

/// The watches of one namespace; they end with it.
#[derive(Debug)]
pub(super) struct Watches {
    log: Arc<Mutex<Log>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Watches {
    /// Starts them where the namespace is now.
    pub(super) async fn start(client: &kube::Client, namespace: &str) -> Result<Self, String> {
        let log =
            Arc::new(Mutex::new(Log { seen: Vec::new(), last: Instant::now(), any: Instant::now(), broken: None }));
        let mut tasks = Vec::new();
        for path in WATCHED {
            let path = path.replace("NS", namespace);
            let list = get(client, &path).await?;
            let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
            if version.is_empty() {
                return Err(format!("{path} has no resourceVersion: {list}"));
            }
            let path = format!("{path}?watch=true&timeoutSeconds=600&resourceVersion={version}");
            tasks.push(tokio::spawn(follow(client.clone(), path, log.clone())));
        }
        Ok(Self { log, tasks })
    }

    /// When something was seen last.
    pub(super) fn last(&self) -> Instant {
        locked(&self.log).last
    }

    /// Until not even an event of the cluster came for so long: they come late.
    pub(super) async fn silence(&self, quiet: Duration, patience: Duration) {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            let since = locked(&self.log).any.elapsed();
            if since >= quiet {
                return;
            }
            tokio::time::sleep(quiet - since).await;
        }
    }

    /// Ends the watches; what they saw.
    pub(super) fn end(self) -> Result<Vec<Seen>, String> {
        for task in &self.tasks {
            task.abort();
        }
        let mut log = locked(&self.log);
        match log.broken.take() {
            None => Ok(std::mem::take(&mut log.seen)),
            Some(why) => Err(why),
        }
    }
}

fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(|it| it.into_inner())
}

async fn follow(client: kube::Client, path: String, log: Arc<Mutex<Log>>) {
    let each = |event: Value| {
        let mut log = locked(&log);
        match event["type"].as_str() {
            Some(what @ ("ADDED" | "MODIFIED" | "DELETED")) => {
                // Events of the cluster tell nothing about being at rest: they come late and are repeated.
                if event["object"]["kind"] != "Event" {
                    log.last = Instant::now();
                }
                log.any = Instant::now();
                log.seen.push(Seen { what: what.to_owned(), object: event["object"].clone() });
            }
            _ => log.broken = Some(format!("a watch said {event}")),
        }
    };
    let ended = stream(&client, &path, each).await;
    locked(&log).broken = Some(format!("{path}: the watch ended: {ended:?}"));
}

/// Reads a watch to its end, event by event.
pub(super) async fn stream(client: &kube::Client, path: &str, mut each: impl FnMut(Value)) -> Result<(), String> {
    let request = http::Request::get(path).body(Body::empty()).map_err(|it| it.to_string())?;
    let answer = client.send(request).await.map_err(|it| it.to_string())?;
    let code = answer.status().as_u16();
    let mut body = answer.into_body().into_data_stream();
    let mut rest = Vec::new();
    while let Some(chunk) = body.next().await {
        rest.extend_from_slice(&chunk.map_err(|it| it.to_string())?);
        while code == 200
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        {
            let line: Vec<u8> = rest.drain(..=end).collect();
            each(serde_json::from_slice(&line).map_err(|it| format!("{it}: {}", String::from_utf8_lossy(&line)))?);
        }
    }
    // What is no watch may come without the end of its line.
    if code == 200 && !rest.is_empty() {
        each(serde_json::from_slice(&rest).map_err(|it| format!("{it}: {}", String::from_utf8_lossy(&rest)))?);
    }
    if code == 200 { Ok(()) } else { Err(format!("{code} {}", String::from_utf8_lossy(&rest))) }
}

/// A plain GET of something that is there.
pub(super) async fn get(client: &kube::Client, path: &str) -> Result<Value, String> {
    let request = http::Request::get(path).body(Body::empty()).map_err(|it| format!("{path}: {it}"))?;
    let send = async {
        let answer = client.send(request).await.map_err(|it| it.to_string())?;
        let (code, body) = (answer.status(), answer.into_body().collect().await.map_err(|it| it.to_string())?);
        let value: Value = serde_json::from_slice(&body.to_bytes()).map_err(|it| it.to_string())?;
        if code.is_success() { Ok(value) } else { Err(format!("{} {}", code.as_u16(), value["message"])) }
    };
    match tokio::time::timeout(Duration::from_secs(60), send).await {
        Ok(result) => result.map_err(|why| format!("{path}: {why}")),
        Err(_) => Err(format!("{path}: no answer within a minute")),
    }
}
