//! Reads the raw bytes of commits and trees, however odd they are: a strange date or name is no reason to stop.

use std::ops::Range;

use git2::Oid;

use super::error::clean;
use crate::model::{CommitId, CommitInfo};

/// Longest author name and address that are kept, in characters.
const LINE_LIMIT: usize = 256;
/// Longest subject that is kept, in characters: a whole paragraph can be one.
const SUBJECT_LIMIT: usize = 1024;
/// Longest name of an encoding.
const LABEL_LIMIT: usize = 64;
/// Longest message that is kept, in characters: trailers are looked for in it, novels are not.
const MESSAGE_LIMIT: usize = 64 << 10;
/// Mode bits that say what an entry is.
const KIND: u32 = 0o170_000;

/// What a tree's entry leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
    Submodule,
    Other,
}

/// One entry of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) id: Oid,
    name: Range<usize>,
}

/// A tree as it is stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    bytes: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
}

impl Tree {
    /// Takes a tree apart; what follows a malformed entry is dropped.
    pub(crate) fn parse(bytes: Vec<u8>) -> Self {
        let mut entries = Vec::new();
        let mut at = 0;
        while let Some((entry, next)) = parse_entry(&bytes, at) {
            entries.push(entry);
            at = next;
        }
        Self { bytes, entries }
    }

    /// An entry's name.
    pub(crate) fn name(&self, entry: &Entry) -> &[u8] {
        self.bytes.get(entry.name.clone()).unwrap_or_default()
    }

    /// The first entry of this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Entry> {
        self.entries.iter().find(|entry| self.name(entry) == name)
    }

    /// The memory it takes, in bytes, about.
    pub(crate) fn weight(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }
}

/// `mode SP name NUL id`.
fn parse_entry(bytes: &[u8], at: usize) -> Option<(Entry, usize)> {
    let rest = bytes.get(at..)?;
    let space = rest.iter().position(|byte| *byte == b' ')?;
    let end = space + 1 + rest.get(space + 1..)?.iter().position(|byte| *byte == 0)?;
    let id = Oid::from_bytes(rest.get(end + 1..end + 21)?).ok()?;
    let mode = std::str::from_utf8(rest.get(..space)?).ok().and_then(|mode| u32::from_str_radix(mode, 8).ok())?;
    let kind = match mode & KIND {
        0o100_000 => Kind::File,
        0o040_000 => Kind::Folder,
        0o120_000 => Kind::Symlink,
        0o160_000 => Kind::Submodule,
        _ => Kind::Other,
    };
    Some((Entry { kind, id, name: at + space + 1..at + end }, at + end + 21))
}

/// A commit as it is stored.
#[derive(Debug)]
pub(crate) struct Commit<'a> {
    pub(crate) tree: Oid,
    pub(crate) parents: Vec<Oid>,
    author: &'a [u8],
    encoding: &'a [u8],
    message: &'a [u8],
}

impl<'a> Commit<'a> {
    /// Takes a commit apart; `None` where it names no tree.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (mut tree, mut parents, mut author, mut encoding) = (None, Vec::new(), &b""[..], &b""[..]);
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.get(..end)?;
            rest = rest.get(end + 1..)?;
            if line.is_empty() {
                break;
            }
            if let Some(id) = line.strip_prefix(b"tree ") {
                tree = tree.or(parse_id(id));
            } else if let Some(id) = line.strip_prefix(b"parent ") {
                parents.extend(parse_id(id));
            } else if let Some(who) = line.strip_prefix(b"author ") {
                author = who;
            } else if let Some(name) = line.strip_prefix(b"encoding ") {
                encoding = name;
            }
        }
        Some(Self { tree: tree?, parents, author, encoding, message: rest })
    }

    /// The commit as people read it: without control characters, and with U+FFFD for what is no text.
    pub(crate) fn info(&self, id: Oid) -> CommitInfo {
        let (author, email, time, zone) = self.signature();
        let message = self.text(self.message.get(..MESSAGE_LIMIT * 4).unwrap_or(self.message));
        let subject = clean(&subject(&message), SUBJECT_LIMIT);
        let message: String = message
            .chars()
            .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
            .take(MESSAGE_LIMIT)
            .collect::<String>()
            .trim_end()
            .to_owned();
        CommitInfo { id: CommitId(id.to_string()), author, email, time, zone, subject, message }
    }

    /// `Name <address> seconds zone`; a time that is no number counts as 1970.
    fn signature(&self) -> (String, String, i64, i32) {
        let text = self.text(self.author.get(..4 << 10).unwrap_or(self.author));
        let (_, when) = text.rsplit_once('>').unwrap_or((&text, ""));
        let (name, behind) = text.split_once('<').unwrap_or((&text, ""));
        let (email, _) = behind.split_once('>').unwrap_or((behind, ""));
        let mut when = when.split_ascii_whitespace();
        let time = when.next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
        let zone = when.next().and_then(zone).unwrap_or(0);
        (clean(name.trim(), LINE_LIMIT), clean(email.trim(), LINE_LIMIT), time, zone)
    }

    /// The text of bytes in the encoding that the commit states, which is UTF-8 unless it says otherwise.
    fn text(&self, bytes: &[u8]) -> String {
        let label = self.encoding.get(..LABEL_LIMIT).unwrap_or(self.encoding);
        let encoding = encoding_rs::Encoding::for_label_no_replacement(label).unwrap_or(encoding_rs::UTF_8);
        encoding.decode_without_bom_handling(bytes).0.into_owned()
    }
}

