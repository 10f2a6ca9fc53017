//! What the API's schema takes and its types do not, in the server's words.

use serde_json::Value;

use super::shape::Shape;
use crate::manifest::default::{self, Kind};
use crate::manifest::{go_json, quantity};

/// Checks that an object can be converted to its type: what the schema says nothing of.
///
/// # Errors
/// The server's message about the first value that cannot. What of a text is no time it would say more closely.
pub(super) fn check(of: Shape, value: &Value) -> Result<(), String> {
    match (of.of.kind, value) {
        (_, Value::Null) => Ok(()),
        (Kind::Object(object), Value::Object(map)) => {
            let declared = object.fields.iter().filter_map(|field| map.get(field.name).map(|value| (field, value)));
            declared.into_iter().try_for_each(|(field, value)| check(Shape { of: field.holds(), ..of }, value))
        }
        (Kind::TextMap | Kind::QuantityMap, Value::Object(map)) => inner(of, map.values()),
        (Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_), Value::Array(items)) => inner(of, items.iter()),
        (Kind::Int32, Value::Number(number)) if !is_whole(number) => Err("cannot convert float64 to int32".to_owned()),
        (Kind::Int64, Value::Number(number)) if !is_whole(number) => Err("cannot convert float64 to int64".to_owned()),
        (Kind::Quantity, value) => {
            let text = value.as_str().map_or_else(|| go_json::to_string(value), str::to_owned);
            quantity::mistake(&text).map_or(Ok(()), |why| Err(why.to_owned()))
        }
        (Kind::IntOrText, value) => number_or_text(value),
        (Kind::Time, Value::String(text)) => {
            const FORM: &str = "2006-01-02T15:04:05Z07:00";
            let why = || format!("parsing time \"{text}\" as \"{FORM}\": cannot parse it");
            default::is_time(text).then_some(()).ok_or_else(why)
        }
        (Kind::Time, value) => Err(unmarshal(value, "string", "")),
        _ => Ok(()),
    }
}

fn inner<'v>(of: Shape, mut values: impl Iterator<Item = &'v Value>) -> Result<(), String> {
    of.item().map_or(Ok(()), |inner| values.try_for_each(|value| check(inner, value)))
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

fn number_or_text(value: &Value) -> Result<(), String> {
    if !value.is_number() {
        return if value.is_string() { Ok(()) } else { Err(unmarshal(value, "int32", "")) };
    }
    // Go reads what Go wrote: 1e3 is 1000 by then, and 1e21 is not a whole number any more.
    let text = go_json::with_integers(value);
    if text.parse::<i32>().is_ok() { Ok(()) } else { Err(unmarshal(value, "int32", &format!(" {text}"))) }
}

fn unmarshal(value: &Value, into: &str, told: &str) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {kind}{told} into Go value of type {into}")
}
