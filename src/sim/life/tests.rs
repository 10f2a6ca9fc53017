//! Pods in the world: placed, started, broken by a script, ended.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::sim::api::{Terms, create};
use crate::sim::{Answer, Key, Request, Resource, Script, Settings, World};

fn world() -> World {
    World::new(&Settings { start: Timestamp::from_second(1_800_000_000).unwrap(), ..Settings::default() })
}

fn key(name: &str) -> Key {
    Key::new(Resource::Pods, "default", name)
}

fn pod(world: &mut World, name: &str, spec: Value) {
    let object = json!({"metadata": {"name": name}, "spec": spec, "status": {"phase": "Pending"}});
    create(world, Resource::Pods, "default", object, &Terms::of("test")).unwrap();
    world.tell();
}

fn pass(world: &mut World, milliseconds: i64) {
    let now = world.now + SignedDuration::from_millis(milliseconds);
    world.advance(now);
}

fn condition<'a>(world: &'a World, name: &str, kind: &str) -> Option<&'a Value> {
    let pod = world.object(&key(name))?;
    pod["status"]["conditions"].as_array()?.iter().find(|it| it["type"] == kind)
}

fn is_ready(world: &World, name: &str) -> bool {
    condition(world, name, "Ready").is_some_and(|it| it["status"] == "True")
}

#[test]
fn a_pod_is_placed_and_started_a_few_milliseconds_later() {
    let mut world = world();
    pod(&mut world, "a", json!({"containers": [{"name": "c", "image": "app:1"}]}));
    assert!(!is_ready(&world, "a"));
    pass(&mut world, 10);
    assert!(is_ready(&world, "a"));
    assert_eq!(world.object(&key("a")).unwrap()["spec"]["nodeName"], "node-0");
    assert_eq!(world.object(&key("a")).unwrap()["status"]["podIP"], "10.0.0.1");
    let events = world.store.list(Resource::Events, Some("default"));
    let messages: Vec<_> = events.map(|(_, event)| event["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(messages, ["Successfully assigned default/a to node-0"]);
    assert_eq!(world.next_due(), None, "nothing is left to do");
}

#[test]
fn a_pod_waits_for_its_claims() {
    let mut world = world();
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "v-a"}}]);
    pod(&mut world, "a", json!({"containers": [{"name": "c", "image": "app:1"}], "volumes": volumes}));
    pass(&mut world, 10);
    let told = |world: &World| condition(world, "a", "PodScheduled").unwrap()["message"].clone();
    assert_eq!(told(&world), "0/1 nodes are available: persistentvolumeclaim \"v-a\" not found. not found");
    let claim = Key::new(Resource::Claims, "default", "v-a");
    world.store.put(claim.clone(), json!({"metadata": {"name": "v-a"}, "status": {"phase": "Pending"}}));
    world.tell();
    pass(&mut world, 10);
    assert_eq!(told(&world), "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found");
    world.store.put(claim, json!({"metadata": {"name": "v-a"}, "status": {"phase": "Bound"}}));
    world.tell();
    pass(&mut world, 10);
    assert!(is_ready(&world, "a"));
}

#[test]
fn what_a_pod_waits_for_begins_anew_when_it_changes() {
    let mut world = world();
    pod(&mut world, "a", json!({"containers": [{"name": "c", "image": "app:slow-3"}]}));
    pass(&mut world, 2900);
    let mut touched = Value::clone(world.object(&key("a")).unwrap());
    touched["metadata"]["labels"] = json!({"a": "b"});
    world.store.put(key("a"), touched);
    world.tell();
    pass(&mut world, 2900);
    assert!(!is_ready(&world, "a"));
    pass(&mut world, 200);
    assert!(is_ready(&world, "a"));
}

#[test]
fn a_script_falls_when_it_says() {
    let mut world = world();
    let strokes = ["a=CrashLoop@30s..40s", "b=Evicted@5s", "c=Unschedulable@0s..9s"];
    world.play(Script::new(strokes.iter().map(|it| it.parse().unwrap()).collect()).unwrap());
    for name in ["a", "b", "c"] {
        pod(&mut world, name, json!({"containers": [{"name": "c", "image": "app:1"}]}));
    }
    pass(&mut world, 4000);
    assert!(is_ready(&world, "a") && is_ready(&world, "b") && !is_ready(&world, "c"));
    pass(&mut world, 25_900);
    assert!(is_ready(&world, "a") && !is_ready(&world, "b") && is_ready(&world, "c"));
    assert_eq!(world.object(&key("b")).unwrap()["status"]["phase"], "Failed");
    // The pod after it lives.
    world.store.remove(&key("b"));
    world.tell();
    pod(&mut world, "b", json!({"containers": [{"name": "c", "image": "app:1"}]}));
    pass(&mut world, 1000);
    assert!(!is_ready(&world, "a") && is_ready(&world, "b"));
    let a = world.object(&key("a")).unwrap();
    assert_eq!(a["status"]["containerStatuses"][0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(a["status"]["containerStatuses"][0]["restartCount"], 1);
    pass(&mut world, 10_000);
    assert!(is_ready(&world, "a"));
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let life = || {
        let mut world = world();
        for name in ["a", "b"] {
            pod(&mut world, name, json!({"containers": [{"name": "c", "image": "app:flap-3"}]}));
        }
        pass(&mut world, 20_000);
        let objects: Vec<Value> = world.store.all().map(|(_, object)| Value::clone(object)).collect();
        (world.version(), objects)
    };
    assert_eq!(life(), life());
}

fn ask(world: &mut World, method: &str, path: &str, kind: &str, body: &Value) -> Value {
    let request = Request {
        method: method.into(),
        path: path.into(),
        content_type: kind.into(),
        body: body.to_string().into_bytes(),
        user: "ann".into(),
        ..Request::default()
    };
    match world.handle(world.now, &request) {
        Answer::Whole(response) => {
            assert!(response.code < 300, "{method} {path}: {}", response.body);
            response.body
        }
        other => panic!("{other:?}"),
    }
}

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const WEB: &str = "/apis/apps/v1/namespaces/default/statefulsets/web";
const MERGE: &str = "application/merge-patch+json";

fn set(replicas: u32, spec: Value) -> Value {
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "serviceName": "web", "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "app:1"}]},
            },
        },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        set["spec"][field] = value.clone();
    }
    set
}

