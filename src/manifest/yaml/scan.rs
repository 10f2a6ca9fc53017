//! Splits a YAML text into tokens exactly as kubectl's YAML library does.
//!
//! A port of `scannerc.go` of go.yaml.in/yaml/v2, itself a port of libyaml (MIT; Kirill Simonov), with what it does at
//! the edges: which key may go without `?`, when tabs are white space, what a wrong token is called.

use std::collections::{BTreeMap, VecDeque};

use super::MAX_DEPTH;
use super::cursor::{Cursor, Mark, Problem};
use super::token::{Kind, Token};

/// Characters that a key without `?` may have.
const MAX_KEY: u32 = 1024;

pub(super) struct Scanner<'a> {
    pub(super) cursor: Cursor<'a>,
    tokens: VecDeque<Token>,
    /// Tokens that were taken from the queue.
    taken: usize,
    /// Whether the front of the queue is known to be the next token.
    available: bool,
    started: bool,
    pub(super) flow_level: usize,
    /// The column of the innermost block collection, -1 outside.
    pub(super) indent: i64,
    indents: Vec<i64>,
    pub(super) key_allowed: bool,
    /// For each flow level, where a key without `?` may have begun.
    keys: Vec<SimpleKey>,
    /// The level by the number of the token that such a key begins with.
    keys_by_token: BTreeMap<usize, usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// Whether it must be a key, since it stands where one is needed.
    required: bool,
    token: usize,
    mark: Mark,
}

