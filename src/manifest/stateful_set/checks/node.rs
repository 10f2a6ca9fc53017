//! A value of a manifest with its place, and what is said about it, in the server's own words for places.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::super::super::default::Level;
use super::super::super::findings::Findings;
use super::super::super::foreign::placeholder;
use super::super::super::places::join;
use super::super::super::words::{found, nearest, show};
use super::refusal::{self, Refusal};

/// A place: as a JSON pointer into the document, and as the server names it.
#[derive(Debug, Clone)]
pub(super) struct At {
    pub(super) pointer: String,
    pub(super) path: String,
}

impl At {
    /// The place of a field of the document.
    pub(super) fn top(name: &str) -> Self {
        Self { pointer: format!("/{name}"), path: name.to_owned() }
    }

    /// A field below.
    pub(super) fn child(&self, name: &str) -> Self {
        Self { pointer: join(&self.pointer, name), path: format!("{}.{name}", self.path) }
    }

    /// An item of a list.
    pub(super) fn index(&self, index: usize) -> Self {
        Self { pointer: format!("{}/{index}", self.pointer), path: format!("{}[{index}]", self.path) }
    }

    /// A key of a map.
    pub(super) fn key(&self, key: &str) -> Self {
        Self { pointer: join(&self.pointer, key), path: format!("{}[{key}]", self.path) }
    }
}

/// A value with its place; what is absent is null.
#[derive(Debug, Clone)]
pub(super) struct Node<'v> {
    pub(super) value: &'v Value,
    pub(super) at: At,
}

impl<'v> Node<'v> {
    pub(super) fn new(value: &'v Value, at: At) -> Self {
        Self { value, at }
    }

    /// A field; none where it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self { value, at: self.at.child(name) })
    }

    /// A field, null where it is absent.
    pub(super) fn field(&self, name: &str) -> Self {
        Self { value: self.value.get(name).unwrap_or(&Value::Null), at: self.at.child(name) }
    }

    pub(super) fn at(&self, name: &str) -> At {
        self.at.child(name)
    }

    /// The text of a field; empty where it has none.
    pub(super) fn text(&self, name: &str) -> &'v str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The text of a field, also an empty one; none where it is absent.
    pub(super) fn given(&self, name: &str) -> Option<&'v str> {
        self.value.get(name).and_then(Value::as_str)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.value.get(name).and_then(Value::as_i64)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.value.get(name).and_then(Value::as_bool)
    }

    /// Whether a field is true.
    pub(super) fn is(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some_and(|value| !value.is_null())
    }

    /// The items of a list.
    pub(super) fn items(&self, name: &str) -> Vec<Self> {
        let at = self.at.child(name);
        let list = self.value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().enumerate().map(|(index, value)| Self { value, at: at.index(index) }).collect()
    }

    /// The texts of a list.
    pub(super) fn texts(&self, name: &str) -> Vec<(&'v str, At)> {
        let text = |node: Self| (node.value.as_str().unwrap_or_default(), node.at);
        self.items(name).into_iter().map(text).collect()
    }

    /// The entries of a map.
    pub(super) fn map(&self, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
        self.value.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
    }
}

/// What is made of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grade {
    /// The server refuses the set.
    Refused,
    /// The server takes the set, and refuses every pod of it.
    NoPods,
}

/// Where refusals go.
pub(super) struct Report<'r, 'd> {
    pub(super) findings: &'r mut Findings<'d>,
    pub(super) grade: Grade,
    /// The server in whose words.
    pub(super) level: Level,
    /// The same in the server's words.
    pub(super) refusals: Vec<Refusal>,
}

impl Report<'_, '_> {
    fn add(&mut self, at: &At, code: &str, words: &str, hint: String) {
        let mut message = format!("`{}`: {words}", at.path);
        let finding = match self.grade {
            Grade::Refused => self.findings.error(&at.pointer, message),
            Grade::NoPods => {
                let _ = write!(message, "; the set is accepted, but no pod can be made of it");
                self.findings.warning(&at.pointer, message)
            }
        };
        finding.path.clone_from(&at.path);
        finding.code = code.to_owned();
        finding.hint = if hint.is_empty() { explained(&at.path) } else { hint };
    }

    /// What the server says of it.
    pub(super) fn refuse(&mut self, reason: &'static str, at: &At, message: String) {
        self.refusals.push(Refusal { reason, field: at.path.clone(), message });
    }

