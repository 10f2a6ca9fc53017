//! The command line: parses the arguments, runs one command, turns what came of it into an exit code.
//!
//! Floor 4. Data goes to stdout, progress and diagnostics to stderr, both through writers that a test can replace.
//! `args` has the options, `commands` one file per command, `output` what they print: tables for people, and DTOs
//! that are not the model for `-o json|yaml`. Rules of a rollout are not known here: whatever a command says about
//! them, it says by asking [`crate::rollout::decide`].

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};

mod args;
mod commands;
mod context;
mod embedded;
mod error;
#[cfg(test)]
mod fixtures;
mod foresee;
mod heard;
mod inputs;
mod known;
mod kubeconfig;
mod local;
mod logging;
mod output;
mod placing;
mod repository;
mod session;
mod stages;
mod temporary;

use args::Cli;
use context::Context;
use error::CliError;

/// The program from its arguments to its exit code.
pub fn main() -> ExitCode {
    // Not locked: the daemon's threads log to stderr while this one waits for them.
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    let terminal = stdout.is_terminal();
    ExitCode::from(run(std::env::args_os(), &mut stdout, &mut stderr, terminal))
}

/// Runs one command line; the result is the exit code.
///
/// `terminal` says whether stdout is one: then it may be coloured, and redrawn.
pub fn run<I>(arguments: I, out: &mut dyn Write, err: &mut dyn Write, terminal: bool) -> u8
where
    I: IntoIterator<Item = OsString>,
{
    let color = terminal && no_color_is_unset();
    let cli = match parsed(arguments) {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error, out, err, color),
    };
    logging::start(cli.global.log_format, cli.global.verbose, cli.command.speaker());
    let mut context = Context { global: cli.global, out, err, terminal, color };
    let result = commands::run(cli.command, &mut context).and_then(|exit| {
        context.out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => exit.code(),
        Err(error) => {
            // Where even stderr is gone there is nobody left to tell.
            _ = error.print(context.err);
            error.code
        }
    }
}

/// The parser, for help texts and completion scripts.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The arguments, and which of them the environment has said.
fn parsed<I>(arguments: I) -> Result<Cli, clap::Error>
where
    I: IntoIterator<Item = OsString>,
{
    let matches = Cli::command().try_get_matches_from(arguments)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.global.repo_of_environment = matches.value_source("repo") == Some(ValueSource::EnvVariable);
    Ok(cli)
}

/// Help, the version, or what is wrong with the arguments.
fn unparsed(error: &clap::Error, out: &mut dyn Write, err: &mut dyn Write, color: bool) -> u8 {
    let text = error.render();
    let text = if color { text.ansi().to_string() } else { text.to_string() };
    let written = if error.use_stderr() { err.write_all(text.as_bytes()) } else { out.write_all(text.as_bytes()) };
    match written {
        Ok(()) => u8::try_from(error.exit_code()).unwrap_or(CliError::USAGE),
        Err(_) => CliError::BROKEN_PIPE,
    }
}

/// <https://no-color.org>: set to anything but the empty string, there is no colour.
fn no_color_is_unset() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
