//! What clients read, asked as they ask it: lists in pages, the past, forms, and watches.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::sim::api::watch::Watch;
use crate::sim::{Answer, Key, Request, Resource, Response, Settings, World};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

struct Client {
    world: World,
    now: Timestamp,
}

impl Client {
    fn new() -> Self {
        let now = "2026-11-21T04:11:37Z".parse().unwrap();
        Self { world: World::new(&Settings { start: now, ..Settings::default() }), now }
    }

    /// A config map, which nothing in the cluster acts on.
    fn put(&mut self, namespace: &str, name: &str, label: &str) -> u64 {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": label},
            "metadata": {
                "name": name, "namespace": namespace, "labels": {"app": label},
                "creationTimestamp": "2026-11-21T04:11:37Z",
            },
        });
        self.world.store.put(Key::new(Resource::ConfigMaps, namespace, name), object);
        self.world.version()
    }

    fn ask(&mut self, target: &str, accept: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let request = Request {
            method: "GET".into(),
            path: path.into(),
            query: query.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            accept: accept.into(),
            ..Request::default()
        };
        self.world.handle(self.now, &request)
    }

    fn get(&mut self, target: &str) -> Response {
        self.get_as(target, "application/json")
    }

    fn get_as(&mut self, target: &str, accept: &str) -> Response {
        match self.ask(target, accept) {
            Answer::Whole(response) => response,
            other => panic!("{target}: {other:?}"),
        }
    }

    fn watch(&mut self, target: &str, accept: &str) -> Watch {
        match self.ask(target, accept) {
            Answer::Watch(watch) => *watch,
            other => panic!("{target}: {other:?}"),
        }
    }

    /// What a watch tells now: `ADDED a@5`.
    fn told(&mut self, watch: &mut Watch) -> Vec<String> {
        let lines = self.world.poll(self.now, watch).lines;
        lines.iter().map(|line| format!("{} {}", text(&line["type"]), named(&line["object"]))).collect()
    }

    fn later(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn named(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{}@{}", text(&metadata["name"]), text(&metadata["resourceVersion"]))
}

fn names(list: &Response) -> Vec<&str> {
    let items = list.body["items"].as_array().unwrap_or_else(|| panic!("no list: {}", list.body));
    items.iter().map(|item| text(&item["metadata"]["name"])).collect()
}

#[test]
fn pages_show_one_state_whatever_happens_between_them() {
    let mut client = Client::new();
    for name in ["a", "b", "c", "d"] {
        client.put("shop", name, "web");
    }
    let version = client.world.version().to_string();
    let first = client.get("/api/v1/namespaces/shop/configmaps?limit=3");
    assert_eq!((first.body["kind"].as_str(), names(&first)), (Some("ConfigMapList"), vec!["a", "b", "c"]));
    assert_eq!(first.body["metadata"]["remainingItemCount"], 1);
    assert!(first.body["items"][0].get("kind").is_none(), "items of a list say nothing of their kind");
    client.put("shop", "bb", "web");
    client.put("shop", "e", "web");
    client.world.store.remove(&Key::new(Resource::ConfigMaps, "shop", "d"));
    let page = text(&first.body["metadata"]["continue"]).to_owned();
    let second = client.get(&format!("/api/v1/namespaces/shop/configmaps?limit=3&continue={page}"));
    assert_eq!(names(&second), ["d"], "as it was on the first page");
    assert_eq!(second.body["metadata"], json!({"resourceVersion": version}));
    let picky = client.get("/api/v1/namespaces/shop/configmaps?limit=1&labelSelector=app in (web)");
    assert!(picky.body["metadata"]["continue"].is_string() && picky.body["metadata"]["remainingItemCount"].is_null());
    let twice = client.get(&format!("/api/v1/namespaces/shop/configmaps?resourceVersion=5&continue={page}"));
    assert_eq!(text(&twice.body["message"]), "specifying resource version is not allowed when using continue");
    client.world.store.compact(client.world.version());
    let lost = client.get(&format!("/api/v1/namespaces/shop/configmaps?limit=3&continue={page}"));
    assert_eq!((lost.code, text(&lost.body["reason"])), (410, "Expired"));
    let page = text(&lost.body["metadata"]["continue"]).to_owned();
    let rest = client.get(&format!("/api/v1/namespaces/shop/configmaps?limit=3&continue={page}"));
    assert_eq!(names(&rest), ["e"], "what comes behind it now");
}

#[test]
fn all_namespaces_are_listed_in_the_order_of_their_keys() {
    let mut client = Client::new();
    for (namespace, name) in [("a", "x"), ("a-b", "y"), ("a0", "z")] {
        client.put(namespace, name, "web");
    }
    let all = client.get("/api/v1/configmaps?limit=2");
    assert_eq!(names(&all), ["y", "x"], "`a-b/y` comes before `a/x`");
    let page = text(&all.body["metadata"]["continue"]).to_owned();
    assert_eq!(names(&client.get(&format!("/api/v1/configmaps?continue={page}"))), ["z"]);
}

#[test]
fn a_version_says_which_state_is_shown() {
    let mut client = Client::new();
    let old = client.put("shop", "a", "web");
    client.put("shop", "b", "web");
    let new = client.put("shop", "c", "web");
    let mut list = |query: &str| client.get(&format!("/api/v1/namespaces/shop/configmaps?{query}"));
    for (query, expected) in [
        (String::new(), 3),
        ("resourceVersion=0".into(), 3),
        ("resourceVersion=0&limit=1".into(), 3),
        (format!("resourceVersion={old}"), 3),
        (format!("resourceVersion={old}&resourceVersionMatch=NotOlderThan"), 3),
        (format!("resourceVersion={old}&resourceVersionMatch=Exact"), 1),
        (format!("resourceVersion={old}&limit=5"), 1),
        (format!("resourceVersion={new}&resourceVersionMatch=Exact"), 3),
    ] {
        assert_eq!(names(&list(&query)).len(), expected, "{query}");
    }
    for (query, code, words) in [
        (format!("resourceVersion={}", new + 1), 504, format!("Timeout: Too large resource version: {}, current: {new}", new + 1)),
        (
            "resourceVersion=abc".into(),
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax".into(),
        ),
    ] {
        let refused = list(&query);
        assert_eq!((refused.code, text(&refused.body["message"])), (code, words.as_str()), "{query}");
    }
    client.world.store.compact(new);
    let query = format!("resourceVersion={old}&resourceVersionMatch=Exact");
    let lost = client.get(&format!("/api/v1/namespaces/shop/configmaps?{query}"));
    assert_eq!(text(&lost.body["message"]), "The resourceVersion for the provided list is too old.");
}

#[test]
fn answers_come_in_the_form_that_is_asked_for() {
    let mut client = Client::new();
    client.put("shop", "a", "web");
    client.later(31);
    let path = "/api/v1/namespaces/shop/configmaps";
    let table = client.get_as(path, TABLE).body;
    assert_eq!((&table["kind"], &table["apiVersion"]), (&"Table".into(), &"meta.k8s.io/v1".into()));
    assert_eq!(table["rows"][0]["cells"], json!(["a", 1, "31s"]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    let whole = client.get_as(&format!("{path}?includeObject=Object"), TABLE).body;
    assert_eq!(whole["rows"][0]["object"]["data"]["a"], "web");
    let none = client.get_as(&format!("{path}/a?includeObject=None"), TABLE).body;
    assert!(none["rows"][0]["object"].is_null() && none["metadata"]["resourceVersion"].is_string());
    assert_eq!(client.get_as(&format!("{path}?includeObject=bogus"), TABLE).code, 400);
    let one = client.get_as(&format!("{path}/a"), METADATA).body;
    assert_eq!((&one["kind"], one.get("data")), (&"PartialObjectMetadata".into(), None));
    let refused = client.get_as(path, METADATA);
    assert_eq!(
        (refused.code, text(&refused.body["message"])),
        (406, "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)")
    );
    let missing = client.get_as(&format!("{path}/z"), TABLE);
    assert_eq!((missing.code, text(&missing.body["message"])), (404, "configmaps \"z\" not found"));
    assert_eq!(client.get_as(path, "application/vnd.kubernetes.protobuf").code, 406);
}

#[test]
fn a_watch_tells_what_comes_into_sight_and_what_goes_out_of_it() {
    let mut client = Client::new();
    let old = client.put("shop", "a", "web");
    let path = "/api/v1/namespaces/shop/configmaps";
    let mut watch = client.watch(&format!("{path}?watch=true&resourceVersion={old}&labelSelector=app=web"), "");
    let mut everything = client.watch(&format!("{path}?watch=true"), "");
    assert_eq!(client.told(&mut everything), ["ADDED a@".to_owned() + &old.to_string()]);
    assert!(client.told(&mut watch).is_empty(), "it was there before");
    let out = client.put("shop", "a", "api");
    let back = client.put("shop", "a", "web");
    let same = client.put("shop", "a", "web");
    client.put("zoo", "b", "web");
    client.world.store.remove(&Key::new(Resource::ConfigMaps, "shop", "a"));
    let gone = client.world.version();
    assert_eq!(
        client.told(&mut watch),
        [
            format!("DELETED a@{out}"),
            format!("ADDED a@{back}"),
            format!("MODIFIED a@{same}"),
            format!("DELETED a@{gone}")
        ]
    );
    assert_eq!(client.told(&mut everything).len(), 4);
    let mut early = client.watch(&format!("{path}?watch=true&resourceVersion={}", gone + 2), "");
    for name in ["c", "d"] {
        client.put("shop", name, "web");
    }
    assert!(client.told(&mut early).is_empty());
    let newer = client.put("shop", "e", "web");
    assert_eq!(client.told(&mut early), [format!("ADDED e@{newer}")]);
    let refused = client.get(&format!("{path}?watch=true&resourceVersion=abc"));
    assert_eq!((refused.code, refused.body["reason"].as_str()), (500, None));
}

#[test]
fn a_watch_of_what_is_forgotten_ends_with_an_error() {
    let mut client = Client::new();
    for name in ["a", "b", "c"] {
        client.put("shop", name, "web");
    }
    let now = client.world.version();
    client.world.store.compact(now);
    let mut watch = client.watch("/api/v1/configmaps?watch=true&resourceVersion=1", "");
    let poll = client.world.poll(client.now, &mut watch);
    assert!(poll.ended);
    assert_eq!(poll.lines.len(), 1);
    let (line, words) = (&poll.lines[0], format!("too old resource version: 1 ({now})"));
    assert_eq!((text(&line["type"]), text(&line["object"]["message"])), ("ERROR", words.as_str()));
    assert_eq!((&line["object"]["code"], text(&line["object"]["reason"])), (&410.into(), "Expired"));
}

#[test]
fn a_streamed_list_says_where_it_ends() {
    let mut client = Client::new();
    client.put("shop", "a", "web");
    let now = client.world.version();
    let wanted = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(&format!("/api/v1/configmaps?{wanted}"), "");
    let lines = client.world.poll(client.now, &mut watch).lines;
    assert_eq!(
        lines[1],
        json!({"type": "BOOKMARK", "object": {
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"resourceVersion": now.to_string(), "annotations": {"k8s.io/initial-events-end": "true"}},
        }})
    );
    let mut rows = client.watch(&format!("/api/v1/configmaps?{wanted}"), TABLE);
    let lines = client.world.poll(client.now, &mut rows).lines;
    assert!(lines[0]["object"]["columnDefinitions"].is_array(), "the first one has the columns");
    assert!(lines[1]["object"]["columnDefinitions"].is_null(), "and no other");
    assert_eq!(lines[1]["object"]["rows"][0]["cells"], json!(["", 0, "<unknown>"]));
    let ahead = client.get(&format!("/api/v1/configmaps?{wanted}&resourceVersion={}", now + 9));
    assert_eq!(ahead.code, 504);
}

#[test]
fn bookmarks_come_every_minute_and_before_the_end() {
    let mut client = Client::new();
    let start = client.now;
    let query = "watch=true&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=100";
    let mut watch = client.watch(&format!("/api/v1/configmaps?{query}"), "");
    let mut seen = Vec::new();
    for _ in 0..100 {
        let poll = client.world.poll(client.now, &mut watch);
        let second = client.now.duration_since(start).as_secs();
        seen.extend(poll.lines.iter().map(|line| (second, text(&line["type"]).to_owned())));
        if poll.ended {
            seen.push((second, "end".into()));
            break;
        }
        client.now = poll.again.unwrap();
    }
    assert_eq!(seen, [(60, "BOOKMARK".into()), (98, "BOOKMARK".into()), (100, "end".into())]);
}

#[test]
fn events_are_read_under_both_their_apis() {
    let mut client = Client::new();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}, "message": "hello",
        "involvedObject": {"kind": "Pod", "name": "web-0"},
    });
    client.world.store.put(Key::new(Resource::Events, "shop", "e"), event);
    let core = client.get("/api/v1/namespaces/shop/events?fieldSelector=involvedObject.name=web-0");
    assert_eq!(core.body["items"][0]["message"], "hello");
    let newer = client.get("/apis/events.k8s.io/v1/namespaces/shop/events?fieldSelector=regarding.name=web-0");
    assert_eq!(
        (&newer.body["apiVersion"], &newer.body["items"][0]["note"]),
        (&"events.k8s.io/v1".into(), &"hello".into())
    );
    let one = client.get("/apis/events.k8s.io/v1/namespaces/shop/events/e").body;
    assert_eq!((&one["apiVersion"], &one["regarding"]["name"]), (&"events.k8s.io/v1".into(), &"web-0".into()));
    let mut watch = client.watch("/apis/events.k8s.io/v1/events?watch=true", "");
    let lines = client.world.poll(client.now, &mut watch).lines;
    assert_eq!(lines[0]["object"]["note"], "hello");
}
