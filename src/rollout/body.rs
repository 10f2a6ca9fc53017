//! Composes what is applied: the manifest as it was written, and what is ours.

use std::sync::Arc;

use serde_json::Value;

use crate::manifest::apply_body;
use crate::model::{CommitInfo, Version};

/// Where `kubectl rollout history` reads the cause of a change.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// Where `kubectl rollout restart` leaves its wish, on the template.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// The body of an apply, but for partition, record, uid and resourceVersion.
///
/// `rest_of` gives everything but the template; `template_of` the template and the change cause. A restart that was
/// asked for on the live template is kept: as with `kubectl apply`, it stays until the manifest says otherwise.
pub(super) fn compose(rest_of: &Version, template_of: &Version, restarted_at: &str) -> Arc<Value> {
    let mut body = apply_body::for_apply(&rest_of.manifest, Some(&template_of.manifest));
    if body.pointer("/metadata/annotations").and_then(|all| all.get(CHANGE_CAUSE)).is_none() {
        apply_body::set_annotation(&mut body, CHANGE_CAUSE, &change_cause(&template_of.commit));
    }
    if !restarted_at.is_empty() && template_of.restart.is_none() {
        apply_body::set_template_annotation(&mut body, RESTARTED_AT, restarted_at);
    }
    Arc::new(body)
}

/// Commit, author and subject in one line, so that `kubectl rollout history` reads like `git log`.
fn change_cause(commit: &CommitInfo) -> String {
    let line = format!("{} {}: {}", commit.id.short(), commit.author, commit.subject);
    line.chars().filter(|char| !char.is_control()).take(200).collect()
}
