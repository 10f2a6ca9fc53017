//! Takes a file apart into documents and reads each, as kubectl reads a stream.

use std::borrow::Cow;

use super::super::hint;
use super::super::split::{Piece, leading_lines, split};
use super::super::words::show;
use super::super::yaml::{Budget, Fault, Read, Reading, read, read_json};
use super::{MAX_DOCUMENTS, MAX_FILE_BYTES};

/// What one document's text is.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Read {
        /// The line of its first content, from 1.
        line: u32,
        /// The line its text begins at.
        text_line: u32,
        text: &'a str,
        read: Read,
    },
    Refused(Refusal<'a>),
}

/// Why a text cannot be read. Line and column from 1, 0 where they are not known.
#[derive(Debug)]
pub(super) struct Refusal<'a> {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
    pub(super) hint: &'static str,
    pub(super) text: &'a str,
}

/// The text of a file, as far as it is one.
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    /// Line and column of what is no UTF-8, once a line.
    broken: Vec<(u32, u32)>,
    /// Whether it is one document: in UTF-16 the plain reading sees no separators.
    whole: bool,
}

/// The way out of a file that holds too much.
pub(super) const SPLIT: &str = "split the file";

pub(super) fn too_many_documents() -> String {
    format!("more than {MAX_DOCUMENTS} documents and items of lists in one file")
}

const UTF8: &str = "save the file as UTF-8";

/// The text of a file: UTF-8, or UTF-16 with a byte order mark.
///
/// `kubectl apply` takes the mark off first; to the plain reading it is part of the text.
///
/// # Errors
///
/// The whole file cannot be read; then the text is what can be told of it.
pub(super) fn text(bytes: &[u8], reading: Reading) -> Result<Text<'_>, (Fault, Cow<'_, str>)> {
    let refuse = |message: String| Fault { line: 0, column: 0, message };
    if bytes.len() > MAX_FILE_BYTES {
        let start = String::from_utf8_lossy(bytes.get(..MAX_FILE_BYTES).unwrap_or_default());
        let message = format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", bytes.len());
        return Err((refuse(message), start));
    }
    let applied = reading == Reading::Applied;
    let wide = match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes, bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes, bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] if applied => return Ok(narrow(rest)),
        _ => return Ok(narrow(bytes)),
    };
    match wide {
        Some(text) if applied => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
            Ok(Text { text: Cow::Owned(text), broken: Vec::new(), whole: false })
        }
        Some(text) => Ok(Text { text: Cow::Owned(text), broken: Vec::new(), whole: true }),
        None => Err((refuse("the file is no valid UTF-16".into()), String::from_utf8_lossy(bytes))),
    }
}

fn wide(unit: fn([u8; 2]) -> u16, bytes: &[u8]) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()?;
    rest.is_empty().then_some(text)
}

fn narrow(bytes: &[u8]) -> Text<'_> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => return Text { text: Cow::Borrowed(text), broken: Vec::new(), whole: false },
        Err(_) => String::from_utf8_lossy(bytes),
    };
    let mut broken = Vec::new();
    for (line, row) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if let Err(error) = str::from_utf8(row) {
            let good = String::from_utf8_lossy(row.get(..error.valid_up_to()).unwrap_or_default());
            broken.push((line, u32::try_from(good.chars().count()).unwrap_or(u32::MAX).saturating_add(1)));
        }
    }
    Text { text, broken, whole: false }
}

/// Reads every document of a file. One that is broken hides no other.
pub(super) fn parts<'a>(file: &str, text: &'a Text<'_>, reading: Reading) -> Vec<Part<'a>> {
    let budget = Budget::new();
    let mut parts = Vec::new();
    let whole: &str = &text.text;
    let (mut from, mut line) = (0, 1);
    let mut fault = None;
    if text.broken.is_empty()
        && !text.whole
        && let Some(stream) = read_json(whole, reading, &budget)
    {
        for json in stream.values {
            parts.push(Part::Read { line: json.line, text_line: json.line, text: json.text, read: json.read });
        }
        let refusal = stream.fault.map(|fault| refusal(whole, 1, fault));
        match (refusal, stream.rest) {
            (None, _) => return parts,
            (Some(refusal), None) => {
                parts.push(Part::Refused(refusal));
                return parts;
            }
            // As kubectl: what begins like JSON and is none may still be YAML in flow style.
            (Some(refusal), Some(rest)) => ((from, line), fault) = (rest, Some(refusal)),
        }
    }
    let mut broken = text.broken.iter().peekable();
    let rest = whole.get(from..).unwrap_or_default();
    let pieces = match text.whole {
        true => vec![Piece { line: 1, text: rest, garbage: None }],
        false => split(rest, reading == Reading::Plain),
    };
    for (count, piece) in pieces.into_iter().enumerate() {
        if count > MAX_DOCUMENTS {
            let (line, message) = (piece.line.saturating_add(line - 1), too_many_documents());
            parts.push(Part::Refused(Refusal { line, column: 0, message, hint: SPLIT, text: piece.text }));
            break;
        }
        let first = piece.line.saturating_add(line - 1);
        let end = first.saturating_add(u32::try_from(piece.text.matches('\n').count()).unwrap_or(u32::MAX));
        let mut bad = None;
        while let Some(place) = broken.next_if(|(line, _)| *line <= end) {
            bad = bad.or(Some(*place));
        }
        parts.extend(part(&piece, first, bad, reading, &budget));
    }
    // What a file is named tells which of the two readings was meant.
    if file.ends_with(".json")
        && let Some(fault) = fault
        && parts.iter().any(|part| matches!(part, Part::Refused(_)))
    {
        parts.retain(|part| matches!(part, Part::Read { .. }));
        parts.push(Part::Refused(fault));
    }
    parts
}

