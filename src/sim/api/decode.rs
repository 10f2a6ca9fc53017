//! Reads an object as the server's types do: what does not fit is refused, what is not known is told.
//!
//! Types and fields are those of the table of [`default`](crate::manifest::default); where it has none, everything fits.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::body::go_kind;
use crate::manifest::default::{self, Field, Kind, Level, Object};
use crate::manifest::quantity::{Rounding, canonical};
use crate::sim::resource::Resource;

/// The most remarks that are told about one object.
const MOST_REMARKS: usize = 100;

/// What is known of the objects of a kind.
#[derive(Clone, Copy)]
struct Known {
    level: Level,
    resource: Resource,
}

impl Known {
    /// The field of an object that is not described as a whole.
    fn top(self, name: &str) -> Option<Kind> {
        let spec: Option<&'static Object> = match self.resource {
            Resource::StatefulSets => Some(&default::STATEFUL_SET_SPEC),
            Resource::Pods => Some(&default::POD_SPEC),
            Resource::Claims => Some(&default::PERSISTENT_VOLUME_CLAIM_SPEC),
            _ => None,
        };
        match name {
            "apiVersion" | "kind" => Some(Kind::Text),
            "metadata" => Some(Kind::Object(&default::OBJECT_META)),
            "spec" => Some(spec.map_or(Kind::Raw, Kind::Object)),
            "status" if self.resource == Resource::StatefulSets => {
                Some(default::STATEFUL_SET.field("status", None).map_or(Kind::Raw, |field| field.kind))
            }
            "status" => Some(Kind::Raw),
            // What a kind has beside these is not described here.
            _ => (!matches!(self.resource, Resource::StatefulSets | Resource::Pods | Resource::Claims))
                .then_some(Kind::Raw),
        }
    }
}

/// The first value that does not fit its type, in the server's words.
///
/// # Errors
/// The words.
pub(super) fn check(resource: Resource, object: &Value, level: Level) -> Result<(), String> {
    let known = Known { level, resource };
    let Some(fields) = object.as_object() else { return Ok(()) };
    for (name, value) in fields {
        if let Some(kind) = known.top(name) {
            let at = At { path: name.clone(), parent: resource.kind(), go: kind.go_type() };
            fits(kind, value, &at, level)?;
        }
    }
    Ok(())
}

/// Where a value is, as Go names it: without the numbers of items, and with the struct that has the field.
struct At<'a> {
    path: String,
    parent: &'a str,
    /// The type that is expected here.
    go: Cow<'a, str>,
}

impl At<'_> {
    fn refuse(&self, value: &Value) -> String {
        let number = match value {
            Value::Number(number) if self.go.starts_with("int") => format!(" {number}"),
            _ => String::new(),
        };
        let Self { path, parent, go } = self;
        format!("json: cannot unmarshal {}{number} into Go struct field {parent}.{path} of type {go}", go_kind(value))
    }

    /// A field of the object here. From 1.36 on the struct within it that has the field is named too.
    fn field(&self, of: &'static Object, field: &Field, level: Level) -> At<'static> {
        let inlined = field.inlined.filter(|_| level >= Level::V1_36).map(|it| format!("{it}.")).unwrap_or_default();
        At { path: format!("{}.{inlined}{}", self.path, field.name), parent: of.name, go: field.go_type() }
    }

    /// The same place, of which the type reads another one first.
    fn read_as<'b>(&'b self, go: &'b str) -> At<'b> {
        At { path: self.path.clone(), parent: self.parent, go: Cow::Borrowed(go) }
    }

    /// An item of the list here, or an entry of the map.
    fn item(&self) -> At<'_> {
        let go = self.go.split_once(']').map_or(&*self.go, |(_, item)| item);
        self.read_as(go)
    }
}

fn fits(kind: Kind, value: &Value, at: &At<'_>, level: Level) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match (kind, value) {
        (Kind::Raw, _) | (Kind::Text | Kind::Time, Value::String(_)) | (Kind::Flag, Value::Bool(_)) => Ok(()),
        (Kind::Int32, Value::Number(number)) if number.as_i64().is_some_and(|it| i32::try_from(it).is_ok()) => Ok(()),
        (Kind::Int64, Value::Number(number)) if number.is_i64() => Ok(()),
        (Kind::IntOrText, Value::String(_)) => Ok(()),
        (Kind::IntOrText, other) => fits(Kind::Int32, other, &at.read_as("int32"), level),
        (Kind::Quantity, value) => quantity(value),
        (Kind::TextMap, Value::Object(map)) => all(Kind::Text, map.values(), at, level),
        (Kind::QuantityMap, Value::Object(map)) => map.values().try_for_each(quantity),
        (Kind::Object(of), Value::Object(map)) => map.iter().try_for_each(|(name, value)| {
            let Some(field) = of.field(name, Some(level)) else { return Ok(()) };
            fits(field.kind, value, &at.field(of, field, level), level)
        }),
        (Kind::Objects(of), Value::Array(items)) => all(Kind::Object(of), items.iter(), at, level),
        (Kind::Texts, Value::Array(items)) => all(Kind::Text, items.iter(), at, level),
        (Kind::Int32s, Value::Array(items)) => all(Kind::Int32, items.iter(), at, level),
        (Kind::Int64s, Value::Array(items)) => all(Kind::Int64, items.iter(), at, level),
        (Kind::Time, other) => Err(at.read_as("string").refuse(other)),
        (
            Kind::Text
            | Kind::Flag
            | Kind::Int32
            | Kind::Int64
            | Kind::TextMap
            | Kind::QuantityMap
            | Kind::Texts
            | Kind::Int32s
            | Kind::Int64s
            | Kind::Object(_)
            | Kind::Objects(_),
            other,
        ) => Err(at.refuse(other)),
    }
}

