//! What commands print: tables for people, JSON and YAML for programs.

pub(crate) mod diff;
pub(crate) mod history;
pub(crate) mod plan;
pub(crate) mod plan_markdown;
pub(crate) mod plan_text;
pub(crate) mod status;
pub(crate) mod status_text;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod words;
pub(crate) mod yaml;

use std::io::Write;

use serde::Serialize;

use super::args::Format;
use super::error::{CliError, Kind};

/// The API version of everything printed by `-o json|yaml`.
pub(crate) const API_VERSION: &str = "phaseline.dev/v1alpha1";

/// Writes JSON or YAML, as the format says.
pub(crate) fn structured(out: &mut dyn Write, format: Format, value: &impl Serialize) -> Result<(), CliError> {
    match format {
        Format::Yaml => yaml::document(out, value),
        Format::Json | Format::Table | Format::Wide | Format::Name => json(out, value),
    }
}

/// Writes JSON, indented, with a line end behind it.
pub(crate) fn json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CliError::of(Kind::Io, &error))?;
    Ok(writeln!(out, "{text}")?)
}

/// Seconds since 1970-01-01 UTC as RFC 3339; empty where they are no date.
pub(crate) fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map(|date| date.to_string()).unwrap_or_default()
}
