//! Server-side apply and the ownership of fields, as the API server has them.
//!
//! A port of `structured-merge-diff` (v4 as 1.33 has it, v6 as 1.36 does) and of the field manager around it
//! (`apimachinery/pkg/util/managedfields`), on plain JSON and on the table of [`default`](crate::manifest::default). A
//! [`Scope`] is a door of the API: [`Scope::apply`] is what an apply makes of an object, before it is defaulted;
//! [`Scope::updated`] is who owns what after a create, a put or any other patch, and takes objects as the server decodes
//! them. `tests/controlplane/differential` plays the same requests here and on Kubernetes' own handlers.
//!
//! Left out: objects of which the table knows nothing (and with them schemas that are deduced); sets that are told in
//! another version than the one served, which are forgotten as those of versions gone; sets written by hand that name
//! what is inside of something that is one value, which the server would mend; what differs in Go's memory only (an empty
//! list or map for none, another spelling of a quantity, a fraction of a second) within a list that is one value, which the
//! server takes for a change; quantities so large that they are others once they are written. Of several mistakes in what is applied the server tells some at random where this one
//! tells the first.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::manifest::default::{self, Level, Object, SCALE, STATEFUL_SET};
use crate::manifest::go_json;

mod compare;
mod conflict;
mod convert;
mod element;
mod go;
mod members;
mod merge;
mod owners;
mod remove;
mod scale;
mod set;
mod shape;
mod update;
mod validate;

pub use conflict::ApplyError;
pub use scale::{ownership_of_parent, ownership_of_scale};

use compare::Comparison;
use conflict::{Conflict, Conflicts};
use owners::{Owner, Owners};
use set::FieldSet;
use shape::Shape;
use update::Acting;

/// Where client-side apply notes what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The most that all annotations of an object may take.
const MOST_ANNOTATIONS: usize = 256 << 10;

/// A door of the API: a kind of objects, at one version, by itself or by a subresource.
#[derive(Clone, Copy)]
pub struct Scope {
    object: &'static Object,
    group_version: &'static str,
    kind: &'static str,
    subresource: &'static str,
    level: Level,
    /// What cannot be set by it.
    reset: Option<&'static str>,
}

impl Scope {
    /// StatefulSets.
    pub const fn stateful_set(level: Level) -> Self {
        let (object, group_version, kind) = (&STATEFUL_SET, "apps/v1", "StatefulSet");
        Self { object, group_version, kind, subresource: "", level, reset: Some("status") }
    }

    /// Their status.
    pub const fn stateful_set_status(level: Level) -> Self {
        Self { subresource: "status", reset: Some("spec"), ..Self::stateful_set(level) }
    }

    /// The scale of anything; see [`ownership_of_scale`].
    pub const fn scale(level: Level) -> Self {
        let (object, group_version, kind) = (&SCALE, "autoscaling/v1", "Scale");
        Self { object, group_version, kind, subresource: "scale", level, reset: None }
    }

