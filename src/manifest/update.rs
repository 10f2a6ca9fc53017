//! Says which changes of a set the server would not take: the fields that are fixed when a set is created.
//!
//! Mirrors `ValidateStatefulSetUpdate` of Kubernetes: what is not listed as changeable there is compared, after
//! defaulting, so that writing a default out is no change.

use serde_json::{Map, Value};

use super::default::{self, Level};
use super::findings::Findings;
use super::parse::Document;
use super::places::join;
use super::quantity::{Rounding, canonical};
use super::stateful_set::Manifest;
use super::words::show;
use crate::model::{Diagnostic, WorkloadId};

/// The fields of the spec that may be changed.
pub(crate) const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// The most characters of a value that a message shows.
const MOST_SHOWN: usize = 60;

/// One change that is refused.
struct Change<'a> {
    pointer: String,
    path: String,
    from: Option<&'a Value>,
    to: Option<&'a Value>,
}

/// What the server would refuse of making `after` out of `before`; `document` is where `after` was read from, and
/// `since` says in words where `before` was.
pub fn forbidden_changes(
    before: &Manifest,
    after: &Manifest,
    document: &Document,
    level: Level,
    since: &str,
) -> Vec<Diagnostic> {
    let spec = |manifest: &Manifest| {
        let given = manifest.value.get("spec").cloned().unwrap_or(Value::Null);
        match default::stateful_set(&given, level) {
            Value::Object(spec) => spec,
            _ => Map::new(),
        }
    };
    let (old, new) = (spec(before), spec(after));
    let mut findings = Findings::about(document);
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names.into_iter().filter(|name| !MUTABLE.contains(&name.as_str())) {
        let pointer = join("/spec", name);
        let Some(change) = difference(pointer, format!("spec.{name}"), old.get(name), new.get(name), false) else {
            continue;
        };
        let Change { pointer, path, from, to } = change;
        let message = format!(
            "`{path}` cannot be changed once the set is there: {} -> {} (since {since})",
            shown(from),
            shown(to)
        );
        let finding = findings.error(&pointer, message);
        finding.hint = way_out(name, &path, after, to);
        finding.code = "immutable-field".into();
        finding.path = path;
    }
    findings.finish()
}

/// The first place where two values differ in what they mean to the server.
fn difference<'a>(
    pointer: String,
    path: String,
    from: Option<&'a Value>,
    to: Option<&'a Value>,
    quantities: bool,
) -> Option<Change<'a>> {
    let found = match (from, to) {
        (from, to) if is_empty(from) && is_empty(to) => None,
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            return keys.into_iter().find_map(|key| {
                let quantities = matches!(key.as_str(), "requests" | "limits") || quantities;
                let path = if is_plain(key) { format!("{path}.{key}") } else { format!("{path}[{key}]") };
                difference(join(&pointer, key), path, old.get(key), new.get(key), quantities)
            });
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            return old.iter().zip(new).enumerate().find_map(|(index, (old, new))| {
                difference(format!("{pointer}/{index}"), format!("{path}[{index}]"), Some(old), Some(new), quantities)
            });
        }
        (Some(Value::String(old)), Some(Value::String(new))) if quantities => (!same_amount(old, new)).then_some(()),
        (from, to) => (from != to).then_some(()),
    };
    found.map(|()| Change { pointer, path, from, to })
}

/// Whether Kubernetes' semantic equality takes it for nothing. An empty map has gone with defaulting; an empty struct is
/// something.
fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}

