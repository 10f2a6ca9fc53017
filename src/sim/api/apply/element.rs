//! One step of a path to a field: a field's name, the keys of a list item, the item itself, or its place.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde_json::Value;

use super::go;
use crate::manifest::go_json;

/// A step of a path; ordered as `structured-merge-diff` orders them.
#[derive(Debug, Clone)]
pub(super) enum Element {
    /// A field of an object, or a key of a map.
    Field(String),
    /// An item of a list whose items are told apart by fields; sorted by their names.
    Key(Vec<(String, Value)>),
    /// An item of a list whose equal items are one.
    Item(Value),
    /// An item of a list that is taken as one.
    Index(i64),
}

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// As a key of `fieldsV1`; none where a later version may know what it is.
    ///
    /// # Errors
    /// Where it is no path element.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
            return Err(format!("missing colon: {text}"));
        };
        let json = || serde_json::from_str::<Value>(rest).map_err(|_| format!("no JSON: {text}"));
        Ok(Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Item(as_read(json()?)),
            "k" => match json()? {
                Value::Object(keys) => {
                    Self::Key(keys.into_iter().map(|(name, value)| (name, as_read(value))).collect())
                }
                _ => return Err(format!("no keys: {text}")),
            },
            "i" => Self::Index(rest.parse().map_err(|_| format!("no index: {text}"))?),
            _ => return Ok(None),
        }))
    }

    /// As a key of `fieldsV1`.
    pub(super) fn print(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Vec<_> = keys.iter().map(|(name, value)| format!("\"{name}\":{}", json(value))).collect();
                format!("k:{{{}}}", keys.join(","))
            }
            Self::Item(value) => format!("v:{}", json(value)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Which kinds come first.
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Item(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Key(keys) => {
                out.write_char('[')?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(out, "{comma}{name}={}", go::shown(value))?;
                }
                out.write_char(']')
            }
            Self::Item(value) => write!(out, "[={}]", go::shown(value)),
            Self::Index(index) => write!(out, "[{index}]"),
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => {
                let both = left
                    .iter()
                    .zip(right)
                    .map(|(left, right)| left.0.cmp(&right.0).then_with(|| compare(&left.1, &right.1)));
                let different = both.into_iter().find(|order| order.is_ne());
                different.unwrap_or_else(|| left.len().cmp(&right.len()))
            }
            (Self::Item(left), Self::Item(right)) => compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

/// A value as the server reads it out of a set: numbers are floats, of integers no more is left than one has.
fn as_read(value: Value) -> Value {
    match value.as_f64() {
        Some(float) => float.into(),
        None => value,
    }
}

/// A scalar as the server writes it here: with two characters escaped otherwise than elsewhere.
fn json(value: &Value) -> String {
    const OTHERWISE: [char; 2] = ['\u{8}', '\u{c}'];
    match value {
        Value::String(text) if text.contains(OTHERWISE) => {
            let inner = |part: &str| {
                let quoted = go_json::to_string(&part.into());
                quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
            };
            let parts = text.split_inclusive(OTHERWISE).map(|part| match part.strip_suffix(OTHERWISE) {
                Some(before) if part.ends_with('\u{8}') => format!("{}\\u0008", inner(before)),
                Some(before) => format!("{}\\u000c", inner(before)),
                None => inner(part),
            });
            format!("\"{}\"", parts.collect::<String>())
        }
        other => go_json::with_integers(other),
    }
}

/// Whether two values are the same to a merge: 80 is 80.0.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

/// The order of values: numbers, texts, booleans, lists, maps, null.
fn compare(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0_u8,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            // JSON has no numbers that cannot be compared; zero has no sign here.
            _ => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let different = left.iter().zip(right).map(|(left, right)| compare(left, right)).find(|it| it.is_ne());
            different.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let both = left.iter().zip(right);
            let different = both
                .map(|(left, right)| left.0.cmp(right.0).then_with(|| compare(left.1, right.1)))
                .find(|order| order.is_ne());
            different.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (left, right) => rank(left).cmp(&rank(right)),
    }
}
