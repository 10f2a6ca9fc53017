//! A client of this process on the embedded cluster, in virtual time.

use std::time::Duration;

use futures_util::io::{AsyncBufReadExt, BufReader};
use http::{Method, Request};
use jiff::Timestamp;
use phaseline::clock::Clock;
use phaseline::cluster::Cluster;
use phaseline::sim::serve::Embedded;
use phaseline::sim::{Compat, Settings, Version, World};
use serde_json::{Value, json};

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";

/// An embedded cluster and a client of it.
pub(crate) fn start(seed: u64) -> (Embedded, Cluster) {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    let world = World::new(&Settings { compat: Compat::of(Version::V1_36), seed, start, ..Settings::default() });
    let embedded = Embedded::start(world, Clock::starting(start));
    let cluster = Cluster::from_service(embedded.service("admin"));
    (embedded, cluster)
}

fn set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "serviceName": "web", "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
            },
        },
    })
}

fn request(method: Method, uri: &str, body: &Value) -> Request<Vec<u8>> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    Request::builder().method(method).uri(uri).header("content-type", "application/json").body(body).unwrap()
}

/// What a client of a seed sees: the set as it was made, and the first line of a watch that was open before.
async fn made(seed: u64) -> (Value, Value) {
    let (embedded, cluster) = start(seed);
    let list: Value = cluster.client.request(request(Method::GET, SETS, &Value::Null)).await.unwrap();
    let from = list["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = format!("{SETS}?watch=true&resourceVersion={from}&fieldSelector=metadata.name%3Dweb");
    let lines = cluster.client.request_stream(request(Method::GET, &watch, &Value::Null)).await.unwrap();
    let client = cluster.client.clone();
    let making = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        client.request::<Value>(request(Method::POST, SETS, &set())).await.unwrap()
    });
    let mut line = String::new();
    let mut lines = BufReader::new(Box::pin(lines));
    lines.read_line(&mut line).await.unwrap();
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(embedded.clock().now(), Timestamp::from_second(1_800_003_600).unwrap());
    (making.await.unwrap(), event)
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_what_is_made_an_hour_later() {
    let (set, event) = made(1).await;
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &set));
    assert_eq!(set["metadata"]["creationTimestamp"], "2027-01-15T09:00:00Z");
    assert_eq!(made(1).await.0, set, "the same seed gives the same");
    assert_ne!(made(2).await.0["metadata"]["uid"], set["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_answered_is_refused_with_a_status() {
    let (_embedded, cluster) = start(1);
    let refused = |error| match error {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("{other}"),
    };
    let unknown = format!("{SETS}/none");
    for (asked, code, reason) in [
        (request(Method::GET, &unknown, &Value::Null), 404, "NotFound"),
        (request(Method::GET, "/apis/apps/v1/deployments", &Value::Null), 501, "NotImplemented"),
        (request(Method::GET, "/api/v1/pods/%ff", &Value::Null), 400, "BadRequest"),
        (request(Method::POST, SETS, &Value::String("x".repeat(3 << 20))), 413, "RequestEntityTooLarge"),
    ] {
        let uri = asked.uri().to_string();
        let error = cluster.client.request::<Value>(asked).await.unwrap_err();
        assert_eq!(refused(error), (code, reason.to_owned()), "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_life_ends_with_the_last_handle() {
    let (embedded, cluster) = start(1);
    let watch = format!("{SETS}?watch=true");
    let lines = cluster.client.request_stream(request(Method::GET, &watch, &Value::Null)).await.unwrap();
    drop((embedded, cluster, lines));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
