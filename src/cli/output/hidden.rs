//! Hides what looks like a secret: a diff is read by more people than the cluster's Secrets are.

use serde_json::Value;

use super::telling::{is_secret, is_telling};

/// What stands for a value that is not shown.
pub(crate) const HIDDEN: &str = "(not shown)";

/// What is said where something was hidden.
pub(crate) const HOW_TO_SEE: &str = "what looks like a secret is not shown: `git diff` between the two commits has it";

/// Whether a line says that something is hidden in it.
pub(crate) fn is_in(line: &str) -> bool {
    line.contains(HIDDEN) || line.ends_with("(changed, not shown)")
}

/// Hides the secrets in a value; `path` is where it stands, as in [`super::diff::Change`].
pub(crate) fn hide(path: &str, value: &mut Value) {
    if let Some((_, name)) =
        path.strip_suffix(".value").and_then(|path| path.strip_suffix(']')).and_then(|p| p.rsplit_once('['))
        && is_telling(name)
    {
        return cover(value);
    }
    let last = path.rsplit(['.', '[']).next().unwrap_or_default();
    let annotation = path.contains("annotations") || path.contains("labels");
    // An annotation's key holds dots: everything behind the word is looked at.
    if annotation && path.split(['[', '"', '.', '/']).any(is_telling) {
        return cover(value);
    }
    if matches!(last, "args" | "command") {
        return arguments(value);
    }
    inside(value);
}

/// The same for everything below a value.
fn inside(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let telling = fields.get("name").and_then(Value::as_str).is_some_and(is_telling);
            for (key, value) in fields {
                match (key.as_str(), &mut *value) {
                    ("value", value) if telling => cover(value),
                    ("args" | "command", value) => arguments(value),
                    ("annotations", Value::Object(notes)) => {
                        notes.iter_mut().filter(|(key, _)| is_telling(key)).for_each(|(_, value)| cover(value));
                    }
                    (_, value) => inside(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(inside),
        Value::String(text) if is_secret(text) => HIDDEN.clone_into(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `--password=x`, and `--password` with `x` behind it.
fn arguments(value: &mut Value) {
    let Value::Array(items) = value else { return };
    let mut next = false;
    for item in items {
        let Value::String(text) = item else { continue };
        if let Some((name, value)) = text.split_once('=').filter(|(name, _)| name.starts_with('-'))
            && is_secret(value)
        {
            *text = format!("{name}={HIDDEN}");
            continue;
        }
        if std::mem::take(&mut next) {
            HIDDEN.clone_into(text);
            continue;
        }
        let option = text.trim_start_matches('-');
        match option.split_once('=') {
            Some((name, _)) if !name.contains(char::is_whitespace) && is_telling(name) => {
                let length = text.len() - option.len() + name.len() + 1;
                text.truncate(length);
                text.push_str(HIDDEN);
            }
            None if option.len() < text.len() && !option.contains(char::is_whitespace) && is_telling(option) => {
                next = true
            }
            _ if is_secret(text) => HIDDEN.clone_into(text),
            _ => {}
        }
    }
}

fn cover(value: &mut Value) {
    if !value.is_null() {
        *value = HIDDEN.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::diff::{changes, lines};
    use super::Value;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let pod = |word: &str| {
            json!({"metadata": {"annotations": {"vault.example.org/token": word, "note": "n"}}, "spec": {"containers": [{
                "name": "web",
                "args": ["--db-password=".to_owned() + word, "--api-key".to_owned(), word.to_owned(), "--port=1".to_owned()],
                "env": [
                    {"name": "DB_PASSWORD", "value": word},
                    {"name": "LEVEL", "value": "info"},
                    {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
                ],
            }]}})
        };
        fn said(from: &Value, to: &Value) -> String {
            changes(from, to).iter().flat_map(lines).collect::<Vec<_>>().join("\n")
        }
        let said_of_change = said(&pod("hunter1"), &pod("hunter2"));
        assert_eq!(
            said_of_change,
            "~ metadata.annotations[\"vault.example.org/token\"]: (changed, not shown)\n\
             ~ spec.containers[web].args: (changed, not shown)\n\
             ~ spec.containers[web].env[DB_PASSWORD].value: (changed, not shown)"
        );
        for (from, to) in [(pod("hunter1"), json!({})), (json!({"spec": {"containers": []}}), pod("hunter1"))] {
            let text = format!("{}{}", said(&from, &to), serde_json::to_string(&changes(&from, &to)).unwrap());
            assert!(!text.contains("hunter"), "{text}");
            assert!(text.contains("info") && text.contains("--port=1"), "{text}");
        }
    }

    #[test]
    fn shapes_are_hidden_whatever_they_are_called() {
        let pod = |word: &str| {
            json!({"spec": {"containers": [{
                "name": "web",
                "command": ["app", "--db", format!("postgres://app:{word}@db/x"), "--level=info"],
                "args": [format!("--upstream=https://{word}@h/x")],
                "env": [{"name": "UPSTREAM", "value": format!("https://ann:{word}@h/x")}, {"name": "PEM_FILE",
                    "value": format!("-----BEGIN PRIVATE KEY-----\n{word}\n")}],
                "lifecycle": {"preStop": {"httpGet": {"httpHeaders": [{"name": "X-Y", "value": format!("Bearer {word}{word}")}]}}},
            }]}})
        };
        for (from, to) in [(pod("hunter1"), pod("hunter2")), (json!({}), pod("hunter1")), (pod("hunter1"), json!({}))] {
            let found = changes(&from, &to);
            let text =
                found.iter().flat_map(lines).collect::<Vec<_>>().join("\n") + &serde_json::to_string(&found).unwrap();
            assert!(!text.contains("hunter"), "{text}");
            assert!(super::is_in(&found.iter().flat_map(lines).collect::<Vec<_>>().join("\n")), "{text}");
        }
    }
}
