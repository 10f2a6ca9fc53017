//! PUT: an object as it is to be; and what every other change of an object comes down to.

use std::sync::Arc;

use serde_json::Value;

use super::create::{self, OTHER_NAMESPACE, create};
use super::route::Sub;
use super::{Terms, kinds, own};
use crate::manifest::shown::Shown;
use crate::sim::compat::{Compat, Version};
use crate::sim::resource::Resource;
use crate::sim::status::{Cause, Status};
use crate::sim::store::Key;
use crate::sim::world::World;

/// What the server says of a write that was overtaken.
const OVERTAKEN: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// Replaces an object, or its status; as it is stored then, or as it would be.
///
/// With a resource version in it only that version is replaced, with a uid only that object.
///
/// # Errors
/// As the server refuses it.
pub(crate) fn update(
    world: &mut World,
    key: &Key,
    sub: Sub,
    object: Value,
    terms: &Terms,
) -> Result<Arc<Value>, Status> {
    if !object.is_object() {
        return Err(Status::bad_request("the body is no object"));
    }
    check_identity(key, &object)?;
    let old = world.store.get(key).cloned();
    check_uid(world.compat, key, old.as_deref(), &object, terms)?;
    let Some(old) = old else {
        if sub == Sub::None && kinds::created_by_update(key.resource) {
            return create::unversioned(object, terms, |object| {
                create(world, key.resource, &key.namespace, object, terms)
            });
        }
        return Err(Status::not_found(key.resource, &key.name));
    };
    change(world, key, &old, sub, object, terms, Owned::ByWriter)
}

/// Refuses to replace another object than the one that was meant. What is not there has no uid, and is asked for it all
/// the same where it could be made by this; up to 1.33 everywhere.
pub(super) fn check_uid(
    compat: Compat,
    key: &Key,
    old: Option<&Value>,
    new: &Value,
    terms: &Terms,
) -> Result<(), Status> {
    let text = |of: &Value| of["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let (uid, found) = (text(new), old.map(text).unwrap_or_default());
    if uid.is_empty() || uid == found {
        return Ok(());
    }
    if old.is_none() && compat.version > Version::V1_33 && !kinds::created_by_update(key.resource) {
        return Err(Status::not_found(key.resource, &key.name));
    }
    // Where nothing is to be kept the server looks by another way.
    let root = if terms.dry_run { "" } else { "/registry" };
    let folder = if key.resource == Resource::Services { "services/specs" } else { key.resource.plural() };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{folder}/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {found}",
        key.namespace, key.name
    );
    Err(Status::conflict(key.resource, &key.name, &why))
}

/// Whether the object is the one that the path names.
pub(super) fn check_identity(key: &Key, object: &Value) -> Result<(), Status> {
    let text = |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
    let (name, on_path) = (text("name"), &key.name);
    if name.is_empty() {
        let words =
            format!("the name of the object ({on_path} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(words));
    }
    if name != on_path {
        let words = format!("the name of the object ({name}) does not match the name on the URL ({on_path})");
        return Err(Status::bad_request(words));
    }
    if ![&key.namespace, ""].contains(&text("namespace")) {
        return Err(Status::bad_request(OTHER_NAMESPACE));
    }
    Ok(())
}

/// Whether who owns what of an object is known by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owned {
    /// Not yet: what differs is the writer's.
    ByWriter,
    /// It is.
    Already,
}

