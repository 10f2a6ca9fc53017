//! Reads a stream of JSON values as kubectl does, which takes what begins with `{` for one.

use serde_json::Value;

use super::node::{Content, Document, Id, Node};
use super::resolve::{Scalar, float};
use super::{Budget, Fault, MAX_DEPTH, MAX_NODES, Read, Reading, decode, go::scalar_json, number};

/// How far kubectl looks for the first `{`.
const LOOKS: usize = 4096;

/// One value of a stream of JSON values.
#[derive(Debug)]
pub(in crate::manifest) struct Json<'a> {
    /// The line it begins at, from 1.
    pub(in crate::manifest) line: u32,
    /// Its text.
    pub(in crate::manifest) text: &'a str,
    pub(in crate::manifest) read: Read,
}

/// What a text is as a stream of JSON values.
#[derive(Debug)]
pub(in crate::manifest) struct JsonStream<'a> {
    pub(in crate::manifest) values: Vec<Json<'a>>,
    /// Why it is none from somewhere on.
    pub(in crate::manifest) fault: Option<Fault>,
    /// Where kubectl then reads on, as YAML: the offset, and its line from 1. It does so behind one value at most.
    pub(in crate::manifest) rest: Option<(usize, u32)>,
}

/// Whether kubectl takes a text for JSON at first.
pub(super) fn is_json(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with('{') && text.len() - start.len() < LOOKS
}

/// The nodes of the first value of a text.
pub(super) fn first(text: &str) -> Result<Document, Fault> {
    let mut parser = Parser::new(text);
    parser.blanks();
    parser.document(Reading::Applied).map_err(|failure| failure.fault)
}

/// Reads a text of JSON values, one after the other; none where it does not begin like one.
pub(in crate::manifest) fn read_json<'a>(text: &'a str, reading: Reading, budget: &Budget) -> Option<JsonStream<'a>> {
    if !is_json(text) {
        return None;
    }
    let mut stream = JsonStream { values: Vec::new(), fault: None, rest: None };
    let mut parser = Parser::new(text);
    loop {
        let before = parser.at;
        parser.blanks();
        if parser.at == text.len() {
            return Some(stream);
        }
        let (start, line) = (parser.at, parser.line);
        let read = parser.document(reading).and_then(|document| {
            decode::decode(&document, reading, budget).map_err(|fault| Failure { fault, fatal: true })
        });
        match read {
            Ok(read) => {
                let text = text.get(start..parser.at).unwrap_or_default();
                stream.values.push(Json { line, text, read });
            }
            Err(Failure { fault, fatal }) => {
                if !fatal && stream.values.len() <= 1 {
                    stream.rest = behind_blanks(text, before);
                }
                stream.fault = Some(fault);
                return Some(stream);
            }
        }
    }
}

/// Where kubectl reads on as YAML: behind the blanks up to the end of a line. It looks at four bytes at a time, and
/// where there are no more so many it gives up.
fn behind_blanks(text: &str, from: usize) -> Option<(usize, u32)> {
    let mut at = from;
    let mut letters = text.get(from..)?.chars();
    let mut more = || if text.len() - at < 4 { None } else { letters.next().inspect(|letter| at += letter.len_utf8()) };
    loop {
        match more()? {
            '\n' => break,
            letter if letter.is_whitespace() => {}
            letter => {
                at -= letter.len_utf8();
                break;
            }
        }
    }
    Some((at, super::lines(text.get(..at).unwrap_or_default()).saturating_add(1)))
}

