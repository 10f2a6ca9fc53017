//! `history`: the revisions of a set, with commit, author and subject.

use clap::Args;
use serde_json::Value;

use crate::cli::args::{self, Format, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::output;
use crate::cli::output::history::History;
use crate::cli::repository;
use crate::cli::session::Session;
use crate::cluster::read;
use crate::daemon::HistoryEntry;
use crate::manifest::default::{self, Level};
use crate::model::{RecordState, WorkloadId};
use crate::revision::controller_revision;

/// The first minor version of Kubernetes that writes templates as its successors do.
const NEW_FORM_SINCE: u32 = 34;

/// Lists the revisions of a set, newest last
///
/// A revision is a commit that brought another pod template; one that brings back an older template says which it
/// repeats. CONTROLLERREVISION is Kubernetes' name for the template, in parentheses where the cluster has none (any
/// more): then it is the predicted one. K8S is Kubernetes' number, as `kubectl rollout history` shows it.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The set: NAME, sts/NAME or NAMESPACE/NAME
    #[arg(value_name = "NAME", value_parser = args::set_name)]
    name: SetName,
    /// Prints the pod template of that revision
    #[arg(long, value_name = "NUMBER")]
    revision: Option<u32>,
    /// Does not ask the cluster
    #[arg(long)]
    offline: bool,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "wide", "json", "yaml"]))]
    output: Format,
}

pub(super) fn run(args: &HistoryArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let name = args.name.place(&mut context.global)?;
    let session = match Session::open_if_any(&context.global) {
        Ok(session) => session,
        Err(_) if args.offline => None,
        Err(error) => return Err(error.hint("--offline does without the cluster")),
    };
    let named = context.global.namespace.clone();
    let namespace =
        named.or_else(|| session.as_ref().map(|session| session.namespace.clone())).unwrap_or_else(|| "default".into());
    let workload = WorkloadId::new(&namespace, name);
    let mut source = repository::fetched_or_here(context, &namespace)?;
    let entries = source.history(&workload)?;
    if entries.is_empty() {
        return Err(repository::no_such_set(&mut source, &workload));
    }
    if let Some(number) = args.revision {
        return template(args, context, &entries, number);
    }
    if session.is_none() && !args.offline {
        context.note("there is no kubeconfig: what a cluster knows of them is left out")?;
    }
    let history = match session.filter(|_| !args.offline) {
        None => History::of(&workload, &entries, &[], None, |entry| predict(&workload, entry, Level::V1_36)),
        Some(session) => online(&session, &workload, &entries)?,
    };
    match args.output {
        Format::Json | Format::Yaml => output::structured(context.out, args.output, &history)?,
        Format::Table | Format::Wide | Format::Name => {
            write!(context.out, "{}", history.table(args.output == Format::Wide))?;
        }
    }
    Ok(Exit::OK)
}

/// The same with what the cluster knows.
fn online(session: &Session, workload: &WorkloadId, entries: &[HistoryEntry]) -> Result<History, CliError> {
    let hint = |error: CliError| error.hint("--offline does without the cluster");
    let live =
        session.wait(read::controller_revisions(&session.cluster, workload)).map_err(|error| hint(error.into()))?;
    let observed = session.observe(workload)?;
    let version = session.wait(read::server_version(&session.cluster))?;
    let level = level(&version);
    let record = match observed.set.map(|set| set.record) {
        Some(RecordState::Is(record, _)) => Some(record),
        Some(RecordState::Absent | RecordState::Unreadable(_)) | None => None,
    };
    Ok(History::of(workload, entries, &live, record.as_deref(), |entry| predict(workload, entry, level)))
}

/// The form in which a server of that version (`v1.36.3`) writes templates.
fn level(version: &str) -> Level {
    let minor = version.trim_start_matches('v').split('.').nth(1).and_then(|minor| minor.parse().ok());
    if minor.is_some_and(|minor: u32| minor < NEW_FORM_SINCE) { Level::V1_33 } else { Level::V1_36 }
}

fn predict(workload: &WorkloadId, entry: &HistoryEntry, level: Level) -> String {
    let template = entry.version.manifest.pointer("/spec/template").unwrap_or(&Value::Null);
    controller_revision::name(&workload.name, &default::template(template, level), 0)
}

/// One template, as it was written.
fn template(
    args: &HistoryArgs,
    context: &mut Context<'_>,
    entries: &[HistoryEntry],
    number: u32,
) -> Result<Exit, CliError> {
    let entry = entries.iter().find(|entry| entry.entry.number == number).ok_or_else(|| {
        CliError::new(Kind::NotFound, format!("{} has no revision {number}", args.name))
            .hint(format!("it has 1 to {}", entries.len()))
    })?;
    let template = entry.version.manifest.pointer("/spec/template").unwrap_or(&Value::Null);
    // A template has no table: it is YAML unless JSON is asked for.
    let format = if args.output == Format::Json { Format::Json } else { Format::Yaml };
    output::structured(context.out, format, template)?;
    Ok(Exit::OK)
}
