//! PATCH: a change stated as a merge patch (RFC 7386) or a JSON patch (RFC 6902).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Terms;
use super::route::Sub;
use super::terms::Unknown;
use super::update::{Owned, change};
use super::{decode, json_patch, strategic};
use crate::sim::resource::Resource;
use crate::sim::status::{Cause, Status};
use crate::sim::store::Key;
use crate::sim::world::World;

/// A change of an object, stated on its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Patch {
    /// What is laid over the object; null takes away.
    Merge(Value),
    /// Steps.
    Json(Vec<Value>),
    /// What is laid over the object as its schema says; checked.
    Strategic(Map<String, Value>),
}

impl Patch {
    /// The object with the change made.
    pub(super) fn apply(&self, object: &mut Value, resource: Resource) -> Result<(), Status> {
        match self {
            Self::Merge(patch) => merge(object, patch),
            Self::Strategic(patch) => strategic::merge(object, patch, strategic::schema(resource)),
            Self::Json(steps) => {
                json_patch::apply(object, steps).map_err(|_| {
                    let words = "the server rejected our request due to an error in our request";
                    Status { details: Value::Object(Map::new()), ..Status::new(422, "Invalid", words) }
                })?;
            }
        }
        Ok(())
    }
}

/// Changes an object, or its status; as it is stored then, or as it would be. Fields that are not known are told.
///
/// With a resource version in the patch only that version is changed.
///
/// # Errors
/// As the server refuses it.
pub(super) fn patch(
    world: &mut World,
    key: &Key,
    sub: Sub,
    patch: &Patch,
    terms: &Terms,
    remarks: &mut Vec<String>,
) -> Result<Arc<Value>, Status> {
    let old = world.store.get(key).cloned().ok_or_else(|| Status::not_found(key.resource, &key.name))?;
    let mut new = Value::clone(&old);
    patch.apply(&mut new, key.resource)?;
    let level = world.compat.level();
    let unfit = |why: &str, new: &Value| {
        let shown = Value::from(new.to_string());
        let cause = Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {shown}: {why}"),
            field: "patch".into(),
        };
        Status::invalid_kind("", "", "", &[cause])
    };
    let same = |field: &str, own: &str| new.get(field).is_some_and(|it| it == own);
    if !same("kind", key.resource.kind()) || !same("apiVersion", key.resource.api_version()) {
        let text = |field: &str| new.get(field).and_then(Value::as_str).unwrap_or_default();
        let (kind, version) = (text("kind"), text("apiVersion"));
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        return Err(unfit(&format!("no kind {kind:?} is registered for version {version:?} {scheme}"), &new));
    }
    decode::check(key.resource, &new, level).map_err(|why| unfit(&why, &new))?;
    if terms.unknown != Unknown::Ignore {
        *remarks = decode::unknown(key.resource, &new, level);
    }
    if terms.unknown == Unknown::Strict && !remarks.is_empty() {
        // They are the refusal, not told beside it.
        let remarks = std::mem::take(remarks);
        return Err(unfit(&format!("strict decoding error: {}", remarks.join(", ")), &new));
    }
    change(world, key, &old, sub, new, terms, Owned::ByWriter)
}

/// Lays a merge patch over a value.
pub(super) fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(object) = value.as_object_mut() else { return };
    for (name, part) in patch {
        if part.is_null() {
            object.remove(name);
        } else {
            merge(object.entry(name.as_str()).or_insert(Value::Null), part);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;

    /// The cases of the appendix of RFC 7386.
    #[test]
    fn a_merge_patch_is_laid_over_as_its_standard_says() {
        for (before, patch, after) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a":"b"}), json!(["c"]), json!(["c"])),
            (json!({"a":"foo"}), json!(null), json!(null)),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ] {
            let mut value = before.clone();
            merge(&mut value, &patch);
            assert_eq!(value, after, "{before} {patch}");
        }
    }
}
