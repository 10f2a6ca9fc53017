//! `restart`: asks for a restart as kubectl does; the plan rolls it.

use clap::Args;

use super::ask::failed;
use crate::cli::args::{self, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::known;
use crate::cli::session::Session;
use crate::cluster::{Outcome, read};
use crate::model::{LiveSet, RecordState};

/// How often it is tried when the set has moved in the meantime.
const TRIES: usize = 5;

/// Restarts the pods of a set, through the stages of its plan
///
/// Writes the annotation that `kubectl rollout restart` writes. At rest no pod moves before the daemon rolls it out. In
/// the middle of a rollout the pods that it has exposed restart at once, one after the other, and the others with their
/// stage.
#[derive(Debug, Args)]
pub(crate) struct RestartArgs {
    /// The set: NAME, sts/NAME or NAMESPACE/NAME
    #[arg(value_name = "NAME", value_parser = args::set_name)]
    name: SetName,
}

pub(in crate::cli::commands) fn run(args: &RestartArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let name = args.name.place(&mut context.global)?;
    let session = Session::open(&context.global)?;
    let workload = session.workload(name);
    let ways = session.ways(&workload, &context.global);
    for _ in 0..TRIES {
        let observed = session.observe(&workload)?;
        let Some(set) = &observed.set else {
            return Err(known::no_such_set(&session, &workload, ""));
        };
        if let Some(why) = refusal(set, name).map(|why| ways.complete(&why)) {
            return Err(CliError::new(Kind::Refused, format!("restart of {workload} is refused: {why}")));
        }
        match session.wait(read::restart(&session.cluster, &workload, set, context.now())) {
            Outcome::Done(_) => {
                writeln!(context.out, "statefulset.apps/{name} restart requested")?;
                let follow = ways.ours(&format!("status {name} -w"));
                context.note(&format!("the daemon rolls it out by the plan: `{follow}` follows it"))?;
                return Ok(Exit::OK);
            }
            Outcome::Moved(_) => {}
            outcome => return Err(failed(&format!("cannot ask for a restart of {workload}"), outcome)),
        }
    }
    Err(CliError::new(Kind::Cluster, format!("{workload} changes too fast to write on it; try again")))
}

/// Without a record nothing holds the pods back: they would all restart at once.
fn refusal(set: &LiveSet, name: &str) -> Option<String> {
    match &set.record {
        RecordState::Is(..) => None,
        RecordState::Absent => Some(format!("it is not managed by phaseline: `phaseline adopt {name}` first")),
        RecordState::Unreadable(why) => Some(format!("its record cannot be read: {why}")),
    }
}
