//! Prints values the ways Go's `fmt` prints them, which the server's messages do.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// As `value.ToString` of `structured-merge-diff` does: within a path.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => self::number(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(map) => map.iter().map(|(key, value)| format!("{key}={}", shown(value))).collect(),
    }
}

/// As `%v` prints it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => self::number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{key}:{}", plain(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}

/// As `%#v` prints it.
pub(super) fn exact(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => self::number(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(exact).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}:{}", quoted(key), exact(value)));
            format!("map[string]interface {{}}{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// As `%T` names its type, once it was read from a patch.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A number as `%v` prints it: an integer by its digits, a float64 with an exponent from 1e+06 on, and below 0.0001.
fn number(number: &Number) -> String {
    if let Some(whole) = number.as_i64() {
        return whole.to_string();
    }
    let float = number.as_f64().unwrap_or_default();
    if float == 0.0 {
        // On the way through YAML and JSON it has lost its sign.
        return "0".to_owned();
    }
    if (1e-4..1e6).contains(&float.abs()) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Whether Go's `strconv.IsPrint` holds: Rust escapes the same characters, as long as none stands behind another to which
/// it could belong.
fn can_be_seen(character: char) -> bool {
    const BLANK_OF_A_WORD: char = '\u{200c}';
    let behind_another = ['a', character].iter().collect::<String>();
    let is_escaped = behind_another.escape_debug().nth(1) == Some('\\');
    character == '\'' || (!is_escaped && character != BLANK_OF_A_WORD)
}

/// As `%q` prints a text. Characters that cannot be seen are escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            other => {
                // Writing to a String cannot fail.
                let _ = match u32::from(other) {
                    code @ (0..0x20 | 0x7f) => write!(out, "\\x{code:02x}"),
                    _ if can_be_seen(other) => write!(out, "{other}"),
                    code @ ..0x10000 => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        let text =
            "it's \u{e4}\u{1f600}e\u{301}\u{a0}\u{85}\u{200c}\u{2028}\u{fffe}\u{ffff}\u{feff}\u{fffd}\u{10ffff}\u{7f}";
        let told =
            "\"it's \u{e4}\u{1f600}e\u{301}\\u00a0\\u0085\\u200c\\u2028\\ufffe\\uffff\\ufeff\u{fffd}\\U0010ffff\\x7f\"";
        assert_eq!(quoted(text), told);
    }
}
