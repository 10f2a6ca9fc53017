//! What is written, as a client sees it; each text is one that a real server gave.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::sim::{Answer, Compat, Request, Response, Settings, Version, World};

fn world() -> World {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    World::new(&Settings { compat: Compat::of(Version::V1_36), seed: 1, start, ..Settings::default() })
}

/// Asks for `PATH[?QUERY]` with a body; a patch is an apply where a manager is
/// named, a JSON patch where it is a list, else a merge patch.
fn ask(world: &mut World, method: &str, path: &str, body: Value) -> Response {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query_has_apply = query.contains("fieldManager=");
    let query = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect();
    let content_type = match (method, &body) {
        ("PATCH", Value::Array(_)) => "application/json-patch+json",
        ("PATCH", _) => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let content_type = if query_has_apply { "application/apply-patch+yaml" } else { content_type };
    let (content_type, agent) = (content_type.to_owned(), "curl/8".to_owned());
    let request =
        Request { method: method.into(), path: path.into(), query, content_type, body, agent, ..Request::default() };
    let now = world.now;
    match world.handle(now, &request) {
        Answer::Whole(response) => response,
        other => panic!("{other:?}"),
    }
}

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const WEB: &str = "/apis/apps/v1/namespaces/default/statefulsets/web";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn set(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "serviceName": "web",
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}},
    }})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}})
}

/// Code, reason and message.
fn told(response: &Response) -> (u16, &str, &str) {
    let text = |name: &str| response.body[name].as_str().unwrap_or_default();
    (response.code, text("reason"), text("message"))
}

