//! What an apply would come to, foretold without asking the server.

use serde_json::Value;

use crate::manifest::default::{self, Level};
use crate::manifest::owned;
use crate::model::{FieldOwner, Version};
use crate::revision::controller_revision;

/// The spec of a set once `body` is applied: over the live one where there is one, which keeps what its server once
/// filled in.
pub(super) fn spec(live: Option<&Value>, body: &Value, level: Level) -> Value {
    let written = part(body, "/spec");
    match live {
        Some(live) => default::applied(part(live, "/spec"), &owned::spec(live, FieldOwner::DAEMON), written, level),
        None => default::stateful_set(written, level),
    }
}

/// The set as a new one of that version, as a server of that level would return it.
pub(super) fn created(version: &Version, level: Level) -> Value {
    with_spec(version, default::stateful_set(part(&version.manifest, "/spec"), level))
}

/// The set of that version applied over a live one.
pub(super) fn applied(live: &Value, version: &Version, level: Level) -> Value {
    with_spec(version, spec(Some(live), &version.manifest, level))
}

/// The set of that version applied over one that was made of an earlier version and never changed since.
pub(super) fn followed(earlier: &Version, version: &Version, level: Level) -> Value {
    let [before, now] = [earlier, version].map(|version| part(&version.manifest, "/spec"));
    with_spec(version, default::applied(&default::stateful_set(before, level), before, now, level))
}

/// The name of a new ControllerRevision of the set's template.
pub(super) fn revision(name: &str, set: &Value) -> String {
    controller_revision::name(name, part(set, "/spec/template"), 0)
}

fn with_spec(version: &Version, spec: Value) -> Value {
    let mut object = (*version.manifest).clone();
    if let Some(old) = object.get_mut("spec") {
        *old = spec;
    }
    object
}

fn part<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cli::fixtures::desired;

    fn version(pod: Value) -> Version {
        let manifest = json!({"metadata": {"name": "web"}, "spec": {"template": {"spec": pod}}});
        Version { manifest: Arc::new(manifest), ..desired('a').tip }
    }

    fn image(image: &str) -> Version {
        version(json!({"containers": [{"name": "web", "image": image}]}))
    }

    fn policy(set: &Value) -> &Value {
        &set["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"]
    }

    #[test]
    fn a_tag_that_comes_keeps_the_pull_policy() {
        let (old, new) = (image("nginx"), image("nginx:1.2"));
        let over = followed(&old, &new, Level::V1_36);
        assert_eq!((policy(&over), policy(&created(&new, Level::V1_36))), (&json!("Always"), &json!("IfNotPresent")));
        assert_ne!(revision("web", &over), revision("web", &created(&new, Level::V1_36)));
        // The same of a live set, whose own words are what counts.
        let mut live = created(&old, Level::V1_36);
        let fields = json!({"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}});
        live["metadata"]["managedFields"] = json!([{"manager": "phaseline", "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": fields}}}}]);
        assert_eq!(applied(&live, &new, Level::V1_36), over);
        live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Never".into();
        assert_eq!(policy(&applied(&live, &new, Level::V1_36)), &json!("Never"));
    }

    #[test]
    fn a_service_account_that_goes_has_no_effect() {
        let (old, new) = (version(json!({"serviceAccountName": "a"})), version(json!({})));
        let (was, over) = (created(&old, Level::V1_36), followed(&old, &new, Level::V1_36));
        assert_eq!(over["spec"], was["spec"]);
        assert_eq!(revision("web", &over), revision("web", &was));
        assert_eq!(created(&new, Level::V1_36)["spec"]["template"]["spec"].get("serviceAccountName"), None);
    }
}
