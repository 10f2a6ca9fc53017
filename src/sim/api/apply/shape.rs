//! What an apply knows of a value: whether it is one value, an object, a map or a list, and what is in it.

use serde_json::Value;

use super::element::Element;
use crate::manifest::default::{Kind, Level, Merge, Object, Type};

/// A type as a server of one version declares it.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) of: Type,
    pub(super) level: Level,
}

/// How a value is taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It is not: a number, a text, a flag.
    Scalar,
    /// An object or a map; whether it is one value.
    Map { whole: bool },
    /// A list; whether it is one value.
    List { whole: bool },
}

impl Shape {
    /// An object of the API.
    pub(super) fn root(object: &'static Object, level: Level) -> Self {
        Self { of: Type::of(Kind::Object(object)), level }
    }

    pub(super) fn form(self) -> Form {
        let whole = self.of.merge == Merge::Whole;
        match self.of.kind {
            // What is either a number or a text may be anything to the schema; only the conversion knows better.
            Kind::Text | Kind::Flag | Kind::Int32 | Kind::Int64 | Kind::Quantity | Kind::IntOrText | Kind::Time => {
                Form::Scalar
            }
            // Stands within lists that are one value, and nowhere else.
            Kind::Raw => Form::Map { whole: true },
            Kind::TextMap | Kind::QuantityMap | Kind::Object(_) => Form::Map { whole },
            Kind::Texts | Kind::Int32s | Kind::Int64s | Kind::Objects(_) => Form::List { whole },
        }
    }

    /// Whether it is an object that declares the field.
    pub(super) fn declares(self, name: &str) -> bool {
        matches!(self.of.kind, Kind::Object(object) if object.field(name, Some(self.level)).is_some())
    }

    /// What is there behind a field's name or a map's key; none where the schema knows of nothing.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        let of = match self.of.kind {
            Kind::Object(object) => object.field(name, Some(self.level))?.holds(),
            _ => self.of.inner()?,
        };
        Some(Self { of, ..self })
    }

    /// What the items of a list are.
    pub(super) fn item(self) -> Option<Self> {
        Some(Self { of: self.of.inner()?, ..self })
    }

    /// What an element of a path leads to.
    pub(super) fn child(self, element: &Element) -> Option<Self> {
        match (self.form(), element) {
            (Form::Map { .. }, Element::Field(name)) => self.field(name),
            (Form::List { .. }, Element::Key(_)) => self.item(),
            _ => None,
        }
    }

    /// What tells an item of this list from the others.
    ///
    /// # Errors
    /// Where nothing does, in the server's words.
    pub(super) fn element(self, item: &Value) -> Result<Element, &'static str> {
        match (self.of.merge, item) {
            (Merge::Keyed(_), Value::Null) => Err("associative list with keys may not have a null element"),
            (Merge::Keyed(keys), Value::Object(_)) => {
                let mut found: Vec<_> = keys.iter().map(|key| (key.name.to_owned(), key.value(item))).collect();
                found.sort_by(|left, right| left.0.cmp(&right.0));
                Ok(Element::Key(found))
            }
            (Merge::Keyed(_), _) => Err("associative list with keys may not have non-map elements"),
            (Merge::Set, Value::Object(_)) => Err("associative list without keys has an element that's a map type"),
            (Merge::Set, Value::Array(_)) => Err("not supported: associative list with lists as elements"),
            (Merge::Set, Value::Null) => Err("associative list without keys has an element that's an explicit null"),
            (Merge::Set, scalar) => Ok(Element::Item(scalar.clone())),
            (Merge::Whole | Merge::Parts, _) => Err("invalid indexing of non-associative list"),
        }
    }
}
