//! Tells what a scalar is by its text, as kubectl's YAML library does: YAML 1.1, with Go's numbers.
//!
//! Mirrors `resolve.go` of go.yaml.in/yaml/v2.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::timestamp::is_timestamp;

/// What `!!` stands for.
pub(super) const PREFIX: &str = "tag:yaml.org,2002:";

/// A scalar as Go holds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond `i64`.
    Uint(u64),
    /// Also infinite, or not a number.
    Float(f64),
    Text(String),
    /// Of `!!binary`; JSON makes each byte that is no UTF-8 a U+FFFD.
    Bytes(Vec<u8>),
}

impl Scalar {
    /// The kind of value, for a message.
    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Uint(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) | Self::Bytes(_) => "text",
        }
    }
}

/// What a scalar with a tag, or a plain one, is.
///
/// # Errors
///
/// The tag asks for something else than the text is.
pub(super) fn resolve(tag: Option<&[u8]>, text: &str) -> Result<Scalar, String> {
    let Some(tag) = tag else { return Ok(plain(text)) };
    let tag = String::from_utf8_lossy(tag);
    let Some(short) = tag.strip_prefix(PREFIX) else { return Ok(Scalar::Text(text.to_owned())) };
    let value = match short {
        "str" => return Ok(Scalar::Text(text.to_owned())),
        "binary" => return binary(text),
        "timestamp" if is_timestamp(text) => return Ok(Scalar::Text(text.to_owned())),
        "bool" | "int" | "float" | "null" => plain(text),
        "timestamp" => Scalar::Null,
        _ => return Ok(Scalar::Text(text.to_owned())),
    };
    match (short, value) {
        ("bool", value @ Scalar::Bool(_))
        | ("int", value @ (Scalar::Int(_) | Scalar::Uint(_)))
        | ("float", value @ Scalar::Float(_))
        | ("null", value @ Scalar::Null) => Ok(value),
        ("float", Scalar::Int(value)) => Ok(Scalar::Float(value as f64)),
        ("timestamp", _) => Err("the text of a `!!timestamp` is none".into()),
        (_, value) => Err(format!("the tag `!!{short}` stands before {}", value.name())),
    }
}

fn plain(text: &str) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    let known = match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' | b'.' | b'+' | b'-' => word(text),
        b'0'..=b'9' => None,
        _ => return Scalar::Text(text.to_owned()),
    };
    known
        .or_else(|| match first {
            b'.' => dotted(text),
            b'+' | b'-' | b'0'..=b'9' => number(&text.replace('_', "")),
            _ => None,
        })
        .unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

/// The words that are no text.
fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// A number that begins with a digit or a sign, without underscores.
fn number(text: &str) -> Option<Scalar> {
    int(text, 0).or_else(|| float(text)).or_else(|| {
        // Go looks once more, for what may stand behind `0b` and nowhere else: a sign.
        match (text.strip_prefix("0b"), text.strip_prefix("-0b")) {
            (Some(digits), _) => int(digits, 2),
            (_, Some(digits)) => int(&format!("-{digits}"), 2),
            _ => None,
        }
    })
}

/// Go's `strconv.ParseInt`, and `ParseUint` where that fails. The base 0 is told by the text.
fn int(text: &str, base: u32) -> Option<Scalar> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (Some(false), text.get(1..)?),
        b'-' => (Some(true), text.get(1..)?),
        _ => (None, text),
    };
    let (base, digits) = match (base, digits.as_bytes()) {
        (0, [b'0', b'b' | b'B', _, ..]) => (2, digits.get(2..)?),
        (0, [b'0', b'o' | b'O', _, ..]) => (8, digits.get(2..)?),
        (0, [b'0', b'x' | b'X', _, ..]) => (16, digits.get(2..)?),
        (0, b"0") => (10, digits),
        (0, [b'0', ..]) => (8, digits.get(1..)?),
        (0, _) => (10, digits),
        (base, _) => (base, digits),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let value = u64::from_str_radix(digits, base).ok()?;
    match sign {
        Some(true) => 0_i64.checked_sub_unsigned(value).map(Scalar::Int),
        _ => match i64::try_from(value) {
            Ok(value) => Some(Scalar::Int(value)),
            Err(_) => sign.is_none().then_some(Scalar::Uint(value)),
        },
    }
}

