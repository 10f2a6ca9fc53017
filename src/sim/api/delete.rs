//! DELETE: at once, after a grace, or once nothing holds the object any more.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::kinds;
use crate::sim::moment;
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// What becomes of the objects that the deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// They stay, without an owner.
    Orphan,
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
}

/// On what terms something is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// Only the object with this uid.
    pub(crate) uid: Option<String>,
    /// Only the object at this version.
    pub(crate) version: Option<String>,
    /// In how many seconds, for what ends with grace.
    pub(crate) grace: Option<i64>,
    /// What becomes of what it owns.
    pub(crate) policy: Option<Policy>,
    /// Whether `orphanDependents: false` was said, which an old client is answered 202 for.
    pub(crate) says_cascade: bool,
    /// Whether nothing is to come of it.
    pub(crate) dry_run: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deleted {
    /// It will go: the object as it is now.
    Later(Arc<Value>),
    /// It is gone: the object as it was last.
    Gone(Arc<Value>),
}

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Deletes an object.
///
/// # Errors
/// As the server refuses it.
pub(crate) fn delete(world: &mut World, key: &Key, options: &Deletion) -> Result<Deleted, Status> {
    let old = world.store.get(key).cloned().ok_or_else(|| Status::not_found(key.resource, &key.name))?;
    check_preconditions(key, &old, options)?;
    if key.resource == Resource::Namespaces {
        return Ok(delete_namespace(world, key, &old, options));
    }
    // A second DELETE of what ends with grace can only hurry it; of anything else it says again what to do with the rest.
    let waiting = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let dying = !old["metadata"]["deletionTimestamp"].is_null();
    let mut new = Value::clone(&old);
    let mut left = None;
    if let Some(period) = kinds::grace(key.resource, &old, options.grace) {
        if !dying {
            end_after(world.now, &mut new["metadata"], period);
            grow_older(&mut new["metadata"]);
            left = Some(period);
        } else if waiting > 0 {
            let Some(period) = options.grace.filter(|_| period < waiting) else { return Ok(Deleted::Later(old)) };
            let period = if period < 0 { 1 } else { period };
            hurry(&mut new["metadata"], waiting, period);
            left = Some(period);
        }
    }
    set_finalizers(key.resource, &mut new["metadata"], options.policy);
    let held = new["metadata"]["finalizers"].as_array().is_some_and(|it| !it.is_empty());
    if held && left.is_none() {
        mark(world.now, &mut new["metadata"], dying);
    }
    let stays = held || left.is_some_and(|seconds| seconds > 0);
    let told = left.is_some() || held;
    if options.dry_run {
        let new = Arc::new(new);
        return Ok(if stays { Deleted::Later(new) } else { Deleted::Gone(new) });
    }
    let last = if told && new != *old { world.store.put(key.clone(), new) } else { old };
    if stays {
        return Ok(Deleted::Later(last));
    }
    let gone = world.store.remove(key);
    Ok(Deleted::Gone(gone.unwrap_or(last)))
}

pub(super) fn check_preconditions(key: &Key, old: &Value, options: &Deletion) -> Result<(), Status> {
    let found = |field: &str| old["metadata"][field].as_str().unwrap_or_default().to_owned();
    if let Some(uid) = options.uid.as_ref().filter(|uid| **uid != found("uid")) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            found("uid")
        );
        return Err(Status::conflict_of_kind(key.resource, &key.name, &why));
    }
    if let Some(version) = options.version.as_ref().filter(|version| **version != found("resourceVersion")) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            found("resourceVersion")
        );
        return Err(Status::conflict_of_kind(key.resource, &key.name, &why));
    }
    Ok(())
}

/// A namespace goes once its content has: until then it is Terminating.
fn delete_namespace(world: &mut World, key: &Key, old: &Arc<Value>, options: &Deletion) -> Deleted {
    let dying = !old["metadata"]["deletionTimestamp"].is_null();
    let held = |at: &str| old.pointer(at).and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    if dying && (held("/spec/finalizers") || held("/metadata/finalizers")) {
        return Deleted::Later(old.clone());
    }
    if dying {
        if !options.dry_run {
            world.store.remove(key);
        }
        return Deleted::Gone(old.clone());
    }
    let mut new = Value::clone(old);
    new["metadata"]["deletionTimestamp"] = stamp(world.now);
    new["status"]["phase"] = "Terminating".into();
    if options.dry_run { Deleted::Later(Arc::new(new)) } else { Deleted::Later(world.store.put(key.clone(), new)) }
}

fn stamp(time: Timestamp) -> Value {
    moment::seconds(time).into()
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// Begins an end with grace.
fn end_after(now: Timestamp, metadata: &mut Value, seconds: i64) {
    metadata["deletionTimestamp"] = stamp(later(now, seconds));
    metadata["deletionGracePeriodSeconds"] = json!(seconds);
}

/// Brings an end forward that has begun.
fn hurry(metadata: &mut Value, waiting: i64, seconds: i64) {
    let end: Option<Timestamp> = metadata["deletionTimestamp"].as_str().and_then(|it| it.parse().ok());
    if let Some(end) = end {
        metadata["deletionTimestamp"] = stamp(later(end, seconds.saturating_sub(waiting)));
    }
    metadata["deletionGracePeriodSeconds"] = json!(seconds);
}

/// Mirrors `markAsDeleting`: what is held, but knows no grace.
fn mark(now: Timestamp, metadata: &mut Value, dying: bool) {
    if !dying {
        grow_older(metadata);
        metadata["deletionTimestamp"] = stamp(now);
    }
    metadata["deletionGracePeriodSeconds"] = json!(0);
}

fn grow_older(metadata: &mut Value) {
    if let Some(generation) = metadata["generation"].as_i64().filter(|it| *it > 0) {
        metadata["generation"] = json!(generation + 1);
    }
}

/// Mirrors `deletionFinalizersForGarbageCollection`: what was said now counts, then what was said before.
fn set_finalizers(resource: Resource, metadata: &mut Value, policy: Option<Policy>) {
    if resource == Resource::Events {
        return;
    }
    let before: Vec<String> =
        metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let said = |name: &str| before.iter().any(|it| it == name);
    let own = match policy {
        Some(Policy::Orphan) => Some(ORPHAN),
        Some(Policy::Foreground) => Some(FOREGROUND),
        Some(Policy::Background) => None,
        None if said(ORPHAN) => Some(ORPHAN),
        None if said(FOREGROUND) => Some(FOREGROUND),
        None => None,
    };
    let others = before.iter().map(String::as_str).filter(|it| ![ORPHAN, FOREGROUND].contains(it));
    let now: Vec<&str> = others.chain(own).collect();
    let same = now.len() == before.len() && now.iter().all(|it| said(it));
    let Some(metadata) = metadata.as_object_mut().filter(|_| !same) else { return };
    if now.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), now.into());
    }
}

/// How a DELETE is answered.
pub(super) fn answered(key: &Key, deleted: &Deleted) -> Value {
    match deleted {
        Deleted::Later(object) => Value::clone(object),
        Deleted::Gone(object) if kinds::returned_when_deleted(key.resource) => Value::clone(object),
        Deleted::Gone(object) => success(key.resource, object),
    }
}

fn success(resource: Resource, object: &Value) -> Value {
    let mut details = Map::new();
    details.insert("name".into(), object["metadata"]["name"].clone());
    if !resource.group().is_empty() {
        details.insert("group".into(), resource.group().into());
    }
    details.insert("kind".into(), resource.plural().into());
    details.insert("uid".into(), object["metadata"]["uid"].clone());
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
