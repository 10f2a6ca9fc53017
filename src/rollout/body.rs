//! Composes what is applied: the manifest as it was written, and what is ours.

use std::sync::Arc;

use serde_json::Value;

use crate::manifest::apply_body;
use crate::model::{CommitInfo, Version};
use crate::revision::digest::RESTARTED_AT;

/// Where `kubectl rollout history` reads the cause of a change.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The body of an apply, but for partition, record, uid and resourceVersion.
///
/// `rest_of` gives everything but the template; `template_of` the template and the change cause. The restart in force is
/// put in, whoever asked for it; empty, the manifest's own is left as it is.
pub(super) fn compose(rest_of: &Version, template_of: &Version, restart: &str) -> Arc<Value> {
    let mut body = apply_body::for_apply(&rest_of.manifest, Some(&template_of.manifest));
    if body.pointer("/metadata/annotations").and_then(|all| all.get(CHANGE_CAUSE)).is_none() {
        apply_body::set_annotation(&mut body, CHANGE_CAUSE, &change_cause(&template_of.commit));
    }
    if !restart.is_empty() {
        apply_body::set_template_annotation(&mut body, RESTARTED_AT, restart);
    }
    Arc::new(body)
}

/// Commit, author and subject in one line, so that `kubectl rollout history` reads like `git log`.
fn change_cause(commit: &CommitInfo) -> String {
    let line = format!("{} {}: {}", commit.id.short(), commit.author, commit.subject);
    line.chars().filter(|char| !char.is_control()).take(200).collect()
}
