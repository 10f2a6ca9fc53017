//! `render`: every document as it would be sent, without a cluster.

use clap::Args;
use serde_json::Value;

use crate::cli::args::Format;
use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;
use crate::cli::inputs;
use crate::cli::output::yaml;
use crate::manifest::{self, Checks, go_json, stateful_set};
use crate::model::Diagnostic;

/// Prints every document as it would be sent, offline
///
/// One JSON object a line, written as kubectl writes it: lists unrolled, StatefulSets in the form in which they are
/// applied, but for the partition and the record of a rollout. --raw prints what kubectl reads from any YAML, be it a
/// Kubernetes object or not.
///
/// What cannot be read is named on stderr, with file and line; the exit code is then 1, and everything else is printed.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// Files and folders; - is standard input
    #[arg(value_name = "FILE|FOLDER|-", required = true)]
    files: Vec<String>,
    /// Any YAML: each document's value as kubectl reads it
    #[arg(long)]
    raw: bool,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "json", value_parser = Format::among(&["json", "yaml"]))]
    output: Format,
}

pub(super) fn run(args: &RenderArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let inputs = inputs::of_paths(&args.files)?;
    let mut findings = inputs.findings;
    let mut first = true;
    for (file, bytes) in &inputs.files {
        let (values, found) = if args.raw { raw(file, bytes) } else { sent(file, bytes, context) };
        findings.extend(found);
        for value in values {
            match args.output {
                Format::Yaml => {
                    if !std::mem::take(&mut first) {
                        writeln!(context.out, "---")?;
                    }
                    yaml::document(context.out, &value)?;
                }
                Format::Json | Format::Table | Format::Wide | Format::Name => {
                    // One line for every reader of lines: to many of them NEL ends one, and Go does not escape it.
                    writeln!(context.out, "{}", go_json::exact(&value))?;
                }
            }
        }
    }
    for finding in &findings {
        context.note(&finding.to_string())?;
    }
    Ok(if findings.iter().any(Diagnostic::is_error) { Exit::of(1) } else { Exit::OK })
}

/// The documents of a file as they would be sent.
fn sent(file: &str, bytes: &[u8], context: &Context<'_>) -> (Vec<Value>, Vec<Diagnostic>) {
    let namespace = context.global.namespace.as_deref();
    let (documents, mut findings) = manifest::parse(file, bytes);
    let mut values = Vec::with_capacity(documents.len());
    for document in documents.into_iter().filter(|document| !document.unreadable) {
        if stateful_set::is_stateful_set(&document) && !stateful_set::is_kruise(&document) {
            let reading = stateful_set::read_for(&document, namespace.unwrap_or("default"), Checks::Past);
            findings.extend(reading.diagnostics);
            values.extend(reading.manifest.map(|manifest| manifest.value));
        } else {
            values.push(document.value);
        }
    }
    (values, findings)
}

/// The values of a file's documents as kubectl reads them; where it would stop, nothing follows.
fn raw(file: &str, bytes: &[u8]) -> (Vec<Value>, Vec<Diagnostic>) {
    let (documents, findings) = manifest::read_documents(file, bytes);
    let broken = findings.iter().filter(|finding| finding.is_error()).map(|finding| finding.line).min();
    let before = |line: u32| broken.is_none_or(|broken| line < broken);
    let values = documents.into_iter().filter(|document| before(document.line)).map(|document| document.value);
    (values.collect(), findings)
}
