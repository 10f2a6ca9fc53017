//! Puts the tokens of one document together to nodes.
//!
//! The grammar is that of `parserc.go` of go.yaml.in/yaml/v2, with its peculiarities, as one function a production.

use super::cursor::{Mark, Problem};
use super::node::{Content, Document, Id, Node};
use super::scan::Scanner;
use super::token::{Kind, Style};
use super::{MAX_DEPTH, MAX_NODES};

/// Reads the nodes of a text, which holds one document at most.
pub(super) fn compose(text: &str) -> Result<Document, Problem> {
    let mut composer =
        Composer { scanner: Scanner::new(text), document: Document::default(), directives: Vec::new(), depth: 0 };
    composer.stream()?;
    Ok(composer.document)
}

/// The most `%TAG` directives; each is compared with all the others.
const MAX_DIRECTIVES: usize = 100;

struct Composer<'a> {
    scanner: Scanner<'a>,
    document: Document,
    /// Handles and prefixes of tags.
    directives: Vec<(Vec<u8>, Vec<u8>)>,
    depth: usize,
}

/// What stands before a node's content.
struct Properties {
    start: Mark,
    anchor: Option<String>,
    tag: Vec<u8>,
}

/// Where a node stands: there a block collection may begin, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Block,
    /// Also one whose dashes are not indented.
    BlockOrIndentless,
    Flow,
}

/// Whether a token has one of some kinds.
macro_rules! is {
    ($composer:expr, $($kind:pat_param)|+) => { matches!($composer.scanner.peek()?.kind, $($kind)|+) };
}

