//! Says in which fields two objects differ: by path, list items by their name, several lines line by line.

use serde::Serialize;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::{hidden, text};

/// What tells the items of Kubernetes' keyed lists apart.
const KEYS: [&str; 5] = ["name", "mountPath", "devicePath", "containerPort", "topologyKey"];
/// The most characters of a value that is shown in a line.
const MOST_SHOWN: usize = 200;
/// Unchanged lines around a change in a text of several lines.
const CONTEXT: usize = 1;

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Change {
    /// Where: `spec.template.spec.containers[web].image`.
    pub(crate) path: String,
    /// What happens to it.
    pub(crate) op: Op,
    /// The live value; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Value>,
    /// The value to come; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<Value>,
}

/// What happens to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Op {
    /// It comes.
    Add,
    /// It goes.
    Remove,
    /// It is another.
    Replace,
    /// The items of a list are the same in another order.
    Reorder,
}

/// The fields in which two objects differ, by path. What looks like a secret is hidden in them.
pub(crate) fn changes(from: &Value, to: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", Some(from), Some(to), &mut found);
    for change in &mut found {
        for value in [&mut change.from, &mut change.to].into_iter().flatten() {
            hidden::hide(&change.path, value);
        }
    }
    found
}

fn compare(path: &str, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<Change>) {
    match (from, to) {
        (Some(from), Some(to)) if from == to => {}
        (Some(Value::Object(from)), Some(Value::Object(to))) => objects(path, from, to, found),
        (Some(Value::Array(from)), Some(Value::Array(to))) => lists(path, from, to, found),
        (from, to) => {
            let op = match (from, to) {
                (None, _) => Op::Add,
                (_, None) => Op::Remove,
                (Some(_), Some(_)) => Op::Replace,
            };
            found.push(Change { path: path.to_owned(), op, from: from.cloned(), to: to.cloned() });
        }
    }
}

fn objects(path: &str, from: &Map<String, Value>, to: &Map<String, Value>, found: &mut Vec<Change>) {
    let mut keys: Vec<&String> = from.keys().chain(to.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        compare(&member(path, key), from.get(key), to.get(key), found);
    }
}

fn lists(path: &str, from: &[Value], to: &[Value], found: &mut Vec<Change>) {
    let Some((old, new)) = keys(from, to) else {
        // Plain values: a list is one thing, an argument in the middle of a command means nothing by itself.
        found.push(Change {
            path: path.to_owned(),
            op: Op::Replace,
            from: Some(Value::Array(from.to_vec())),
            to: Some(Value::Array(to.to_vec())),
        });
        return;
    };
    let mut all: Vec<&String> = old.iter().collect();
    all.extend(new.iter().filter(|key| !old.contains(key)));
    for key in all {
        let find = |keys: &[String], items: &'_ [Value]| -> Option<usize> {
            keys.iter().position(|other| other == key).filter(|at| *at < items.len())
        };
        let (before, after) = (find(&old, from), find(&new, to));
        compare(&format!("{path}[{key}]"), before.and_then(|at| from.get(at)), after.and_then(|at| to.get(at)), found);
    }
    let common = |keys: &[String], others: &[String]| -> Vec<String> {
        keys.iter().filter(|key| others.contains(key)).cloned().collect()
    };
    if common(&old, &new) != common(&new, &old) {
        let names = |keys: Vec<String>| Some(Value::from(keys));
        found.push(Change { path: path.to_owned(), op: Op::Reorder, from: names(old), to: names(new) });
    }
}

/// The key of every item of both lists, by the first field that tells them apart in both; none where none does.
fn keys(from: &[Value], to: &[Value]) -> Option<(Vec<String>, Vec<String>)> {
    if !from.iter().chain(to).all(Value::is_object) {
        return None;
    }
    let keyed = |key: &str| keyed(from, key).zip(keyed(to, key));
    KEYS.into_iter().find_map(keyed).or_else(|| named(from).zip(named(to)))
}

/// The items' values of one field; none where an item has none, or two have the same.
fn keyed(items: &[Value], key: &str) -> Option<Vec<String>> {
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        let value = item.get(key)?;
        let mut text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Ports of one number are told apart by their protocol.
        if let ("containerPort", Some(protocol)) = (key, item.get("protocol").and_then(Value::as_str)) {
            text = format!("{text}/{protocol}");
        }
        if keys.contains(&text) {
            return None;
        }
        keys.push(text);
    }
    Some(keys)
}