/// Makes `new` out of what is there, as far as the door lets it through.
///
/// # Errors
/// As the server refuses it.
pub(super) fn change(
    world: &mut World,
    key: &Key,
    old: &Arc<Value>,
    sub: Sub,
    new: Value,
    terms: &Terms,
    owners: Owned,
) -> Result<Arc<Value>, Status> {
    check_identity(key, &new)?;
    check_version(world.compat, key, old, &new)?;
    let new = match owners {
        Owned::ByWriter => own::owned(world, key.resource, sub, Some(old), new, terms),
        Owned::Already => new,
    };
    let mut new = shaped(world, key.resource, sub, old, new);
    carry(old, &mut new);
    kinds::prepare_change(key.resource, sub, old, &mut new);
    let mut causes = kinds::check_metadata_change(old, &new, world.compat);
    causes.extend(kinds::check_change((key.resource, sub), old, &new, terms.newer, world.compat));
    if !causes.is_empty() {
        return Err(Status::invalid(key.resource, &key.name, &causes));
    }
    own::settle(key.resource, sub, old, &mut new);
    if new == **old {
        return Ok(old.clone());
    }
    if terms.dry_run {
        return Ok(Arc::new(new));
    }
    if is_finished(key.resource, old, &new) {
        world.store.remove(key);
        return Ok(Arc::new(new));
    }
    Ok(world.store.put(key.clone(), new))
}

fn check_version(compat: Compat, key: &Key, old: &Value, new: &Value) -> Result<(), Status> {
    match new["metadata"]["resourceVersion"].as_str().filter(|it| !it.is_empty() && *it != "0") {
        None if kinds::takes_unconditional(key.resource) => Ok(()),
        None => {
            let cause = Cause::shown(
                "metadata.resourceVersion",
                Shown::unsigned(0).at(compat.level()),
                "must be specified for an update",
            );
            // Here the server names the resource, not the kind.
            let kind = key.resource.plural();
            Err(Status::invalid_kind(key.resource.group(), kind, &key.name, &[cause]))
        }
        Some(version) if version.parse::<u64>().is_err() => {
            Err(Status::new(500, "", format!("strconv.ParseUint: parsing {version:?}: invalid syntax")))
        }
        Some(version) if old["metadata"]["resourceVersion"] == version => Ok(()),
        Some(_) => Err(Status::conflict(key.resource, &key.name, OVERTAKEN)),
    }
}

/// The new object in the API's form. Through `/status` nothing but metadata and status comes: the rest is as it was.
fn shaped(world: &World, resource: Resource, sub: Sub, old: &Value, mut new: Value) -> Value {
    if sub != Sub::Status || !kinds::has_status(resource) {
        return kinds::shaped(resource, new, world.compat);
    }
    let mut whole = old.clone();
    whole["metadata"] = crate::manifest::default::metadata(&new["metadata"], world.compat.level());
    whole["status"] = new["status"].take();
    kinds::shape_status(resource, &mut whole);
    whole
}

/// Mirrors `rest.BeforeUpdate` and `ValidateObjectMetaUpdate`: what no client changes, whatever it says.
fn carry(old: &Value, new: &mut Value) {
    let Some(old) = old["metadata"].as_object() else { return };
    let Some(new) = new["metadata"].as_object_mut() else { return };
    for field in ["creationTimestamp", "generation", "resourceVersion", "namespace"] {
        match old.get(field) {
            Some(value) => new.insert(field.to_owned(), value.clone()),
            None => new.remove(field),
        };
    }
    if let Some(uid) = old.get("uid").filter(|_| !new.contains_key("uid")) {
        new.insert("uid".to_owned(), uid.clone());
    }
    // An end, once begun, is not taken back.
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(value) = old.get(field) {
            new.insert(field.to_owned(), value.clone());
        }
    }
}

/// Whether the object has waited for nothing but this: mirrors `ShouldDeleteDuringUpdate`.
fn is_finished(resource: Resource, old: &Value, new: &Value) -> bool {
    let empty = |of: &Value, at: &str| of.pointer(at).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let metadata = &old["metadata"];
    if metadata["deletionTimestamp"].is_null() || metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) != 0 {
        return false;
    }
    let held = |of: &Value| {
        !empty(of, "/metadata/finalizers") || resource == Resource::Namespaces && !empty(of, "/spec/finalizers")
    };
    held(old) && !held(new)
}
