//! `completion`: a script that lets a shell complete commands and options.

use clap::Args;
use clap_complete::Shell;

use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;

/// Prints a completion script for a shell
///
/// For one session: `source <(phaseline completion bash)`. For all: write it to where the shell looks for completions,
/// as /etc/bash_completion.d/phaseline or "${fpath[1]}/_phaseline".
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    // Made in memory: the generator itself panics at a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::command(), "phaseline", &mut script);
    context.out.write_all(&script)?;
    Ok(Exit::OK)
}
