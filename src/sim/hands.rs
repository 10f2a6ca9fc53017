//! How the parts of the cluster that act by themselves write: through the API, as a client would.

use serde_json::{Value, json};

use super::api::delete::{Deletion, delete};
use super::api::route::Sub;
use super::api::update::update;
use super::api::{self, Terms};
use super::resource::Resource;
use super::store::Key;
use super::world::World;

/// Writes an object's status. Where it is refused nothing has happened: whoever writes looks again as things change.
pub(crate) fn write_status(world: &mut World, key: &Key, object: Value, manager: &str) {
    let _ = update(world, key, Sub::Status, object, &Terms::of(manager));
}

/// Ends a pod that has been deleted. It may be gone already, and it stays for as long as a finalizer holds it.
pub(crate) fn end(world: &mut World, key: &Key) {
    let _ = delete(world, key, &Deletion { grace: Some(0), ..Deletion::default() });
}

/// An event as the scheduler writes it.
pub(crate) fn scheduler_event(
    world: &mut World,
    about: &Value,
    severity: &str,
    reason: &str,
    action: &str,
    message: &str,
) {
    let text = |field: &str| about.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    let event = json!({
        "metadata": {"name": format!("{name}.{:016x}", world.chance.number()), "namespace": namespace},
        "action": action,
        "eventTime": world.now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
        "firstTimestamp": null,
        "lastTimestamp": null,
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": name,
            "namespace": namespace,
            "resourceVersion": text("/metadata/resourceVersion"),
            "uid": text("/metadata/uid"),
        },
        "message": message,
        "reason": reason,
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-embedded",
        "source": {},
        "type": severity,
    });
    record(world, namespace, event, "kube-scheduler");
}

/// Writes an event. One that is refused is lost, as everywhere: nothing may depend on events.
fn record(world: &mut World, namespace: &str, event: Value, manager: &str) {
    let _ = api::create(world, Resource::Events, namespace, event, &Terms::of(manager));
}
