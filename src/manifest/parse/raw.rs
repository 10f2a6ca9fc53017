//! Reads the documents of any YAML or JSON, Kubernetes objects or not.

use serde_json::Value;

use super::super::split::{leading_lines, split};
use super::super::words::show;
use super::super::yaml::{Budget, read, read_json};
use super::super::{findings::limit, hint};
use super::{MAX_FILE_BYTES, decode};
use crate::model::Diagnostic;

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct RawDocument {
    /// The line its first content is at, from 1.
    pub line: u32,
    /// Its value; null for a document of comments only. [`super::super::go_json::exact`] prints it as kubectl does.
    pub value: Value,
}

/// Reads every document of a stream and says what is wrong with the others.
///
/// Lists are not unrolled and nothing is asked of a document but that it can be read.
pub fn read_documents(file: &str, bytes: &[u8]) -> (Vec<RawDocument>, Vec<Diagnostic>) {
    let (mut documents, mut findings) = (Vec::new(), Vec::new());
    let error = |line, message: String| Diagnostic::error(file, line, message);
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", bytes.len());
        return (documents, vec![error(0, message).hint("split it, or keep data out of it")]);
    }
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(fault) => {
            let finding = error(fault.line, fault.message).at_column(fault.column);
            return (documents, vec![finding.hint("save the file as UTF-8")]);
        }
    };
    let budget = Budget::of(&text);
    if text.trim_start().starts_with('{')
        && let Ok(values) = read_json(&text, &budget)
    {
        documents.extend(values.into_iter().map(|json| RawDocument { line: json.line, value: json.value }));
        return (documents, findings);
    }
    let budget = Budget::of(&text);
    for piece in split(&text) {
        if let Some((line, garbage)) = piece.garbage {
            let message = format!("{} stands behind the separator `---`", show(garbage));
            let finding = error(line, message).at_column(4);
            findings.push(finding.hint("begin the document on the next line, as kubectl wants it"));
            continue;
        }
        if piece.text.is_empty() {
            continue;
        }
        match read(piece.text, &budget) {
            Ok(value) => {
                let line = piece.line.saturating_add(leading_lines(piece.text));
                documents.push(RawDocument { line, value });
            }
            Err(fault) => {
                let line = piece.line.saturating_add(fault.line.max(1)).saturating_sub(1);
                let way_out = hint::for_syntax(piece.text, fault.line, &fault.message);
                findings.push(error(line, fault.message).at_column(fault.column).hint(way_out));
            }
        }
    }
    findings.sort();
    limit(&mut findings);
    (documents, findings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_document_is_read_and_a_broken_one_hides_no_other() {
        let (documents, findings) =
            read_documents("a.yaml", b"# x\n- 1\n---\na: [\n---\n# nothing\n---\n--- x\nb\n---\ntext\n");
        let seen: Vec<_> = documents.iter().map(|document| (document.line, document.value.clone())).collect();
        assert_eq!(seen, [(2, json!([1])), (7, json!(null)), (11, json!("text"))]);
        let places: Vec<_> = findings.iter().map(|finding| (finding.line, finding.column)).collect();
        assert_eq!(places.len(), 2, "{findings:?}");
        let (documents, findings) = read_documents("a.json", b"{\"a\": 1}\n{\"b\": 1.0}\n");
        assert_eq!((documents.len(), findings.len()), (2, 0));
    }
}
