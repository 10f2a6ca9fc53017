//! The git program, as a person would call it, with nobody's settings.

use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;

use crate::cli::error::{CliError, Kind};

/// Who commits.
const WHO: (&str, &str) = ("Ada", "ada@example.com");

/// Runs git in a folder at that time; what it says on both streams.
///
/// # Errors
/// Where there is no such program, or it fails.
pub(super) fn git(folder: &Path, arguments: &[&str], now: Timestamp) -> Result<String, CliError> {
    let date = format!("@{} +0000", now.as_second());
    let mut command = Command::new("git");
    command.args(["-c", "init.defaultBranch=main", "-c", "advice.detachedHead=false", "-c", "commit.gpgSign=false"]);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C");
    for (role, (name, email)) in [("AUTHOR", WHO), ("COMMITTER", WHO)] {
        command.env(format!("GIT_{role}_NAME"), name).env(format!("GIT_{role}_EMAIL"), email);
        command.env(format!("GIT_{role}_DATE"), &date);
    }
    let output = command.output().map_err(|error| {
        CliError::new(Kind::Git, format!("cannot run git: {error}")).hint("install git; the demo needs nothing else")
    })?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(CliError::new(Kind::Git, format!("git {} failed: {}", arguments.join(" "), said.trim_end()))),
    }
}