fn named(items: &[Value]) -> Option<Vec<String>> {
    let names: Option<Vec<String>> =
        items.iter().map(|item| item.pointer("/metadata/name")?.as_str().map(str::to_owned)).collect();
    names.filter(|names| names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)))
}

fn member(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}

/// A change for people, one line or several.
pub(crate) fn lines(change: &Change) -> Vec<String> {
    let path = text::line(&change.path);
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if from == to => vec![format!("~ {path}: (changed, not shown)")],
        (Some(Value::String(from)), Some(Value::String(to))) if from.contains('\n') || to.contains('\n') => {
            let mut lines = vec![format!("~ {path}:")];
            lines.extend(line_by_line(from, to));
            lines
        }
        (Some(from), Some(to)) => {
            let word = if change.op == Op::Reorder { " (order)" } else { "" };
            vec![format!("~ {path}{word}: {} -> {}", shown(from), shown(to))]
        }
        (None, Some(to)) => vec![format!("+ {path}: {}", shown(to))],
        (Some(from), None) => vec![format!("- {path}: {}", shown(from))],
        (None, None) => Vec::new(),
    }
}

fn line_by_line(from: &str, to: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(from, to);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push("    ..".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("    {sign} {}", text::line(change.value().trim_end_matches('\n'))));
        }
    }
    lines
}

fn shown(value: &Value) -> String {
    let text = text::line(&value.to_string());
    if text.chars().count() <= MOST_SHOWN {
        return text;
    }
    text.chars().take(MOST_SHOWN).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(from: &Value, to: &Value) -> Vec<String> {
        changes(from, to).iter().flat_map(lines).collect()
    }

    #[test]
    fn containers_are_told_apart_by_their_name() {
        let from = json!({"spec": {"containers": [{"name": "web", "image": "a:1"}, {"name": "old", "image": "x"}]}});
        let to = json!({"spec": {"containers": [{"name": "web", "image": "a:2"}, {"name": "new", "image": "y"}]}});
        assert_eq!(
            words(&from, &to),
            [
                "~ spec.containers[web].image: \"a:1\" -> \"a:2\"",
                "- spec.containers[old]: {\"image\":\"x\",\"name\":\"old\"}",
                "+ spec.containers[new]: {\"image\":\"y\",\"name\":\"new\"}",
            ]
        );
    }

    #[test]
    fn another_order_is_a_change_of_its_own() {
        let from = json!({"env": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]});
        let to = json!({"env": [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]});
        assert_eq!(words(&from, &to), ["~ env (order): [\"a\",\"b\"] -> [\"b\",\"a\"]"]);
    }

    #[test]
    fn plain_lists_ports_and_odd_keys() {
        let from = json!({"args": ["a", "b"], "metadata": {"labels": {"a.b/c": "1"}}, "ports": [
            {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]});
        let to = json!({"args": ["a"], "metadata": {"labels": {"a.b/c": "2"}}, "ports": [
            {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP", "name": "dns"}]});
        assert_eq!(
            words(&from, &to),
            [
                "~ args: [\"a\",\"b\"] -> [\"a\"]",
                "~ metadata.labels[\"a.b/c\"]: \"1\" -> \"2\"",
                "+ ports[53/TCP].name: \"dns\"",
            ]
        );
    }

    #[test]
    fn several_lines_are_compared_line_by_line() {
        let from = json!({"value": "a\nb\nc\nd\ne\nf\n"});
        let to = json!({"value": "a\nb\nX\nd\ne\nf\n"});
        assert_eq!(words(&from, &to), ["~ value:", "      b", "    - c", "    + X", "      d"]);
    }

    #[test]
    fn lists_are_keyed_by_what_tells_both_apart() {
        let from = json!({"ports": [{"containerPort": 80, "name": "web"}]});
        let to = json!({"ports": [{"containerPort": 80}, {"containerPort": 90}]});
        assert_eq!(words(&from, &to), ["- ports[80].name: \"web\"", "+ ports[90]: {\"containerPort\":90}"]);
    }

    #[test]
    fn equal_objects_have_no_changes() {
        let same = json!({"a": [1, {"b": null}]});
        assert!(changes(&same, &same).is_empty());
    }
}
