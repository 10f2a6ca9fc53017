//! Pods in the world: placed, started, broken by a script, ended.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::sim::api::{Terms, create};
use crate::sim::{Key, Resource, Script, Settings, World};

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
