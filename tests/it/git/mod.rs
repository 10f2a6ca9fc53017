//! The Git adapter against the real `git`.

mod clone;
mod damage;
mod fetch;
mod files;
mod history;
mod http;
mod index;
mod lineage;
mod revisions;
mod scenarios;
mod ssh;
mod upkeep;
mod watch;

use phaseline::git::{Index, Mirror, Reader, SourceConfig};
use phaseline::model::{CommitId, TemplateHash, WorkloadId};
use phaseline::revision::reading::Reading;

use crate::support::repo::Repo;

/// The source that a repository's origin is.
fn source(repo: &Repo) -> SourceConfig {
    SourceConfig { url: repo.origin_url(), state_dir: repo.state_dir(), ..SourceConfig::default() }
}

/// The origin's mirror, not yet fetched into.
fn mirror(repo: &Repo) -> Mirror {
    Mirror::open(&source(repo)).unwrap()
}

/// Reads files whose lines are `name=template`; one that begins with `!` cannot be read, `name=` is a broken document.
fn reading(content: &[u8]) -> Reading {
    let text = String::from_utf8_lossy(content);
    let mut reading = Reading { unreadable: text.starts_with('!'), ..Reading::default() };
    for (name, hash) in text.lines().filter_map(|line| line.split_once('=')) {
        match hash {
            "" => reading.broken.push(WorkloadId::new("ns", name)),
            hash => reading.templates.push((WorkloadId::new("ns", name), TemplateHash(hash.into()))),
        }
    }
    reading
}

/// A reader of such files.
fn reader() -> Reader {
    Reader { version: "test".into(), namespace: "ns".into(), read: reading }
}

/// The index of a mirror's history, as it was kept.
fn index(mirror: &Mirror) -> Index {
    Index::open(mirror, reader())
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
