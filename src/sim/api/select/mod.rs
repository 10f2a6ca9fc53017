//! Which objects of a kind a request is about: label and field selectors.

mod field;
mod label;

use serde_json::Value;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;

use crate::sim::request::Request;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// Both selectors of a request; the default takes everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// The selectors of a request. `newer`: the fields are named as events.k8s.io names them.
    ///
    /// # Errors
    /// 400 as the server words it.
    pub(crate) fn read(resource: Resource, newer: bool, request: &Request) -> Result<Self, Status> {
        let labels = LabelSelector::parse(request.parameter("labelSelector").unwrap_or_default())?;
        let fields = FieldSelector::parse(request.parameter("fieldSelector").unwrap_or_default(), resource, newer)?;
        Ok(Self { labels, fields })
    }

    /// Whether everything is taken.
    pub(crate) fn is_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is taken.
    pub(crate) fn takes(&self, object: &Value) -> bool {
        self.labels.takes(&object["metadata"]["labels"]) && self.fields.takes(object)
    }
}
