//! Holds the table against the Go types of both versions, as `tests/data/fields-*.json` lists them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schema::{Field, Fill, Kind, Merge, Object, Presence};
use super::{Level, SCALE, STATEFUL_SET};

/// The types of one version, by name.
fn types(level: Level) -> Value {
    let text = match level {
        Level::V1_36 => include_str!("../../../tests/data/fields-1.36.json"),
        Level::V1_33 => include_str!("../../../tests/data/fields-1.33.json"),
    };
    serde_json::from_str::<Value>(text).unwrap_or_default()["types"].take()
}

struct Comparison {
    level: Level,
    types: Value,
    seen: BTreeSet<String>,
    fields: usize,
    differences: Vec<String>,
}

impl Comparison {
    fn of(level: Level) -> Self {
        let mut comparison =
            Self { level, types: types(level), seen: BTreeSet::new(), fields: 0, differences: Vec::new() };
        comparison.object("StatefulSet", &STATEFUL_SET);
        comparison.object("Scale", &SCALE);
        comparison
    }

    fn object(&mut self, name: &str, ours: &Object) {
        if !self.seen.insert(name.to_owned()) {
            return;
        }
        if ours.name != name {
            self.differences.push(format!("{name} is called {} in the table", ours.name));
        }
        let theirs: Vec<Value> = self.types[name].as_array().cloned().unwrap_or_default();
        for field in ours.fields.iter().filter(|field| field.since <= self.level) {
            if !theirs.iter().any(|their| their["name"] == field.name) {
                self.differences.push(format!("{:?} {name}.{}: not known there", self.level, field.name));
            }
        }
        for their in &theirs {
            self.fields += 1;
            let field = their["name"].as_str().unwrap_or_default();
            let ours = ours.fields.iter().find(|ours| ours.name == field && ours.since <= self.level);
            let Some(ours) = ours else {
                self.differences.push(format!("{:?} {name}.{field}: not in the table", self.level));
                continue;
            };
            if let Some(difference) = difference(ours, their) {
                self.differences.push(format!("{:?} {name}.{field}: {difference}", self.level));
            }
            if let Kind::Object(inner) | Kind::Objects(inner) = ours.kind {
                self.object(their["type"].as_str().unwrap_or_default(), inner);
            }
        }
    }
}

/// What the table says otherwise about a field's kind, and about when it is written.
fn difference(ours: &Field, theirs: &Value) -> Option<String> {
    let text = |key: &str| theirs[key].as_str().unwrap_or_default();
    let (name, shape) = (text("type"), text("shape"));
    let same_kind = match ours.kind {
        Kind::Text => name == "string" && shape != "list" && shape != "map",
        Kind::Flag => name == "bool" && shape != "list",
        Kind::Int32 => name == "int32" && shape != "list",
        Kind::Int64 => name == "int64" && shape != "list",
        Kind::Quantity => name == "Quantity" && shape != "map",
        Kind::IntOrText => name == "IntOrString" && shape != "list",
        Kind::Time => name == "Time",
        Kind::Raw => name == "FieldsV1",
        Kind::Texts => (name, shape) == ("string", "list"),
        Kind::Int32s => (name, shape) == ("int32", "list"),
        Kind::Int64s => (name, shape) == ("int64", "list"),
        Kind::TextMap => (name, shape) == ("string", "map"),
        Kind::QuantityMap => (name, shape) == ("Quantity", "map"),
        Kind::Object(_) => shape.is_empty() || shape == "pointer",
        Kind::Objects(_) => shape == "list",
    };
    if ours.go_type() != theirs["go"].as_str().unwrap_or_default() {
        return Some(format!("its Go type is {} there", theirs["go"]));
    }
    if ours.inlined != theirs["inline"].as_str() {
        return Some(format!("it comes from {} there", theirs["inline"]));
    }
    if !same_kind {
        return Some(format!("there it is {name} {shape}"));
    }
    let is_pointer = shape == "pointer";
    let omits = theirs["omitEmpty"] == true || theirs["omitZero"] == true;
    // A default that is always there makes a pointer that is never absent.
    let is_struct = matches!(ours.kind, Kind::Object(_) | Kind::Quantity | Kind::Time);
    let same_presence = match ours.presence {
        Presence::NonZero => !is_pointer || !matches!(ours.default, Fill::Nothing),
        Presence::Given => is_pointer,
        Presence::Always => !omits || is_struct,
        Presence::OrNull => is_pointer || is_struct,
        Presence::NullAt133 => omits && is_struct,
    };
    if !same_presence {
        return Some(format!("written otherwise there: {theirs}"));
    }
    (merge(ours) != their_merge(theirs)).then(|| format!("applied otherwise there: {theirs}"))
}

/// By which parts the table has a field applied: for a list with keys, these; and whether the inner object is one value.
fn merge(ours: &Field) -> (String, bool) {
    let whole = matches!(ours.kind, Kind::Object(of) | Kind::Objects(of) if of.whole);
    match (ours.merge, ours.kind) {
        (Merge::Keyed(keys), _) => (keys.iter().map(|key| key.name).collect::<Vec<_>>().join(","), whole),
        (Merge::Set, _) => ("set".to_owned(), whole),
        (Merge::Whole, Kind::TextMap | Kind::QuantityMap | Kind::Object(_)) => ("parts".to_owned(), true),
        (Merge::Whole, _) => ("atomic".to_owned(), whole),
        (Merge::Parts, _) => ("parts".to_owned(), whole),
    }
}

fn their_merge(theirs: &Value) -> (String, bool) {
    let keys: Vec<_> = theirs["keys"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // A list of which nothing is said is taken as one, as if it were said.
    let list = match (theirs["list"].as_str(), theirs["shape"].as_str()) {
        (Some("map"), _) => keys.join(","),
        (Some(kind), _) => kind.to_owned(),
        (None, Some("list")) => "atomic".to_owned(),
        (None, _) => "parts".to_owned(),
    };
    (list, theirs["atomic"] == true)
}

#[test]
fn the_table_has_every_field_of_either_version_and_no_other() {
    for (level, least) in [(Level::V1_36, 560), (Level::V1_33, 540)] {
        let found = Comparison::of(level);
        assert!(found.differences.is_empty(), "{}", found.differences.join("\n"));
        assert!(found.fields >= least, "{} fields of {} types", found.fields, found.seen.len());
    }
}