/// A float: `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`, and not beyond what a float64 holds.
pub(super) fn float(text: &str) -> Option<Scalar> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mantissa = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if exponent.is_empty() || !digits(exponent) {
                return None;
            }
            mantissa
        }
        None => unsigned,
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let some = !whole.is_empty() || !fraction.is_empty();
    if !some || !digits(whole) || !digits(fraction) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Scalar::Float)
}

/// A float that begins with a dot; Go takes it with underscores between digits.
fn dotted(text: &str) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let between = |at: usize| {
        let before = bytes.get(..at)?.iter().rposition(|byte| *byte != b'_');
        // Two in a row are none between digits.
        Some(before == at.checked_sub(1) && is_digit(before) && is_digit(Some(at + 1)))
    };
    let allowed = text.match_indices('_').all(|(at, _)| between(at) == Some(true));
    if allowed { float(&text.replace('_', "")) } else { None }
}

fn binary(text: &str) -> Result<Scalar, String> {
    const AS_GO: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, AS_GO);
    match engine.decode(text.replace(['\r', '\n'], "")) {
        Ok(bytes) => Ok(Scalar::Bytes(bytes)),
        Err(_) => Err("the text of a `!!binary` is no base64".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_what_go_makes_of_them() {
        use Scalar::{Bool, Float, Int, Null, Text, Uint};
        for (text, expected) in [
            ("", Null),
            ("~", Null),
            ("nULL", Text("nULL".into())),
            ("on", Bool(true)),
            ("N", Bool(false)),
            ("tRue", Text("tRue".into())),
            ("0777", Int(511)),
            ("-0777", Int(-511)),
            ("0o17", Int(15)),
            ("0O17", Int(15)),
            ("08", Float(8.0)),
            ("0x1F", Int(31)),
            ("0x", Text("0x".into())),
            ("0b", Text("0b".into())),
            ("0b101", Int(5)),
            ("0b-11", Int(-3)),
            ("-0b+1", Text("-0b+1".into())),
            ("1_000", Int(1000)),
            ("0_", Int(0)),
            ("0123456", Int(42798)),
            ("12e4567", Text("12e4567".into())),
            ("1e3", Float(1000.0)),
            ("5.", Float(5.0)),
            ("+.5", Float(0.5)),
            (".5", Float(0.5)),
            (".1_5", Float(0.15)),
            ("._5", Text("._5".into())),
            (".5__1", Text(".5__1".into())),
            (".e3", Text(".e3".into())),
            ("9223372036854775807", Int(i64::MAX)),
            ("-9223372036854775808", Int(i64::MIN)),
            ("18446744073709551615", Uint(u64::MAX)),
            ("+18446744073709551615", Float(18_446_744_073_709_551_615.0)),
            ("12:30:45", Text("12:30:45".into())),
            ("<<", Text("<<".into())),
        ] {
            assert_eq!(resolve(None, text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn tags_are_asked_for_what_they_say() {
        let core = |tag: &str| format!("{PREFIX}{tag}").into_bytes();
        assert_eq!(resolve(Some(&core("str")), "yes"), Ok(Scalar::Text("yes".into())));
        assert_eq!(resolve(Some(&core("float")), "3"), Ok(Scalar::Float(3.0)));
        assert_eq!(resolve(Some(b"!"), "12"), Ok(Scalar::Text("12".into())));
        assert_eq!(resolve(Some(&core("binary")), "//7\n9"), Ok(Scalar::Bytes(vec![0xff, 0xfe, 0xfd])));
        assert_eq!(resolve(Some(&core("timestamp")), "2001-12-14"), Ok(Scalar::Text("2001-12-14".into())));
        for (tag, text, words) in [
            ("int", "x", "the tag `!!int` stands before text"),
            ("null", "1", "the tag `!!null` stands before an integer"),
            ("binary", "x", "the text of a `!!binary` is no base64"),
            ("timestamp", "2001-13-14", "the text of a `!!timestamp` is none"),
        ] {
            assert_eq!(resolve(Some(&core(tag)), text), Err(words.to_owned()));
        }
    }
}