/// Whether two quantities are the same amount however they are spelt.
fn same_amount(old: &str, new: &str) -> bool {
    old == new || super::quantity::compare(old, new).is_some_and(std::cmp::Ordering::is_eq) || {
        let (old, new) = (canonical(old, Rounding::Milli), canonical(new, Rounding::Milli));
        old.is_some() && old == new
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn way_out(field: &str, path: &str, set: &Manifest, to: Option<&Value>) -> String {
    let name = &set.workload;
    let recreate = format!(
        "`kubectl delete statefulset {} -n {} --cascade=orphan` keeps the pods and claims, and the next apply adopts them",
        name.name, name.namespace
    );
    match field {
        "selector" => {
            "take the change back, or give the set another name: pods of the old selector would be left alone".into()
        }
        "volumeClaimTemplates" if path.ends_with(".requests.storage") => grow(path, set, to),
        _ => format!("take the change back; or, with no rollout under way: {recreate}"),
    }
}

/// Why the size of a claim cannot be changed here, and how volumes grow all the same.
fn grow(path: &str, set: &Manifest, to: Option<&Value>) -> String {
    let index = path.split(['[', ']']).nth(1).unwrap_or_default();
    let claim = set.value.pointer(&format!("/spec/volumeClaimTemplates/{index}/metadata/name")).and_then(Value::as_str);
    let (claim, size) = (claim.unwrap_or("NAME"), to.and_then(Value::as_str).unwrap_or("SIZE"));
    let WorkloadId { namespace, name } = &set.workload;
    format!(
        "take the change back: Kubernetes makes claims from it for new pods, and never changes one that is there. To grow \
         the volumes, patch each claim, where its StorageClass allows that: `kubectl patch pvc {claim}-{name}-0 -n \
         {namespace} -p '{{\"spec\":{{\"resources\":{{\"requests\":{{\"storage\":\"{size}\"}}}}}}}}'`, and so on for \
         each pod; pods keep running"
    )
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "nothing".into(),
        Some(value) => {
            let text = value.to_string();
            if text.chars().count() <= MOST_SHOWN {
                return show(&text);
            }
            let start: String = text.chars().take(MOST_SHOWN).collect();
            format!("{}..", show(&start))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Checks, parse, stateful_set};

    const BEFORE: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

    fn read(text: &str) -> (Manifest, Document) {
        let (mut documents, findings) = parse("web.yaml", text.as_bytes());
        assert_eq!(findings, []);
        let document = documents.remove(0);
        let reading = stateful_set::read_for(&document, "default", Checks::Past);
        assert_eq!(reading.diagnostics, []);
        (reading.manifest.unwrap(), document)
    }

    fn changes(text: &str) -> Vec<String> {
        let (before, _) = read(BEFORE);
        let (after, document) = read(text);
        let found = forbidden_changes(&before, &after, &document, Level::V1_36, "HEAD");
        found.iter().map(|finding| format!("{}:{} {}", finding.line, finding.column, finding.message)).collect()
    }

    #[test]
    fn what_is_fixed_at_creation_is_told_with_both_values() {
        for (from, to, expected) in [
            (
                "serviceName: web",
                "serviceName: db",
                "5:16 `spec.serviceName` cannot be changed once the set is there: `\"web\"` -> `\"db\"` (since HEAD)",
            ),
            (
                "  serviceName: web",
                "  podManagementPolicy: Parallel\n  serviceName: web",
                "5:24 `spec.podManagementPolicy` cannot be changed once the set is there: `\"OrderedReady\"` -> `\"Parallel\"` (since HEAD)",
            ),
            (
                "storage: 1Gi",
                "storage: 2Gi",
                "12:74 `spec.volumeClaimTemplates[0].spec.resources.requests.storage` cannot be changed once the set is there: `\"1Gi\"` -> `\"2Gi\"` (since HEAD)",
            ),
            (
                "{app: web}",
                "{app: db}",
                "6:33 `spec.selector.matchLabels.app` cannot be changed once the set is there: `\"web\"` -> `\"db\"` (since HEAD)",
            ),
        ] {
            assert_eq!(changes(&BEFORE.replace(from, to)), [expected], "{to}");
        }
        let gone = BEFORE.split("  volumeClaimTemplates").next().unwrap();
        assert_eq!(changes(gone).len(), 1);
        assert!(changes(gone)[0].contains("-> nothing"));
    }

    #[test]
    fn what_may_change_and_what_only_looks_changed_is_not_told() {
        for (from, to) in [
            (
                "  serviceName: web",
                "  serviceName: web\n  replicas: 5\n  minReadySeconds: 3\n  revisionHistoryLimit: 1\n  ordinals: {start: 2}",
            ),
            ("  serviceName: web", "  serviceName: web\n  podManagementPolicy: OrderedReady"),
            ("  serviceName: web", "  serviceName: web\n  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}"),
            ("image: nginx", "image: other"),
            ("storage: 1Gi", "storage: 1024Mi"),
            ("storage: 1Gi", "storage: \"1073741824\""),
            ("storage: 1Gi}}", "storage: 1Gi}}, volumeMode: Filesystem"),
            ("metadata: {name: data}", "metadata: {name: data, labels: {}}"),
        ] {
            assert_eq!(changes(&BEFORE.replace(from, to)), [] as [String; 0], "{to}");
        }
    }
}
