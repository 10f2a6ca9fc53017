//! Watches against scripted servers, under a clock that stands still.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

use super::{Change, Doubts, Kind, Source, Templates, Watch};
use crate::cluster::script::{Answer, Script, set, status};

fn start(kind: Kind, answers: Vec<Answer>) -> (Receiver<super::ClusterEvent>, Script) {
    let (cluster, script) = Script::new(answers);
    let (events, receiver) = channel(100);
    let source = Source { kind, namespace: Some("prod".into()) };
    let watch = Watch {
        cluster,
        source,
        events,
        templates: Templates::default(),
        failures: 0,
        hasty: 0,
        nonsense: 0,
        doubts: Doubts::default(),
    };
    tokio::spawn(watch.run());
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
            Change::Sets { sets, version, asked: _ } => {
                format!("all {} at {version}", sets.iter().map(|(id, _)| id.name.clone()).collect::<Vec<_>>().join(" "))
            }
            Change::Set { workload, set } => format!("{} at {}", workload.name, set.resource_version),
            Change::SetGone { workload, version, .. } => format!("{} gone at {version}", workload.name),
            Change::Pods { pods, version } => format!("{} pods at {version}", pods.len()),
            Change::Pod { pod, .. } => format!("pod {}", pod.ordinal),
            Change::PodGone { ordinal, .. } => format!("pod {ordinal} gone"),
            Change::Heard { version } => format!("heard {version}"),
            Change::Lost { error, permanent, forbidden: _ } => format!("lost {permanent}: {error}"),
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
            // It ended before its time: what comes next may be another server.
            list(&[named("a", 11)], "29", ""),
            Answer::Lines(vec![bookmark("30")], true),
        ],
    );
    let wanted =
        ["all a b at 10", "a at 11", "heard 20", "heard 21", "heard ", "b gone at 22", "all a at 29", "heard 30"];
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
            format!("{path}?limit=500"),
            format!("{path}{watch}29"),
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
            list(&[], "11", ""),
            Answer::Lines(vec![bookmark("12"), event("ERROR", json!({"code": 500, "message": "etcd"}))], true),
            list(&[], "13", ""),
            status(429, "TooManyRequests", "busy", json!([])),
            Answer::Lines(vec![bookmark("14")], true),
        ],
    );
    let said = said(&mut events, 10).await;
    assert!(said[0].starts_with("lost false: cannot reach in-process"), "{said:?}");
    assert_eq!(
        said[1],
        "lost true: not allowed to list pods in namespace prod: no; a Role in prod has to allow it: `phaseline install \
         --watch-namespace prod` prints the one it needs"
    );
    assert_eq!(
        said[2..],
        [
            "0 pods at 10",
            "lost false: the server answered 200: the watch ended at once",
            "0 pods at 11",
            "heard 12",
            "lost false: the server answered 500: etcd",
            "0 pods at 13",
            "lost false: the server answered 429: busy",
            "heard 14",
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
            list(&[named("a", 3)], "12", ""),
            Answer::Hang,
            list(&[named("a", 3)], "13", ""),
            Answer::Lines(vec![bookmark("14")], true),
        ],
    );
    let said = said(&mut events, 6).await;
    assert_eq!(
        said,
        ["all  at 10", "heard 11", "all a at 12", "lost false: no answer within 15 s", "all a at 13", "heard 14"]
    );
    // What it is given up for is seen anew: a list, and not the silence once more.
    assert!((145..150).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(script.seen().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_counts_from_somewhere_else_is_listed_anew() {
    let (mut events, _) = start(
        Kind::StatefulSets,
        vec![
            list(&[named("a", 900), named("b", 901)], "1000", ""),
            Answer::Lines(vec![bookmark("1001"), event("MODIFIED", named("a", 40))], true),
            list(&[named("a", 40)], "41", ""),
            // Nothing at all for as long as a watch lives: the server waits for a version that is far away.
            Answer::Lines(vec![], true),
            list(&[named("a", 42)], "43", ""),
            Answer::Lines(vec![], true),
        ],
    );
    assert_eq!(said(&mut events, 4).await, ["all a b at 1000", "heard 1001", "all a at 41", "all a at 43"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_doubted_is_begun_anew() {
    let (cluster, _) = Script::new(vec![
        list(&[], "10", ""),
        Answer::Lines(vec![bookmark("11")], true),
        list(&[named("a", 20)], "21", ""),
        Answer::Lines(vec![], true),
    ]);
    let (events, mut receiver) = channel(100);
    let (doubts, namespaces) = (Doubts::default(), ["prod".to_owned()]);
    let doubted = doubts.clone();
    tokio::spawn(async move {
        let source = Source { kind: Kind::StatefulSets, namespace: Some(namespaces[0].clone()) };
        let watch = Watch {
            cluster,
            source,
            events,
            templates: Templates::default(),
            failures: 0,
            hasty: 0,
            nonsense: 0,
            doubts: doubted,
        };
        watch.run().await;
    });
    assert_eq!(said(&mut receiver, 2).await, ["all  at 10", "heard 11"]);
    doubts.raise(Source { kind: Kind::Pods, namespace: Some("prod".into()) });
    doubts.raise(Source { kind: Kind::StatefulSets, namespace: Some("prod".into()) });
    assert_eq!(said(&mut receiver, 1).await, ["all a at 21"]);
}

/// How many requests are made in ten minutes of a server that always gives the same answers.
async fn asked_in_ten_minutes(again: impl Fn() -> Vec<Answer>) -> usize {
    let answers = (0..2000).flat_map(|_| again());
    let (mut events, script) = start(Kind::StatefulSets, answers.collect());
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    tokio::time::sleep(Duration::from_secs(600)).await;
    script.seen().len()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_in_a_circle() {
    let page = || Answer::Text(200, ("content-type", "text/html"), "<html>\n<p>log in\n".repeat(1000));
    let garbage = || Answer::Lines(vec!["<html>".into(); 1000], false);
    let one_bookmark = || Answer::Lines(vec![bookmark("11")], false);
    let gone = || Answer::Json(410, json!({"code": 410, "reason": "Expired"}));
    let error = || Answer::Lines(vec![event("ERROR", json!({"code": 410, "reason": "Expired"}))], false);
    let backwards = || Answer::Lines(vec![bookmark("2")], false);
    let ten = || list(&[], "10", "");
    assert!(asked_in_ten_minutes(|| vec![ten(), page(), page(), page(), page()]).await < 1200);
    assert!(asked_in_ten_minutes(|| vec![ten(), garbage(), garbage(), garbage(), garbage()]).await < 1200);
    assert!(asked_in_ten_minutes(|| vec![ten(), gone()]).await < 1200);
    assert!(asked_in_ten_minutes(|| vec![ten(), error()]).await < 1200);
    assert!(asked_in_ten_minutes(|| vec![ten(), backwards()]).await < 1200);
    assert!(asked_in_ten_minutes(|| vec![page()]).await < 1200);
    // One list, and then only watches.
    let (mut events, script) =
        start(Kind::StatefulSets, std::iter::once(ten()).chain((0..5000).map(|_| one_bookmark())).collect());
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(script.seen().len() < 1200, "{}", script.seen().len());
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
