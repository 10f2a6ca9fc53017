//! Says what one blob holds of templates: which workloads, and the digests by which they are told apart.

use serde_json::Value;

use super::digest;
use crate::manifest::{parse, stateful_set};
use crate::model::{Diagnostic, TemplateHash, WorkloadId};

/// What one blob says about templates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The workloads it defines, with the digests of their templates.
    pub templates: Vec<(WorkloadId, TemplateHash)>,
    /// Workloads it names, but whose documents cannot be used: their last good templates stay in force.
    pub broken: Vec<WorkloadId>,
    /// The blob cannot be read at all: whatever its path held before or after stays in force.
    pub unreadable: bool,
}

impl Reading {
    /// Reads the content of a file. A workload whose manifest states no namespace has an empty one here.
    pub fn of(bytes: &[u8]) -> Self {
        let (documents, diagnostics) = parse("", bytes);
        let mut reading = Self {
            // A file that could be read in part may have held any workload.
            unreadable: diagnostics.iter().any(Diagnostic::is_error),
            ..Self::default()
        };
        for document in documents.iter().filter(|document| stateful_set::is_meant(document)) {
            let read = stateful_set::read(document, "");
            match (read.manifest, read.workload) {
                (Some(manifest), _) => {
                    let template = manifest.value.pointer("/spec/template").unwrap_or(&Value::Null);
                    reading.templates.push((manifest.workload.clone(), digest::template(template).hash));
                }
                (None, Some(workload)) => reading.broken.push(workload),
                (None, None) => {}
            }
        }
        reading
    }

    /// Every workload it names.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadId> {
        self.templates.iter().map(|(workload, _)| workload).chain(&self.broken)
    }

    /// The same with this namespace where a manifest states none.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        let named = self.templates.iter_mut().map(|(workload, _)| workload).chain(&mut self.broken);
        for workload in named.filter(|workload| workload.namespace.is_empty()) {
            namespace.clone_into(&mut workload.namespace);
        }
        self
    }

    /// The same with only the workloads that are wanted.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&WorkloadId) -> bool) -> Self {
        Self {
            templates: self.templates.iter().filter(|(workload, _)| wanted(workload)).cloned().collect(),
            broken: self.broken.iter().filter(|workload| wanted(workload)).cloned().collect(),
            unreadable: self.unreadable,
        }
    }
}
