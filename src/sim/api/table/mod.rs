//! Tables, as `kubectl get` prints them: the columns of each kind, and a row for each object.
//!
//! Columns and cells are those of `k8s.io/kubernetes/pkg/printers`; ages are told by the cluster's own time.

mod cells;
mod pod;

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::manifest::default::Level;
use crate::sim::resource::Resource;
use cells::{NONE, age, joined, or, since, text};

/// The columns of every kind, as a 1.36.3 server states them.
static COLUMNS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("columns.json")).unwrap_or_default());

/// The columns of a kind.
pub(crate) fn columns(resource: Resource, level: Level) -> Value {
    let mut columns = COLUMNS[resource.plural()].clone();
    if resource == Resource::Revisions && level < Level::V1_36 {
        // The words were still those of `apps/v1beta1`.
        columns[2]["description"] = "revision indicates the revision of the state represented by Data.".into();
    }
    columns
}

/// The row of an object: its cells, and what a client may want to know of it besides.
pub(crate) fn row(resource: Resource, object: &Value, now: Timestamp) -> Value {
    let cells = match resource {
        Resource::Namespaces => json!([name(object), text(&object["status"]["phase"]), age(object, now)]),
        Resource::Pods => return pod::row(object, now),
        Resource::Claims => claim(object, now),
        Resource::Events => event(object, now),
        Resource::StatefulSets => stateful_set(object, now),
        Resource::Revisions => revision(object, now),
        Resource::Leases => json!([name(object), text(&object["spec"]["holderIdentity"]), age(object, now)]),
        Resource::ConfigMaps => {
            json!([name(object), size(&object["data"]) + size(&object["binaryData"]), age(object, now)])
        }
        Resource::Secrets => json!([name(object), text(&object["type"]), size(&object["data"]), age(object, now)]),
        Resource::Services => service(object, now),
        Resource::Budgets => budget(object, now),
    };
    json!({"cells": cells})
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

fn size(map: &Value) -> usize {
    map.as_object().map_or(0, serde_json::Map::len)
}

fn items(list: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn stateful_set(set: &Value, now: Timestamp) -> Value {
    let containers = &set["spec"]["template"]["spec"]["containers"];
    let ready = set["status"]["readyReplicas"].as_i64().unwrap_or_default();
    json!([
        name(set),
        format!("{ready}/{}", set["spec"]["replicas"].as_i64().unwrap_or_default()),
        age(set, now),
        joined(items(containers).map(|it| text(&it["name"]))),
        joined(items(containers).map(|it| text(&it["image"]))),
    ])
}

fn revision(revision: &Value, now: Timestamp) -> Value {
    let owner = items(&revision["metadata"]["ownerReferences"]).find(|owner| owner["controller"] == true);
    let controller = owner.map_or(NONE.to_owned(), |owner| {
        let kind = text(&owner["kind"]).to_lowercase();
        match text(&owner["apiVersion"]).split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{}", text(&owner["name"])),
            None => format!("{kind}/{}", text(&owner["name"])),
        }
    });
    json!([name(revision), controller, revision["revision"].as_i64().unwrap_or_default(), age(revision, now)])
}

fn claim(claim: &Value, now: Timestamp) -> Value {
    let (spec, status) = (&claim["spec"], &claim["status"]);
    let terminating = !claim["metadata"]["deletionTimestamp"].is_null();
    let phase = if terminating { "Terminating" } else { text(&status["phase"]) };
    let volume = text(&spec["volumeName"]);
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        let has = |mode: &&str| items(&status["accessModes"]).any(|it| it == *mode);
        let modes =
            [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
        let modes = modes.into_iter().filter(|(mode, _)| has(mode)).map(|(_, short)| short);
        (or(text(&status["capacity"]["storage"]), "0").to_owned(), joined(modes))
    };
    let class = spec["storageClassName"].as_str();
    let beta = &claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    json!([
        name(claim),
        phase,
        volume,
        capacity,
        modes,
        beta.as_str().or(class).unwrap_or_default(),
        spec["volumeAttributesClassName"].as_str().unwrap_or("<unset>"),
        age(claim, now),
        spec["volumeMode"].as_str().unwrap_or("<unset>"),
    ])
}

fn event(event: &Value, now: Timestamp) -> Value {
    let when = |field: &str| event[field].as_str().map(|_| since(&event[field], now));
    let first = when("firstTimestamp").or_else(|| when("eventTime")).unwrap_or_else(|| since(&Value::Null, now));
    let mut last = when("lastTimestamp").unwrap_or_else(|| first.clone());
    let mut count = event["count"].as_i64().filter(|it| *it != 0).unwrap_or(1);
    if event["series"].is_object() {
        last = since(&event["series"]["lastObservedTime"], now);
        count = event["series"]["count"].as_i64().unwrap_or_default();
    }
    let about = &event["involvedObject"];
    let mut target = text(&about["kind"]).to_lowercase();
    if !text(&about["name"]).is_empty() {
        target = format!("{target}/{}", text(&about["name"]));
    }
    let source = match text(&event["source"]["component"]) {
        "" => [text(&event["reportingComponent"]), text(&event["reportingInstance"])],
        component => [component, text(&event["source"]["host"])],
    };
    let source = source.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ");
    json!([
        last,
        text(&event["type"]),
        text(&event["reason"]),
        target,
        text(&about["fieldPath"]),
        source,
        text(&event["message"]).trim(),
        first,
        count,
        name(event),
    ])
}

fn service(service: &Value, now: Timestamp) -> Value {
    let spec = &service["spec"];
    let kind = or(text(&spec["type"]), "ClusterIP");
    let address = items(&spec["clusterIPs"]).next().unwrap_or(&spec["clusterIP"]);
    let outside = joined(items(&spec["externalIPs"]).map(text));
    let balanced = items(&service["status"]["loadBalancer"]["ingress"]);
    let outside = match kind {
        "ExternalName" => text(&spec["externalName"]).to_owned(),
        "LoadBalancer" => {
            let addresses = balanced.map(|it| or(text(&it["ip"]), text(&it["hostname"])));
            let all = joined(addresses.chain([outside.as_str()]).filter(|it| !it.is_empty()));
            or(&all, "<pending>").to_owned()
        }
        _ => or(&outside, NONE).to_owned(),
    };
    let ports: Vec<String> = items(&spec["ports"])
        .map(|port| {
            let protocol = or(text(&port["protocol"]), "TCP");
            match port["nodePort"].as_i64() {
                Some(node) if node > 0 => format!("{}:{node}/{protocol}", port["port"]),
                _ => format!("{}/{protocol}", port["port"]),
            }
        })
        .collect();
    let selector = spec["selector"].as_object().into_iter().flatten();
    let selector: Vec<String> = selector.map(|(key, value)| format!("{key}={}", text(value))).collect();
    json!([
        name(service),
        kind,
        or(text(address), NONE),
        outside,
        or(&ports.join(","), NONE),
        age(service, now),
        or(&selector.join(","), NONE),
    ])
}

fn budget(budget: &Value, now: Timestamp) -> Value {
    let bound = |name: &str| match &budget["spec"][name] {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => "N/A".to_owned(),
    };
    json!([
        name(budget),
        bound("minAvailable"),
        bound("maxUnavailable"),
        budget["status"]["disruptionsAllowed"].as_i64().unwrap_or_default(),
        age(budget, now),
    ])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::{columns, row};
    use crate::manifest::default::Level;
    use crate::sim::resource::Resource;

    fn now() -> Timestamp {
        "2026-11-21T04:12:08Z".parse().unwrap()
    }

    #[test]
    fn every_kind_has_a_cell_for_each_column() {
        for resource in Resource::ALL {
            let columns = columns(resource, Level::V1_36);
            let cells = row(resource, &json!({"metadata": {}}), now());
            let count = columns.as_array().map(Vec::len);
            assert!(count.is_some_and(|it| it >= 3), "{resource:?}");
            assert_eq!(count, cells["cells"].as_array().map(Vec::len), "{resource:?}");
        }
    }

    /// The rows are those of a 1.36.3 server.
    #[test]
    fn rows_read_as_a_real_server_prints_them() {
        let metadata = |name: &str| json!({"name": name, "creationTimestamp": "2026-11-21T04:11:37Z"});
        for (resource, object, cells) in [
            (
                Resource::StatefulSets,
                json!({
                    "metadata": metadata("web"), "status": {"readyReplicas": 3},
                    "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}}},
                }),
                json!(["web", "3/3", "31s", "c", "nginx:1.27"]),
            ),
            (
                Resource::Revisions,
                json!({
                    "metadata": {
                        "name": "web-5fdff567fd", "creationTimestamp": "2026-11-21T04:11:37Z",
                        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true}],
                    },
                    "revision": 1,
                }),
                json!(["web-5fdff567fd", "statefulset.apps/web", 1, "31s"]),
            ),
            (
                Resource::Claims,
                json!({
                    "metadata": metadata("www-web-0"),
                    "spec": {"volumeName": "pv-225", "storageClassName": "standard", "volumeMode": "Filesystem"},
                    "status": {
                        "phase": "Bound", "capacity": {"storage": "100Gi"},
                        "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                    },
                }),
                json!(["www-web-0", "Bound", "pv-225", "100Gi", "RWO,RWX", "standard", "<unset>", "31s", "Filesystem"]),
            ),
            (
                Resource::Events,
                json!({
                    "metadata": metadata("web-0.1"), "type": "Warning", "reason": "FailedScheduling",
                    "involvedObject": {"kind": "Pod", "name": "web-0"}, "message": "no\n",
                    "eventTime": "2026-11-21T04:11:37.787365Z", "firstTimestamp": null, "lastTimestamp": null,
                    "source": {}, "reportingComponent": "default-scheduler", "reportingInstance": "here",
                }),
                json!([
                    "30s",
                    "Warning",
                    "FailedScheduling",
                    "pod/web-0",
                    "",
                    "default-scheduler, here",
                    "no",
                    "30s",
                    1,
                    "web-0.1"
                ]),
            ),
            (
                Resource::Services,
                json!({
                    "metadata": metadata("web"),
                    "spec": {
                        "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"app": "web"},
                        "ports": [{"port": 80, "protocol": "TCP"}],
                    },
                }),
                json!(["web", "ClusterIP", "None", "<none>", "80/TCP", "31s", "app=web"]),
            ),
            (Resource::ConfigMaps, json!({"metadata": metadata("c"), "data": {"a": "b"}}), json!(["c", 1, "31s"])),
            (
                Resource::Budgets,
                json!({
                    "metadata": metadata("b"), "spec": {"minAvailable": 2}, "status": {"disruptionsAllowed": 1},
                }),
                json!(["b", "2", "N/A", 1, "31s"]),
            ),
        ] {
            assert_eq!(row(resource, &object, now())["cells"], cells);
        }
    }
}
