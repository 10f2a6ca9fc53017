//! A ControllerRevision, read once for each version of it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::set::Set;
use crate::manifest::go_json;
use crate::revision::controller_revision;
use crate::sim::controllers::meta;

/// The label with the hash of the data.
pub(super) const HASH: &str = "controller.kubernetes.io/hash";

/// A revision as the set sees it.
#[derive(Debug)]
pub(super) struct Revision {
    pub(super) object: Arc<Value>,
    pub(super) name: String,
    /// `.revision`: the newest is the highest.
    pub(super) number: i64,
    /// `.data` in the form that Go gives it: what is equal in it is equal.
    pub(super) data: String,
    /// The hash in the label, where that is a number.
    hash: Option<i32>,
}

impl Revision {
    pub(super) fn read(object: Arc<Value>) -> Self {
        Self {
            name: meta::text(&object, "name").to_owned(),
            number: object.get("revision").and_then(Value::as_i64).unwrap_or(0),
            data: object.get("data").map(go_json::to_string).unwrap_or_default(),
            hash: meta::label(&object, HASH).parse().ok(),
            object,
        }
    }

    /// The order of revisions: by number, then by age, then by name.
    ///
    /// Mirrors `byRevision` in `pkg/controller/history/controller_history.go`.
    pub(super) fn order(&self) -> (i64, &str, &str) {
        (self.number, meta::text(&self.object, "creationTimestamp"), &self.name)
    }

    /// Whether two are equal. Where `by_hash`, labels that are numbers have to agree too: 1.33 compares them.
    ///
    /// Mirrors `EqualRevision`.
    pub(super) fn equals(&self, other: &Self, by_hash: bool) -> bool {
        let differ = by_hash && matches!((self.hash, other.hash), (Some(one), Some(two)) if one != two);
        !differ && self.data == other.data
    }

    /// The template that it brings back.
    pub(super) fn template(&self) -> &Value {
        self.object.pointer("/data/spec/template").unwrap_or(&Value::Null)
    }

    /// Whether its data replaces the template: all that controllers write does. Anything else would have to be merged
    /// into the set's template, which is not done here.
    pub(super) fn replaces(&self) -> bool {
        self.template().get("$patch").is_some_and(|it| it == "replace")
    }

    /// The template without the mark that it replaces.
    pub(super) fn bare_template(&self) -> Value {
        let mut template = self.template().clone();
        if let Some(template) = template.as_object_mut() {
            template.remove("$patch");
        }
        template
    }
}

/// The revision that a set would have made of its template, were it new.
///
/// Mirrors `newRevision` in `stateful_set_utils.go` and `NewControllerRevision`.
pub(super) fn proposed(set: &Set, data: &str, number: i64) -> Result<Revision, String> {
    let hash = controller_revision::hash_of(data, set.collision_count());
    let mut labels: Map<String, Value> =
        set.template().pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.insert(HASH.into(), hash.clone().into());
    let mut metadata = json!({
        "name": controller_revision::name_of(&set.name, &hash),
        "namespace": set.namespace,
        "labels": labels,
        "ownerReferences": [meta::controller_reference("apps/v1", "StatefulSet", &set.name, &set.uid)],
    });
    let annotations = set.object.pointer("/metadata/annotations").and_then(Value::as_object);
    if let Some(annotations) = annotations.filter(|it| !it.is_empty()) {
        metadata["annotations"] = annotations.clone().into();
    }
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": serde_json::from_str::<Value>(data).map_err(|error| error.to_string())?,
        "revision": number,
    });
    Ok(Revision::read(Arc::new(object)))
}

/// The revisions of a namespace as they were read last, and what was made of the set's template.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    read: Vec<Arc<Revision>>,
    template: Option<(Value, String)>,
    /// The generation of the set and the revision's version of which it is known that they are equal in meaning.
    pub(super) same: Option<(String, i64, String)>,
}

impl Revisions {
    /// Reads a revision, unless it is one that was read before.
    pub(super) fn read(&self, object: Arc<Value>) -> Arc<Revision> {
        let known = self.read.iter().find(|it| Arc::ptr_eq(&it.object, &object));
        known.cloned().unwrap_or_else(|| Arc::new(Revision::read(object)))
    }

    /// Remembers those of this sync.
    pub(super) fn keep(&mut self, revisions: &[Arc<Revision>]) {
        self.read = revisions.to_vec();
    }

    /// The patch of a template.
    pub(super) fn patch(&mut self, template: &Value) -> String {
        match &self.template {
            Some((known, patch)) if known == template => patch.clone(),
            _ => {
                let patch = controller_revision::patch(template);
                self.template = Some((template.clone(), patch.clone()));
                patch
            }
        }
    }
}
