//! The API of the embedded cluster: one function for each verb, over the store.

use std::borrow::Cow;

use serde_json::json;

use super::request::{Answer, Request, Response};
use super::resource::Resource;
use super::status::Status;
use super::world::World;

mod accept;
mod create;
mod discovery;
mod events;
mod options;
mod page;
mod read;
#[cfg(test)]
mod reading_tests;
mod route;
mod select;
mod table;
mod view;
pub(super) mod watch;

pub(crate) use create::create;
use route::{Route, Sub, route};
use view::View;

/// What is bounded.
pub(crate) struct Limits;

impl Limits {
    /// How long a watch lasts at most, and if nothing is said about it.
    pub(crate) const WATCH_SECONDS: u32 = 30 * 60;
}

/// Who writes, and on what terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The field manager: what the request names, or the agent's first word.
    pub(crate) manager: String,
    /// Whether nothing is to be kept of it.
    pub(crate) dry_run: bool,
}

impl Terms {
    /// The terms on which a controller of the cluster writes.
    pub(crate) fn of(manager: &str) -> Self {
        Self { manager: manager.to_owned(), dry_run: false }
    }

    fn read(request: &Request) -> Result<Self, Status> {
        let dry_run = match request.parameter("dryRun") {
            None | Some("") => false,
            Some("All") => true,
            Some(other) => return Err(Status::bad_request(format!("invalid dryRun: {other}"))),
        };
        let agent = request.agent.split('/').next().unwrap_or_default();
        let manager = request.parameter("fieldManager").filter(|it| !it.is_empty()).unwrap_or(agent);
        Ok(Self { manager: manager.to_owned(), dry_run })
    }
}

/// Puts in what every cluster has from the start.
pub(crate) fn furnish(world: &mut World) {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = json!({"metadata": {"name": name}});
        // The store is empty and the names are good: it cannot be refused.
        let _ = create(world, Resource::Namespaces, "", namespace, &Terms::of("kube-apiserver"));
    }
}

/// Answers a request.
pub(crate) fn handle(world: &mut World, request: &Request) -> Answer {
    let answer = answer(world, request);
    answer.unwrap_or_else(|status| Answer::Whole(Response::new(status.code, status.to_json())))
}

/// The way through: what is no object, then the objects, shown in the form that is asked for.
fn answer(world: &mut World, request: &Request) -> Result<Answer, Status> {
    if request.method == "GET"
        && let Some(answer) = discovery::answer(world, request)
    {
        return Ok(answer);
    }
    let Some(route) = route(&request.path) else { return elsewhere(request) };
    let Route::Objects { resource, .. } = route;
    let view = View::read(resource, request)?;
    let request = if view.newer { Cow::Owned(as_core(request)) } else { Cow::Borrowed(request) };
    let answer = objects(world, route, view, &request)?;
    view.shown(world.now, answer)
}

/// Answers what is asked of objects.
fn objects(world: &mut World, route: Route<'_>, view: View, request: &Request) -> Result<Answer, Status> {
    let Route::Objects { resource, namespace, name, sub } = route;
    let method = request.method.as_str();
    match (name, sub) {
        (None, _) => match method {
            "GET" => read::list(world, view, namespace, request),
            "POST" if namespace.is_some() || !resource.namespaced() => {
                posted(world, resource, namespace.unwrap_or_default(), request)
            }
            "POST" | "PUT" | "PATCH" => Err(Status::method_not_allowed()),
            _ => Err(Status::missing(&format!("{method} of {}", resource.plural()))),
        },
        (Some(name), Sub::None) => match method {
            "GET" => read::get(world, resource, namespace.unwrap_or_default(), name, request),
            "POST" => Err(Status::method_not_allowed()),
            _ => Err(Status::missing(&format!("{method} of one of {}", resource.plural()))),
        },
        (Some(name), Sub::Status) if method == "GET" => {
            read::get(world, resource, namespace.unwrap_or_default(), name, request)
        }
        (Some(_), sub) => Err(Status::missing(&format!("{method} of {} of {}", sub.name(), resource.plural()))),
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

/// A request about events of the newer API as one about those of core/v1.
fn as_core(request: &Request) -> Request {
    let mut request = request.clone();
    if let Ok(body @ serde_json::Value::Object(_)) = serde_json::from_slice(&request.body) {
        request.body = events::to_core(body).to_string().into_bytes();
    }
    request
}

fn posted(world: &mut World, resource: Resource, namespace: &str, request: &Request) -> Result<Answer, Status> {
    let terms = Terms::read(request)?;
    let object = serde_json::from_slice(&request.body)
        .map_err(|error| Status::bad_request(format!("the body is no JSON: {error}")))?;
    let object = create(world, resource, namespace, object, &terms)?;
    Ok(Answer::Whole(Response::new(201, (*object).clone())))
}
