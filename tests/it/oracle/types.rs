//! Reads the Go types of a StatefulSet, and keeps the recorded list of them true.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use phaseline::manifest::default::Level;
use serde_json::{Value, json};

use super::{LEVELS, Oracle, minor};

/// A field of a struct.
pub(super) struct Field {
    pub(super) name: String,
    /// A struct's name, or a plain type.
    pub(super) of: String,
    pub(super) shape: Shape,
    /// By which fields server-side apply tells the items of a list apart.
    pub(super) keys: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    List,
    Map,
}

/// Every struct of one version, by name.
pub(super) struct Types {
    pub(super) structs: BTreeMap<String, Vec<Field>>,
    /// The fields on the shortest way from the set's spec to each struct, as (struct, field).
    ways: BTreeMap<String, Vec<(String, String)>>,
}

impl Types {
    pub(super) fn of(level: Level) -> Self {
        let text = fs::read_to_string(file(level)).unwrap();
        let dump: Value = serde_json::from_str(&text).unwrap();
        let structs = dump["types"].as_object().unwrap();
        let structs: BTreeMap<_, Vec<_>> = structs
            .iter()
            .map(|(name, fields)| (name.clone(), fields.as_array().unwrap().iter().map(Field::read).collect()))
            .collect();
        let mut ways = BTreeMap::from([(ROOT.to_owned(), Vec::new())]);
        let mut queue = VecDeque::from([ROOT.to_owned()]);
        while let Some(name) = queue.pop_front() {
            for field in &structs[&name] {
                if structs.contains_key(&field.of) && !ways.contains_key(&field.of) {
                    let mut way: Vec<_> = ways[&name].clone();
                    way.push((name.clone(), field.name.clone()));
                    ways.insert(field.of.clone(), way);
                    queue.push_back(field.of.clone());
                }
            }
        }
        Self { structs, ways }
    }

    /// Every field that a spec can hold, as (struct, field).
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        let of = |name: &String| self.structs[name].iter().map(|field| (name.clone(), field.name.clone())).collect();
        self.ways.keys().flat_map(|name| -> Vec<_> { of(name) }).collect()
    }

    pub(super) fn way(&self, name: &str) -> &[(String, String)] {
        &self.ways[name]
    }
}

/// Where the generating and the defaulting start.
pub(super) const ROOT: &str = "StatefulSetSpec";

impl Field {
    fn read(field: &Value) -> Self {
        let texts = |value: &Value| {
            value.as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        Self {
            name: field["name"].as_str().unwrap().to_owned(),
            of: field["type"].as_str().unwrap().to_owned(),
            shape: match field["shape"].as_str() {
                Some("list") => Shape::List,
                Some("map") => Shape::Map,
                _ => Shape::Plain,
            },
            keys: texts(&field["keys"]),
        }
    }
}

fn file(level: Level) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/fields-{}.json", minor(level)))
}

#[test]
fn the_recorded_types_are_those_of_the_versions() {
    let bless = std::env::var_os("PHASELINE_BLESS").is_some();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let types = oracle.ask(json!({"mode": "fields"}));
        if bless {
            // A field a line: a change can be read.
            fs::write(file(level), types.to_string().replace("},{", "},\n{").replace("],\"", "],\n\"") + "\n").unwrap();
        }
        let recorded: Value = serde_json::from_str(&fs::read_to_string(file(level)).unwrap()).unwrap();
        assert!(types == recorded, "{}: PHASELINE_BLESS=1 writes it anew", file(level).display());
    }
}
