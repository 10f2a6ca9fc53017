//! What ends a command early: what was being done, why it failed, the way out, and the exit code.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use crate::cluster::{ConnectError, RequestError};
use crate::git::GitError;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line makes no sense.
    Usage,
    /// Kubeconfig, credentials, folders.
    Config,
    /// The cluster cannot be reached, or says no.
    Cluster,
    /// The repository cannot be reached or read.
    Git,
    /// Nothing goes by that name.
    NotFound,
    /// What was asked for is not done, with the reason.
    Refused,
    /// A file, or the terminal.
    Io,
    /// The reader of our output has gone.
    BrokenPipe,
}

/// Why a command did not do what it was told.
///
/// The chain of causes is joined into the message once, where it is made; nothing else joins it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CliError {
    /// What kind of thing went wrong.
    pub(crate) kind: Kind,
    /// What was being done, and why it failed, in one sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
    /// The exit code.
    pub(crate) code: u8,
}

impl CliError {
    /// The exit code of errors: usage, configuration, unreachable.
    pub(crate) const USAGE: u8 = 2;
    /// The exit code of a refusal.
    pub(crate) const REFUSED: u8 = 1;
    /// What a shell reports of a program that a closed pipe has ended: 128 + SIGPIPE.
    pub(crate) const BROKEN_PIPE: u8 = 141;

    /// An error of a kind, with its message.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let code = match kind {
            Kind::Refused => Self::REFUSED,
            Kind::BrokenPipe => Self::BROKEN_PIPE,
            Kind::Usage | Kind::Config | Kind::Cluster | Kind::Git | Kind::NotFound | Kind::Io => Self::USAGE,
        };
        Self { kind, message: message.into(), hints: Vec::new(), code }
    }

    /// An error with its causes.
    pub(crate) fn of(kind: Kind, error: &(dyn Error + 'static)) -> Self {
        Self::new(kind, chain(error))
    }

    /// The same with a way out; an empty one is none.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !hint.is_empty() {
            self.hints.push(hint);
        }
        self
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// Where the writer fails.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.kind == Kind::BrokenPipe {
            return Ok(());
        }
        writeln!(out, "{self}")
    }
}

impl fmt::Display for CliError {
    /// `error: message`, and every hint on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", super::output::text::lines(&self.message))?;
        for hint in &self.hints {
            write!(f, "\nhint: {}", super::output::text::lines(hint))?;
        }
        Ok(())
    }
}

impl Error for CliError {}

impl From<io::Error> for CliError {
    /// A failed write to stdout or stderr; what else is read and written says so where it is done.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::BrokenPipe, "the output is closed"),
            _ => Self::new(Kind::Io, format!("cannot write the output: {error}")),
        }
    }
}

impl From<ConnectError> for CliError {
    fn from(error: ConnectError) -> Self {
        Self::of(Kind::Config, &error).hint(error.hint())
    }
}

impl From<RequestError> for CliError {
    fn from(error: RequestError) -> Self {
        let message = match &error {
            RequestError::Unreachable { server, source } => format!("cannot reach the cluster at {server}: {source}"),
            _ => chain(&error),
        };
        Self::new(Kind::Cluster, message).hint(error.hint())
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        Self::of(Kind::Git, &error).hint(error.hint())
    }
}

/// An error and its causes in one line; what a cause repeats is said once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot reach the cluster at https://10.0.0.1:6443")]
    struct Unreachable(#[source] io::Error);

    #[test]
    fn the_chain_is_joined_once_and_hints_follow() {
        let error = Unreachable(io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused"));
        let error = CliError::of(Kind::Cluster, &error).hint("is it the right --context?").hint("");
        assert_eq!(
            error.to_string(),
            "error: cannot reach the cluster at https://10.0.0.1:6443: connection refused\nhint: is it the right --context?"
        );
        assert_eq!(error.code, 2);
    }

    #[test]
    fn a_broken_pipe_is_silent() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        let mut said = Vec::new();
        error.print(&mut said).unwrap();
        assert_eq!((error.code, said.len()), (141, 0));
    }

    #[test]
    fn refusals_are_no_errors() {
        assert_eq!(CliError::new(Kind::Refused, "no").code, 1);
        assert_eq!(CliError::new(Kind::NotFound, "no").code, 2);
    }
}