/// `+0530` as minutes: hours and minutes are written as one decimal number.
fn zone(text: &str) -> Option<i32> {
    let number: i32 = text.parse().ok().filter(|number: &i32| number.unsigned_abs() < 10_000)?;
    Some(number / 100 * 60 + number % 100)
}

/// The first paragraph in one line, as Git makes a subject of it: leading blank lines go, lines are joined by a space.
fn subject(message: &str) -> String {
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    let lines = message.split('\n').map(|line| line.trim_end_matches(space));
    let paragraph: Vec<&str> = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    paragraph.join(" ")
}

fn parse_id(hex: &[u8]) -> Option<Oid> {
    std::str::from_utf8(hex).ok().filter(|hex| hex.len() == 40).and_then(|hex| Oid::from_str(hex).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";

    fn info(rest: &[u8]) -> CommitInfo {
        let bytes = [TREE.as_bytes(), rest].concat();
        Commit::parse(&bytes).unwrap().info(Oid::ZERO_SHA1)
    }

    #[test]
    fn odd_authors_and_dates_are_read() {
        let author = |line: &str| {
            let info = info(format!("author {line}\n\nx\n").as_bytes());
            (info.author, info.email, (info.time, info.zone))
        };
        let own = |name: &str, mail: &str, time| (name.to_owned(), mail.to_owned(), time);
        assert_eq!(author("A U Thor <a@b> 1700000000 +0100"), own("A U Thor", "a@b", (1_700_000_000, 60)));
        assert_eq!(author("A <a> 1 -0930"), own("A", "a", (1, -570)));
        assert_eq!(author("A <a> 1 +99999"), own("A", "a", (1, 0)));
        assert_eq!(author("A <a> -5 +0000"), own("A", "a", (-5, 0)));
        assert_eq!(author("A <a> 99999999999999999999 +0000"), own("A", "a", (0, 0)));
        assert_eq!(author("A <a>"), own("A", "a", (0, 0)));
        assert_eq!(author("nobody"), own("nobody", "", (0, 0)));
        assert_eq!(author("\u{1b}[31mred <x\u{7}@y> 1 +0000"), own(" [31mred", "x @y", (1, 0)));
        assert_eq!(author("a<b> <c> 7 +0000"), own("a", "b", (7, 0)));
    }

    #[test]
    fn messages_lose_control_characters_but_not_lines() {
        let info = info(b"\n\n  first \x1b[1mline\nbody\ttab\n\nTrailer: x\n\n");
        assert_eq!(info.subject, "  first  [1mline body tab");
        assert!(info.message.ends_with("body\ttab\n\nTrailer: x"));
    }

    #[test]
    fn other_encodings_are_read_where_the_commit_says_so() {
        assert_eq!(info(b"author J\xf6rg <j> 1 +0000\nencoding ISO-8859-1\n\n\xfcber\n").author, "Jörg");
        assert_eq!(info(b"author J\xf6rg <j> 1 +0000\n\nx\n").author, "J\u{fffd}rg");
        assert_eq!(
            info(b"author \xc0\xed\xed\xe0 <j> 1 +0000\nencoding CP1251\n\nx\n").author,
            "\u{410}\u{43d}\u{43d}\u{430}"
        );
        let long = [b"\n".as_slice(), &[0xff; 1 << 20]].concat();
        assert!(info(&long).message.chars().count() <= MESSAGE_LIMIT);
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        assert!(Commit::parse(b"").is_none());
        assert!(Commit::parse(b"tree zz\n\n").is_none());
        assert_eq!(Tree::parse(b"100644 a\0short".to_vec()).entries.len(), 0);
        assert_eq!(Tree::parse(b"nomode".to_vec()).entries.len(), 0);
        let mut bytes = b"100644 a\0".to_vec();
        bytes.extend([7; 20]);
        bytes.extend(b"99 b\0");
        bytes.extend([7; 20]);
        let tree = Tree::parse(bytes);
        assert_eq!((tree.entries.len(), tree.name(&tree.entries[0])), (1, &b"a"[..]));
    }
}
