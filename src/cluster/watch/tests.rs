//! Watches against scripted servers, under a clock that stands still.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

use super::{Change, Kind, Source, Templates, Watch};
use crate::cluster::script::{Answer, Script, set, status};

fn start(kind: Kind, answers: Vec<Answer>) -> (Receiver<super::ClusterEvent>, Script) {
    let (cluster, script) = Script::new(answers);
    let (events, receiver) = channel(100);
    let source = Source { kind, namespace: Some("prod".into()) };
    tokio::spawn(Watch { cluster, source, events, templates: Templates::default(), failures: 0 }.run());
    (receiver, script)
}

fn list(items: &[Value], version: &str, next: &str) -> Answer {
    Answer::Json(200, json!({"metadata": {"resourceVersion": version, "continue": next}, "items": items}))
}

fn event(kind: &str, object: Value) -> String {
    json!({"type": kind, "object": object}).to_string()
}

fn bookmark(version: &str) -> String {
    event("BOOKMARK", json!({"metadata": {"resourceVersion": version}}))
}

fn named(name: &str, version: u64) -> Value {
    let mut set = set(version, 1, "");
    set["metadata"]["name"] = name.into();
    set
}

/// What was said until the script ends, in short.
async fn said(events: &mut Receiver<super::ClusterEvent>, count: usize) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..count {
        said.push(match events.recv().await.unwrap().change {
            Change::Sets { sets, version } => {
                format!("all {} at {version}", sets.iter().map(|(id, _)| id.name.clone()).collect::<Vec<_>>().join(" "))
            }
            Change::Set { workload, set } => format!("{} at {}", workload.name, set.resource_version),
            Change::SetGone { workload, version, .. } => format!("{} gone at {version}", workload.name),
            Change::Pods { pods, version } => format!("{} pods at {version}", pods.len()),
            Change::Pod { pod, .. } => format!("pod {}", pod.ordinal),
            Change::PodGone { ordinal, .. } => format!("pod {ordinal} gone"),
            Change::Heard { version } => format!("heard {version}"),
            Change::Lost { error, permanent } => format!("lost {permanent}: {error}"),
        });
    }
    said
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_in_pages_and_the_watch_goes_on_from_it() {
    let bad = json!({"metadata": {"name": "bad", "generation": "x"}});
    let (mut events, script) = start(
        Kind::StatefulSets,
        vec![
            list(&[named("a", 3), bad], "10", "token="),
            list(&[named("b", 4)], "10", ""),
            Answer::Lines(
                vec![
                    event("MODIFIED", named("a", 11)),
                    bookmark("20"),
                    "no json".into(),
                    event("NEW-KIND", json!({"metadata": {"resourceVersion": "21"}})),
                    event("BOOKMARK", json!({})),
                    String::new(),
                    event("DELETED", named("b", 22)),
                ],
                false,
            ),
            Answer::Lines(vec![bookmark("30")], true),
        ],
    );
    let wanted = ["all a b at 10", "a at 11", "heard 20", "heard ", "heard 21", "heard ", "b gone at 22", "heard 30"];
    assert_eq!(said(&mut events, 8).await, wanted);
    let uris: Vec<_> = script.seen().into_iter().map(|seen| seen.uri).collect();
    let path = "/apis/apps/v1/namespaces/prod/statefulsets";
    let watch = "?watch=true&allowWatchBookmarks=true&timeoutSeconds=200&resourceVersion=";
    assert_eq!(
        uris,
        [
            format!("{path}?limit=500"),
            format!("{path}?limit=500&continue=token%3D"),
            format!("{path}{watch}10"),
            format!("{path}{watch}22"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_means_a_list_in_one_piece() {
    let gone = || json!({"code": 410, "reason": "Expired", "message": "too old resource version"});
    let (mut events, script) = start(
        Kind::StatefulSets,
        vec![
            list(&[named("a", 3)], "10", ""),
            Answer::Lines(vec![event("ERROR", gone())], true),
            list(&[named("a", 3)], "20", "x"),
            Answer::Json(410, gone()),
            list(&[named("a", 3), named("b", 4)], "21", ""),
            Answer::Json(410, gone()),
            list(&[], "30", ""),
            Answer::Lines(vec![], true),
        ],
    );
    assert_eq!(said(&mut events, 3).await, ["all a at 10", "all a b at 21", "all  at 30"]);
    assert_eq!(script.seen()[4].uri, "/apis/apps/v1/namespaces/prod/statefulsets", "in one page");
}

#[tokio::test(start_paused = true)]
async fn failures_are_told_and_waited_for() {
    let began = Instant::now();
    let (mut events, script) = start(
        Kind::Pods,
        vec![
            Answer::Refuse,
            status(403, "Forbidden", "no", json!([])),
            list(&[], "10", ""),
            Answer::Lines(vec![], false),
            Answer::Lines(vec![bookmark("11"), event("ERROR", json!({"code": 500, "message": "etcd"}))], true),
            Answer::Lines(vec![bookmark("12")], true),
        ],
    );
    let said = said(&mut events, 9).await;
    assert!(said[0].starts_with("lost false: cannot reach in-process"), "{said:?}");
    assert_eq!(said[1], "lost true: not allowed to list pods in namespace prod: no");
    assert_eq!(
        said[2..],
        [
            "0 pods at 10",
            "lost false: the server answered 200: the watch ended at once",
            "heard ",
            "heard 11",
            "lost false: the server answered 500: etcd",
            "heard ",
            "heard 12"
        ]
    );
    assert!((1.0..10.0).contains(&began.elapsed().as_secs_f64()), "{:?}", began.elapsed());
    assert!(script.seen()[0].uri.contains("labelSelector=statefulset.kubernetes.io%2Fpod-name"));
    assert!(script.seen()[5].uri.ends_with("resourceVersion=11"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_silent_is_given_up() {
    let began = Instant::now();
    let (mut events, script) = start(
        Kind::StatefulSets,
        vec![
            list(&[], "10", ""),
            Answer::Lines(vec![bookmark("11")], true),
            Answer::Hang,
            Answer::Lines(vec![bookmark("12")], true),
        ],
    );
    let said = said(&mut events, 5).await;
    assert_eq!(said, ["all  at 10", "heard 11", "lost false: no answer within 15 s", "heard ", "heard 12"]);
    assert!(began.elapsed() >= Duration::from_secs(225), "{:?}", began.elapsed());
    assert_eq!(script.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_line_without_end_takes_no_memory() {
    let (mut events, _) = start(
        Kind::StatefulSets,
        vec![list(&[], "10", ""), Answer::Lines(vec!["x".repeat(9 << 20), event("ADDED", named("a", 11))], true)],
    );
    assert_eq!(said(&mut events, 2).await, ["all  at 10", "a at 11"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_nobody_listens() {
    let (events, script) = start(Kind::StatefulSets, vec![list(&[], "10", ""), Answer::Hang]);
    drop(events);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(script.seen().len(), 1);
}
