//! Requests by chance, of every kind that the embedded cluster serves.

use serde_json::{Value, json};

const MANAGERS: [&str; 3] = ["one", "two", "kubectl"];

/// A step of a request with a body.
fn step(head: &str, body: Value) -> Value {
    Value::Object([(head.to_owned(), body)].into_iter().collect())
}

fn one_of<'a>(chance: &mut fastrand::Rng, texts: &[&'a str]) -> &'a str {
    texts[chance.usize(..texts.len())]
}

/// Whether it comes to one of so many.
fn is_one_in(chance: &mut fastrand::Rng, count: u8) -> bool {
    chance.u8(..count) == 0
}

/// A new set.
pub(super) fn create(chance: &mut fastrand::Rng, name: &str) -> Value {
    let object = if is_one_in(chance, 4) { "db" } else { "web" };
    let policy = if chance.bool() { "OrderedReady" } else { "Parallel" };
    let (replicas, image) = (chance.u8(..4), image(chance));
    let strategy = match chance.u8(..5) {
        0 => json!({"type": "OnDelete"}),
        1 => json!({"type": "RollingUpdate"}),
        2 => json!({"rollingUpdate": {"partition": chance.u8(..4)}}),
        _ => json!(null),
    };
    let from = format!("{object} name={name} replicas={replicas} policy={policy} image={image}");
    step("POST sts", json!({"from": from, "spec": {"updateStrategy": strategy}}))
}

fn image(chance: &mut fastrand::Rng) -> &'static str {
    one_of(chance, &["app:1", "app:1", "app:2", "app:2", "app:3", "app:never-ready", "app:pull", "app:crash"])
}

/// A request about a set, its pods, or what else it has.
pub(super) fn of_sets(chance: &mut fastrand::Rng) -> Value {
    // `b` is often not there: what is answered then is compared too.
    let set = if is_one_in(chance, 6) { "b" } else { "a" };
    let sts = format!("sts/{set}");
    let name = format!("{set}-{}", chance.u8(..3));
    let pod = format!("pods/{name}");
    let replicas = json!({"spec": {"replicas": chance.u8(..4)}});
    let partition =
        |chance: &mut fastrand::Rng| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": chance.u8(..4)}});
    match chance.u8(..35) {
        0..=2 => step(&format!("IMAGE {sts}"), image(chance).into()),
        3 | 4 => step(&format!("MERGE {sts}"), replicas),
        5 => step(&format!("MERGE {sts}/scale"), replicas),
        6 => step(&format!("MERGE {sts}"), json!({"spec": {"updateStrategy": partition(chance)}})),
        7 => step(
            &format!("MERGE {sts}"),
            json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
        ),
        8 | 9 => Value::String(format!("DELETE {pod}")),
        10 => step(&format!("MERGE {pod}"), json!({"metadata": {"annotations": {"fault.phaseline.dev": "unready"}}})),
        11 => step(&format!("MERGE {pod}/status"), json!({"status": {"phase": "Failed"}})),
        12 => create(chance, set),
        13 => {
            let policy = one_of(chance, &["Background", "Orphan", "Foreground"]);
            step(&format!("DELETE {sts}"), json!({"propagationPolicy": policy}))
        }
        14 => {
            let label = if chance.bool() { json!(set) } else { json!("somebody") };
            step(&format!("MERGE {pod}"), json!({"metadata": {"labels": {"app": label}}}))
        }
        15..=18 => applied(chance, set),
        19 => strategic(chance, set),
        20 => {
            let mut eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
            if is_one_in(chance, 3) {
                eviction["deleteOptions"] = options(chance, &pod);
            }
            step(&format!("POST {pod}/eviction"), eviction)
        }
        21 => {
            let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": set}});
            let mut scale = scale;
            scale["spec"] = replicas["spec"].clone();
            step(&format!("PUT {sts}/scale?fieldManager={}", one_of(chance, &MANAGERS)), scale)
        }
        22 => Value::String(format!("GET {sts}/scale")),
        23 => step(&format!("DELETE pods?labelSelector=app={set}"), options(chance, &pod)),
        24 | 25 => step(&format!("DELETE {pod}"), options(chance, &pod)),
        26 => {
            let body = json!({"spec": {"template": {"metadata": {"annotations": {"try": "x"}}}}});
            step(&format!("MERGE {sts}?dryRun=All"), body)
        }
        27 => step(&format!("PUT {sts}"), {
            let from = format!("web name={set} replicas={} image={}", chance.u8(..4), image(chance));
            let version = one_of(chance, &["${sts/a /metadata/resourceVersion or 1}", "${was}", ""]);
            json!({"from": from, "metadata": {"resourceVersion": version}})
        }),
        // It stands in the way; one that the set would take over is a race between its controller and the kubelet.
        28 => step("POST pods", json!({"from": format!("pod name={name} app=other")})),
        29 => {
            let held = if chance.bool() { json!(["a.io/held"]) } else { json!(null) };
            let path = one_of(chance, &[&sts, &pod]).to_owned();
            step(&format!("MERGE {path}"), json!({"metadata": {"finalizers": held}}))
        }
        30 => step(&format!("DELETE pvcs/data-{name}"), options(chance, &format!("pvcs/data-{name}"))),
        31 => step(&format!("DELETE {sts}"), options(chance, &sts)),
        32 => step(&format!("JSON {sts}"), {
            json!([
                {"op": "test", "path": "/spec/replicas", "value": chance.u8(..4)},
                {"op": "replace", "path": "/spec/replicas", "value": chance.u8(..4)},
            ])
        }),
        33 => step("POST pdbs", {
            let spec = json!({"minAvailable": chance.u8(1..4), "selector": {"matchLabels": {"app": set}}});
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "x"}, "spec": spec})
        }),
        _ => Value::String("WATCH crs?resourceVersion=${at}&timeoutSeconds=1".to_owned()),
    }
}

