//! `demo`: a whole story on the embedded cluster, from the first install to the revert of a bad push.

use std::sync::Arc;

use clap::Args;
use tokio::runtime::Builder;

use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};

mod git;
mod pods;
mod story;
mod theatre;

use theatre::Theatre;

/// Shows what Phaseline does: install, a staged rollout, a bad push, its revert
///
/// Needs git and nothing else: the cluster is inside of this program, the repository in a temporary folder, and the daemon
/// between them is the one that `phaseline run` runs. Every step says what one would type and shows what comes of it.
/// Nothing is left behind.
///
/// It takes about a minute. --fast plays it in virtual time, in a second. --keep leaves the cluster and the repository
/// running at the end, for kubectl and for you, until Ctrl-C.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// In virtual time: the same words, at once
    #[arg(long)]
    fast: bool,
    /// Keeps cluster and repository until Ctrl-C, with a kubeconfig
    #[arg(long, conflicts_with = "fast")]
    keep: bool,
    /// What chance makes of it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(args: &DemoArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let runtime = Builder::new_current_thread().enable_all().start_paused(args.fast).build();
    let runtime = runtime.map_err(|error| CliError::new(Kind::Io, format!("cannot start: {error}")))?;
    let runtime = Arc::new(runtime);
    let _within = runtime.enter();
    let mut theatre = Theatre::open(args, &runtime, context)?;
    let told = story::tell(&mut theatre, args.keep);
    theatre.close()?;
    told?;
    Ok(Exit::OK)
}
