//! Replaces pods of older revisions, from the highest ordinal down to the partition.

use std::sync::Arc;

use super::errors::Errors;
use super::pod::{Pod, Replica};
use super::status::SetStatus;
use super::{Found, Sync};
use crate::sim::Version;
use crate::sim::status::Status;

impl Sync<'_> {
    /// Deletes what has to be replaced, as far as the budget goes.
    pub(super) fn update_loop(
        &mut self,
        replicas: &[Replica],
        found: &Found,
        status: &mut SetStatus,
    ) -> Result<(), Errors> {
        match (self.compat.max_unavailable, self.compat.version) {
            (false, _) => self.one_by_one(replicas, found, status),
            (true, Version::V1_33 | Version::V1_36) => self.within_budget(replicas, found, status),
            (true, Version::V1_37) => self.in_two_phases(replicas, found, status),
        }
    }

    /// The gate off: the highest pod of another revision, once all above it are available.
    ///
    /// Mirrors the end of `updateStatefulSet`.
    fn one_by_one(&mut self, replicas: &[Replica], found: &Found, status: &mut SetStatus) -> Result<(), Errors> {
        for replica in self.candidates(replicas) {
            if self.is_outdated(replica, found) {
                self.replace(replica, found, status)?;
                return Ok(());
            }
            if self.is_unavailable(replica) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The gate on, up to 1.36: whatever is unavailable, be it below the partition or of an older revision, takes from
    /// the budget.
    ///
    /// Mirrors `updateStatefulSetAfterInvariantEstablished`.
    fn within_budget(&mut self, replicas: &[Replica], found: &Found, status: &mut SetStatus) -> Result<(), Errors> {
        let budget = self.budget(replicas)?;
        let mut left = usize::try_from(budget).unwrap_or(0);
        for replica in self.candidates(replicas) {
            if left == 0 {
                break;
            }
            if self.is_outdated(replica, found) {
                self.replace(replica, found, status)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// The gate on, from 1.37: under Parallel, unavailable pods of older revisions go first and cost nothing.
    fn in_two_phases(&mut self, replicas: &[Replica], found: &Found, status: &mut SetStatus) -> Result<(), Errors> {
        let budget = self.budget(replicas)?;
        let stale = |sync: &Self, it: &Replica| sync.is_unavailable(it) && sync.is_outdated(it, found);
        let any_stale = self.set.parallel && replicas.iter().any(|it| stale(self, it));
        if budget <= 0 && !any_stale {
            return Ok(());
        }
        if self.set.parallel {
            for replica in self.candidates(replicas).filter(|it| matches!(it, Replica::Pod(_))) {
                if stale(self, replica) {
                    self.replace(replica, found, status)?;
                }
            }
        }
        let mut left = usize::try_from(budget).unwrap_or(0);
        for replica in self.candidates(replicas) {
            if left == 0 {
                break;
            }
            let due = self.is_outdated(replica, found) && !(self.set.parallel && self.is_unavailable(replica));
            if due {
                self.replace(replica, found, status)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// How many more may become unavailable; below zero where too many are.
    fn budget(&self, replicas: &[Replica]) -> Result<i64, Errors> {
        let most = self.set.max_unavailable().map_err(Errors::of)?;
        let away = replicas.iter().filter(|it| self.is_unavailable(it)).count();
        Ok(most.saturating_sub(i64::try_from(away).unwrap_or(i64::MAX)))
    }

    /// The places from the top down to the partition, which counts from the first ordinal.
    fn candidates<'r>(&self, replicas: &'r [Replica]) -> impl Iterator<Item = &'r Replica> + use<'r> {
        let from = usize::try_from(self.set.partition()).unwrap_or(0);
        replicas.get(from..).unwrap_or_default().iter().rev()
    }

    /// Whether it is of another revision than the update's and not going already.
    fn is_outdated(&self, replica: &Replica, found: &Found) -> bool {
        match replica {
            Replica::Pod(pod) => pod.revision != found.update.name && !pod.terminating,
            Replica::Missing { update, .. } => !update && found.current.name != found.update.name,
        }
    }

    /// Deletes the pod of a place. The count goes down whatever the pod's revision was: below zero, and the server
    /// refuses the status.
    fn replace(&mut self, replica: &Replica, found: &Found, status: &mut SetStatus) -> Result<(), Status> {
        let done = match replica {
            Replica::Pod(pod) => self.delete_pod(pod),
            // Made a moment ago in this same sync, of the current revision.
            Replica::Missing { ordinal, update } => {
                let object = super::build::pod(self.set, found.template(*update), *ordinal, "");
                self.delete_pod(&Pod::read(Arc::new(object), self.set))
            }
        };
        match done {
            // Only 1.33 says so.
            Err(refusal) if refusal.reason != "NotFound" => Err(refusal),
            _ => {
                status.current -= 1;
                Ok(())
            }
        }
    }
}