/// What an applier wants of a set: all of it, or a few fields.
fn applied(chance: &mut fastrand::Rng, set: &str) -> Value {
    let mut query = format!("fieldManager={}", one_of(chance, &MANAGERS));
    if is_one_in(chance, 2) {
        query.push_str(one_of(chance, &["&force=true", "&force=true", "&force=false"]));
    }
    if is_one_in(chance, 8) {
        query.push_str("&dryRun=All");
    }
    let mut body = if set == "b" || is_one_in(chance, 3) {
        json!({"from": format!("web name={set} replicas={} image={}", chance.u8(..4), image(chance))})
    } else {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": set}, "spec": {}})
    };
    for _ in 0..chance.u8(..3) {
        match chance.u8(..6) {
            0 => body["spec"]["replicas"] = chance.u8(..4).into(),
            1 => body["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": chance.u8(..4)}}),
            2 => body["spec"]["minReadySeconds"] = chance.u8(..2).into(),
            3 => body["metadata"]["labels"] = json!({"team": one_of(chance, &["x", "y"])}),
            4 => {
                let container = json!({"name": "app", "env": [{"name": "A", "value": one_of(chance, &["1", "2"])}]});
                body["spec"]["template"] = json!({"spec": {"containers": [container]}});
            }
            _ => body["spec"]["template"] = json!({"metadata": {"annotations": {"a": one_of(chance, &["1", "2"])}}}),
        }
    }
    step(&format!("APPLY sts/{set}?{query}"), body)
}

