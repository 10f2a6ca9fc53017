//! The nodes of one document, as they are written.

use std::collections::BTreeMap;

use serde_json::Value;

/// A node's number in its document.
pub(in crate::manifest) type Id = u32;

/// One document's nodes; a document without any is empty.
#[derive(Debug, Default)]
pub(in crate::manifest) struct Document {
    pub(in crate::manifest) nodes: Vec<Node>,
    pub(in crate::manifest) root: Option<Id>,
    /// The nodes that carry an anchor; of two with the same name the later.
    pub(super) anchors: BTreeMap<String, Id>,
}

/// One node.
#[derive(Debug)]
pub(in crate::manifest) struct Node {
    pub(in crate::manifest) content: Content,
    /// Line and column, from 1.
    pub(in crate::manifest) line: u32,
    pub(in crate::manifest) column: u32,
    /// Whether it is told by its key: it begins on the line below, or is nothing at all.
    pub(in crate::manifest) below: bool,
    /// For a scalar, whether its text alone says what it is: plain, or with the tag `!`.
    pub(super) implicit: bool,
    /// The tag in full; of collections none is kept, since it means nothing.
    pub(super) tag: Option<Box<[u8]>>,
}

/// What a node is.
#[derive(Debug)]
pub(in crate::manifest) enum Content {
    Scalar(String),
    /// A scalar of JSON that is no text.
    Json(Value),
    Alias(String, Id),
    Sequence(Vec<Id>),
    /// Keys and values in turn.
    Mapping(Vec<Id>),
}

impl Document {
    pub(in crate::manifest) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(usize::try_from(id).ok()?)
    }

    /// Adds a node.
    pub(super) fn push(&mut self, node: Node) -> Id {
        let id = u32::try_from(self.nodes.len()).unwrap_or(Id::MAX);
        self.nodes.push(node);
        id
    }

    /// Gives a collection its content.
    pub(super) fn fill(&mut self, id: Id, content: Content) {
        if let Some(node) = usize::try_from(id).ok().and_then(|id| self.nodes.get_mut(id)) {
            node.content = content;
        }
    }
}
