//! Reads a value by its description, and gives back what the API server would write.

use serde_json::{Map, Value};

use super::Level;
use super::schema::{Field, Kind, Object, Presence, Reading};
use super::time;
use crate::manifest::go_json;
use crate::manifest::quantity::{self, Rounding};

/// One object as the server returns it; anything but an object stays as it is, and null is the empty object.
pub(super) fn object(object: &Object, given: &Value, reading: Reading) -> Value {
    match given {
        Value::Object(map) => fields(object, map, reading),
        Value::Null => fields(object, &Map::new(), reading),
        other => other.clone(),
    }
}

fn fields(object: &Object, given: &Map<String, Value>, reading: Reading) -> Value {
    let mut out = Map::new();
    for field in object.fields.iter().filter(|field| field.is_kept(reading)) {
        let value = given.get(field.name).filter(|value| !value.is_null());
        if let Some(value) = read(field, value, reading) {
            out.insert(field.name.to_owned(), value);
        }
    }
    if let Some(rule) = object.then {
        rule(&mut out, reading);
    }
    Value::Object(out)
}

/// What is written for one field, or nothing; `given` is never null.
fn read(field: &Field, given: Option<&Value>, reading: Reading) -> Option<Value> {
    let value = given.map(|value| convert(field.kind, value, reading));
    match field.presence {
        Presence::NonZero => value.filter(|value| !is_zero(field.kind, value)).or_else(|| field.default.value()),
        Presence::Given => value.or_else(|| field.default.value()),
        // An empty list that is given is one, until it is stored.
        Presence::Always if !reading.gated && value == Some(Value::Array(Vec::new())) => value,
        Presence::Always => {
            value.filter(|value| !is_zero(field.kind, value)).or_else(|| Some(zero(field.kind, reading)))
        }
        Presence::OrNull => Some(value.unwrap_or(Value::Null)),
        Presence::NullAt133 => {
            value.filter(|value| !value.is_null()).or((reading.level == Level::V1_33).then_some(Value::Null))
        }
    }
}

/// The zero value of a kind as Go writes it: an empty list or map without `omitempty` is null.
fn zero(kind: Kind, reading: Reading) -> Value {
    match kind {
        Kind::Text => "".into(),
        Kind::Flag => false.into(),
        Kind::Int32 | Kind::Int64 | Kind::IntOrText => 0.into(),
        Kind::Quantity => "0".into(),
        Kind::Object(of) => fields(of, &Map::new(), reading),
        Kind::Time
        | Kind::Raw
        | Kind::Texts
        | Kind::Int32s
        | Kind::Int64s
        | Kind::TextMap
        | Kind::QuantityMap
        | Kind::Objects(_) => Value::Null,
    }
}

/// Whether `omitempty` drops the value: false, 0, "", an empty list or map; never a struct, nor a value of the wrong kind.
fn is_zero(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Flag => value == false,
        Kind::Int32 | Kind::Int64 => value == 0,
        Kind::Text => value.as_str().is_some_and(str::is_empty),
        Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_) => value.as_array().is_some_and(Vec::is_empty),
        Kind::TextMap | Kind::QuantityMap => value.as_object().is_some_and(Map::is_empty),
        Kind::Quantity | Kind::IntOrText | Kind::Time | Kind::Raw | Kind::Object(_) => false,
    }
}

fn convert(kind: Kind, value: &Value, reading: Reading) -> Value {
    match kind {
        Kind::Text | Kind::Flag | Kind::Raw => value.clone(),
        Kind::Time => time::in_utc(value),
        Kind::Int32 | Kind::IntOrText => int32(value),
        Kind::Int64 => int64(value),
        Kind::Quantity => quantity(value, Rounding::Exact),
        Kind::Texts => items(value, text),
        Kind::Int32s => items(value, int32),
        Kind::Int64s => items(value, int64),
        Kind::TextMap => values(value, text),
        Kind::QuantityMap => values(value, |value| quantity(value, Rounding::Milli)),
        Kind::Object(of) => object(of, value, reading),
        Kind::Objects(of) => items(value, |value| object(of, value, reading)),
    }
}

fn items(value: &Value, convert: impl Fn(&Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(convert).collect(),
        other => other.clone(),
    }
}

fn values(value: &Value, convert: impl Fn(&Value) -> Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.iter().map(|(key, value)| (key.clone(), convert(value))).collect()),
        other => other.clone(),
    }
}

fn text(value: &Value) -> Value {
    if value.is_null() { "".into() } else { value.clone() }
}

/// A whole number in 32 bits; larger ones wrap, as server-side apply lets them.
fn int32(value: &Value) -> Value {
    match whole(value) {
        #[expect(clippy::cast_possible_truncation, reason = "the server wraps")]
        Some(number) => i64::from(number as i32).into(),
        None => zero_if_null(value),
    }
}

fn int64(value: &Value) -> Value {
    match whole(value) {
        Some(number) => number.into(),
        None => zero_if_null(value),
    }
}

fn zero_if_null(value: &Value) -> Value {
    if value.is_null() { 0.into() } else { value.clone() }
}

/// A JSON number without a fraction (`10`, `10.0`, `1e1`) as Go converts it: beyond 64 bits it is the smallest integer.
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if !(-LIMIT..LIMIT).contains(&float) {
        return Some(i64::MIN);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within range")]
    Some(float as i64)
}

/// A quantity as it is printed; null is "0", and what is no quantity stays as it is.
fn quantity(value: &Value, rounding: Rounding) -> Value {
    let canonical = match value {
        Value::Null => Some("0".to_owned()),
        Value::String(text) => quantity::canonical(text, rounding),
        Value::Number(number) => {
            // Whole numbers of 64 bits are read as such, others as floats.
            let text = number.as_i64().map_or_else(|| go_json::number(number), |whole| whole.to_string());
            quantity::canonical(&text, rounding)
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    canonical.map_or_else(|| value.clone(), Value::String)
}
