//! Scans the scalars of YAML: plain, quoted, and block.

use super::cursor::{Problem, text};
use super::scan::Scanner;
use super::token::{Kind, Style, Token};

const BLOCK: &str = "while scanning a block scalar";
const QUOTED: &str = "while scanning a quoted scalar";
const ESCAPE: &str = "while parsing a quoted scalar";
const PLAIN: &str = "while scanning a plain scalar";

/// What stands between two words of a scalar that goes over several lines.
#[derive(Default)]
struct Gap {
    blanks: Vec<u8>,
    /// The first line break.
    first: Vec<u8>,
    /// The others.
    others: Vec<u8>,
    /// Whether there is a line break in it.
    broken: bool,
}

impl Gap {
    /// Appends it as it is read: one line break becomes a space, blanks around line breaks are nothing. An escaped
    /// line break is no first one, so only those behind it are kept.
    fn fold(&mut self, into: &mut Vec<u8>) {
        if self.broken {
            if self.first.first() != Some(&b'\n') {
                into.append(&mut self.first);
                into.append(&mut self.others);
            } else if self.others.is_empty() {
                into.push(b' ');
            } else {
                into.append(&mut self.others);
            }
        } else {
            into.append(&mut self.blanks);
        }
        *self = Self::default();
    }
}

