//! What is particular to each kind of objects: its form and defaults, what the server sets itself, what is refused.

use serde_json::{Map, Value, json};

use super::route::Sub;
use crate::manifest::default;
use crate::manifest::stateful_set::Refusal;
use crate::sim::compat::Compat;
use crate::sim::resource::Resource;
use crate::sim::status::Cause;

mod claim;
mod event;
mod lease;
mod metadata;
mod namespace;
mod plain;
mod pod;
mod pod_spec;
mod revision;
mod stateful_set;
mod warnings;

pub(super) use metadata::check_change as check_metadata_change;

/// The object as the API writes it: known fields only, defaults filled in.
pub(super) fn shaped(resource: Resource, object: Value, compat: Compat) -> Value {
    let Value::Object(mut object) = object else { return object };
    object.insert("apiVersion".into(), resource.api_version().into());
    object.insert("kind".into(), resource.kind().into());
    let metadata = default::metadata(object.get("metadata").unwrap_or(&Value::Null), compat.level());
    object.insert("metadata".into(), metadata);
    let shape: fn(&mut Map<String, Value>, Compat) = match resource {
        Resource::StatefulSets => stateful_set::shape,
        Resource::Pods => pod::shape,
        Resource::Claims => claim::shape,
        Resource::Namespaces => namespace::shape,
        Resource::Revisions => revision::shape,
        Resource::Secrets => |object, _| plain::shape_secret(object),
        Resource::Services => |object, _| plain::shape_service(object),
        Resource::Events | Resource::Leases | Resource::ConfigMaps | Resource::Budgets => |_, _| {},
    };
    shape(&mut object, compat);
    Value::Object(object)
}

/// An object that was decoded from a request, with what depends on gates filled in.
pub(super) fn gated(resource: Resource, object: Value, compat: Compat) -> Value {
    if resource == Resource::StatefulSets { stateful_set::gated(object, compat) } else { object }
}

/// Sets what only the server sets on a new object, and takes away what only it may set.
pub(super) fn prepare(resource: Resource, object: &mut Value) {
    match resource {
        Resource::StatefulSets => stateful_set::prepare(object),
        Resource::Pods => pod::prepare(object),
        Resource::Claims => claim::prepare(object),
        Resource::Namespaces => namespace::prepare(object),
        Resource::Budgets => plain::prepare_budget(object),
        Resource::Revisions
        | Resource::Events
        | Resource::Leases
        | Resource::ConfigMaps
        | Resource::Secrets
        | Resource::Services => {}
    }
}

/// What of a change does not reach the object through this door, and the generation that comes of the rest.
pub(super) fn prepare_change(resource: Resource, sub: Sub, old: &Value, new: &mut Value) {
    if has_status(resource) {
        let kept = if sub == Sub::Status { "spec" } else { "status" };
        keep(new, old, kept);
    }
    match resource {
        Resource::StatefulSets => stateful_set::prepare_change(sub, old, new),
        Resource::Pods => pod::prepare_change(sub, old, new),
        Resource::Budgets if sub == Sub::None => next_generation(old, new),
        Resource::Namespaces => keep(new, old, "spec"),
        Resource::Claims
        | Resource::Revisions
        | Resource::Events
        | Resource::Leases
        | Resource::ConfigMaps
        | Resource::Secrets
        | Resource::Services
        | Resource::Budgets => {}
    }
}

/// What the server refuses of a new object; `newer`: it came as one of the newer API of events.
pub(super) fn check(resource: Resource, object: &Value, newer: bool, compat: Compat) -> Vec<Cause> {
    if resource == Resource::Events {
        return event::check(object, newer, compat);
    }
    let mut causes = metadata::check(resource, object, compat);
    causes.extend(match resource {
        Resource::StatefulSets => stateful_set::check(object, compat),
        Resource::Pods => pod::check(object, compat),
        Resource::Claims => claim::check(object, compat),
        Resource::Revisions => revision::check(object),
        Resource::Leases => lease::check(object),
        Resource::Budgets => plain::check_budget(object, compat),
        Resource::Events | Resource::Namespaces | Resource::ConfigMaps | Resource::Secrets | Resource::Services => {
            Vec::new()
        }
    });
    causes
}

