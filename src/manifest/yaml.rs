//! Reads one document's text into JSON values, within bounds.
//!
//! This is the whole of the seam to the YAML crate. It reads YAML as that crate does, with merge keys applied and
//! numbers as kubectl sends them; reading every scalar exactly as kubectl does is a matter of this file alone.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{ErrorKind, Event, Parser, options};

use super::words::{message, show};

/// The most levels a document may be deep. Kubernetes' own types end near 20.
pub const MAX_DEPTH: usize = 64;

/// The most nodes a file may have, aliases counted as often as they are used: what bounds an alias bomb.
pub const MAX_NODES: usize = 200_000;

/// Opening brackets in a file above which its nesting is checked before the YAML crate sees it. That crate's scanner
/// takes time that grows with the square of flow nesting: 200,000 `[` take seconds, 1,000 a few milliseconds.
const SUSPICIOUS_BRACKETS: usize = 1_000;

/// Nodes that a file may still have, counted down while its documents are read.
#[derive(Debug)]
pub(super) struct Budget {
    nodes: Cell<usize>,
    /// Whether the file has so many brackets that each document's nesting is looked at first.
    suspicious: bool,
}

impl Budget {
    /// The budget of a file with this text.
    pub(super) fn of(text: &str) -> Self {
        Self { nodes: Cell::new(MAX_NODES), suspicious: brackets(text) > SUSPICIOUS_BRACKETS }
    }
}

/// Why a text was not read: line and column from 1 in that text, 0 where they are not known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
}

/// Reads a text of one YAML document; null for an empty one.
pub(super) fn read(text: &str, budget: &Budget) -> Result<Value, Fault> {
    if budget.suspicious && brackets(text) > MAX_DEPTH {
        check_nesting(text)?;
    }
    check_characters(text)?;
    check_tags(text)?;
    let seed = NodeSeed { budget, depth: 0 };
    seed.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |at| (number(at.line()), number(at.column())));
        let mut words = without_places(&error.to_string());
        if words.contains("recursion limit exceeded") || words.contains("repetition limit exceeded") {
            words = format!("{words}: an alias inside its own value, or too many of them");
        } else if words.contains("more than one document") {
            words = "text after the end of the document".into();
        }
        Fault { line, column, message: message(&words) }
    })
}

/// One value of a stream of JSON values.
#[derive(Debug)]
pub(super) struct Json<'a> {
    /// The line it begins at, from 1.
    pub(super) line: u32,
    /// Its text.
    pub(super) text: &'a str,
    pub(super) value: Value,
}

/// Reads a text of JSON values, one after the other, as kubectl does where a stream begins with `{`.
pub(super) fn read_json<'a>(text: &'a str, budget: &Budget) -> Result<Vec<Json<'a>>, Fault> {
    let mut values = Vec::new();
    let mut line = 1_u32;
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let blank = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
        line = line.saturating_add(lines(blank));
        if trimmed.is_empty() {
            return Ok(values);
        }
        let mut json = serde_json::Deserializer::from_str(trimmed);
        let value = NodeSeed { budget, depth: 0 }.deserialize(&mut json).map_err(|error| Fault {
            line: number(error.line()).max(1).saturating_add(line).saturating_sub(1),
            column: number(error.column()),
            message: message(&without_places(&error.to_string())),
        })?;
        let end = json.into_iter::<de::IgnoredAny>().byte_offset();
        let (own, behind) = trimmed.split_at_checked(end).unwrap_or((trimmed, ""));
        values.push(Json { line, text: own, value });
        line = line.saturating_add(lines(own));
        rest = behind;
    }
}

fn lines(text: &str) -> u32 {
    number(text.matches('\n').count())
}