impl Scanner<'_> {
    /// Scans what follows `|` or `>`.
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token, Problem> {
        let start = self.cursor.mark;
        self.cursor.skip();
        let (chomping, increment) = self.scan_block_header()?;
        let mut end = self.cursor.mark;
        let base = self.indent.max(0);
        let mut indent = if increment > 0 { base + increment } else { 0 };
        let (mut value, mut leading, mut trailing) = (Vec::new(), Vec::new(), Vec::new());
        self.scan_block_breaks(&mut indent, &mut trailing, &mut end)?;
        let mut leading_blank = false;
        while i64::from(self.cursor.mark.column) == indent && !self.cursor.is_end() {
            let blank = self.cursor.is_blank(0);
            if !literal && !leading_blank && !blank && leading.first() == Some(&b'\n') {
                if trailing.is_empty() {
                    value.push(b' ');
                }
                leading.clear();
            } else {
                value.append(&mut leading);
            }
            value.append(&mut trailing);
            leading_blank = blank;
            while !self.cursor.is_break_or_end(0) {
                self.cursor.read(&mut value);
            }
            self.cursor.read_line(&mut leading);
            self.scan_block_breaks(&mut indent, &mut trailing, &mut end)?;
        }
        if chomping >= 0 {
            value.append(&mut leading);
        }
        if chomping > 0 {
            value.append(&mut trailing);
        }
        Ok(Token { kind: Kind::Scalar(text(value), Style::Block), start, end })
    }

    /// Chomping (-1 strip, 0 clip, 1 keep) and the indentation that is given, 0 for none; up to the end of the line.
    fn scan_block_header(&mut self) -> Result<(i8, i64), Problem> {
        let (mut chomping, mut increment) = (0, 0);
        if self.cursor.peek(0).is_ascii_digit() {
            increment = self.scan_increment()?;
            chomping = self.scan_chomping();
        } else if self.cursor.is(b'+') || self.cursor.is(b'-') {
            chomping = self.scan_chomping();
            if self.cursor.peek(0).is_ascii_digit() {
                increment = self.scan_increment()?;
            }
        }
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end(0) {
            return Err(self.problem(BLOCK, "did not find expected comment or line break"));
        }
        self.cursor.skip_line();
        Ok((chomping, increment))
    }

    fn scan_chomping(&mut self) -> i8 {
        let chomping = match self.cursor.peek(0) {
            b'+' => 1,
            b'-' => -1,
            _ => return 0,
        };
        self.cursor.skip();
        chomping
    }

    fn scan_increment(&mut self) -> Result<i64, Problem> {
        let digit = self.cursor.peek(0);
        if digit == b'0' {
            return Err(self.problem(BLOCK, "found an indentation indicator equal to 0"));
        }
        self.cursor.skip();
        Ok(i64::from(digit - b'0'))
    }

    /// Passes indentation and empty lines; finds the indentation where it is not known.
    fn scan_block_breaks(
        &mut self,
        indent: &mut i64,
        breaks: &mut Vec<u8>,
        end: &mut super::cursor::Mark,
    ) -> Result<(), Problem> {
        *end = self.cursor.mark;
        let mut widest = 0;
        loop {
            let below = |column: u32| *indent == 0 || i64::from(column) < *indent;
            while below(self.cursor.mark.column) && self.cursor.is(b' ') {
                self.cursor.skip();
            }
            widest = widest.max(i64::from(self.cursor.mark.column));
            if below(self.cursor.mark.column) && self.cursor.is(b'\t') {
                return Err(self.problem(BLOCK, "found a tab character where an indentation space is expected"));
            }
            if !self.cursor.is_break(0) {
                break;
            }
            self.cursor.read_line(breaks);
            *end = self.cursor.mark;
        }
        if *indent == 0 {
            *indent = widest.max(self.indent + 1).max(1);
        }
        Ok(())
    }

    /// Scans a text in single or double quotes.
    pub(super) fn scan_quoted(&mut self, single: bool) -> Result<Token, Problem> {
        let start = self.cursor.mark;
        let quote = if single { b'\'' } else { b'"' };
        self.cursor.skip();
        let (mut value, mut gap) = (Vec::new(), Gap::default());
        loop {
            if self.cursor.is_document_indicator(b'-') || self.cursor.is_document_indicator(b'.') {
                return Err(self.problem(QUOTED, "found unexpected document indicator"));
            }
            if self.cursor.is_end() {
                return Err(self.problem(QUOTED, "found unexpected end of stream"));
            }
            while !self.cursor.is_blank_or_end(0) {
                match self.cursor.peek(0) {
                    b'\'' if single && self.cursor.peek(1) == b'\'' => {
                        value.push(b'\'');
                        self.cursor.skip();
                        self.cursor.skip();
                    }
                    byte if byte == quote => break,
                    b'\\' if !single && self.cursor.is_break(1) => {
                        self.cursor.skip();
                        self.cursor.skip_line();
                        gap.broken = true;
                        break;
                    }
                    b'\\' if !single => self.scan_escape(&mut value)?,
                    _ => self.cursor.read(&mut value),
                }
            }
            if self.cursor.is(quote) {
                break;
            }
            self.scan_gap(&mut gap);
            gap.fold(&mut value);
        }
        self.cursor.skip();
        Ok(Token { kind: Kind::Scalar(text(value), Style::Quoted), start, end: self.cursor.mark })
    }

    /// Reads blanks and line breaks.
    fn scan_gap(&mut self, gap: &mut Gap) {
        loop {
            if self.cursor.is_blank(0) {
                if gap.broken {
                    self.cursor.skip();
                } else {
                    self.cursor.read(&mut gap.blanks);
                }
            } else if !self.cursor.is_break(0) {
                return;
            } else if gap.broken {
                self.cursor.read_line(&mut gap.others);
            } else {
                self.cursor.read_line(&mut gap.first);
                gap.broken = true;
            }
        }
    }

    fn scan_escape(&mut self, value: &mut Vec<u8>) -> Result<(), Problem> {
        let plain = match self.cursor.peek(1) {
            b'0' => "\0",
            b'a' => "\x07",
            b'b' => "\x08",
            b't' | b'\t' => "\t",
            b'n' => "\n",
            b'v' => "\x0b",
            b'f' => "\x0c",
            b'r' => "\r",
            b'e' => "\x1b",
            b' ' => " ",
            b'"' => "\"",
            b'\'' => "'",
            b'\\' => "\\",
            b'N' => "\u{85}",
            b'_' => "\u{a0}",
            b'L' => "\u{2028}",
            b'P' => "\u{2029}",
            b'x' => return self.scan_code(2, value),
            b'u' => return self.scan_code(4, value),
            b'U' => return self.scan_code(8, value),
            _ => return Err(self.problem(ESCAPE, "found unknown escape character")),
        };
        value.extend(plain.as_bytes());
        self.cursor.skip();
        self.cursor.skip();
        Ok(())
    }

    fn scan_code(&mut self, digits: usize, value: &mut Vec<u8>) -> Result<(), Problem> {
        self.cursor.skip();
        self.cursor.skip();
        let mut code = 0_u32;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.cursor.peek(ahead)).to_digit(16) else {
                return Err(self.problem(ESCAPE, "did not find expected hexdecimal number"));
            };
            code = code << 4 | digit;
        }
        let Some(letter) = char::from_u32(code) else {
            return Err(self.problem(ESCAPE, "found invalid Unicode character escape code"));
        };
        value.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
        for _ in 0..digits {
            self.cursor.skip();
        }
        Ok(())
    }

    /// Scans a text without quotes.
    pub(super) fn scan_plain(&mut self) -> Result<Token, Problem> {
        let start = self.cursor.mark;
        let mut end = start;
        let indent = self.indent + 1;
        let (mut value, mut gap) = (Vec::new(), Gap::default());
        let mut broken = false;
        loop {
            if self.cursor.is_document_indicator(b'-')
                || self.cursor.is_document_indicator(b'.')
                || self.cursor.is(b'#')
            {
                break;
            }
            while !self.cursor.is_blank_or_end(0) {
                let here = self.cursor.peek(0);
                let flow = matches!(here, b',' | b'?' | b'[' | b']' | b'{' | b'}');
                if here == b':' && self.cursor.is_blank_or_end(1) || self.flow_level > 0 && flow {
                    break;
                }
                gap.fold(&mut value);
                broken = false;
                self.cursor.read(&mut value);
                end = self.cursor.mark;
            }
            if !self.cursor.is_blank(0) && !self.cursor.is_break(0) {
                break;
            }
            while self.cursor.is_blank(0) || self.cursor.is_break(0) {
                if broken && i64::from(self.cursor.mark.column) < indent && self.cursor.is(b'\t') {
                    return Err(self.problem(PLAIN, "found a tab character that violates indentation"));
                }
                if self.cursor.is_break(0) {
                    self.cursor.read_line(if broken { &mut gap.others } else { &mut gap.first });
                    broken = true;
                    gap.broken = true;
                } else if broken {
                    self.cursor.skip();
                } else {
                    self.cursor.read(&mut gap.blanks);
                }
            }
            if self.flow_level == 0 && i64::from(self.cursor.mark.column) < indent {
                break;
            }
        }
        if broken {
            self.key_allowed = true;
        }
        Ok(Token { kind: Kind::Scalar(text(value), Style::Plain), start, end })
    }
}
