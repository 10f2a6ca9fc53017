//! Metadata: names, and what the server refuses of it on create and on update.

use serde_json::Value;

use crate::manifest::default::Level;
use crate::manifest::shown::Shown;
use crate::manifest::stateful_set::{metadata_refusals, refusal};
use crate::sim::compat::Compat;
use crate::sim::resource::Resource;
use crate::sim::status::Cause;

/// What is wrong with a name of that kind, as the server words it.
fn names(resource: Resource, name: &str) -> Vec<String> {
    match resource {
        Resource::Namespaces | Resource::Services => refusal::label(name),
        Resource::StatefulSets if name.contains('.') => vec!["must not contain dots".to_owned()],
        Resource::StatefulSets => refusal::label(name),
        _ => refusal::subdomain(name),
    }
}

/// What the server refuses of the metadata of any object.
pub(in super::super) fn check(resource: Resource, object: &Value, compat: Compat) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut causes = Vec::new();
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        let wrong = names(resource, name);
        causes.extend(wrong.into_iter().map(|it| Cause::invalid("metadata.name", &name.into(), &it)));
    }
    causes.extend(super::causes(metadata_refusals(metadata, compat.level())));
    causes
}

/// What the server refuses of a change of metadata; both as they would be stored.
pub(in super::super) fn check_change(old: &Value, new: &Value, compat: Compat) -> Vec<Cause> {
    let (old, new) = (&old["metadata"], &new["metadata"]);
    let mut causes = Vec::new();
    let told = ["labels", "annotations", "ownerReferences", "finalizers"];
    if told.into_iter().any(|field| old[field] != new[field]) {
        causes.extend(super::causes(metadata_refusals(new, compat.level())));
    }
    if !old["deletionTimestamp"].is_null() {
        fn finalizers(of: &Value) -> Vec<&str> {
            of["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
        }
        let (before, now) = (finalizers(old), finalizers(new));
        let added: Vec<&str> = now.into_iter().filter(|it| !before.contains(it)).collect();
        if !added.is_empty() {
            // In Go's form at every level.
            let added = Shown::texts(&added);
            let words = "no new finalizers can be added if the object is being deleted, found new finalizers";
            let message = format!("Forbidden: {words} {}", added.at(Level::V1_33));
            let cause = Cause { reason: "FieldValueForbidden", message, field: "metadata.finalizers".into() };
            // The server looks twice, and says it twice; here and below.
            causes.extend([cause.clone(), cause]);
        }
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if old[field] != new[field] {
            let shown = match field {
                "uid" => Shown::optional(&new[field].as_str().unwrap_or_default().into()),
                "deletionTimestamp" => Shown::moment(&new[field]),
                _ => Shown::optional(&new[field]),
            };
            let cause = Cause::shown(&format!("metadata.{field}"), shown.at(compat.level()), "field is immutable");
            causes.extend([cause.clone(), cause]);
        }
    }
    causes
}
