//! Who owns the fields of what is written: `managedFields` after each write, and what an apply makes of an object.

use std::sync::Arc;

use serde_json::Value;

use super::apply::{Scope, keep_times, keep_times_of_scaled};
use super::create::{self, now};
use super::route::Sub;
use super::update::{Owned, change, check_identity};
use super::{Terms, kinds};
use crate::manifest::default::Level;
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// The door that keeps account of who owns what; none where nobody does.
fn scope(resource: Resource, sub: Sub, level: Level) -> Option<Scope> {
    match (resource, sub) {
        (Resource::StatefulSets, Sub::Status) => Some(Scope::stateful_set_status(level)),
        (Resource::StatefulSets, Sub::None) => Some(Scope::stateful_set(level)),
        _ => None,
    }
}

/// The object as it is to be written, with who owns what then.
pub(super) fn owned(
    world: &World,
    resource: Resource,
    sub: Sub,
    old: Option<&Value>,
    new: Value,
    terms: &Terms,
) -> Value {
    let Some(scope) = scope(resource, sub, world.compat.level()) else { return new };
    let time = now(world);
    let decoded = kinds::gated(resource, scope.decoded(&new), world.compat);
    scope.updated(old, &decoded, &terms.manager, time.as_str().unwrap_or_default())
}

/// Leaves the times of owners alone where nothing else changes.
pub(super) fn settle(resource: Resource, sub: Sub, old: &Value, new: &mut Value) {
    match (resource, sub) {
        (Resource::StatefulSets, Sub::Scale) => keep_times_of_scaled(old, new),
        (Resource::StatefulSets, _) => keep_times(old, new),
        _ => {}
    }
}

/// Server-side apply: an object as it is to be, as far as one manager knows; as it is stored then, and whether it is new.
///
/// # Errors
/// As the server refuses it.
pub(crate) fn apply(
    world: &mut World,
    key: &Key,
    sub: Sub,
    applied: &Value,
    terms: &Terms,
) -> Result<(Arc<Value>, bool), Status> {
    let Some(scope) = scope(key.resource, sub, world.compat.level()) else {
        return Err(Status::missing(&format!("server-side apply of {}", key.resource.plural())));
    };
    let old = world.store.get(key).cloned();
    if old.is_none() && sub != Sub::None {
        return Err(Status::not_found(key.resource, &key.name));
    }
    let time = now(world);
    let time = time.as_str().unwrap_or_default();
    let new =
        scope.apply(old.as_deref(), applied, &terms.manager, terms.force, time).map_err(|refused| refused.status())?;
    let Some(old) = old else {
        check_identity(key, &new)?;
        if let Some(uid) = new.pointer("/metadata/uid").and_then(Value::as_str).filter(|uid| !uid.is_empty()) {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Status::conflict(key.resource, &key.name, &why));
        }
        let made = create::unversioned(new, terms, |new| {
            create::place(world, key.resource, &key.namespace, new, terms, Owned::Already)
        })?;
        return Ok((made, true));
    };
    if !kinds::has_status(key.resource) && sub == Sub::Status {
        return Err(Status::missing("that part of the object"));
    }
    Ok((change(world, key, &old, sub, new, terms, Owned::Already)?, false))
}
