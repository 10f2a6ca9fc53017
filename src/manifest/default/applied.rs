//! Predicts what an apply makes of a set that is already there: what the server once filled in stays.
//!
//! Mirrors `structured-merge-diff` as server-side apply uses it, for one manager that applied all there is: a field it no
//! longer names goes with all that is in it, one that it names is merged, and one that it never named stays. So a pull
//! policy that was filled in for `nginx` stays for `nginx:1.2`, and `serviceAccount`, filled in beside
//! `serviceAccountName`, stays when that goes and brings it back.

use serde_json::{Map, Value};

/// Lists whose items are told apart, and by which of their fields. All others are taken as one value.
pub(super) const KEYED: &[(&str, &[&str])] = &[
    ("ports", &["containerPort", "protocol"]),
    ("env", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("ownerReferences", &["uid"]),
    ("volumes", &["name"]),
    ("initContainers", &["name"]),
    ("containers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("imagePullSecrets", &["name"]),
    ("hostAliases", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("schedulingGates", &["name"]),
    ("resourceClaims", &["name"]),
    ("claims", &["name"]),
];

/// Objects and maps that are taken as one value.
pub(super) const ATOMIC: &[&str] = &[
    "configMapKeyRef",
    "dataSource",
    "fieldRef",
    "fileKeyRef",
    "labelSelector",
    "namespaceSelector",
    "nodePublishSecretRef",
    "nodeSelector",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "resourceFieldRef",
    "secretKeyRef",
    "secretRef",
    "selector",
];

/// The live value with `now` applied over it by who applied `before`; not yet defaulted.
pub(super) fn merged(field: &str, live: &Value, before: &Value, now: &Value) -> Value {
    match (live, now) {
        (Value::Object(live), Value::Object(now)) if !ATOMIC.contains(&field) => objects(live, before, now),
        (Value::Array(live), Value::Array(now)) => match KEYED.iter().find(|(name, _)| *name == field) {
            Some((_, keys)) => items(keys, live, before, now),
            None => Value::Array(now.clone()),
        },
        _ => now.clone(),
    }
}

fn objects(live: &Map<String, Value>, before: &Value, now: &Map<String, Value>) -> Value {
    let stays = |name: &&String| !now.contains_key(*name) && before.get(name.as_str()).is_none();
    let mut out: Map<String, Value> =
        live.iter().filter(|(name, _)| stays(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in now {
        let live = live.get(name).unwrap_or(&Value::Null);
        out.insert(name.clone(), merged(name, live, before.get(name).unwrap_or(&Value::Null), value));
    }
    // What is emptied goes, even where it is still named as an empty object.
    if out.is_empty() && !live.is_empty() { Value::Null } else { Value::Object(out) }
}

/// The items of `now` in their order, each over the live one of its key; before them those that somebody else added.
/// An empty list leaves none.
fn items(keys: &[&str], live: &[Value], before: &Value, now: &[Value]) -> Value {
    let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
    if now.is_empty() {
        return Value::Array(Vec::new());
    }
    let find = |among: &[Value], item: &Value| among.iter().find(|other| same(keys, other, item)).cloned();
    let others = live.iter().filter(|item| find(now, item).is_none() && find(before, item).is_none()).cloned();
    let over = now.iter().map(|item| {
        let (live, before) = (find(live, item).unwrap_or_default(), find(before, item).unwrap_or_default());
        merged("", &live, &before, item)
    });
    others.chain(over).collect()
}

/// Whether two items have one key; a port without a protocol is one of TCP, one with "" is not.
fn same(keys: &[&str], left: &Value, right: &Value) -> bool {
    let key = |item: &Value, name: &str| match item.get(name) {
        Some(value) if !value.is_null() => value.clone(),
        _ if name == "protocol" => "TCP".into(),
        _ => "".into(),
    };
    keys.iter().all(|name| key(left, name) == key(right, name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{ATOMIC, KEYED};
    use crate::manifest::default::{Level, applied, stateful_set};

    fn pod(spec: Value) -> Value {
        json!({"template": {"spec": spec}})
    }

    /// The template's spec once `before` and then `now` were applied.
    fn after(before: Value, now: Value) -> Value {
        let (before, now) = (pod(before), pod(now));
        let live = stateful_set(&before, Level::V1_36);
        applied(&live, &before, &now, Level::V1_36)["template"]["spec"].clone()
    }

    #[test]
    fn what_the_server_filled_in_stays() {
        let image = |image: &str| json!({"containers": [{"name": "a", "image": image}]});
        let policy = |spec: Value| spec["containers"][0]["imagePullPolicy"].clone();
        assert_eq!(policy(after(image("nginx"), image("nginx:1.2"))), "Always");
        assert_eq!(policy(after(image("nginx:1.2"), image("nginx"))), "IfNotPresent");
        let account = after(json!({"serviceAccountName": "a"}), json!({}));
        assert_eq!(account["serviceAccountName"], "a");
    }

    #[test]
    fn what_is_no_longer_named_goes_with_all_that_is_in_it() {
        let probe = |handler: Value| json!({"containers": [{"name": "a", "livenessProbe": handler}]});
        let changed = after(probe(json!({"tcpSocket": {"port": 1}})), probe(json!({"exec": {"command": ["a"]}})));
        assert_eq!(changed["containers"][0]["livenessProbe"].get("tcpSocket"), None);
        let gone = after(probe(json!({"tcpSocket": {"port": 1}})), json!({"containers": [{"name": "a"}]}));
        assert_eq!(gone["containers"][0].get("livenessProbe"), None);
    }

    #[test]
    fn items_are_told_apart_by_their_keys_and_keep_the_new_order() {
        let volumes = |names: &[&str]| -> Value {
            json!({"volumes": names.iter().map(|name| json!({"name": name, "emptyDir": {}})).collect::<Vec<_>>()})
        };
        let spec = after(volumes(&["a", "b"]), volumes(&["c", "b"]));
        assert_eq!(spec["volumes"], volumes(&["c", "b"])["volumes"]);
    }

    /// Every list with keys and every atomic object that the API describes, and no other.
    #[test]
    fn keys_and_atoms_are_those_of_the_api() {
        let dump: Value =
            serde_json::from_str(include_str!("../../../tests/data/fields-1.36.json")).unwrap_or_default();
        // Not within what is merged: inside of lists that are taken as one, or a set of texts, for which it is the same.
        let elsewhere = ["conditions", "imagePullSecrets", "ownerReferences", "nodeSelectorTerms", "preference"];
        let (mut keyed, mut atomic) = (BTreeSet::new(), BTreeSet::new());
        for (name, fields) in dump["types"].as_object().into_iter().flatten() {
            for field in fields.as_array().into_iter().flatten().filter(|_| !name.starts_with("StatefulSetStatus")) {
                let of = field["name"].as_str().unwrap_or_default().to_owned();
                if let Some(keys) = field["keys"].as_array() {
                    keyed.insert((of.clone(), keys.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")));
                }
                if field["atomic"] == true && !elsewhere.contains(&of.as_str()) {
                    atomic.insert(of);
                }
            }
        }
        keyed.retain(|(name, _)| name != "conditions");
        let ours: BTreeSet<_> = KEYED.iter().map(|(name, keys)| ((*name).to_owned(), keys.join(","))).collect();
        assert_eq!(ours, keyed);
        assert_eq!(ATOMIC.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), atomic);
    }
}
