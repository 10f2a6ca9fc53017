//! GET: an object, a list, a watch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::options::{ListOptions, Match};
use super::page::Page;
use super::select::Selection;
use super::view::View;
use super::watch::Watch;
use crate::sim::request::{Answer, Request, Response};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::store::Key;
use crate::sim::world::World;

/// One object.
pub(super) fn get(
    world: &World,
    resource: Resource,
    namespace: &str,
    name: &str,
    request: &Request,
) -> Result<Answer, Status> {
    let options = ListOptions {
        version: request.parameter("resourceVersion").unwrap_or_default().to_owned(),
        ..ListOptions::default()
    };
    not_ahead(world, options.number().map_err(|why| Status::new(500, "", why))?)?;
    let object = world.store.get(&Key::new(resource, namespace, name));
    let object = object.ok_or_else(|| Status::not_found(resource, name))?;
    Ok(Answer::Whole(Response::new(200, Value::clone(object))))
}

/// A list of objects, or a watch of them.
pub(super) fn list(world: &World, view: View, namespace: Option<&str>, request: &Request) -> Result<Answer, Status> {
    let selection = Selection::read(view.resource, view.newer, request)?;
    let options = ListOptions::read(world.compat, request)?;
    if options.watch {
        let watch = Watch::new(world, view, namespace, selection, &options)?;
        return Ok(Answer::Watch(Box::new(watch)));
    }
    let part = part(world, view.resource, namespace, &selection, &options)?;
    let mut metadata = json!({"resourceVersion": part.version.to_string()});
    if let Some(page) = &part.next {
        metadata["continue"] = page.token(view.resource).into();
        if selection.is_all() {
            metadata["remainingItemCount"] = part.remaining.into();
        }
    }
    Ok(Answer::Whole(Response::new(200, view.list(world.now, &part.items, metadata)?)))
}

/// A part of what there is.
struct Part {
    items: Vec<Arc<Value>>,
    /// The resource version that it shows.
    version: u64,
    next: Option<Page>,
    /// How many come behind it.
    remaining: usize,
}

fn part(
    world: &World,
    resource: Resource,
    namespace: Option<&str>,
    selection: &Selection,
    options: &ListOptions,
) -> Result<Part, Status> {
    let asked = version(options)?;
    let now = world.store.version();
    let mut limit = options.limit;
    let (at, after, consistent) = if options.page.is_empty() {
        not_ahead(world, asked)?;
        let exact = match options.matching {
            Some(matching) => matching == Match::Exact,
            // A version with a limit and nothing said about it means that version.
            None => limit.is_some() && asked.is_some_and(|it| it > 0),
        };
        // Whoever takes any version is given all of it.
        if asked == Some(0) {
            limit = None;
        }
        (asked.filter(|_| exact).unwrap_or(now), None, true)
    } else {
        if asked.is_some_and(|it| it > 0) {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        let page = Page::read(&options.page)?;
        not_ahead(world, page.version)?;
        (page.version.unwrap_or(now), Some(page.after), page.version.is_some())
    };
    let Some(mut all) = world.store.list_at(at, resource, namespace) else {
        return Err(match after {
            None => Status::expired("The resourceVersion for the provided list is too old."),
            Some(after) => gone_on(resource, after),
        });
    };
    if namespace.is_none() {
        // As keys are ordered where namespace and name are one text: `a-b/x` comes before `a/x`.
        all.sort_by_cached_key(|(key, _)| place(key, namespace));
    }
    let mut items = Vec::new();
    let (mut next, mut remaining) = (None, 0);
    let count = all.len();
    for (index, (key, object)) in all.into_iter().enumerate() {
        let place = place(&key, namespace);
        if after.as_ref().is_some_and(|after| place <= *after) || !selection.takes(&object) {
            continue;
        }
        items.push(object);
        if limit.is_some_and(|limit| items.len() >= limit) {
            remaining = count - index - 1;
            next = (remaining > 0).then(|| Page { version: consistent.then_some(at), after: place });
            break;
        }
    }
    Ok(Part { items, version: at, next, remaining })
}

/// Where an object stands in a list.
fn place(key: &Key, namespace: Option<&str>) -> String {
    if namespace.is_some() || !key.resource.namespaced() {
        key.name.clone()
    } else {
        format!("{}/{}", key.namespace, key.name)
    }
}

fn version(options: &ListOptions) -> Result<Option<u64>, Status> {
    options.number().map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))
}

/// A real server waits three seconds for a version that is still to come; here it would not come meanwhile.
pub(super) fn not_ahead(world: &World, version: Option<u64>) -> Result<(), Status> {
    let now = world.store.version();
    match version {
        Some(version) if version > now => Err(Status::version_too_large(version, now)),
        _ => Ok(()),
    }
}

/// A page whose version is forgotten: the token to go on with what there is now is in the answer.
fn gone_on(resource: Resource, after: String) -> Status {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.page = Page { version: None, after }.token(resource);
    status
}
