//! Reads the documents of any YAML or JSON, Kubernetes objects or not.

use serde_json::Value;

use super::super::findings::limit;
use super::super::yaml::Reading;
use super::stream::{Part, parts, text};
use crate::model::Diagnostic;

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct RawDocument {
    /// The line its first content is at, from 1.
    pub line: u32,
    /// Its value; null for a document of comments only. [`super::super::go_json::exact`] prints it as kubectl does.
    pub value: Value,
}

/// Reads every document of a stream as sigs.k8s.io/yaml does, and says what is wrong with the others.
///
/// Lists are not unrolled and nothing is asked of a document but that it can be read. Warnings among the findings are
/// about what is read as something else than most people would write it for.
pub fn read_documents(file: &str, bytes: &[u8]) -> (Vec<RawDocument>, Vec<Diagnostic>) {
    read_documents_as(file, bytes, Reading::Plain)
}

/// The same in one of kubectl's two readings.
pub fn read_documents_as(file: &str, bytes: &[u8], reading: Reading) -> (Vec<RawDocument>, Vec<Diagnostic>) {
    let (mut documents, mut findings) = (Vec::new(), Vec::new());
    let text = match text(bytes, reading) {
        Ok(text) => text,
        Err((fault, _)) => {
            let finding = Diagnostic::error(file, fault.line, fault.message).at_column(fault.column);
            return (documents, vec![finding.hint("split it, or save it as UTF-8")]);
        }
    };
    for part in parts(file, &text, reading) {
        match part {
            Part::Read { line, text_line, read, .. } => {
                findings.extend(read.remarks.into_iter().map(|remark| super::warning(file, text_line, remark)));
                documents.push(RawDocument { line, value: read.value });
            }
            Part::Refused(refusal) => findings.push(
                Diagnostic::error(file, refusal.line, refusal.message).at_column(refusal.column).hint(refusal.hint),
            ),
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
        let stream = b"# x\n- 1\n---\na: [\n---\n# nothing\n---\n--- x\nb\n---\ntext\n---\n\xff\n---\n2\n";
        let (documents, findings) = read_documents("a.yaml", stream);
        let seen: Vec<_> = documents.iter().map(|document| (document.line, document.value.clone())).collect();
        assert_eq!(seen, [(2, json!([1])), (7, json!(null)), (11, json!("text")), (15, json!(2))]);
        let places: Vec<_> = findings.iter().map(|finding| (finding.line, finding.column)).collect();
        assert_eq!(places, [(5, 1), (8, 4), (13, 1)], "{findings:?}");
        let (documents, findings) = read_documents("a.json", b"{\"a\": 1}\n{\"b\": 1.0}\n");
        assert_eq!((documents.len(), findings.len()), (2, 0));
    }
}
