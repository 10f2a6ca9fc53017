//! What server-side apply refuses before it validates anything: unknown fields, wrong types, items of one key.
//!
//! `fields.txt` lists, type by type, the fields that an API server declares, with the type of each: `name:Type`,
//! `[Type]` for a list, `{Type}` for a map of texts to it. Behind a list stand the fields that tell its items apart
//! (with the default of each), or `*` where the items themselves do; `+` marks what 1.33 does not know, `-` what 1.36
//! does not.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::super::super::default::Level;
use super::super::super::findings::Findings;
use super::super::super::foreign::placeholder;
use super::super::super::go_json;
use super::super::super::quantity::{MOST_DIGITS, Number, is_out_of_bounds};
use super::super::super::words::{found, nearest, show};
use super::node::{At, explained};

/// The type of a field.
#[derive(Debug, Clone, Copy)]
struct Type {
    shape: Shape,
    name: &'static str,
    /// Behind a list: by what its items are told apart.
    keys: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
}

struct Field {
    kind: Type,
    in_1_33: bool,
    in_1_36: bool,
}

type Fields = BTreeMap<&'static str, Vec<Field>>;

static TYPES: LazyLock<BTreeMap<&'static str, Fields>> = LazyLock::new(|| {
    let mut types: BTreeMap<&'static str, Fields> = BTreeMap::new();
    for line in include_str!("fields.txt").lines() {
        let mut words = line.split(' ');
        let fields = types.entry(words.next().unwrap_or_default()).or_default();
        for word in words {
            let (in_1_33, in_1_36) = (!word.starts_with('+'), !word.starts_with('-'));
            let Some((name, kind)) = word.trim_start_matches(['+', '-']).split_once(':') else { continue };
            let kind = match (kind.split_once(']'), kind.strip_prefix('{')) {
                (Some((item, keys)), _) => Type { shape: Shape::List, name: item.trim_start_matches('['), keys },
                (None, Some(value)) => Type { shape: Shape::Map, name: value.trim_end_matches('}'), keys: "" },
                (None, None) => Type { shape: Shape::One, name: kind, keys: "" },
            };
            fields.entry(name).or_default().push(Field { kind, in_1_33, in_1_36 });
        }
    }
    types
});

/// Reports what of the object's spec and metadata is not as the API declares it; without a level, what is so at none.
pub(super) fn check(value: &Value, level: Option<Level>, findings: &mut Findings<'_>) {
    let mut walk = Walk { level, findings };
    for (name, kind) in [("metadata", "ObjectMeta"), ("spec", "StatefulSetSpec")] {
        if let Some(value) = value.get(name) {
            walk.value(value, Type { shape: Shape::One, name: kind, keys: "" }, &At::top(name));
        }
    }
    for key in value.as_object().into_iter().flat_map(Map::keys) {
        const TOP: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
        if !TOP.contains(&key.as_str()) {
            walk.unknown(
                &At { pointer: super::super::super::places::join("", key), path: key.clone() },
                key,
                &TOP,
                None,
            );
        }
    }
}

struct Walk<'f, 'd> {
    level: Option<Level>,
    findings: &'f mut Findings<'d>,
}

impl Walk<'_, '_> {
    fn value(&mut self, value: &Value, kind: Type, at: &At) {
        match (kind.shape, value) {
            // Null is the empty value of everything, but not of an item that has to have a key.
            (_, Value::Null) => {}
            (Shape::List, Value::Array(items)) => self.list(items, kind, at),
            (Shape::List, other) => self.expected(at, "a list", other, ""),
            (Shape::Map, Value::Object(entries)) => {
                for (key, value) in entries {
                    // The size of the pages is a quantity too.
                    if let Some(size) = key.strip_prefix("hugepages-").filter(|_| kind.name == "Quantity") {
                        self.bounded(&at.key(key), size);
                    }
                    self.one(value, kind.name, &at.key(key));
                }
            }
            (Shape::Map, other) => self.expected(at, "a mapping", other, ""),
            (Shape::One, other) => self.one(other, kind.name, at),
        }
    }

