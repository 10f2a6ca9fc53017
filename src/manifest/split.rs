//! Splits a stream into documents as kubectl does: at lines that begin with `---`.
//!
//! Mirrors `YAMLReader` of k8s.io/apimachinery/pkg/util/yaml: only blanks or a comment may follow the dashes. A
//! separator that ends no document, such as one on the first line, is part of the document that it begins.

/// One document's text and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The line its text begins at, from 1.
    pub(super) line: u32,
    /// Its text.
    pub(super) text: &'a str,
    /// What stands behind the dashes that opened it, where something does that may not.
    pub(super) garbage: Option<(u32, &'a str)>,
}

/// The documents of a stream, in order; also empty ones.
///
/// `kubectl apply` cuts directives (`%YAML 1.1`) off the document they are for, and then cannot read them. With
/// `directives` they are left where they are.
pub(super) fn split(stream: &str, directives: bool) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut line, mut garbage) = (0, 1, None);
    let mut offset = 0;
    for (index, row) in stream.split_inclusive('\n').enumerate() {
        let end = offset + row.len();
        let before = stream.get(start..offset).unwrap_or_default();
        if let Some(behind) = row.strip_prefix("---")
            && !(directives && is_directives(before))
        {
            let here = number(index).saturating_add(1);
            if !before.is_empty() {
                pieces.push(Piece { line, text: before, garbage });
                (start, line, garbage) = (end, here.saturating_add(1), None);
            }
            let behind = behind.trim();
            if !behind.is_empty() && !behind.starts_with('#') {
                garbage = Some((here, behind));
            }
        }
        offset = end;
    }
    pieces.push(Piece { line, text: stream.get(start..).unwrap_or_default(), garbage });
    pieces
}

/// The lines of a piece before its first content: blanks and comments, a separator, and the `%` lines of directives.
pub(super) fn leading_lines(text: &str) -> u32 {
    let bare = |line: &&str| {
        let line = line.trim();
        let behind = line.strip_prefix("---").unwrap_or(line).trim_start();
        behind.is_empty() || behind.starts_with('#') || line.starts_with('%')
    };
    number(text.lines().take_while(bare).count())
}

/// Whether a text is nothing but directives, and has one.
fn is_directives(text: &str) -> bool {
    text.lines().any(|line| line.starts_with('%'))
        && text.lines().all(|line| line.trim().is_empty() || line.starts_with('%') || line.trim().starts_with('#'))
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split_at_dashes() {
        let pieces = split("a: 1\n--- # second\n# why\nb: |\n  ---\n---\r\n--- c\n--- \nd", false);
        let seen: Vec<_> = pieces.iter().map(|piece| (piece.line, piece.text, piece.garbage)).collect();
        assert_eq!(
            seen,
            [(1, "a: 1\n", None), (3, "# why\nb: |\n  ---\n", None), (7, "--- c\n", Some((7, "c"))), (9, "d", None)]
        );
        assert_eq!(leading_lines("\n# x\n\nb: 1\n"), 3);
        let stream = "%YAML 1.1\n---\na: 1\n";
        assert_eq!((split(stream, false).len(), split(stream, true).len()), (2, 1));
    }
}
