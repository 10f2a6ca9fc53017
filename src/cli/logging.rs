//! Log lines on stderr: what, from which level on, and how they look.

use std::io;

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// The environment variable with a filter of its own, as tracing spells it: `phaseline=debug,kube=info`.
const FILTER: &str = "PHASELINE_LOG";

/// Begins to log. A command is silent but for warnings; the daemon says what it does.
pub(super) fn start(format: LogFormat, verbose: u8, daemon: bool) {
    let level = match (verbose, daemon) {
        (0, false) => "warn",
        (0, true) | (1, false) => "info",
        (1, true) | (2, _) => "debug",
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
