//! `/scale`: how many pods a set is to have, as an object of its own.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Terms;
use super::apply::{Scope, keep_times, ownership_of_parent, ownership_of_scale};
use super::create::now;
use super::patch::Patch;
use super::route::Sub;
use super::update::{Owned, change, check_identity, check_uid};
use crate::sim::resource::Resource;
use crate::sim::status::{Cause, Status};
use crate::sim::store::Key;
use crate::sim::world::World;

/// The scale of a set.
///
/// # Errors
/// 404 where there is no such set.
pub(super) fn get(world: &World, key: &Key) -> Result<Value, Status> {
    Ok(shown(&*find(world, key)?))
}

/// Replaces a scale; as it is then.
///
/// # Errors
/// As the server refuses it.
pub(super) fn update(world: &mut World, key: &Key, scale: &Value, terms: &Terms) -> Result<Value, Status> {
    check_identity(key, scale)?;
    let set = find(world, key);
    check_uid(world.compat, key, set.as_deref().ok(), scale, terms)?;
    let set = set?;
    write(world, key, &set, scale, terms)
}

/// Changes a scale; as it is then.
///
/// # Errors
/// As the server refuses it.
pub(super) fn patch(world: &mut World, key: &Key, patch: &Patch, terms: &Terms) -> Result<Value, Status> {
    let set = find(world, key)?;
    let mut scale = with_owners(&set);
    patch.apply(&mut scale, key.resource)?;
    check_identity(key, &scale)?;
    write(world, key, &set, &scale, terms)
}

fn find(world: &World, key: &Key) -> Result<Arc<Value>, Status> {
    if key.resource != Resource::StatefulSets {
        return Err(Status::missing(&format!("scale of {}", key.resource.plural())));
    }
    world.store.get(key).cloned().ok_or_else(|| Status::not_found(key.resource, &key.name))
}

fn write(world: &mut World, key: &Key, set: &Arc<Value>, scale: &Value, terms: &Terms) -> Result<Value, Status> {
    let replicas = match &scale["spec"]["replicas"] {
        Value::Null => 0,
        value => value.as_i64().filter(|it| i32::try_from(*it).is_ok()).ok_or_else(|| {
            Status::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {value} is no int32"))
        })?,
    };
    if replicas < 0 {
        let cause = Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
        return Err(Status::invalid_kind("autoscaling", "Scale", &key.name, &[cause]));
    }
    let level = world.compat.level();
    let time = now(world);
    let before = with_owners(set);
    let scope = Scope::scale(level);
    let new = scope.decoded(scale);
    let mut after = scope.updated(Some(&before), &new, &terms.manager, time.as_str().unwrap_or_default());
    keep_times(&before, &mut after);
    let mut new = ownership_of_parent(set, &after);
    new["spec"]["replicas"] = json!(replicas);
    match scale["metadata"]["resourceVersion"].as_str().filter(|it| !it.is_empty()) {
        Some(version) => new["metadata"]["resourceVersion"] = version.into(),
        None => drop(new["metadata"].as_object_mut().and_then(|it| it.remove("resourceVersion"))),
    }
    Ok(shown(&*change(world, key, set, Sub::Scale, new, terms, Owned::Already)?))
}

/// A set's scale with who owns its replicas, as only the server sees it.
fn with_owners(set: &Value) -> Value {
    let mut scale = shown(set);
    let owners = ownership_of_scale(set);
    if !owners.is_null() {
        scale["metadata"]["managedFields"] = owners;
    }
    scale
}

/// A set's scale.
fn shown(set: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = set["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut spec = json!({});
    if let Some(replicas) = set.pointer("/spec/replicas").filter(|it| **it != 0) {
        spec["replicas"] = replicas.clone();
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": {"replicas": set["status"]["replicas"], "selector": selector(&set["spec"]["selector"])},
    })
}

/// A selector in one line, as `metav1.FormatLabelSelector` writes it.
fn selector(selector: &Value) -> String {
    let mut terms: Vec<(String, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        terms.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> =
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let term = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        terms.push((key.to_owned(), term));
    }
    terms.sort();
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_selector_is_one_line() {
        let selector = json!({
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "c", "operator": "In", "values": ["y", "x"]},
                {"key": "d", "operator": "Exists"},
                {"key": "e", "operator": "DoesNotExist"},
            ],
        });
        assert_eq!(super::selector(&selector), "a=1,b=2,c in (x,y),d,!e");
    }
}
