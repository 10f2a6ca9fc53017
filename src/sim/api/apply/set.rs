//! Sets of fields: what a manager owns, what changed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::Element;
use super::shape::Shape;

/// A set of paths, as a tree. That a path is in it says nothing of the paths below, nor of those above.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    nodes: BTreeMap<Element, Node>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    /// Whether the path that ends here is in the set.
    member: bool,
    below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set of these paths of names.
    pub(super) fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| Element::field(name)).collect::<Vec<_>>());
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.values().all(Node::is_empty)
    }

    /// Adds a path; the empty one, of the whole object, is in no set.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.nodes.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    pub(super) fn has(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        let Some(node) = self.nodes.get(first) else { return false };
        if rest.is_empty() { node.member } else { node.below.has(rest) }
    }

    /// What is below an element; none where nothing is.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.nodes.get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        for (element, theirs) in &other.nodes {
            let node = out.nodes.entry(element.clone()).or_default();
            node.member |= theirs.member;
            node.below = node.below.union(&theirs.below);
        }
        out
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.with(|element, ours| {
            let theirs = other.nodes.get(element)?;
            Some(Node { member: ours.member && theirs.member, below: ours.below.intersection(&theirs.below) })
        })
    }

    /// Without the paths of the other.
    pub(super) fn difference(&self, other: &Self) -> Self {
        self.with(|element, ours| {
            let Some(theirs) = other.nodes.get(element) else { return Some(ours.clone()) };
            Some(Node { member: ours.member && !theirs.member, below: ours.below.difference(&theirs.below) })
        })
    }

    /// Without the paths of the other and all that is below them.
    pub(super) fn without(&self, other: &Self) -> Self {
        self.with(|element, ours| {
            let Some(theirs) = other.nodes.get(element) else { return Some(ours.clone()) };
            (!theirs.member).then(|| Node { member: ours.member, below: ours.below.without(&theirs.below) })
        })
    }

    fn with(&self, map: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let nodes = self.nodes.iter().filter_map(|(element, ours)| {
            let node = map(element, ours).filter(|node| !node.is_empty())?;
            Some((element.clone(), node))
        });
        Self { nodes: nodes.collect() }
    }

    /// With every declared field in it of which something is below.
    pub(super) fn with_fields(&self, of: Option<Shape>) -> Self {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let inner = of.and_then(|of| of.child(element));
            let is_field = matches!(element, Element::Field(name) if of.is_some_and(|of| of.declares(name)));
            let member = node.member || (is_field && !node.below.is_empty());
            (element.clone(), Node { member, below: node.below.with_fields(inner) })
        });
        Self { nodes: nodes.collect() }
    }

    /// Every path, as text: those that end on a level before those that go on from it.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.walk("", &mut found);
        found
    }

    fn walk(&self, above: &str, found: &mut Vec<String>) {
        let members = self.nodes.iter().filter(|(_, node)| node.member);
        found.extend(members.map(|(element, _)| format!("{above}{element}")));
        for (element, node) in &self.nodes {
            node.below.walk(&format!("{above}{element}"), found);
        }
    }

    /// Whether Go's JSON spells it as the server's writer of sets does, which has items in the order of their values (80
    /// before 443) where Go has keys in that of their letters, and escapes fewer characters.
    pub(super) fn is_spelled_alike(&self) -> bool {
        const ESCAPED_BY_GO: [char; 7] = ['<', '>', '&', '\u{2028}', '\u{2029}', '\u{8}', '\u{c}'];
        let nodes = || self.nodes.iter().filter(|(_, node)| !node.is_empty());
        let keys: Vec<String> = nodes().map(|(element, _)| element.print()).collect();
        keys.is_sorted()
            && !keys.iter().any(|key| key.contains(ESCAPED_BY_GO))
            && nodes().all(|(_, node)| node.below.is_spelled_alike())
    }

    /// As `fieldsV1` has it.
    pub(super) fn to_json(&self) -> Value {
        let mut out = Map::new();
        for (element, node) in self.nodes.iter().filter(|(_, node)| !node.is_empty()) {
            let mut below = match node.below.to_json() {
                Value::Object(below) => below,
                _ => Map::new(),
            };
            if node.member && !below.is_empty() {
                below.insert(".".to_owned(), Map::new().into());
            }
            out.insert(element.print(), Value::Object(below));
        }
        Value::Object(out)
    }

    /// The set that a `fieldsV1` stands for.
    ///
    /// # Errors
    /// Where it is none.
    pub(super) fn from_json(fields: &Value) -> Result<Self, String> {
        let given = match fields {
            Value::Object(given) => given,
            Value::Null => return Ok(Self::default()),
            _ => return Err("fieldsV1 is no object".to_owned()),
        };
        let mut nodes = BTreeMap::new();
        for (name, inner) in given.iter().filter(|(name, _)| *name != ".") {
            let Some(element) = Element::parse(name)? else { continue };
            let below = Self::from_json(inner)?;
            // Without anything below, it is named for itself.
            let member = below.nodes.is_empty() || inner.get(".").is_some();
            nodes.insert(element, Node { member, below });
        }
        Ok(Self { nodes })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Element, FieldSet};

    #[test]
    fn sets_are_read_and_written_as_a_server_prints_them() {
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {"v:\"a\"": {}}},
            "f:spec": {"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}, "i:3": {}}},
        });
        let set = FieldSet::from_json(&fields).unwrap();
        assert_eq!(set.to_json(), fields);
        let paths = [
            ".metadata.labels",
            ".metadata.finalizers[=\"a\"]",
            ".metadata.labels.app",
            ".spec.ports[containerPort=80,protocol=\"TCP\"]",
            ".spec.ports[3]",
            ".spec.ports[containerPort=80,protocol=\"TCP\"].name",
        ];
        assert_eq!(set.paths(), paths);
        let unknown = FieldSet::from_json(&json!({"x:later": {}, "f:a": {}})).unwrap();
        assert_eq!(unknown.to_json(), json!({"f:a": {}}));
        for wrong in [json!([]), json!({"a": {}}), json!({"k:x": {}}), json!({"i:x": {}}), json!({"f:a": 1})] {
            assert!(FieldSet::from_json(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sets_that_go_would_spell_otherwise_are_known() {
        let is_alike = |fields| FieldSet::from_json(&fields).unwrap().is_spelled_alike();
        let ports = |first: u32, second: u32| {
            let key = |port| format!("k:{{\"containerPort\":{port},\"protocol\":\"TCP\"}}");
            json!({"f:ports": {".": {}, (key(first)): {".": {}, "f:name": {}}, (key(second)): {}}})
        };
        assert!(is_alike(ports(8080, 9090)));
        assert!(!is_alike(ports(80, 443)));
        assert!(is_alike(json!({"f:labels": {".": {}, "f:a": {}, "f:\"\u{1}": {}}})));
        for key in ["f:<", "f:a>", "f:&", "f:\u{2028}", "f:\u{8}"] {
            assert!(!is_alike(json!({"f:labels": {".": {}, (key): {}}})), "{key}");
        }
        // That is escaped by either of them, before it becomes a key.
        assert!(is_alike(json!({"f:finalizers": {"v:\"\\u003c\"": {}}})));
    }

    #[test]
    fn a_path_says_nothing_of_those_around_it() {
        let set = FieldSet::of(&[&["a"], &["a", "b"], &["c", "d"]]);
        let has =
            |set: &FieldSet, path: &[&str]| set.has(&path.iter().map(|name| Element::field(name)).collect::<Vec<_>>());
        assert!(has(&set, &["a", "b"]) && has(&set, &["c", "d"]) && !has(&set, &["c"]));
        let a = FieldSet::of(&[&["a"]]);
        assert_eq!(set.difference(&a), FieldSet::of(&[&["a", "b"], &["c", "d"]]));
        assert_eq!(set.without(&a), FieldSet::of(&[&["c", "d"]]));
        assert_eq!(set.intersection(&a), a);
        assert_eq!(a.union(&set), set);
        assert!(a.difference(&set).is_empty());
    }
}