/// A patch that merges the lists of a set by their keys.
fn strategic(chance: &mut fastrand::Rng, set: &str) -> Value {
    let named = |container: Value| json!({"spec": {"template": {"spec": {"containers": [container]}}}});
    let patch = match chance.u8(..6) {
        0 => named(json!({"name": "app", "image": image(chance)})),
        1 => named(json!({"name": "side", "image": "app:1"})),
        2 => named(json!({"name": "side", "$patch": "delete"})),
        3 => named(json!({"name": "app", "env": [{"name": one_of(chance, &["A", "B"]), "value": "3"}]})),
        4 => json!({"spec": {"updateStrategy": {"$retainKeys": ["type"], "type": "OnDelete"}}}),
        _ => json!({"metadata": {"labels": {"team": "z"}, "$deleteFromPrimitiveList/finalizers": ["a.io/held"]}}),
    };
    step(&format!("STRATEGIC sts/{set}?fieldManager={}", one_of(chance, &MANAGERS)), patch)
}

/// On what terms something is deleted.
fn options(chance: &mut fastrand::Rng, path: &str) -> Value {
    match chance.u8(..9) {
        0 => json!({"preconditions": {"uid": format!("${{{path} /metadata/uid or none}}")}}),
        1 => json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}),
        2 => json!({"preconditions": {"resourceVersion": format!("${{{path} /metadata/resourceVersion or 1}}")}}),
        3 => json!({"preconditions": {"resourceVersion": "1"}}),
        4 => json!({"dryRun": ["All"]}),
        5 => json!({"gracePeriodSeconds": 0}),
        6 => json!({"gracePeriodSeconds": chance.u8(1..3)}),
        7 => json!({"propagationPolicy": one_of(chance, &["Background", "Orphan", "Foreground"])}),
        _ => json!(null),
    }
}

/// A request about things that no controller touches, or of which it only keeps account.
pub(super) fn of_things(chance: &mut fastrand::Rng) -> Value {
    // Every namespace has a ConfigMap of its own, so these are not listed.
    const PLAIN: [&str; 3] = ["secrets", "leases", "crs"];
    let kind = one_of(chance, &PLAIN);
    let name = one_of(chance, &["x", "y", "z"]);
    let path = match chance.u8(..7) {
        0 => "sts/a".to_owned(),
        1 => "pods/p".to_owned(),
        2 => format!("cms/{name}"),
        _ => format!("{kind}/{name}"),
    };
    let dry = if is_one_in(chance, 8) { "?dryRun=All" } else { "" };
    match chance.u8(..24) {
        0..=4 => step(&format!("POST {kind}{dry}"), thing(chance, kind, name)),
        5 => step(&format!("POST cms{dry}"), thing(chance, "cms", name)),
        6 | 7 => {
            let mut object = thing(chance, kind, name);
            match chance.u8(..4) {
                0 => {
                    object["metadata"]["resourceVersion"] =
                        format!("${{{kind}/{name} /metadata/resourceVersion or 1}}").into()
                }
                1 => object["metadata"]["resourceVersion"] = "${was}".into(),
                2 => object["metadata"]["uid"] = format!("${{{kind}/{name} /metadata/uid or none}}").into(),
                _ => {}
            }
            step(&format!("PUT {kind}/{name}{dry}"), object)
        }
        8 => step(&format!("MERGE {path}{dry}"), metadata(chance)),
        // Lists of other kinds than sets are not merged here.
        9 => {
            step(&format!("STRATEGIC {path}{dry}"), json!({"metadata": {"labels": {"tier": "c"}, "annotations": null}}))
        }
        10 => step(&format!("JSON {path}{dry}"), json_patch(chance)),
        11 | 12 => step(&format!("DELETE {path}"), options(chance, &path)),
        13 => {
            let selector = one_of(chance, &["", "?labelSelector=tier=a", "?fieldSelector=metadata.name=x"]);
            step(&format!("DELETE {kind}{selector}"), options(chance, &path))
        }
        14 => Value::String(format!("GET {path}")),
        15 => Value::String(format!("GET {kind}?{}", list(chance))),
        16 => Value::String(format!("META {kind}?{}", list(chance))),
        17 => Value::String(format!("GET {kind}?limit=1&continue=${{last /metadata/continue or none}}")),
        18 => Value::String(format!("WATCH {kind}?resourceVersion=${{at}}&timeoutSeconds=1")),
        19 => {
            let selector = one_of(chance, &["labelSelector=tier=a", "fieldSelector=metadata.name=x"]);
            Value::String(format!("WATCH {kind}?{selector}&resourceVersion=${{at}}&timeoutSeconds=1"))
        }
        20 => applied(chance, "a"),
        21 => step("MERGE sts/a/scale", json!({"spec": {"replicas": 0}})),
        22 => {
            let condition = json!({"type": "Odd", "status": one_of(chance, &["True", "False"])});
            let head = format!("MERGE sts/a/status?fieldManager={}", one_of(chance, &MANAGERS));
            step(&head, json!({"status": {"conditions": [condition]}, "spec": {"replicas": 3}}))
        }
        _ => step("keep", json!({"at": format!("${{{kind} /metadata/resourceVersion}}")})),
    }
}

