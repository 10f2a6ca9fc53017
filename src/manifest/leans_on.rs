//! What a pod template leans on: the ConfigMaps and Secrets without which its pods do not start.

use std::collections::BTreeSet;

use serde_json::Value;

/// Names of the objects that a template needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// ConfigMaps.
    pub config_maps: BTreeSet<String>,
    /// Secrets.
    pub secrets: BTreeSet<String>,
}

/// What the containers and volumes of a template need and do not call optional.
pub fn of(template: &Value) -> Needs {
    let mut needs = Needs::default();
    let Some(spec) = template.get("spec") else { return needs };
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(spec.get(list)) {
            for variable in items(container.get("env")) {
                needs.config_map(variable.pointer("/valueFrom/configMapKeyRef"), "name");
                needs.secret(variable.pointer("/valueFrom/secretKeyRef"), "name");
            }
            for source in items(container.get("envFrom")) {
                needs.config_map(source.get("configMapRef"), "name");
                needs.secret(source.get("secretRef"), "name");
            }
        }
    }
    for volume in items(spec.get("volumes")) {
        needs.config_map(volume.get("configMap"), "name");
        needs.secret(volume.get("secret"), "secretName");
        for source in items(volume.pointer("/projected/sources")) {
            needs.config_map(source.get("configMap"), "name");
            needs.secret(source.get("secret"), "name");
        }
    }
    needs
}

impl Needs {
    fn config_map(&mut self, reference: Option<&Value>, key: &str) {
        self.config_maps.extend(needed(reference, key));
    }

    fn secret(&mut self, reference: Option<&Value>, key: &str) {
        self.secrets.extend(needed(reference, key));
    }
}

fn needed(reference: Option<&Value>, key: &str) -> Option<String> {
    let reference = reference.filter(|reference| reference.get("optional") != Some(&Value::Bool(true)))?;
    reference.get(key)?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_a_pod_waits_for_is_found() {
        let template = json!({"spec": {
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "b", "optional": true}}]}],
            "containers": [{"env": [
                {"name": "x", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                {"name": "y", "valueFrom": {"secretKeyRef": {"name": "d", "key": "k", "optional": false}}},
                {"name": "z", "value": "1"},
            ]}],
            "volumes": [
                {"name": "v", "configMap": {"name": "e"}},
                {"name": "w", "secret": {"secretName": "f"}},
                {"name": "p", "projected": {"sources": [{"secret": {"name": "g"}}, {"configMap": {"name": "h", "optional": true}}]}},
                {"name": "q", "emptyDir": {}},
            ],
        }});
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<String>();
        let needs = of(&template);
        assert_eq!((names(&needs.config_maps), names(&needs.secrets)), ("ace".to_owned(), "dfg".to_owned()));
        for odd in [json!(null), json!({"spec": 1}), json!({"spec": {"containers": {"a": 1}, "volumes": [1]}})] {
            assert_eq!(of(&odd), Needs::default());
        }
    }
}