    /// Puts the server's words in place of those of the last finding: they are not made of the same parts.
    pub(super) fn reworded(&mut self, reason: &'static str, at: &At, message: impl Into<String>) {
        self.refusals.pop();
        self.refuse(reason, at, message.into());
    }

    /// A value that cannot be.
    pub(super) fn invalid(&mut self, at: &At, value: &Value, rule: &str) {
        for words in refusal::worded(rule, value) {
            self.refuse(refusal::INVALID, at, format!("Invalid value: {value}: {words}"));
        }
        let hint = value.as_str().and_then(placeholder).unwrap_or_default();
        self.add(at, "invalid-value", &format!("{} {rule}", found(value)), hint.to_owned());
    }

    /// A text that cannot be.
    pub(super) fn bad_text(&mut self, at: &At, text: &str, rule: &str) {
        self.invalid(at, &Value::from(text), rule);
    }

    /// Something wrong that is no value by itself.
    pub(super) fn wrong(&mut self, at: &At, words: &str) {
        self.refuse(refusal::INVALID, at, format!("Invalid value: {words}"));
        self.add(at, "invalid-value", words, String::new());
    }

    pub(super) fn required(&mut self, at: &At) {
        self.refuse(refusal::REQUIRED, at, "Required value".to_owned());
        let hint = format!("write it; {}", explained(&at.path));
        self.add(at, "required-field", "a value is required", hint);
    }

    pub(super) fn forbidden(&mut self, at: &At, words: &str) {
        self.refuse(refusal::FORBIDDEN, at, format!("Forbidden: {}", refusal::plain(words)));
        self.add(at, "forbidden-field", words, String::new());
    }

    pub(super) fn duplicate(&mut self, at: &At, value: &str) {
        self.refuse(refusal::DUPLICATE, at, format!("Duplicate value: {}", Value::from(value)));
        let words = format!("{} is there twice", found(&Value::from(value)));
        self.add(at, "duplicate", &words, "keep one, or give the other another name".to_owned());
    }

    pub(super) fn not_found(&mut self, at: &At, value: &str, known: &[&str]) {
        self.refuse(refusal::NOT_FOUND, at, format!("Not found: {}", Value::from(value)));
        let hint = match nearest(value, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => {
                "nothing of that kind is declared: declare it, or remove what names it".to_owned()
            }
            None => format!("there are: {}", listed(known)),
        };
        self.add(at, "not-found", &format!("there is no {}", show(value)), hint);
    }

    /// A word that is none of those that are known.
    pub(super) fn unsupported(&mut self, at: &At, value: &str, known: &[&str]) {
        let value_and = format!("Unsupported value: {}: supported values: ", Value::from(value));
        self.refuse(refusal::NOT_SUPPORTED, at, value_and + &refusal::listed(known));
        let hint = match nearest(value, known) {
            _ if placeholder(value).is_some() => placeholder(value).unwrap_or_default().to_owned(),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("one of {}", listed(known)),
        };
        self.add(at, "unsupported-value", &format!("{} is not supported", found(&Value::from(value))), hint);
    }

    /// Reports a word that is given and none of those that are known.
    pub(super) fn one_of(&mut self, node: &Node<'_>, name: &str, known: &[&str]) {
        if let Some(value) = node.given(name).filter(|value| !known.contains(value)) {
            self.unsupported(&node.at(name), value, known);
        }
    }

    /// Reports a text that breaks a rule; the rule's words are those of the finding.
    pub(super) fn check(&mut self, at: &At, text: &str, rule: fn(&str) -> Result<(), &'static str>) {
        if let Err(words) = rule(text) {
            self.bad_text(at, text, words);
        }
    }
}

/// Where people read what a field takes: `kubectl explain`, which knows no numbers of items and no keys of maps.
pub(super) fn explained(path: &str) -> String {
    let mut fields = String::new();
    let mut depth = 0_usize;
    for letter in path.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            letter if depth == 0 => fields.push(letter),
            _ => {}
        }
    }
    format!("`kubectl explain statefulset.{fields}` says what goes there")
}

fn listed(known: &[&str]) -> String {
    const SHOWN: usize = 8;
    let mut words: Vec<String> = known.iter().take(SHOWN).map(|word| format!("`{word}`")).collect();
    if known.len() > SHOWN {
        words.push("..".into());
    }
    words.join(", ")
}
