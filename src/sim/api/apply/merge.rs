//! Lays what was applied over what is there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;
use super::shape::{Form, Shape};

/// The live object with the applied one over it: what is given wins, and nothing goes.
pub(super) fn merge(of: Shape, live: &Value, applied: &Value) -> Value {
    value(of, Some(live), Some(applied)).unwrap_or_default()
}

fn value(of: Shape, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let leaf = || applied.or(live).cloned();
    match of.form() {
        Form::Scalar => leaf(),
        Form::List { whole } => {
            let items = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
            let (left, right) = (items(live), items(applied));
            if whole || (left.is_empty() && right.is_empty()) {
                return leaf();
            }
            let merged = List::of(of, &left, &right)?.merge();
            (!merged.is_empty()).then_some(Value::Array(merged))
        }
        Form::Map { whole } => {
            let none = Map::new();
            let left = live.and_then(Value::as_object).unwrap_or(&none);
            let right = applied.and_then(Value::as_object).unwrap_or(&none);
            if whole || (left.is_empty() && right.is_empty()) {
                return leaf();
            }
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            let merged: Map<String, Value> = names
                .into_iter()
                .filter_map(|name| {
                    let (live, applied) = (left.get(name), right.get(name));
                    let merged = match of.field(name) {
                        Some(inner) => value(inner, live, applied)?,
                        None => applied.or(live)?.clone(),
                    };
                    Some((name.clone(), merged))
                })
                .collect();
            (!merged.is_empty()).then_some(Value::Object(merged))
        }
    }
}

/// Two lists whose items are told apart.
struct List<'v> {
    inner: Shape,
    live: Vec<(Element, &'v Value)>,
    /// What there is of every key in the live list; null where there are several.
    by_live: BTreeMap<Element, &'v Value>,
    applied: Vec<(Element, &'v Value)>,
    in_applied: BTreeSet<Element>,
}

impl<'v> List<'v> {
    fn of(of: Shape, live: &'v [Value], applied: &'v [Value]) -> Option<Self> {
        static NULL: Value = Value::Null;
        let keyed = |items: &'v [Value]| -> Vec<(Element, &'v Value)> {
            items.iter().filter_map(|item| Some((of.element(item).ok()?, item))).collect()
        };
        let (live, applied) = (keyed(live), keyed(applied));
        let mut by_live: BTreeMap<Element, &'v Value> = BTreeMap::new();
        for (element, item) in &live {
            by_live.entry(element.clone()).and_modify(|found| *found = &NULL).or_insert(item);
        }
        let in_applied = applied.iter().map(|(element, _)| element.clone()).collect();
        Some(Self { inner: of.item()?, live, by_live, applied, in_applied })
    }

    /// The items of both: the shared ones in the order of what is applied, each side's own where they stand between them.
    fn merge(&self) -> Vec<Value> {
        let mut out = Vec::new();
        let mut shared = self.applied.iter().map(|(it, _)| it).filter(|it| self.by_live.contains_key(*it));
        let mut next = shared.next();
        let mut merged = BTreeSet::new();
        let (mut left, mut right) = (0, 0);
        while left < self.live.len() || right < self.applied.len() {
            if let (Some((ours, _)), Some((theirs, _))) = (self.live.get(left), self.applied.get(right)) {
                if ours == theirs {
                    merged.insert(ours);
                    out.extend(self.shared(right));
                    (left, right, next) = (left + 1, right + 1, shared.next());
                    continue;
                }
                // A shared item, but not the one whose turn it is.
                if self.in_applied.contains(ours) && next.is_some_and(|next| next != ours) {
                    left += 1;
                    continue;
                }
            }
            if let Some((element, item)) = self.live.get(left) {
                if !self.in_applied.contains(element) {
                    out.extend(value(self.inner, Some(item), None));
                    left += 1;
                    continue;
                }
                if merged.contains(element) {
                    left += 1;
                }
            }
            if let Some((element, _)) = self.applied.get(right) {
                merged.insert(element);
                out.extend(self.shared(right));
                right += 1;
                if next == Some(element) {
                    next = shared.next();
                }
            }
        }
        out
    }

    /// An applied item over the live one of its key.
    fn shared(&self, index: usize) -> Option<Value> {
        let (element, item) = self.applied.get(index)?;
        value(self.inner, self.by_live.get(element).copied(), Some(item))
    }
}
