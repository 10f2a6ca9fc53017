//! What a controller can see and do: its caches, and the API.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// The hands and eyes of a controller.
///
/// `cached` and `listed` are its informers' caches: what they show may be older than what the API holds, and they never
/// fail. All the others are requests, each of which may be refused.
pub trait Control {
    /// An object as the cache has it.
    fn cached(&self, resource: Resource, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// The objects of a kind that the cache has, in one namespace or in all, by namespace and name. A controller that
    /// is given the same `Arc` again need not read the object again.
    fn listed(&self, resource: Resource, namespace: Option<&str>) -> Vec<Arc<Value>>;

    /// GET, past the cache.
    ///
    /// # Errors
    /// The server's refusal.
    fn get(&mut self, resource: Resource, namespace: &str, name: &str) -> Result<Arc<Value>, Status>;

    /// POST: namespace and name stand in the object.
    ///
    /// # Errors
    /// The server's refusal.
    fn create(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status>;

    /// PUT, with the resourceVersion that the object carries as its precondition.
    ///
    /// # Errors
    /// The server's refusal.
    fn update(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status>;

    /// PUT of the subresource `status`, likewise.
    ///
    /// # Errors
    /// The server's refusal.
    fn update_status(&mut self, resource: Resource, object: Value) -> Result<Arc<Value>, Status>;

    /// A strategic merge PATCH of `metadata.ownerReferences` (merged by uid, `$patch: delete` takes one out) with
    /// `metadata.uid` as a precondition: there is no other that controllers send.
    /// [`patched_owners`](super::patched_owners) makes it.
    ///
    /// # Errors
    /// The server's refusal.
    fn patch_owners(
        &mut self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<Value>, Status>;

    /// DELETE.
    ///
    /// # Errors
    /// The server's refusal.
    fn delete(&mut self, resource: Resource, namespace: &str, name: &str, options: &Delete) -> Result<(), Status>;

    /// An event about an object, as the component `statefulset-controller` records it.
    fn event(&mut self, about: &Value, event: Event);
}

/// The options of a delete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delete {
    /// The precondition on the uid.
    pub uid: Option<String>,
    /// The precondition on the resource version.
    pub resource_version: Option<String>,
    /// `Background`, `Foreground`, `Orphan`; none: the default of the kind.
    pub propagation: Option<&'static str>,
}

impl Delete {
    /// The body of the request.
    pub fn to_json(&self) -> Value {
        let mut body = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if let Some(uid) = &self.uid {
            body["preconditions"]["uid"] = uid.as_str().into();
        }
        if let Some(version) = &self.resource_version {
            body["preconditions"]["resourceVersion"] = version.as_str().into();
        }
        if let Some(policy) = self.propagation {
            body["propagationPolicy"] = policy.into();
        }
        body
    }
}

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

impl Severity {
    /// As an event states it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What a controller tells about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// How serious it is.
    pub severity: Severity,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The message.
    pub message: String,
}
