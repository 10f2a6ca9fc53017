//! The Git adapter against the real `git`.

mod damage;
mod fetch;
mod files;
mod history;
mod http;
mod revisions;
mod ssh;
mod watch;

use phaseline::git::{Mirror, SourceConfig};
use phaseline::model::CommitId;

use crate::support::repo::Repo;

/// The source that a repository's origin is.
fn source(repo: &Repo) -> SourceConfig {
    SourceConfig { url: repo.origin_url(), state_dir: repo.state_dir(), ..SourceConfig::default() }
}

/// The origin's mirror, not yet fetched into.
fn mirror(repo: &Repo) -> Mirror {
    Mirror::open(&source(repo)).unwrap()
}

fn id(text: impl Into<String>) -> CommitId {
    CommitId(text.into())
}

/// An error with its causes, as it is shown at the edge.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text += &format!(": {cause}");
        next = cause.source();
    }
    text
}
