//! Finds the line and column of a value in the text it was read from.
//!
//! The YAML crate gives positions only for its own errors. So when a finding is about a value, the text is read a
//! second time for its positions alone. A place that cannot be told is told as that of the nearest node above it.

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StructureStyle, options};

/// The most nodes whose places are kept: as many as a file may have, and their keys.
const MAX_PLACES: usize = 2 * super::yaml::MAX_NODES;

/// Line and column, both from 1.
pub(super) type Place = (u32, u32);

/// The places of one document's nodes.
#[derive(Debug)]
pub(super) struct Places {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    /// Where a message points to: a scalar or flow collection itself, the key of a block collection.
    at: Place,
    /// Where its key is; for an item of a list as `at`.
    key_at: Place,
    /// Whether it is a mapping; else the names of its children are their indices.
    is_map: bool,
    /// Name and node, in the order of the text.
    children: Vec<(String, Node)>,
}

impl Node {
    fn child(&self, name: &str) -> Option<&Self> {
        let found = if self.is_map {
            self.children.iter().find(|(child, _)| child == name)
        } else {
            name.parse().ok().and_then(|index: usize| self.children.get(index))
        };
        found.map(|(_, child)| child)
    }
}

/// A collection that is being read.
struct Open {
    node: Node,
    /// The name it gets in its parent.
    name: String,
    /// The key that waits for its value.
    key: Option<(String, Place)>,
}

/// Where the value at a JSON pointer is in a text of one document: line and column from 1.
///
/// The key's place for a block mapping, list or text, the value's own for everything else. None when unsure: the text does
/// not parse, or there is no such value (also behind an alias or a merge key).
pub fn locate(text: &str, pointer: &str) -> Option<(u32, u32)> {
    Places::of(text)?.exactly(pointer)
}

impl Places {
    /// Reads a text for its places; none where it does not parse.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut open: Vec<Open> = Vec::new();
        let mut count = 0_usize;
        for event in Parser::new_from_str_with_options(text, options! { emit_comments: false }) {
            let (event, span) = event.ok()?;
            let at = (number(span.start.line()), number(span.start.col()).saturating_add(1));
            count += 1;
            if count > MAX_PLACES {
                return None;
            }
            let done = match event {
                Event::Scalar(text, style, ..) => {
                    let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
                        || span.start.index() == span.end.index();
                    finish(&mut open, Leaf { text: Some(text.into_owned()), at, block })
                }
                Event::Alias(_) | Event::UnresolvedAlias(_) => finish(&mut open, Leaf { text: None, at, block: false }),
                Event::SequenceStart(style, ..) => {
                    begin(&mut open, at, false, is_block(style));
                    None
                }
                Event::MappingStart(style, ..) => {
                    begin(&mut open, at, true, is_block(style));
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(Open { node, name, .. }) => attach(&mut open, name, node),
                    None => None,
                },
                _ => None,
            };
            if let Some(root) = done {
                return Some(Self { root });
            }
        }
        None
    }

    /// The place of the value at a pointer, or of the nearest node above it; none for the document as a whole.
    pub(super) fn near(&self, pointer: &str) -> Option<Place> {
        let mut node = &self.root;
        let mut place = None;
        for name in names(pointer) {
            match node.child(&name) {
                Some(child) => {
                    node = child;
                    place = Some(child.at);
                }
                None => break,
            }
        }
        place
    }

    /// The place of the key at a pointer; as [`Self::near`] where there is none.
    pub(super) fn key(&self, pointer: &str) -> Option<Place> {
        self.find(pointer).map(|node| node.key_at).or_else(|| self.near(pointer))
    }

    fn exactly(&self, pointer: &str) -> Option<Place> {
        self.find(pointer).map(|node| node.at)
    }

    fn find(&self, pointer: &str) -> Option<&Node> {
        names(pointer).try_fold(&self.root, |node, name| node.child(&name))
    }
}

/// A scalar or an alias.
struct Leaf {
    /// Its text; none for an alias, which cannot be told apart as a key.
    text: Option<String>,
    at: Place,
    /// Whether it is told by its key: a block scalar, whose text begins on the line below, or an empty one.
    block: bool,
}

fn begin(open: &mut Vec<Open>, at: Place, is_map: bool, block: bool) {
    let (name, key_at) = take_name(open, at);
    let at = if block { key_at } else { at };
    open.push(Open { node: Node { at, key_at, is_map, children: Vec::new() }, name, key: None });
}

fn finish(open: &mut [Open], leaf: Leaf) -> Option<Node> {
    let Leaf { text, at, block } = leaf;
    if let Some(parent) = open.last_mut()
        && parent.node.is_map
        && parent.key.is_none()
    {
        parent.key = Some((text.unwrap_or_default(), at));
        return None;
    }
    let (name, key_at) = take_name(open, at);
    let at = if block { key_at } else { at };
    attach(open, name, Node { at, key_at, is_map: false, children: Vec::new() })
}

/// The name and key place of the node that begins now. A collection as a key gets an empty name.
fn take_name(open: &mut [Open], at: Place) -> (String, Place) {
    match open.last_mut() {
        None => (String::new(), at),
        Some(parent) if parent.node.is_map => parent.key.take().unwrap_or_default(),
        Some(parent) => (parent.node.children.len().to_string(), at),
    }
}

/// Hangs a finished node into the collection around it; gives it back where it is the root.
fn attach(open: &mut [Open], name: String, node: Node) -> Option<Node> {
    match open.last_mut() {
        None => Some(node),
        Some(parent) => {
            parent.node.children.push((name, node));
            None
        }
    }
}

fn is_block(style: StructureStyle) -> bool {
    matches!(style, StructureStyle::Block)
}

/// The names of a JSON pointer, unescaped.
fn names(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
}

/// A pointer one name further down.
pub(super) fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# a comment
a: 1
b:
  c: [x, {y: z}]
  d:
    - e: 1
      f: |
        text
    - 2
\"q/r\": \"s\"
merged: &m {k: v}
again: *m
";

    #[test]
    fn values_are_found_where_they_are() {
        for (pointer, place) in [
            ("/a", Some((2, 4))),
            ("/b", Some((3, 1))),
            ("/b/c", Some((4, 6))),
            ("/b/c/1/y", Some((4, 14))),
            ("/b/d", Some((5, 3))),
            ("/b/d/0/f", Some((7, 7))),
            ("/b/d/1", Some((9, 7))),
            ("/q~1r", Some((10, 8))),
            ("/again", Some((12, 8))),
            ("/again/k", None),
            ("/b/nothing", None),
        ] {
            assert_eq!(locate(TEXT, pointer), place, "{pointer}");
        }
        assert_eq!(locate("a: [", "/a"), None);
    }

    #[test]
    fn what_is_missing_is_told_by_what_is_around_it() {
        let places = Places::of(TEXT).unwrap();
        assert_eq!(places.near("/b/d/7/x"), Some((5, 3)));
        assert_eq!(places.near("/again/k"), Some((12, 8)));
        assert_eq!(places.near("/nothing"), None);
        assert_eq!(places.key("/b/c"), Some((4, 3)));
    }
}
