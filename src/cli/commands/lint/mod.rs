//! `lint`: what is wrong with manifests and plans, without a cluster.

use clap::{Args, ValueEnum};

use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::output;
use crate::manifest::default::Level;
use crate::manifest::{self, Bound, Checks, ONE_STAGE};
use crate::model::{Diagnostic, WorkloadId};

mod against;
pub(crate) mod folder;
mod report;
mod subject;

use subject::Subject;

/// Checks manifests and rollout plans, offline
///
/// PATH is a folder or file on disk, read as the daemon would read it from the repository. REV is a branch, a tag, an
/// id or HEAD~1 of --repo, else of the repository around the current folder; A..B checks B against A. What is both is
/// taken for the path; --rev says that a revision is meant.
///
/// Inside a repository, what is checked is also compared with what was there before: a revision with its first parent,
/// what is staged and what is on disk with HEAD. A change of a field that Kubernetes fixes when it creates the set is
/// an error.
///
/// Exit code: 0 without errors, 1 with errors, 2 where something cannot be read.
#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The folder, the file or the revision
    #[arg(value_name = "PATH|REV", default_value = ".", conflicts_with_all = ["staged", "rev"])]
    subject: String,
    /// Checks a revision, whatever else goes by that name
    #[arg(long, value_name = "REV", conflicts_with = "staged")]
    rev: Option<String>,
    /// Checks what is staged: for a pre-commit hook
    #[arg(long)]
    staged: bool,
    /// Compares with this revision, and with nothing where it is all zeros [default: the first parent, or HEAD]
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The version of Kubernetes that would be asked
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    kubernetes: Kubernetes,
    /// Prints the JSON Schema of rollout-plan.yaml, for editors, and checks nothing
    #[arg(long)]
    schema: bool,
    /// How to print what was found
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: LintFormat,
}

/// A version of Kubernetes whose checks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kubernetes {
    /// As 1.33 checks: pod and claim templates are taken unseen.
    #[value(name = "1.33")]
    V1_33,
    /// As 1.36 checks.
    #[value(name = "1.36")]
    V1_36,
}

impl Kubernetes {
    fn level(self) -> Level {
        match self {
            Self::V1_33 => Level::V1_33,
            Self::V1_36 => Level::V1_36,
        }
    }
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// `file:line:column: error: message`
    Table,
    /// One object of kind DiagnosticList
    Json,
    /// The same as YAML
    Yaml,
    /// Workflow commands: GitHub shows them as annotations
    Github,
    /// A Code Quality report: GitLab shows it in the merge request
    Gitlab,
}

/// What was looked at, and what was found.
#[derive(Debug, Default)]
struct Looked {
    findings: Vec<Diagnostic>,
    files: usize,
    workloads: usize,
    /// Sets that nothing stages, neither a plan nor a partition.
    unstaged: Vec<WorkloadId>,
    /// What stands before a finding's path to make it one inside the repository.
    prefix: String,
}

pub(super) fn run(args: &LintArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.schema {
        output::json(context.out, &manifest::plan_schema())?;
        return Ok(Exit::OK);
    }
    let subject = Subject::of(args, context)?;
    let mut looked = subject.look(args, context)?;
    looked.findings.sort();
    looked.findings.dedup();
    report::print(args.output, &looked, context.out)?;
    let errors = looked.findings.iter().filter(|finding| finding.is_error()).count();
    context.note(&summary(looked.files, looked.workloads, errors, looked.findings.len() - errors))?;
    if !looked.unstaged.is_empty() {
        context.note(&format!("no plan: {ONE_STAGE}: {}", named(&looked.unstaged)))?;
    }
    Ok(if errors > 0 { Exit::of(1) } else { Exit::OK })
}

impl LintArgs {
    fn checks(&self) -> Checks {
        Checks::Server(self.kubernetes.level())
    }
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
                    findings.push(Diagnostic::warning(&place.file, place.line, merged).code("plan"));
                }
            }
        }
    }
    findings
}

/// The sets of which a change reaches all pods in one stage.
fn unstaged(bound: &Bound) -> Vec<WorkloadId> {
    let good = bound.workloads.iter().filter_map(|(workload, outcome)| Some((workload, outcome.as_ref().ok()?)));
    good.filter(|(_, good)| good.is_unstaged()).map(|(workload, _)| workload.clone()).collect()
}

/// A few sets by name, and how many more there are.
fn named(sets: &[WorkloadId]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = sets.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = sets.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// The namespace of manifests that state none.
fn namespace(context: &Context<'_>) -> String {
    context.global.namespace.clone().unwrap_or_else(|| "default".to_owned())
}

fn no_repository(error: &crate::git::GitError, what: &str) -> CliError {
    CliError::of(Kind::Git, error).hint(format!("{what} needs a Git repository around the current folder, or --repo"))
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
