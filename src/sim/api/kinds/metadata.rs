//! Metadata: names, and what the server refuses of it on create and on update.

use serde_json::Value;

use crate::sim::resource::Resource;
use crate::sim::status::Cause;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a name of that kind, as the server words it.
fn names(resource: Resource, name: &str) -> Vec<String> {
    let label = |part: &str| {
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = part.as_bytes();
        bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
            && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
    };
    let mut wrong = Vec::new();
    match resource {
        Resource::Namespaces | Resource::Services => {
            if name.len() > 63 {
                wrong.push("must be no more than 63 bytes".to_owned());
            }
            if !label(name) {
                wrong.push(LABEL.to_owned());
            }
        }
        _ => {
            if name.len() > 253 {
                wrong.push("must be no more than 253 bytes".to_owned());
            }
            if !name.split('.').all(label) {
                wrong.push(SUBDOMAIN.to_owned());
            }
        }
    }
    wrong
}

/// What the server refuses of the metadata of any object.
pub(in super::super) fn check(resource: Resource, object: &Value) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut causes = Vec::new();
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        let wrong = names(resource, name);
        causes.extend(wrong.into_iter().map(|it| Cause::invalid("metadata.name", &name.into(), &it)));
    }
    causes
}

/// What the server refuses of a change of metadata; both as they would be stored.
pub(in super::super) fn check_change(old: &Value, new: &Value) -> Vec<Cause> {
    let (old, new) = (&old["metadata"], &new["metadata"]);
    let mut causes = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        let finalizers = |of: &Value| -> Vec<String> {
            let listed = of["finalizers"].as_array().into_iter().flatten();
            listed.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (before, now) = (finalizers(old), finalizers(new));
        let added: Vec<String> = now.into_iter().filter(|it| !before.contains(it)).collect();
        if !added.is_empty() {
            let words = "no new finalizers can be added if the object is being deleted, found new finalizers";
            let message = format!("Forbidden: {words} {}", go_strings(&added));
            causes.push(Cause { reason: "FieldValueForbidden", message, field: "metadata.finalizers".into() });
        }
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if old[field] != new[field] {
            // The server looks twice, and says it twice.
            let cause = Cause::invalid(&format!("metadata.{field}"), &new[field], "field is immutable");
            causes.extend([cause.clone(), cause]);
        }
    }
    causes
}

/// A list of texts as Go prints it with `%#v`.
fn go_strings(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}
