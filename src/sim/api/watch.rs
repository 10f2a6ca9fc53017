//! A watch: what changed since a version, told line by line.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::sim::resource::Resource;
use crate::sim::world::World;

/// A watch that somebody holds open.
#[derive(Debug)]
pub struct Watch {
    resource: Resource,
    namespace: Option<String>,
    /// Up to which version everything was told.
    told: u64,
    /// Who holds it open.
    pub(crate) user: String,
    /// What it has to tell, and not before that time: a fault.
    held: Option<(Timestamp, Poll)>,
}

/// What a watch has to tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Poll {
    /// The lines, in order.
    pub lines: Vec<Value>,
    /// Whether that was the last of it.
    pub ended: bool,
    /// When it has to be asked again though nothing changes: for a bookmark, or its end.
    pub again: Option<Timestamp>,
}

impl Watch {
    pub(crate) fn new(resource: Resource, namespace: Option<&str>, told: u64) -> Self {
        Self { resource, namespace: namespace.map(str::to_owned), told, user: String::new(), held: None }
    }

    /// Holds back what there is to tell.
    pub(crate) fn hold(&mut self, poll: Poll, until: Timestamp) -> Poll {
        self.held = Some((until, poll));
        Poll { again: Some(until), ..Poll::default() }
    }

    /// What was held back: told, or still to wait for. None where nothing was.
    pub(crate) fn held(&mut self, now: Timestamp) -> Option<Poll> {
        let (until, poll) = self.held.take()?;
        Some(if now < until { self.hold(poll, until) } else { poll })
    }

    pub(crate) fn poll(&mut self, world: &World) -> Poll {
        let mut lines = Vec::new();
        for change in world.store.since(self.told).into_iter().flatten() {
            let here = self.namespace.as_ref().is_none_or(|namespace| *namespace == change.key.namespace);
            if change.key.resource != self.resource || !here {
                continue;
            }
            let kind = match (&change.before, change.gone) {
                (_, true) => "DELETED",
                (None, false) => "ADDED",
                (Some(_), false) => "MODIFIED",
            };
            lines.push(json!({"type": kind, "object": &*change.object}));
        }
        self.told = world.store.version();
        Poll { lines, ended: false, again: None }
    }
}