#[test]
fn a_set_is_stored_with_its_defaults_and_without_what_is_not_the_clients() {
    let mut world = world();
    let mut given = set("web");
    given["status"] = json!({"replicas": 7});
    given["metadata"]["generation"] = json!(7);
    given["metadata"]["uid"] = json!("mine");
    let made = ask(&mut world, "POST", SETS, given);
    assert_eq!(made.code, 201);
    assert_eq!(made.body["spec"]["replicas"], 1);
    assert_eq!(
        made.body["spec"]["updateStrategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    );
    assert_eq!(made.body["status"], json!({"replicas": 0, "availableReplicas": 0}));
    assert_eq!(made.body["metadata"]["generation"], 1);
    assert_ne!(made.body["metadata"]["uid"], "mine");
    let again = ask(&mut world, "POST", SETS, set("web"));
    assert_eq!(told(&again), (409, "AlreadyExists", "statefulsets.apps \"web\" already exists"));
}

#[test]
fn a_pod_gets_what_admission_puts_in() {
    let mut world = world();
    let made = ask(&mut world, "POST", PODS, pod("p"));
    let spec = &made.body["spec"];
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    assert_eq!(made.body["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    assert_eq!(made.body["metadata"]["generation"], 1);
}

#[test]
fn what_cannot_be_made_is_refused_in_the_servers_words() {
    let mut world = world();
    let with = |field: &str, value: Value| {
        let mut object = pod("p");
        object["metadata"][field] = value;
        object
    };
    for (path, body, expected) in [
        ("/api/v1/namespaces/nowhere/pods", pod("p"), (404, "NotFound", "namespaces \"nowhere\" not found")),
        (
            PODS,
            with("namespace", json!("other")),
            (
                400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
        ),
        (
            PODS,
            with("name", json!("")),
            (422, "Invalid", "Pod \"\" is invalid: metadata.name: Required value: name or generateName is required"),
        ),
        (
            PODS,
            with("resourceVersion", json!("5")),
            (500, "", "resourceVersion should not be set on objects to be created"),
        ),
        (
            "/api/v1/namespaces/default/pods?dryRun=Foo",
            pod("p"),
            (
                422,
                "Invalid",
                "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Foo\"]: supported values: \"All\"",
            ),
        ),
    ] {
        assert_eq!(told(&ask(&mut world, "POST", path, body)), expected);
    }
}

#[test]
fn a_change_of_the_spec_counts_and_no_other() {
    let mut world = world();
    let made = ask(&mut world, "POST", SETS, set("web")).body;
    let generation = |object: &Value| object["metadata"]["generation"].as_i64();
    let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
    let same = ask(&mut world, "PATCH", WEB, json!({"spec": {"replicas": 1}, "status": {"replicas": 5}})).body;
    assert_eq!(same, made);
    let labelled = ask(&mut world, "PATCH", WEB, json!({"metadata": {"labels": {"a": "b"}, "generation": 9}})).body;
    assert_eq!(generation(&labelled), Some(1));
    assert_ne!(version(&labelled), version(&made));
    let scaled = ask(&mut world, "PATCH", WEB, json!([{"op": "replace", "path": "/spec/replicas", "value": 3}])).body;
    assert_eq!(generation(&scaled), Some(2));
    let status = json!({"status": {"replicas": 3}, "spec": {"replicas": 9}});
    let told = ask(&mut world, "PATCH", "/apis/apps/v1/namespaces/default/statefulsets/web/status", status).body;
    assert_eq!((&told["status"]["replicas"], &told["spec"]["replicas"]), (&json!(3), &json!(3)));
    assert_eq!(generation(&told), Some(2));
}

#[test]
fn what_cannot_be_changed_is_refused_in_the_servers_words() {
    let mut world = world();
    let made = ask(&mut world, "POST", SETS, set("web")).body;
    let with = |at: &str, value: Value| {
        let mut object = made.clone();
        object["metadata"][at] = value;
        object
    };
    let overtaken = "Operation cannot be fulfilled on statefulsets.apps \"web\": the object has been modified; please \
        apply your changes to the latest version and try again";
    assert_eq!(told(&ask(&mut world, "PUT", WEB, with("resourceVersion", json!("1")))), (409, "Conflict", overtaken));
    let patch = json!({"metadata": {"resourceVersion": "1"}});
    assert_eq!(told(&ask(&mut world, "PATCH", WEB, patch)), (409, "Conflict", overtaken));
    let other = "the name of the object (zz) does not match the name on the URL (web)";
    assert_eq!(told(&ask(&mut world, "PUT", WEB, with("name", json!("zz")))), (400, "BadRequest", other));
    let found = made["metadata"]["uid"].as_str().unwrap();
    let uid = format!(
        "Operation cannot be fulfilled on statefulsets.apps \"web\": StorageError: invalid object, Code: 4, Key: \
         /registry/statefulsets/default/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: 1, UID in object meta: {found}"
    );
    assert_eq!(told(&ask(&mut world, "PUT", WEB, with("uid", json!("1")))), (409, "Conflict", uid.as_str()));
    let fixed = ask(&mut world, "PATCH", WEB, json!({"metadata": {"uid": "1"}}));
    let words = "StatefulSet.apps \"web\" is invalid: metadata.uid: Invalid value: \"1\": field is immutable";
    assert_eq!(told(&fixed), (422, "Invalid", words));
    assert_eq!(fixed.body["details"]["causes"].as_array().unwrap().len(), 2);
    let fixed = ask(&mut world, "PATCH", WEB, json!({"spec": {"serviceName": "x"}}));
    assert_eq!(fixed.body["details"]["causes"][0]["reason"], "FieldValueForbidden");
    assert!(told(&fixed).2.starts_with("StatefulSet.apps \"web\" is invalid: spec: Forbidden: updates to statefulset"));
    let status =
        ask(&mut world, "PATCH", &format!("{WEB}/status"), json!({"status": {"replicas": -1, "currentReplicas": -1}}));
    let fields: Vec<Value> =
        status.body["details"]["causes"].as_array().unwrap().iter().map(|it| it["field"].clone()).collect();
    let counts = ["replicas", "currentReplicas", "readyReplicas", "updatedReplicas", "availableReplicas"];
    assert_eq!(fields, counts.map(|it| json!(format!("status.{it}"))));
    let refused = "the server rejected our request due to an error in our request";
    let test = json!([{"op": "test", "path": "/spec/replicas", "value": 9}]);
    assert_eq!(told(&ask(&mut world, "PATCH", WEB, test)), (422, "Invalid", refused));
    assert_eq!(world.object(&key("web")).unwrap()["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

fn key(name: &str) -> crate::sim::Key {
    crate::sim::Key::new(crate::sim::Resource::StatefulSets, "default", name)
}

#[test]
fn a_bound_pod_ends_with_grace_and_may_be_hurried() {
    let mut world = world();
    ask(&mut world, "POST", PODS, pod("p"));
    let one = "/api/v1/namespaces/default/pods/p";
    // As the scheduler's binding leaves it.
    let key = crate::sim::Key::new(crate::sim::Resource::Pods, "default", "p");
    let mut bound = Value::clone(world.object(&key).unwrap());
    bound["spec"]["nodeName"] = "node-0".into();
    world.store.put(key.clone(), bound);
    let ending = ask(&mut world, "DELETE", one, Value::Null).body;
    assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(ending["metadata"]["deletionTimestamp"], "2027-01-15T08:00:30Z");
    assert_eq!(ending["metadata"]["generation"], 2);
    let longer = ask(&mut world, "DELETE", one, json!({"gracePeriodSeconds": 60})).body;
    assert_eq!(longer, ending);
    let shorter = ask(&mut world, "DELETE", one, json!({"gracePeriodSeconds": 5})).body;
    assert_eq!(shorter["metadata"]["deletionTimestamp"], "2027-01-15T08:00:05Z");
    assert_eq!(shorter["metadata"]["generation"], 2);
    let finalizer = json!({"metadata": {"finalizers": ["a.b/c"]}});
    let held = ask(&mut world, "PATCH", one, finalizer);
    assert_eq!(
        told(&held).2,
        "Pod \"p\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
         deleted, found new finalizers []string{\"a.b/c\"}"
    );
    let gone = ask(&mut world, "DELETE", &format!("{one}?gracePeriodSeconds=0"), Value::Null);
    assert_eq!((gone.code, gone.body["kind"].as_str()), (200, Some("Pod")));
    assert!(world.object(&key).is_none());
}

#[test]
fn a_held_object_goes_with_its_last_finalizer() {
    let mut world = world();
    let mut held = pod("p");
    held["metadata"]["finalizers"] = json!(["a.b/c"]);
    ask(&mut world, "POST", PODS, held);
    let one = "/api/v1/namespaces/default/pods/p";
    let ending = ask(&mut world, "DELETE", one, Value::Null).body;
    assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 0);
    let let_go = ask(&mut world, "PATCH", one, json!({"metadata": {"finalizers": null}}));
    assert_eq!((let_go.code, let_go.body["kind"].as_str()), (200, Some("Pod")));
    assert_eq!(ask(&mut world, "GET", one, Value::Null).code, 404);
}

#[test]
fn a_set_is_deleted_with_or_without_what_it_owns() {
    let mut world = world();
    ask(&mut world, "POST", SETS, set("web"));
    let wrong = json!({"preconditions": {"uid": "x"}});
    let refused = ask(&mut world, "DELETE", WEB, wrong);
    assert!(told(&refused).2.starts_with(
        "Operation cannot be fulfilled on StatefulSet.apps \"web\": the UID in the precondition (x) does not match"
    ));
    assert_eq!(refused.body["details"]["kind"], "StatefulSet");
    let orphan = ask(&mut world, "DELETE", WEB, json!({"propagationPolicy": "Orphan"})).body;
    assert_eq!(orphan["metadata"]["finalizers"], json!(["orphan"]));
    assert_eq!(orphan["metadata"]["generation"], 2);
    ask(&mut world, "PATCH", WEB, json!({"metadata": {"finalizers": null}}));
    ask(&mut world, "POST", SETS, set("web"));
    let gone = ask(&mut world, "DELETE", WEB, Value::Null).body;
    assert_eq!((gone["status"].as_str(), gone["details"]["kind"].as_str()), (Some("Success"), Some("statefulsets")));
}

#[test]
fn a_scale_is_a_set_seen_from_its_replicas() {
    let mut world = world();
    let made = ask(&mut world, "POST", SETS, set("web")).body;
    let scale = format!("{WEB}/scale");
    let shown = ask(&mut world, "GET", &scale, Value::Null).body;
    assert_eq!(shown["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(shown["spec"], json!({"replicas": 1}));
    assert_eq!(shown["status"], json!({"replicas": 0, "selector": "app=web"}));
    let mut more = shown.clone();
    more["spec"]["replicas"] = json!(4);
    let written = ask(&mut world, "PUT", &scale, more.clone());
    assert_eq!((written.code, &written.body["spec"]["replicas"]), (200, &json!(4)));
    assert_eq!(told(&ask(&mut world, "PUT", &scale, more)).1, "Conflict");
    let refused = ask(&mut world, "PATCH", &scale, json!({"spec": {"replicas": -1}}));
    let words =
        "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0";
    assert_eq!(told(&refused), (422, "Invalid", words));
    let set = ask(&mut world, "GET", WEB, Value::Null).body;
    assert_eq!((&set["spec"]["replicas"], &set["metadata"]["generation"]), (&json!(4), &json!(2)));
    assert_eq!(ask(&mut world, "GET", &format!("{SETS}/nope/scale"), Value::Null).code, 404);
}

#[test]
fn an_eviction_keeps_to_the_budget() {
    let mut world = world();
    for name in ["a", "b"] {
        let mut pod = pod(name);
        pod["metadata"]["labels"] = json!({"app": "web"});
        ask(&mut world, "POST", PODS, pod);
        let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        ask(&mut world, "PATCH", &format!("{PODS}/{name}/status"), ready);
    }
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({"metadata": {"name": "p"}, "spec": {
        "minAvailable": 2, "selector": {"matchLabels": {"app": "web"}},
    }});
    ask(&mut world, "POST", budgets, budget);
    let eviction = format!("{PODS}/a/eviction");
    let evict = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}});
    let refused = ask(&mut world, "POST", &eviction, evict.clone());
    let words = "Cannot evict pod as it would violate the pod's disruption budget.";
    assert_eq!(told(&refused), (429, "TooManyRequests", words));
    assert_eq!(
        refused.body["details"],
        json!({"causes": [{
            "reason": "DisruptionBudget",
            "message": "The disruption budget p needs 2 healthy pods and has 2 currently",
        }]})
    );
    ask(&mut world, "PATCH", &format!("{budgets}/p"), json!({"spec": {"minAvailable": "50%"}}));
    let dry = ask(&mut world, "POST", &format!("{eviction}?dryRun=All"), evict.clone());
    assert_eq!((dry.code, dry.body["status"].as_str()), (201, Some("Success")));
    assert_eq!(ask(&mut world, "POST", &eviction, evict).code, 201);
    let left = ask(&mut world, "GET", &format!("{PODS}/a"), Value::Null);
    assert!(left.code == 404 || left.body["metadata"]["deletionTimestamp"].is_string(), "{left:?}");
    let other = json!({"metadata": {"name": "b"}});
    let words = "name in URL does not match name in Eviction object";
    assert_eq!(told(&ask(&mut world, "POST", &eviction, other)), (400, "BadRequest", words));
}

#[test]
fn all_of_a_kind_are_deleted_at_once() {
    let mut world = world();
    for name in ["a", "b"] {
        ask(&mut world, "POST", SETS, set(name));
    }
    let gone = ask(&mut world, "DELETE", SETS, Value::Null).body;
    assert_eq!((gone["kind"].as_str(), gone["items"].as_array().unwrap().len()), (Some("StatefulSetList"), 2));
    assert_eq!(ask(&mut world, "GET", SETS, Value::Null).body["items"], json!([]));
}

#[test]
fn a_namespace_ends_once_it_is_let_go_and_nothing_is_made_in_it_meanwhile() {
    let mut world = world();
    let one = "/api/v1/namespaces/shop";
    let made = ask(&mut world, "POST", "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).body;
    assert_eq!(made["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "shop"}));
    let ending = ask(&mut world, "DELETE", one, Value::Null).body;
    assert_eq!(
        (&ending["status"]["phase"], &ending["spec"]),
        (&json!("Terminating"), &json!({"finalizers": ["kubernetes"]}))
    );
    let refused = ask(&mut world, "POST", "/api/v1/namespaces/shop/pods", pod("p"));
    let words =
        "pods \"p\" is forbidden: unable to create new content in namespace shop because it is being terminated";
    assert_eq!(told(&refused), (403, "Forbidden", words));
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "NamespaceTerminating");
    crate::sim::api::delete::finish_namespace(&mut world, "shop");
    assert_eq!(ask(&mut world, "GET", one, Value::Null).code, 404);
}

#[test]
fn an_apply_makes_an_object_and_owns_what_it_says() {
    let mut world = world();
    let apply = format!("{WEB}?fieldManager=phaseline");
    let mut given = set("web");
    (given["apiVersion"], given["kind"]) = ("apps/v1".into(), "StatefulSet".into());
    let without = ask(&mut world, "PATCH", &format!("{WEB}?fieldManager="), given.clone());
    let words = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    assert_eq!(told(&without), (422, "Invalid", words));
    let mut other = given.clone();
    other["metadata"]["uid"] = "x".into();
    let words = "Operation cannot be fulfilled on statefulsets.apps \"web\": uid mismatch: the provided object \
        specified uid x, and no existing object was found";
    assert_eq!(told(&ask(&mut world, "PATCH", &apply, other.clone())), (409, "Conflict", words));
    // A version of what is not there is not minded.
    given["metadata"]["resourceVersion"] = "77".into();
    let made = ask(&mut world, "PATCH", &apply, given.clone());
    assert_eq!((made.code, &made.body["spec"]["replicas"]), (201, &json!(1)));
    let stale = ask(&mut world, "PATCH", &apply, given.clone());
    assert_eq!(told(&stale).1, "Conflict");
    given["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let again = ask(&mut world, "PATCH", &apply, given.clone());
    assert_eq!((again.code, again.body), (200, made.body.clone()));
    assert_eq!(told(&ask(&mut world, "PATCH", &apply, other)).0, 422);
    ask(&mut world, "PATCH", WEB, json!({"spec": {"serviceName": "web", "minReadySeconds": 5}}));
    given["spec"]["minReadySeconds"] = json!(7);
    let refused = ask(&mut world, "PATCH", &apply, given.clone());
    let words = "Apply failed with 1 conflict: conflict with \"curl\" using apps/v1: .spec.minReadySeconds";
    assert_eq!(told(&refused), (409, "Conflict", words));
    let forced = ask(&mut world, "PATCH", &format!("{apply}&force=true"), given.clone());
    assert_eq!((forced.code, &forced.body["spec"]["minReadySeconds"]), (200, &json!(7)));
    given["spec"]["bogus"] = json!(1);
    let words = "failed to create typed patch object (/web; apps/v1, Kind=StatefulSet): .spec.bogus: field not declared in schema";
    assert_eq!(told(&ask(&mut world, "PATCH", &apply, given)), (500, "", words));
}
