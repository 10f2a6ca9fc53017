//! Makes files that a reader of YAML may stumble over.

use fastrand::Rng;

use super::pieces::{NAMES, SCALARS, SOUP};

/// Real manifests, to be damaged.
pub(super) struct Generator {
    rng: Rng,
    manifests: Vec<String>,
}

impl Generator {
    pub(super) fn new(seed: u64, manifests: Vec<String>) -> Self {
        Self { rng: Rng::with_seed(seed), manifests }
    }

    /// One file.
    pub(super) fn file(&mut self) -> Vec<u8> {
        let mut text = match self.rng.u8(..100) {
            0..20 => self.scalar_in_place(),
            20..40 => self.soup(),
            40..65 => {
                let mut text = String::new();
                self.block(&mut text, 0, 3);
                text
            }
            65..80 => self.manifest(),
            80..88 => self.json(0),
            _ => self.stream(),
        };
        for _ in 0..self.rng.u8(..4).saturating_sub(1) {
            text = self.damage(&text);
        }
        match self.rng.u8(..100) {
            0 => text.insert(0, '\u{feff}'),
            1 => text = text.replace('\n', "\r\n"),
            2 => text = text.replace('\n', "\r"),
            3 => text.truncate(text.trim_end().len()),
            4 => return self.wide(&text),
            5 => return self.bytes(text.into_bytes()),
            _ => {}
        }
        text.into_bytes()
    }

    fn wide(&mut self, text: &str) -> Vec<u8> {
        let bom = std::iter::once(0xfeff).chain(text.encode_utf16());
        if self.rng.bool() {
            bom.flat_map(u16::to_le_bytes).collect()
        } else {
            bom.flat_map(u16::to_be_bytes).collect()
        }
    }

