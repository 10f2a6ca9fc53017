//! What a pod's spec gets on create beyond what a template gets.

use serde_json::{Map, Value, json};

/// Mirrors `SetDefaults_Pod`: requests follow limits, service links are on.
pub(super) fn defaults(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(limits) = container.pointer("/resources/limits").and_then(Value::as_object).cloned() else {
                continue;
            };
            let resources = &mut container["resources"];
            let requests = resources.as_object_mut().map(|it| it.entry("requests").or_insert_with(|| json!({})));
            if let Some(Value::Object(requests)) = requests {
                for (name, limit) in limits {
                    requests.entry(name).or_insert(limit);
                }
            }
        }
    }
    let Some(spec) = spec.as_object_mut() else { return };
    spec.entry("enableServiceLinks").or_insert(json!(true));
    if spec.get("hostNetwork").is_some_and(|it| it == true) {
        host_ports(spec);
    }
}

/// On the host's network a container's port is the host's.
fn host_ports(spec: &mut Map<String, Value>) {
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        let ports = containers.into_iter().flatten().filter_map(|it| it.get_mut("ports")?.as_array_mut());
        for port in ports.flatten().filter_map(Value::as_object_mut) {
            if let Some(number) = port.get("containerPort").cloned() {
                port.entry("hostPort").or_insert(number);
            }
        }
    }
}

/// What admission puts in: mirrors the plugins `Priority` and `DefaultTolerationSeconds`.
pub(super) fn admit(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    spec.entry("priority").or_insert(json!(0));
    spec.entry("preemptionPolicy").or_insert("PreemptLowerPriority".into());
    tolerate(spec);
}

/// Mirrors the admission plugin `DefaultTolerationSeconds`, which looks at changes too.
pub(super) fn tolerate(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = tolerations.iter().any(|it| {
            let text = |name: &str| it[name].as_str().unwrap_or_default();
            [key, ""].contains(&text("key")) && ["NoExecute", ""].contains(&text("effect"))
        });
        if !tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

/// The quality of service that the resources of the containers amount to; mirrors `ComputePodQOS`.
pub(super) fn quality(spec: &Value) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            let resources = &container["resources"];
            let of = |kind: &str, name: &str| resources[kind].get(name).filter(|it| *it != "0").cloned();
            for name in ["cpu", "memory"] {
                let (request, limit) = (of("requests", name), of("limits", name));
                any |= request.is_some() || limit.is_some();
                guaranteed &= limit.is_some() && request == limit;
            }
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{admit, defaults, quality};

    #[test]
    fn requests_follow_limits_and_the_class_follows_both() {
        for (resources, class) in [
            (json!({}), "BestEffort"),
            (json!({"limits": {"cpu": "1"}}), "Burstable"),
            (json!({"limits": {"cpu": "1", "memory": "1Gi"}}), "Guaranteed"),
            (json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}), "Burstable"),
        ] {
            let mut spec = json!({"containers": [{"name": "c", "resources": resources}]});
            defaults(&mut spec);
            assert_eq!(quality(&spec), class, "{spec}");
        }
    }

    #[test]
    fn a_pod_tolerates_a_lost_node_for_five_minutes_unless_it_says_otherwise() {
        let mut spec = json!({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]});
        admit(&mut spec);
        assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
        assert_eq!(spec["tolerations"][1]["key"], "node.kubernetes.io/unreachable");
        assert_eq!(spec["priority"], 0);
    }
}
