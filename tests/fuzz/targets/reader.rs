//! Any bytes are read or refused, within bounds; and what was read is read again from what is printed of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseline_fuzz::manifest::{MAX_DOCUMENTS, Reading, go_json, read_documents_as};
use serde_json::json;

fuzz_target!(|data: &[u8]| {
    for reading in [Reading::Applied, Reading::Plain] {
        let (documents, findings) = read_documents_as("a.yaml", data, reading);
        assert!(documents.len() <= MAX_DOCUMENTS + 1);
        assert!(findings.len() <= 101);
        assert!(findings.iter().all(|finding| finding.to_string().len() < 1_000));
        for document in documents {
            let printed = go_json::exact(&json!({ "a": document.value }));
            let (again, findings) = read_documents_as("a.json", printed.as_bytes(), reading);
            // What fills the bounds by itself is over them with the mapping around it.
            if findings.is_empty() {
                assert_eq!(again.len(), 1, "{printed}");
                // By text: a float of whole digits beyond `i64` is read again as an integer.
                assert_eq!(go_json::exact(&again[0].value), printed);
            } else {
                let over = |text: &str| text.contains("nested more than") || text.contains(" values in one file");
                assert!(findings.iter().all(|it| over(&it.message) || it.hint.starts_with("quote it")), "{findings:?}");
            }
        }
    }
});
