//! Creates, repairs and deletes pods, and tells about it.

use std::sync::Arc;

use super::build;
use super::errors::Errors;
use super::pod::Pod;
use super::{Severity, Sync};
use crate::sim::Version;
use crate::sim::controllers::control::Delete;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// What was done to a pod, for its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    Update,
    Delete,
}

/// How often a write that meets a conflict is tried (`retry.DefaultBackoff`).
const MOST_ATTEMPTS: usize = 4;

impl Sync<'_> {
    /// Creates a pod, its claims first.
    ///
    /// Mirrors `CreateStatefulPod` in `stateful_pod_control.go`: that the pod is there already is told to nobody.
    pub(super) fn create_pod(&mut self, pod: &Pod) -> Result<(), Errors> {
        self.create_claims(pod).inspect_err(|error| self.tell_of_pod(Verb::Create, &pod.name, Some(error)))?;
        let created = match self.control.create(Resource::Pods, pod.object.as_ref().clone()) {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.reason == "AlreadyExists" => return Err(refusal.into()),
            Err(refusal) => Err(Errors::from(refusal)),
        };
        self.update_claim_owners(pod).inspect_err(|error| self.tell_of_pod(Verb::Update, &pod.name, Some(error)))?;
        self.tell_of_pod(Verb::Create, &pod.name, created.as_ref().err());
        created
    }

    /// Puts identity, volumes and the claims' owners of a pod right; over a conflict, be it the pod's or a claim's, again.
    ///
    /// Mirrors `UpdateStatefulPod`: where only the claims were wrong, the pod is written all the same.
    pub(super) fn update_pod(&mut self, pod: &Arc<Pod>) -> Result<(), Errors> {
        let mut pod = pod.clone();
        let mut attempted = false;
        let mut done = Ok(());
        for _ in 0..MOST_ATTEMPTS {
            done = self.try_to_update(&mut pod, &mut attempted);
            if !done.as_ref().is_err_and(Errors::is_conflict) {
                break;
            }
        }
        if attempted {
            self.tell_of_pod(Verb::Update, &pod.name, done.as_ref().err());
        }
        done
    }

    fn try_to_update(&mut self, pod: &mut Arc<Pod>, attempted: &mut bool) -> Result<(), Errors> {
        let mut consistent = true;
        if !pod.identity || !pod.storage {
            let mut object = pod.object.as_ref().clone();
            if !pod.identity {
                build::put_back_identity(self.set, &mut object, pod.ordinal);
            }
            let lacks_storage = !pod.storage;
            if lacks_storage {
                build::put_storage(self.set, &mut object, pod.ordinal);
            }
            *pod = Arc::new(Pod::read(Arc::new(object), self.set));
            consistent = false;
            if lacks_storage {
                self.create_claims(pod).inspect_err(|error| self.tell_of_pod(Verb::Update, &pod.name, Some(error)))?;
            }
        }
        if !self.claims_have_owners(pod) {
            self.update_claim_owners(pod)
                .inspect_err(|error| self.tell_of_pod(Verb::Update, &pod.name, Some(error)))?;
            consistent = false;
        }
        if consistent {
            return Ok(());
        }
        *attempted = true;
        let Err(refusal) = self.control.update(Resource::Pods, pod.object.as_ref().clone()) else { return Ok(()) };
        if let Some(fresh) = self.control.cached(Resource::Pods, &self.set.namespace, &pod.name) {
            *pod = Arc::new(Pod::read(fresh, self.set));
        }
        Err(refusal.into())
    }

    /// Deletes a pod: plainly, without a precondition and without asking disruption budgets. That it is gone already is
    /// an error to 1.33 only.
    ///
    /// Mirrors `DeleteStatefulPod`.
    pub(super) fn delete_pod(&mut self, pod: &Pod) -> Result<(), Status> {
        let mut done = self.control.delete(Resource::Pods, &self.set.namespace, &pod.name, &Delete::default());
        if self.compat.version != Version::V1_33 && done.as_ref().is_err_and(|it| it.reason == "NotFound") {
            done = Ok(());
        }
        let error = done.as_ref().err().map(|refusal| Errors::of(refusal.message.clone()));
        self.tell_of_pod(Verb::Delete, &pod.name, error.as_ref());
        done
    }

    /// Mirrors `recordPodEvent`.
    pub(super) fn tell_of_pod(&mut self, verb: Verb, pod: &str, error: Option<&Errors>) {
        let (word, done, failed) = match verb {
            Verb::Create => ("Create", "SuccessfulCreate", "FailedCreate"),
            Verb::Update => ("Update", "SuccessfulUpdate", "FailedUpdate"),
            Verb::Delete => ("Delete", "SuccessfulDelete", "FailedDelete"),
        };
        let word = if self.compat.version == Version::V1_33 { word.to_lowercase() } else { word.to_owned() };
        let set = &self.set.name;
        match error {
            None => {
                let message = format!("{word} Pod {pod} in StatefulSet {set} successful");
                self.tell(Severity::Normal, done, message);
            }
            Some(error) => {
                let message = format!("{word} Pod {pod} in StatefulSet {set} failed error: {error}");
                self.tell(Severity::Warning, failed, message);
            }
        }
    }
}
