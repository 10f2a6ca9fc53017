//! Which fields an object has: those that its applier owns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::element::Element;
use super::set::FieldSet;
use super::shape::{Form, Shape};

/// The set of the fields of an object: its scalars, what is one value, items of lists, entries of maps, and what is null
/// or an empty object.
pub(super) fn of(shape: Shape, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    walk(shape, value, &mut Vec::new(), &mut set);
    set
}

fn walk(of: Shape, value: &Value, path: &mut Vec<Element>, set: &mut FieldSet) {
    match (of.form(), value) {
        (Form::Scalar | Form::List { whole: true } | Form::Map { whole: true }, _) => set.insert(path),
        (Form::List { .. }, Value::Array(items)) => list(of, items, path, set),
        (Form::Map { .. }, Value::Object(map)) => {
            for (name, value) in map {
                path.push(Element::Field(name.clone()));
                if let Some(inner) = of.field(name) {
                    walk(inner, value, path, set);
                }
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if is_empty || !of.declares(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Form::List { .. } | Form::Map { .. }, _) => {}
    }
}

/// Items that share a key are one field, and nothing below it is.
fn list(of: Shape, items: &[Value], path: &mut Vec<Element>, set: &mut FieldSet) {
    let Some(inner) = of.item() else { return };
    let elements: Vec<_> = items.iter().filter_map(|item| Some((of.element(item).ok()?, item))).collect();
    let mut counts: BTreeMap<&Element, usize> = BTreeMap::new();
    for (element, _) in &elements {
        *counts.entry(element).or_default() += 1;
    }
    let doubled: BTreeSet<&Element> = counts.into_iter().filter(|(_, count)| *count > 1).map(|(it, _)| it).collect();
    for (element, item) in &elements {
        path.push(element.clone());
        if !doubled.contains(element) {
            walk(inner, item, path, set);
        }
        set.insert(path);
        path.pop();
    }
}
