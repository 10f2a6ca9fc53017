//! Strategic merge patches: what `kubectl` sends for `set image`, `edit`, `patch`, `rollout restart` and `undo`.
//!
//! Lists are merged as the schema of the object says, by the first of the keys that a server-side apply goes by. For
//! kinds without a schema here a patch with a list of objects is refused: how it is to be merged is not known.
//!
//! Mirrors `strategicpatch` of `k8s.io/apimachinery`.

use serde_json::{Map, Value};

use crate::manifest::default::{Kind, Merge, Object, STATEFUL_SET};
use crate::sim::resource::Resource;

/// What stands before the name of a list whose order is stated.
const ORDER: &str = "$setElementOrder/";
/// What stands before the name of a list of texts from which some go.
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// A patch that needs a schema that is not here, or a directive that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// A schema, where there is one.
pub(super) type Schema = Option<&'static Object>;

/// The schema of a kind, where there is one.
pub(super) fn schema(resource: Resource) -> Schema {
    (resource == Resource::StatefulSets).then_some(&STATEFUL_SET)
}

/// How a list is merged.
enum List {
    /// Item by item, by the field of that name.
    By(&'static str, &'static Object),
    /// Texts that are there once.
    Set,
    /// As one value.
    Whole,
}

/// Whether the patch can be merged with what is known of the object.
pub(super) fn check(patch: &Map<String, Value>, schema: Schema) -> Result<(), TooMuch> {
    match directive(patch) {
        // What is replaced as a whole holds no directives, and its lists are taken as they are.
        Some("replace") => return Ok(()),
        None | Some("merge" | "delete") => {}
        Some(_) => return Err(TooMuch),
    }
    patch.iter().try_for_each(|(name, part)| match part {
        _ if name == "$patch" => Ok(()),
        Value::Array(_) if name == "$retainKeys" => Ok(()),
        Value::Array(_) if name.starts_with(ORDER) || name.starts_with(DELETE_FROM) => {
            schema.map(|_| ()).ok_or(TooMuch)
        }
        _ if name.starts_with('$') => Err(TooMuch),
        Value::Object(part) => check(part, below(schema, name)),
        Value::Array(items) => match list(schema, name) {
            Some(List::By(_, object)) => {
                items.iter().filter_map(Value::as_object).try_for_each(|item| check(item, Some(object)))
            }
            Some(_) => Ok(()),
            None if name == "finalizers" || items.iter().any(|it| !it.is_string()) => Err(TooMuch),
            None => Ok(()),
        },
        _ => Ok(()),
    })
}

/// Lays the patch, which has been checked, over a value.
pub(super) fn merge(value: &mut Value, patch: &Map<String, Value>, schema: Schema) {
    let parts = || patch.iter().filter(|(name, _)| !name.starts_with('$'));
    match directive(patch) {
        Some("replace") => {
            *value = Value::Object(parts().map(|(name, part)| (name.clone(), part.clone())).collect());
            return;
        }
        Some("delete") => {
            *value = Value::Object(Map::new());
            return;
        }
        _ => {}
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(object) = value.as_object_mut() else { return };
    if let Some(retained) = patch.get("$retainKeys").and_then(Value::as_array) {
        object.retain(|name, _| retained.iter().any(|it| it == name));
    }
    for (name, gone) in patch.iter().filter_map(|(name, gone)| Some((name.strip_prefix(DELETE_FROM)?, gone))) {
        if let (Some(Value::Array(items)), Some(gone)) = (object.get_mut(name), gone.as_array()) {
            items.retain(|item| !gone.contains(item));
        }
    }
    for (name, part) in parts() {
        match part {
            Value::Null => drop(object.remove(name)),
            Value::Object(part) if directive(part) == Some("delete") => drop(object.remove(name)),
            Value::Object(part) => merge(object.entry(name.as_str()).or_insert(Value::Null), part, below(schema, name)),
            Value::Array(items) => {
                let order = patch.get(&format!("{ORDER}{name}")).and_then(Value::as_array).unwrap_or(items);
                let live = match object.remove(name) {
                    Some(Value::Array(live)) => live,
                    _ => Vec::new(),
                };
                let merged = match list(schema, name) {
                    Some(List::By(key, item)) => merged(live, items, order, key, item),
                    Some(List::Set) => {
                        let more = items.iter().filter(|item| !live.contains(item)).cloned().collect::<Vec<_>>();
                        live.into_iter().chain(more).collect()
                    }
                    Some(List::Whole) | None => items.clone(),
                };
                object.insert(name.clone(), Value::Array(merged));
            }
            other => drop(object.insert(name.clone(), other.clone())),
        }
    }
    // An order may be stated for a list of which nothing changes.
    for (name, order) in patch.iter().filter_map(|(name, order)| Some((name.strip_prefix(ORDER)?, order))) {
        let (Some(List::By(key, _)), Some(order), false) =
            (list(schema, name), order.as_array(), patch.contains_key(name))
        else {
            continue;
        };
        if let Some(Value::Array(items)) = object.get_mut(name) {
            let live = std::mem::take(items);
            *items = ordered(live.clone(), order, &live, key);
        }
    }
}

/// The items of a list with those of the patch merged into them.
fn merged(
    live: Vec<Value>,
    items: &[Value],
    order: &[Value],
    key: &'static str,
    object: &'static Object,
) -> Vec<Value> {
    let of = |item: &Value| item.as_object().and_then(directive).map(str::to_owned);
    if items.iter().any(|item| of(item).as_deref() == Some("replace")) {
        return items.iter().filter(|item| of(item).is_none()).cloned().collect();
    }
    let mut now = live.clone();
    for item in items {
        let Some(part) = item.as_object() else { continue };
        let same = |other: &Value| other.get(key) == item.get(key);
        if directive(part) == Some("delete") {
            now.retain(|other| !same(other));
        } else if let Some(found) = now.iter_mut().find(|other| same(other)) {
            merge(found, part, Some(object));
        } else {
            let mut new = Value::Null;
            merge(&mut new, part, Some(object));
            now.push(new);
        }
    }
    ordered(now, order, &live, key)
}

/// The items in order: those that the order names as it names them, the others where the server had them.
fn ordered(items: Vec<Value>, order: &[Value], live: &[Value], key: &str) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|other| other.get(key) == item.get(key));
    let (mut named, others): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    let mut out = Vec::new();
    while let Some(item) = match (named.peek(), others.peek()) {
        (Some(name), Some(other)) => match (place(live, other), place(live, name)) {
            (Some(left), Some(right)) if left < right => others.next(),
            _ => named.next(),
        },
        (Some(_), None) => named.next(),
        (None, _) => others.next(),
    } {
        out.push(item);
    }
    out
}

