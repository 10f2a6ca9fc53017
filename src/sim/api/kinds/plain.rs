//! Kinds that the cluster keeps and hardly acts on: budgets, ConfigMaps, Secrets, Services.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::manifest::shown::Shown;
use crate::sim::compat::Compat;
use crate::sim::status::Cause;

/// A budget.
pub(super) fn check_budget(budget: &Value, compat: Compat) -> Vec<Cause> {
    let spec = &budget["spec"];
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if least.is_null() || most.is_null() {
        return Vec::new();
    }
    let shown = Shown::budget(spec);
    vec![Cause::shown("spec", shown.at(compat.level()), "minAvailable and maxUnavailable cannot be both set")]
}

/// A new budget: nothing is known of its pods yet.
pub(super) fn prepare_budget(budget: &mut Value) {
    budget["metadata"]["generation"] = json!(1);
    budget["status"] = json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0});
}

/// What is immutable says so itself.
pub(super) fn check_data_change(old: &Value, new: &Value) -> Vec<Cause> {
    if old["immutable"] != true {
        return Vec::new();
    }
    let mut causes = Vec::new();
    if new["immutable"] != true {
        causes.push(Cause::forbidden("immutable", "field is immutable when `immutable` is set"));
    }
    for field in ["data", "binaryData"] {
        if old[field] != new[field] {
            causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
        }
    }
    causes
}

/// A Secret's texts are kept as bytes.
pub(super) fn shape_secret(secret: &mut Map<String, Value>) {
    if let Some(Value::Object(texts)) = secret.remove("stringData") {
        let data = secret.entry("data").or_insert_with(|| json!({}));
        for (name, text) in texts {
            data[name.as_str()] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
        }
    }
    secret.entry("type").or_insert_with(|| "Opaque".into());
}

/// A Service, as far as headless ones go: no address is given out.
pub(super) fn shape_service(service: &mut Map<String, Value>) {
    let spec = service.entry("spec").or_insert_with(|| json!({}));
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        let number = port.get("port").cloned().unwrap_or(Value::Null);
        port.entry("protocol").or_insert_with(|| "TCP".into());
        port.entry("targetPort").or_insert(number);
    }
    let Some(spec) = spec.as_object_mut() else { return };
    for (name, value) in [
        ("type", json!("ClusterIP")),
        ("sessionAffinity", json!("None")),
        ("ipFamilies", json!(["IPv4"])),
        ("ipFamilyPolicy", json!("SingleStack")),
        ("internalTrafficPolicy", json!("Cluster")),
    ] {
        spec.entry(name).or_insert(value);
    }
    if let Some(address) = spec.get("clusterIP").cloned() {
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    }
    service.entry("status").or_insert_with(|| json!({"loadBalancer": {}}));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn a_secret_is_kept_as_bytes() {
        let mut secret = json!({"stringData": {"a": "b"}}).as_object().cloned().unwrap();
        super::shape_secret(&mut secret);
        assert_eq!(Value::Object(secret), json!({"data": {"a": "Yg=="}, "type": "Opaque"}));
    }

    #[test]
    fn what_these_kinds_refuse_is_worded_as_the_server_does() {
        let words = |causes: Vec<crate::sim::Cause>| causes.into_iter().map(|it| it.message).collect::<Vec<_>>();
        let (old, new) = (json!({"immutable": true, "data": {"a": "b"}}), json!({"immutable": true, "data": {}}));
        let compat = crate::sim::Compat::of(crate::sim::Version::V1_36);
        let immutable = "Forbidden: field is immutable when `immutable` is set";
        assert_eq!(words(super::check_data_change(&old, &new)), [immutable]);
        assert_eq!(super::check_budget(&json!({"spec": {"minAvailable": 1, "maxUnavailable": 1}}), compat).len(), 1);
    }
}
