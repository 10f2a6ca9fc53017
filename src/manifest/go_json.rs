//! Writes JSON byte for byte as Go's `encoding/json` writes an untyped value.

use std::fmt::Write;

use serde_json::{Number, Value};

/// The compact JSON of a value: keys sorted bytewise, HTML characters escaped, every number passed through a float64.
///
/// Mirrors `encoding/json` of Go 1.22 and later, as `getPatch` in `pkg/controller/statefulset` uses it.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// The same with every integer kept as it is: a value as kubectl holds it, in one line. Control characters that Go
/// leaves as they are (U+007F to U+009F, with NEL, a line break to some) are escaped.
pub fn exact(value: &Value) -> String {
    let mut out = String::new();
    write_with(&mut out, value, exact_number);
    if !out.contains(char::is_control) {
        return out;
    }
    let mut escaped = String::new();
    for character in out.chars() {
        if character.is_control() {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// The compact JSON of a value with every integer of 64 bits kept as it is: as a server writes down what it was sent.
pub(crate) fn with_integers(value: &Value) -> String {
    let mut out = String::new();
    write_with(&mut out, value, |value| match value.as_i64() {
        Some(whole) => whole.to_string(),
        // Zero has lost its sign by then.
        None if value.as_f64() == Some(0.0) => "0".to_owned(),
        None => number(value),
    });
    out
}

/// A number as kubectl prints it: an integer digit by digit, a float as Go prints it.
fn exact_number(value: &Number) -> String {
    if value.is_i64() || value.is_u64() { value.to_string() } else { number(value) }
}

/// A number as Go prints it once it has been a float64: no exponent from 1e-6 up to 1e21.
pub fn number(number: &Number) -> String {
    /// Up to here, 2^53, every whole number is a float64 of its own.
    const EXACT: u64 = 1 << 53;
    if let Some(whole) = number.as_i64().filter(|whole| whole.unsigned_abs() <= EXACT) {
        return whole.to_string();
    }
    let float = number.as_f64().unwrap_or_default();
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        return if size < 1.0 { text } else { text.replace('e', "e+") };
    }
    float.to_string()
}

pub(crate) fn write_value(out: &mut String, value: &Value) {
    write_with(out, value, number);
}

fn write_with(out: &mut String, value: &Value, print: fn(&Number) -> String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(value) => out.push_str(&print(value)),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_with(out, item, print);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_with(out, value, print);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{exact, to_string};

    #[test]
    fn numbers_pass_through_a_float64() {
        let value = json!([
            0,
            -1,
            9007199254740993_i64,
            9223372036854775807_i64,
            18446744073709551615_u64,
            1.0,
            1.5,
            1e20,
            1e21,
            1e-6,
            1e-7,
            -0.0,
            123456789e20
        ]);
        let expected = "[0,-1,9007199254740992,9223372036854776000,18446744073709552000,\
                        1,1.5,100000000000000000000,1e+21,0.000001,1e-7,-0,1.23456789e+28]";
        assert_eq!(to_string(&value), expected);
    }

    #[test]
    fn integers_can_be_kept() {
        let value =
            json!([9007199254740993_i64, -9223372036854775808_i64, 18446744073709551615_u64, 1.5, 1e21, "<\u{85}"]);
        let expected = "[9007199254740993,-9223372036854775808,18446744073709551615,1.5,1e+21,\"\\u003c\\u0085\"]";
        assert_eq!(exact(&value), expected);
    }

    #[test]
    fn strings_are_escaped_for_html_and_nothing_else() {
        let value = json!({"b": "a && b > /tmp/x <y & \"q\" \\ é \u{2028}\u{7f}\u{8}\u{1}\n", "$a": [], "B": {}});
        let expected = "{\"$a\":[],\"B\":{},\"b\":\"a \\u0026\\u0026 b \\u003e /tmp/x \\u003cy \\u0026 \\\"q\\\" \\\\ é \
                        \\u2028\u{7f}\\b\\u0001\\n\"}";
        assert_eq!(to_string(&value), expected);
    }
}
