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
        Self { resource, namespace: namespace.map(str::to_owned), told }
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
