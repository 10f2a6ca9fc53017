//! Scans directives, anchors, aliases and tags.

use super::cursor::{Problem, text};
use super::scan::Scanner;
use super::token::{Kind, Token};

const DIRECTIVE: &str = "while scanning a directive";
const VERSION: &str = "while scanning a %YAML directive";

/// What a tag is scanned for, for its messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Tag,
    Directive,
}

impl Use {
    fn context(self) -> &'static str {
        match self {
            Self::Tag => "while parsing a tag",
            Self::Directive => "while parsing a %TAG directive",
        }
    }
}

impl Scanner<'_> {
    /// Scans a line that begins with `%`.
    pub(super) fn scan_directive(&mut self) -> Result<Token, Problem> {
        let start = self.cursor.mark;
        self.cursor.skip();
        let mut name = Vec::new();
        while self.cursor.is_word() {
            self.cursor.read(&mut name);
        }
        if name.is_empty() {
            return Err(self.problem(DIRECTIVE, "could not find expected directive name"));
        }
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.problem(DIRECTIVE, "found unexpected non-alphabetical character"));
        }
        let kind = match name.as_slice() {
            b"YAML" => self.scan_version()?,
            b"TAG" => self.scan_tag_directive()?,
            _ => return Err(self.problem(DIRECTIVE, "found unknown directive name")),
        };
        let end = self.cursor.mark;
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end(0) {
            return Err(self.problem(DIRECTIVE, "did not find expected comment or line break"));
        }
        self.cursor.skip_line();
        Ok(Token { kind, start, end })
    }

    fn scan_version(&mut self) -> Result<Kind, Problem> {
        self.cursor.skip_blanks();
        let major = self.scan_number()?;
        if !self.cursor.is(b'.') {
            return Err(self.problem(VERSION, "did not find expected digit or '.' character"));
        }
        self.cursor.skip();
        Ok(Kind::Version(major, self.scan_number()?))
    }

    /// A number of one or two digits.
    fn scan_number(&mut self) -> Result<u32, Problem> {
        let (mut value, mut digits) = (0, 0);
        while let Some(digit) = char::from(self.cursor.peek(0)).to_digit(10) {
            digits += 1;
            if digits > 2 {
                return Err(self.problem(VERSION, "found extremely long version number"));
            }
            value = value * 10 + digit;
            self.cursor.skip();
        }
        if digits == 0 {
            return Err(self.problem(VERSION, "did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self) -> Result<Kind, Problem> {
        self.cursor.skip_blanks();
        let handle = self.scan_tag_handle(Use::Directive)?;
        if !self.cursor.is_blank(0) {
            return Err(self.problem(Use::Directive.context(), "did not find expected whitespace"));
        }
        self.cursor.skip_blanks();
        let prefix = self.scan_tag_uri(Use::Directive, &[])?;
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.problem(Use::Directive.context(), "did not find expected whitespace or line break"));
        }
        Ok(Kind::TagDirective(handle, prefix))
    }

    /// Scans the name behind `&` or `*`.
    pub(super) fn scan_anchor(&mut self, kind: fn(String) -> Kind) -> Result<Token, Problem> {
        let start = self.cursor.mark;
        let context = if self.cursor.is(b'&') { "while scanning an anchor" } else { "while scanning an alias" };
        self.cursor.skip();
        let mut name = Vec::new();
        while self.cursor.is_word() {
            self.cursor.read(&mut name);
        }
        let end = self.cursor.mark;
        let ends = self.cursor.is_blank_or_end(0)
            || matches!(self.cursor.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            return Err(self.problem(context, "did not find expected alphabetic or numeric character"));
        }
        Ok(Token { kind: kind(text(name)), start, end })
    }

    /// Scans a tag: `!<uri>`, `!suffix`, `!handle!suffix` or `!`.
    pub(super) fn scan_tag(&mut self) -> Result<Token, Problem> {
        const CONTEXT: &str = "while scanning a tag";
        let start = self.cursor.mark;
        let (handle, suffix);
        if self.cursor.peek(1) == b'<' {
            self.cursor.skip();
            self.cursor.skip();
            handle = Vec::new();
            suffix = self.scan_tag_uri(Use::Tag, &[])?;
            if !self.cursor.is(b'>') {
                return Err(self.problem(CONTEXT, "did not find the expected '>'"));
            }
            self.cursor.skip();
        } else {
            let head = self.scan_tag_handle(Use::Tag)?;
            if head.len() > 1 && head.ends_with(b"!") {
                suffix = self.scan_tag_uri(Use::Tag, &[])?;
                handle = head;
            } else {
                let rest = self.scan_tag_uri(Use::Tag, &head)?;
                // `!` alone has no handle.
                (handle, suffix) = if rest.is_empty() { (rest, vec![b'!']) } else { (vec![b'!'], rest) };
            }
        }
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.problem(CONTEXT, "did not find expected whitespace or line break"));
        }
        Ok(Token { kind: Kind::Tag(handle, suffix), start, end: self.cursor.mark })
    }

    fn scan_tag_handle(&mut self, usage: Use) -> Result<Vec<u8>, Problem> {
        if !self.cursor.is(b'!') {
            return Err(self.problem(usage.context(), "did not find expected '!'"));
        }
        let mut handle = Vec::new();
        self.cursor.read(&mut handle);
        while self.cursor.is_word() {
            self.cursor.read(&mut handle);
        }
        if self.cursor.is(b'!') {
            self.cursor.read(&mut handle);
        } else if usage == Use::Directive && handle != b"!" {
            return Err(self.problem(usage.context(), "did not find expected '!'"));
        }
        Ok(handle)
    }

    /// Scans the rest of a tag behind `head`, whose `!` is not copied.
    fn scan_tag_uri(&mut self, usage: Use, head: &[u8]) -> Result<Vec<u8>, Problem> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let mut found = !head.is_empty();
        while self.cursor.is_word() || b";/?:@&=+$,.!~*'()[]%".contains(&self.cursor.peek(0)) {
            if self.cursor.is(b'%') {
                self.scan_uri_escape(usage, &mut uri)?;
            } else {
                self.cursor.read(&mut uri);
            }
            found = true;
        }
        if !found {
            return Err(self.problem(usage.context(), "did not find expected tag URI"));
        }
        Ok(uri)
    }

    /// Scans `%` escapes of one UTF-8 character.
    fn scan_uri_escape(&mut self, usage: Use, uri: &mut Vec<u8>) -> Result<(), Problem> {
        let mut left = None;
        while left != Some(0) {
            let digit =
                |ahead| char::from(self.cursor.peek(ahead)).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let (true, Some(high), Some(low)) = (self.cursor.is(b'%'), digit(1), digit(2)) else {
                return Err(self.problem(usage.context(), "did not find URI escaped octet"));
            };
            let octet = high << 4 | low;
            left = match left {
                None => match octet {
                    0..0x80 => Some(0),
                    0xc0..0xe0 => Some(1),
                    0xe0..0xf0 => Some(2),
                    0xf0..0xf8 => Some(3),
                    _ => return Err(self.problem(usage.context(), "found an incorrect leading UTF-8 octet")),
                },
                Some(_) if octet & 0xc0 != 0x80 => {
                    return Err(self.problem(usage.context(), "found an incorrect trailing UTF-8 octet"));
                }
                Some(more) => Some(more - 1),
            };
            uri.push(octet);
            for _ in 0..3 {
                self.cursor.skip();
            }
        }
        Ok(())
    }
}
