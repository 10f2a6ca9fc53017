//! What server-side apply refuses before it validates anything: unknown fields, wrong types, items of one key.
//!
//! What an API server declares is the table of [`default`](super::super::super::default).

use serde_json::{Map, Value};

use super::super::super::default::{Kind, Level, Merge, OBJECT_META, Object, STATEFUL_SET_SPEC, Type};
use super::super::super::findings::Findings;
use super::super::super::foreign::placeholder;
use super::super::super::go_json;
use super::super::super::places::join;
use super::super::super::quantity::{MOST_DIGITS, Number, is_out_of_bounds};
use super::super::super::words::{found, nearest, show};
use super::node::{At, explained};

/// Reports what of the object's spec and metadata is not as the API declares it; without a level, what is so at none.
pub(super) fn check(value: &Value, level: Option<Level>, findings: &mut Findings<'_>) {
    let mut walk = Walk { level, findings };
    for (name, object) in [("metadata", &OBJECT_META), ("spec", &STATEFUL_SET_SPEC)] {
        if let Some(value) = value.get(name) {
            walk.value(value, Type::of(Kind::Object(object)), &At::top(name));
        }
    }
    for key in value.as_object().into_iter().flat_map(Map::keys) {
        const TOP: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
        if !TOP.contains(&key.as_str()) {
            walk.unknown(&At { pointer: join("", key), path: key.clone() }, key, &TOP, None);
        }
    }
}

struct Walk<'f, 'd> {
    level: Option<Level>,
    findings: &'f mut Findings<'d>,
}

impl Walk<'_, '_> {
    fn value(&mut self, value: &Value, of: Type, at: &At) {
        match (of.kind, value) {
            // Null is the empty value of everything, but not of an item that has to have a key.
            (_, Value::Null) => {}
            (Kind::Text, value) => self.text(value, at),
            (Kind::Flag, Value::Bool(_)) => {}
            (Kind::Flag, other) => self.expected(at, "true or false", other, "write true or false, without quotes"),
            (Kind::Int32 | Kind::Int64, value) => self.number(value, at),
            (Kind::Quantity, value) => self.quantity(value, at),
            (Kind::IntOrText, value) => self.number_or_text(value, at),
            (Kind::Time, Value::String(text)) if is_time(text) => {}
            (Kind::Time, other) => self.expected(at, "a time", other, ""),
            (Kind::Raw, Value::Object(_)) => {}
            (Kind::Object(object), Value::Object(map)) => self.object(map, object, at),
            (Kind::TextMap | Kind::QuantityMap, Value::Object(entries)) => self.entries(entries, of, at),
            (Kind::Raw | Kind::Object(_) | Kind::TextMap | Kind::QuantityMap, other) => {
                self.expected(at, "a mapping", other, "");
            }
            (Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_), Value::Array(items)) => {
                self.list(items, of, at);
            }
            (Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_), other) => {
                self.expected(at, "a list", other, "");
            }
        }
    }

    fn text(&mut self, value: &Value, at: &At) {
        if !value.is_string() {
            let hint = if value.is_array() || value.is_object() { "" } else { "put it into quotes" };
            self.expected(at, "text", value, hint);
        }
    }

    fn number(&mut self, value: &Value, at: &At) {
        match value {
            Value::Number(number) => {
                if number.as_f64().is_some_and(|float| float.fract() != 0.0) {
                    self.expected(at, "a whole number", value, "");
                }
            }
            other => {
                let quoted = other.as_str().is_some_and(|text| text.parse::<i64>().is_ok());
                self.expected(at, "a number", other, if quoted { "write it without quotes" } else { "" });
            }
        }
    }

    fn number_or_text(&mut self, value: &Value, at: &At) {
        match value {
            Value::String(_) => {}
            Value::Number(number) => {
                if number.as_i64().is_none_or(|number| i32::try_from(number).is_err())
                    && number.as_f64().is_none_or(|float| float.fract() != 0.0 || float.abs() > f64::from(i32::MAX))
                {
                    self.expected(at, "a whole number of 32 bits or text", value, "");
                }
            }
            other => self.expected(at, "a number or text", other, ""),
        }
    }

    fn quantity(&mut self, value: &Value, at: &At) {
        let text = match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(go_json::number(number)),
            _ => None,
        };
        if text.is_none_or(|text| !self.bounded(at, &text) && Number::parse(&text).is_none()) {
            self.expected(at, "a quantity", value, "like `500m`, `2`, `1.5Gi` or `100M`");
        }
    }

    fn entries(&mut self, entries: &Map<String, Value>, of: Type, at: &At) {
        let Some(inner) = of.inner() else { return };
        for (key, value) in entries {
            // The size of the pages is a quantity too.
            if let (Some(size), Kind::Quantity) = (key.strip_prefix("hugepages-"), inner.kind) {
                self.bounded(&at.key(key), size);
            }
            self.value(value, inner, &at.key(key));
        }
    }

    fn object(&mut self, map: &Map<String, Value>, object: &Object, at: &At) {
        for (key, value) in map {
            let at = at.child(key);
            // What is no name has been said where the set is named; the time is left out.
            if matches!(at.pointer.as_str(), "/metadata/name" | "/metadata/namespace" | "/metadata/creationTimestamp") {
                continue;
            }
            if key == "medium"
                && let Some(size) = value.as_str().and_then(|medium| medium.strip_prefix("HugePages-"))
            {
                self.bounded(&at, size);
            }
            match object.field(key, self.level) {
                Some(field) => self.value(value, field.holds(), &at),
                None => {
                    let mut names: Vec<&str> = object.fields.iter().map(|field| field.name).collect();
                    names.sort_unstable();
                    let later = object.field(key, None).map(|_| "1.33 does not know it; later versions do");
                    self.unknown(&at, key, &names, later);
                }
            }
        }
    }

    fn list(&mut self, items: &[Value], of: Type, at: &At) {
        let Some(inner) = of.inner() else { return };
        let mut seen: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            if item.is_null() {
                // An item with a key has to have one; any other is taken for an empty one.
                let message = format!("`{}`: a list item without a value", at.path);
                let finding = match of.merge {
                    Merge::Whole | Merge::Parts => self.findings.warning(&at.pointer, message),
                    Merge::Set | Merge::Keyed(_) => self.findings.error(&at.pointer, message),
                };
                finding.hint = "remove the `-`, or write the item".into();
                (finding.path, finding.code) = (at.path, "required-field".into());
                continue;
            }
            self.value(item, inner, &at);
            let Some(key) = of.merge.key(item) else { continue };
            if seen.contains(&key) {
                let what = match of.merge {
                    Merge::Keyed(keys) => {
                        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                        format!("items of one {}", names.join(" and "))
                    }
                    Merge::Whole | Merge::Parts | Merge::Set => "the same item".to_owned(),
                };
                let finding =
                    self.findings.error(&at.pointer, format!("`{}`: there are two {what}: {}", at.path, show(&key)));
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
