//! Holds the checks against what real API servers said to 120 StatefulSets.
//!
//! `tests/data/revision-cases.jsonl` has, line by line, a manifest and the answers of Kubernetes 1.36.3 and 1.33.13.

use serde_json::Value;

use super::{Checks, read_for};
use crate::manifest::default::Level;
use crate::manifest::parse;
use crate::model::Diagnostic;

/// What is said of a case at a version: the errors, and the warnings that no pod can be made.
fn said(yaml: &str, level: Level) -> (Vec<String>, bool) {
    let (documents, mut findings) = parse("case.yaml", yaml.as_bytes());
    for document in documents.iter().filter(|document| super::is_stateful_set(document)) {
        let said = read_for(document, "default", Checks::Server(level)).diagnostics;
        let stuck = said.iter().find(|finding| finding.is_error() && finding.hint.is_empty());
        assert_eq!(stuck, None, "an error without a way out");
        findings.extend(said);
    }
    let no_pods = findings.iter().any(|finding| finding.message.contains("no pod can be made"));
    (findings.into_iter().filter(Diagnostic::is_error).map(|finding| finding.message).collect(), no_pods)
}

#[test]
fn what_a_server_refused_is_refused_and_what_it_took_is_not() {
    let (mut wrong, mut missed, mut refused, mut unseen, mut hopeless) = (Vec::new(), Vec::new(), 0, Vec::new(), 0);
    for line in include_str!("../../../tests/data/revision-cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (id, yaml) = (case["id"].as_str().unwrap(), case["yaml"].as_str().unwrap());
        for (level, version) in [(Level::V1_36, "1.36.3"), (Level::V1_33, "1.33.13")] {
            let outcome = &case[version];
            let (errors, no_pods) = said(yaml, level);
            if outcome.get("spec").is_none() {
                refused += 1;
                if errors.is_empty() {
                    missed.push(format!("{id} at {version}: {}", outcome["status"]["message"]));
                }
                continue;
            }
            if !errors.is_empty() {
                wrong.push(format!("{id} at {version}: {errors:?}"));
            }
            // Of what is taken but can run no pod, what the manifest alone tells: not what other objects decide.
            let why = outcome["pod"]["message"].as_str().unwrap_or_default();
            if why.contains("is invalid: spec") && version == "1.33.13" {
                hopeless += 1;
                if !no_pods {
                    unseen.push(format!("{id} at {version}: {why}"));
                }
            }
        }
    }
    println!(
        "{} of {refused} refused ones are refused, {} of {hopeless} hopeless ones are seen",
        refused - missed.len(),
        hopeless - unseen.len()
    );
    assert!(wrong.is_empty(), "refused, and the server took it:\n{}", wrong.join("\n"));
    assert!(missed.is_empty(), "not refused, and the server did:\n{}", missed.join("\n"));
    assert!(unseen.is_empty(), "no word that no pod can be made:\n{}", unseen.join("\n"));
    assert_eq!((refused, hopeless), (40, 6));
}
