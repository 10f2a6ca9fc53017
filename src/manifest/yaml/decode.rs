//! Makes values of nodes: aliases followed, merges applied, keys taken one after the other.
//!
//! Mirrors `decode.go` of go.yaml.in/yaml/v2 and `YAMLToJSON` of sigs.k8s.io/yaml: of two equal keys the last wins, a
//! merge takes effect where it stands, and too many aliases are refused.

use std::collections::BTreeSet;

use super::go::{Entries, Go, Key};
use super::node::{Content, Document, Id, Node};
use super::remark::{Expected, Remark, about_key, about_value};
use super::resolve::{PREFIX, Scalar, resolve};
use super::{super::words::show, Budget, Fault, MAPPING, MAX_DEPTH, Read, Reading};

/// The key that merges another mapping in.
const MERGE: &str = "<<";

/// The value of a document.
pub(super) fn decode(document: &Document, reading: Reading, budget: &Budget) -> Result<Read, Fault> {
    let mut decoder = Decoder {
        document,
        budget,
        open: BTreeSet::new(),
        depth: 0,
        decoded: 0,
        aliased: 0,
        alias_depth: 0,
        remarks: Vec::new(),
    };
    let value = match document.root {
        Some(root) => decoder.value(root, Expected::Anything).and_then(|value| value.into_json(reading)),
        None => Ok(serde_json::Value::Null),
    };
    match value {
        Ok(value) => Ok(Read { value, remarks: decoder.remarks }),
        Err((at, message)) => {
            let (line, column) = document.node(at).map_or((0, 0), |node| (node.line, node.column));
            Err(Fault { line, column, message })
        }
    }
}

struct Decoder<'a> {
    document: &'a Document,
    budget: &'a Budget,
    /// The aliases that are being followed.
    open: BTreeSet<Id>,
    depth: usize,
    /// Nodes that were decoded, and how many of them by way of an alias.
    decoded: usize,
    aliased: usize,
    alias_depth: usize,
    remarks: Vec<Remark>,
}

/// What is wrong, and at which node.
type Wrong = (Id, String);

