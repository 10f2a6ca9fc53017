//! POST: a new object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Terms;
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// Makes an object; as it is stored, or as it would be.
///
/// # Errors
/// As the server refuses it.
pub(crate) fn create(
    world: &mut World,
    resource: Resource,
    namespace: &str,
    mut object: Value,
    terms: &Terms,
) -> Result<Arc<Value>, Status> {
    let Some(given) = object.as_object_mut() else {
        return Err(Status::bad_request("the body is no object"));
    };
    given.insert("apiVersion".into(), resource.api_version().into());
    given.insert("kind".into(), resource.kind().into());
    let metadata = given.entry("metadata").or_insert_with(|| json!({}));
    if let (Some("") | None, Some(prefix)) = (
        metadata.get("name").and_then(Value::as_str),
        metadata.get("generateName").and_then(Value::as_str).map(str::to_owned),
    ) {
        metadata["name"] = format!("{prefix}{}", world.chance.suffix()).into();
    }
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if resource.namespaced() {
        metadata["namespace"] = namespace.into();
    }
    metadata["uid"] = world.chance.uid().into();
    metadata["creationTimestamp"] = world.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    let key = Key::new(resource, namespace, &name);
    if world.store.get(&key).is_some() {
        return Err(Status::already_exists(resource, &name));
    }
    if terms.dry_run {
        return Ok(Arc::new(object));
    }
    Ok(world.store.put(key, object))
}
