//! What a request says of itself: on which state it is based, what it touches.

use serde_json::Value;

use super::Write;
use crate::model::Record;
use crate::sim::resource::Resource;

/// I6: whether a write says on which state it is based.
///
/// # Errors
/// What is missing.
pub(super) fn guarded(write: &Write<'_>) -> Result<(), String> {
    let request = write.request;
    let what = |missing: &str| Err(format!("{} of {} without {missing}", request.method, write.key.name));
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if request.method == "DELETE" {
        return match body.get("preconditions") {
            Some(given) if given.get("uid").is_some() && given.get("resourceVersion").is_some() => Ok(()),
            _ => what("preconditions"),
        };
    }
    if let Value::Array(steps) = &body {
        let tests = |path: &str| {
            steps.iter().any(|step| {
                step.get("op").is_some_and(|op| op == "test") && step.get("path").is_some_and(|it| it == path)
            })
        };
        let record = format!("/metadata/annotations/{}", Record::ANNOTATION.replace('/', "~1"));
        let version = tests("/metadata/resourceVersion");
        return match () {
            () if !tests("/metadata/uid") => what("a test of the uid"),
            () if !version && !tests("/metadata/generation") => what("a test of the generation"),
            () if !version && !tests(&record) => what("a test of the record"),
            () => Ok(()),
        };
    }
    let states = |field: &str| body.pointer(field).is_some_and(|it| !it.is_null());
    if !states("/metadata/resourceVersion") {
        return what("a resource version");
    }
    if write.before.is_some() && write.done && !states("/metadata/uid") {
        return what("a uid");
    }
    Ok(())
}

/// Whether a write is an apply.
pub(super) fn applied(write: &Write<'_>) -> bool {
    write.key.resource == Resource::StatefulSets && write.request.content_type.starts_with("application/apply-patch")
}

/// Whether a write is an apply that brings a record.
pub(super) fn applies_record(write: &Write<'_>) -> bool {
    let body: Value = serde_json::from_slice(&write.request.body).unwrap_or_default();
    let annotations = body.get("metadata").and_then(|it| it.get("annotations"));
    applied(write) && annotations.is_some_and(|it| it.get(Record::ANNOTATION).is_some())
}

/// The replicas that an apply states.
pub(super) fn stated_replicas(write: &Write<'_>) -> Option<u32> {
    if !applied(write) {
        return None;
    }
    let body: Value = serde_json::from_slice(&write.request.body).ok()?;
    u32::try_from(body.pointer("/spec/replicas")?.as_u64()?).ok()
}

/// The partition that a JSON patch writes.
pub(super) fn partition(write: &Write<'_>) -> Option<u32> {
    let body: Value = serde_json::from_slice(&write.request.body).ok()?;
    let written = |step: &Value| {
        let value = step.get("value")?;
        let number = match step.get("path")?.as_str()? {
            "/spec/updateStrategy/rollingUpdate/partition" => value.as_u64(),
            "/spec/updateStrategy" => value.pointer("/rollingUpdate/partition")?.as_u64(),
            _ => None,
        }?;
        (step.get("op")? != "test").then(|| u32::try_from(number).ok())?
    };
    body.as_array()?.iter().find_map(written)
}

/// Whether the record's target has failed.
pub(super) fn has_failed(record: &Record) -> bool {
    let target = &record.target;
    record.failed.iter().any(|failed| failed.commit == target.commit && failed.hash == target.hash)
}

/// Whether a record says nothing that the one before did not say.
pub(super) fn says_nothing(old: &Record, new: &Record) -> bool {
    let told = |it: &Record| {
        let mut it = it.clone();
        (it.epoch, it.at, it.generation) = (0, 0, 0);
        it
    };
    told(old) == told(new)
}
