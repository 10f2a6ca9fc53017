//! What a reader of a manifest should know: where YAML reads something else than most people write.

use super::super::go_json;
use super::super::words::show;
use super::resolve::Scalar;

/// Something that is read as it is written, and that is seldom what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::manifest) struct Remark {
    /// Line and column from 1 in the text that was read.
    pub(in crate::manifest) line: u32,
    pub(in crate::manifest) column: u32,
    pub(in crate::manifest) message: String,
    pub(in crate::manifest) hint: &'static str,
    /// Whether it is about a key that is there twice.
    pub(in crate::manifest) twice: bool,
}

/// What Kubernetes expects at a place, as far as the key above it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Anything,
    /// A text.
    Text,
    /// A mapping, or a list, of texts.
    Texts,
    /// The mode of a file, which people write in octal.
    Mode,
}

impl Expected {
    /// What is expected below a key.
    pub(super) fn below(self, key: &str) -> Self {
        match key {
            _ if self == Self::Texts => Self::Text,
            "labels" | "annotations" | "matchLabels" | "nodeSelector" | "command" | "args" => Self::Texts,
            "image" | "value" => Self::Text,
            "mode" | "defaultMode" => Self::Mode,
            _ => Self::Anything,
        }
    }

    /// What is expected of the items of a list.
    pub(super) fn item(self) -> Self {
        if self == Self::Texts { Self::Text } else { Self::Anything }
    }
}

/// The way out of a value that is read as something else.
pub(super) const QUOTE: &str = "quote it if it is meant as text";

/// What is to be said about a plain scalar: the message, if any, and the way out.
pub(super) fn about_value(text: &str, scalar: &Scalar, expected: Expected) -> Option<(String, &'static str)> {
    let (kind, read_as) = match scalar {
        Scalar::Bool(value) => ("boolean", value.to_string()),
        Scalar::Int(value) => ("number", value.to_string()),
        Scalar::Uint(value) => ("number", float(*value as f64)?),
        Scalar::Float(value) => ("number", float(*value)?),
        Scalar::Null | Scalar::Text(_) | Scalar::Bytes(_) => return None,
    };
    let said = format!("{} is read as the {kind} {read_as}", show(text));
    // What looks like what it is needs no remark; whether it may stand there is for the checks to say.
    if expected == Expected::Text && text != read_as {
        return Some((format!("{said}, where text is expected"), "quote it"));
    }
    let digits = text.trim_start_matches(['+', '-']);
    let zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    match scalar {
        Scalar::Bool(_) if !matches!(text.to_ascii_lowercase().as_str(), "true" | "false") => {
            Some((said, "write `true` or `false`, or quote it if it is meant as text"))
        }
        Scalar::Int(_) if zero && expected == Expected::Mode => None,
        Scalar::Int(_) if zero && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7' | b'o' | b'O' | b'_')) => {
            Some((format!("{said}: a leading zero makes it octal"), QUOTE))
        }
        Scalar::Int(_) | Scalar::Float(_) if text.contains('_') => Some((said, QUOTE)),
        Scalar::Float(_) if zero && !digits.contains(['e', 'E', '.']) => Some((said, QUOTE)),
        Scalar::Uint(_) | Scalar::Float(_) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((format!("{said}: it is beyond the integers of 64 bits"), QUOTE))
        }
        _ => None,
    }
}

/// What is to be said about a plain key, which becomes `name`.
pub(super) fn about_key(text: &str, name: Option<&str>) -> Option<String> {
    let name = name.filter(|name| *name != text)?;
    Some(format!("the key {} is read as {}", show(text), show(name)))
}

fn float(value: f64) -> Option<String> {
    serde_json::Number::from_f64(value).map(|number| go_json::number(&number))
}
