//! What a client writes: from the request to the verb, and back to an answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::create;
use super::delete::{Deleted, answered, delete};
use super::evict::evict;
use super::own::apply;
use super::patch::{Patch, patch};
use super::route::Sub;
use super::terms::{Terms, deletion, deletion_of};
use super::update::update;
use super::{body, kinds, scale, strategic};
use crate::manifest::go_syntax;
use crate::sim::request::{Answer, Request, Response};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// What is not there, and what is.
const STRATEGIC: &str = "strategic merge patches of lists in other kinds than StatefulSets (use `kubectl apply --server-side`, \
    `kubectl patch --type=merge` or `--type=json`)";

/// What an apply is sent as.
pub(super) const APPLY: &str = "application/apply-patch+yaml";

/// POST of a new object.
pub(super) fn posted(
    world: &mut World,
    resource: Resource,
    namespace: &str,
    request: &Request,
) -> Result<Answer, Status> {
    let terms = Terms::read(request, "CreateOptions", world.compat)?;
    let (object, remarks) = body::object(request, resource, world.compat.level(), terms.unknown)?;
    let made = create(world, resource, namespace, object, &terms).map_err(|status| status.warned(&remarks))?;
    Ok(warned(201, &made, remarks, (resource, Sub::None), None))
}

/// PUT, PATCH or DELETE of one object or a part of it.
pub(super) fn one(world: &mut World, key: &Key, sub: Sub, request: &Request) -> Result<Answer, Status> {
    match sub {
        Sub::Scale => return scaled(world, key, request),
        Sub::Eviction => return evicted(world, key, request),
        Sub::None | Sub::Status => {}
    }
    let here = sub == Sub::None || kinds::has_status(key.resource);
    match request.method.as_str() {
        "PUT" if here => {
            let terms = Terms::read(request, "UpdateOptions", world.compat)?;
            let (object, remarks) = body::object(request, key.resource, world.compat.level(), terms.unknown)?;
            let old = world.store.get(key).cloned();
            let new = update(world, key, sub, object, &terms).map_err(|status| status.warned(&remarks))?;
            let code = if old.is_some() { 200 } else { 201 };
            Ok(warned(code, &new, remarks, (key.resource, sub), old.as_deref()))
        }
        "PATCH" if here && body::media(request) == APPLY => {
            let terms = Terms::read_apply(request, world.compat)?;
            let old = world.store.get(key).cloned();
            let (object, new) = apply(world, key, sub, &body::applied(request)?, &terms)?;
            Ok(warned(if new { 201 } else { 200 }, &object, Vec::new(), (key.resource, sub), old.as_deref()))
        }
        "PATCH" if here => {
            let patch_of = read_patch(request, key.resource)?;
            let terms = Terms::read(request, "PatchOptions", world.compat)?;
            let old = world.store.get(key).cloned();
            let mut remarks = Vec::new();
            let new = patch(world, key, sub, &patch_of, &terms, &mut remarks);
            let new = new.map_err(|status| status.warned(&remarks))?;
            Ok(warned(200, &new, remarks, (key.resource, sub), old.as_deref()))
        }
        "DELETE" if sub == Sub::None => {
            let options = deletion(request, world.compat)?;
            let deleted = delete(world, key, &options)?;
            let waits = matches!(deleted, Deleted::Later(_)) && options.says_cascade;
            Ok(Answer::Whole(Response::new(if waits { 202 } else { 200 }, answered(key, &deleted))))
        }
        method => {
            let what = if sub == Sub::None { "one" } else { sub.name() };
            Err(Status::missing(&format!("{method} of {what} of {}", key.resource.plural())))
        }
    }
}

/// What is done with the scale of a set.
fn scaled(world: &mut World, key: &Key, request: &Request) -> Result<Answer, Status> {
    let scale = match request.method.as_str() {
        "GET" => scale::get(world, key)?,
        "PUT" => {
            let terms = Terms::read(request, "UpdateOptions", world.compat)?;
            scale::update(world, key, &body::of_kind(request, "autoscaling/v1", "Scale")?, &terms)?
        }
        "PATCH" => {
            let patch = read_patch(request, key.resource)?;
            scale::patch(world, key, &patch, &Terms::read(request, "PatchOptions", world.compat)?)?
        }
        _ => return Err(Status::method_not_allowed()),
    };
    Ok(Answer::Whole(Response::new(200, scale)))
}

