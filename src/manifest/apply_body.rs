//! Makes the body that is applied from a manifest.

use serde_json::{Map, Value, json};

use super::default::{self, Level};
use super::words::digest;

/// The manifest as it is applied: as written, its strategy ready for a partition, its template another one's if given.
///
/// `spec.updateStrategy` becomes `{type: RollingUpdate, rollingUpdate: {..}}` with everything that was written there
/// but the partition: a body without a partition would reset it and let the rollout run to its end, so the caller
/// puts one in with [`set_partition`].
pub fn for_apply(manifest: &Value, template_from: Option<&Value>) -> Value {
    let mut body = manifest.clone();
    let spec = object(&mut body, "spec");
    if let Some(template) = template_from.and_then(|from| from.pointer("/spec/template")) {
        spec.insert("template".into(), template.clone());
    }
    let strategy = entry(spec, "updateStrategy");
    strategy.insert("type".into(), json!("RollingUpdate"));
    entry(strategy, "rollingUpdate").remove("partition");
    body
}

/// Puts the partition in.
pub fn set_partition(body: &mut Value, partition: u32) {
    let strategy = entry(object(body, "spec"), "updateStrategy");
    entry(strategy, "rollingUpdate").insert("partition".into(), partition.into());
}

/// Puts an annotation on the set.
pub fn set_annotation(body: &mut Value, key: &str, value: &str) {
    entry(object(body, "metadata"), "annotations").insert(key.into(), value.into());
}

/// Puts an annotation on the pod template.
pub fn set_template_annotation(body: &mut Value, key: &str, value: &str) {
    let metadata = entry(entry(object(body, "spec"), "template"), "metadata");
    entry(metadata, "annotations").insert(key.into(), value.into());
}

/// The body as JSON that arrives unaltered.
///
/// The server reads an apply body as YAML: U+007F to U+009F, U+FFFE and U+FFFF are refused there when they come raw,
/// and U+0085, U+2028 and U+2029 are taken for line breaks. Escaped, all of them pass.
pub fn to_apply_json(body: &Value) -> String {
    let plain = body.to_string();
    let mut json = String::with_capacity(plain.len());
    for letter in plain.chars() {
        // Outside of strings JSON has only ASCII, so every one of these is inside one.
        if matches!(letter, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}') {
            json.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            json.push(letter);
        }
    }
    json
}

/// The digest of everything in a manifest that a commit can change without a new revision: all but the pod template,
/// the partition and the status.
///
/// It is taken of the manifest as a server would default it, so that spelling a default out is no change. `replicas` is:
/// left out it belongs to somebody else.
pub fn rest_digest(manifest: &Value) -> String {
    let mut rest = manifest.clone();
    if let Some(spec) = rest.get_mut("spec") {
        let replicas = spec.get("replicas").cloned();
        if let Some(written) = spec.as_object_mut() {
            // It does not count, and to default it is the larger part of the work.
            written.remove("template");
        }
        // What stands behind a gate counts: the gate may be open there.
        let decoded = default::decoded(&default::STATEFUL_SET_SPEC, spec, Level::V1_36);
        let unknown = unknown(spec, &decoded);
        *spec = decoded;
        if let Some(defaulted) = spec.as_object_mut() {
            // No server takes such a field, but it is something that the commit asks for.
            defaulted.extend(unknown.map(|unknown| ("$unknown".to_owned(), unknown)));
            defaulted.remove("replicas");
            defaulted.extend(replicas.map(|replicas| ("replicas".to_owned(), replicas)));
        }
    }
    written_digest(&rest)
}

/// The fields of a value that decoding has dropped, though they say something; none where there are none.
fn unknown(written: &Value, decoded: &Value) -> Option<Value> {
    match (written, decoded) {
        (Value::Object(written), Value::Object(decoded)) => {
            let dropped = written.iter().filter_map(|(key, value)| {
                let found = match decoded.get(key) {
                    Some(kept) => unknown(value, kept)?,
                    None => Some(value.clone()).filter(says_something)?,
                };
                Some((key.clone(), found))
            });
            Some(Map::from_iter(dropped)).filter(|dropped| !dropped.is_empty()).map(Value::Object)
        }
        (Value::Array(written), Value::Array(decoded)) if written.len() == decoded.len() => {
            let dropped: Vec<Value> =
                written.iter().zip(decoded).filter_map(|(one, kept)| unknown(one, kept)).collect();
            (!dropped.is_empty()).then_some(Value::Array(dropped))
        }
        _ => None,
    }
}

/// Whether a value is more than what a field is without it.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(says_something),
    }
}

/// The same of the manifest as it is written. The strategy counts as it is applied: leaving its type out is no other
/// strategy.
pub fn written_digest(manifest: &Value) -> String {
    let mut rest = manifest.clone();
    if let Some(object) = rest.as_object_mut() {
        object.remove("status");
    }
    if let Some(spec) = rest.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("template");
        if let Some(strategy) = spec.get_mut("updateStrategy").and_then(Value::as_object_mut) {
            if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
                strategy.remove("type");
            }
            if let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
                rolling.remove("partition");
                if rolling.is_empty() {
                    strategy.remove("rollingUpdate");
                }
            }
            if strategy.is_empty() {
                spec.remove("updateStrategy");
            }
        }
    }
    // serde_json's maps are sorted by key: the text is canonical.
    digest(rest.to_string().as_bytes())
}