    fn bytes(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let at = self.rng.usize(..=bytes.len());
        bytes.insert(at, self.rng.u8(..));
        bytes
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.usize(..from.len())]
    }

    fn scalar(&mut self) -> String {
        if self.rng.u8(..4) > 0 {
            return self.pick(SCALARS).to_owned();
        }
        const SIGNS: &[&str] = &[
            "0", "1", "2", "7", "8", "9", "_", "+", "-", ".", "e", "E", "x", "b", "o", "f", ":", "0x", "0b", "0o",
            "00", "12",
        ];
        (0..self.rng.usize(1..9)).map(|_| self.pick(SIGNS)).collect()
    }

    fn scalar_in_place(&mut self) -> String {
        let (one, two) = (self.scalar(), self.scalar());
        match self.rng.u8(..12) {
            0..3 => format!("a: {one}\n"),
            3 => format!("{one}: a\n"),
            4 => format!("- {one}\n- {two}\n"),
            5 => format!("a: [{one}, {two}]\n"),
            6 => format!("a: {{{one}: {two}}}\n"),
            7 => format!("{one}: {two}\n{two}: {one}\n"),
            8 => format!("{one}\n"),
            9 => format!("a: &x {one}\nb: *x\n*x : {two}\n"),
            10 => format!("? {one}\n: {two}\n"),
            _ => format!("a: {one}\n  {two}\nb: {two}"),
        }
    }

    fn soup(&mut self) -> String {
        (0..self.rng.usize(1..25)).map(|_| self.pick(SOUP)).collect()
    }

    fn name(&mut self) -> String {
        if self.rng.u8(..3) == 0 { self.scalar() } else { self.pick(NAMES).to_owned() }
    }

    /// A block collection, or a scalar where there is no depth left.
    fn block(&mut self, text: &mut String, indent: usize, depth: usize) {
        let pad = " ".repeat(indent);
        if depth == 0 {
            text.push_str(&self.scalar());
            text.push('\n');
            return;
        }
        let list = self.rng.u8(..3) == 0;
        for index in 0..self.rng.usize(1..5) {
            if index > 0 || indent == 0 {
                text.push_str(&pad);
            }
            if list {
                text.push_str("- ");
                self.child(text, indent + 2, depth);
            } else {
                let name = self.name();
                text.push_str(&name);
                text.push_str(": ");
                if self.rng.u8(..5) == 0 {
                    text.push_str(["&a ", "&b ", "!t ", "!!map ", "# c"][self.rng.usize(..5)]);
                }
                match self.rng.u8(..8) {
                    0 => text.push_str("*a\n"),
                    1 => text.push_str(
                        ["{<<: *a, x: 1}\n", "[*a, *b]\n", "{x: 1, <<: [*a, *b]}\n", "{<<: {x: 2}}\n"]
                            [self.rng.usize(..4)],
                    ),
                    2..5 => {
                        text.push('\n');
                        text.push_str(&" ".repeat(indent + 2));
                        self.child(text, indent + 2, depth);
                    }
                    _ => {
                        let scalar = self.scalar();
                        text.push_str(&scalar.replace('\n', &format!("\n{pad}")));
                        text.push('\n');
                    }
                }
            }
            if self.rng.u8(..20) == 0 {
                text.push_str(["# c\n", "\n", "  \n", "\t\n", "  # c\n"][self.rng.usize(..5)]);
            }
        }
    }

    fn child(&mut self, text: &mut String, indent: usize, depth: usize) {
        match self.rng.u8(..4) {
            0 => {
                self.flow(text, depth.min(2));
                text.push('\n');
            }
            1 | 2 => self.block(text, indent, depth - 1),
            _ => {
                let scalar = self.scalar();
                text.push_str(&scalar);
                text.push('\n');
            }
        }
    }

    fn flow(&mut self, text: &mut String, depth: usize) {
        let list = self.rng.bool();
        text.push(if list { '[' } else { '{' });
        for index in 0..self.rng.usize(..4) {
            if index > 0 {
                text.push_str([", ", ",", ",\n  ", " , ", ",\t", ", # c\n "][self.rng.usize(..6)]);
            }
            let scalar = self.scalar();
            text.push_str(&scalar);
            if !list || self.rng.u8(..6) == 0 {
                text.push_str([": ", ":", " : ", ":  ", ": "][self.rng.usize(..5)]);
                if depth > 0 && self.rng.bool() {
                    self.flow(text, depth - 1);
                } else {
                    let scalar = self.scalar();
                    text.push_str(&scalar);
                }
            }
        }
        if self.rng.u8(..8) == 0 {
            text.push(',');
        }
        text.push(if list { ']' } else { '}' });
    }

    fn manifest(&mut self) -> String {
        let text = self.manifests[self.rng.usize(..self.manifests.len())].clone();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..self.rng.usize(..4) {
            if lines.is_empty() {
                break;
            }
            let at = self.rng.usize(..lines.len());
            match self.rng.u8(..7) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                2 => lines[at].insert(0, ' '),
                3 => drop(lines[at].pop()),
                4 => lines[at].push_str(self.pick(SOUP)),
                5 => {
                    if let Some((key, _)) = lines[at].split_once(": ") {
                        lines[at] = format!("{key}: {}", self.scalar());
                    }
                }
                _ => {
                    let other = self.rng.usize(..lines.len());
                    lines.swap(at, other);
                }
            }
        }
        lines.join("\n") + "\n"
    }

    fn json(&mut self, depth: usize) -> String {
        const VALUES: &[&str] = &[
            "1",
            "1.0",
            "-0",
            "-0.0",
            "1e2",
            "1E+2",
            "0.1",
            "18446744073709551616",
            "9223372036854775808",
            "9007199254740993",
            "1e400",
            "01",
            "+1",
            ".5",
            "1.",
            "true",
            "false",
            "null",
            "yes",
            "\"x\"",
            "\"\"",
            "\"\\u00e9\\/\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\\u0041\"",
            "\"a\tb\"",
            "\"\\x41\"",
            "\"<>&\u{2028}\u{7f}\"",
            "'x'",
            "{}",
            "[]",
            "x",
            "",
        ];
        let entry = |generator: &mut Self| match generator.rng.u8(..4) {
            0 if depth < 3 => generator.json(depth + 1),
            1 if depth < 3 => format!("[{},{}]", generator.json(depth + 1), generator.pick(VALUES)),
            _ => generator.pick(VALUES).to_owned(),
        };
        let entries: Vec<String> = (0..self.rng.usize(..4))
            .map(|_| {
                let key = ["\"a\"", "\"b\"", "\"a\"", "\"<<\"", "\"1\"", "\"\\u0061\"", "a"][self.rng.usize(..7)];
                format!("{key}:{}{}", ["", " ", "\n\t"][self.rng.usize(..3)], entry(self))
            })
            .collect();
        let object = format!("{{{}}}", entries.join([",", ", ", ",\n"][self.rng.usize(..3)]));
        if depth > 0 {
            return object;
        }
        match self.rng.u8(..8) {
            0 => format!("{object}\n{{\"b\": 2}}\n"),
            1 => format!("{object}\n---\nb: 2\n"),
            2 => format!("{object} x\n"),
            3 => format!(" \n {object}{{}}{{}}x"),
            4 => format!("{object}\n{{\"b\": 2}}\n---\nc: 1"),
            _ => object,
        }
    }

    fn stream(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.rng.usize(1..5) {
            text.push_str(
                [
                    "---\n",
                    "--- # c\n",
                    "",
                    "---\n---\n",
                    "...\n",
                    "# c\n",
                    "%YAML 1.1\n---\n",
                    "--- \t\n",
                    "---x\n",
                    "--- x\n",
                    "\n",
                    "---\r\n",
                ][self.rng.usize(..12)],
            );
            match self.rng.u8(..4) {
                0 => text.push_str(&self.scalar_in_place()),
                1 => self.block(&mut text, 0, 2),
                2 => text.push_str(&self.json(0)),
                _ => text.push_str("a: 1\n"),
            }
        }
        text
    }

    /// Changes one thing.
    fn damage(&mut self, text: &str) -> String {
        let letters: Vec<char> = text.chars().collect();
        let at = self.rng.usize(..=letters.len());
        let end = (at + self.rng.usize(..4)).min(letters.len());
        let (before, behind): (String, String) = (letters[..at].iter().collect(), letters[end..].iter().collect());
        match self.rng.u8(..3) {
            0 => before + &behind,
            1 => {
                let again: String = letters[at..end].iter().collect();
                format!("{before}{again}{again}{behind}")
            }
            _ => format!("{before}{}{behind}", self.pick(SOUP)),
        }
    }
}
