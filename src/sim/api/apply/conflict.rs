//! Why an apply is refused, in the server's words.

use std::collections::BTreeMap;

use serde_json::json;

use super::go;
use super::owners::Owner;
use crate::sim::status::Status;

/// A field that somebody else owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// What tells its owner from others.
    id: String,
    /// The owner as a message names it.
    owner: String,
    path: String,
}

impl Conflict {
    pub(super) fn new(owner: &Owner, path: String) -> Self {
        let mut name = go::quoted(&owner.manager);
        if !owner.subresource.is_empty() {
            name.push_str(&format!(" with subresource {}", go::quoted(&owner.subresource)));
        }
        if !owner.applies {
            name.push_str(&format!(" using {}", owner.api_version));
        }
        Self { id: owner.id(), owner: name, path }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// Why an apply is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyError {
    /// 409: fields that others own.
    Conflicts(Conflicts),
    /// 400.
    BadRequest(String),
    /// 500, without a reason: what was applied is not as the API declares it.
    Mistyped(String),
}

/// Fields that others own; never none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub(super) Vec<Conflict>);

impl Conflicts {
    fn message(&self) -> String {
        if let [one] = self.0.as_slice() {
            return format!("Apply failed with 1 conflict: conflict with {}: {}", one.owner, one.path);
        }
        let mut by_owner: BTreeMap<&str, (&str, Vec<&str>)> = BTreeMap::new();
        for conflict in &self.0 {
            by_owner.entry(&conflict.id).or_insert((&conflict.owner, Vec::new())).1.push(&conflict.path);
        }
        let mut lines = Vec::new();
        for (owner, paths) in by_owner.into_values() {
            lines.push(format!("conflicts with {owner}:"));
            lines.extend(paths.into_iter().map(|path| format!("- {path}")));
        }
        format!("Apply failed with {} conflicts: {}", self.0.len(), lines.join("\n"))
    }
}

impl ApplyError {
    /// As it is answered.
    pub fn status(&self) -> Status {
        match self {
            Self::Conflicts(conflicts) => {
                let mut status = Status::new(409, "Conflict", conflicts.message());
                let causes = conflicts.0.iter().map(|conflict| {
                    json!({
                        "reason": "FieldManagerConflict",
                        "message": format!("conflict with {}", conflict.owner),
                        "field": conflict.path,
                    })
                });
                status.details = json!({"causes": causes.collect::<Vec<_>>()});
                status
            }
            Self::BadRequest(message) => Status::bad_request(message),
            Self::Mistyped(message) => Status::new(500, "", message),
        }
    }
}
