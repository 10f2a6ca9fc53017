//! The strategy Recreate of 1.37: every pod of an older revision goes before the first new one comes.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::errors::Errors;
use super::main_pass::Places;
use super::pod::{Pod, Replica};
use super::status::SetStatus;
use super::{Found, Severity, Sync};

/// The condition that tells how far it is.
pub(super) const PROGRESSING: &str = "Progressing";

impl Sync<'_> {
    /// Whether the strategy is one that this version does not carry out, and says so.
    pub(super) fn is_recreate_unknown(&self) -> bool {
        self.compat.version >= crate::sim::Version::V1_37 && !self.recreate
    }

    /// The gate is closed: nothing is done, and no status written.
    pub(super) fn refuse_recreate(&mut self) -> Errors {
        let message = "unknown update strategy Recreate: the feature gate StatefulSetRecreateStrategy is off";
        self.tell(Severity::Warning, "UnknownStrategy", message.into());
        Errors::of(message)
    }

    /// Deletes what is of an older revision; the walk ends while any of it is still there, terminating or not.
    pub(super) fn recreate(
        &mut self,
        places: &Places,
        found: &Found,
        status: &mut SetStatus,
    ) -> Result<ControlFlow<()>, Errors> {
        let replicas = places.replicas.iter().filter_map(|it| match it {
            Replica::Pod(pod) => Some(pod),
            Replica::Missing { .. } => None,
        });
        let old: Vec<Arc<Pod>> = replicas
            .chain(&places.condemned)
            .filter(|pod| pod.is_created() && pod.revision != found.update.name)
            .cloned()
            .collect();
        if old.is_empty() {
            if found.current.name != found.update.name {
                self.progressing(status, "Waiting for new-revision pods to be created");
            }
            return Ok(ControlFlow::Continue(()));
        }
        self.progressing(status, "Deleting old revision pods");
        let mut failed = Vec::new();
        for pod in old.iter().filter(|pod| !pod.terminating) {
            failed.extend(self.delete_pod(pod).err().map(Errors::from));
        }
        Errors::all(failed)?;
        Ok(ControlFlow::Break(()))
    }

    fn progressing(&self, status: &mut SetStatus, message: &str) {
        status.put_condition(condition("True", "RecreateInProgress", message), self.now);
    }
}

/// The condition, without its time.
pub(super) fn condition(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": PROGRESSING, "status": status, "reason": reason, "message": message})
}
