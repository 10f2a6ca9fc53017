//! The API of the embedded cluster: one function for each verb, over the store.

use serde_json::json;

use super::request::{Answer, Request, Response};
use super::resource::Resource;
use super::status::Status;
use super::store::Key;
use super::world::World;

mod body;
mod create;
pub(crate) mod delete;
pub(crate) mod evict;
mod json_patch;
mod kinds;
pub(crate) mod patch;
mod read;
pub(crate) mod route;
mod scale;
mod strategic;
mod terms;
pub(crate) mod update;
pub(super) mod watch;
mod write;

pub(crate) use create::create;
use route::{Route, Sub, route};
pub(crate) use terms::Terms;

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
    let answer = match route(&request.path) {
        None => Err(Status::missing(&format!("`{}`", request.path))),
        Some(Route::Objects { resource, namespace, name: None, sub: Sub::None }) => match request.method.as_str() {
            "GET" => read::list(world, resource, namespace, request),
            "POST" => write::posted(world, resource, namespace.unwrap_or_default(), request),
            "DELETE" if request.parameter("labelSelector").or(request.parameter("fieldSelector")).is_none() => {
                write::all(world, resource, namespace.unwrap_or_default(), request, |_| true)
            }
            method => Err(Status::missing(&format!("{method} of {}", resource.plural()))),
        },
        Some(Route::Objects { resource, namespace, name: Some(name), sub }) => match (request.method.as_str(), sub) {
            ("GET", Sub::None | Sub::Status) => read::get(world, resource, namespace.unwrap_or_default(), name),
            _ => write::one(world, &Key::new(resource, namespace.unwrap_or_default(), name), sub, request),
        },
        Some(Route::Objects { resource, sub, .. }) => {
            Err(Status::missing(&format!("{} of {}", sub.name(), resource.plural())))
        }
    };
    answer.unwrap_or_else(|status| Answer::Whole(Response::new(status.code, status.to_json())))
}
