//! `hash`: by which names a template goes, here and in Kubernetes, without a cluster.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use crate::cli::args::Format;
use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;
use crate::cli::inputs::{self, Inputs};
use crate::cli::output::{self, table, text, yaml};
use crate::manifest::default::{self, Level};
use crate::manifest::{self, Checks, Document, stateful_set};
use crate::model::{Diagnostic, TemplateHash};
use crate::revision::{controller_revision, digest};

/// Prints the revision hash of each StatefulSet, and the ControllerRevision name it would get, offline
///
/// The hash is the one that plan and history show. The name is that of a new revision: where the cluster has an equal
/// one already, that one's name stays in use. A REV is read from the repository around the current folder, or --repo.
///
/// What cannot be read is named on stderr, with file and line; the exit code is then 1, and everything else is printed.
#[derive(Debug, Args)]
pub(crate) struct HashArgs {
    /// Files, folders, commits; - is standard input
    #[arg(value_name = "FILE|FOLDER|REV|-", required = true)]
    inputs: Vec<String>,
    /// The Kubernetes whose defaults and names are meant
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    kubernetes: KubernetesVersion,
    /// Prints the pod template too, as that Kubernetes would return it
    #[arg(long)]
    defaulted: bool,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "json", "yaml"]))]
    output: Format,
}

/// A version of Kubernetes whose defaulting is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum KubernetesVersion {
    /// 1.33
    #[value(name = "1.33")]
    V1_33,
    /// 1.36
    #[default]
    #[value(name = "1.36")]
    V1_36,
}

impl KubernetesVersion {
    /// How that version reads and writes templates.
    pub(crate) fn level(self) -> Level {
        match self {
            Self::V1_33 => Level::V1_33,
            Self::V1_36 => Level::V1_36,
        }
    }

    /// The one whose templates a server writes like, by what it calls itself: `v1.34.2` and later write like 1.36.
    pub(crate) fn of(git_version: &str) -> Self {
        match minor(git_version) {
            Some(minor) if minor <= 33 => Self::V1_33,
            Some(_) | None => Self::V1_36,
        }
    }

    /// Its number.
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::V1_33 => "1.33",
            Self::V1_36 => "1.36",
        }
    }
}

/// The 34 of `v1.34.2`; none of what is no such version.
pub(crate) fn minor(git_version: &str) -> Option<u32> {
    let minor = git_version.trim_start_matches("v1.").split(|letter: char| !letter.is_ascii_digit()).next();
    minor?.parse().ok()
}

/// What `hash -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HashList {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `HashList`.
    kind: &'static str,
    /// The Kubernetes that is meant: `1.33` or `1.36`.
    kubernetes: &'static str,
    /// One for each StatefulSet, in the order of the files.
    items: Vec<HashItem>,
}

/// One StatefulSet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HashItem {
    /// Its namespace, where the manifest or --namespace names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// Its name.
    name: String,
    /// The file.
    file: String,
    /// The line of its document.
    line: u32,
    /// The revision's hash: of the template without a restart.
    hash: String,
    /// The name that Kubernetes gives to a new ControllerRevision of the template.
    controller_revision: String,
    /// The whole `.spec` as that Kubernetes would return it.
    spec: Value,
    /// The template in it, with --defaulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<Value>,
}

pub(super) fn run(args: &HashArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let Inputs { files, mut findings } = inputs::of_paths_and_commits(&args.inputs, context)?;
    let mut items = Vec::new();
    for (file, bytes) in &files {
        let (documents, found) = manifest::parse(file, bytes);
        findings.extend(found);
        for document in documents.iter().filter(|document| stateful_set::is_stateful_set(document)) {
            let (item, found) = item(document, args, context);
            findings.extend(found);
            items.extend(item);
        }
    }
    match args.output {
        Format::Json | Format::Yaml => {
            let list = HashList {
                api_version: output::API_VERSION,
                kind: "HashList",
                kubernetes: args.kubernetes.number(),
                items,
            };
            output::structured(context.out, args.output, &list)?;
        }
        Format::Table | Format::Wide | Format::Name if args.defaulted => templates(context.out, &items)?,
        Format::Table | Format::Wide | Format::Name => rows(context.out, &items)?,
    }
    for finding in &findings {
        context.note(&finding.to_string())?;
    }
    Ok(if findings.iter().any(Diagnostic::is_error) { Exit::of(1) } else { Exit::OK })
}

/// One set, and what is wrong with it; what a server or a rollout would refuse has a hash all the same.
fn item(document: &Document, args: &HashArgs, context: &Context<'_>) -> (Option<HashItem>, Vec<Diagnostic>) {
    let outside = context.global.namespace.as_deref();
    let checks = Checks::Server(args.kubernetes.level());
    let reading = stateful_set::read_for(document, outside.unwrap_or("default"), checks);
    let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let spec = document.value.get("spec").filter(|spec| spec.get("template").is_some_and(Value::is_object));
    let (Some(name), Some(spec), stateful_set::API_VERSION) = (text("/metadata/name"), spec, document.api_version())
    else {
        return (None, reading.diagnostics);
    };
    let spec = default::stateful_set(spec, args.kubernetes.level());
    let template = spec.get("template").cloned().unwrap_or_default();
    let item = HashItem {
        namespace: text("/metadata/namespace").or(outside).map(str::to_owned),
        name: name.to_owned(),
        file: document.file.clone(),
        line: document.line,
        hash: digest::template(document.value.pointer("/spec/template").unwrap_or(&Value::Null)).hash.0,
        controller_revision: controller_revision::name(name, &template, 0),
        template: args.defaulted.then_some(template),
        spec,
    };
    (Some(item), reading.diagnostics)
}

fn rows(out: &mut dyn Write, items: &[HashItem]) -> Result<(), CliError> {
    let rows = items.iter().map(|item| {
        [
            item.namespace.clone().unwrap_or_else(|| "-".to_owned()),
            item.name.clone(),
            TemplateHash(item.hash.clone()).to_string(),
            item.controller_revision.clone(),
            format!("{}:{}", item.file, item.line),
        ]
    });
    Ok(write!(out, "{}", table::table(["NAMESPACE", "NAME", "HASH", "CONTROLLERREVISION", "FILE"], rows))?)
}

/// The templates as YAML, each under a comment that says whose it is.
fn templates(out: &mut dyn Write, items: &[HashItem]) -> Result<(), CliError> {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            writeln!(out, "---")?;
        }
        let place = match &item.namespace {
            Some(namespace) => format!("{namespace}/{}", item.name),
            None => item.name.clone(),
        };
        let (hash, file) = (TemplateHash(item.hash.clone()), &item.file);
        let line = format!("# {place}: hash {hash}, {}, {file}:{}", item.controller_revision, item.line);
        writeln!(out, "{}", text::line(&line))?;
        yaml::document(out, &item.template)?;
    }
    Ok(())
}
