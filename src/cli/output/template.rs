//! What `diff` prints: how templates differ, in the words of people who write manifests.

use serde::Serialize;
use serde_json::Value;

use super::API_VERSION;
use super::diff::{self, Change};
use super::plan::Commit;
use super::text;

/// How the templates of two states of the repository differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Diff {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `Diff`.
    kind: &'static str,
    /// One for each workload whose template differs.
    pub(crate) items: Vec<Item>,
}

/// One workload whose template differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// What it is compared with; left out where the workload is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<End>,
    /// What is compared; left out where the workload is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<End>,
    /// The fields of the template that differ, after defaulting.
    pub(crate) fields: Vec<Change>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    /// The number of the revision, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u32>,
    /// The digest of the template.
    pub(crate) hash: String,
    /// The commit that brought the template.
    pub(crate) commit: Commit,
    /// The template with its defaults.
    #[serde(skip)]
    pub(crate) template: Value,
}

impl Diff {
    /// The diff of these workloads, those whose templates differ.
    pub(crate) fn of(items: impl IntoIterator<Item = Item>) -> Self {
        let differs = |item: &Item| !item.fields.is_empty() || item.from.is_some() != item.to.is_some();
        Self { api_version: API_VERSION, kind: "Diff", items: items.into_iter().filter(differs).collect() }
    }

    /// The diff for people.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for item in &self.items {
            let side = |end: &Option<End>| match end {
                None => "nothing".to_owned(),
                Some(end) => {
                    let number = end.revision.map(|number| format!("revision {number}, ")).unwrap_or_default();
                    let commit: String = end.commit.id.chars().take(10).collect();
                    text::line(&format!("{number}{commit} {}", end.commit.subject))
                }
            };
            let (from, to) = (side(&item.from), side(&item.to));
            out.push_str(&format!("{}/{}: {from} -> {to}\n", item.namespace, item.name));
            for line in item.fields.iter().flat_map(words) {
                out.push_str(&format!("  {line}\n"));
            }
        }
        out
    }
}

impl Item {
    /// Compares two sides of a workload.
    pub(crate) fn between(namespace: &str, name: &str, from: Option<End>, to: Option<End>) -> Self {
        let fields = match (&from, &to) {
            (Some(from), Some(to)) => diff::changes(&from.template, &to.template),
            (Some(_), None) | (None, Some(_)) | (None, None) => Vec::new(),
        };
        Self { namespace: namespace.to_owned(), name: name.to_owned(), from, to, fields }
    }
}

/// A changed field, in a line of the kind `container web: image nginx:1.27 -> nginx:1.28` where it is one that people name so.
fn words(change: &Change) -> Vec<String> {
    let lines = || diff::lines(change);
    let Some((owner, field)) = place(&change.path) else { return lines() };
    if field.is_empty() {
        let image = |value: &Option<Value>| {
            let image = value.as_ref().and_then(|value| value.get("image")).and_then(Value::as_str);
            image.map(|image| format!(" ({})", text::line(image))).unwrap_or_default()
        };
        return match (&change.from, &change.to) {
            (None, Some(_)) => vec![format!("+ {owner}{}", image(&change.to))],
            (Some(_), None) => vec![format!("- {owner}{}", image(&change.from))],
            (Some(_), Some(_)) | (None, None) => lines(),
        };
    }
    let value = |value: &Value| match value {
        Value::String(text) if !text.contains('\n') => Some(text::line(text)),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if from == to => vec![format!("{owner}: {field} (changed, not shown)")],
        (Some(from), Some(to)) => match value(from).zip(value(to)) {
            Some((from, to)) => vec![format!("{owner}: {field} {from} -> {to}")],
            None => lines(),
        },
        (None, Some(to)) => value(to).map_or_else(lines, |to| vec![format!("{owner}: + {field} {to}")]),
        (Some(from), None) => value(from).map_or_else(lines, |from| vec![format!("{owner}: - {field} {from}")]),
        (None, None) => Vec::new(),
    }
}

/// Whose field a path is, and how people call it.
fn place(path: &str) -> Option<(String, String)> {
    const OWNERS: [(&str, &str); 3] =
        [("spec.containers[", "container"), ("spec.initContainers[", "init container"), ("spec.volumes[", "volume")];
    let (rest, word) = OWNERS.iter().find_map(|(prefix, word)| Some((path.strip_prefix(prefix)?, word)))?;
    let (name, field) = rest.split_once(']')?;
    let field = field.strip_prefix('.').unwrap_or(field);
    let named = |prefix: &str, suffix: &str| field.strip_prefix(prefix)?.strip_suffix(suffix);
    let field = if let Some(resource) = named("resources.limits.", "") {
        format!("{resource} limit")
    } else if let Some(resource) = named("resources.requests.", "") {
        format!("{resource} request")
    } else if let Some(variable) = named("env[", "].value") {
        format!("env {variable}")
    } else {
        field.to_owned()
    };
    Some((format!("{word} {name}"), field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::fixtures::commit;
    use crate::manifest::default::{Level, template};

    fn end(letter: char, image: &str, memory: &str, password: &str, sidecar: bool) -> End {
        let mut containers = vec![json!({
            "name": "web", "image": image, "resources": {"limits": {"memory": memory}},
            "env": [{"name": "DB_PASSWORD", "value": password}, {"name": "LEVEL", "value": image}],
        })];
        if sidecar {
            containers.insert(0, json!({"name": "proxy", "image": "envoy:1"}));
        }
        let written = json!({"spec": {"containers": containers, "terminationGracePeriodSeconds": memory.len()}});
        End {
            revision: Some(3),
            hash: "ab".into(),
            commit: Commit::of(&commit(letter)),
            template: template(&written, Level::V1_36),
        }
    }

    #[test]
    fn templates_are_compared_in_words() {
        let item = Item::between(
            "prod",
            "web",
            Some(end('a', "nginx:1.27", "512Mi", "hunter1", false)),
            Some(end('b', "nginx:1.28", "1Gi", "hunter2", true)),
        );
        assert_eq!(
            Diff::of([item]).text(),
            "prod/web: revision 3, aaaaaaaaaa web: a -> revision 3, bbbbbbbbbb web: b\n  \
             container web: env DB_PASSWORD (changed, not shown)\n  \
             container web: env LEVEL nginx:1.27 -> nginx:1.28\n  \
             container web: image nginx:1.27 -> nginx:1.28\n  \
             container web: memory limit 512Mi -> 1Gi\n  \
             + container proxy (envoy:1)\n  \
             ~ spec.terminationGracePeriodSeconds: 5 -> 3\n"
        );
    }

    #[test]
    fn another_spelling_of_a_quantity_is_no_difference() {
        let sides = (end('a', "a", "1Gi", "x", false), end('b', "a", "1024Mi", "x", false));
        let mut item = Item::between("prod", "web", Some(sides.0), Some(sides.1));
        assert_eq!(item.fields.len(), 1, "{:?}", item.fields);
        assert_eq!(item.fields.remove(0).path, "spec.terminationGracePeriodSeconds");
        let gone = Item::between("prod", "web", Some(end('a', "a", "1Gi", "x", false)), None);
        assert_eq!(Diff::of([gone, item]).items.len(), 1);
    }
}
