//! `lint`: what is wrong with manifests and plans, without a cluster.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::args::Format;
use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;
use crate::cli::output::{self, text};
use crate::manifest::{self, Bound};
use crate::model::Diagnostic;

pub(crate) mod folder;

/// Checks manifests and rollout plans, offline
///
/// Reads a folder as the daemon would read it from the repository. Exit code 0 without errors, 1 with errors, 2 where
/// the folder cannot be read.
#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The folder or file
    #[arg(value_name = "FOLDER|FILE", default_value = ".")]
    folder: PathBuf,
    /// Prints the JSON Schema of rollout-plan.yaml, for editors, and checks nothing
    #[arg(long)]
    schema: bool,
    /// How to print what was found
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::among(&["table", "json", "yaml"]))]
    output: Format,
}

/// What `lint -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DiagnosticList<'a> {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `DiagnosticList`.
    kind: &'static str,
    /// In the order of files and lines: `file`, `line`, `column` (0: none), `severity` (`warning` or `error`),
    /// `message`, `hint`.
    items: &'a [Diagnostic],
}

pub(super) fn run(args: &LintArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.schema {
        output::json(context.out, &manifest::plan_schema())?;
        return Ok(Exit::OK);
    }
    let namespace = context.global.namespace.as_deref().unwrap_or("default");
    let folder::Reading { files, mut findings } = folder::read(&args.folder)?;
    let parsed: Vec<_> = files.iter().map(|(path, bytes)| (path.as_str(), manifest::parse(path, bytes))).collect();
    let bound = manifest::bind(
        parsed.iter().map(|(path, (documents, findings))| (*path, documents.as_slice(), findings.as_slice())),
        namespace,
    );
    findings.extend(of(&bound));
    findings.sort();
    findings.dedup();
    match args.output {
        Format::Json | Format::Yaml => {
            let list = DiagnosticList { api_version: output::API_VERSION, kind: "DiagnosticList", items: &findings };
            output::structured(context.out, args.output, &list)?;
        }
        Format::Table | Format::Wide | Format::Name => {
            for finding in &findings {
                writeln!(context.out, "{}", text::lines(&finding.to_string()))?;
            }
        }
    }
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    context.note(&summary(files.len(), bound.workloads.len(), errors, findings.len() - errors))?;
    Ok(if errors > 0 { Exit::of(1) } else { Exit::OK })
}

/// Everything that was found, each finding once.
fn of(bound: &Bound) -> Vec<Diagnostic> {
    let mut findings = bound.diagnostics.clone();
    findings.extend(bound.broken_files.values().flatten().cloned());
    for workload in bound.workloads.values() {
        match workload {
            Err(problem) => findings.extend(problem.diagnostics.iter().cloned()),
            Ok(good) => {
                findings.extend(good.diagnostics.iter().cloned());
                let (plan, _) = good.effective_plan();
                if let (Some(place), Some(merged)) =
                    (&good.plan, crate::cli::stages::merged(&plan, good.manifest.replicas.unwrap_or(1)))
                {
                    findings.push(Diagnostic::warning(&place.file, place.line, merged));
                }
            }
        }
    }
    findings
}

fn summary(files: usize, workloads: usize, errors: usize, warnings: usize) -> String {
    let many = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!(
        "{} in {}: {}, {}",
        many(workloads, "StatefulSet"),
        many(files, "file"),
        many(errors, "error"),
        many(warnings, "warning")
    )
}