impl Composer<'_> {
    fn stream(&mut self) -> Result<(), Problem> {
        self.scanner.peek()?;
        self.scanner.skip();
        if is!(self, Kind::StreamEnd) {
            return Ok(());
        }
        let explicit = is!(self, Kind::Version(..) | Kind::TagDirective(..) | Kind::DocumentStart);
        self.process_directives()?;
        if explicit {
            if !is!(self, Kind::DocumentStart) {
                return Err(self.problem("", "did not find expected <document start>"));
            }
            self.scanner.skip();
        }
        let empty = explicit
            && is!(
                self,
                Kind::Version(..) | Kind::TagDirective(..) | Kind::DocumentStart | Kind::DocumentEnd | Kind::StreamEnd
            );
        let root = if empty {
            let mark = self.scanner.peek()?.start;
            self.empty(mark)?
        } else {
            self.node(Place::Block)?
        };
        self.document.root = Some(root);
        self.end()
    }

    /// Passes the end of the document. kubectl stops reading at the first `...`, or where the document cannot go on.
    fn end(&mut self) -> Result<(), Problem> {
        let mut ended = false;
        loop {
            let at = match self.scanner.peek() {
                Ok(token) if token.kind == Kind::StreamEnd => return Ok(()),
                Ok(token) if token.kind == Kind::DocumentEnd => None,
                Ok(token) => Some(token.start),
                Err(problem) if ended => Some(problem.at),
                Err(problem) => return Err(problem),
            };
            if let Some(at) = at {
                let problem = "text after the end of the document, which kubectl leaves out in silence".into();
                return Err(Problem { at, context: "", problem });
            }
            ended = true;
            self.scanner.skip();
        }
    }

    fn process_directives(&mut self) -> Result<(), Problem> {
        let mut versions = 0;
        loop {
            let token = self.scanner.peek()?;
            match &mut token.kind {
                Kind::Version(1, 1) if versions == 0 => versions = 1,
                Kind::Version(1, 1) => return Err(self.problem("", "found duplicate %YAML directive")),
                Kind::Version(..) => {
                    return Err(self.problem("", "found incompatible YAML document: kubectl reads YAML 1.1"));
                }
                Kind::TagDirective(handle, prefix) => {
                    let directive = (std::mem::take(handle), std::mem::take(prefix));
                    if self.directives.iter().any(|(handle, _)| *handle == directive.0) {
                        return Err(self.problem("", "found duplicate %TAG directive"));
                    }
                    self.directives.push(directive);
                    if self.directives.len() > MAX_DIRECTIVES {
                        return Err(self.problem("", &format!("more than {MAX_DIRECTIVES} %TAG directives")));
                    }
                }
                _ => break,
            }
            self.scanner.skip();
        }
        for (handle, prefix) in [("!", "!"), ("!!", super::resolve::PREFIX)] {
            if !self.directives.iter().any(|(known, _)| known == handle.as_bytes()) {
                self.directives.push((handle.into(), prefix.into()));
            }
        }
        Ok(())
    }

    fn node(&mut self, place: Place) -> Result<Id, Problem> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if let Kind::Alias(name) = &mut token.kind {
            let name = std::mem::take(name);
            let Some(target) = self.document.anchors.get(&name).copied() else {
                return Err(self.problem("", &format!("unknown anchor '{name}' referenced")));
            };
            self.scanner.skip();
            return self.push(mark, false, Content::Alias(name, target));
        }
        let properties = self.properties(mark)?;
        let block = place != Place::Flow;
        let token = self.scanner.peek()?;
        match &mut token.kind {
            Kind::BlockEntry if place == Place::BlockOrIndentless => {
                self.collection(&properties, true, Self::indentless_sequence)
            }
            Kind::Scalar(value, style) => {
                let (value, style) = (std::mem::take(value), *style);
                self.scanner.skip();
                self.scalar(properties, value, style)
            }
            Kind::FlowSequenceStart => self.collection(&properties, false, Self::flow_sequence),
            Kind::FlowMappingStart => self.collection(&properties, false, Self::flow_mapping),
            Kind::BlockSequenceStart if block => self.collection(&properties, true, Self::block_sequence),
            Kind::BlockMappingStart if block => self.collection(&properties, true, Self::block_mapping),
            _ if properties.anchor.is_some() || !properties.tag.is_empty() => {
                self.scalar(properties, String::new(), Style::Plain)
            }
            _ => {
                let context = if block { "while parsing a block node" } else { "while parsing a flow node" };
                Err(self.problem(context, "did not find expected node content"))
            }
        }
    }

    /// Reads an anchor and a tag, in either order.
    fn properties(&mut self, start: Mark) -> Result<Properties, Problem> {
        let (mut anchor, mut tag) = (None, None);
        loop {
            match &mut self.scanner.peek()?.kind {
                Kind::Anchor(name) if anchor.is_none() => anchor = Some(std::mem::take(name)),
                Kind::Tag(handle, suffix) if tag.is_none() => {
                    tag = Some((std::mem::take(handle), std::mem::take(suffix)));
                }
                _ => break,
            }
            self.scanner.skip();
        }
        let tag = match tag {
            None => Vec::new(),
            Some((handle, suffix)) if handle.is_empty() => suffix,
            Some((handle, suffix)) => {
                let prefix = self.directives.iter().find(|(known, _)| *known == handle);
                match prefix.map(|(_, prefix)| [prefix.as_slice(), &suffix].concat()) {
                    Some(tag) if !tag.is_empty() => tag,
                    _ => return Err(self.problem("while parsing a node", "found undefined tag handle")),
                }
            }
        };
        Ok(Properties { start, anchor, tag })
    }

    fn scalar(&mut self, properties: Properties, value: String, style: Style) -> Result<Id, Problem> {
        let Properties { start, anchor, tag } = properties;
        let below = style == Style::Block || style == Style::Plain && value.is_empty();
        let implicit = tag.is_empty() && style == Style::Plain || tag == b"!";
        let id = self.push(start, below, Content::Scalar(value))?;
        if let Some(node) = self.document.nodes.last_mut() {
            node.implicit = implicit;
            node.tag = (!tag.is_empty()).then(|| tag.into_boxed_slice());
        }
        if let Some(anchor) = anchor {
            self.document.anchors.insert(anchor, id);
        }
        Ok(id)
    }

    /// An empty plain scalar.
    fn empty(&mut self, mark: Mark) -> Result<Id, Problem> {
        self.scalar(Properties { start: mark, anchor: None, tag: Vec::new() }, String::new(), Style::Plain)
    }

    /// A collection, known by its anchor already to what is in it.
    fn collection(
        &mut self,
        properties: &Properties,
        below: bool,
        content: fn(&mut Self) -> Result<Content, Problem>,
    ) -> Result<Id, Problem> {
        let id = self.push(properties.start, below, Content::Sequence(Vec::new()))?;
        if let Some(anchor) = &properties.anchor {
            self.document.anchors.insert(anchor.clone(), id);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem("", &super::too_deep()));
        }
        let content = content(self)?;
        self.depth -= 1;
        self.document.fill(id, content);
        Ok(id)
    }

    fn block_sequence(&mut self) -> Result<Content, Problem> {
        self.scanner.skip();
        let mut items = Vec::new();
        loop {
            let token = self.scanner.peek()?;
            let mark = token.end;
            match token.kind {
                Kind::BlockEntry => {
                    self.scanner.skip();
                    items.push(if is!(self, Kind::BlockEntry | Kind::BlockEnd) {
                        self.empty(mark)?
                    } else {
                        self.node(Place::Block)?
                    });
                }
                Kind::BlockEnd => {
                    self.scanner.skip();
                    return Ok(Content::Sequence(items));
                }
                _ => {
                    return Err(self.problem("while parsing a block collection", "did not find expected '-' indicator"));
                }
            }
        }
    }

    fn indentless_sequence(&mut self) -> Result<Content, Problem> {
        let mut items = Vec::new();
        while is!(self, Kind::BlockEntry) {
            let mark = self.scanner.peek()?.end;
            self.scanner.skip();
            items.push(if is!(self, Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd) {
                self.empty(mark)?
            } else {
                self.node(Place::Block)?
            });
        }
        Ok(Content::Sequence(items))
    }

    fn block_mapping(&mut self) -> Result<Content, Problem> {
        self.scanner.skip();
        let mut entries = Vec::new();
        loop {
            match self.scanner.peek()?.kind {
                Kind::Key => {
                    let key = self.block_part()?;
                    entries.push(key);
                }
                Kind::BlockEnd => {
                    self.scanner.skip();
                    return Ok(Content::Mapping(entries));
                }
                _ => return Err(self.problem("while parsing a block mapping", "did not find expected key")),
            }
            let token = self.scanner.peek()?;
            let value = match token.kind {
                Kind::Value => self.block_part()?,
                _ => {
                    let mark = token.start;
                    self.empty(mark)?
                }
            };
            entries.push(value);
        }
    }

    /// What stands behind the `?` or `:` of a block mapping.
    fn block_part(&mut self) -> Result<Id, Problem> {
        let mark = self.scanner.peek()?.end;
        self.scanner.skip();
        if is!(self, Kind::Key | Kind::Value | Kind::BlockEnd) {
            self.empty(mark)
        } else {
            self.node(Place::BlockOrIndentless)
        }
    }

    fn flow_sequence(&mut self) -> Result<Content, Problem> {
        self.scanner.skip();
        let mut items = Vec::new();
        let mut first = true;
        while !is!(self, Kind::FlowSequenceEnd) {
            if !first {
                self.flow_entry("while parsing a flow sequence", "did not find expected ',' or ']'")?;
            }
            first = false;
            match self.scanner.peek()?.kind {
                Kind::FlowSequenceEnd => break,
                Kind::Key => {
                    let properties = Properties { start: self.scanner.peek()?.start, anchor: None, tag: Vec::new() };
                    items.push(self.collection(&properties, false, Self::flow_pair)?);
                }
                _ => items.push(self.node(Place::Flow)?),
            }
        }
        self.scanner.skip();
        Ok(Content::Sequence(items))
    }

    /// The one entry of a mapping without braces.
    fn flow_pair(&mut self) -> Result<Content, Problem> {
        self.scanner.skip();
        let key = if is!(self, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd) {
            let mark = self.scanner.peek()?.end;
            // As libyaml: it passes the token, and so takes no value for an empty key.
            self.scanner.skip();
            self.empty(mark)?
        } else {
            self.node(Place::Flow)?
        };
        let mark = self.scanner.peek()?.start;
        if is!(self, Kind::Value) {
            self.scanner.skip();
            if !is!(self, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                return Ok(Content::Mapping(vec![key, self.node(Place::Flow)?]));
            }
        }
        Ok(Content::Mapping(vec![key, self.empty(mark)?]))
    }

    fn flow_mapping(&mut self) -> Result<Content, Problem> {
        self.scanner.skip();
        let mut entries = Vec::new();
        let mut first = true;
        while !is!(self, Kind::FlowMappingEnd) {
            if !first {
                self.flow_entry("while parsing a flow mapping", "did not find expected ',' or '}'")?;
            }
            first = false;
            match self.scanner.peek()?.kind {
                Kind::FlowMappingEnd => break,
                Kind::Key => {
                    self.scanner.skip();
                    let key = self.flow_part()?;
                    entries.push(key);
                    if is!(self, Kind::Value) {
                        self.scanner.skip();
                        let value = self.flow_value()?;
                        entries.push(value);
                        continue;
                    }
                }
                _ => entries.push(self.node(Place::Flow)?),
            }
            let mark = self.scanner.peek()?.start;
            entries.push(self.empty(mark)?);
        }
        self.scanner.skip();
        Ok(Content::Mapping(entries))
    }

    fn flow_part(&mut self) -> Result<Id, Problem> {
        if is!(self, Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd) {
            let mark = self.scanner.peek()?.start;
            self.empty(mark)
        } else {
            self.node(Place::Flow)
        }
    }

    fn flow_value(&mut self) -> Result<Id, Problem> {
        if is!(self, Kind::FlowEntry | Kind::FlowMappingEnd) {
            let mark = self.scanner.peek()?.start;
            self.empty(mark)
        } else {
            self.node(Place::Flow)
        }
    }

    /// Passes the comma between two entries.
    fn flow_entry(&mut self, context: &'static str, problem: &str) -> Result<(), Problem> {
        if !is!(self, Kind::FlowEntry) {
            return Err(self.problem(context, problem));
        }
        self.scanner.skip();
        Ok(())
    }

    fn push(&mut self, mark: Mark, below: bool, content: Content) -> Result<Id, Problem> {
        if self.document.nodes.len() >= MAX_NODES {
            return Err(Problem { at: mark, context: "", problem: super::too_many() });
        }
        Ok(self.document.push(Node {
            content,
            line: mark.line.saturating_add(1),
            column: mark.column.saturating_add(1),
            below,
            implicit: false,
            tag: None,
        }))
    }

    /// A problem at the next token, with what was found there.
    fn problem(&mut self, context: &'static str, problem: &str) -> Problem {
        let (at, found) = match self.scanner.peek() {
            Ok(token) => (token.start, token.kind.name()),
            Err(problem) => return problem,
        };
        let problem = match problem.starts_with("did not find") {
            true => format!("{problem}, but {found}"),
            false => problem.to_owned(),
        };
        Problem { at, context, problem }
    }
}
