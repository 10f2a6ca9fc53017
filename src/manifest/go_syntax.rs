//! What Go's `encoding/json` says of a text that is no JSON.
//!
//! Mirrors its scanner (`scanner.go`), which names the first byte that cannot stand where it does.

/// The deepest nesting that is read.
const MOST_DEPTH: usize = 10_000;

/// What is wrong with a text, in Go's words; none where it is JSON.
pub(crate) fn fault(text: &[u8]) -> Option<String> {
    Scanner { text, at: 0 }.document().err()
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    /// Refuses the byte here; at the end that is a blank, which Go tries there, or the end itself where one may stand.
    fn wrong(&self, context: &str) -> Result<(), String> {
        let within = ["in literal", "in numeric", "in exponent", "in string escape", "in \\u", "after decimal"];
        let byte = match self.text.get(self.at) {
            Some(byte) => byte,
            None if within.iter().any(|it| context.starts_with(it)) => &b' ',
            None => return Err("unexpected end of JSON input".to_owned()),
        };
        let shown = match byte {
            b'\'' => "'\\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            b'\\' => "'\\\\'".to_owned(),
            0x07 => "'\\a'".to_owned(),
            0x08 => "'\\b'".to_owned(),
            0x0c => "'\\f'".to_owned(),
            b'\n' => "'\\n'".to_owned(),
            b'\r' => "'\\r'".to_owned(),
            b'\t' => "'\\t'".to_owned(),
            0x0b => "'\\v'".to_owned(),
            0x00..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
            // A byte counts as the character of its number.
            0x80..=0xa0 | 0xad => format!("'\\u00{byte:02x}'"),
            other => format!("'{}'", char::from(*other)),
        };
        Err(format!("invalid character {shown} {context}"))
    }

    fn blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn here(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn document(&mut self) -> Result<(), String> {
        // The objects and lists that are open, by the byte that opened them.
        let mut open = Vec::new();
        loop {
            self.blanks();
            match self.here() {
                Some(byte @ (b'{' | b'[')) => {
                    if open.len() == MOST_DEPTH {
                        return Err("exceeded max depth".to_owned());
                    }
                    self.at += 1;
                    self.blanks();
                    match (byte, self.here()) {
                        (b'{', Some(b'}')) | (b'[', Some(b']')) => self.at += 1,
                        _ => {
                            open.push(byte);
                            if byte == b'{' {
                                self.key()?;
                            }
                            continue;
                        }
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                _ => return self.wrong("looking for beginning of value"),
            }
            // What stands behind a value, up to where the next one has to.
            loop {
                self.blanks();
                match (open.last(), self.here()) {
                    (None, None) => return Ok(()),
                    (None, Some(_)) => return self.wrong("after top-level value"),
                    (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => {
                        self.at += 1;
                        open.pop();
                    }
                    (Some(b'{'), Some(b',')) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (Some(_), Some(b',')) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'{'), _) => return self.wrong("after object key:value pair"),
                    (Some(_), _) => return self.wrong("after array element"),
                }
            }
        }
    }

    /// The key of a field and the colon behind it.
    fn key(&mut self) -> Result<(), String> {
        self.blanks();
        if self.here() != Some(b'"') {
            return self.wrong("looking for beginning of object key string");
        }
        self.string()?;
        self.blanks();
        if self.here() != Some(b':') {
            return self.wrong("after object key");
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.here() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    match self.here() {
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.here().is_some_and(|it| it.is_ascii_hexdigit()) {
                                    return self.wrong("in \\u hexadecimal character escape");
                                }
                                self.at += 1;
                            }
                        }
                        _ => return self.wrong("in string escape code"),
                    }
                }
                Some(0x20..) => self.at += 1,
                _ => return self.wrong("in string literal"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        if self.here() == Some(b'-') {
            self.at += 1;
        }
        match self.here() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.wrong("in numeric literal"),
        }
        if self.here() == Some(b'.') {
            self.at += 1;
            if !self.here().is_some_and(|it| it.is_ascii_digit()) {
                return self.wrong("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.here(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.here(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.here().is_some_and(|it| it.is_ascii_digit()) {
                return self.wrong("in exponent of numeric literal");
            }
            self.digits();
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.here().is_some_and(|it| it.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for letter in word.bytes() {
            if self.here() != Some(letter) {
                return self.wrong(&format!("in literal {word} (expecting '{}')", char::from(letter)));
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::fault;

    /// The words are those of Go 1.26.
    #[test]
    fn what_is_no_json_is_told_in_the_words_of_go() {
        const END: &str = "unexpected end of JSON input";
        for (text, words) in [
            ("", END),
            ("  ", END),
            ("{\"a\":", END),
            ("\"a", END),
            ("-", "invalid character ' ' in numeric literal"),
            ("1.", "invalid character ' ' after decimal point in numeric literal"),
            ("nu", "invalid character ' ' in literal null (expecting 'l')"),
            ("\"\\", "invalid character ' ' in string escape code"),
            ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("é", "invalid character 'Ã' looking for beginning of value"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\" 1", "invalid character '1' after object key"),
            ("{\"a\":1 2", "invalid character '2' after object key:value pair"),
            ("[1 2", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("-a", "invalid character 'a' in numeric literal"),
            ("1.a", "invalid character 'a' after decimal point in numeric literal"),
            ("1e'", "invalid character '\\'' in exponent of numeric literal"),
        ] {
            assert_eq!(fault(text.as_bytes()).as_deref(), Some(words), "{text}");
        }
        for text in ["null", " {\"a\": [1.5e-3, \"\\u00e9\", {}, [], true]} \n", "-0"] {
            assert_eq!(fault(text.as_bytes()), None, "{text}");
        }
        let deep = |depth: usize| fault("[".repeat(depth).as_bytes());
        assert_eq!(deep(10_000).as_deref(), Some(END));
        assert_eq!(deep(10_001).as_deref(), Some("exceeded max depth"));
    }
}
