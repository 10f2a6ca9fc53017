//! What a manager applied to an object, as far as `metadata.managedFields` tells.

use serde_json::{Map, Value, json};

/// The fields of the object's spec that go if `manager` applies a manifest without them: those that it applied before
/// and that nobody else holds.
///
/// Has the shape of what was applied, as [`super::default::applied()`] takes it: which fields are there, and by what the
/// items of lists are told apart. Other values are not in `managedFields`.
pub fn spec(object: &Value, manager: &str) -> Value {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let is_ours = |entry: &&Value| {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        text("manager") == manager && text("operation") == "Apply" && text("subresource").is_empty()
    };
    let fields = |entry: &'_ Value| entry.pointer("/fieldsV1/f:spec").cloned();
    let ours = entries.iter().find(is_ours).and_then(fields).unwrap_or(Value::Null);
    let others: Vec<Value> = entries.iter().filter(|entry| !is_ours(entry)).filter_map(fields).collect();
    shape(&ours, &others.iter().collect::<Vec<_>>())
}

/// The value that a set of fields is of.
fn shape(ours: &Value, others: &[&Value]) -> Value {
    let (mut fields, mut items) = (Map::new(), Vec::new());
    for (step, below) in ours.as_object().into_iter().flatten() {
        let theirs: Vec<&Value> = others.iter().filter_map(|other| other.get(step)).collect();
        let leaf = below.as_object().is_none_or(Map::is_empty);
        if leaf && !theirs.is_empty() {
            continue;
        }
        if let Some(name) = step.strip_prefix("f:") {
            fields.insert(name.to_owned(), shape(below, &theirs));
        } else if let Some(Ok(Value::Object(key))) = step.strip_prefix("k:").map(serde_json::from_str) {
            let Value::Object(mut item) = shape(below, &theirs) else { continue };
            item.extend(key);
            items.push(Value::Object(item));
        }
    }
    if items.is_empty() { Value::Object(fields) } else { json!(items) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::spec;
    use crate::manifest::default::{Level, applied};

    fn entry(manager: &str, operation: &str, spec: Value) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsV1": {"f:spec": spec}})
    }

    fn of(entries: &[Value]) -> Value {
        spec(&json!({"metadata": {"managedFields": entries}}), "us")
    }

    #[test]
    fn what_we_applied_has_its_shape_and_its_keys() {
        let ours = json!({"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
            ".": {}, "f:image": {}, "f:name": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
        }}}}});
        let ports = json!([{"containerPort": 80, "protocol": "TCP"}]);
        assert_eq!(
            of(&[entry("us", "Apply", ours)]),
            json!({"replicas": {}, "template": {"spec": {"containers": [{"name": "web", "image": {}, "ports": ports}]}}})
        );
    }

    #[test]
    fn what_others_hold_too_does_not_go_with_us() {
        let ours = entry("us", "Apply", json!({"f:replicas": {}, "f:serviceName": {}}));
        let scaler = entry("scaler", "Update", json!({"f:replicas": {}}));
        assert_eq!(of(&[ours.clone(), scaler]), json!({"serviceName": {}}));
        // An update by our name is no apply, nor is what somebody else applied.
        let update = entry("us", "Update", json!({"f:serviceName": {}}));
        assert_eq!(of(std::slice::from_ref(&update)), json!({}));
        assert_eq!(of(&[entry("them", "Apply", json!({"f:replicas": {}}))]), json!({}));
        assert_eq!(of(&[ours, update]), json!({"replicas": {}}));
        assert_eq!(of(&[]), json!({}));
        assert_eq!(spec(&Value::Null, "us"), json!({}));
    }

    #[test]
    fn odd_fields_are_passed_over() {
        let odd = json!({"k:{": {}, "k:3": {}, "v:\"a\"": {}, "i:0": {}, "x": 3, "f:a": 3, "f:b": null});
        assert_eq!(of(&[entry("us", "Apply", odd)]), json!({"a": {}, "b": {}}));
    }

    #[test]
    fn an_apply_over_it_takes_away_what_is_no_longer_named() {
        let ours = json!({"f:template": {"f:spec": {
            "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}, "f:tty": {}},
                             "k:{\"name\":\"b\"}": {".": {}, "f:image": {}, "f:name": {}}},
        }}});
        let live = json!({"template": {"spec": {"containers": [
            {"name": "a", "image": "nginx", "imagePullPolicy": "Always", "tty": true},
            {"name": "b", "image": "b"}, {"name": "injected", "image": "c"},
        ]}}});
        let now = json!({"template": {"spec": {"containers": [{"name": "a", "image": "nginx:1.2"}]}}});
        let spec = applied(&live, &of(&[entry("us", "Apply", ours)]), &now, Level::V1_36);
        let containers = spec["template"]["spec"]["containers"].as_array().unwrap();
        let names: Vec<_> = containers.iter().map(|container| container["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["injected", "a"]);
        assert_eq!((&containers[1]["imagePullPolicy"], containers[1].get("tty")), (&json!("Always"), None));
    }
}