/// Refuses nesting beyond [`MAX_DEPTH`] with a parser that takes linear time.
fn check_nesting(text: &str) -> Result<(), Fault> {
    let limits = options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    for event in Parser::new_from_str_with_options(text, limits) {
        if let Err(error) = event {
            let words = match error.kind() {
                ErrorKind::RecursionLimitExceeded => too_deep(),
                _ => error.info(),
            };
            let at = error.marker();
            return Err(Fault {
                line: number(at.line()),
                column: number(at.col()).saturating_add(1),
                message: message(&words),
            });
        }
    }
    Ok(())
}

/// Refuses the characters that YAML 1.1 does not print; the YAML crate would not say where they are.
fn check_characters(text: &str) -> Result<(), Fault> {
    let printable = |letter: char| !letter.is_control() || matches!(letter, '\t' | '\n' | '\r' | '\u{85}');
    let bad = |letter: char| !printable(letter) || matches!(letter, '\u{fffe}' | '\u{ffff}');
    let Some((at, letter)) = text.char_indices().find(|(_, letter)| bad(*letter)) else { return Ok(()) };
    let before = text.get(..at).unwrap_or_default();
    let row = before.rsplit('\n').next().unwrap_or_default();
    Err(Fault {
        line: lines(before).saturating_add(1),
        column: number(row.chars().count()).saturating_add(1),
        message: format!("the character U+{:04X} may not stand in YAML as it is", u32::from(letter)),
    })
}

/// Refuses the tags that the YAML crate passes over in silence: `!!binary`, `!!python/object`, and their like.
fn check_tags(text: &str) -> Result<(), Fault> {
    /// The tags whose values are JSON values as they stand.
    const KNOWN: [&str; 7] = ["str", "int", "float", "bool", "null", "map", "seq"];
    if !text.contains("!!") && !text.contains("!<") && !text.contains("%TAG") {
        return Ok(());
    }
    for event in Parser::new_from_str_with_options(text, options! { emit_comments: false }) {
        // What does not parse here is told by the YAML crate, or not at all where the two differ.
        let Ok((event, span)) = event else { break };
        let tag = match &event {
            Event::Scalar(_, _, _, tag) | Event::SequenceStart(_, _, tag) | Event::MappingStart(_, _, tag) => tag,
            _ => continue,
        };
        let Some(tag) = tag else { continue };
        if !tag.core_suffix().is_some_and(|suffix| KNOWN.contains(&suffix)) {
            let at = span.tag_start().unwrap_or(span.start);
            return Err(Fault {
                line: number(at.line()),
                column: number(at.col()).saturating_add(1),
                message: unknown_tag(&tag.original()),
            });
        }
    }
    Ok(())
}

/// Reads one node and everything below it.
#[derive(Clone, Copy)]
struct NodeSeed<'a> {
    budget: &'a Budget,
    depth: usize,
}

