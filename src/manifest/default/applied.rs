//! Predicts what an apply makes of a set that is already there: what the server once filled in stays.
//!
//! Mirrors `structured-merge-diff` as server-side apply uses it, for one manager that applied all there is: a field it no
//! longer names goes with all that is in it, one that it names is merged, and one that it never named stays. So a pull
//! policy that was filled in for `nginx` stays for `nginx:1.2`, and `serviceAccount`, filled in beside
//! `serviceAccountName`, stays when that goes and brings it back.

use serde_json::{Map, Value};

use super::schema::{Kind, Merge, Object, Type};

/// The live object with `now` applied over it by who applied `before`; not yet defaulted.
pub(super) fn merged(object: &'static Object, live: &Value, before: &Value, now: &Value) -> Value {
    value(Type::of(Kind::Object(object)), live, before, now)
}

fn value(of: Type, live: &Value, before: &Value, now: &Value) -> Value {
    match (of.merge, live, now) {
        (Merge::Parts, Value::Object(live), Value::Object(now)) => parts(of, live, before, now),
        (Merge::Set | Merge::Keyed(_), Value::Array(live), Value::Array(now)) => items(of, live, before, now),
        _ => now.clone(),
    }
}

/// The fields of an object, or the entries of a map.
fn parts(of: Type, live: &Map<String, Value>, before: &Value, now: &Map<String, Value>) -> Value {
    let stays = |name: &&String| !now.contains_key(*name) && before.get(name.as_str()).is_none();
    let mut out: Map<String, Value> =
        live.iter().filter(|(name, _)| stays(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, now) in now {
        let part = match of.kind {
            Kind::Object(object) => object.field(name, None).map(|field| field.holds()),
            _ => of.inner(),
        };
        let live = live.get(name).unwrap_or(&Value::Null);
        let before = before.get(name).unwrap_or(&Value::Null);
        out.insert(name.clone(), part.map_or_else(|| now.clone(), |part| value(part, live, before, now)));
    }
    // What is emptied goes, even where it is still named as an empty object.
    if out.is_empty() && !live.is_empty() { Value::Null } else { Value::Object(out) }
}

/// The items of `now` in their order, each over the live one of its key; before them those that somebody else added.
/// An empty list leaves none.
fn items(of: Type, live: &[Value], before: &Value, now: &[Value]) -> Value {
    let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
    if now.is_empty() {
        return Value::Array(Vec::new());
    }
    let same = |left: &Value, right: &Value| of.merge.key(left) == of.merge.key(right);
    let find = |among: &[Value], item: &Value| among.iter().find(|other| same(other, item)).cloned();
    let others = live.iter().filter(|item| find(now, item).is_none() && find(before, item).is_none()).cloned();
    let over = now.iter().map(|item| {
        let (live, before) = (find(live, item).unwrap_or_default(), find(before, item).unwrap_or_default());
        of.inner().map_or_else(|| item.clone(), |inner| value(inner, &live, &before, item))
    });
    others.chain(over).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
}
