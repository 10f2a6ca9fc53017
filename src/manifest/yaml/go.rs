//! Values as Go holds them between YAML and JSON, with the keys that JSON has no words for.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::node::Id;
use super::resolve::Scalar;
use super::{super::go_json, super::words::show, Reading};

/// A mapping; with each key the node it was written at.
pub(super) type Entries = BTreeMap<Key, (Id, Go)>;

/// A value of Go.
#[derive(Debug)]
pub(super) enum Go {
    Scalar(Scalar, Id),
    Json(Value),
    List(Vec<Go>),
    Map(Entries),
}

/// A key of a Go map: keys of different types are different keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(Float),
    /// Every one is another key.
    NotANumber(usize),
    Text(Vec<u8>),
}

/// A float as a key; both zeros are one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Float(pub(super) f64);

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Float {}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0 + 0.0).total_cmp(&(other.0 + 0.0))
    }
}

impl Key {
    /// The key for a scalar; `unique` tells keys apart that are equal to none.
    pub(super) fn of(scalar: Scalar, unique: usize) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(value) => Self::Bool(value),
            Scalar::Int(value) => Self::Int(value),
            Scalar::Uint(value) => Self::Uint(value),
            Scalar::Float(value) if value.is_nan() => Self::NotANumber(unique),
            Scalar::Float(value) => Self::Float(Float(value)),
            Scalar::Text(value) => Self::Text(value.into_bytes()),
            Scalar::Bytes(value) => Self::Text(value),
        }
    }

    /// The key's text in JSON; none where kubectl knows none.
    pub(super) fn text(&self) -> Option<String> {
        Some(match self {
            Self::Null | Self::Uint(_) => return None,
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(Float(value)) => float_key(*value),
            Self::NotANumber(_) => ".nan".to_owned(),
            Self::Text(value) => text(value),
        })
    }
}

/// What is wrong with a value, and the node where.
pub(super) type Wrong = (Id, String);

impl Go {
    /// The value in JSON.
    pub(super) fn into_json(self, reading: Reading) -> Result<Value, Wrong> {
        match self {
            Self::Json(value) => Ok(value),
            Self::Scalar(scalar, at) => scalar_json(scalar, reading).map_err(|message| (at, message)),
            Self::List(items) => {
                items.into_iter().map(|item| item.into_json(reading)).collect::<Result<_, _>>().map(Value::Array)
            }
            Self::Map(entries) => {
                // The keys first: of two that are one, kubectl keeps a value that may be no good.
                let mut named = BTreeMap::new();
                for (key, (at, value)) in entries {
                    let Some(name) = key.text() else {
                        let what = if key == Key::Null { "null" } else { "an integer beyond 64 bits" };
                        return Err((at, format!("{what} as a key: text was expected")));
                    };
                    if named.contains_key(&name) {
                        let name = show(&name);
                        let message = format!("two keys are {name} once they are text: kubectl keeps either of them");
                        return Err((at, message));
                    }
                    named.insert(name, value);
                }
                let mut map = Map::new();
                for (name, value) in named {
                    map.insert(name, value.into_json(reading)?);
                }
                Ok(Value::Object(map))
            }
        }
    }
}

/// A scalar in JSON, as Go writes it and kubectl reads it back.
pub(super) fn scalar_json(scalar: Scalar, reading: Reading) -> Result<Value, String> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => Value::from(value),
        Scalar::Uint(value) if reading == Reading::Plain => Value::from(value),
        Scalar::Uint(value) => Value::from(value as f64),
        Scalar::Float(value) => match Number::from_f64(value) {
            // Digits that fit are an integer, also those that a float only rounds to.
            Some(number) => match go_json::number(&number).parse::<i64>() {
                Ok(whole) => Value::from(whole),
                Err(_) => Value::Number(number),
            },
            None => return Err(format!("`{value}` is no number that JSON knows")),
        },
        Scalar::Text(value) => Value::String(value),
        Scalar::Bytes(value) => Value::String(text(&value)),
    })
}

/// Bytes as Go writes them: each that is no UTF-8 becomes a U+FFFD of its own.
fn text(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        match str::from_utf8(rest) {
            Ok(good) => {
                out.push_str(good);
                break;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                out.push_str(&String::from_utf8_lossy(good));
                out.push('\u{fffd}');
                rest = bad.get(1..).unwrap_or_default();
            }
        }
    }
    out
}

/// A float as a key: `strconv.FormatFloat(value, 'g', -1, 32)`.
fn float_key(value: f64) -> String {
    let value = value as f32;
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or_default() {
        -4..6 => value.to_string(),
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_go_writes_them() {
        for (value, expected) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (123_456_789.5, "1.2345679e+08"),
            (1e3, "1000"),
            (1e6, "1e+06"),
            (0.00001, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0"),
            (1e300, ".inf"),
        ] {
            assert_eq!(Key::of(Scalar::Float(value), 0).text().as_deref(), Some(expected));
        }
        assert_eq!(Key::Float(Float(0.0)), Key::Float(Float(-0.0)));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_one_by_one() {
        assert_eq!(text(b"a\xe2\x80b\xff"), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    #[test]
    fn digits_that_fit_are_integers() {
        let json = |value| scalar_json(Scalar::Float(value), Reading::Applied).unwrap();
        assert_eq!(json(1_234_567_890_123_456_768.0).to_string(), "1234567890123456800");
        assert_eq!((json(-0.0), json(1e3)), (Value::from(0), Value::from(1000)));
        assert!(json(1e19).is_f64());
    }
}
