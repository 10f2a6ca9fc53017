//! Namespaces.

use serde_json::{Map, Value, json};

use crate::sim::compat::Compat;

/// The label that every namespace bears.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn shape(object: &mut Map<String, Value>, _: Compat) {
    let name = object["metadata"]["name"].clone();
    if name.as_str().is_some_and(|name| !name.is_empty()) {
        object["metadata"]["labels"][NAME_LABEL] = name;
    }
    for field in ["spec", "status"] {
        if !object.get(field).is_some_and(Value::is_object) {
            object.insert(field.to_owned(), json!({}));
        }
    }
}

pub(super) fn prepare(object: &mut Value) {
    object["status"] = json!({"phase": "Active"});
    object["spec"] = json!({"finalizers": ["kubernetes"]});
}