    fn one(&mut self, value: &Value, kind: &'static str, at: &At) {
        let unquoted = "put it into quotes";
        match (kind, value) {
            (_, Value::Null) | ("string", Value::String(_)) | ("bool", Value::Bool(_)) => {}
            ("string", other) => {
                let hint = if other.is_array() || other.is_object() { "" } else { unquoted };
                self.expected(at, "text", other, hint);
            }
            ("bool", other) => self.expected(at, "true or false", other, "write true or false, without quotes"),
            ("int32" | "int64", Value::Number(number)) => {
                if number.as_f64().is_some_and(|float| float.fract() != 0.0) {
                    self.expected(at, "a whole number", value, "");
                }
            }
            ("int32" | "int64", other) => {
                let quoted = other.as_str().is_some_and(|text| text.parse::<i64>().is_ok());
                self.expected(at, "a number", other, if quoted { "write it without quotes" } else { "" });
            }
            ("Quantity", Value::String(_) | Value::Number(_)) => {
                let text = match value {
                    Value::String(text) => text.clone(),
                    Value::Number(number) => go_json::number(number),
                    _ => String::new(),
                };
                if !self.bounded(at, &text) && Number::parse(&text).is_none() {
                    self.expected(at, "a quantity", value, "like `500m`, `2`, `1.5Gi` or `100M`");
                }
            }
            ("Quantity", other) => self.expected(at, "a quantity", other, "like `500m`, `2`, `1.5Gi` or `100M`"),
            ("IntOrString", Value::String(_)) => {}
            ("IntOrString", Value::Number(number)) => {
                if number.as_i64().is_none_or(|number| i32::try_from(number).is_err())
                    && number.as_f64().is_none_or(|float| float.fract() != 0.0 || float.abs() > f64::from(i32::MAX))
                {
                    self.expected(at, "a whole number of 32 bits or text", value, "");
                }
            }
            ("IntOrString", other) => self.expected(at, "a number or text", other, ""),
            ("FieldsV1", Value::Object(_)) => {}
            ("Time", Value::String(text)) if is_time(text) => {}
            ("Time", other) => self.expected(at, "a time", other, ""),
            (kind, Value::Object(map)) => self.object(map, kind, at),
            (_, other) => self.expected(at, "a mapping", other, ""),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, kind: &'static str, at: &At) {
        let Some(fields) = TYPES.get(kind) else { return };
        for (key, value) in map {
            let at = at.child(key);
            // What is no name has been said where the set is named; the time is left out.
            if matches!(at.pointer.as_str(), "/metadata/name" | "/metadata/namespace" | "/metadata/creationTimestamp") {
                continue;
            }
            let known = fields.get(key.as_str());
            let here = known.and_then(|fields| {
                fields.iter().find(|field| match self.level {
                    Some(Level::V1_33) => field.in_1_33,
                    Some(Level::V1_36) => field.in_1_36,
                    None => true,
                })
            });
            if key == "medium"
                && let Some(size) = value.as_str().and_then(|medium| medium.strip_prefix("HugePages-"))
            {
                self.bounded(&at, size);
            }
            match here {
                Some(field) => self.value(value, field.kind, &at),
                None => {
                    let names: Vec<&str> = fields.keys().copied().collect();
                    let later = known.is_some().then_some("1.33 does not know it; later versions do");
                    self.unknown(&at, key, &names, later);
                }
            }
        }
    }

    fn list(&mut self, items: &[Value], kind: Type, at: &At) {
        let mut seen: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            if item.is_null() {
                // An item with a key has to have one; any other is taken for an empty one.
                let message = format!("`{}`: a list item without a value", at.path);
                let finding = match kind.keys {
                    "" => self.findings.warning(&at.pointer, message),
                    _ => self.findings.error(&at.pointer, message),
                };
                finding.hint = "remove the `-`, or write the item".into();
                (finding.path, finding.code) = (at.path, "required-field".into());
                continue;
            }
            self.one(item, kind.name, &at);
            let Some(key) = key_of(item, kind.keys) else { continue };
            if seen.contains(&key) {
                let (fields, what) = match kind.keys {
                    "*" => (String::new(), "the same item"),
                    keys => (
                        keys.split(',').filter_map(|key| key.split('=').next()).collect::<Vec<_>>().join(" and "),
                        "items of one ",
                    ),
                };
                let finding = self
                    .findings
                    .error(&at.pointer, format!("`{}`: there are two {what}{fields}: {}", at.path, show(&key)));
                finding.hint = "server-side apply refuses them: keep one".into();
                (finding.path, finding.code) = (at.path, "duplicate".into());
            } else {
                seen.push(key);
            }
        }
    }

