//! What a client writes: from the request to the verb, and back to an answer.

use std::sync::Arc;

use serde_json::Value;

use super::create::create;
use super::delete::{Deleted, answered, delete};
use super::patch::{Patch, patch};
use super::route::Sub;
use super::terms::{Terms, deletion};
use super::update::update;
use super::{body, kinds};
use crate::sim::request::{Answer, Request, Response};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// POST of a new object.
pub(super) fn posted(
    world: &mut World,
    resource: Resource,
    namespace: &str,
    request: &Request,
) -> Result<Answer, Status> {
    let terms = Terms::read(request, "CreateOptions")?;
    let object = body::object(request, resource)?;
    Ok(whole(201, &create(world, resource, namespace, object, &terms)?))
}

/// PUT, PATCH or DELETE of one object or a part of it.
pub(super) fn one(world: &mut World, key: &Key, sub: Sub, request: &Request) -> Result<Answer, Status> {
    let here = sub == Sub::None || sub == Sub::Status && kinds::has_status(key.resource);
    match request.method.as_str() {
        "PUT" if here => {
            let terms = Terms::read(request, "UpdateOptions")?;
            let object = body::object(request, key.resource)?;
            Ok(whole(200, &update(world, key, sub, object, &terms)?))
        }
        "PATCH" if here => {
            let patch_of = read_patch(request)?;
            let terms = Terms::read(request, "PatchOptions")?;
            Ok(whole(200, &patch(world, key, sub, &patch_of, &terms)?))
        }
        "DELETE" if sub == Sub::None => {
            let options = deletion(request)?;
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

fn whole(code: u16, object: &Arc<Value>) -> Answer {
    Answer::Whole(Response::new(code, Value::clone(object)))
}

fn read_patch(request: &Request) -> Result<Patch, Status> {
    body::limit(request)?;
    let json = || {
        let told = |error: serde_json::Error| {
            let why = if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() };
            Status::bad_request(format!("error decoding patch: {why}"))
        };
        serde_json::from_slice::<Value>(&request.body).map_err(told)
    };
    let unfit = |value: &Value, into: &str| {
        let kind = match value {
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        };
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
        "application/strategic-merge-patch+json" => Err(Status::new(
            415,
            "UnsupportedMediaType",
            "the embedded cluster takes no strategic merge patch; use a merge patch, or `kubectl apply --server-side`",
        )),
        "application/apply-patch+yaml" => Err(Status::missing("server-side apply")),
        _ => Err(Status {
            details: serde_json::json!({}),
            ..Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
        }),
    }
}

#[cfg(test)]
mod tests;
