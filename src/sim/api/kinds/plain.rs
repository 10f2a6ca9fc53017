//! Kinds that the cluster keeps and hardly acts on: events, leases, budgets, ConfigMaps, Secrets, Services.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::sim::status::Cause;

/// An event: whether it was written through the newer API shows in its `eventTime`.
pub(super) fn check_event(event: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let about = event["involvedObject"]["namespace"].as_str().unwrap_or_default();
    let own = event["metadata"]["namespace"].as_str().unwrap_or_default();
    // What lies in no namespace is told of in `default`.
    if about != own && !(about.is_empty() && own == "default") {
        let value = Value::from(about);
        causes.push(Cause::invalid("involvedObject.namespace", &value, "does not match event.namespace"));
    }
    causes
}

/// What was told is not told otherwise; only how often it happened.
pub(super) fn check_event_change(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    // Events of the older API may say what they like.
    if old["eventTime"].is_null() {
        return causes;
    }
    let told = ["involvedObject", "reason", "message", "reportingComponent", "reportingInstance", "action", "type"];
    for field in told {
        if old[field] != new[field] {
            causes.push(Cause::invalid(field, &new[field], "field is immutable"));
        }
    }
    causes
}

/// A lease.
pub(super) fn check_lease(lease: &Value) -> Vec<Cause> {
    let spec = &lease["spec"];
    let mut causes = Vec::new();
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
        causes.push(Cause::invalid("spec.leaseDurationSeconds", &seconds.into(), "must be greater than 0"));
    }
    if let Some(times) = spec["leaseTransitions"].as_i64().filter(|times| *times < 0) {
        causes.push(Cause::invalid("spec.leaseTransitions", &times.into(), "must be greater than or equal to 0"));
    }
    causes
}

/// A budget.
pub(super) fn check_budget(budget: &Value) -> Vec<Cause> {
    let spec = &budget["spec"];
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if least.is_null() || most.is_null() {
        return Vec::new();
    }
    let value = json!({
        "MinAvailable": least,
        "Selector": spec["selector"],
        "MaxUnavailable": most,
        "UnhealthyPodEvictionPolicy": spec["unhealthyPodEvictionPolicy"],
    });
    vec![Cause::invalid("spec", &value, "minAvailable and maxUnavailable cannot be both set")]
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
        let lease = json!({"spec": {"leaseDurationSeconds": 0}});
        assert_eq!(words(super::check_lease(&lease)), ["Invalid value: 0: must be greater than 0"]);
        let (old, new) = (json!({"immutable": true, "data": {"a": "b"}}), json!({"immutable": true, "data": {}}));
        let immutable = "Forbidden: field is immutable when `immutable` is set";
        assert_eq!(words(super::check_data_change(&old, &new)), [immutable]);
        let event = json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": "b"}});
        assert_eq!(words(super::check_event(&event)), ["Invalid value: \"b\": does not match event.namespace"]);
        assert_eq!(super::check_budget(&json!({"spec": {"minAvailable": 1, "maxUnavailable": 1}})).len(), 1);
    }
}
