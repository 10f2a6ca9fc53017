//! Log lines on stderr: what, from which level on, and how they look.

use std::io;

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// The environment variable with a filter of its own, as tracing spells it: `phaseline=debug,kube=info`.
const FILTER: &str = "PHASELINE_LOG";

/// Who logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A command: silent but for warnings.
    Command,
    /// The daemon, which says what it does.
    Daemon,
    /// A command with a daemon inside, which tells of it in its own words.
    Player,
}

/// Begins to log.
pub(super) fn start(format: LogFormat, verbose: u8, speaker: Speaker) {
    let level = match (verbose, speaker) {
        (0, Speaker::Player) => "off",
        (0, Speaker::Command) => "warn",
        (0, Speaker::Daemon) | (1, Speaker::Command | Speaker::Player) => "info",
        (1, Speaker::Daemon) | (2, _) => "debug",
        _ => "trace",
    };
    // Libraries print whole requests below info, and credentials with them: their level is only raised by hand.
    let filter = EnvFilter::try_from_env(FILTER).unwrap_or_else(|_| EnvFilter::new(format!("warn,phaseline={level}")));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second start, as in a test, changes nothing.
    _ = match format {
        LogFormat::Text => log.with_target(false).with_ansi(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}