    /// Reports a quantity that a server would compute for ever; says whether it is one.
    fn bounded(&mut self, at: &At, text: &str) -> bool {
        let huge = is_out_of_bounds(text);
        if huge {
            let words = format!("the quantity {} has more than {MOST_DIGITS} digits, or such an exponent", show(text));
            let finding = self.findings.error(&at.pointer, format!("`{}`: {words}", at.path));
            finding.hint =
                "a server takes its time over it, or for ever: write the number with a suffix, like `100M`".into();
            (finding.path, finding.code) = (at.path.clone(), "invalid-value".into());
        }
        huge
    }

    fn expected(&mut self, at: &At, what: &str, value: &Value, hint: &str) {
        let hint = match value.as_str().and_then(placeholder) {
            Some(placeholder) => placeholder.to_owned(),
            None if hint.is_empty() => explained(&at.path),
            None => hint.to_owned(),
        };
        let finding =
            self.findings.error(&at.pointer, format!("`{}`: {} is given, {what} is expected", at.path, found(value)));
        (finding.path, finding.code, finding.hint) = (at.path.clone(), "wrong-type".into(), hint);
    }

    /// An unknown field: refused by a server that does not know it. No version is asked for where a rollout reads, and a
    /// newer one may know it.
    fn unknown(&mut self, at: &At, key: &str, known: &[&str], why: Option<&str>) {
        let message = format!("`{}`: there is no such field", at.path);
        let finding = match self.level {
            Some(_) => self.findings.key_error(&at.pointer, message),
            None => self.findings.key_warning(&at.pointer, message),
        };
        (finding.path, finding.code) = (at.path.clone(), "unknown-field".into());
        finding.hint = match (why, nearest(key, known)) {
            (Some(why), _) => why.to_owned(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "server-side apply refuses unknown fields: remove it, or look at its indentation".into(),
        };
    }
}

/// Whether a text may be a time of RFC 3339; the set's own, which is left out, is not looked at.
fn is_time(text: &str) -> bool {
    text.get(..5).is_some_and(|year| year.bytes().take(4).all(|byte| byte.is_ascii_digit()) && year.ends_with('-'))
        && text.contains('T')
}

/// What tells an item from the others of its list, as text; none where nothing does.
fn key_of(item: &Value, keys: &str) -> Option<String> {
    match keys {
        "" => None,
        "*" => Some(item.to_string()),
        keys => {
            let part = |key: &str| -> Option<String> {
                let (name, default) = key.split_once('=').map_or((key, None), |(name, default)| (name, Some(default)));
                match item.get(name) {
                    Some(Value::String(text)) => Some(text.clone()),
                    // Not the text `null`.
                    Some(Value::Null) => Some("(null)".into()),
                    Some(other) => Some(other.to_string()),
                    None => default.map(str::to_owned),
                }
            };
            keys.split(',').map(part).collect::<Option<Vec<_>>>().map(|parts| parts.join("/"))
        }
    }
}
