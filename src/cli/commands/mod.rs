//! One file per command.

pub(super) mod cluster;
pub(super) mod completion;
pub(super) mod demo;
pub(super) mod diff;
pub(super) mod hash;
pub(super) mod history;
pub(super) mod hooks;
pub(super) mod install;
pub(crate) mod lint;
pub(super) mod people;
pub(super) mod plan;
pub(super) mod render;
pub(super) mod run;
pub(super) mod simulate;
pub(super) mod status;
pub(super) mod trace;
pub(super) mod version;

use super::args::Command;
use super::context::{Context, Exit};
use super::error::CliError;

/// Runs one command.
pub(super) fn run(command: Command, context: &mut Context<'_>) -> Result<Exit, CliError> {
    match command {
        Command::Run(args) => run::run(&args, context),
        Command::Cluster(args) => cluster::run(&args, context),
        Command::Plan(args) => plan::run(&args, context),
        Command::Simulate(args) => simulate::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::History(args) => history::run(&args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Diff(args) => diff::run(&args, context),
        Command::Trace(args) => trace::run(&args, context),
        Command::Promote(args) => people::promote(&args, context),
        Command::Pause(args) => people::pause(&args, context),
        Command::Resume(args) => people::resume(&args, context),
        Command::Retry(args) => people::retry(&args, context),
        Command::Restart(args) => people::restart(&args, context),
        Command::Adopt(args) => people::adopt(&args, context),
        Command::Release(args) => people::release(&args, context),
        Command::Install(args) => install::run(&args, context),
        Command::Hash(args) => hash::run(&args, context),
        Command::Render(args) => render::run(&args, context),
        Command::Lint(args) => lint::run(&args, context),
        Command::Hooks(command) => hooks::run(&command, context),
        Command::Completion(args) => completion::run(&args, context),
        Command::Version(args) => version::run(&args, context),
    }
}
