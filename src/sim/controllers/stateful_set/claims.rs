//! Creates the claims of a pod, and keeps their owners as the retention policy wants them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::build;
use super::errors::Errors;
use super::pod::Pod;
use super::retention::{Wanted, has_stale_owner};
use super::{Severity, Sync, pod_control::Verb};
use crate::sim::Version;
use crate::sim::controllers::meta;
use crate::sim::resource::Resource;

/// The claims of a namespace as they were seen last, for one set: as long as they and the set's spec stay, a pod's claims
/// need not be looked at again.
#[derive(Debug, Default)]
pub(super) struct Seen {
    claims: Vec<Arc<Value>>,
    of: (String, i64),
    look: u64,
}

impl Sync<'_> {
    /// Looks whether any claim changed.
    pub(super) fn look_at_claims(&mut self) {
        if self.set.claim_templates().is_empty() {
            return;
        }
        let generation = self.set.object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        let of = (self.set.uid.clone(), generation);
        let claims = self.control.listed(Resource::Claims, Some(&self.set.namespace));
        let seen = &mut self.memory.claims;
        let same =
            seen.claims.len() == claims.len() && seen.claims.iter().zip(&claims).all(|(one, it)| Arc::ptr_eq(one, it));
        if !same || seen.of != of {
            *seen = Seen { claims, of, look: seen.look + 1 };
        }
    }

    /// Creates the claims that a pod lacks; one that is on its way out is an error, since the pod would get it.
    ///
    /// Mirrors `createPersistentVolumeClaims` in `stateful_pod_control.go`.
    pub(super) fn create_claims(&mut self, pod: &Pod) -> Result<(), Errors> {
        let mut failed = Vec::new();
        for claim in build::claims(self.set, pod.ordinal) {
            let name = meta::text(&claim, "name").to_owned();
            match self.control.cached(Resource::Claims, &self.set.namespace, &name) {
                Some(there) if meta::terminating(&there) => {
                    failed.push(Errors::of(format!("pvc {name} is being deleted")));
                }
                Some(_) => {}
                None => match self.control.create(Resource::Claims, claim) {
                    Ok(_) => self.tell_of_claim(&name, pod, None),
                    Err(refusal) => {
                        if refusal.reason != "AlreadyExists" {
                            self.tell_of_claim(&name, pod, Some(&refusal.message));
                        }
                        failed.push(Errors::of(format!("failed to create PVC {name}: {}", refusal.message)));
                    }
                },
            }
        }
        Errors::all(failed)
    }

    /// The same for a pod that is there and waits for them.
    ///
    /// Mirrors `createMissingPersistentVolumeClaims`.
    pub(super) fn create_missing_claims(&mut self, pod: &Pod) -> Result<(), Errors> {
        self.create_claims(pod)?;
        self.update_claim_owners(pod).inspect_err(|error| self.tell_of_pod(Verb::Update, &pod.name, Some(error)))
    }

    /// Whether a claim is held by an earlier pod of this name, with which it will go.
    ///
    /// Mirrors `PodClaimIsStale`.
    pub(super) fn has_stale_claim(&self, pod_name: &str, pod_uid: &str, ordinal: i64) -> bool {
        let set = self.set;
        set.retention.when_scaled
            && set.claim_templates().iter().any(|template| {
                let name = set.claim_name(template, ordinal);
                let claim = self.control.cached(Resource::Claims, &set.namespace, &name);
                claim.is_some_and(|claim| has_stale_owner(&claim, "v1", "Pod", pod_name, pod_uid))
            })
    }

    /// Whether the claims of a pod that are there have the owners that the policy wants.
    ///
    /// Mirrors `ClaimsMatchRetentionPolicy`.
    pub(super) fn claims_have_owners(&self, pod: &Pod) -> bool {
        let (set, look) = (self.set, self.memory.claims.look);
        if look > 0 && pod.claims_fit.load(Ordering::Relaxed) == look {
            return true;
        }
        let wanted = Wanted::of(set, &pod.name, &pod.uid, pod.ordinal);
        let fit = set.claim_templates().iter().all(|template| {
            let name = set.claim_name(template, pod.ordinal);
            let claim = self.control.cached(Resource::Claims, &set.namespace, &name);
            claim.is_none_or(|claim| wanted.is_met(&claim))
        });
        if fit {
            pod.claims_fit.store(look, Ordering::Relaxed);
        }
        fit
    }

    /// Gives the claims of a pod the owners that the policy wants.
    ///
    /// Mirrors `UpdatePodClaimForRetentionPolicy`.
    pub(super) fn update_claim_owners(&mut self, pod: &Pod) -> Result<(), Errors> {
        let set = self.set;
        let wanted = Wanted::of(set, &pod.name, &pod.uid, pod.ordinal);
        for template in set.claim_templates() {
            let name = set.claim_name(template, pod.ordinal);
            let Some(claim) = self.control.cached(Resource::Claims, &set.namespace, &name) else { continue };
            if wanted.has_foreign_controller(&claim) {
                let message = format!(
                    "PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, \
                     the retention policy is ignored for this claim"
                );
                self.tell(Severity::Warning, "ConflictingController", message);
            }
            if !wanted.is_met(&claim)
                && let Err(refusal) = self.control.update(Resource::Claims, wanted.put(&claim))
            {
                let message = format!("could not update claim {name} for delete policy ownerRefs: {}", refusal.message);
                return Err(Errors::about(&refusal, message));
            }
        }
        Ok(())
    }

    fn tell_of_claim(&mut self, claim: &str, pod: &Pod, error: Option<&str>) {
        let verb = if self.compat.version == Version::V1_33 { "create" } else { "Create" };
        let (pod, set) = (&pod.name, &self.set.name);
        match error {
            None => {
                let message = format!("{verb} Claim {claim} Pod {pod} in StatefulSet {set} success");
                self.tell(Severity::Normal, "SuccessfulCreate", message);
            }
            Some(error) => {
                let message = format!("{verb} Claim {claim} for Pod {pod} in StatefulSet {set} failed error: {error}");
                self.tell(Severity::Warning, "FailedCreate", message);
            }
        }
    }
}
