//! Recognises what stands beside manifests in real repositories and is none, and says what it is and what to do.

use serde_json::Value;

use super::kind::is_ours;

/// What a document is that is no Kubernetes object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// What it is, to be read behind "this is".
    pub(super) what: &'static str,
    /// What to do about it.
    pub(super) hint: &'static str,
    /// Whether a set or a plan may be hidden in it, so that it is no mere oddity.
    pub(super) hides: bool,
}

const fn known(what: &'static str, hint: &'static str) -> Option<Known> {
    Some(Known { what, hint, hides: false })
}

const OUT: &str = "keep it out of the path that is rolled out, or leave it: it is not read";

/// What a document without `apiVersion` or `kind` is; none where that cannot be told.
pub(super) fn document(file: &str, value: &Value) -> Option<Known> {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    match value {
        Value::Array(items) => list(items),
        Value::Object(map) => {
            let is_map = |key: &str| map.get(key).is_some_and(Value::is_object);
            let is_list = |key: &str| map.get(key).is_some_and(Value::is_array);
            let is_text = |key: &str| map.get(key).is_some_and(Value::is_string);
            if super::hint::is_encrypted(value) {
                return known("data encrypted with SOPS", super::hint::DECRYPT);
            }
            if file.starts_with(".github/") || is_map("jobs") && (map.contains_key("on") || map.contains_key("true")) {
                return known("a GitHub workflow", OUT);
            }
            let is_job = |job: &Value| job.get("script").is_some_and(|script| script.is_string() || script.is_array());
            if name.starts_with(".gitlab-ci.") || !map.contains_key("kind") && map.values().any(is_job) {
                return known("a GitLab CI file", OUT);
            }
            let runs = |service: &Value| service.get("image").is_some() || service.get("build").is_some();
            if map.get("services").and_then(Value::as_object).is_some_and(|all| all.values().any(runs)) {
                return known(
                    "a Compose file",
                    "Kubernetes does not read it: write a StatefulSet for what is to be rolled out",
                );
            }
            if (name.starts_with("chart.") || is_text("apiVersion")) && is_text("name") && is_text("version") {
                return known("the head of a Helm chart", RENDER_CHART);
            }
            if name.starts_with("values") && !map.contains_key("kind") {
                return known("a file of values for a Helm chart", RENDER_CHART);
            }
            if ["patchesStrategicMerge", "patchesJson6902", "configMapGenerator", "namePrefix", "patches"]
                .iter()
                .any(|key| map.contains_key(*key))
                && (is_list("resources") || is_list("bases") || name.starts_with("kustomization"))
            {
                return known("a kustomization", RENDER_KUSTOMIZATION);
            }
            if !map.is_empty() && map.values().all(is_object) {
                return Some(Known {
                    what: "several objects under keys of their own, as `jsonnet` and `cue export` write them",
                    hint: "write each into a document of its own (`jsonnet -y`, `cue export --out yaml -e ..`)",
                    hides: map.values().any(is_ours),
                });
            }
            None
        }
        _ => None,
    }
}

fn list(items: &[Value]) -> Option<Known> {
    let is_step = |item: &Value| {
        item.get("op").and_then(Value::as_str).is_some() && item.get("path").and_then(Value::as_str).is_some()
    };
    if !items.is_empty() && items.iter().all(is_step) {
        return known("a JSON 6902 patch", RENDER_KUSTOMIZATION);
    }
    if !items.is_empty() && items.iter().all(is_object) {
        return Some(Known {
            what: "a bare list of objects",
            hint: "put `---` between them, or write `kind: List` with `items` around them",
            hides: items.iter().any(is_ours),
        });
    }
    let is_play =
        |item: &Value| item.get("hosts").is_some() && (item.get("tasks").is_some() || item.get("roles").is_some());
    if items.iter().any(is_play) {
        return known("an Ansible playbook", OUT);
    }
    None
}

const RENDER_CHART: &str =
    "render the chart in CI (`helm template`) and commit what comes out to the branch that is deployed";