impl<'a> Decoder<'a> {
    fn node(&self, id: Id) -> Result<&'a Node, Wrong> {
        self.document.node(id).ok_or_else(|| (id, "the document has lost a node".to_owned()))
    }

    fn value(&mut self, id: Id, expected: Expected) -> Result<Go, Wrong> {
        let node = self.node(id)?;
        self.count(id, matches!(node.content, Content::Mapping(_)))?;
        match &node.content {
            Content::Scalar(text) => {
                self.budget.take_text(text.len()).map_err(|message| (id, message))?;
                let scalar = scalar(node, text).map_err(|message| (id, message))?;
                if is_plain(node)
                    && let Some((message, hint)) = about_value(text, &scalar, expected)
                {
                    self.remark(id, message, hint);
                }
                Ok(Go::Scalar(scalar, id))
            }
            Content::Json(value) => Ok(Go::Json(value.clone())),
            Content::Alias(name, target) => self.follow(id, name, |decoder| decoder.value(*target, expected)),
            Content::Sequence(items) => self.deeper(id, |decoder| {
                items.iter().map(|item| decoder.value(*item, expected.item())).collect::<Result<_, _>>().map(Go::List)
            }),
            Content::Mapping(entries) => {
                let mut out = Entries::new();
                self.entries(id, entries, &mut out, expected)?;
                Ok(Go::Map(out))
            }
        }
    }

    /// Sets the entries of a mapping, one after the other.
    fn entries(&mut self, id: Id, entries: &[Id], out: &mut Entries, expected: Expected) -> Result<(), Wrong> {
        self.deeper(id, |decoder| {
            // The keys that only a merge has set.
            let mut merged = BTreeSet::new();
            for pair in entries.chunks(2) {
                let [key, value] = pair else { break };
                if is_merge(decoder.node(*key)?) {
                    let mut source = Entries::new();
                    decoder.merge(*value, &mut source)?;
                    for (name, entry) in source {
                        if !merged.contains(&name) && out.contains_key(&name) {
                            let name = show(&name.text().unwrap_or_default());
                            let message = format!("the merge `<<` overwrites {name}, which stands above it");
                            decoder.remark(*key, message, "put `<<` first: what stands behind it wins");
                        }
                        merged.insert(name.clone());
                        out.remove(&name);
                        out.insert(name, entry);
                    }
                } else {
                    let name = decoder.key(*key)?;
                    let below = expected.below(&name.text().unwrap_or_default());
                    let value = decoder.value(*value, below)?;
                    if !merged.remove(&name) && out.contains_key(&name) {
                        let message = format!("the key {} is there twice, and the last one counts", show_key(&name));
                        decoder.remark_twice(*key, message);
                    }
                    // Of two equal floats, zero and minus zero, the later is the key.
                    out.remove(&name);
                    out.insert(name, (*key, value));
                }
            }
            Ok(())
        })
    }

    fn key(&mut self, id: Id) -> Result<Key, Wrong> {
        let what = match self.value(id, Expected::Anything)? {
            Go::Scalar(scalar, _) => {
                let key = Key::of(scalar, self.decoded);
                let node = self.node(id)?;
                if let (true, Content::Scalar(text)) = (is_plain(node), &node.content) {
                    // What was said about it as a value is said about it as a key.
                    self.remarks.pop_if(|remark| (remark.line, remark.column) == (node.line, node.column));
                    if let Some(message) = about_key(text, key.text().as_deref()) {
                        self.remark(id, message, "quote it if another key is meant");
                    }
                }
                return Ok(key);
            }
            Go::List(_) => "a list",
            Go::Map(_) | Go::Json(_) => "a mapping",
        };
        Err((id, format!("{what} as a key: a key of text was expected")))
    }

    /// Merges what stands behind `<<`: a mapping, an alias of one, or a list of these, of which the earlier wins.
    fn merge(&mut self, id: Id, out: &mut Entries) -> Result<(), Wrong> {
        let no_mapping = || (id, "`<<` merges mappings, and this is none".to_owned());
        match &self.node(id)?.content {
            Content::Mapping(entries) => {
                self.count(id, true)?;
                self.entries(id, entries, out, Expected::Anything)
            }
            Content::Alias(name, target) => {
                let Content::Mapping(entries) = &self.node(*target)?.content else { return Err(no_mapping()) };
                self.count(id, false)?;
                self.follow(id, name, |decoder| {
                    decoder.count(*target, true)?;
                    decoder.entries(*target, entries, out, Expected::Anything)
                })
            }
            Content::Sequence(items) => {
                for item in items.iter().rev() {
                    if let Content::Sequence(_) = &self.node(*item)?.content {
                        return Err(no_mapping());
                    }
                    let mut source = Entries::new();
                    self.merge(*item, &mut source)?;
                    for (name, entry) in source {
                        out.remove(&name);
                        out.insert(name, entry);
                    }
                }
                Ok(())
            }
            Content::Scalar(_) | Content::Json(_) => Err(no_mapping()),
        }
    }

    fn follow<T>(&mut self, id: Id, name: &str, then: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        if !self.open.insert(id) {
            return Err((id, format!("the value of the anchor {} contains itself", show(name))));
        }
        self.alias_depth += 1;
        let value = then(self)?;
        self.alias_depth -= 1;
        self.open.remove(&id);
        Ok(value)
    }

    fn deeper<T>(&mut self, id: Id, then: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        if self.depth >= MAX_DEPTH {
            return Err((id, super::too_deep()));
        }
        self.depth += 1;
        let value = then(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Counts one node, and refuses what go-yaml and our own budget refuse.
    fn count(&mut self, id: Id, mapping: bool) -> Result<(), Wrong> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.aliased += 1;
        }
        // Up to 400,000 nodes go-yaml lets aliases make 99 % of them; our own budget ends before.
        if self.aliased > 100 && self.decoded > 1000 && self.aliased as f64 / self.decoded as f64 > 0.99 {
            return Err((id, "too many aliases: they make more than 99 % of the document".to_owned()));
        }
        self.budget.take(if mapping { MAPPING } else { 1 }).map_err(|message| (id, message))
    }

    fn remark(&mut self, id: Id, message: String, hint: &'static str) {
        self.add(id, message, hint, false);
    }

    fn remark_twice(&mut self, id: Id, message: String) {
        self.add(id, message, "remove one of them", true);
    }

    fn add(&mut self, id: Id, message: String, hint: &'static str, twice: bool) {
        // What stands behind an alias was told where it is written.
        if self.alias_depth == 0
            && let Ok(&Node { line, column, .. }) = self.node(id)
            && self.budget.take_remark()
        {
            self.remarks.push(Remark { line, column, message, hint, twice });
        }
    }
}

fn scalar(node: &Node, text: &str) -> Result<Scalar, String> {
    if node.tag.is_none() && !node.implicit {
        return Ok(Scalar::Text(text.to_owned()));
    }
    resolve(node.tag.as_deref(), text)
}

/// Whether a scalar's text alone says what it is.
fn is_plain(node: &Node) -> bool {
    node.implicit && node.tag.is_none()
}

fn is_merge(node: &Node) -> bool {
    let tagged = |tag: &[u8]| tag.strip_prefix(PREFIX.as_bytes()) == Some(b"merge".as_slice());
    matches!(&node.content, Content::Scalar(text) if text == MERGE)
        && (node.implicit || node.tag.as_deref().is_some_and(tagged))
}

fn show_key(key: &Key) -> String {
    show(&key.text().unwrap_or_default())
}
