//! What comes over the wire, decoded no further than needed, as the model's records.
//!
//! The structs here name only the fields that are read; everything else is skipped while decoding and never takes
//! memory. A field that is absent or null has its default; one of another type makes the object undecodable, which is
//! the caller's to log: nothing here panics, whatever the server sends.

mod owners;
mod pod;
mod set;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use pod::{pod, pod_line};
pub(crate) use set::{controller_revision, max_unavailable, selector, set};

use crate::model::{TemplateHash, WorkloadId};
use crate::revision;

/// A list, its items not yet decoded: one that cannot be read must not hide the others.
#[derive(Deserialize)]
pub(crate) struct List<'a> {
    /// The list's own metadata.
    #[serde(default)]
    pub(crate) metadata: ListMeta,
    /// The objects.
    #[serde(borrow, default)]
    pub(crate) items: Vec<&'a RawValue>,
}

/// `metadata` of a list.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ListMeta {
    /// The version that the list shows.
    #[serde(deserialize_with = "or_default")]
    pub(crate) resource_version: String,
    /// Where the next page begins; empty on the last one.
    #[serde(rename = "continue", deserialize_with = "or_default")]
    pub(crate) next: String,
}

/// One line of a watch.
#[derive(Deserialize)]
pub(crate) struct Line<'a> {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`, or something that we do not know.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The object.
    #[serde(borrow)]
    pub(crate) object: &'a RawValue,
}

/// Just enough of any object to know which one it is.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Identity {
    /// Its metadata.
    pub(crate) metadata: IdentityMeta,
}

/// `metadata` of an [`Identity`].
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct IdentityMeta {
    /// The name.
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    /// The namespace.
    #[serde(deserialize_with = "or_default")]
    pub(crate) namespace: String,
    /// The uid.
    #[serde(deserialize_with = "or_default")]
    pub(crate) uid: String,
    /// The version.
    #[serde(deserialize_with = "or_default")]
    pub(crate) resource_version: String,
}

/// The digests of live templates by uid and generation, so that a status change does not compute them anew.
#[derive(Default)]
pub(crate) struct Templates(HashMap<String, (i64, TemplateDigest)>);

impl Templates {
    /// Only these sets are still there.
    pub(crate) fn keep(&mut self, uids: &HashSet<&str>) {
        self.0.retain(|uid, _| uids.contains(uid.as_str()));
    }

    /// The set is gone.
    pub(crate) fn forget(&mut self, uid: &str) {
        self.0.remove(uid);
    }

    fn digest(&mut self, uid: &str, generation: i64, template: Option<&RawValue>) -> TemplateDigest {
        match self.0.get(uid) {
            Some((known, digest)) if *known == generation => digest.clone(),
            _ => {
                let digest = live_template(template);
                self.0.insert(uid.to_owned(), (generation, digest.clone()));
                digest
            }
        }
    }
}

/// What a live template comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TemplateDigest {
    /// Its digest without `restartedAt`.
    pub(crate) hash: TemplateHash,
    /// `kubectl.kubernetes.io/restartedAt`; empty without one.
    pub(crate) restarted_at: String,
}

/// The digest of a live template, or of that in a ControllerRevision.
pub(crate) fn live_template(template: Option<&RawValue>) -> TemplateDigest {
    let mut value: Value = template.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    // A ControllerRevision holds its template as a patch that replaces the set's.
    if let Some(template) = value.as_object_mut() {
        template.remove("$patch");
    }
    let digest = revision::digest::template(&value);
    TemplateDigest { hash: digest.hash, restarted_at: digest.restarted_at.unwrap_or_default() }
}

/// A resourceVersion as a number; `None` where the server uses something else.
pub(crate) fn version_number(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// The labels of a selector.
pub(crate) type Labels = BTreeMap<String, String>;

fn workload(namespace: String, name: String) -> WorkloadId {
    WorkloadId { namespace, name }
}

/// A string that is looked at and dropped: borrowed where it has no escapes, empty where it is null.
#[derive(Default)]
pub(crate) struct Text<'a>(Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
        Ok(Self(Option::<Borrowed<'a>>::deserialize(input)?.map(|text| text.0).unwrap_or_default()))
    }
}

/// A field that is null is a field that is absent.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(input: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// A time that cannot be read is none.
fn time<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(Option::<String>::deserialize(input)?.and_then(|text| text.parse().ok()))
}

/// A count: below zero it is zero.
fn count(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}