    /// What `applied` makes of the live object, or of none: the fields that are given win, those that the same manager
    /// applied before and that are not given go, unless somebody else owns them. To be defaulted, checked and stored.
    /// What an apply says again changes nothing, not even a time.
    ///
    /// # Errors
    /// As the server refuses it.
    pub fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        manager: &str,
        force: bool,
        now: &str,
    ) -> Result<Value, ApplyError> {
        let mut owners = Owners::read(managed_fields(live))
            .map_err(|why| ApplyError::Mistyped(format!("failed to decode managed fields: {why}")))?;
        let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) != (self.group_version, self.kind) {
            let given = group_version_kind(text("apiVersion"), text("kind"));
            return Err(ApplyError::BadRequest(format!("invalid object type: {given}")));
        }
        let live = live.map_or_else(|| self.empty(), without_managed_fields);
        if owners.all.is_empty() {
            // What was there before anybody applied is owned by somebody with a name of its own.
            owners = self.tracked(owners, &self.empty(), &live, "before-first-apply", now);
        }
        let given = managed_fields(Some(applied)).and_then(Value::as_array);
        if given.is_some_and(|given| !given.is_empty()) {
            return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
        }
        validate::check(self.shape(), applied).map_err(|why| {
            ApplyError::Mistyped(format!("failed to create typed patch object ({}): {why}", self.called(applied)))
        })?;
        let acting = self.acting();
        let owner = self.owner(manager, true);
        let id = owner.id();
        let attempt = |force| acting.apply(&live, applied, owners.clone(), owner.clone(), force);
        let (new, mut owners) = attempt(force)
            .or_else(|conflicts| {
                let left = self.not_taken_over(conflicts, &live, manager);
                if left.is_empty() { attempt(true) } else { Err(left) }
            })
            .map_err(|conflicts| ApplyError::Conflicts(Conflicts(conflicts)))?;
        if let Some(new) = &new {
            convert::check(self.shape(), new).map_err(|why| {
                let kind = group_version_kind(self.group_version, self.kind);
                let called = self.called(applied);
                let why = format!("unable to convert unstructured object to {kind}: {why}");
                ApplyError::Mistyped(format!("failed to convert new object ({called}) to proper version: {why}"))
            })?;
        }
        if let Some(owner) = owners.all.get_mut(&id) {
            owner.set = owner.set.difference(&never_owned());
            if new.is_some() {
                owner.time = Some(now.to_owned());
            }
        }
        owners.drop_empty();
        let mut object = new.unwrap_or(live);
        if manager == "kubectl" {
            note_last_applied(&mut object, applied);
        }
        owners.write_into(&mut object);
        Ok(object)
    }

    /// An object as it was put or patched, with who owns what then: what changed is the manager's, and nobody else's.
    /// Without a live object it is a new one. Both are as the server decodes them.
    pub fn updated(&self, live: Option<&Value>, new: &Value, manager: &str, now: &str) -> Value {
        let before = managed_fields(live);
        let given = managed_fields(Some(new));
        let old = || Owners::read(before).unwrap_or_default();
        let owners = if !self.subresource.is_empty() {
            old()
        } else if given.is_some_and(is_reset) {
            Owners::default()
        } else {
            // Who does not know them would take them away without meaning to.
            Owners::read(given).ok().filter(|owners| !owners.all.is_empty()).unwrap_or_else(old)
        };
        let mut new = without_managed_fields(new);
        // Of an object that was once left alone nobody owns anything.
        let is_new = live.and_then(|live| live.pointer("/metadata/uid")).is_none_or(|uid| uid == "");
        let owners = if owners.all.is_empty() && !is_new {
            owners
        } else {
            let live = live.map_or_else(|| self.empty(), without_managed_fields);
            self.tracked(owners, &live, &new, manager, now)
        };
        owners.write_into(&mut new);
        new
    }

    /// Who owns what after an update.
    fn tracked(&self, mut owners: Owners, live: &Value, new: &Value, manager: &str, now: &str) -> Owners {
        let set = self.acting().update(live, new, &mut owners).difference(&never_owned());
        if !set.is_empty() {
            let owner = self.owner(manager, false);
            let id = owner.id();
            let set = owners.all.get(&id).map_or(FieldSet::default(), |before| before.set.clone()).union(&set);
            owners.all.insert(id, Owner { set, time: Some(now.to_owned()), ..owner });
        }
        owners.cap();
        owners
    }

    /// What remains of conflicts once those are taken out that are about what client-side apply wrote, as long as it is
    /// `kubectl` that applies: it takes over from itself.
    fn not_taken_over(&self, conflicts: Vec<Conflict>, live: &Value, manager: &str) -> Vec<Conflict> {
        let noted = live.pointer("/metadata/annotations").and_then(|annotations| annotations.get(LAST_APPLIED));
        let noted = noted.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(noted) = noted.filter(|_| manager == "kubectl") else { return conflicts };
        let same_version = noted.get("apiVersion").is_some_and(|version| version == self.group_version);
        // Neither is compared where it has an item twice.
        if !same_version || [&noted, live].iter().any(|it| validate::check(self.shape(), it).is_err()) {
            return conflicts;
        }
        let change = Comparison::of(self.shape(), &noted, live);
        let changed = change.modified.union(&change.added).union(&change.removed);
        let taken: BTreeSet<String> =
            members::of(self.shape(), &noted).difference(&changed).paths().into_iter().collect();
        conflicts.into_iter().filter(|conflict| !taken.contains(conflict.path())).collect()
    }

    /// An object as the server decodes it from a request: defaulted, but with what stands behind closed gates; and with
    /// an empty list of managers, which asks to forget them.
    pub fn decoded(&self, object: &Value) -> Value {
        let mut decoded = default::decoded(self.object, object, self.level);
        if let Some(managed) = managed_fields(Some(object)).filter(|managed| is_reset(managed)) {
            decoded["metadata"]["managedFields"] = managed.clone();
        }
        decoded
    }

    /// The same without what stands behind closed gates: as it is stored.
    pub fn stored(&self, object: &Value) -> Value {
        default::stored(self.object, object, self.level)
    }

    fn shape(&self) -> Shape {
        Shape::root(self.object, self.level)
    }

    fn acting(&self) -> Acting<'_> {
        let reset = self.reset.map_or(FieldSet::default(), |field| FieldSet::of(&[&[field]]));
        Acting { of: self.shape(), api_version: self.group_version, reset }
    }

    fn owner(&self, manager: &str, applies: bool) -> Owner {
        Owner {
            manager: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            subresource: self.subresource.to_owned(),
            api_version: self.group_version.to_owned(),
            applies,
            time: None,
            set: FieldSet::default(),
        }
    }

    /// An object of which nothing is given, as Go writes it.
    fn empty(&self) -> Value {
        let metadata = match self.level {
            Level::V1_33 => json!({"creationTimestamp": null}),
            Level::V1_36 => json!({}),
        };
        match self.kind {
            "StatefulSet" => json!({
                "apiVersion": self.group_version,
                "kind": self.kind,
                "metadata": metadata,
                "spec": {
                    "selector": null,
                    "template": {"metadata": metadata, "spec": {"containers": null}},
                    "serviceName": "",
                    "updateStrategy": {},
                },
                "status": {"replicas": 0, "availableReplicas": 0},
            }),
            _ => json!({
                "apiVersion": self.group_version,
                "kind": self.kind,
                "metadata": metadata,
                "spec": {},
                "status": {"replicas": 0},
            }),
        }
    }

    /// An object as a message names it.
    fn called(&self, object: &Value) -> String {
        let text = |name: &str| object.get("metadata").and_then(|it| it.get(name)).and_then(Value::as_str);
        let kind = group_version_kind(self.group_version, self.kind);
        format!("{}/{}; {kind}", text("namespace").unwrap_or_default(), text("name").unwrap_or_default())
    }
}

