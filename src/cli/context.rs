//! What every command is given: the shared options, where to write, what time it is.

use std::io::Write;

use jiff::Timestamp;

use super::args::GlobalArgs;
use super::error::CliError;
use crate::clock::Clock;

/// A command's surroundings.
pub(crate) struct Context<'a> {
    /// Options of every command.
    pub(crate) global: GlobalArgs,
    /// Data.
    pub(crate) out: &'a mut dyn Write,
    /// Progress and diagnostics.
    pub(crate) err: &'a mut dyn Write,
    /// Whether stdout is a terminal.
    pub(crate) terminal: bool,
    /// Whether stdout may be coloured.
    pub(crate) color: bool,
}

impl Context<'_> {
    /// The time: asked for here and nowhere below.
    pub(crate) fn now(&self) -> Timestamp {
        self.global.inside.as_ref().map_or(Clock::Real, |inside| inside.clock).now()
    }

    /// A line for the person, on stderr.
    pub(crate) fn note(&mut self, line: &str) -> Result<(), CliError> {
        Ok(writeln!(self.err, "{}", super::output::text::lines(line))?)
    }
}

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// All is well.
    pub(crate) const OK: Self = Self(0);

    /// The process' exit code.
    pub(crate) fn code(self) -> u8 {
        self.0
    }

    /// An exit code that says something.
    pub(crate) const fn of(code: u8) -> Self {
        Self(code)
    }
}
