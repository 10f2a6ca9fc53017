//! Which owners a claim should have, by the retention policy of its set.
//!
//! | whenScaled, whenDeleted | controller of the claim |
//! |---|---|
//! | Retain, Retain | none |
//! | Retain, Delete | the set |
//! | Delete, Retain | the pod, while it is one too many |
//! | Delete, Delete | the pod while it is one too many, else the set |
//!
//! The garbage collector does the deleting.

use serde_json::Value;

use super::set::Set;
use crate::sim::controllers::meta::{controller_reference, controls, of_owner, owners, set_owners};

/// What the policy wants of the claims of one pod.
pub(super) struct Wanted<'a> {
    set: &'a Set,
    pod_name: &'a str,
    pod_uid: &'a str,
    set_owns: bool,
    pod_owns: bool,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(set: &'a Set, pod_name: &'a str, pod_uid: &'a str, ordinal: i64) -> Self {
        let condemned = !set.includes(ordinal);
        let pod_owns = set.retention.when_scaled && condemned;
        Self { set, pod_name, pod_uid, set_owns: set.retention.when_deleted && !pod_owns, pod_owns }
    }

    /// Whether a claim needs no change; one that belonged to an earlier set or pod of the name is not touched.
    ///
    /// Mirrors `isClaimOwnerUpToDate` in `stateful_set_utils.go`.
    pub(super) fn is_met(&self, claim: &Value) -> bool {
        if owners(claim).is_empty() {
            return !self.set_owns && !self.pod_owns;
        }
        let set = self.set;
        if has_stale_owner(claim, "apps/v1", "StatefulSet", &set.name, &set.uid)
            || has_stale_owner(claim, "v1", "Pod", self.pod_name, self.pod_uid)
        {
            return true;
        }
        let owned_by = |uid: &str| owners(claim).iter().any(|owner| of_owner(owner, "uid") == uid);
        if self.has_foreign_controller(claim) {
            return !owned_by(&set.uid) && !owned_by(self.pod_uid);
        }
        let ours = |owner: &&Value| [set.uid.as_str(), self.pod_uid].contains(&of_owner(owner, "uid"));
        if owners(claim).iter().filter(ours).any(|owner| !controls(owner)) {
            return false;
        }
        owned_by(&set.uid) == self.set_owns && owned_by(self.pod_uid) == self.pod_owns
    }

    /// Whether somebody else controls it. Where everything is retained that is nobody's business.
    ///
    /// Mirrors `hasUnexpectedController`.
    pub(super) fn has_foreign_controller(&self, claim: &Value) -> bool {
        let retention = self.set.retention;
        (retention.when_scaled || retention.when_deleted)
            && owners(claim).iter().any(|owner| match self.named(owner) {
                Some(uid) => of_owner(owner, "uid") != uid,
                None => controls(owner),
            })
    }

    /// The claim with the owners that are wanted; where somebody else controls it, without ours.
    ///
    /// Mirrors `updateClaimOwnerRefForSetAndPod`.
    pub(super) fn put(&self, claim: &Value) -> Value {
        let foreign = self.has_foreign_controller(claim);
        let mut kept: Vec<Value> = owners(claim).iter().filter(|owner| self.named(owner).is_none()).cloned().collect();
        let mut add = |api_version, kind, name: &str, uid: &str| {
            if !kept.iter().any(|owner| of_owner(owner, "uid") == uid) {
                kept.push(controller_reference(api_version, kind, name, uid));
            }
        };
        if !foreign && self.pod_owns {
            add("v1", "Pod", self.pod_name, self.pod_uid);
        }
        if !foreign && self.set_owns {
            add("apps/v1", "StatefulSet", &self.set.name, &self.set.uid);
        }
        let mut claim = claim.clone();
        set_owners(&mut claim, kept);
        claim
    }

    /// The uid that an owner of the set's or the pod's name should have; none for other owners.
    fn named(&self, owner: &Value) -> Option<&str> {
        if refers_to(owner, "apps/v1", "StatefulSet", &self.set.name) {
            return Some(&self.set.uid);
        }
        refers_to(owner, "v1", "Pod", self.pod_name).then_some(self.pod_uid)
    }
}

/// Whether the first reference to that name is to another object that had it before.
///
/// Mirrors `hasStaleOwnerRef`.
pub(super) fn has_stale_owner(claim: &Value, api_version: &str, kind: &str, name: &str, uid: &str) -> bool {
    let named = owners(claim).iter().find(|owner| refers_to(owner, api_version, kind, name));
    named.is_some_and(|owner| of_owner(owner, "uid") != uid)
}

fn refers_to(owner: &Value, api_version: &str, kind: &str, name: &str) -> bool {
    of_owner(owner, "name") == name && of_owner(owner, "kind") == kind && of_owner(owner, "apiVersion") == api_version
}