/// The same for a set that was scaled: what is spelled anew by it counts as a change.
pub fn keep_times_of_scaled(old: &Value, new: &mut Value) {
    if scale::is_spelled_alike(old) {
        keep_times(old, new);
    }
}

/// Leaves the times of managers as they were where nothing else changed. Both are as they are stored, or would be, with
/// all that a store and a strategy put in.
pub fn keep_times(old: &Value, new: &mut Value) {
    let timeless = |object: &Value| {
        let mut object = object.clone();
        let managed = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
        for entry in managed.into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        object
    };
    if managed_fields(Some(old)).is_some()
        && timeless(old) == timeless(new)
        && let (Some(before), Some(managed)) = (managed_fields(Some(old)), new.pointer_mut("/metadata/managedFields"))
    {
        *managed = before.clone();
    }
}

/// Fields that nobody owns, whoever wrote them.
fn never_owned() -> FieldSet {
    FieldSet::of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}

fn managed_fields(object: Option<&Value>) -> Option<&Value> {
    object?.get("metadata")?.get("managedFields")
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether somebody wants to begin anew: with no entries, or with one of nothing.
fn is_reset(managed: &Value) -> bool {
    let Some(entries) = managed.as_array() else { return false };
    match entries.as_slice() {
        [] => true,
        [one] => one.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

fn group_version_kind(group_version: &str, kind: &str) -> String {
    let group = if group_version.contains('/') { "" } else { "/" };
    format!("{group}{group_version}, Kind={kind}")
}

/// Keeps the note of client-side apply, where there is one, at what is applied now.
fn note_last_applied(object: &mut Value, applied: &Value) {
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    if annotations.get(LAST_APPLIED).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(Value::Object(given)) = applied.pointer_mut("/metadata/annotations") {
        given.remove(LAST_APPLIED);
    }
    annotations.insert(LAST_APPLIED.to_owned(), format!("{}\n", go_json::with_integers(&applied)).into());
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MOST_ANNOTATIONS {
        annotations.remove(LAST_APPLIED);
    }
}