fn part<'a>(
    piece: &Piece<'a>,
    line: u32,
    broken: Option<(u32, u32)>,
    reading: Reading,
    budget: &Budget,
) -> Option<Part<'a>> {
    let text = piece.text;
    if let Some((separator, garbage)) = piece.garbage {
        return Some(Part::Refused(Refusal {
            line: line.saturating_add(separator).saturating_sub(piece.line),
            column: 4,
            message: format!("{} stands behind the separator `---`: nothing was expected there", show(garbage)),
            hint: "begin the document on the next line, as kubectl wants it",
            text,
        }));
    }
    if text.is_empty() {
        return None;
    }
    if let Some((line, column)) = broken {
        let message = "the file is no valid UTF-8".into();
        return Some(Part::Refused(Refusal { line, column, message, hint: UTF8, text }));
    }
    Some(match read(text, reading, budget) {
        Ok(read) => Part::Read { line: line.saturating_add(leading_lines(text)), text_line: line, text, read },
        Err(fault) => Part::Refused(refusal(text, line, fault)),
    })
}

fn refusal(text: &str, first: u32, fault: Fault) -> Refusal<'_> {
    let hint = match hint::for_syntax(text, fault.line, &fault.message) {
        "" => way_out(&fault.message),
        hint => hint,
    };
    let line = first.saturating_add(fault.line.max(1)).saturating_sub(1);
    Refusal { line, column: fault.column, message: fault.message, hint, text }
}

/// The way out of what a text is refused for, by the words that say so.
fn way_out(message: &str) -> &'static str {
    const WAYS: &[(&str, &str)] = &[
        ("as a key", "quote the key"),
        ("once they are text", "remove one of them"),
        (
            "unknown anchor",
            "put the anchor `&` before its alias `*`, in the same document; quote a text that begins with `*`",
        ),
        ("contains itself", "write the value out, without the alias"),
        ("too many aliases", "write the values out, or keep generated files out of the path"),
        ("levels deep", "no object of Kubernetes is that deep: look for a bracket that is not closed"),
        ("values in one file", "split it, or keep data out of it"),
        ("merges mappings", "put an alias of a mapping, a mapping, or a list of these behind `<<`"),
        ("stands before", "remove the tag, or write a value of its type"),
        ("is no base64", "write base64 with its padding `=`, or remove the tag"),
        ("`!!timestamp`", "remove the tag: a timestamp is text all the same"),
        ("incompatible YAML", "remove the line `%YAML`"),
        ("<document start>", "remove the lines that begin with `%`: kubectl reads no directives"),
        ("directive", "remove the lines that begin with `%`: kubectl reads no directives"),
        ("tag handle", "remove the tag"),
        ("',' or", "close the bracket, or put a comma between the entries"),
        ("mapping values are not allowed", "quote a text that has `: ` in it; indent keys of one mapping alike"),
        ("expected key", "indent the keys of one mapping alike"),
        ("could not find expected ':'", "put `: ` behind the key; indent the lines of a text more than its key"),
        ("end of stream", "close the quotes"),
        ("document indicator", "close the quotes before the line `---`"),
        ("unknown escape", "write `\\\\` for a backslash, or use single quotes"),
        ("escape", "write the character itself"),
        ("hexdecimal", "write the character itself"),
        ("cannot start any token", "quote a text that begins with `@`, a backtick or `%`"),
        ("a tab character", "YAML is indented with spaces, never with tabs"),
        ("node content", "write a value there, or close the bracket"),
        ("'-' indicator", "indent the items of one list alike"),
        ("not allowed in this context", "begin it on a line of its own, indented"),
        ("alphabetic or numeric", "quote a text that begins with `*` or `&`"),
        ("comment or line break", "begin the text on the line below `|` or `>`"),
        ("this number", "write a smaller number, or quote it"),
        ("found", "correct the JSON, or write it as YAML"),
    ];
    WAYS.iter()
        .find(|(words, _)| message.contains(words))
        .map_or("look at the line and the one above it", |(_, way)| way)
}
