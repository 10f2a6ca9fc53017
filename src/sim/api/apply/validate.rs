//! What server-side apply refuses because it is not as the API declares it, in the server's words.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::element::Element;
use super::go;
use super::shape::Shape;
use crate::manifest::default::{Kind, Merge};

/// Checks what was applied.
///
/// # Errors
/// The server's message; of several undeclared fields of one object it names one, and so does this.
pub(super) fn check(of: Shape, value: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    walk(of, value, "", &mut found);
    match found.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn walk(of: Shape, value: &Value, path: &str, found: &mut Vec<String>) {
    if value.is_null() {
        return;
    }
    let wrong = match (of.of.kind, value) {
        (Kind::Object(_) | Kind::TextMap | Kind::QuantityMap, Value::Object(map)) => {
            return fields(of, map, path, found);
        }
        (Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_), Value::Array(list)) => {
            return items(of, list, path, found);
        }
        (Kind::Text, Value::String(_))
        | (Kind::Flag, Value::Bool(_))
        | (Kind::Int32 | Kind::Int64, Value::Number(_))
        | (Kind::Quantity | Kind::Time, Value::Number(_) | Value::String(_) | Value::Bool(_))
        | (Kind::Raw, Value::Object(_))
        | (Kind::IntOrText, _) => return,
        (Kind::Text, other) => format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::exact(other)),
        (Kind::Flag, other) => format!("expected boolean, got &{{{}}}", go::plain(other)),
        (Kind::Int32 | Kind::Int64, other) => {
            format!("expected numeric (int or float), got {}", go::type_of(other))
        }
        (Kind::Quantity | Kind::Time, other) => format!("expected any scalar, got &{{{}}}", go::plain(other)),
        (Kind::Object(_) | Kind::TextMap | Kind::QuantityMap | Kind::Raw, other) => {
            format!("expected map, got &{{{}}}", go::plain(other))
        }
        (Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_), other) => {
            format!("expected list, got &{{{}}}", go::plain(other))
        }
    };
    found.push(format!("{path}: {wrong}"));
}

fn fields(of: Shape, map: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (name, value) in map {
        let below = format!("{path}.{name}");
        match of.field(name) {
            Some(inner) => walk(inner, value, &below, found),
            // The server looks no further here.
            None => return found.push(format!("{below}: field not declared in schema")),
        }
    }
}

fn items(of: Shape, list: &[Value], path: &str, found: &mut Vec<String>) {
    let Some(inner) = of.item() else { return };
    let mut seen = BTreeSet::new();
    for (index, item) in list.iter().enumerate() {
        let element = match of.of.merge {
            Merge::Set | Merge::Keyed(_) => match of.element(item) {
                Ok(element) => element,
                Err(why) => return found.push(format!("{path}: element {index}: {why}")),
            },
            Merge::Whole | Merge::Parts => Element::Index(i64::try_from(index).unwrap_or(i64::MAX)),
        };
        let below = format!("{path}{element}");
        if !seen.insert(element.clone()) {
            found.push(format!("{path}: duplicate entries for key {element}"));
        }
        walk(inner, item, &below, found);
    }
}
