//! `plan`: what a commit would change, and how it would be rolled out. Writes nothing.

use std::collections::BTreeSet;

use clap::Args;

use crate::cli::args::{self, Format};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::output::plan::{PlanItem, PlanObject};
use crate::cli::output::{self, plan_text};
use crate::cli::repository;
use crate::cli::session::Session;
use crate::daemon::View;
use crate::model::{Observed, RecordState, WorkloadId};

mod item;
mod server;

/// More namespaces than that are read in one list of all.
const MOST_NAMESPACES: usize = 3;

/// Shows what a commit would change, and every stage of its rollout
///
/// Fetches, reads the cluster, and asks the server for a dry run of each apply; nothing is written anywhere. REV is a
/// branch, a tag, an id or HEAD~1; without it the tip is meant.
///
/// Exit code: 0 nothing would change, 1 something would, 2 something is wrong.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The commit [default: the tip]
    #[arg(value_name = "REV")]
    rev: Option<String>,
    /// Only this set; may be repeated
    #[arg(short, long, value_name = "NAME", value_parser = args::set_name)]
    workload: Vec<String>,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "json", "yaml", "name"]))]
    output: Format,
}

pub(super) fn run(args: &PlanArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    repository::config(&context.global)?;
    let session = Session::open(&context.global)?;
    let mut source = repository::open(&context.global, &session.namespace)?;
    source.refresh()?;
    let view = match &args.rev {
        Some(rev) => source.view_at(rev)?,
        None => (*source.view()?).clone(),
    };
    let only = context.global.namespace.as_deref();
    let wanted = |workload: &WorkloadId| {
        only.is_none_or(|only| workload.namespace == only)
            && (args.workload.is_empty() || args.workload.contains(&workload.name))
    };
    for name in &args.workload {
        if !view.wishes.keys().any(|workload| workload.name == *name && wanted(workload)) {
            return Err(CliError::new(Kind::NotFound, format!("commit {} has no {name}", view.commit.id.short())));
        }
    }
    let observed = observe(&session, &view, only)?;
    let now = context.now();
    let mut items: Vec<PlanItem> = Vec::new();
    for (workload, wish) in view.wishes.iter().filter(|(workload, _)| wanted(workload)) {
        let observed = observed.iter().find(|observed| observed.workload == *workload).cloned();
        let observed = observed.unwrap_or_else(|| repository::absent(workload));
        items.push(item::plan(&session, &mut source, wish, &observed, now)?);
    }
    for observed in observed.iter().filter(|observed| wanted(&observed.workload)) {
        let managed = observed.set.as_ref().is_some_and(|set| set.record != RecordState::Absent);
        if managed && !view.wishes.contains_key(&observed.workload) {
            items.push(item::orphan(observed, now));
        }
    }
    let plan = PlanObject::of(&view.commit, items, view.diagnostics, view.others);
    print(args, context, &plan)?;
    Ok(Exit::of(plan.exit_code()))
}

fn print(args: &PlanArgs, context: &mut Context<'_>, plan: &PlanObject) -> Result<(), CliError> {
    match args.output {
        Format::Json | Format::Yaml => output::structured(context.out, args.output, plan),
        Format::Name => {
            for item in plan.items.iter().filter(|item| item.changes) {
                writeln!(context.out, "statefulset.apps/{}", item.name)?;
            }
            Ok(())
        }
        Format::Table | Format::Wide => Ok(plan_text::print(context.out, plan, context.color)?),
    }
}

/// The cluster's side of a commit: a list of sets and one of pods.
fn observe(session: &Session, view: &View, only: Option<&str>) -> Result<Vec<Observed>, CliError> {
    let namespaces: BTreeSet<&str> = match only {
        Some(only) => [only].into(),
        None => view.wishes.keys().map(|workload| workload.namespace.as_str()).collect(),
    };
    if namespaces.len() > MOST_NAMESPACES {
        return session.list(None);
    }
    let mut all = Vec::new();
    for namespace in namespaces {
        all.extend(session.list(Some(namespace))?);
    }
    Ok(all)
}
