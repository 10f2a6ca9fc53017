//! Who owns what of a set, from `metadata.managedFields`.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{or_default, time};
use crate::model::FieldOwner;

/// One entry of `metadata.managedFields`; of the fields only those that are asked about.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(deserialize_with = "or_default")]
    manager: String,
    #[serde(deserialize_with = "or_default")]
    operation: String,
    #[serde(deserialize_with = "or_default")]
    subresource: String,
    #[serde(deserialize_with = "time")]
    time: Option<Timestamp>,
    #[serde(deserialize_with = "or_default")]
    fields_v1: Fields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "f:spec", deserialize_with = "or_default")]
    spec: SpecFields,
    #[serde(rename = "f:metadata", deserialize_with = "or_default")]
    metadata: MetadataFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SpecFields {
    #[serde(rename = "f:template")]
    template: Option<IgnoredAny>,
    #[serde(rename = "f:updateStrategy")]
    strategy: Option<IgnoredAny>,
    #[serde(rename = "f:replicas")]
    replicas: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MetadataFields {
    #[serde(rename = "f:annotations", deserialize_with = "or_default")]
    annotations: AnnotationFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnnotationFields {
    #[serde(rename = "f:phaseline.dev/rollout")]
    record: Option<IgnoredAny>,
}

impl From<Entry> for FieldOwner {
    fn from(entry: Entry) -> Self {
        let Entry { manager, operation, subresource, time, fields_v1: Fields { spec, metadata } } = entry;
        Self {
            apply: operation == "Apply",
            manager,
            subresource,
            time,
            template: spec.template.is_some(),
            strategy: spec.strategy.is_some(),
            replicas: spec.replicas.is_some(),
            record: metadata.annotations.record.is_some(),
        }
    }
}
