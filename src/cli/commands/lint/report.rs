//! Prints findings: for people, for programs, and in the formats that code hosts show beside the changed lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{LintFormat, Looked};
use crate::cli::args::Format;
use crate::cli::error::CliError;
use crate::cli::output::{self, text};
use crate::model::{Diagnostic, Severity};

/// The kind of a finding that has no name of its own.
const OTHER: &str = "manifest";

/// What `lint -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DiagnosticList<'a> {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `DiagnosticList`.
    kind: &'static str,
    /// In the order of files and lines: `file`, `line`, `column` (0: none), `severity` (`warning` or `error`),
    /// `message`, `hint`, `path` (the field as the server names it), `code` (what kind of finding it is).
    items: &'a [Diagnostic],
}

/// One entry of GitLab's Code Quality report.
#[derive(Debug, Serialize)]
struct Quality<'a> {
    description: String,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Debug, Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Debug, Serialize)]
struct Lines {
    begin: u32,
}

pub(super) fn print(format: LintFormat, looked: &Looked, out: &mut dyn Write) -> Result<(), CliError> {
    let findings = &looked.findings;
    let list = DiagnosticList { api_version: output::API_VERSION, kind: "DiagnosticList", items: findings };
    match format {
        LintFormat::Json => output::structured(out, Format::Json, &list)?,
        LintFormat::Yaml => output::structured(out, Format::Yaml, &list)?,
        LintFormat::Table => {
            for finding in findings {
                writeln!(out, "{}", text::lines(&finding.to_string()))?;
            }
        }
        LintFormat::Github => {
            for finding in findings {
                writeln!(out, "{}", annotation(finding, &looked.prefix))?;
            }
        }
        LintFormat::Gitlab => output::json(out, &qualities(findings, &looked.prefix))?,
    }
    Ok(())
}

/// A workflow command of GitHub Actions.
fn annotation(finding: &Diagnostic, prefix: &str) -> String {
    let word = match finding.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let mut line = format!("::{word} file={}", property(&joined(prefix, &finding.file)));
    if finding.line > 0 {
        let _ = write!(line, ",line={}", finding.line);
        if finding.column > 0 {
            let _ = write!(line, ",col={}", finding.column);
        }
    }
    let _ = write!(line, ",title={}::{}", property(&format!("phaseline: {}", kind(finding))), data(&said(finding)));
    line
}

/// The text of a workflow command: only `%` and line ends would be taken for something else.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which `:` and `,` would end as well.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn qualities<'a>(findings: &'a [Diagnostic], prefix: &str) -> Vec<Quality<'a>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    findings
        .iter()
        .map(|finding| {
            let path = joined(prefix, &finding.file);
            // Without the line, so that a finding stays the same one when lines are added above it.
            let identity = [kind(finding), &path, &finding.path, &finding.message].join("\0");
            let count = seen.entry(identity.clone()).or_default();
            let fingerprint = Sha256::digest(format!("{identity}\0{count}"));
            *count += 1;
            Quality {
                description: said(finding),
                check_name: kind(finding),
                fingerprint: fingerprint.iter().take(20).fold(String::new(), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                }),
                severity: match finding.severity {
                    Severity::Warning => "minor",
                    Severity::Error => "major",
                },
                location: Location { path, lines: Lines { begin: finding.line.max(1) } },
            }
        })
        .collect()
}

fn kind(finding: &Diagnostic) -> &str {
    if finding.code.is_empty() { OTHER } else { &finding.code }
}

/// Message and hint.
fn said(finding: &Diagnostic) -> String {
    let message = text::lines(&finding.message);
    if finding.hint.is_empty() { message } else { format!("{message}\nhint: {}", text::lines(&finding.hint)) }
}

fn joined(prefix: &str, file: &str) -> String {
    if prefix.is_empty() { file.to_owned() } else { format!("{prefix}/{file}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_are_escaped() {
        let finding = Diagnostic::error("a,b:c%/x.yaml", 3, "100% wrong\r\nreally: yes, so")
            .at_column(7)
            .hint("do\nthis")
            .code("unknown-field");
        assert_eq!(
            annotation(&finding, "deploy"),
            "::error file=deploy/a%2Cb%3Ac%25/x.yaml,line=3,col=7,title=phaseline%3A unknown-field::\
             100%25 wrong\u{fffd}%0Areally: yes, so%0Ahint: do%0Athis"
        );
        let whole = Diagnostic::warning("x.yaml", 0, "odd");
        assert_eq!(annotation(&whole, ""), "::warning file=x.yaml,title=phaseline%3A manifest::odd");
    }

    #[test]
    fn fingerprints_do_not_move_with_the_lines_and_are_all_different() {
        let findings =
            |line| vec![Diagnostic::error("x.yaml", line, "odd"), Diagnostic::error("x.yaml", line + 1, "odd")];
        let of = |line| -> Vec<String> {
            qualities(&findings(line), "").into_iter().map(|quality| quality.fingerprint).collect()
        };
        assert_eq!(of(3), of(9));
        assert_ne!(of(3)[0], of(3)[1]);
        assert_eq!(of(3)[0].len(), 40);
        let report = serde_json::to_value(qualities(&findings(0), "")).unwrap();
        assert_eq!(report[0]["location"], serde_json::json!({"path": "x.yaml", "lines": {"begin": 1}}));
        assert_eq!((&report[0]["severity"], &report[0]["check_name"]), (&"major".into(), &"manifest".into()));
    }
}