/// What the server refuses of a change, beyond its metadata; `newer` as for a new object.
pub(super) fn check_change(
    (resource, sub): (Resource, Sub),
    old: &Value,
    new: &Value,
    newer: bool,
    compat: Compat,
) -> Vec<Cause> {
    match (resource, sub) {
        (Resource::StatefulSets, Sub::Status) => stateful_set::check_status(old, new),
        (Resource::StatefulSets, _) => stateful_set::check_change(old, new, compat),
        (Resource::Pods, Sub::None) => pod::check_change(old, new, compat),
        (Resource::Pods, Sub::Status) => pod::check_status(old, new),
        (Resource::Claims, Sub::None) => claim::check_change(old, new, compat),
        (Resource::Revisions, _) => revision::check_change(old, new, compat),
        (Resource::Leases, _) => lease::check(new),
        (Resource::Events, _) => event::check_change(old, new, newer, compat),
        (Resource::Budgets, Sub::None) => plain::check_budget(new, compat),
        (Resource::ConfigMaps | Resource::Secrets, _) => plain::check_data_change(old, new),
        _ => Vec::new(),
    }
}

/// The status in the API's form.
pub(super) fn shape_status(resource: Resource, object: &mut Value) {
    match resource {
        Resource::StatefulSets => stateful_set::shape_status(&mut object["status"]),
        _ => {
            if !object["status"].is_object() {
                object["status"] = json!({});
            }
        }
    }
}

/// What a writer is warned of.
pub(super) fn warnings(resource: Resource, sub: Sub, old: Option<&Value>, new: &Value) -> Vec<String> {
    let generation = |object: &Value| object.pointer("/metadata/generation").cloned();
    match resource {
        _ if sub == Sub::Status => Vec::new(),
        // Who changes nothing of the template has been warned of it before.
        Resource::StatefulSets => warnings::of_set(&new["spec"], old.map(generation) != Some(generation(new))),
        Resource::Pods if old.is_none() => warnings::of_pod(&new["spec"], "spec"),
        _ => Vec::new(),
    }
}

/// Whether `/status` is a door of its own.
pub(super) fn has_status(resource: Resource) -> bool {
    match resource {
        Resource::StatefulSets
        | Resource::Pods
        | Resource::Claims
        | Resource::Namespaces
        | Resource::Services
        | Resource::Budgets => true,
        Resource::Revisions | Resource::Events | Resource::Leases | Resource::ConfigMaps | Resource::Secrets => false,
    }
}

/// Whether a PUT without a resource version is taken.
pub(super) fn takes_unconditional(resource: Resource) -> bool {
    !matches!(resource, Resource::Leases | Resource::Budgets)
}

/// Whether a PUT of what is not there creates it.
pub(super) fn created_by_update(resource: Resource) -> bool {
    matches!(resource, Resource::Leases | Resource::Events | Resource::Services)
}

/// Whether a DELETE answers with the object that is gone, not with a Status.
pub(super) fn returned_when_deleted(resource: Resource) -> bool {
    matches!(resource, Resource::Pods | Resource::Claims | Resource::Services)
}

/// How long an object has yet to live when it is deleted, in seconds; none where its kind does not know of that.
pub(super) fn grace(resource: Resource, object: &Value, asked: Option<i64>) -> Option<i64> {
    (resource == Resource::Pods).then(|| pod::grace(object, asked))
}

/// Refusals as the causes that they are.
fn causes(refusals: Vec<Refusal>) -> Vec<Cause> {
    refusals.into_iter().map(|Refusal { reason, field, message }| Cause { reason, message, field }).collect()
}

/// Puts a field of the old object into the new one, or takes it away where the old one has none.
fn keep(new: &mut Value, old: &Value, field: &str) {
    let Some(new) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => new.insert(field.to_owned(), value.clone()),
        None => new.remove(field),
    };
}

/// Counts the change of what the object is to be.
fn next_generation(old: &Value, new: &mut Value) {
    if old.get("spec") != new.get("spec") {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        new["metadata"]["generation"] = json!(generation + 1);
    }
}
