//! Any bytes are a plan or are not: every error has a place in the file, and reading twice gives the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseline_fuzz::manifest::{bind, parse};

fuzz_target!(|data: &[u8]| {
    let file = "web/rollout-plan.yaml";
    let (documents, findings) = parse(file, data);
    assert!(findings.len() <= 101);
    for finding in &findings {
        assert_eq!(finding.file, file);
        assert!(finding.to_string().len() < 1_000);
    }
    let bound = || bind([(file, documents.as_slice(), findings.as_slice())], "default");
    let first = bound();
    assert_eq!(first, bound());
    for finding in first.diagnostics.iter().chain(first.broken_files.values().flatten()) {
        assert!(finding.to_string().len() < 1_000, "{finding}");
    }
});