struct Failure {
    fault: Fault,
    /// Whether kubectl would not try to read it as YAML.
    fatal: bool,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Where the place was last told, and the column there.
    told: usize,
    column: u32,
    depth: usize,
    /// A number that is none for Go, which looks at numbers only when all of the value is known to be JSON.
    overflow: Option<Fault>,
    document: Document,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, told: 0, column: 1, depth: 0, overflow: None, document: Document::default() }
    }

    fn document(&mut self, reading: Reading) -> Result<Document, Failure> {
        let root = self.value(reading)?;
        if let Some(fault) = self.overflow.take() {
            return Err(Failure { fault, fatal: true });
        }
        let mut document = std::mem::take(&mut self.document);
        document.root = Some(root);
        Ok(document)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.peek() {
            self.at += 1;
            if byte == b'\n' {
                self.line += 1;
                (self.told, self.column) = (self.at, 1);
            }
        }
    }

    /// Line and column of the place that is read.
    fn place(&mut self) -> (u32, u32) {
        let passed = self.text.get(self.told..self.at).unwrap_or_default().chars().count();
        self.column = self.column.saturating_add(number(passed));
        self.told = self.at;
        (self.line, self.column)
    }

    fn fail<T>(&mut self, message: impl Into<String>, fatal: bool) -> Result<T, Failure> {
        let (line, column) = self.place();
        Err(Failure { fault: Fault { line, column, message: message.into() }, fatal })
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, Failure> {
        let found = match self.rest().chars().next() {
            Some(letter) => format!("`{}`", letter.escape_debug()),
            None => "the end of the file".to_owned(),
        };
        self.fail(format!("expected {what}, but found {found}"), false)
    }

    fn push(&mut self, content: Content) -> Result<Id, Failure> {
        let (line, column) = self.place();
        if self.document.nodes.len() >= MAX_NODES {
            return self.fail(super::too_many(), true);
        }
        Ok(self.document.push(Node { content, line, column, below: false, implicit: false, tag: None }))
    }

    fn value(&mut self, reading: Reading) -> Result<Id, Failure> {
        match self.peek() {
            Some(b'{') => self.collection(b'}', reading, Self::object),
            Some(b'[') => self.collection(b']', reading, Self::array),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(reading),
            _ => {
                for (word, value) in [("null", Value::Null), ("true", true.into()), ("false", false.into())] {
                    if self.rest().starts_with(word) {
                        let id = self.push(Content::Json(value))?;
                        self.at += word.len();
                        return Ok(id);
                    }
                }
                self.expected("a value")
            }
        }
    }

    fn collection(
        &mut self,
        end: u8,
        reading: Reading,
        entry: fn(&mut Self, &mut Vec<Id>, Reading) -> Result<(), Failure>,
    ) -> Result<Id, Failure> {
        let id = self.push(Content::Json(Value::Null))?;
        if self.depth >= MAX_DEPTH {
            return self.fail(super::too_deep(), true);
        }
        self.depth += 1;
        self.at += 1;
        let mut entries = Vec::new();
        self.blanks();
        if self.peek() != Some(end) {
            loop {
                entry(self, &mut entries, reading)?;
                self.blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(byte) if byte == end => break,
                    _ => return self.expected(&format!("`,` or `{}`", char::from(end))),
                }
                self.blanks();
            }
        }
        self.at += 1;
        self.depth -= 1;
        let content = if end == b'}' { Content::Mapping(entries) } else { Content::Sequence(entries) };
        self.document.fill(id, content);
        Ok(id)
    }

    fn object(&mut self, entries: &mut Vec<Id>, reading: Reading) -> Result<(), Failure> {
        if self.peek() != Some(b'"') {
            return self.expected("a key in double quotes");
        }
        entries.push(self.string()?);
        self.blanks();
        if self.peek() != Some(b':') {
            return self.expected("`:`");
        }
        self.at += 1;
        self.blanks();
        entries.push(self.value(reading)?);
        Ok(())
    }

    fn array(&mut self, items: &mut Vec<Id>, reading: Reading) -> Result<(), Failure> {
        items.push(self.value(reading)?);
        Ok(())
    }

    fn string(&mut self) -> Result<Id, Failure> {
        let id = self.push(Content::Scalar(String::new()))?;
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(|letter| matches!(letter, '"' | '\\' | '\0'..' ')).unwrap_or(rest.len());
            value.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => value.push(self.escape()?),
                _ => return self.expected("`\"` at the end of a text"),
            }
        }
        self.at += 1;
        self.document.fill(id, Content::Scalar(value));
        Ok(id)
    }

    fn escape(&mut self) -> Result<char, Failure> {
        let letter = match self.text.as_bytes().get(self.at + 1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return self.fail("there is no such escape in JSON", false),
        };
        self.at += 2;
        Ok(letter)
    }

    /// Four hexadecimal digits; two of these where they are a pair, U+FFFD for half of one.
    fn unicode(&mut self) -> Result<char, Failure> {
        let Some(first) = self.code(self.at) else {
            return self.fail("four hexadecimal digits are expected behind `\\u`", false);
        };
        self.at += 6;
        let pair = self.code(self.at).map(|second| [first, second]);
        if (0xd800..0xdc00).contains(&first)
            && let Some(pair) = pair
            && let Some(Ok(letter)) = char::decode_utf16(pair).next()
        {
            self.at += 6;
            return Ok(letter);
        }
        Ok(char::from_u32(u32::from(first)).unwrap_or('\u{fffd}'))
    }

    /// The code of the escape `\u` at an offset.
    fn code(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    }

    fn number(&mut self, reading: Reading) -> Result<Id, Failure> {
        let Some(end) = number_end(self.rest().as_bytes()) else {
            return self.fail("this is no number of JSON", false);
        };
        let text = self.rest().get(..end).unwrap_or_default();
        let scalar = match (text.parse(), text.parse()) {
            (Ok(value), _) => Scalar::Int(value),
            (_, Ok(value)) => Scalar::Uint(value),
            _ => match float(text) {
                Some(scalar) => scalar,
                None => {
                    let (line, column) = self.place();
                    let message = "this number is beyond what a float64 holds".into();
                    self.overflow.get_or_insert(Fault { line, column, message });
                    Scalar::Null
                }
            },
        };
        let value = match scalar_json(scalar, reading) {
            Ok(value) => value,
            Err(message) => return self.fail(message, true),
        };
        let id = self.push(Content::Json(value))?;
        self.at += end;
        Ok(id)
    }
}

/// Where the number ends that a text begins with: no `+`, no leading zero, digits on both sides of a dot.
fn number_end(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let count = text.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let is = |at: usize, signs: &[u8]| text.get(at).is_some_and(|byte| signs.contains(byte));
    let start = usize::from(is(0, b"-"));
    let mut end = if is(start, b"0") { start + 1 } else { digits(start)? };
    if is(end, b".") {
        end = digits(end + 1)?;
    }
    if is(end, b"eE") {
        end = digits(end + 1 + usize::from(is(end + 1, b"+-")))?;
    }
    Some(end)
}
