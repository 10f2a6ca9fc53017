//! How one API object is described: its known fields, when each is written, and what an absent one becomes.

use serde_json::{Map, Value};

use super::Level;

/// What is done with an object once its fields have been read.
pub(super) type Rule = fn(&mut Map<String, Value>, Level);

/// An API struct: its known fields, and the rules beyond them.
pub(super) struct Object {
    pub(super) fields: &'static [Field],
    /// The rules that look at more than one field.
    pub(super) then: Option<Rule>,
}

impl Object {
    /// An object without rules beyond those of its fields.
    pub(super) const fn of(fields: &'static [Field]) -> Self {
        Self { fields, then: None }
    }

    /// Adds the rule to run after the fields.
    pub(super) const fn then(mut self, rule: Rule) -> Self {
        self.then = Some(rule);
        self
    }
}

/// One field: its JSON name and how it is read and written.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) presence: Presence,
    pub(super) default: Fill,
    /// The first level that knows the field: before, an apply that has it is refused, and a create drops it.
    pub(super) since: Level,
    /// The first level that keeps the field; none where it is behind a gate that is closed at every level.
    pub(super) kept_since: Option<Level>,
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Flag,
    Int32,
    Int64,
    /// A single quantity, printed without the step to thousandths.
    Quantity,
    IntOrText,
    Time,
    /// Anything: kept as it is.
    Raw,
    Texts,
    Int32s,
    Int64s,
    /// String values; a null one is "".
    TextMap,
    /// A ResourceList: quantities rounded up to thousandths.
    QuantityMap,
    Object(&'static Object),
    Objects(&'static Object),
}

/// When a field is written, as its Go type and `omitempty` decide it.
#[derive(Clone, Copy)]
pub(super) enum Presence {
    /// A value with `omitempty`: gone at its zero value.
    NonZero,
    /// A pointer with `omitempty`: written whenever it was given, `false`, `0` and `{}` included.
    Given,
    /// A value without `omitempty`, or a struct: always written.
    Always,
    /// A pointer without `omitempty`: written as null where it was not given.
    OrNull,
    /// `creationTimestamp`: null up to 1.33, where `omitempty` did nothing for structs; gone since (`omitzero`).
    NullAt133,
}

/// What takes the place of an absent value; of a zero one too, where the field is no pointer.
#[derive(Clone, Copy)]
pub(super) enum Fill {
    Nothing,
    Text(&'static str),
    Int(i64),
    False,
}

impl Field {
    /// Whether a server of that level knows the field and keeps it; otherwise it is behind a closed gate.
    pub(super) fn is_kept(&self, level: Level) -> bool {
        self.since <= level && self.kept_since.is_some_and(|since| since <= level)
    }

    const fn new(name: &'static str, kind: Kind, presence: Presence) -> Self {
        Self { name, kind, presence, default: Fill::Nothing, since: Level::V1_33, kept_since: Some(Level::V1_33) }
    }

    pub(super) const fn pointer(mut self) -> Self {
        self.presence = Presence::Given;
        self
    }

    pub(super) const fn always(mut self) -> Self {
        self.presence = Presence::Always;
        self
    }

    pub(super) const fn or_null(mut self) -> Self {
        self.presence = Presence::OrNull;
        self
    }

    pub(super) const fn null_at_1_33(mut self) -> Self {
        self.presence = Presence::NullAt133;
        self
    }

    pub(super) const fn or_text(mut self, default: &'static str) -> Self {
        self.default = Fill::Text(default);
        self
    }

    pub(super) const fn or_int(mut self, default: i64) -> Self {
        self.default = Fill::Int(default);
        self
    }

    pub(super) const fn or_false(mut self) -> Self {
        self.default = Fill::False;
        self
    }

    pub(super) const fn since_1_36(mut self) -> Self {
        self.since = Level::V1_36;
        self
    }

    pub(super) const fn dropped_at_1_33(mut self) -> Self {
        self.kept_since = Some(Level::V1_36);
        self
    }

    /// Behind a gate that is closed at every level.
    pub(super) const fn dropped(mut self) -> Self {
        self.kept_since = None;
        self
    }
}

pub(super) const fn text(name: &'static str) -> Field {
    Field::new(name, Kind::Text, Presence::NonZero)
}

pub(super) const fn flag(name: &'static str) -> Field {
    Field::new(name, Kind::Flag, Presence::NonZero)
}

pub(super) const fn int32(name: &'static str) -> Field {
    Field::new(name, Kind::Int32, Presence::NonZero)
}

pub(super) const fn int64(name: &'static str) -> Field {
    Field::new(name, Kind::Int64, Presence::NonZero)
}

pub(super) const fn quantity(name: &'static str) -> Field {
    Field::new(name, Kind::Quantity, Presence::NonZero)
}

pub(super) const fn int_or_text(name: &'static str) -> Field {
    Field::new(name, Kind::IntOrText, Presence::NonZero)
}

pub(super) const fn time(name: &'static str) -> Field {
    Field::new(name, Kind::Time, Presence::Given)
}

pub(super) const fn raw(name: &'static str) -> Field {
    Field::new(name, Kind::Raw, Presence::Given)
}

pub(super) const fn texts(name: &'static str) -> Field {
    Field::new(name, Kind::Texts, Presence::NonZero)
}

pub(super) const fn int32s(name: &'static str) -> Field {
    Field::new(name, Kind::Int32s, Presence::NonZero)
}

pub(super) const fn int64s(name: &'static str) -> Field {
    Field::new(name, Kind::Int64s, Presence::NonZero)
}

pub(super) const fn text_map(name: &'static str) -> Field {
    Field::new(name, Kind::TextMap, Presence::NonZero)
}

pub(super) const fn quantity_map(name: &'static str) -> Field {
    Field::new(name, Kind::QuantityMap, Presence::NonZero)
}

/// A pointer to a struct; `.always()` makes it the struct itself.
pub(super) const fn object(name: &'static str, object: &'static Object) -> Field {
    Field::new(name, Kind::Object(object), Presence::Given)
}

pub(super) const fn objects(name: &'static str, object: &'static Object) -> Field {
    Field::new(name, Kind::Objects(object), Presence::NonZero)
}