type Done = Result<(), Problem>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            tokens: VecDeque::new(),
            taken: 0,
            available: false,
            started: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: vec![SimpleKey::default()],
            keys_by_token: BTreeMap::new(),
        }
    }

    /// The next token. Behind the last, which is [`Kind::StreamEnd`], there is none to be asked for.
    pub(super) fn peek(&mut self) -> Result<&mut Token, Problem> {
        if !self.available {
            self.fetch_more()?;
            self.available = true;
        }
        let at = self.cursor.mark;
        self.tokens.front_mut().ok_or_else(|| lost(at))
    }

    /// Takes the token that was looked at.
    pub(super) fn skip(&mut self) {
        self.available = false;
        self.taken += 1;
        self.tokens.pop_front();
    }

    /// A problem at the place that is read.
    pub(super) fn problem(&self, context: &'static str, problem: &str) -> Problem {
        Problem { at: self.cursor.mark, context, problem: problem.to_owned() }
    }

    /// Reads on until it is known whether the front of the queue begins a key.
    fn fetch_more(&mut self) -> Done {
        loop {
            if !self.tokens.is_empty() {
                let Some(level) = self.keys_by_token.get(&self.taken).copied() else { return Ok(()) };
                if !self.key_is_valid(level)? {
                    return Ok(());
                }
            }
            self.fetch()?;
        }
    }

    fn fetch(&mut self) -> Done {
        if !self.started {
            self.started = true;
            self.push_here(Kind::StreamStart);
            return Ok(());
        }
        self.scan_to_next_token();
        self.unroll_indent(i64::from(self.cursor.mark.column));
        let (cursor, flow) = (&self.cursor, self.flow_level > 0);
        match cursor.peek(0) {
            0 => self.fetch_stream_end(),
            b'%' if cursor.mark.column == 0 => self.fetch_directive(),
            b'-' if cursor.is_document_indicator(b'-') => self.fetch_document_indicator(Kind::DocumentStart),
            b'.' if cursor.is_document_indicator(b'.') => self.fetch_document_indicator(Kind::DocumentEnd),
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if cursor.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if flow || cursor.is_blank_or_end(1) => self.fetch_key(),
            b':' if flow || cursor.is_blank_or_end(1) => self.fetch_value(),
            b'*' => self.fetch_anchor(Kind::Alias),
            b'&' => self.fetch_anchor(Kind::Anchor),
            b'!' => self.fetch_scalar_like(Self::scan_tag),
            b'|' if !flow => self.fetch_block_scalar(true),
            b'>' if !flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_scalar_like(|scanner| scanner.scan_quoted(true)),
            b'"' => self.fetch_scalar_like(|scanner| scanner.scan_quoted(false)),
            _ if self.begins_plain() => self.fetch_scalar_like(Self::scan_plain),
            _ => Err(self.problem("while scanning for the next token", "found character that cannot start any token")),
        }
    }

    fn begins_plain(&self) -> bool {
        let cursor = &self.cursor;
        match cursor.peek(0) {
            b'-' => !cursor.is_blank(1),
            b'?' | b':' => self.flow_level == 0 && !cursor.is_blank_or_end(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`' => false,
            _ => !cursor.is_blank_or_end(0),
        }
    }

    fn scan_to_next_token(&mut self) {
        loop {
            while self.cursor.is(b' ') || (self.flow_level > 0 || !self.key_allowed) && self.cursor.is(b'\t') {
                self.cursor.skip();
            }
            self.cursor.skip_comment();
            if !self.cursor.is_break(0) {
                return;
            }
            self.cursor.skip_line();
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    /// Whether the key that may have begun at a level may still be one.
    fn key_is_valid(&mut self, level: usize) -> Result<bool, Problem> {
        let now = self.cursor.mark;
        let Some(key) = self.keys.get_mut(level) else { return Err(lost(now)) };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < now.line || key.mark.index + MAX_KEY < now.index {
            if key.required {
                return Err(no_colon(now));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn save_key(&mut self) -> Done {
        if !self.key_allowed {
            return Ok(());
        }
        let mark = self.cursor.mark;
        let required = self.flow_level == 0 && self.indent == i64::from(mark.column);
        let token = self.taken + self.tokens.len();
        self.remove_key()?;
        let level = self.keys.len().saturating_sub(1);
        if let Some(key) = self.keys.last_mut() {
            *key = SimpleKey { possible: true, required, token, mark };
            self.keys_by_token.insert(token, level);
        }
        Ok(())
    }

    fn remove_key(&mut self) -> Done {
        let now = self.cursor.mark;
        if let Some(key) = self.keys.last_mut()
            && key.possible
        {
            if key.required {
                return Err(no_colon(now));
            }
            key.possible = false;
            self.keys_by_token.remove(&key.token);
        }
        Ok(())
    }

    fn increase_flow_level(&mut self) -> Done {
        let token = self.taken + self.tokens.len();
        self.keys.push(SimpleKey { token, mark: self.cursor.mark, ..SimpleKey::default() });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return Err(self.problem("", &super::too_deep()));
        }
        Ok(())
    }

    fn decrease_flow_level(&mut self) {
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.keys.pop() {
                self.keys_by_token.remove(&key.token);
            }
        }
    }

    /// Opens a block collection at a column right of the current one; `number` is that of the token it begins before.
    fn roll_indent(&mut self, column: u32, number: Option<usize>, kind: Kind, mark: Mark) -> Done {
        let column = i64::from(column);
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return Err(self.problem("", &super::too_deep()));
        }
        self.insert(number, Token { kind, start: mark, end: mark })
    }

    /// Closes the block collections right of a column.
    fn unroll_indent(&mut self, column: i64) {
        while self.flow_level == 0 && self.indent > column {
            self.push_here(Kind::BlockEnd);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn push_here(&mut self, kind: Kind) {
        let mark = self.cursor.mark;
        self.tokens.push_back(Token { kind, start: mark, end: mark });
    }

    /// Puts a token before the one of that number; at the end, where that one was taken already.
    fn insert(&mut self, number: Option<usize>, token: Token) -> Done {
        match number.and_then(|number| number.checked_sub(self.taken)) {
            None => self.tokens.push_back(token),
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            Some(_) => return Err(lost(self.cursor.mark)),
        }
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Done {
        if self.cursor.mark.column != 0 {
            self.cursor.mark.column = 0;
            self.cursor.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.push_here(Kind::StreamEnd);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Done {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: Kind) -> Done {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.take(kind, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Done {
        self.save_key()?;
        self.increase_flow_level()?;
        self.key_allowed = true;
        self.take(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Done {
        self.remove_key()?;
        self.decrease_flow_level();
        self.key_allowed = false;
        self.take(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Done {
        self.remove_key()?;
        self.key_allowed = true;
        self.take(Kind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Done {
        if self.flow_level == 0 {
            self.open_block("block sequence entries are not allowed in this context", Kind::BlockSequenceStart)?;
        }
        self.remove_key()?;
        self.key_allowed = true;
        self.take(Kind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Done {
        if self.flow_level == 0 {
            self.open_block("mapping keys are not allowed in this context", Kind::BlockMappingStart)?;
        }
        self.remove_key()?;
        self.key_allowed = self.flow_level == 0;
        self.take(Kind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Done {
        let level = self.keys.len().saturating_sub(1);
        if self.key_is_valid(level)? {
            let Some(key) = self.keys.last_mut() else { return Err(lost(self.cursor.mark)) };
            key.possible = false;
            let SimpleKey { token, mark, .. } = *key;
            self.insert(Some(token), Token { kind: Kind::Key, start: mark, end: mark })?;
            self.roll_indent(mark.column, Some(token), Kind::BlockMappingStart, mark)?;
            self.keys_by_token.remove(&token);
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                self.open_block("mapping values are not allowed in this context", Kind::BlockMappingStart)?;
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.take(Kind::Value, 1);
        Ok(())
    }

    /// Opens a block collection here, where one may begin.
    fn open_block(&mut self, problem: &str, kind: Kind) -> Done {
        if !self.key_allowed {
            return Err(self.problem("", problem));
        }
        let mark = self.cursor.mark;
        self.roll_indent(mark.column, None, kind, mark)
    }

    fn fetch_anchor(&mut self, kind: fn(String) -> Kind) -> Done {
        self.fetch_scalar_like(|scanner| scanner.scan_anchor(kind))
    }

    /// A token that may be, or begin, a key, and behind which no key may begin.
    fn fetch_scalar_like(&mut self, scan: impl FnOnce(&mut Self) -> Result<Token, Problem>) -> Done {
        self.save_key()?;
        self.key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Done {
        self.remove_key()?;
        self.key_allowed = true;
        let token = self.scan_block_scalar(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    /// Makes a token of the next characters.
    fn take(&mut self, kind: Kind, characters: usize) {
        let start = self.cursor.mark;
        for _ in 0..characters {
            self.cursor.skip();
        }
        self.tokens.push_back(Token { kind, start, end: self.cursor.mark });
    }
}

fn no_colon(at: Mark) -> Problem {
    Problem { at, context: "while scanning a simple key", problem: "could not find expected ':'".into() }
}

/// Where kubectl itself falls over.
fn lost(at: Mark) -> Problem {
    Problem { at, context: "", problem: "kubectl cannot make sense of this".into() }
}
