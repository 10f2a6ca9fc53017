//! What the server says of what it refuses: reason, field and message, in its own words.

use serde_json::Value;

/// One cause of a refusal, as the server words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The reason in one word, `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// The field.
    pub(crate) field: String,
    /// The message, without the field.
    pub(crate) message: String,
}

pub(super) const INVALID: &str = "FieldValueInvalid";
pub(super) const REQUIRED: &str = "FieldValueRequired";
pub(super) const FORBIDDEN: &str = "FieldValueForbidden";
pub(super) const DUPLICATE: &str = "FieldValueDuplicate";
pub(super) const NOT_FOUND: &str = "FieldValueNotFound";
pub(super) const NOT_SUPPORTED: &str = "FieldValueNotSupported";

/// What is said where a selector does not select its own template.
pub(super) const UNMATCHED: &str = "`selector` does not match template `labels`";

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and \
    end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
    'example.com/MyName')";

/// Rules of ours that the server words otherwise, whatever the value is.
const WORDS: [(&str, &str); 13] = [
    ("must not be negative", "must be greater than or equal to 0"),
    ("must be from 1 to 65535", "must be between 1 and 65535, inclusive"),
    ("must be from 0 to 2147483647", "must be between 0 and 2147483647, inclusive"),
    ("must be 1 in this probe", "must be 1"),
    ("must be from 0 to 0777 (octal), which is 511", "must be a number between 0 and 0777 (octal), both inclusive"),
    ("must be a whole number", "must be an integer"),
    ("must be an IP address", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ("must be the path of one mount only", "must be unique"),
    ("must be the path of one device only", "must be unique"),
    (
        "must be printable ASCII without `=`",
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ),
    (
        "must be `Exists` where there is no key",
        "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
    ),
    ("must not contain `..`", "must not contain '..'"),
    (
        "only for init containers with `restartPolicy: Always`",
        "may not be set for init containers without restartPolicy=Always",
    ),
];

/// What the server says of a text or number that breaks a rule of ours: one message, or several.
pub(super) fn worded(rule: &str, value: &Value) -> Vec<String> {
    let text = value.as_str().unwrap_or_default();
    if rule == said(super::names::dns_label) {
        return label(text);
    }
    if rule == said(super::names::dns_subdomain) {
        return subdomain(text);
    }
    if rule == said(super::names::qualified_name) {
        return qualified(text);
    }
    if rule == said(super::names::label_value) {
        let long = (text.len() > 63).then(|| "must be no more than 63 bytes".to_owned());
        return long.into_iter().chain(shapeless(text).then(|| LABEL_VALUE.to_owned())).collect();
    }
    if rule == said(super::names::port_name) {
        return port_name(text);
    }
    vec![plain(rule).to_owned()]
}

/// The server's words for a rule of ours that does not depend on the value.
pub(super) fn plain(rule: &str) -> &str {
    WORDS.iter().find(|(own, _)| *own == rule).map_or(rule, |(_, words)| words)
}

/// The words that are possible, in the server's order: most are told as declared, some sorted.
pub(super) fn listed(known: &[&str]) -> String {
    let mut quoted: Vec<String> = known.iter().map(|it| format!("{it:?}")).collect();
    if known.contains(&"SCTP") || known.contains(&"BlockDevice") {
        quoted.sort();
    }
    quoted.join(", ")
}

/// The words of a rule of ours, by an example that breaks it.
fn said(rule: fn(&str) -> super::names::Rule) -> &'static str {
    rule("/").err().unwrap_or_default()
}

/// What is wrong with a DNS label.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(text) {
        wrong.push(LABEL.to_owned());
    }
    wrong
}

/// What is wrong with a DNS subdomain.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push("must be no more than 253 characters".to_owned());
    }
    if !text.split('.').all(is_label) {
        wrong.push(SUBDOMAIN.to_owned());
    }
    wrong
}

/// What is wrong with a qualified name.
pub(crate) fn qualified(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split_once('/') {
        None => (None, text),
        Some((_, rest)) if rest.contains('/') => return vec![QUALIFIED.to_owned()],
        Some((prefix, name)) => (Some(prefix), name),
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => wrong.extend(subdomain(prefix).into_iter().map(|it| format!("prefix part {it}"))),
        None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if name.is_empty() || shapeless(name) {
        wrong.push(NAME_PART.to_owned());
    }
    wrong
}

fn port_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut add = |bad: bool, words: &str| {
        if bad {
            wrong.push(words.to_owned());
        }
    };
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    add(text.len() > 15, "must be no more than 15 characters");
    add(
        text.is_empty() || !text.bytes().all(known),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    add(!text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    add(text.contains("--"), "must not contain consecutive hyphens");
    add(text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen");
    wrong
}

fn is_label(part: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
}

/// Whether a text that is not empty is no part of a qualified name, but for its length.
fn shapeless(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !first.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() || !bytes.iter().all(inner)
}