/// POST of an eviction.
fn evicted(world: &mut World, key: &Key, request: &Request) -> Result<Answer, Status> {
    if key.resource != Resource::Pods {
        return Err(Status::missing(&format!("eviction of {}", key.resource.plural())));
    }
    if request.method != "POST" {
        return Err(Status::method_not_allowed());
    }
    let terms = Terms::read(request, "CreateOptions", world.compat)?;
    let eviction = body::of_kind(request, "policy/v1", "Eviction")?;
    if eviction["metadata"]["name"] != key.name.as_str() {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let mut options = deletion_of(Some(&eviction["deleteOptions"]), &[], world.compat)?;
    options.dry_run |= terms.dry_run;
    evict(world, key, &options)?;
    let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::Whole(Response::new(201, success)))
}

/// DELETE of all objects of a kind that are chosen: what they were is the answer, whatever becomes of them.
pub(super) fn all(
    world: &mut World,
    resource: Resource,
    namespace: &str,
    request: &Request,
    chosen: impl Fn(&Value) -> bool,
) -> Result<Answer, Status> {
    let options = deletion(request, world.compat)?;
    let objects = world.store.list(resource, Some(namespace)).filter(|(_, object)| chosen(object));
    let objects: Vec<(Key, Arc<Value>)> = objects.map(|(key, object)| (key.clone(), object.clone())).collect();
    let version = world.store.version().to_string();
    let mut items = Vec::new();
    for (key, object) in objects {
        delete(world, &key, &options)?;
        let mut item = Value::clone(&object);
        if let Some(item) = item.as_object_mut() {
            item.remove("kind");
            item.remove("apiVersion");
        }
        items.push(item);
    }
    let list = json!({
        "kind": format!("{}List", resource.kind()),
        "apiVersion": resource.api_version(),
        "metadata": {"resourceVersion": version},
        "items": items,
    });
    Ok(Answer::Whole(Response::new(200, list)))
}

/// An object that was written, with what its writer is warned of.
fn warned(
    code: u16,
    object: &Arc<Value>,
    remarks: Vec<String>,
    (resource, sub): (Resource, Sub),
    old: Option<&Value>,
) -> Answer {
    let mut response = Response::new(code, Value::clone(object));
    response.warnings = remarks;
    response.warnings.extend(kinds::warnings(resource, sub, old, object));
    Answer::Whole(response)
}

fn read_patch(request: &Request, resource: Resource) -> Result<Patch, Status> {
    body::limit(request)?;
    let json = || {
        let told = |error: serde_json::Error| {
            let why = go_syntax::fault(&request.body).unwrap_or_else(|| error.to_string());
            Status::bad_request(format!("error decoding patch: {why}"))
        };
        serde_json::from_slice::<Value>(&request.body).map_err(told)
    };
    let unfit = |value: &Value, into: &str| {
        let kind = body::go_kind(value);
        let words = format!("error decoding patch: json: cannot unmarshal {kind} into Go value of type {into}");
        Status::bad_request(words)
    };
    match body::media(request) {
        "application/merge-patch+json" => {
            let value = json()?;
            if value.is_object() { Ok(Patch::Merge(value)) } else { Err(unfit(&value, "map[string]interface {}")) }
        }
        "application/json-patch+json" => match json()? {
            Value::Array(steps) => Ok(Patch::Json(steps)),
            other => Err(unfit(&other, "[]handlers.jsonPatchOp")),
        },
        "application/strategic-merge-patch+json" => match json()? {
            Value::Object(patch) => {
                strategic::check(&patch, strategic::schema(resource)).map_err(|_| Status::missing(STRATEGIC))?;
                Ok(Patch::Strategic(patch))
            }
            other => Err(unfit(&other, "map[string]interface {}")),
        },
        APPLY => Err(Status::missing("server-side apply of that")),
        _ => Err(Status {
            details: json!({}),
            ..Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
        }),
    }
}

#[cfg(test)]
mod tests;
