//! Hides what looks like a secret: a diff is read by more people than the cluster's Secrets are.

use serde_json::Value;

/// What stands for a value that is not shown.
pub(crate) const HIDDEN: &str = "(not shown)";

/// Parts of names whose values nobody should read over somebody's shoulder.
const TELLING: [&str; 6] = ["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "CREDENTIAL"];

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
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `--password=x`, and `--password` with `x` behind it.
fn arguments(value: &mut Value) {
    let Value::Array(items) = value else { return };
    let mut next = false;
    for item in items {
        let Value::String(text) = item else { continue };
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
            _ => {}
        }
    }
}

fn cover(value: &mut Value) {
    if !value.is_null() {
        *value = HIDDEN.into();
    }
}

/// Whether something of this name had better not be shown.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let key = name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part.ends_with("KEY") || part == "KEYS");
    key || TELLING.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::diff::{changes, lines};
    use super::{Value, is_telling};

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
    fn names_tell() {
        for name in ["DB_PASSWORD", "apiKey", "AWS_SECRET_ACCESS_KEY", "token", "TLS_KEYS", "user-credentials"] {
            assert!(is_telling(name), "{name}");
        }
        for name in ["LOG_LEVEL", "KEYCLOAK_URL", "PORT", "KEYSPACE"] {
            assert!(!is_telling(name), "{name}");
        }
    }
}
