//! The API of the embedded cluster: one function for each verb, over the store.

use serde_json::json;

use super::request::{Answer, Request, Response};
use super::resource::Resource;
use super::status::Status;
use super::world::World;

pub mod apply;
mod create;
mod read;
mod route;
pub(super) mod watch;

use create::create;
use route::{Route, Sub, route};

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
    let answer = match route(&request.path) {
        None => Err(Status::missing(&format!("`{}`", request.path))),
        Some(Route::Objects { resource, namespace, name: None, sub: Sub::None }) => match request.method.as_str() {
            "GET" => read::list(world, resource, namespace, request),
            "POST" => posted(world, resource, namespace.unwrap_or_default(), request),
            method => Err(Status::missing(&format!("{method} of {}", resource.plural()))),
        },
        Some(Route::Objects { resource, namespace, name: Some(name), sub: Sub::None }) => {
            match request.method.as_str() {
                "GET" => read::get(world, resource, namespace.unwrap_or_default(), name),
                method => Err(Status::missing(&format!("{method} of one of {}", resource.plural()))),
            }
        }
        Some(Route::Objects { resource, sub, .. }) => {
            Err(Status::missing(&format!("{} of {}", sub.name(), resource.plural())))
        }
    };
    answer.unwrap_or_else(|status| Answer::Whole(Response::new(status.code, status.to_json())))
}

fn posted(world: &mut World, resource: Resource, namespace: &str, request: &Request) -> Result<Answer, Status> {
    let terms = Terms::read(request)?;
    let object = serde_json::from_slice(&request.body)
        .map_err(|error| Status::bad_request(format!("the body is no JSON: {error}")))?;
    let object = create(world, resource, namespace, object, &terms)?;
    Ok(Answer::Whole(Response::new(201, (*object).clone())))
}
