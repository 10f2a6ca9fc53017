//! POST: a new object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::route::Sub;
use super::update::Owned;
use super::{Terms, kinds, own};
use crate::sim::moment::seconds;
use crate::sim::resource::Resource;
use crate::sim::status::{Cause, Status};
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
    object: Value,
    terms: &Terms,
) -> Result<Arc<Value>, Status> {
    place(world, resource, namespace, object, terms, Owned::ByWriter)
}

/// The same, of an object whose owners may be known already.
pub(super) fn place(
    world: &mut World,
    resource: Resource,
    namespace: &str,
    object: Value,
    terms: &Terms,
    owners: Owned,
) -> Result<Arc<Value>, Status> {
    if !object.is_object() {
        return Err(Status::bad_request("the body is no object"));
    }
    let given = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    if !given.is_empty() && given != namespace {
        return Err(Status::bad_request(OTHER_NAMESPACE));
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    check_namespace(world, resource, namespace, name)?;
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let versioned = !version.is_empty() && version != "0";
    let object = match owners {
        Owned::ByWriter => own::owned(world, resource, Sub::None, None, object, terms),
        Owned::Already => object,
    };
    let mut object = kinds::shaped(resource, object, world.compat);
    stamp(world, resource, namespace, &mut object);
    kinds::prepare(resource, &mut object);
    let causes = kinds::check(resource, &object, terms.newer, world.compat);
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !causes.is_empty() {
        return Err(Status::invalid(resource, &name, &causes));
    }
    // From here on the writer is warned, whatever comes of it.
    let warnings = kinds::warnings(resource, Sub::None, None, &object);
    if versioned {
        let words = "resourceVersion should not be set on objects to be created";
        return Err(Status::new(500, "", words).warned(&warnings));
    }
    let key = Key::new(resource, namespace, &name);
    if let Some(there) = world.store.get(&key) {
        let mut refused = Status::already_exists(resource, &name);
        if there.pointer("/metadata/deletionTimestamp").is_some() {
            refused.message = format!("object is being deleted: {}", refused.message);
        }
        return Err(refused.warned(&warnings));
    }
    if terms.dry_run {
        return Ok(Arc::new(object));
    }
    Ok(world.store.put(key, object))
}

/// Makes an object by a request that would change it too: a version of what is not there is no version. Where nothing is
/// kept, the answer shows it as it was given.
///
/// # Errors
/// As the server refuses it.
pub(super) fn unversioned(
    mut object: Value,
    terms: &Terms,
    make: impl FnOnce(Value) -> Result<Arc<Value>, Status>,
) -> Result<Arc<Value>, Status> {
    let given = object.get_mut("metadata").and_then(Value::as_object_mut).and_then(|it| it.remove("resourceVersion"));
    let mut made = make(object)?;
    if let Some(version) = given.filter(|it| terms.dry_run && *it != "" && *it != "0") {
        Arc::make_mut(&mut made)["metadata"]["resourceVersion"] = version;
    }
    Ok(made)
}

/// What the server says of an object whose namespace is not that of the path.
pub(super) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// Nothing is made in a namespace that is not there, or on its way out: the admission plugin `NamespaceLifecycle`.
fn check_namespace(world: &World, resource: Resource, namespace: &str, name: &str) -> Result<(), Status> {
    if !resource.namespaced() {
        return Ok(());
    }
    let place = world.store.get(&Key::new(Resource::Namespaces, "", namespace));
    let place = place.ok_or_else(|| Status::not_found(Resource::Namespaces, namespace))?;
    if place.pointer("/metadata/deletionTimestamp").is_none() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(resource, name, &why);
    let cause = Cause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    };
    status.details["causes"] = json!([cause.to_json()]);
    Err(status)
}

/// The present in whole seconds, as the API writes it.
pub(super) fn now(world: &World) -> Value {
    seconds(world.now).into()
}

/// Mirrors `rest.BeforeCreate`: what the server itself says of a new object.
fn stamp(world: &mut World, resource: Resource, namespace: &str, object: &mut Value) {
    let metadata = &mut object["metadata"];
    if let (Some("") | None, Some(prefix)) = (
        metadata.get("name").and_then(Value::as_str),
        metadata.get("generateName").and_then(Value::as_str).map(str::to_owned),
    ) {
        let prefix: String = prefix.chars().take(58).collect();
        metadata["name"] = format!("{prefix}{}", world.chance.suffix()).into();
    }
    if resource.namespaced() {
        metadata["namespace"] = namespace.into();
    }
    if let Some(metadata) = metadata.as_object_mut() {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    metadata["uid"] = world.chance.uid().into();
    metadata["creationTimestamp"] = now(world);
}
