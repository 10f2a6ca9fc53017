//! `resume --recreate`: makes a set again over the pods that it has left behind, at the commit that they run.
//!
//! There is no object to write a request on, so it is this command that creates the set. Every rule of it is in
//! [`crate::rollout::recreate`]; from then on the set is the daemon's as any other.

use super::ask::failed;
use crate::cli::args::{GlobalArgs, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::repository;
use crate::cli::session::Session;
use crate::cluster::{Outcome, execute};
use crate::daemon::Source;
use crate::model::Version;
use crate::rollout;

pub(super) fn run(name: &SetName, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let name = name.place(&mut context.global)?;
    let session = Session::open(&context.global)?;
    let workload = session.workload(name);
    let ways = session.ways(&workload, &context.global);
    let refused = |why: &str| {
        CliError::new(Kind::Refused, format!("resume --recreate of {workload} is refused: {}", ways.complete(why)))
    };
    let observed = session.observe(&workload)?;
    if observed.set.is_some() {
        return Err(refused("the set is there, and is never made anew"));
    }
    let mut source = read(context, &workload.namespace)?;
    let view = source.view()?;
    let Some(wish) = view.wishes.get(&workload) else {
        return Err(repository::no_such_set(&mut source, &workload));
    };
    let Some(desired) = &wish.desired else {
        return Err(refused("Git's manifest of it cannot be used: `phaseline lint` says why"));
    };
    let entries = source.history(&workload)?;
    let versions = entries.iter().rev().map(|entry| &entry.version);
    let (action, at) = rollout::recreate(desired, versions, &observed, context.now()).map_err(|why| refused(&why))?;
    let pods = observed.pods.len();
    context.note(&format!(
        "the set is created at commit {}, which its lowest pod runs, parked: it adopts {pods} pods and restarts none",
        shown(at)
    ))?;
    match session.wait(execute(&session.cluster, &workload, &action)) {
        Outcome::Done(_) => {}
        Outcome::Moved(_) => return Err(refused("somebody else has created the set in the meantime")),
        outcome => return Err(failed(&format!("cannot create {workload}"), outcome)),
    }
    writeln!(context.out, "statefulset.apps/{name} created at {}", at.commit.id.short())?;
    if at.hash != desired.tip.hash {
        let follow = ways.ours(&format!("status {name} -w"));
        let tip = shown(&desired.tip);
        context.note(&format!("the daemon rolls out commit {tip} by the plan: `{follow}` follows it"))?;
    }
    Ok(Exit::OK)
}

/// The repository as it is now: a set is not created at what Git was once.
fn read(context: &mut Context<'_>, namespace: &str) -> Result<Source, CliError> {
    if !is_named(&context.global) {
        return repository::fetched_or_here(context, namespace);
    }
    let mut source = repository::open(&context.global, namespace)?;
    source.refresh()?;
    Ok(source)
}

fn is_named(global: &GlobalArgs) -> bool {
    global.repo.as_ref().is_some_and(|repo| !repo.is_empty())
}

fn shown(version: &Version) -> String {
    format!("{} ({})", version.commit.id.short(), version.commit.subject)
}
