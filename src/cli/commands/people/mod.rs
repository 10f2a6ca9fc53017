//! People's commands: each writes a request on the set, and waits for what comes of it.

use std::time::Duration;

use clap::Args;

use crate::cli::args::{self, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;
use crate::model::Verb;

mod ask;
mod early;
mod recreate;
mod restart;
mod who;

pub(super) use who::host;

pub(crate) use restart::RestartArgs;
pub(super) use restart::run as restart;

/// What every one of these commands takes.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The set: NAME, sts/NAME or NAMESPACE/NAME
    #[arg(value_name = "NAME", value_parser = args::set_name)]
    name: SetName,
    /// How long to wait for the daemon's answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = args::duration)]
    wait: Duration,
}

/// Ends the pause that a rollout stands in: on to the next stage
///
/// It is refused when the rollout or the stage is no longer the one that was there when the command began.
#[derive(Debug, Args)]
pub(crate) struct PromoteArgs {
    /// To the end: further pauses and soaks are skipped, readiness never
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    asked: Asked,
}

/// Holds a rollout where it is
///
/// Exposed pods keep the target, nothing more is exposed, and a new commit waits, until `phaseline resume`.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    asked: Asked,
}

/// Ends a hold, or decides about a drift, a newer plan or a blocked commit
///
/// Without an option it ends `phaseline pause`, or lets in the commit that `onNewRevision: Block` holds back.
///
/// --recreate is for a set that was deleted while its pods stayed (`--cascade=orphan`): it finds the commit that the
/// lowest pod runs and creates the set there, parked. The set adopts the pods and restarts none; then the daemon rolls
/// the tip out by the plan. It is refused where the set exists, a pod still has an owner, or no commit matches.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// After a drift: puts Git's state back
    #[arg(long, group = "how")]
    overwrite: bool,
    /// After a drift: goes on from what is there
    #[arg(long, group = "how")]
    accept: bool,
    /// Takes the edited plan in the middle of a rollout; exposed pods stay exposed
    #[arg(long, group = "how")]
    replan: bool,
    /// After the set was deleted and its pods were not: creates it at the commit that they run, without a restart
    #[arg(long, group = "how")]
    recreate: bool,
    #[command(flatten)]
    asked: Asked,
}

/// Tries a target that failed once more
///
/// The rollout goes on from the stage where it stopped, with another deadline.
#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    asked: Asked,
}

/// Takes over a set that exists, without restarting a pod
///
/// The live revision becomes the stable one. Where Git's template differs, the difference is the first rollout, staged.
#[derive(Debug, Args)]
pub(crate) struct AdoptArgs {
    #[command(flatten)]
    asked: Asked,
}

/// Gives a set back: its record goes, and with it the partition that held it
///
/// The set and its pods stay as they are. In the middle of a rollout the partition is left where it is.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn promote(args: &PromoteArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    ask::ask(if args.full { Verb::PromoteFull } else { Verb::Promote }, &args.asked, context)
}

pub(super) fn pause(args: &PauseArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    ask::ask(Verb::Pause, &args.asked, context)
}

pub(super) fn resume(args: &ResumeArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.recreate {
        return recreate::run(&args.asked.name, context);
    }
    let verb = match (args.overwrite, args.accept, args.replan) {
        (true, ..) => Verb::ResumeOverwrite,
        (_, true, _) => Verb::ResumeAccept,
        (.., true) => Verb::ResumeReplan,
        (false, false, false) => Verb::Resume,
    };
    ask::ask(verb, &args.asked, context)
}

pub(super) fn retry(args: &RetryArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    ask::ask(Verb::Retry, &args.asked, context)
}

pub(super) fn adopt(args: &AdoptArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    ask::ask(Verb::Adopt, &args.asked, context)
}

pub(super) fn release(args: &ReleaseArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    ask::ask(Verb::Release, &args.asked, context)
}