const RENDER_KUSTOMIZATION: &str =
    "render it in CI (`kubectl kustomize`) and commit what comes out to the branch that is deployed";

fn is_object(value: &Value) -> bool {
    ["apiVersion", "kind"].iter().all(|key| value.get(key).is_some_and(Value::is_string))
}

/// An object from which others are made somewhere else; what these are is not seen here.
pub(super) fn object(api_version: &str, kind: &str) -> Option<Known> {
    let group = api_version.split('/').next().unwrap_or_default();
    match (group, kind) {
        ("kustomize.config.k8s.io", _) => known("a kustomization, read by itself", RENDER_KUSTOMIZATION),
        (group, "HelmRelease" | "Kustomization") if group.ends_with(".toolkit.fluxcd.io") => known(
            "an order to Flux: the sets it makes are not seen here",
            "let Flux leave the StatefulSets out that Phaseline rolls out, or keep them in this repository",
        ),
        ("argoproj.io", "Application" | "ApplicationSet") => known(
            "an order to Argo CD: the sets it makes are not seen here",
            "let Argo CD leave the StatefulSets out that Phaseline rolls out, or keep them in this repository",
        ),
        ("helm.cattle.io", "HelmChart") => {
            known("an order to a Helm controller: the sets it makes are not seen here", RENDER_CHART)
        }
        _ => None,
    }
}

/// The way out where a text is one that some tool was to fill in; none for any other text.
pub(super) fn placeholder(text: &str) -> Option<&'static str> {
    let between = |open: &str, close: &str| text.split_once(open).is_some_and(|(_, behind)| behind.contains(close));
    if between("{{", "}}") {
        return Some("looks like a template: render it first (`helm template`) and commit what comes out");
    }
    if between("${", "}") {
        return Some("looks like a placeholder: fill it in first (`envsubst`) and commit what comes out");
    }
    if between("<%", "%>") {
        return Some("looks like a template: render it first and commit what comes out");
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_object_is_called_by_its_name() {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet"});
        for (file, value, what) in [
            ("compose.yaml", json!({"services": {"db": {"image": "x"}}}), Some("a Compose file")),
            ("ci/x.yaml", json!({"true": {"push": null}, "jobs": {"a": {}}}), Some("a GitHub workflow")),
            (".github/dependabot.yml", json!({"version": 2}), Some("a GitHub workflow")),
            ("ci.yml", json!({"stages": ["a"], "a": {"script": []}}), Some("a GitLab CI file")),
            (
                "c/Chart.yaml",
                json!({"apiVersion": "v2", "name": "x", "version": "1.0.0"}),
                Some("the head of a Helm chart"),
            ),
            ("c/values-prod.yaml", json!({"image": {"tag": "1"}}), Some("a file of values for a Helm chart")),
            ("p.yaml", json!([{"op": "add", "path": "/x", "value": 1}]), Some("a JSON 6902 patch")),
            ("l.json", json!([set]), Some("a bare list of objects")),
            ("k.yaml", json!({"resources": ["a"], "patches": []}), Some("a kustomization")),
            ("s.yaml", json!({"data": "ENC[x]", "sops": {"mac": "y"}}), Some("data encrypted with SOPS")),
            ("play.yaml", json!([{"hosts": "all", "tasks": []}]), Some("an Ansible playbook")),
            ("x.yaml", json!({"a": 1}), None),
            ("x.yaml", json!([1, 2]), None),
        ] {
            assert_eq!(document(file, &value).map(|known| known.what), what, "{file}");
        }
        assert!(document("o.json", &json!({"web.yaml": set})).unwrap().hides);
        assert!(!document("o.json", &json!({"x": {"apiVersion": "v1", "kind": "Service"}})).unwrap().hides);
    }

    #[test]
    fn placeholders_are_told_from_shell_and_text() {
        for text in ["{{ .Values.image }}", "nginx:${TAG}", "<%= image %>"] {
            assert!(placeholder(text).is_some(), "{text}");
        }
        for text in ["$(POD_NAME)", "$TAG", "a{b}c", "nginx:1"] {
            assert!(placeholder(text).is_none(), "{text}");
        }
    }
}
