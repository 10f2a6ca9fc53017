//! Walks over the characters of a text, with their lines and columns, as libyaml counts them.

/// A place in the text, all from 0; index and column count characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Why a text is no YAML.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) at: Mark,
    /// What was being read; may be empty.
    pub(super) context: &'static str,
    pub(super) problem: String,
}

/// The rest of a text. What lies behind its end is a NUL, which may not stand in a text.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(super) mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, mark: Mark::default() }
    }

    /// The byte `ahead` bytes from here.
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is(&self, byte: u8) -> bool {
        self.peek(0) == byte
    }

    pub(super) fn is_end(&self) -> bool {
        self.is(0)
    }

    /// A space or a tab.
    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t')
    }

    /// CR, LF, NEL, LS or PS: YAML 1.1 knows five line breaks.
    pub(super) fn is_break(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            b'\r' | b'\n' => true,
            0xc2 => self.peek(ahead + 1) == 0x85,
            0xe2 => self.peek(ahead + 1) == 0x80 && matches!(self.peek(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.peek(ahead) == 0 || self.is_break(ahead)
    }

    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// A letter, a digit, `_` or `-`.
    pub(super) fn is_word(&self) -> bool {
        self.peek(0).is_ascii_alphanumeric() || matches!(self.peek(0), b'_' | b'-')
    }

    /// Whether a line `---` or `...` begins here.
    pub(super) fn is_document_indicator(&self, sign: u8) -> bool {
        self.mark.column == 0 && (0..3).all(|ahead| self.peek(ahead) == sign) && self.is_blank_or_end(3)
    }

    /// Passes one character that is no line break.
    pub(super) fn skip(&mut self) {
        self.at += self.width();
        self.step();
    }

    /// Passes a line break, where there is one.
    pub(super) fn skip_line(&mut self) {
        self.read_line(&mut Vec::new());
    }

    /// Copies one character that is no line break.
    pub(super) fn read(&mut self, into: &mut Vec<u8>) {
        let end = self.at + self.width();
        into.extend(self.bytes.get(self.at..end).unwrap_or_default());
        self.at = end;
        self.step();
    }

    /// Copies a line break, where there is one: LS and PS as they are, the others as LF.
    pub(super) fn read_line(&mut self, into: &mut Vec<u8>) {
        let width = match (self.peek(0), self.peek(1)) {
            (b'\r', b'\n') => {
                self.mark.index += 1;
                2
            }
            _ if self.is_break(0) => self.width(),
            _ => return,
        };
        match width {
            3 => into.extend(self.bytes.get(self.at..self.at + 3).unwrap_or_default()),
            _ => into.push(b'\n'),
        }
        self.at += width;
        self.mark.index += 1;
        self.mark.column = 0;
        self.mark.line += 1;
    }

    /// Passes blanks.
    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    /// Passes a comment up to the end of its line, where there is one.
    pub(super) fn skip_comment(&mut self) {
        if self.is(b'#') {
            while !self.is_break_or_end(0) {
                self.skip();
            }
        }
    }

    fn step(&mut self) {
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// The bytes of the character here.
    fn width(&self) -> usize {
        match self.peek(0) {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
        }
    }
}

/// The text of bytes that were copied from a text, character by character.
pub(super) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