fn directive(patch: &Map<String, Value>) -> Option<&str> {
    patch.get("$patch").and_then(Value::as_str)
}

/// The schema of what a field holds.
fn below(schema: Schema, name: &str) -> Schema {
    match schema?.field(name, None)?.kind {
        Kind::Object(object) => Some(object),
        _ => None,
    }
}

/// How the list in a field is merged; none where that is not known.
fn list(schema: Schema, name: &str) -> Option<List> {
    let field = schema?.field(name, None)?;
    Some(match (field.merge, field.kind) {
        (Merge::Keyed([key, ..]), Kind::Objects(object)) => List::By(key.name, object),
        (Merge::Set, _) => List::Set,
        _ => List::Whole,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Schema, TooMuch, check, merge};
    use crate::manifest::default::STATEFUL_SET;

    fn patched(mut value: Value, patch: &Value, schema: Schema) -> Result<Value, TooMuch> {
        let patch = patch.as_object().unwrap();
        check(patch, schema)?;
        merge(&mut value, patch, schema);
        Ok(value)
    }

    fn pod(containers: Value) -> Value {
        json!({"spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn what_needs_no_schema_is_merged_in_any_kind() {
        let set =
            json!({"spec": {"replicas": 2, "template": {"metadata": {"annotations": {"a": "b"}}, "spec": {"x": [1]}}}});
        let restart = json!({"spec": {"template": {"metadata": {"annotations": {"restartedAt": "now", "a": null}}}}});
        let after = patched(set.clone(), &restart, None).unwrap();
        assert_eq!(after["spec"]["template"]["metadata"], json!({"annotations": {"restartedAt": "now"}}));
        let undo = json!({"spec": {"template": {"$patch": "replace", "spec": {"containers": [{"name": "c"}]}}}});
        let after = patched(set, &undo, None).unwrap();
        assert_eq!(after, json!({"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}}));
        assert_eq!(
            patched(json!({"a": {"b": 1}}), &json!({"a": {"$retainKeys": ["c"], "c": 2}}), None),
            Ok(json!({"a": {"c": 2}}))
        );
    }

    #[test]
    fn what_needs_a_schema_is_refused_without_one() {
        for patch in [
            pod(json!([{"name": "c", "image": "b"}])),
            json!({"spec": {"$setElementOrder/containers": [{"name": "c"}]}}),
            json!({"metadata": {"finalizers": ["a.b/c"]}}),
            json!({"spec": {"$patch": "mend"}}),
            json!({"spec": {"$other": 1}}),
        ] {
            assert_eq!(patched(json!({}), &patch, None), Err(TooMuch), "{patch}");
        }
    }

    #[test]
    fn lists_of_a_set_are_merged_by_their_keys() {
        let live = pod(json!([
            {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}], "args": ["1", "2"]},
            {"name": "b", "image": "b:1"},
        ]));
        for (patch, expected) in [
            // `kubectl set image`
            (
                json!({"spec": {"template": {"spec": {
                    "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
                    "containers": [{"name": "b", "image": "b:2"}],
                }}}}),
                json!([
                    {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}], "args": ["1", "2"]},
                    {"name": "b", "image": "b:2"},
                ]),
            ),
            (
                pod(json!([{"name": "a", "image": null, "env": [{"name": "Y", "value": "2"}], "args": ["3"]}])),
                json!([
                    {"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}], "args": ["3"]},
                    {"name": "b", "image": "b:1"},
                ]),
            ),
            (pod(json!([{"$patch": "delete", "name": "a"}])), json!([{"name": "b", "image": "b:1"}])),
            (pod(json!([{"$patch": "replace"}, {"name": "z", "image": "z"}])), json!([{"name": "z", "image": "z"}])),
            (
                json!({"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}}}),
                json!([
                    {"name": "b", "image": "b:1"},
                    {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}], "args": ["1", "2"]},
                ]),
            ),
        ] {
            let after = patched(live.clone(), &patch, Some(&STATEFUL_SET)).unwrap();
            assert_eq!(after, pod(expected), "{patch}");
        }
        let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});
        let more = patched(finalizers(json!(["a"])), &finalizers(json!(["b", "a"])), Some(&STATEFUL_SET));
        assert_eq!(more, Ok(finalizers(json!(["a", "b"]))));
        let less = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}});
        assert_eq!(patched(finalizers(json!(["a", "b"])), &less, Some(&STATEFUL_SET)), Ok(finalizers(json!(["b"]))));
    }
}
