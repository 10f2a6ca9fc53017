//! What the daemon may do: exactly what it does.

use serde_json::{Value, json};

use super::{NAME, labels};

/// What is named after the Lease, which the daemon keeps where it runs.
const LEASE: &str = "phaseline-lease";

/// The ServiceAccount with its rights: one Role in each namespace, or a ClusterRole where none is named; and one for the
/// Lease in its own.
pub(super) fn objects(namespace: &str, watched: &[String]) -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels()},
    })];
    if watched.is_empty() {
        objects.push(role("ClusterRole", NAME, None, &cluster_rules()));
        objects.push(binding("ClusterRole", NAME, None, namespace));
    }
    for watched in watched {
        objects.push(role("Role", NAME, Some(watched), &rules()));
        objects.push(binding("Role", NAME, Some(watched), namespace));
    }
    objects.push(role("Role", LEASE, Some(namespace), &lease_rules()));
    objects.push(binding("Role", LEASE, Some(namespace), namespace));
    objects
}

fn role(kind: &str, name: &str, namespace: Option<&str>, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(name, namespace),
        "rules": rules,
    })
}

/// Not by name: a right to create cannot be, and the name follows from the repository.
fn lease_rules() -> Value {
    json!([{
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "watch", "create", "patch"],
    }])
}

/// The same for all namespaces; one that a manifest names and that is missing is waited for by a watch.
fn cluster_rules() -> Value {
    let mut rules = rules();
    if let Some(rules) = rules.as_array_mut() {
        rules.push(json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]}));
    }
    rules
}

/// Reading back after a lost answer is what `get` is for; `delete` is for pods that a newer decision left broken.
fn rules() -> Value {
    json!([
        {
            "apiGroups": ["apps"],
            "resources": ["statefulsets"],
            "verbs": ["get", "list", "watch", "create", "patch"],
        },
        {
            "apiGroups": [""],
            "resources": ["pods"],
            "verbs": ["get", "list", "watch", "delete"],
        },
    ])
}

fn binding(role: &str, name: &str, namespace: Option<&str>, account: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{role}Binding"),
        "metadata": metadata(name, namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": account}],
    })
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace, "labels": labels()}),
        None => json!({"name": name, "labels": labels()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_wildcard_no_secret_and_no_claim() {
        let text = json!(objects("phaseline-system", &[])).to_string();
        for word in ["*", "secrets", "persistentvolumeclaims", "escalate", "bind\"", "impersonate", "update", "events"]
        {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn a_role_in_each_namespace_is_preferred() {
        let kinds = |watched: &[&str]| -> Vec<String> {
            let watched: Vec<String> = watched.iter().map(|name| (*name).to_owned()).collect();
            objects("here", &watched)
                .iter()
                .map(|object| {
                    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("-");
                    format!("{} {namespace}", object["kind"].as_str().unwrap())
                })
                .collect()
        };
        let lease = ["Role here", "RoleBinding here"];
        let all = |first: &[&'static str]| [first, &lease].concat();
        assert_eq!(kinds(&[]), all(&["ServiceAccount here", "ClusterRole -", "ClusterRoleBinding -"]));
        let each = ["ServiceAccount here", "Role a", "RoleBinding a", "Role b", "RoleBinding b"];
        assert_eq!(kinds(&["a", "b"]), all(&each));
    }

    #[test]
    fn leases_are_kept_in_the_daemons_own_namespace_only() {
        for object in objects("here", &["a".to_owned()]).iter().chain(&objects("here", &[])) {
            let of_leases = object["rules"].to_string().contains("leases");
            assert!(!of_leases || object["metadata"]["namespace"] == "here", "{object}");
        }
    }
}
