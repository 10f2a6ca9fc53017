//! Strategic merge patches, as far as they say what they mean without the schema: what `kubectl` sends for `rollout
//! restart`, `rollout undo`, `annotate` and `label`. Lists of objects, whose items would have to be merged by their keys,
//! are refused: `kubectl apply --server-side` does the same better.

use serde_json::{Map, Value};

/// A patch that needs more than is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// Whether the patch is one of those that are taken.
pub(super) fn check(patch: &Map<String, Value>) -> Result<(), TooMuch> {
    let directive = patch.get("$patch").and_then(Value::as_str);
    // What is replaced as a whole holds no directives, and its lists are taken as they are.
    if directive == Some("replace") {
        return Ok(());
    }
    if directive.is_some_and(|it| it != "delete") || patch.keys().any(|key| key.starts_with('$') && key != "$patch") {
        return Err(TooMuch);
    }
    patch.iter().filter(|(key, _)| *key != "$patch").try_for_each(|(key, value)| match value {
        Value::Object(part) => check(part),
        Value::Array(items) if key == "finalizers" || items.iter().any(|it| !it.is_string()) => Err(TooMuch),
        _ => Ok(()),
    })
}

/// Lays the patch, which has been checked, over a value.
pub(super) fn merge(value: &mut Value, patch: &Map<String, Value>) {
    let rest = || patch.iter().filter(|(key, _)| *key != "$patch");
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *value = Value::Object(rest().map(|(key, value)| (key.clone(), value.clone())).collect());
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
    for (name, part) in rest() {
        match part {
            Value::Null => drop(object.remove(name)),
            Value::Object(part) if part.get("$patch").is_some_and(|it| it == "delete") => drop(object.remove(name)),
            Value::Object(part) => merge(object.entry(name.as_str()).or_insert(Value::Null), part),
            other => drop(object.insert(name.clone(), other.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{TooMuch, check, merge};

    fn patched(mut value: Value, patch: &Value) -> Result<Value, TooMuch> {
        let patch = patch.as_object().unwrap();
        check(patch)?;
        merge(&mut value, patch);
        Ok(value)
    }

    #[test]
    fn what_kubectl_needs_is_merged() {
        let set =
            json!({"spec": {"replicas": 2, "template": {"metadata": {"annotations": {"a": "b"}}, "spec": {"x": [1]}}}});
        let restart = json!({"spec": {"template": {"metadata": {"annotations": {"restartedAt": "now", "a": null}}}}});
        assert_eq!(
            patched(set.clone(), &restart),
            Ok(
                json!({"spec": {"replicas": 2, "template": {"metadata": {"annotations": {"restartedAt": "now"}}, "spec": {"x": [1]}}}})
            )
        );
        let undo = json!({"spec": {"template": {"$patch": "replace", "spec": {"containers": [{"name": "c"}]}}}});
        assert_eq!(
            patched(set, &undo),
            Ok(json!({"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}}))
        );
    }

    #[test]
    fn what_needs_the_schema_is_refused() {
        for patch in [
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "b"}]}}}}),
            json!({"spec": {"$setElementOrder/containers": [{"name": "c"}]}}),
            json!({"metadata": {"finalizers": ["a.b/c"]}}),
            json!({"spec": {"$retainKeys": ["a"]}}),
            json!({"spec": {"$patch": "merge"}}),
        ] {
            assert_eq!(patched(json!({}), &patch), Err(TooMuch), "{patch}");
        }
    }
}
