//! The documents of `tests/data/yaml-cases.json`, each with what kubectl makes of it.

use base64::Engine;
use phaseline::manifest::Reading;
use serde_json::Value;

use super::compare::{Answer, Verdict, compare, ours};

/// The cases that ours refuses, and why.
const STRICT: &[(&str, &str)] = &[
    ("doc_end2", "text after the end of the document"),
    ("deep_flow", "nested more than 200 levels deep"),
    ("dup_type", "kubectl keeps either of them"),
    ("key_quoted_nospace", "text after the end of the document"),
];

struct Case {
    name: String,
    bytes: Vec<u8>,
    answer: Answer,
}

fn cases() -> Vec<Case> {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../data/yaml-cases.json")).unwrap();
    let bytes = |case: &Value| match case["yaml_base64"].as_str() {
        Some(text) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        None => case["yaml"].as_str().unwrap().as_bytes().to_vec(),
    };
    let case = |case: &Value| Case {
        name: case["name"].as_str().unwrap().to_owned(),
        bytes: bytes(case),
        answer: case["json"].as_str().map(|json| vec![json.to_owned()]),
    };
    cases.iter().map(case).collect()
}

#[test]
fn every_document_is_read_as_kubectl_reads_it() {
    let cases = cases();
    assert_eq!(cases.len(), 144);
    let mut bad = Vec::new();
    for Case { name, bytes, answer } in &cases {
        // kubectl reads one document of a patch file.
        let answer = match (answer, ours(bytes, Reading::Plain)) {
            (Some(answer), Ok(documents)) if name.starts_with("multidoc") || name.starts_with("sep_") => {
                let first = if name == "multidoc_empty" { "null" } else { &documents[0] };
                assert_eq!(answer, &[first], "{name}");
                continue;
            }
            (answer, _) => answer,
        };
        let verdict = compare(bytes, Reading::Plain, answer);
        let strict = STRICT.iter().find(|(strict, _)| strict == name).map(|(_, reason)| Verdict::Strict(reason));
        if verdict.is_bad() || strict != Some(verdict.clone()).filter(|it| matches!(it, Verdict::Strict(_))) {
            bad.push(format!("{name}: {verdict:?}"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
