//! What is done to a cluster and seen of it from outside of the API: objects taken over, changes followed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kubelet::{NODE, Pace};
use super::resource::Resource;
use super::store::{Change, Key};
use super::world::World;

/// What is there after a version.
#[derive(Debug, Clone)]
pub struct News {
    /// The newest version.
    pub version: u64,
    /// The changes, oldest first; none where some of them are forgotten.
    pub changes: Option<Vec<Change>>,
}

impl World {
    /// Takes an object over from another cluster as it is there, uid, status and owners included, in the place of any
    /// that has its name.
    ///
    /// A pod comes to this cluster's node, and what its status says of its images is what its spec says: registries spell
    /// them in ways of their own.
    pub fn take_over(&mut self, resource: Resource, mut object: Value) {
        let text =
            |object: &Value, field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = Key::new(resource, &text(&object, "/metadata/namespace"), &text(&object, "/metadata/name"));
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind().into();
        if resource == Resource::Pods {
            settle(&mut object);
        }
        self.store.put(key, object);
        self.tell();
    }

    /// What changed after a version.
    pub fn news(&self, version: u64) -> News {
        let changes = self.store.since(version).map(|changes| changes.cloned().collect());
        News { version: self.store.version(), changes }
    }

    /// The objects of a kind, in one namespace or in all.
    pub fn objects<'a>(
        &'a self,
        resource: Resource,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Value>> {
        self.store.list(resource, namespace).map(|(_, object)| object)
    }

    /// From now on pods are that fast, where nothing is wrong with them.
    pub fn set_pace(&mut self, pace: Pace) {
        self.life.pace = pace;
    }
}

/// Brings a pod of elsewhere to the one node there is.
fn settle(pod: &mut Value) {
    if pod.pointer("/spec/nodeName").is_some() {
        pod["spec"]["nodeName"] = NODE.into();
    }
    let images: Vec<(Value, Value)> = pod
        .pointer("/spec/containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|container| (container["name"].clone(), container["image"].clone()))
        .collect();
    let statuses = pod.pointer_mut("/status/containerStatuses").and_then(Value::as_array_mut);
    for status in statuses.into_iter().flatten() {
        let named = images.iter().find(|(name, _)| status.get("name") == Some(name));
        status["image"] = named.map_or(json!(""), |(_, image)| image.clone());
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use crate::sim::{Key, Resource, Settings, World};

    #[test]
    fn what_is_taken_over_is_what_it_was_but_for_its_place() {
        let mut world = World::new(&Settings::default());
        let before = world.version();
        world.take_over(
            Resource::Pods,
            json!({
                "metadata": {"name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "99999"},
                "spec": {"nodeName": "worker-7", "containers": [{"name": "web", "image": "nginx:1"}]},
                "status": {
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [{"name": "web", "image": "docker.io/library/nginx:1", "ready": true}],
                },
            }),
        );
        // Nothing is done to it: it runs.
        world.advance(Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(1));
        let pod = world.object(&Key::new(Resource::Pods, "shop", "web-0")).unwrap();
        assert_eq!((&pod["metadata"]["uid"], &pod["spec"]["nodeName"]), (&json!("u1"), &json!("node-0")));
        assert_eq!(pod["status"]["containerStatuses"][0]["image"], "nginx:1");
        assert_eq!(pod["status"]["conditions"][0]["status"], "True");
        let news = world.news(before);
        assert_eq!(news.changes.unwrap().len(), 1);
        assert_eq!(world.objects(Resource::Pods, Some("shop")).count(), 1);
    }
}
