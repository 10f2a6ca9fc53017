//! Finds the line and column of a value in the text it was read from.
//!
//! Values carry no places. So when a finding is about a value, the text is read a second time, for its places alone.
//! A place that cannot be told is told as that of the nearest node above it.

use super::yaml::{self, Content, Document, Id};

/// Line and column, both from 1.
pub(super) type Place = (u32, u32);

/// The places of one document's nodes.
#[derive(Debug)]
pub(super) struct Places {
    document: Document,
    root: Id,
}

/// A node and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    node: Id,
    /// Where a message points to: a scalar or flow collection itself, the key of a block collection.
    at: Place,
    /// Where its key is; for an item of a list as `at`.
    key_at: Place,
}

impl Spot {
    /// Line and column of the node.
    pub(super) fn place(self) -> Place {
        self.at
    }
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
        let document = yaml::nodes_of_any(text)?;
        let root = document.root?;
        Some(Self { document, root })
    }

    /// The document itself.
    pub(super) fn root(&self) -> Spot {
        self.spot(self.root, None).unwrap_or(Spot { node: self.root, at: (1, 1), key_at: (1, 1) })
    }

    /// What a node has below a name: the value of a key, the last of several, or the item of an index.
    pub(super) fn child(&self, of: Spot, name: &str) -> Option<Spot> {
        match &self.document.node(of.node)?.content {
            Content::Mapping(entries) => {
                let is_named = |key: Id| match self.document.node(key).map(|key| &key.content) {
                    Some(Content::Scalar(text)) => text == name,
                    _ => false,
                };
                let (key, value) = entries.chunks_exact(2).rev().find_map(|pair| match pair {
                    [key, value] if is_named(*key) => Some((*key, *value)),
                    _ => None,
                })?;
                self.spot(value, Some(key))
            }
            Content::Sequence(_) => self.item(of, name.parse().ok()?),
            Content::Scalar(_) | Content::Json(_) | Content::Alias(..) => None,
        }
    }

    /// The item of a list.
    pub(super) fn item(&self, of: Spot, index: usize) -> Option<Spot> {
        match &self.document.node(of.node)?.content {
            Content::Sequence(items) => self.spot(*items.get(index)?, None),
            _ => None,
        }
    }

    /// The place of the value at a pointer, or of the nearest node above it; none for the document as a whole.
    pub(super) fn near(&self, pointer: &str) -> Option<Place> {
        let mut spot = self.root();
        let mut place = None;
        for name in names(pointer) {
            match self.child(spot, &name) {
                Some(child) => {
                    spot = child;
                    place = Some(child.at);
                }
                None => break,
            }
        }
        place
    }

    /// The place of the key at a pointer; as [`Self::near`] where there is none.
    pub(super) fn key(&self, pointer: &str) -> Option<Place> {
        self.find(pointer).map(|spot| spot.key_at).or_else(|| self.near(pointer))
    }

    fn exactly(&self, pointer: &str) -> Option<Place> {
        self.find(pointer).map(|spot| spot.at)
    }

    fn find(&self, pointer: &str) -> Option<Spot> {
        names(pointer).try_fold(self.root(), |spot, name| self.child(spot, &name))
    }

    fn spot(&self, id: Id, key: Option<Id>) -> Option<Spot> {
        let node = self.document.node(id)?;
        let own = (node.line, node.column);
        let key_at = match key {
            Some(key) => self.document.node(key).map(|key| (key.line, key.column))?,
            None => own,
        };
        Some(Spot { node: id, at: if node.below { key_at } else { own }, key_at })
    }
}

/// The names of a JSON pointer, unescaped.
fn names(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
}

/// A pointer one name further down.
pub(super) fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
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
