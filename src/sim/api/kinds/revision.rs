//! ControllerRevisions: data that never changes, and a number that may.

use serde_json::{Map, Value, json};

use crate::manifest::shown::Shown;
use crate::sim::compat::Compat;
use crate::sim::status::Cause;

pub(super) fn shape(object: &mut Map<String, Value>, _: Compat) {
    object.entry("revision").or_insert_with(|| json!(0));
    if object.get("data").is_none_or(Value::is_null) {
        object.remove("data");
    }
    object.retain(|field, _| ["apiVersion", "kind", "metadata", "data", "revision"].contains(&field.as_str()));
}

pub(super) fn check(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(number) = object["revision"].as_i64().filter(|number| *number < 0) {
        causes.push(Cause::invalid("revision", &number.into(), "must be greater than or equal to 0"));
    }
    match object.get("data") {
        None => causes.push(Cause::required("data", "data is mandatory")),
        Some(Value::Object(_)) => {}
        Some(_) => causes.push(Cause::required("data", "data must be a valid JSON object")),
    }
    causes
}

pub(super) fn check_change(old: &Value, new: &Value, compat: Compat) -> Vec<Cause> {
    let mut causes = check(new);
    if old.get("data") != new.get("data") {
        let data = new.get("data").unwrap_or(&Value::Null);
        causes.push(Cause::shown("data", Shown::raw(data).at(compat.level()), "field is immutable"));
    }
    causes
}
