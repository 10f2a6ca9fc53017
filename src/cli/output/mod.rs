//! What commands print: tables for people, JSON and YAML for programs.

pub(crate) mod table;
pub(crate) mod text;
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
