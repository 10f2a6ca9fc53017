//! Whether objects are there that a set leans on: by their metadata alone, and only where that may be read.

use serde_json::Value;

use super::connect::{Cause, Cluster};
use super::send::{Call, RequestError, fetch};

/// A kind of object that pods are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Given {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl Given {
    /// Its kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

/// Whether an object is there; what is in it is not asked for.
///
/// # Errors
/// See [`RequestError`]; [`RequestError::Forbidden`] where it may not be read.
pub async fn exists(cluster: &Cluster, given: Given, namespace: &str, name: &str) -> Result<bool, RequestError> {
    Ok(fetch(cluster, &Call::get_metadata(given.resource(), namespace, name)).await?.is_some())
}

/// The PodDisruptionBudgets of a namespace.
///
/// # Errors
/// See [`RequestError`]; [`RequestError::Forbidden`] where they may not be read.
pub async fn disruption_budgets(cluster: &Cluster, namespace: &str) -> Result<Vec<Value>, RequestError> {
    let body = fetch(cluster, &Call::list("poddisruptionbudgets", namespace)).await?.unwrap_or_default();
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let unreadable = |error: serde_json::Error| RequestError::Undecodable {
        what: "list of PodDisruptionBudgets".to_owned(),
        source: Cause::of(&error),
    };
    let mut list: Value = serde_json::from_slice(&body).map_err(unreadable)?;
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        Some(_) | None => Ok(Vec::new()),
    }
}