impl NodeSeed<'_> {
    /// Takes one node from the budget.
    fn count<E: de::Error>(self) -> Result<(), E> {
        match self.budget.nodes.get().checked_sub(1) {
            Some(left) => {
                self.budget.nodes.set(left);
                Ok(())
            }
            None => Err(E::custom(format!(
                "more than {MAX_NODES} values in one file, aliases counted as often as they are used"
            ))),
        }
    }

    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(too_deep()));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON knows")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        match i64::try_from(value) {
            Ok(value) => Ok(Value::from(value)),
            Err(_) => float(value as f64),
        }
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        float(value as f64)
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        float(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        float(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let (mut map, mut merges) = (Map::new(), Vec::new());
        while let Some(key) = entries.next_key_seed(KeySeed { seen: &map })? {
            let value = entries.next_value_seed(inner)?;
            if key == MERGE { merges.push(value) } else { drop(map.insert(key, value)) }
        }
        for merge in merges {
            apply_merge(&mut map, merge)?;
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Value, A::Error> {
        let (tag, _) = data.variant::<String>()?;
        Err(A::Error::custom(unknown_tag(&format!("!{tag}"))))
    }
}

/// The key that merges another mapping in.
const MERGE: &str = "<<";

/// Merges one `<<` value in: what is written beside it wins, and of a list the earlier mapping.
fn apply_merge<E: de::Error>(map: &mut Map<String, Value>, merge: Value) -> Result<(), E> {
    let sources = match merge {
        Value::Array(list) => list,
        one => vec![one],
    };
    for source in sources {
        let Value::Object(source) = source else {
            return Err(E::custom("`<<` merges mappings, and this is none"));
        };
        for (key, value) in source {
            map.entry(key).or_insert(value);
        }
    }
    Ok(())
}

/// Reads a mapping's key, which becomes text; one that is there already is refused, at its place.
struct KeySeed<'a> {
    seen: &'a Map<String, Value>,
}

impl KeySeed<'_> {
    fn new_key<E: de::Error>(&self, key: String) -> Result<String, E> {
        if self.seen.contains_key(&key) {
            return Err(E::custom(format!("the key {} is there twice", show(&key))));
        }
        Ok(key)
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeySeed<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key of text")
    }

    fn visit_bool<E: de::Error>(self, key: bool) -> Result<String, E> {
        self.new_key(key.to_string())
    }

    fn visit_i64<E: de::Error>(self, key: i64) -> Result<String, E> {
        self.new_key(key.to_string())
    }

    fn visit_u64<E: de::Error>(self, key: u64) -> Result<String, E> {
        self.new_key(key.to_string())
    }

    fn visit_f64<E: de::Error>(self, key: f64) -> Result<String, E> {
        self.new_key(key.to_string())
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        self.new_key(key.to_owned())
    }
}

/// A float as kubectl sends it: a whole one that fits is an integer.
fn float<E: de::Error>(value: f64) -> Result<Value, E> {
    /// 2^63, the first float beyond `i64`.
    const TOO_BIG: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && (-TOO_BIG..TOO_BIG).contains(&value) {
        return Ok(Value::from(value as i64));
    }
    match Number::from_f64(value) {
        Some(number) => Ok(Value::Number(number)),
        None => Err(E::custom(format!("`{value}` is no number that JSON knows"))),
    }
}

fn too_deep() -> String {
    format!("nested more than {MAX_DEPTH} levels deep")
}

fn unknown_tag(tag: &str) -> String {
    format!("the tag {} means nothing to Kubernetes", show(tag))
}

