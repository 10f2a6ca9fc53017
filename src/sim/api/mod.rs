//! The API of the embedded cluster: one function for each verb, over the store.
//!
//! A request goes one way: what is no object ([`discovery`]), then the [`route`] to objects, the verb ([`read`],
//! [`watch`], [`write`]), and at last the form in which the client wants to see them ([`view`]): whole, metadata, rows.
//!
//! What a real server has and this one has not is answered with 501 and a Status that says what is missing, never with
//! silence:
//! - every other kind: deployments, nodes, persistent volumes, service accounts, custom resources; `/log`, `/exec`,
//!   `/binding` and the other parts of objects that discovery does not name;
//! - strategic merge patches that merge lists by their keys (`kubectl apply` without `--server-side`, `kubectl set
//!   image`); server-side apply of anything but StatefulSets.
//!
//! Said otherwise: answers as protobuf or YAML (406); bodies in protobuf but for the few kinds that kubectl makes by
//! itself (415); OpenAPI v2 (404) and, in v3, schemas; `discovery.k8s.io` aggregation in its beta form, as on real
//! servers of these versions. A resource version that is still to come is refused at once, where a real server waits
//! for three seconds. Everybody may do everything.

use std::borrow::Cow;

use serde_json::json;

use super::request::{Answer, Request, Response};
use super::resource::Resource;
use super::status::Status;
use super::store::Key;
use super::world::World;

mod accept;
pub mod apply;
mod body;
mod create;
mod decode;
pub(crate) mod delete;
mod discovery;
mod events;
pub(crate) mod evict;
mod json_patch;
mod kinds;
mod options;
pub(crate) mod own;
mod page;
pub(crate) mod patch;
mod protobuf;
mod read;
#[cfg(test)]
mod reading_tests;
pub(crate) mod route;
mod scale;
mod select;
mod strategic;
mod table;
mod terms;
pub(crate) mod update;
mod view;
pub(super) mod watch;
mod write;

pub(crate) use create::create;
use route::{Route, Sub, route};
use select::Selection;
pub(crate) use terms::Terms;
use view::View;

/// What is bounded.
pub(crate) struct Limits;

/// What kubectl sends where it makes an object by itself.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Limits {
    /// How long a watch lasts at most, and if nothing is said about it; a real server draws from half to all of an hour.
    pub(crate) const WATCH_SECONDS: u32 = 2 * 60 * 60;
}

/// Puts in what every cluster has from the start.
pub(crate) fn furnish(world: &mut World) {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = json!({"metadata": {"name": name}});
        // The store is empty and the names are good: it cannot be refused.
        let _ = create(world, Resource::Namespaces, "", namespace, &Terms::of("kube-apiserver"));
    }
}

/// The object that a path names, and whether it names a part of it; none where it names none, or several.
pub(crate) fn names(path: &str) -> Option<(Key, bool)> {
    let Route::Objects { resource, namespace, name: Some(name), sub } = route(path)? else { return None };
    Some((Key::new(resource, namespace.unwrap_or_default(), name), sub != Sub::None))
}

/// Answers a request.
pub(crate) fn handle(world: &mut World, request: &Request) -> Answer {
    let answer = answer(world, request);
    answer.unwrap_or_else(|status| {
        let mut response = Response::new(status.code, status.to_json());
        response.warnings = status.warnings.into_vec();
        Answer::Whole(response)
    })
}

/// The way through: what is no object, then the objects, shown in the form that is asked for.
fn answer(world: &mut World, request: &Request) -> Result<Answer, Status> {
    if request.method == "GET"
        && let Some(answer) = discovery::answer(world, request)
    {
        return Ok(answer);
    }
    let read;
    let request = if request.content_type == PROTOBUF {
        read = as_json(request)?;
        &read
    } else {
        request
    };
    let Some(route) = route(&request.path) else { return elsewhere(request) };
    let Route::Objects { resource, .. } = route;
    let view = View::read(resource, request, world.compat.level())?;
    let request = if view.newer { Cow::Owned(as_core(request)) } else { Cow::Borrowed(request) };
    let answer = objects(world, route, view, &request).map_err(|status| view.refused(status))?;
    view.shown(world.now, answer)
}

/// Answers what is asked of objects.
fn objects(world: &mut World, route: Route<'_>, view: View, request: &Request) -> Result<Answer, Status> {
    let Route::Objects { resource, namespace, name, sub } = route;
    let method = request.method.as_str();
    match name {
        None => match method {
            "GET" => read::list(world, view, namespace, request),
            // What lies in a namespace is neither made nor deleted in all of them.
            "POST" | "DELETE" if namespace.is_none() && resource.namespaced() => Err(Status::method_not_allowed()),
            "POST" => write::posted(world, resource, namespace.unwrap_or_default(), request),
            // Namespaces are deleted one by one.
            "DELETE" if resource.namespaced() => {
                let selection = Selection::read(resource, view.newer, request)?;
                write::all(world, resource, namespace.unwrap_or_default(), request, |object| selection.takes(object))
            }
            _ => Err(Status::method_not_allowed()),
        },
        Some(name) => match (method, sub) {
            ("GET", Sub::None | Sub::Status) => {
                read::get(world, resource, namespace.unwrap_or_default(), name, request)
            }
            ("PUT" | "PATCH" | "DELETE", _) | ("GET" | "POST", Sub::Scale | Sub::Eviction) => {
                write::one(world, &Key::new(resource, namespace.unwrap_or_default(), name), sub, request)
            }
            _ => Err(Status::method_not_allowed()),
        },
    }
}

/// Answers what is asked of paths without objects of ours.
fn elsewhere(request: &Request) -> Result<Answer, Status> {
    let path = request.path.as_str();
    let is_json =
        || request.content_type.split(';').next().is_none_or(|it| matches!(it.trim(), "" | "application/json"));
    match (request.method.as_str(), path) {
        // Its absence is what clients know to live without.
        ("GET", "/openapi/v2") => Err(Status::nowhere()),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews") if is_json() => {
            let mut review =
                json!({"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}});
            let body: serde_json::Value = serde_json::from_slice(&request.body)
                .map_err(|error| Status::bad_request(format!("the body is no JSON: {error}")))?;
            review["spec"] = body["spec"].clone();
            // Everybody who is known may do everything.
            review["status"] = json!({"allowed": true});
            Ok(Answer::Whole(Response::new(201, review)))
        }
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews") => Err(Status::unsupported_media()),
        _ => Err(Status::missing(&format!("`{path}`"))),
    }
}

/// A request with what it brings as JSON.
fn as_json(request: &Request) -> Result<Request, Status> {
    let object = protobuf::object(&request.body).ok_or_else(Status::no_protobuf)?;
    let body = object.to_string().into_bytes();
    Ok(Request { body, content_type: "application/json".to_owned(), ..request.clone() })
}

/// A request about events of the newer API as one about those of core/v1.
fn as_core(request: &Request) -> Request {
    let mut request = request.clone();
    if let Ok(body @ serde_json::Value::Object(_)) = serde_json::from_slice(&request.body) {
        request.body = events::to_core(body).to_string().into_bytes();
    }
    request
}
