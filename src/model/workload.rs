//! Names and numbers of a workload, each a type of its own so that they are never mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The partition of a set at rest: above every ordinal there can be, so that nothing rolls except through a plan.
pub const PARKED: Partition = Partition(i32::MAX as u32);

/// One StatefulSet by name: what manifests, plans and live objects are matched on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkloadId {
    /// The namespace; never empty once a default has been filled in.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl WorkloadId {
    /// Makes an id from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A pod's number as its name shows it: `web-7` is ordinal 7, whatever `spec.ordinals.start` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(pub u32);

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `spec.updateStrategy.rollingUpdate.partition`: an offset counted from `spec.ordinals.start`, not an ordinal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(pub u32);

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A Git commit by its full object id, 40 lower-case hexadecimal digits; empty where there is none (an adopted set).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(pub String);

impl CommitId {
    /// The first ten digits, as shown to people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The digest of a pod template: SHA-256 over the canonical JSON of the defaulted template, 20 hexadecimal digits of it.
///
/// 80 bits are kept (the rollout record has to stay small); ten digits are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TemplateHash(pub String);

impl TemplateHash {
    /// The first ten digits, as shown to people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl fmt::Display for TemplateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}
