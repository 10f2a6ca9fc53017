//! Carries out one action, once.

use std::time::Duration;

use super::connect::Cluster;
use crate::model::{Action, LiveSet, Reason, WorkloadId};

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done; with the set as the server shows it now.
    Done(Option<Box<LiveSet>>),
    /// Not done: what it was decided on is no longer so. Look again.
    Moved(String),
    /// Not done: somebody else owns fields that it would change.
    Conflict {
        /// Who.
        managers: Vec<String>,
        /// Which.
        fields: Vec<String>,
    },
    /// Not done, and the same again would come to the same.
    Refused {
        /// Why, in one word.
        reason: Reason,
        /// What the server said.
        message: String,
    },
    /// Not done: the server or the way to it is in trouble. Try again later.
    Failed {
        /// What happened.
        message: String,
        /// When to come again, where the server says so.
        retry_after: Option<Duration>,
    },
}

/// Carries out one action: each request is sent once, with a precondition, and a lost answer is looked up.
pub async fn execute(cluster: &Cluster, workload: &WorkloadId, action: &Action) -> Outcome {
    let _ = (cluster, workload, action);
    Outcome::Failed { message: "not yet".into(), retry_after: None }
}

/// The record, as a JSON pointer.
pub(crate) const RECORD_PATH: &str = "/metadata/annotations/phaseline.dev~1rollout";

/// A person's request, as a JSON pointer.
pub(crate) const REQUEST_PATH: &str = "/metadata/annotations/phaseline.dev~1request";

/// An apply that changes nothing.
pub(crate) async fn dry_run(
    cluster: &Cluster,
    workload: &WorkloadId,
    manifest: &serde_json::Value,
    force: bool,
) -> Result<(Box<LiveSet>, serde_json::Value), Outcome> {
    let _ = (cluster, workload, manifest, force);
    Err(Outcome::Failed { message: "not yet".into(), retry_after: None })
}

/// Sends a write once; a lost answer is looked up.
pub(crate) async fn write(
    cluster: &Cluster,
    workload: &WorkloadId,
    call: &super::send::Call,
    done: impl Fn(&LiveSet) -> bool,
) -> Outcome {
    let _ = (cluster, workload, call, done);
    Outcome::Failed { message: "not yet".into(), retry_after: None }
}
