//! Log lines on stderr: what, from which level on, and how they look.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;
use crate::model::printable;

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
    let writer = move || Printable { out: io::stderr(), format };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A second start, as in a test, changes nothing.
    _ = match format {
        LogFormat::Text => log.with_target(false).with_ansi(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}

/// Writes log lines that may repeat what anybody has written: nothing in them steers a terminal, and nothing that is
/// repeated looks like a line of its own.
struct Printable<W> {
    out: W,
    format: LogFormat,
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
        let safe = match self.format {
            LogFormat::Text => printable::lines(text).replace('\n', "\n    "),
            LogFormat::Json => printable::json(text),
        };
        self.out.write_all(format!("{safe}{end}").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_steers_nothing_and_forges_no_line() {
        let written = |format, text: &str| {
            let mut out = Vec::new();
            Printable { out: &mut out, format }.write_all(text.as_bytes()).unwrap();
            String::from_utf8(out).unwrap()
        };
        let line = "INFO said \u{202e}x\x1b[2J\n2026-01-01 ERROR forged\n";
        assert_eq!(written(LogFormat::Text, line), "INFO said \u{fffd}x\u{fffd}[2J\n    2026-01-01 ERROR forged\n");
        assert_eq!(written(LogFormat::Json, "{\"m\":\"\u{202e}\"}\n"), "{\"m\":\"\\u202e\"}\n");
    }
}
