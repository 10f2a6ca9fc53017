//! A watch: what changed since a version, told line by line.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Limits;
use super::options::ListOptions;
use super::read::not_ahead;
use super::select::Selection;
use super::view::View;
use crate::sim::status::Status;
use crate::sim::store::Change;
use crate::sim::world::World;

/// How often a watch that wants bookmarks gets one.
const BOOKMARK_EVERY: SignedDuration = SignedDuration::from_secs(60);

/// How long before its end a watch gets a last one.
const LAST_BOOKMARK: SignedDuration = SignedDuration::from_secs(2);

/// A watch that somebody holds open.
#[derive(Debug)]
pub struct Watch {
    view: View,
    namespace: Option<String>,
    selection: Selection,
    /// What it begins with.
    start: Start,
    /// Up to which version everything was told.
    told: u64,
    /// When the next bookmark is due; none: it wants none, or had its last.
    bookmark: Option<Timestamp>,
    ends: Timestamp,
    /// Whether it has told anything.
    begun: bool,
    /// Who holds it open.
    pub(crate) user: String,
    /// What it has to tell, and not before that time: a fault.
    held: Option<(Timestamp, Poll)>,
}

/// What a watch tells before the first change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// What is there; and where that ends, if it wants to know.
    State { end: bool },
    /// Nothing, or no longer anything.
    Changes,
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
    /// Begins a watch.
    ///
    /// # Errors
    /// 500 for a version that is none, as the server has it; 504 where it wants all there is at a version to come.
    pub(crate) fn new(
        world: &World,
        view: View,
        namespace: Option<&str>,
        selection: Selection,
        options: &ListOptions,
    ) -> Result<Self, Status> {
        let version = options.number().map_err(|why| Status::new(500, "", why))?;
        let state = options.initial.unwrap_or(version.is_none_or(|it| it == 0));
        if state {
            not_ahead(world, version)?;
        }
        let start = if state {
            Start::State { end: options.initial == Some(true) && options.bookmarks }
        } else {
            Start::Changes
        };
        let seconds = options.timeout.unwrap_or(Limits::WATCH_SECONDS);
        let ends = after(world.now, SignedDuration::from_secs(seconds.into()));
        let mut watch = Self {
            view,
            namespace: namespace.map(str::to_owned),
            selection,
            start,
            // Without a version a watch that wants no state begins with what comes next.
            told: version.filter(|it| *it > 0).unwrap_or(world.store.version()),
            bookmark: None,
            ends,
            begun: false,
            user: String::new(),
            held: None,
        };
        watch.bookmark = options.bookmarks.then(|| watch.next_bookmark(world.now)).flatten();
        Ok(watch)
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
        if let Start::State { end } = self.start {
            self.start = Start::Changes;
            self.told = world.store.version();
            self.tell_state(world, end, &mut lines);
        }
        let oldest = world.store.watched_from();
        let Some(changes) = world.store.since(self.told).filter(|_| self.told >= oldest) else {
            let message = format!("too old resource version: {} ({oldest})", self.told);
            lines.push(json!({"type": "ERROR", "object": Status::expired(message).to_json()}));
            return Poll { lines, ended: true, again: None };
        };
        for change in changes {
            if let Some((kind, object)) = self.seen(change) {
                lines.push(self.line(world.now, kind, &object));
            }
        }
        self.told = self.told.max(world.store.version());
        if self.bookmark.is_some_and(|due| due <= world.now) {
            lines.push(self.mark(world, json!({})));
            self.bookmark = self.next_bookmark(world.now);
        }
        let ended = world.now >= self.ends;
        let again = self.bookmark.map_or(self.ends, |due| due.min(self.ends));
        Poll { lines, ended, again: (!ended).then_some(again) }
    }

    fn tell_state(&mut self, world: &World, end: bool, lines: &mut Vec<Value>) {
        for (_, object) in world.store.list(self.view.resource, self.namespace.as_deref()) {
            if self.selection.takes(object) {
                lines.push(self.view.line(world.now, "ADDED", object, !self.begun));
                self.begun = true;
            }
        }
        if end {
            lines.push(self.mark(world, json!({"k8s.io/initial-events-end": "true"})));
        }
    }

    /// A change as it looks through the selectors: what comes into sight is added, what goes out of it deleted.
    fn seen(&self, change: &Change) -> Option<(&'static str, Value)> {
        let here = self.namespace.as_ref().is_none_or(|namespace| *namespace == change.key.namespace);
        if change.key.resource != self.view.resource || !here {
            return None;
        }
        let before = change.before.as_ref().filter(|before| self.selection.takes(before));
        let is = !change.gone && self.selection.takes(&change.object);
        match (before, is) {
            (None, false) => None,
            (None, true) => Some(("ADDED", Value::clone(&change.object))),
            (Some(_), true) => Some(("MODIFIED", Value::clone(&change.object))),
            (Some(_), false) if change.gone => Some(("DELETED", Value::clone(&change.object))),
            (Some(before), false) => {
                let mut object = Value::clone(before);
                object["metadata"]["resourceVersion"] = change.version.to_string().into();
                Some(("DELETED", object))
            }
        }
    }

    fn line(&mut self, now: Timestamp, kind: &str, object: &Value) -> Value {
        let line = self.view.line(now, kind, object, !self.begun);
        self.begun = true;
        line
    }

    /// A bookmark: up to this version everything was told.
    fn mark(&mut self, world: &World, annotations: Value) -> Value {
        let mut object = self.view.empty();
        object["metadata"]["resourceVersion"] = self.told.to_string().into();
        if annotations.as_object().is_some_and(|it| !it.is_empty()) {
            object["metadata"]["annotations"] = annotations;
        }
        self.line(world.now, "BOOKMARK", &object)
    }

    /// When the bookmark after this moment is due; none where the watch ends before.
    fn next_bookmark(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.ends.checked_sub(LAST_BOOKMARK).unwrap_or(self.ends);
        let due = after(now, BOOKMARK_EVERY).min(last);
        (due > now).then_some(due)
    }
}

fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}
