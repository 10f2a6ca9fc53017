//! JSON patches (RFC 6902), as the server's library reads them.
//!
//! It differs from the standard in one thing: `replace` of a member that is not there adds it.

use serde_json::Value;

/// The most steps that a patch may have.
const MOST_STEPS: usize = 10_000;

/// A step that cannot be done: the server does not say which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

/// Does the steps one after the other; the object is worth nothing where one of them fails.
pub(super) fn apply(object: &mut Value, steps: &[Value]) -> Result<(), Refused> {
    if steps.len() > MOST_STEPS {
        return Err(Refused);
    }
    steps.iter().try_for_each(|step| done(object, step))
}

fn done(object: &mut Value, step: &Value) -> Result<(), Refused> {
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let path = text("path").ok_or(Refused)?;
    let value = || step.get("value").cloned().unwrap_or(Value::Null);
    match text("op").ok_or(Refused)? {
        "add" => add(object, path, value()),
        "remove" => take(object, path).map(|_| ()),
        "replace" => replace(object, path, value()),
        "move" => {
            let moved = take(object, text("from").ok_or(Refused)?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copied = find(object, text("from").ok_or(Refused)?).ok_or(Refused)?.clone();
            add(object, path, copied)
        }
        "test" => {
            let wanted = value();
            let same = match find(object, path) {
                None => wanted.is_null(),
                Some(found) => *found == wanted,
            };
            if same { Ok(()) } else { Err(Refused) }
        }
        _ => Err(Refused),
    }
}

fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let place = object.pointer(path)?;
    Some(place)
}

/// Where a path ends: the value that holds the last part, and that part.
fn holder<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Refused> {
    let (before, last) = path.rsplit_once('/').ok_or(Refused)?;
    let holder = object.pointer_mut(before).ok_or(Refused)?;
    Ok((holder, last.replace("~1", "/").replace("~0", "~")))
}

fn index(text: &str, length: usize) -> Result<usize, Refused> {
    let plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|at| plain && *at < length).ok_or(Refused)
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Refused> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let (holder, last) = holder(object, path)?;
    match holder {
        Value::Object(members) => {
            members.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(&last, items.len() + 1)?;
            items.insert(at, value);
        }
        _ => return Err(Refused),
    }
    Ok(())
}

fn take(object: &mut Value, path: &str) -> Result<Value, Refused> {
    let (holder, last) = holder(object, path)?;
    match holder {
        Value::Object(members) => members.remove(&last).ok_or(Refused),
        Value::Array(items) => {
            let at = index(&last, items.len())?;
            Ok(items.remove(at))
        }
        _ => Err(Refused),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), Refused> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let (holder, last) = holder(object, path)?;
    match holder {
        Value::Object(members) => {
            members.insert(last, value);
        }
        Value::Array(items) => {
            let at = index(&last, items.len())?;
            if let Some(item) = items.get_mut(at) {
                *item = value;
            }
        }
        _ => return Err(Refused),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Refused, apply};

    fn patched(before: Value, steps: Value) -> Result<Value, Refused> {
        let mut value = before;
        apply(&mut value, steps.as_array().unwrap())?;
        Ok(value)
    }

    #[test]
    fn steps_are_done_in_order() {
        let before = json!({"a": {"b": [1, 2]}, "c/d": "x"});
        for (steps, after) in [
            (json!([{"op": "add", "path": "/a/b/1", "value": 9}]), json!({"a": {"b": [1, 9, 2]}, "c/d": "x"})),
            (json!([{"op": "add", "path": "/a/b/-", "value": 9}]), json!({"a": {"b": [1, 2, 9]}, "c/d": "x"})),
            (json!([{"op": "remove", "path": "/c~1d"}]), json!({"a": {"b": [1, 2]}})),
            (json!([{"op": "replace", "path": "/new", "value": 1}]), json!({"a": {"b": [1, 2]}, "c/d": "x", "new": 1})),
            (json!([{"op": "move", "from": "/a/b", "path": "/b"}]), json!({"a": {}, "b": [1, 2], "c/d": "x"})),
            (
                json!([{"op": "test", "path": "/a/b/0", "value": 1}, {"op": "copy", "from": "/c~1d", "path": "/e"}]),
                json!({"a": {"b": [1, 2]}, "c/d": "x", "e": "x"}),
            ),
        ] {
            assert_eq!(patched(before.clone(), steps.clone()), Ok(after), "{steps}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for step in [
            json!({"op": "test", "path": "/a", "value": 9}),
            json!({"op": "remove", "path": "/z"}),
            json!({"op": "add", "path": "/z/z", "value": 1}),
            json!({"op": "add", "path": "/l/3", "value": 1}),
            json!({"op": "replace", "path": "/l/2", "value": 1}),
            json!({"op": "copy", "from": "/z", "path": "/y"}),
            json!({"op": "bla", "path": "/a", "value": 1}),
            json!({"op": "add", "value": 1}),
            json!({"op": "remove", "path": ""}),
            json!(1),
        ] {
            assert_eq!(patched(json!({"a": 1, "l": [1, 2]}), json!([step])), Err(Refused), "{step}");
        }
    }
}
