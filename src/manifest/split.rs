//! Splits a stream into documents as kubectl does: at lines that begin with `---`.
//!
//! Mirrors `YAMLReader` of k8s.io/apimachinery/pkg/util/yaml: only blanks or a comment may follow the dashes.

/// One document's text and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The line its text begins at, from 1.
    pub(super) line: u32,
    /// Its text, without separators.
    pub(super) text: &'a str,
    /// What stands behind the dashes that opened it, where something does that may not.
    pub(super) garbage: Option<(u32, &'a str)>,
}

/// The documents of a stream, in order; also empty ones.
pub(super) fn split(stream: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut line, mut garbage) = (0, 1, None);
    let mut offset = 0;
    for (index, row) in stream.split_inclusive('\n').enumerate() {
        let end = offset + row.len();
        if let Some(behind) = row.strip_prefix("---") {
            pieces.push(Piece { line, text: stream.get(start..offset).unwrap_or_default(), garbage });
            let here = number(index).saturating_add(1);
            let behind = behind.trim();
            garbage = (!behind.is_empty() && !behind.starts_with('#')).then_some((here, behind));
            (start, line) = (end, here.saturating_add(1));
        }
        offset = end;
    }
    pieces.push(Piece { line, text: stream.get(start..).unwrap_or_default(), garbage });
    pieces
}

/// The lines of a piece before its first content: blanks and comments, and the `%` lines of directives.
pub(super) fn leading_lines(text: &str) -> u32 {
    let bare = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line.starts_with('%')
    };
    number(text.lines().take_while(bare).count())
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split_at_dashes() {
        let pieces = split("a: 1\n--- # second\n# why\nb: |\n  ---\n---\r\n--- c\n--- \nd");
        let seen: Vec<_> = pieces.iter().map(|piece| (piece.line, piece.text, piece.garbage)).collect();
        assert_eq!(
            seen,
            [
                (1, "a: 1\n", None),
                (3, "# why\nb: |\n  ---\n", None),
                (7, "", None),
                (8, "", Some((7, "c"))),
                (9, "d", None)
            ]
        );
        assert_eq!(leading_lines("\n# x\n\nb: 1\n"), 3);
    }
}
