//! Takes fields out of an object.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use super::shape::{Form, Shape};

/// The value without the fields of the set; null where nothing is left of it, within it too.
pub(super) fn remove(of: Option<Shape>, value: &Value, set: &FieldSet) -> Value {
    let Some(of) = of else { return value.clone() };
    match (of.form(), value) {
        (Form::Scalar, value) => value.clone(),
        (Form::List { whole: false }, Value::Array(items)) if !items.is_empty() => list(of, items, set),
        (Form::Map { whole: false }, Value::Object(map)) if !map.is_empty() => fields(of, map, set),
        // What is one value goes as one, and so does what is empty.
        _ => Value::Null,
    }
}

fn list(of: Shape, items: &[Value], set: &FieldSet) -> Value {
    let mut left = Vec::new();
    for item in items {
        let Ok(element) = of.element(item) else {
            left.push(item.clone());
            continue;
        };
        if set.has(std::slice::from_ref(&element)) {
            continue;
        }
        left.push(match set.below(&element) {
            Some(below) => remove(of.item(), item, below),
            None => item.clone(),
        });
    }
    if left.is_empty() { Value::Null } else { Value::Array(left) }
}

fn fields(of: Shape, map: &Map<String, Value>, set: &FieldSet) -> Value {
    let mut left = Map::new();
    for (name, value) in map {
        let element = Element::Field(name.clone());
        if set.has(std::slice::from_ref(&element)) {
            continue;
        }
        let value = match set.below(&element) {
            Some(below) => remove(of.field(name), value, below),
            None => value.clone(),
        };
        left.insert(name.clone(), value);
    }
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}
