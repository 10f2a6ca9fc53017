//! What the server takes and warns of.

use std::collections::BTreeMap;

use serde_json::Value;

/// A set that is written, with its template where its spec is new; mirrors `WarningsOnCreate` and `WarningsOnUpdate`.
pub(super) fn of_set(spec: &Value, with_template: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if with_template {
        warnings = of_pod(&spec["template"]["spec"], "spec.template.spec");
    }
    if spec["revisionHistoryLimit"].as_i64().is_some_and(|limit| limit < 0) {
        let words = "a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(format!("spec.revisionHistoryLimit: {words}"));
    }
    warnings
}

/// The spec of a pod at a path; mirrors what is common of `GetWarningsForPodTemplate`.
pub(super) fn of_pod(spec: &Value, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, secret) in items(spec, "imagePullSecrets") {
        if secret["name"].as_str().unwrap_or_default().is_empty() {
            warnings.push(format!("{at}.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        let words = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{at}.terminationGracePeriodSeconds: {words}"));
    }
    for list in ["initContainers", "containers"] {
        for (index, container) in items(spec, list) {
            of_container(container, &format!("{at}.{list}[{index}]"), &mut warnings);
        }
    }
    warnings
}

fn of_container(container: &Value, at: &str, warnings: &mut Vec<String>) {
    let mut seen = BTreeMap::new();
    for (index, variable) in items(container, "env") {
        let name = variable["name"].as_str().unwrap_or_default();
        if seen.insert(name, index).is_some() {
            let words = "which may be dropped when using apply";
            warnings.push(format!("{at}.env[{index}]: hides previous definition of {name:?}, {words}"));
        }
    }
}

fn items<'v>(of: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    of[list].as_array().into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn what_is_taken_but_unwise_is_told() {
        let spec = json!({"revisionHistoryLimit": -1, "template": {"spec": {
            "terminationGracePeriodSeconds": -1,
            "containers": [{"env": [{"name": "A"}, {"name": "A"}]}],
        }}});
        assert_eq!(
            super::of_set(&spec, true),
            [
                "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be \
                 treated as 1",
                "spec.template.spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when \
                 using apply",
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
            ]
        );
        assert_eq!(super::of_set(&spec, false).len(), 1);
    }
}
