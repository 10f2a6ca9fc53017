//! Which fields differ between two forms of an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::{Element, same};
use super::set::FieldSet;
use super::shape::{Form, Shape};

/// What a change did; no field is in more than one of the sets.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// Compares two objects.
    pub(super) fn of(shape: Shape, old: &Value, new: &Value) -> Self {
        let mut walk = Walk { path: Vec::new(), found: Self::default() };
        walk.value(shape, Some(old), Some(new));
        walk.found
    }

    /// Without what a strategy resets.
    pub(super) fn without(self, reset: &FieldSet) -> Self {
        Self {
            removed: self.removed.without(reset),
            modified: self.modified.without(reset),
            added: self.added.without(reset),
        }
    }
}

struct Walk {
    path: Vec<Element>,
    found: Comparison,
}

impl Walk {
    /// Compares what is at the path; at least one of them is there.
    fn value(&mut self, of: Shape, old: Option<&Value>, new: Option<&Value>) {
        match of.form() {
            Form::Scalar => self.leaf(old, new),
            Form::List { whole } => {
                let (left, right) = (items(old), items(new));
                if whole || (left.is_empty() && right.is_empty()) {
                    return self.leaf(old, new);
                }
                self.list(of, left, right);
                self.one_sided(old, new);
            }
            Form::Map { whole } => {
                let none = Map::new();
                let left = old.and_then(Value::as_object).unwrap_or(&none);
                let right = new.and_then(Value::as_object).unwrap_or(&none);
                if whole || (left.is_empty() && right.is_empty()) {
                    return self.leaf(old, new);
                }
                let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
                for name in names {
                    // What the schema does not know is not in an object that was read by it.
                    let Some(inner) = of.field(name) else { continue };
                    self.descend(Element::Field(name.clone()), inner, left.get(name), right.get(name));
                }
                self.one_sided(old, new);
            }
        }
    }

    fn descend(&mut self, element: Element, of: Shape, old: Option<&Value>, new: Option<&Value>) {
        self.path.push(element);
        self.value(of, old, new);
        self.path.pop();
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            (Some(_), Some(_)) => {}
            _ => self.one_sided(old, new),
        }
    }

    fn one_sided(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            _ => {}
        }
    }

    /// Items of one key are compared; where there are several of a key, they are one value.
    fn list(&mut self, of: Shape, left: &[Value], right: &[Value]) {
        let Some(inner) = of.item() else { return };
        let (left, right) = (by_element(of, left), by_element(of, right));
        let elements: BTreeSet<&Element> = left.keys().chain(right.keys()).collect();
        for element in elements {
            let old = left.get(element).map(Vec::as_slice).unwrap_or_default();
            let new = right.get(element).map(Vec::as_slice).unwrap_or_default();
            let doubled = |walk: &mut Self, set: fn(&mut Comparison) -> &mut FieldSet| {
                walk.path.push((*element).clone());
                set(&mut walk.found).insert(&walk.path);
                walk.path.pop();
            };
            match (old, new) {
                ([] | [_], [] | [_]) => {
                    self.descend(element.clone(), inner, old.first().copied(), new.first().copied());
                }
                ([_, _, ..], [_, _, ..]) => {
                    if old.len() != new.len() || old.iter().zip(new).any(|(old, new)| !same(old, new)) {
                        doubled(self, |found| &mut found.modified);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(new) = new.first() {
                        self.descend(element.clone(), inner, None, Some(new));
                    }
                    doubled(self, |found| &mut found.removed);
                }
                (_, [_, _, ..]) => {
                    if let Some(old) = old.first() {
                        self.descend(element.clone(), inner, Some(old), None);
                    }
                    doubled(self, |found| &mut found.added);
                }
            }
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The items of every key, in their order.
fn by_element(of: Shape, items: &[Value]) -> BTreeMap<Element, Vec<&Value>> {
    let mut found: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in items {
        // What has no key cannot be compared.
        if let Ok(element) = of.element(item) {
            found.entry(element).or_default().push(item);
        }
    }
    found
}
