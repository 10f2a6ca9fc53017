//! Recognises files that are something else than plain manifests, and says the way out.

use serde_json::Value;

/// What a file is that cannot be read at all: what is found, its line, and the way out.
pub(super) struct Foreign {
    pub(super) line: u32,
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
}

/// A Git LFS pointer, or a file in the middle of a merge.
pub(super) fn foreign(text: &str) -> Option<Foreign> {
    if text.starts_with("version https://git-lfs.github.com/spec/") {
        return Some(Foreign {
            line: 1,
            message: "this is a Git LFS pointer, not the file itself",
            hint: "keep manifests out of Git LFS (`git lfs untrack`, then `git add --renormalize`)",
        });
    }
    // As Git tells them: text has no byte zero.
    if text.contains('\0') && text.contains(char::REPLACEMENT_CHARACTER) {
        return Some(Foreign {
            line: 0,
            message: "a binary file, no text",
            hint: "name it otherwise, or keep it out of the path",
        });
    }
    conflict(text).map(|line| Foreign {
        line,
        message: "there are merge conflict markers in it",
        hint: "resolve the conflict and commit the result",
    })
}

/// The line of the first conflict marker, where there is a whole set of them.
fn conflict(text: &str) -> Option<u32> {
    let mut first = None;
    for (line, row) in (1..).zip(text.lines()) {
        if row.starts_with("<<<<<<< ") {
            first = first.or(Some(line));
        } else if row.starts_with(">>>>>>> ") && first.is_some() {
            return first;
        }
    }
    None
}

/// The way out of a YAML error, where the text tells it. `line` is the error's, from 1.
pub(super) fn for_syntax(text: &str, line: u32, message: &str) -> &'static str {
    if text.contains("{{") && text.contains("}}") {
        return "looks like a Helm template; render it first (`helm template`) and commit what comes out";
    }
    let row = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?)).unwrap_or_default();
    if row.trim_start_matches(' ').starts_with('\t') || message.contains("cannot start any token") && row.contains('\t')
    {
        return "YAML is indented with spaces, never with tabs";
    }
    if message.contains("may not stand in YAML") {
        return "write it as an escape in double quotes";
    }
    if message.contains("is there twice") {
        return "remove one of them: kubectl would silently take the last";
    }
    if message.contains("more than one document") || message.contains("text after the end") {
        return "begin a new document with a line `---`";
    }
    if message.contains("a key of text") {
        return "quote the value if it begins with `{`, `[`, `*`, `&`, `!` or `?`";
    }
    if message.contains("a value that JSON knows") || message.contains("no number that JSON knows") {
        return "quote it if it is meant as text";
    }
    ""
}

/// Whether a document has been encrypted with SOPS.
pub(super) fn is_encrypted(value: &Value) -> bool {
    value.get("sops").is_some_and(|sops| sops.get("mac").is_some() || sops.get("version").is_some())
}

/// The way out of an encrypted document.
pub(super) const DECRYPT: &str =
    "Phaseline does not decrypt; keep secrets in objects of their own and leave sets and plans in plain text";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_told_from_merge_keys_and_text() {
        assert_eq!(conflict("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> topic\n"), Some(2));
        assert_eq!(conflict("a:\n  <<<<<<< HEAD\n<<: *x\n"), None);
    }
}
