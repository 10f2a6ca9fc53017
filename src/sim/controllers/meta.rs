//! Reads and writes the metadata of objects: names, labels, owners.

use serde_json::{Map, Value, json};

/// A text of `metadata`; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|it| it.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// The labels; none where the object has none.
pub(super) fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.get("labels")?.as_object()
}

/// A label; empty where the object has none of that name, as Go reads it.
pub(super) fn label<'a>(object: &'a Value, name: &str) -> &'a str {
    labels(object).and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Whether it is being deleted.
pub(super) fn terminating(object: &Value) -> bool {
    object.get("metadata").and_then(|it| it.get("deletionTimestamp")).is_some_and(|time| !time.is_null())
}

/// The owner references.
pub(super) fn owners(object: &Value) -> &[Value] {
    object.get("metadata").and_then(|it| it.get("ownerReferences")).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a reference is that of the controller.
pub(super) fn controls(owner: &Value) -> bool {
    owner.get("controller").and_then(Value::as_bool) == Some(true)
}

/// A text of an owner reference.
pub(super) fn of_owner<'a>(owner: &'a Value, field: &str) -> &'a str {
    owner.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The reference to the object's controller.
pub fn controller_of(object: &Value) -> Option<&Value> {
    owners(object).iter().find(|owner| controls(owner))
}

/// The reference by which an object says that it is controlled by another.
pub(super) fn controller_reference(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Writes the owner references; an empty list is none.
pub(super) fn set_owners(object: &mut Value, owners: Vec<Value>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        } else {
            metadata.insert("ownerReferences".into(), owners.into());
        }
    }
}

/// The object after a strategic merge patch of its owner references, of the two forms that controllers send.
///
/// Owners are told apart by their uid: one with `$patch: delete` goes, one that is there is merged over, a new one comes
/// last. Nothing but `metadata.ownerReferences` of the patch is looked at: its uid is a precondition, for the caller.
pub fn patched_owners(object: &Value, patch: &Value) -> Value {
    let mut now = owners(object).to_vec();
    for change in owners(patch) {
        let uid = of_owner(change, "uid");
        if of_owner(change, "$patch") == "delete" {
            now.retain(|owner| of_owner(owner, "uid") != uid);
            continue;
        }
        let found = now.iter_mut().find(|owner| of_owner(owner, "uid") == uid).and_then(Value::as_object_mut);
        match (found, change.as_object()) {
            (Some(owner), Some(change)) => owner.extend(change.clone()),
            _ => now.push(change.clone()),
        }
    }
    let mut object = object.clone();
    set_owners(&mut object, now);
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{controller_of, controller_reference, patched_owners};

    #[test]
    fn a_patch_of_owners_merges_by_uid() {
        let pod = json!({"metadata": {"name": "a", "ownerReferences": [{"uid": "1", "kind": "X"}, {"uid": "2"}]}});
        let adopt = json!({"metadata": {"ownerReferences": [
            controller_reference("apps/v1", "StatefulSet", "web", "3"), {"uid": "1", "kind": "Y"},
        ]}});
        let adopted = patched_owners(&pod, &adopt);
        assert_eq!(adopted["metadata"]["ownerReferences"].as_array().unwrap().len(), 3);
        assert_eq!(adopted["metadata"]["ownerReferences"][0], json!({"uid": "1", "kind": "Y"}));
        assert_eq!(controller_of(&adopted).unwrap()["uid"], "3");
        let mut released = adopted;
        for uid in ["1", "2", "3", "4"] {
            released = patched_owners(
                &released,
                &json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": uid}]}}),
            );
        }
        assert_eq!(released, json!({"metadata": {"name": "a"}}));
    }
}
