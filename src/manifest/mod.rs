//! Reads what people wrote: manifests and plans, with file and line for everything that is wrong.

use serde_json::Value;

/// The body of an apply: the manifest as it was written, with the template of another one where given.
pub fn for_apply(manifest: &Value, template_from: Option<&Value>) -> Value {
    let mut body = manifest.clone();
    if let Some(template) = template_from {
        body["spec"]["template"] = template.clone();
    }
    body
}

/// Sets an annotation of the set.
pub fn set_annotation(manifest: &mut Value, key: &str, value: &str) {
    manifest["metadata"]["annotations"][key] = value.into();
}

/// Sets an annotation of the pod template.
pub fn set_template_annotation(manifest: &mut Value, key: &str, value: &str) {
    manifest["spec"]["template"]["metadata"]["annotations"][key] = value.into();
}
