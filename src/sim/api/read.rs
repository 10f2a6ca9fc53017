//! GET: an object, a list, a watch.

use serde_json::{Value, json};

use super::watch::Watch;
use crate::sim::request::{Answer, Request, Response};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// One object.
pub(super) fn get(world: &World, resource: Resource, namespace: &str, name: &str) -> Result<Answer, Status> {
    let object = world.store.get(&Key::new(resource, namespace, name));
    let object = object.ok_or_else(|| Status::not_found(resource, name))?;
    Ok(Answer::Whole(Response::new(200, Value::clone(object))))
}

/// A list of objects, or a watch of them.
pub(super) fn list(
    world: &World,
    resource: Resource,
    namespace: Option<&str>,
    request: &Request,
) -> Result<Answer, Status> {
    if matches!(request.parameter("watch"), Some("true" | "1")) {
        let from = request.parameter("resourceVersion").and_then(|it| it.parse().ok()).unwrap_or(0);
        return Ok(Answer::Watch(Box::new(Watch::new(resource, namespace, from))));
    }
    let items: Vec<&Value> = world.store.list(resource, namespace).map(|(_, object)| &**object).collect();
    let list = json!({
        "apiVersion": resource.api_version(),
        "kind": format!("{}List", resource.kind()),
        "metadata": {"resourceVersion": world.store.version().to_string()},
        "items": items,
    });
    Ok(Answer::Whole(Response::new(200, list)))
}
