//! A list of objects, page by page.

use tokio::time::Instant;

use crate::cluster::connect::{Cause, Cluster};
use crate::cluster::send::{Call, RequestError, send};
use crate::cluster::wire;

/// How many objects a page of a list has.
const PAGE: &str = "500";

/// A list as it came.
pub(super) struct List<T> {
    /// What was made of its items.
    pub(super) items: Vec<T>,
    /// Its resourceVersion.
    pub(super) version: String,
    /// When the server was asked that made it.
    pub(super) asked: Instant,
}

/// Lists page by page: the items that `read` makes something of, and the list's resourceVersion. An item that cannot be
/// read is logged and left out.
///
/// # Errors
/// Where a page cannot be had. Where the server forgets the list between two pages it is begun again, in one page.
pub(crate) async fn list<T>(
    cluster: &Cluster,
    call: &Call,
    read: impl FnMut(&str) -> Result<Option<T>, serde_json::Error>,
) -> Result<(Vec<T>, String), RequestError> {
    let List { items, version, asked: _ } = list_at(cluster, call, read).await?;
    Ok((items, version))
}

/// The same, and when it was asked for.
pub(super) async fn list_at<T>(
    cluster: &Cluster,
    call: &Call,
    mut read: impl FnMut(&str) -> Result<Option<T>, serde_json::Error>,
) -> Result<List<T>, RequestError> {
    let mut items = Vec::new();
    let mut asked = Instant::now();
    let mut page = call.clone().query("limit", PAGE);
    loop {
        let mut reply = send(cluster, &page).await?;
        if reply.status == http::StatusCode::GONE && !items.is_empty() {
            items.clear();
            asked = Instant::now();
            reply = send(cluster, call).await?;
        }
        if let Some(problem) = reply.problem() {
            return Err(problem.into_error(call));
        }
        let list: wire::List<'_> = serde_json::from_slice(&reply.body).map_err(|error| RequestError::Undecodable {
            what: format!("list of {}", call.resource),
            source: Cause::of(&error),
        })?;
        for item in list.items {
            match read(item.get()) {
                Ok(item) => items.extend(item),
                Err(error) => {
                    let wire::Identity { metadata } = serde_json::from_str(item.get()).unwrap_or_default();
                    tracing::warn!(
                        resource = call.resource,
                        namespace = metadata.namespace,
                        name = metadata.name,
                        %error,
                        "left out an object that makes no sense"
                    );
                }
            }
        }
        if list.metadata.next.is_empty() {
            return Ok(List { items, version: list.metadata.resource_version, asked });
        }
        page = call.clone().query("limit", PAGE).query("continue", &list.metadata.next);
    }
}
