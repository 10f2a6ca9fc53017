//! How one API object is described: its known fields, when each is written, what an absent one becomes, and by which
//! parts an apply takes it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Level;

/// What is done with an object once its fields have been read.
pub(super) type Rule = fn(&mut Map<String, Value>, Reading);

/// By whom an object is read, and how far.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) level: Level,
    /// Whether what stands behind a closed gate goes: it does when an object is stored, not when a request is read.
    pub(super) gated: bool,
}

/// An API struct: its known fields, and the rules beyond them.
pub(crate) struct Object {
    /// Its Go type, without the package.
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
    /// Whether an apply takes it as one value, whatever field holds it.
    pub(crate) whole: bool,
    /// The rules that look at more than one field.
    pub(super) then: Option<Rule>,
}

impl Object {
    /// An object without rules beyond those of its fields.
    pub(super) const fn of(name: &'static str, fields: &'static [Field]) -> Self {
        Self { name, fields, whole: false, then: None }
    }

    /// An apply takes it as one value.
    pub(super) const fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// The field of that name, as a server of that level declares it; without a level, as any does.
    pub(crate) fn field(&self, name: &str, level: Option<Level>) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name && level.is_none_or(|level| field.since <= level))
    }

    /// Adds the rule to run after the fields.
    pub(super) const fn then(mut self, rule: Rule) -> Self {
        self.then = Some(rule);
        self
    }
}

/// One field: its JSON name and how it is read and written.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Its Go type, where that is not the one that its kind mostly has.
    go: Option<&'static str>,
    /// The Go struct within the object's that has it, where there is one.
    pub(crate) inlined: Option<&'static str>,
    pub(super) presence: Presence,
    pub(super) default: Fill,
    /// The first level that knows the field: before, an apply that has it is refused, and a create drops it.
    pub(crate) since: Level,
    /// The first level that keeps the field; none where it is behind a gate that is closed at every level.
    pub(super) kept_since: Option<Level>,
    /// By which parts an apply takes what it holds.
    pub(crate) merge: Merge,
}

/// By which parts an apply takes a value: what one manager holds, and what it may name only once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    /// As one value: most lists.
    Whole,
    /// Field by field, or entry by entry.
    Parts,
    /// Item by item: equal ones are one.
    Set,
    /// Item by item: those are one that have these fields in common.
    Keyed(&'static [Key]),
}

/// A field by which items are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// What an absent one stands for.
    default: Fill,
}

impl Key {
    /// A text, empty where it is absent.
    pub(super) const fn of(name: &'static str) -> Self {
        Self { name, default: Fill::Text("") }
    }

    pub(super) const fn or_text(mut self, default: &'static str) -> Self {
        self.default = Fill::Text(default);
        self
    }

    pub(super) const fn or_int(mut self, default: i64) -> Self {
        self.default = Fill::Int(default);
        self
    }

    /// What an item has for it.
    pub(crate) fn value(self, item: &Value) -> Value {
        item.get(self.name).cloned().or_else(|| self.default.value()).unwrap_or_default()
    }

    /// The same as text.
    fn text(self, item: &Value) -> String {
        match self.value(item) {
            Value::String(text) => text,
            // Not the text `null`.
            Value::Null => "(null)".to_owned(),
            other => other.to_string(),
        }
    }
}

/// Items that have a name.
pub(super) const BY_NAME: &[Key] = &[Key::of("name")];

/// The ports of a container.
pub(super) const BY_PORT: &[Key] = &[Key::of("containerPort").or_int(0), Key::of("protocol").or_text("TCP")];

impl Merge {
    /// What tells an item of a list from the others, as text; none where nothing does.
    pub(crate) fn key(self, item: &Value) -> Option<String> {
        match self {
            Self::Whole | Self::Parts => None,
            Self::Set => Some(item.to_string()),
            Self::Keyed(keys) => Some(keys.iter().map(|key| key.text(item)).collect::<Vec<_>>().join("/")),
        }
    }
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
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

/// What a value is: that of a field, of an item of a list or of an entry of a map.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    /// By which parts an apply takes it.
    pub(crate) merge: Merge,
}

