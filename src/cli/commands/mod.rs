//! One file per command.

pub(super) mod completion;
pub(super) mod install;
pub(super) mod lint;
pub(super) mod run;
pub(super) mod version;

use super::args::Command;
use super::context::{Context, Exit};
use super::error::CliError;

/// Runs one command.
pub(super) fn run(command: Command, context: &mut Context<'_>) -> Result<Exit, CliError> {
    match command {
        Command::Run(args) => run::run(&args, context),
        Command::Install(args) => install::run(&args, context),
        Command::Lint(args) => lint::run(&args, context),
        Command::Completion(args) => completion::run(&args, context),
        Command::Version(args) => version::run(&args, context),
    }
}