/// Opening brackets, wherever they stand: more than there are levels of nesting.
fn brackets(text: &str) -> usize {
    text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

/// A parser's message without its positions, which count from the document's beginning and not from the file's.
fn without_places(words: &str) -> String {
    let mut rest = words;
    let mut kept = String::new();
    while let Some((before, behind)) = rest.split_once(" at line ") {
        kept.push_str(before);
        let behind = behind.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let behind = behind.strip_prefix(" column ").unwrap_or(behind);
        rest = behind.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    kept.push_str(rest);
    kept
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn yaml(text: &str) -> Result<Value, Fault> {
        read(text, &Budget::of(text))
    }

    #[test]
    fn merge_keys_are_applied_and_numbers_are_those_of_json() {
        let text = "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nmerged: {<<: [*b, *o], x: 9}\nchain: {<<: *b}\n";
        let value = yaml(text).unwrap();
        assert_eq!(value["merged"], json!({"x": 9, "y": 2, "z": 4}));
        assert_eq!(value["chain"], json!({"x": 1, "y": 2}));
        let text = "[1.0, 1e3, -0.0, 9223372036854775808, 0.5, true, null, 'x', 1: 2]";
        let expected = json!([1, 1000, 0, 9_223_372_036_854_775_808.0, 0.5, true, null, "x", {"1": 2}]);
        assert_eq!(yaml(text).unwrap(), expected);
    }

    #[test]
    fn faults_have_their_place() {
        for (text, line, column, words) in [
            ("a: 1\nb: 2\na: 3\n", 3, 1, "the key `a` is there twice"),
            ("a:\n  b: {c: 1, c: 2}\n", 2, 13, "a.b: the key `c` is there twice"),
            ("a: !include x\n", 1, 4, "a: the tag `!include` means nothing to Kubernetes"),
            ("a: !!binary eA==\n", 1, 4, "the tag `!!binary` means nothing to Kubernetes"),
            ("a: !!python/object:x {}\n", 1, 4, "the tag `!!python/object:x` means nothing to Kubernetes"),
            ("a: .nan\n", 1, 4, "a: `NaN` is no number that JSON knows"),
            ("a: .inf\n", 1, 4, "a: `inf` is no number that JSON knows"),
            ("a:\n\tb: 1\n", 2, 1, "found character that cannot start any token, while scanning for the next token"),
            ("a: {<<: 3}\n", 1, 4, "a: `<<` merges mappings, and this is none"),
            ("{{ x }}: 1\n", 1, 1, "invalid type: map, expected a key of text"),
            ("a: *b\n", 1, 4, "unknown anchor"),
            ("a: 1\n...\nb: 2\n", 0, 0, "text after the end of the document"),
        ] {
            let fault = yaml(text).unwrap_err();
            assert_eq!((fault.line, fault.column, fault.message.as_str()), (line, column, words), "{text}");
        }
    }

    #[test]
    fn what_would_take_all_time_or_memory_is_refused() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let line = vec![format!("*a{}", level - 1); 9].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{line}]\n"));
        }
        let merges: String = (1..2_000).map(|n| format!("a{n}: &a{n} {{<<: *a{}, k{n}: 1}}\n", n - 1)).collect();
        let hidden = "[ ']', ".repeat(100_000);
        for (name, text, words) in [
            ("open brackets", "[".repeat(200_000), "nested more than 64 levels deep"),
            ("open braces", "{a: ".repeat(200_000), "nested more than 64 levels deep"),
            ("hidden brackets", hidden, "nested more than 64 levels deep"),
            ("few brackets", "[".repeat(100) + &"]".repeat(100), "nested more than 64 levels deep"),
            ("dashes", "- ".repeat(200_000), "nested more than 64 levels deep"),
            ("questions", "? ".repeat(200_000), "expected a key of text"),
            ("maps", (0..900).map(|n| format!("{}a:\n", " ".repeat(n))).collect(), "nested more than 64 levels deep"),
            ("many keys", (0..210_000).map(|n| format!("{n}:\n")).collect(), "more than 200000 values"),
            ("bomb", bomb, "too many of them"),
            ("merge chain", format!("a0: &a0 {{x: 1}}\n{merges}"), "nested more than 64 levels deep"),
            ("itself", "a: &a [*a]\n".into(), "nested more than 64 levels deep"),
        ] {
            let fault = yaml(&text).unwrap_err();
            assert!(fault.message.contains(words), "{name}: {}", fault.message);
            assert!(fault.message.len() < 300, "{name}");
        }
    }

    #[test]
    fn json_is_read_one_value_after_the_other() {
        let text = "{\"a\": 1}\n {\"b\": [2.0, null]}\n";
        let values = read_json(text, &Budget::of(text)).unwrap();
        let values: Vec<_> = values.into_iter().map(|json| (json.line, json.text, json.value)).collect();
        let expected = [(1, "{\"a\": 1}", json!({"a": 1})), (2, "{\"b\": [2.0, null]}", json!({"b": [2, null]}))];
        assert_eq!(values, expected);
        for (text, line, column, words) in [
            ("{\"a\": 1}\n{\"b\": x}", 2, 7, "expected value"),
            ("{\"a\": 1, \"a\": 2}", 1, 12, "the key `a` is there twice"),
            (&"[".repeat(200_000), 1, 65, "nested more than 64 levels deep"),
        ] {
            let fault = read_json(text, &Budget::of(text)).unwrap_err();
            assert_eq!((fault.line, fault.column, fault.message.as_str()), (line, column, words), "{words}");
        }
    }
}