/// The items of a list, or the entries of a map.
fn all<'v>(kind: Kind, mut items: impl Iterator<Item = &'v Value>, at: &At<'_>, level: Level) -> Result<(), String> {
    let at = at.item();
    items.try_for_each(|item| fits(kind, item, &at, level))
}

fn quantity(value: &Value) -> Result<(), String> {
    let good = match value {
        Value::Null | Value::Number(_) => true,
        Value::String(text) => canonical(text, Rounding::Exact).is_some(),
        _ => false,
    };
    if good {
        return Ok(());
    }
    Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned())
}

/// What is stated twice and what is not known, in the order of the text; nothing where it cannot be read.
pub(super) fn remarks(resource: Resource, text: &[u8], level: Level) -> Vec<String> {
    let mut remarks = Vec::new();
    let seed = Walk { known: Known { level, resource }, of: Of::Top, path: String::new(), remarks: &mut remarks };
    // A text that is no JSON has been refused, or is YAML, of which nothing is told.
    let _ = seed.deserialize(&mut serde_json::Deserializer::from_slice(text));
    remarks
}

/// What is not known of a value that has been read.
pub(super) fn unknown(resource: Resource, value: &Value, level: Level) -> Vec<String> {
    let mut remarks = Vec::new();
    let seed = Walk { known: Known { level, resource }, of: Of::Top, path: String::new(), remarks: &mut remarks };
    let _ = seed.deserialize(value);
    remarks
}

/// What a value is expected to be.
#[derive(Clone, Copy)]
enum Of {
    /// The object itself.
    Top,
    /// A value of that kind.
    Kind(Kind),
    /// An item of a list of such objects.
    Item(&'static Object),
}

struct Walk<'r> {
    known: Known,
    of: Of,
    path: String,
    remarks: &'r mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.of {
            // Whatever is in there is kept as it is.
            Of::Kind(Kind::Raw) => deserializer.deserialize_any(IgnoredAny).map(|_| ()),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if !seen.insert(name.clone()) {
                tell(self.remarks, format!("duplicate field \"{path}\""));
            }
            let of = match self.of {
                Of::Top => self.known.top(&name),
                Of::Kind(Kind::Object(object)) | Of::Item(object) => {
                    object.field(&name, Some(self.known.level)).map(|field| field.kind)
                }
                Of::Kind(_) => Some(Kind::Raw),
            };
            let Some(kind) = of else {
                tell(self.remarks, format!("unknown field \"{path}\""));
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            map.next_value_seed(Walk { known: self.known, of: Of::Kind(kind), path, remarks: &mut *self.remarks })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let of = match self.of {
            Of::Kind(Kind::Objects(object)) => Of::Item(object),
            _ => Of::Kind(Kind::Raw),
        };
        for index in 0_usize.. {
            let path = format!("{}[{index}]", self.path);
            let walk = Walk { known: self.known, of, path, remarks: &mut *self.remarks };
            if items.next_element_seed(walk)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

fn tell(remarks: &mut Vec<String>, remark: String) {
    if remarks.len() < MOST_REMARKS {
        remarks.push(remark);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{check, remarks, unknown};
    use crate::manifest::default::Level;
    use crate::sim::resource::Resource;

    #[test]
    fn what_is_not_known_or_said_twice_is_told_in_the_order_of_the_text() {
        let text = br#"{"metadata": {"name": "a", "name": "a"}, "spec": {"replicas": 0, "template": {"spec":
            {"containers": [{"name": "c", "bogus": 1}]}}, "replicas": 0, "bogus": {"x": 1}}, "foo": 1}"#;
        assert_eq!(
            remarks(Resource::StatefulSets, text, Level::V1_36),
            [
                "duplicate field \"metadata.name\"",
                "unknown field \"spec.template.spec.containers[0].bogus\"",
                "duplicate field \"spec.replicas\"",
                "unknown field \"spec.bogus\"",
                "unknown field \"foo\"",
            ]
        );
        let object = json!({"metadata": {"labels": {"any": "x"}}, "data": {"any": 1}});
        assert!(unknown(Resource::ConfigMaps, &object, Level::V1_36).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_refused_in_the_servers_words() {
        let container = |container| json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        for (object, words) in [
            (json!({"spec": 5}), "number into Go struct field StatefulSet.spec of type v1.StatefulSetSpec"),
            (
                json!({"spec": {"replicas": true}}),
                "bool into Go struct field StatefulSetSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                "number 1.5 into Go struct field StatefulSetSpec.spec.replicas of type int32",
            ),
            (
                json!({"metadata": {"labels": []}}),
                "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                json!({"spec": {"template": {"metadata": {"labels": {"a": 1}}}}}),
                "number into Go struct field ObjectMeta.spec.template.metadata.labels of type string",
            ),
            (
                container(json!({"ports": 5})),
                "number into Go struct field Container.spec.template.spec.containers.ports of type []v1.ContainerPort",
            ),
            (
                container(json!({"env": [5]})),
                "number into Go struct field Container.spec.template.spec.containers.env of type v1.EnvVar",
            ),
            (
                container(json!({"command": "x"})),
                "string into Go struct field Container.spec.template.spec.containers.command of type []string",
            ),
        ] {
            let refused = check(Resource::StatefulSets, &object, Level::V1_36);
            assert_eq!(refused, Err(format!("json: cannot unmarshal {words}")), "{object}");
        }
        let amount = container(json!({"resources": {"limits": {"cpu": "abc"}}}));
        assert!(check(Resource::StatefulSets, &amount, Level::V1_36).unwrap_err().starts_with("quantities must match"));
        assert_eq!(check(Resource::StatefulSets, &json!({"spec": {"replicas": null}}), Level::V1_36), Ok(()));
    }
}
