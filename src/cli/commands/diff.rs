//! `diff`: how the templates of two revisions or commits differ.

use clap::Args;
use serde_json::Value;

use crate::cli::args::{self, Format, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::output;
use crate::cli::output::plan::Commit;
use crate::cli::output::template::{Diff, End, Item};
use crate::cli::repository;
use crate::daemon::{HistoryEntry, Source, View};
use crate::git::GitError;
use crate::manifest::default::{self, Level};
use crate::model::{Version, WorkloadId};
use crate::revision::controller_revision;

/// Fewest digits of a hash that name a revision.
const LEAST_DIGITS: usize = 4;

/// Shows how pod templates differ between two revisions or commits
///
/// With NAME, A and B may be numbers of its revisions as `history` shows them, hashes, names of ControllerRevisions, or
/// commits (branches, tags, ids, main~1). Without NAME they are commits, and every set is compared. A side that is left
/// out is the newest. Templates are compared as the server completes them, so that another spelling is no difference;
/// what else a commit changes shows `plan A..B`. Values that look like secrets are not shown.
///
/// Exit code: 0 no difference, 1 differences, 2 something is wrong.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// What to compare
    #[arg(value_name = "A..B")]
    range: String,
    /// The set: NAME, sts/NAME or NAMESPACE/NAME
    #[arg(value_name = "NAME", value_parser = args::set_name)]
    name: Option<SetName>,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "json", "yaml"]))]
    output: Format,
}

pub(super) fn run(args: &DiffArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let Some((from, to)) = args.range.split_once("..").filter(|(_, to)| !to.starts_with('.')) else {
        let message = format!("{:?} is no range", args.range);
        return Err(CliError::new(Kind::Usage, message).hint("write A..B: what B changes of A"));
    };
    let name = args.name.as_ref().map(|name| name.place(&mut context.global)).transpose()?;
    let namespace = repository::namespace(&context.global);
    let mut source = repository::fetched_or_here(context, &namespace)?;
    let items = match name {
        Some(name) => {
            let workload = WorkloadId::new(&namespace, name);
            let entries = source.history(&workload)?;
            if entries.is_empty() {
                return Err(repository::no_such_set(&mut source, &workload));
            }
            let (old, new) = (end(&mut source, &entries, &workload, from)?, end(&mut source, &entries, &workload, to)?);
            vec![Item::between(&workload.namespace, &workload.name, old, new)]
        }
        None => {
            let only = context.global.namespace.as_deref();
            everything(&mut source, from, to, only)?
        }
    };
    let diff = Diff::of(items);
    match args.output {
        Format::Json | Format::Yaml => output::structured(context.out, args.output, &diff)?,
        Format::Table | Format::Wide | Format::Name => write!(context.out, "{}", diff.text())?,
    }
    Ok(Exit::of(u8::from(!diff.items.is_empty())))
}

/// One side of one workload: a revision by its number, hash or name, or what a commit says; none where it has no such set.
fn end(
    source: &mut Source,
    entries: &[HistoryEntry],
    workload: &WorkloadId,
    named: &str,
) -> Result<Option<End>, CliError> {
    let revision = |entry: &HistoryEntry| Some(side(&entry.version, Some(entry.entry.number)));
    let newest = |is: &dyn Fn(&HistoryEntry) -> bool| entries.iter().rev().find(|entry| is(entry)).and_then(revision);
    if named.is_empty() {
        return Ok(newest(&|_| true));
    }
    if let Ok(number) = named.parse::<u32>()
        && let Some(found) = newest(&|entry| entry.entry.number == number)
    {
        return Ok(Some(found));
    }
    match source.mirror().resolve(named) {
        Ok(commit) => return Ok(source.version_at(&commit, workload).map(|version| side(&version, None))),
        Err(GitError::UnknownRevision { .. } | GitError::AmbiguousRevision { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let digits = named.len() >= LEAST_DIGITS && named.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(found) = newest(&|entry| digits && entry.entry.hash.0.starts_with(named)) {
        return Ok(Some(found));
    }
    let called = |entry: &HistoryEntry, level| {
        let template = entry.version.manifest.pointer("/spec/template").unwrap_or(&Value::Null);
        controller_revision::name(&workload.name, &default::template(template, level), 0) == named
    };
    newest(&|entry| called(entry, Level::V1_36) || called(entry, Level::V1_33)).map(Some).ok_or_else(|| {
        let message = format!("{workload} has no revision {named:?}, and there is no commit of that name");
        let hint = format!("give 1 to {}, a hash, the name of a ControllerRevision, or a commit", entries.len());
        CliError::new(Kind::NotFound, message).hint(hint)
    })
}

/// Every workload at two commits.
fn everything(source: &mut Source, from: &str, to: &str, only: Option<&str>) -> Result<Vec<Item>, CliError> {
    let name = |rev: &str| if rev.is_empty() { "HEAD".to_owned() } else { rev.to_owned() };
    let hint = |error: GitError| CliError::from(error).hint("numbers and hashes of revisions need the NAME of a set");
    let from = source.mirror().resolve(&name(from)).map_err(hint)?;
    let to = source.mirror().resolve(&name(to)).map_err(hint)?;
    let (old, new) = source.views(&from, &to)?;
    let mut workloads: Vec<&WorkloadId> = old.wishes.keys().chain(new.wishes.keys()).collect();
    workloads.retain(|workload| only.is_none_or(|only| workload.namespace == only));
    workloads.sort();
    workloads.dedup();
    let of = |view: &View, workload: &WorkloadId| {
        view.wishes.get(workload).and_then(|wish| wish.desired.as_ref()).map(|desired| side(&desired.tip, None))
    };
    let item = |workload: &WorkloadId| {
        Item::between(&workload.namespace, &workload.name, of(&old, workload), of(&new, workload))
    };
    Ok(workloads.into_iter().map(item).collect())
}

fn side(version: &Version, revision: Option<u32>) -> End {
    let template = version.manifest.pointer("/spec/template").unwrap_or(&Value::Null);
    End {
        revision,
        hash: version.hash.0.clone(),
        commit: Commit::of(&version.commit),
        template: default::template(template, Level::V1_36),
    }
}