/// A new thing of a kind.
fn thing(chance: &mut fastrand::Rng, kind: &str, name: &str) -> Value {
    let tier = one_of(chance, &["a", "b"]);
    let mut metadata = json!({"name": name, "labels": {"tier": tier}});
    if is_one_in(chance, 6) {
        metadata["finalizers"] = json!(["a.io/held"]);
    }
    if is_one_in(chance, 8) {
        let uid = "${sts/a /metadata/uid or 00000000-0000-0000-0000-000000000000}";
        metadata["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "a", "uid": uid}]);
    }
    let seconds = chance.u8(1..4);
    match kind {
        "cms" => json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
            "data": {"key": tier}, "immutable": is_one_in(chance, 6),
        }),
        "secrets" => json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "stringData": {"key": tier}, "data": {"other": "dGV4dA=="},
        }),
        "leases" => json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata,
            "spec": {"holderIdentity": tier, "leaseDurationSeconds": seconds},
        }),
        _ => json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata,
            "revision": seconds, "data": {"of": tier},
        }),
    }
}

/// A change of what every object has.
fn metadata(chance: &mut fastrand::Rng) -> Value {
    match chance.u8(..6) {
        0 => json!({"metadata": {"labels": {"tier": one_of(chance, &["a", "b"])}}}),
        1 => json!({"metadata": {"labels": null}}),
        2 => json!({"metadata": {"annotations": {"note": "<&>", "gone": null}}}),
        3 => json!({"metadata": {"finalizers": ["a.io/held"]}}),
        4 => json!({"metadata": {"finalizers": null}}),
        _ => json!({"metadata": {"resourceVersion": one_of(chance, &["1", "${was}"])}}),
    }
}

fn json_patch(chance: &mut fastrand::Rng) -> Value {
    let tier = one_of(chance, &["a", "b"]);
    match chance.u8(..5) {
        0 => json!([{"op": "test", "path": "/metadata/labels/tier", "value": tier},
            {"op": "replace", "path": "/metadata/labels/tier", "value": "c"}]),
        1 => json!([{"op": "add", "path": "/metadata/annotations", "value": {"by": "json"}}]),
        2 => json!([{"op": "remove", "path": "/metadata/labels/tier"}]),
        3 => json!([{"op": "copy", "from": "/metadata/labels/tier", "path": "/metadata/labels/copied"}]),
        _ => json!([{"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"}]),
    }
}

/// What part of a list is asked for.
fn list(chance: &mut fastrand::Rng) -> &'static str {
    one_of(
        chance,
        &[
            "limit=1",
            "limit=2",
            "resourceVersion=0",
            "labelSelector=tier=a",
            "labelSelector=tier!=a",
            "labelSelector=tier in (a,b),!gone",
            "fieldSelector=metadata.name=x",
            "fieldSelector=metadata.name!=x",
            "limit=1&labelSelector=tier=a",
            "resourceVersion=${at}&resourceVersionMatch=Exact",
            "resourceVersion=${at}&resourceVersionMatch=NotOlderThan",
            "limit=1&resourceVersion=${at}",
        ],
    )
}