/// The mapping below a key; made where there is none.
fn object<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    entry(as_object(value), key)
}

fn entry<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    as_object(map.entry(key).or_insert(Value::Null))
}

/// The value as a mapping; what is none becomes an empty one.
fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made a mapping above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_no_server_knows_is_a_change_and_an_empty_one_is_none() {
        let plain = rest_digest(&manifest());
        let with = |path: &str, value: Value| {
            let mut odd = manifest();
            odd.pointer_mut(path).unwrap().as_object_mut().unwrap().insert("surprise".into(), value);
            rest_digest(&odd)
        };
        for path in ["/spec", "/spec/updateStrategy", "/spec/updateStrategy/rollingUpdate"] {
            assert_ne!(with(path, json!(1)), plain, "{path}");
            assert_ne!(with(path, json!(1)), with(path, json!(2)), "{path}");
            assert_eq!(with(path, json!({})), plain, "{path}");
        }
    }

    fn manifest() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
            "spec": {
                "replicas": 3,
                "updateStrategy": {"rollingUpdate": {"partition": 2, "maxUnavailable": 1}},
                "template": {"spec": {"containers": []}},
            },
        })
    }

    #[test]
    fn a_body_is_the_manifest_with_a_strategy_that_waits_for_a_partition() {
        let manifest = manifest();
        let mut body = for_apply(&manifest, None);
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
        assert_eq!(body["spec"]["updateStrategy"], strategy);
        set_partition(&mut body, 7);
        set_annotation(&mut body, "phaseline.dev/rollout", "{}");
        set_template_annotation(&mut body, "kubectl.kubernetes.io/restartedAt", "now");
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "annotations": {"phaseline.dev/rollout": "{}"}},
            "spec": {
                "replicas": 3,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 7, "maxUnavailable": 1}},
                "template": {
                    "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}},
                    "spec": {"containers": []},
                },
            },
        });
        assert_eq!(body, expected);
        let other = json!({"spec": {"template": {"other": true}}});
        assert_eq!(for_apply(&manifest, Some(&other))["spec"]["template"], json!({"other": true}));
    }

    #[test]
    fn no_shape_of_a_body_is_too_odd() {
        for odd in [json!(null), json!([]), json!({"spec": 3, "metadata": "x"}), json!({"spec": {"updateStrategy": 1}})]
        {
            let mut body = for_apply(&odd, Some(&odd));
            set_partition(&mut body, 1);
            set_annotation(&mut body, "a", "b");
            set_template_annotation(&mut body, "a", "b");
            assert_eq!(body.pointer("/spec/updateStrategy/rollingUpdate/partition"), Some(&json!(1)));
        }
    }

    #[test]
    fn what_yaml_would_alter_is_escaped() {
        let body = json!({"a": "x\u{7f}\u{85}\u{9f}\u{2028}\u{2029}\u{fffe}\u{ffff}\u{a0}é\u{1}"});
        let json = to_apply_json(&body);
        assert_eq!(json, r#"{"a":"x\u007f\u0085\u009f\u2028\u2029\ufffe\uffff é\u0001"}"#.replace(' ', "\u{a0}"));
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), body);
    }

    #[test]
    fn the_rest_is_all_but_template_partition_and_status() {
        let base = manifest();
        let digest = rest_digest(&base);
        assert_eq!(digest.len(), 20);
        let with = |pointer: &str, value: Value| {
            let mut other = base.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            rest_digest(&other)
        };
        assert_eq!(with("/spec/template", json!({"x": 1})), digest);
        assert_eq!(with("/spec/updateStrategy/rollingUpdate/partition", json!(0)), digest);
        assert_eq!(
            with("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}})),
            digest
        );
        assert_ne!(with("/spec/replicas", json!(4)), digest);
        let add = |field: &str, value: Value| {
            let mut other = base.clone();
            other["spec"][field] = value;
            rest_digest(&other)
        };
        for (field, default, other) in [
            ("podManagementPolicy", json!("OrderedReady"), json!("Parallel")),
            ("revisionHistoryLimit", json!(10), json!(3)),
            ("minReadySeconds", json!(0), json!(5)),
            (
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
                json!({"whenDeleted": "Retain", "whenScaled": "Delete"}),
            ),
        ] {
            assert_eq!(add(field, default), digest, "{field}: a default spelled out is no change");
            assert_ne!(add(field, other), digest, "{field}");
        }
        let without = |field: &str| {
            let mut other = base.clone();
            other["spec"].as_object_mut().unwrap().remove(field);
            other
        };
        let mut one = without("replicas");
        one["spec"]["replicas"] = json!(1);
        assert_ne!(rest_digest(&without("replicas")), rest_digest(&one), "left out it is somebody else's");
        assert_ne!(with("/metadata/name", json!("other")), digest);
        assert_ne!(with("/spec/updateStrategy/rollingUpdate/maxUnavailable", json!(2)), digest);
    }
}