fn pods(world: &World) -> Vec<String> {
    let pods = world.store.list(Resource::Pods, Some("default"));
    let text = |pod: &Value| {
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned();
        let ready = pod["status"]["conditions"].as_array().into_iter().flatten();
        let ready = ready.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True");
        format!("{}@{}{}", pod["metadata"]["name"].as_str().unwrap(), &image[4..], if ready { "" } else { "!" })
    };
    pods.map(|(_, pod)| text(pod)).collect()
}

fn status(world: &World, field: &str) -> Value {
    world.object(&Key::new(Resource::StatefulSets, "default", "web")).unwrap()["status"][field].clone()
}

#[test]
fn a_set_is_rolled_out_scaled_and_taken_away() {
    let mut world = world();
    let claim = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]);
    let body = set(3, json!({"volumeClaimTemplates": claim}));
    ask(&mut world, "POST", SETS, "application/json", &body);
    pass(&mut world, 500);
    assert_eq!(pods(&world), ["web-0@1", "web-1@1", "web-2@1"]);
    assert_eq!((status(&world, "readyReplicas"), status(&world, "observedGeneration")), (json!(3), json!(1)));
    assert_eq!(world.store.list(Resource::Claims, None).count(), 3);
    // A canary.
    let image = json!({
        "template": {"spec": {"containers": [{"name": "c", "image": "app:2"}]}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
    });
    ask(&mut world, "PATCH", WEB, MERGE, &json!({"spec": image}));
    pass(&mut world, 1000);
    assert_eq!(pods(&world), ["web-0@1", "web-1@1", "web-2@2"]);
    assert_eq!(status(&world, "updatedReplicas"), 1);
    let rest = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
    ask(&mut world, "PATCH", WEB, MERGE, &rest);
    pass(&mut world, 1000);
    assert_eq!(pods(&world), ["web-0@2", "web-1@2", "web-2@2"]);
    assert_eq!(status(&world, "currentRevision"), status(&world, "updateRevision"));
    ask(&mut world, "PATCH", WEB, MERGE, &json!({"spec": {"replicas": 1}}));
    pass(&mut world, 1000);
    assert_eq!(pods(&world), ["web-0@2"]);
    // Its end takes pods and revisions with it, and leaves the claims.
    ask(&mut world, "DELETE", WEB, "application/json", &json!({}));
    pass(&mut world, 1000);
    assert!(pods(&world).is_empty());
    assert_eq!(world.store.list(Resource::Revisions, None).count(), 0);
    assert_eq!(world.store.list(Resource::Claims, None).count(), 3);
    assert_eq!(world.next_due(), None, "nothing is left to do");
}

#[test]
fn a_broken_pod_stops_a_set_and_is_told() {
    let mut world = world();
    ask(&mut world, "POST", SETS, "application/json", &set(3, json!({})));
    pass(&mut world, 500);
    let bad = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "app:pull"}]}}}});
    ask(&mut world, "PATCH", WEB, MERGE, &bad);
    pass(&mut world, 5000);
    assert_eq!(pods(&world), ["web-0@1", "web-1@1", "web-2@pull!"]);
    let events = world.store.list(Resource::Events, Some("default"));
    let told: Vec<String> = events.filter_map(|(_, event)| Some(event["message"].as_str()?.to_owned())).collect();
    for message in ["Create Pod web-0 in StatefulSet web successful", "Delete Pod web-2 in StatefulSet web successful"]
    {
        assert!(told.iter().any(|it| it.eq_ignore_ascii_case(message)), "{message} in {told:?}");
    }
}

#[test]
fn a_namespace_goes_with_all_that_is_in_it() {
    let mut world = world();
    ask(&mut world, "POST", "/api/v1/namespaces", "application/json", &json!({"metadata": {"name": "shop"}}));
    let sets = "/apis/apps/v1/namespaces/shop/statefulsets";
    ask(&mut world, "POST", sets, "application/json", &set(2, json!({})));
    pass(&mut world, 500);
    assert_eq!(world.store.list(Resource::Pods, Some("shop")).count(), 2);
    ask(&mut world, "DELETE", "/api/v1/namespaces/shop", "application/json", &json!({}));
    pass(&mut world, 5000);
    assert!(world.store.all().all(|(key, _)| key.namespace != "shop"));
    assert!(world.object(&Key::new(Resource::Namespaces, "", "shop")).is_none());
}

#[test]
fn a_thousand_pods_are_no_matter() {
    // Virtual time is free: what counts is what is done, and that it does not grow with the square of the set.
    let mut world = world();
    let spec = json!({"podManagementPolicy": "Parallel"});
    ask(&mut world, "POST", SETS, "application/json", &set(1000, spec));
    pass(&mut world, 60_000);
    assert_eq!(status(&world, "readyReplicas"), 1000);
}