impl Type {
    /// A value that stands by itself.
    pub(crate) const fn of(kind: Kind) -> Self {
        let merge = match kind {
            Kind::Object(of) if of.whole => Merge::Whole,
            _ => kind.merge(),
        };
        Self { kind, merge }
    }

    /// What the items of a list are, or the entries of a map; none where there are none.
    pub(crate) const fn inner(self) -> Option<Self> {
        let kind = match self.kind {
            Kind::Texts | Kind::TextMap => Kind::Text,
            Kind::Int32s => Kind::Int32,
            Kind::Int64s => Kind::Int64,
            Kind::QuantityMap => Kind::Quantity,
            Kind::Objects(of) => Kind::Object(of),
            Kind::Text
            | Kind::Flag
            | Kind::Int32
            | Kind::Int64
            | Kind::Quantity
            | Kind::IntOrText
            | Kind::Time
            | Kind::Raw
            | Kind::Object(_) => return None,
        };
        Some(Self::of(kind))
    }
}

impl Kind {
    /// The Go type that mostly has it.
    pub(crate) fn go_type(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Text => "string",
            Self::Flag => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Quantity => "resource.Quantity",
            Self::IntOrText => "intstr.IntOrString",
            Self::Time => "v1.Time",
            Self::Raw => "v1.FieldsV1",
            Self::Texts => "[]string",
            Self::Int32s => "[]int32",
            Self::Int64s => "[]int64",
            Self::TextMap => "map[string]string",
            Self::QuantityMap => "v1.ResourceList",
            Self::Object(of) => return Cow::Owned(format!("v1.{}", of.name)),
            Self::Objects(of) => return Cow::Owned(format!("[]v1.{}", of.name)),
        })
    }

    /// How an apply takes it where nothing else is said.
    const fn merge(self) -> Merge {
        match self {
            Self::Texts | Self::Int32s | Self::Int64s | Self::Objects(_) => Merge::Whole,
            _ => Merge::Parts,
        }
    }
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
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    Nothing,
    Text(&'static str),
    Int(i64),
    False,
}

impl Fill {
    /// As it is filled in.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(text.into()),
            Self::Int(number) => Some(number.into()),
            Self::False => Some(false.into()),
        }
    }
}

impl Field {
    /// Whether a server knows the field, and keeps it where it is not behind a closed gate.
    pub(super) fn is_kept(&self, reading: Reading) -> bool {
        let level = reading.level;
        self.since <= level && (!reading.gated || self.kept_since.is_some_and(|since| since <= level))
    }

    const fn new(name: &'static str, kind: Kind, presence: Presence) -> Self {
        let (since, kept_since) = (Level::V1_33, Some(Level::V1_33));
        Self {
            name,
            kind,
            go: None,
            inlined: None,
            presence,
            default: Fill::Nothing,
            since,
            kept_since,
            merge: kind.merge(),
        }
    }

    /// Its Go type without a pointer, as a server names it.
    pub(crate) fn go_type(&self) -> Cow<'static, str> {
        self.go.map_or_else(|| self.kind.go_type(), Cow::Borrowed)
    }

    /// Says its Go type.
    pub(super) const fn go(mut self, name: &'static str) -> Self {
        self.go = Some(name);
        self
    }

    /// It comes with a struct within the object's.
    pub(super) const fn inlined(mut self, from: &'static str) -> Self {
        self.inlined = Some(from);
        self
    }

    /// What it holds.
    pub(crate) const fn holds(&self) -> Type {
        match (self.kind, self.merge) {
            (kind, Merge::Parts) => Type::of(kind),
            (kind, merge) => Type { kind, merge },
        }
    }

    /// An apply takes what it holds as one value.
    pub(super) const fn whole(mut self) -> Self {
        self.merge = Merge::Whole;
        self
    }

    /// A list in which equal items are one.
    pub(super) const fn set(mut self) -> Self {
        self.merge = Merge::Set;
        self
    }

    /// A list whose items are told apart by these fields.
    pub(super) const fn keyed(mut self, keys: &'static [Key]) -> Self {
        self.merge = Merge::Keyed(keys);
        self
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
