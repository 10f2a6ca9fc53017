//! Finds the value that a server means by the name of a field: `spec.template.spec.containers[0].image`.

use serde_json::Value;

use super::places::join;

/// The JSON pointer of a field as Kubernetes names it, as far as the object has it.
///
/// Understood are indices (`[0]`), keys of maps (`[app.kubernetes.io/name]`) and of keyed lists (`[name="web"]`,
/// `[containerPort=80,protocol="TCP"]`). What the object does not have ends the pointer at the value above it.
pub fn pointer(field: &str, object: &Value) -> String {
    let mut pointer = String::new();
    let mut at = object;
    for part in parts(field) {
        let found = match (at, &part) {
            (Value::Object(map), Part::Name(name) | Part::Bracket(name)) => map.get(*name).map(|value| (*name, value)),
            (Value::Array(_), Part::Name(_)) => None,
            (Value::Array(list), Part::Bracket(key)) => {
                let index = key.parse().ok().or_else(|| list.iter().position(|item| has(item, key)));
                if let Some((index, value)) = index.and_then(|index: usize| Some((index, list.get(index)?))) {
                    pointer = join(&pointer, &index.to_string());
                    at = value;
                    continue;
                }
                None
            }
            _ => None,
        };
        let Some((name, value)) = found else { break };
        pointer = join(&pointer, name);
        at = value;
    }
    pointer
}

/// A step of a field's name.
enum Part<'a> {
    Name(&'a str),
    Bracket(&'a str),
}

fn parts(field: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = field.trim_start_matches('.');
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').unwrap_or(inside.len());
            parts.push(Part::Bracket(&inside[..end]));
            rest = inside.get(end + 1..).unwrap_or_default();
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            parts.push(Part::Name(&rest[..end]));
            rest = &rest[end..];
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    parts
}

/// Whether an item has the keys that tell it apart: `name="web"`, several with commas between them.
fn has(item: &Value, keys: &str) -> bool {
    keys.split(',').all(|key| {
        key.split_once('=').is_some_and(|(name, value)| {
            let wanted = value.trim_matches('"');
            match item.get(name) {
                Some(Value::String(text)) => text == wanted,
                Some(Value::Number(number)) => number.to_string() == wanted,
                // A key that was left out has its default.
                None => name == "protocol" && wanted == "TCP",
                Some(_) => false,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_by_the_servers_names() {
        let set = json!({"metadata": {"labels": {"a.b/c": "1"}}, "spec": {"template": {"spec": {"containers": [
            {"name": "a"}, {"name": "web", "image": "x", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]},
        ]}}}});
        for (field, expected) in [
            ("spec.template.spec.containers[1].image", "/spec/template/spec/containers/1/image"),
            (".spec.template.spec.containers[name=\"web\"].image", "/spec/template/spec/containers/1/image"),
            (
                "spec.template.spec.containers[1].ports[containerPort=80,protocol=\"UDP\"]",
                "/spec/template/spec/containers/1/ports/1",
            ),
            (
                "spec.template.spec.containers[1].ports[containerPort=80,protocol=\"TCP\"].x",
                "/spec/template/spec/containers/1/ports/0",
            ),
            ("metadata.labels[a.b/c]", "/metadata/labels/a.b~1c"),
            ("spec.template.spec.containers[7].image", "/spec/template/spec/containers"),
            ("spec.nothing.here", "/spec"),
            ("spec.template.spec.containers[", "/spec/template/spec/containers"),
            ("", ""),
        ] {
            assert_eq!(pointer(field, &set), expected, "{field}");
        }
    }
}
