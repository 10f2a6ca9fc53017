//! Adopts the pods that belong to a set and releases those that do not any more.

use std::sync::Arc;

use serde_json::json;

use super::Sync;
use super::errors::Errors;
use super::pod::{Controller, Pod};
use crate::sim::controllers::meta;
use crate::sim::resource::Resource;

impl Sync<'_> {
    /// The pods of the set, by name.
    ///
    /// Mirrors `getPodsForStatefulSet` and `ClaimPods` in `pkg/controller/controller_ref_manager.go`.
    pub(super) fn claim_pods(&mut self) -> Result<Vec<Arc<Pod>>, Errors> {
        let objects = self.control.listed(Resource::Pods, Some(&self.set.namespace));
        let all: Vec<Arc<Pod>> = self.memory.pods.read(objects, self.set).to_vec();
        let mut claimed = Vec::with_capacity(all.len());
        let mut failed = Vec::new();
        let mut may_adopt = None;
        for pod in all {
            let kept = match pod.controller {
                Controller::Other => continue,
                Controller::Set if pod.matches => Ok(true),
                Controller::Set if self.set.terminating => Ok(false),
                Controller::Set => self.release(&pod).map(|()| false),
                Controller::Nobody if self.set.terminating || !pod.matches || pod.terminating => continue,
                Controller::Nobody => self.adopt(&pod, &mut may_adopt),
            };
            match kept {
                Ok(true) => claimed.push(pod),
                Ok(false) => {}
                Err(error) => failed.push(error),
            }
        }
        Errors::all(failed).map(|()| claimed)
    }

    /// Takes the set out of a pod's owners; that the pod is gone or another one is no error.
    fn release(&mut self, pod: &Pod) -> Result<(), Errors> {
        let patch = json!({"metadata": {
            "uid": pod.uid,
            "ownerReferences": [{"$patch": "delete", "uid": self.set.uid}],
        }});
        match self.control.patch_owners(Resource::Pods, &self.set.namespace, &pod.name, &patch) {
            Err(refusal) if !["NotFound", "Invalid"].contains(&refusal.reason) => Err(refusal.into()),
            _ => Ok(()),
        }
    }

    /// Makes the set a pod's controller; whether the pod is still there.
    fn adopt(&mut self, pod: &Pod, may_adopt: &mut Option<Result<(), String>>) -> Result<bool, Errors> {
        if let Err(why) = may_adopt.get_or_insert_with(|| self.may_adopt()) {
            let (namespace, name, uid) = (&self.set.namespace, &pod.name, &pod.uid);
            return Err(Errors::of(format!("can't adopt Pod {namespace}/{name} ({uid}): {why}")));
        }
        let owner = meta::controller_reference("apps/v1", "StatefulSet", &self.set.name, &self.set.uid);
        let patch = json!({"metadata": {"ownerReferences": [owner], "uid": pod.uid}});
        match self.control.patch_owners(Resource::Pods, &self.set.namespace, &pod.name, &patch) {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.reason == "NotFound" => Ok(false),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Asks the API, not the cache, whether the set is still the one that the cache shows: nothing is adopted for one
    /// that is going.
    ///
    /// Mirrors `canAdoptFunc` in `stateful_set.go` and `RecheckDeletionTimestamp`.
    pub(super) fn may_adopt(&mut self) -> Result<(), String> {
        let (namespace, name) = (&self.set.namespace, &self.set.name);
        let fresh = self.control.get(Resource::StatefulSets, namespace, name);
        let fresh = fresh.map_err(|refusal| format!("can't recheck DeletionTimestamp: {}", refusal.message))?;
        let uid = meta::text(&fresh, "uid");
        if uid != self.set.uid {
            return Err(format!(
                "can't recheck DeletionTimestamp: original StatefulSet {namespace}/{name} is gone: got uid {uid}, \
                 wanted {}",
                self.set.uid
            ));
        }
        if meta::terminating(&fresh) {
            // As Go prints a time.
            let at = meta::text(&fresh, "deletionTimestamp").replace('T', " ").replace('Z', " +0000 UTC");
            return Err(format!("{namespace}/{name} has just been deleted at {at}"));
        }
        Ok(())
    }
}
