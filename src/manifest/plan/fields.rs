//! Reads the fields of one level of a plan, each with its finding where it is wrong.

use serde_json::{Map, Value};

use super::super::findings::Findings;
use super::super::places::join;
use super::super::words::{found, nearest, show};
use super::keys::Keys;

/// One mapping of a plan, its keys checked.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// Its JSON pointer.
    at: String,
    keys: &'a Keys,
}

impl<'a> Fields<'a> {
    /// The fields of a mapping; a finding where it is none, and for every key that does not belong there.
    pub(super) fn of(value: &'a Value, at: String, keys: &'a Keys, findings: &mut Findings<'_>) -> Option<Self> {
        let Value::Object(map) = value else {
            let level = if keys.level.is_empty() { "a plan" } else { keys.level };
            let known = keys.known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            findings.error(&at, format!("{level} is a mapping, not {}", found(value))).hint =
                format!("its keys: {known}");
            return None;
        };
        let fields = Self { map, at, keys };
        fields.check_keys(findings);
        Some(fields)
    }

    /// The fields of a mapping one level further down; none where it is not there.
    pub(super) fn inner(&self, key: &str, keys: &'a Keys, findings: &mut Findings<'_>) -> Option<Fields<'a>> {
        Self::of(self.get(key)?, self.at(key), keys, findings)
    }

    /// A value; none where it is not there (a key without a value has had its finding).
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The JSON pointer of a field.
    pub(super) fn at(&self, key: &str) -> String {
        join(&self.at, key)
    }

    /// Whether there is a key that does not belong there: what seems to be missing may be misspelt.
    pub(super) fn has_unknown(&self) -> bool {
        self.map.keys().any(|key| !self.keys.known.contains(&key.as_str()))
    }

    /// The JSON pointer of the mapping itself.
    pub(super) fn pointer(&self) -> &str {
        &self.at
    }

    /// A whole number between two others.
    pub(super) fn count(&self, key: &str, least: u32, most: u32, findings: &mut Findings<'_>) -> Option<u32> {
        whole(key, self.get(key)?, &self.at(key), least, most, findings)
    }

    /// One of several words, as written or all in lower case.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)], findings: &mut Findings<'_>) -> Option<T> {
        let value = self.get(key)?;
        let text = value.as_str().unwrap_or_default();
        let known = words.iter().find(|(word, _)| *word == text || word.to_lowercase() == text);
        if known.is_none() {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = match nearest(text, &words) {
                Some(word) => format!("did you mean `{word}`?"),
                None => {
                    format!("one of {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
                }
            };
            findings.error(&self.at(key), format!("`{key}` cannot be {}", found(value))).hint = hint;
        }
        known.map(|(_, value)| *value)
    }

    fn check_keys(&self, findings: &mut Findings<'_>) {
        let of = if self.keys.level.is_empty() { String::new() } else { format!(" of {}", self.keys.level) };
        for (key, value) in self.map {
            if self.keys.known.contains(&key.as_str()) {
                if value.is_null() {
                    findings.key_error(&self.at(key), format!("`{key}` has no value")).hint = match key.as_str() {
                        "pause" => "write `pause: {}` to wait until promoted".into(),
                        _ => "give it one, or leave it out".into(),
                    };
                }
            } else if let Some((_, hint)) = self.keys.refused.iter().find(|(refused, _)| refused == key) {
                findings.key_error(&self.at(key), format!("`{key}` is no key{of}")).hint = (*hint).into();
            } else {
                let hint = match nearest(key, self.keys.known) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => {
                        let known = self.keys.known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                        format!("the keys are {known}")
                    }
                };
                findings.key_error(&self.at(key), format!("unknown key {}{of}", show(key))).hint = hint;
            }
        }
    }
}

/// A value as a whole number between two others.
pub(super) fn whole(
    key: &str,
    value: &Value,
    at: &str,
    least: u32,
    most: u32,
    findings: &mut Findings<'_>,
) -> Option<u32> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|number| (least..=most).contains(number));
    if number.is_none() {
        let hint = match value {
            Value::String(text) if text.parse::<u32>().is_ok() => "write it without quotes".into(),
            _ => format!("a whole number from {least} to {most}"),
        };
        findings.error(at, format!("`{key}` cannot be {}", found(value))).hint = hint;
    }
    number
}
