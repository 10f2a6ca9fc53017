//! What the daemon may do: exactly what it does.

use serde_json::{Value, json};

use super::{NAME, labels};

/// The ServiceAccount with its rights: one Role in each namespace, or a ClusterRole where none is named.
pub(super) fn objects(namespace: &str, watched: &[String]) -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels()},
    })];
    if watched.is_empty() {
        objects.push(role("ClusterRole", None));
        objects.push(binding("ClusterRole", None, namespace));
    }
    for watched in watched {
        objects.push(role("Role", Some(watched)));
        objects.push(binding("Role", Some(watched), namespace));
    }
    objects
}

fn role(kind: &str, namespace: Option<&str>) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(namespace),
        "rules": rules(),
    })
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

fn binding(role: &str, namespace: Option<&str>, account: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{role}Binding"),
        "metadata": metadata(namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": account}],
    })
}

fn metadata(namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) => json!({"name": NAME, "namespace": namespace, "labels": labels()}),
        None => json!({"name": NAME, "labels": labels()}),
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
        assert_eq!(kinds(&[]), ["ServiceAccount here", "ClusterRole -", "ClusterRoleBinding -"]);
        assert_eq!(kinds(&["a", "b"]), ["ServiceAccount here", "Role a", "RoleBinding a", "Role b", "RoleBinding b"]);
    }
}
