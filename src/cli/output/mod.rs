//! What commands print: tables for people, JSON and YAML for programs.

pub(crate) mod diff;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod plan;
pub(crate) mod plan_markdown;
pub(crate) mod plan_push;
pub(crate) mod plan_text;
pub(crate) mod simulation;
pub(crate) mod simulation_text;
pub(crate) mod status;
pub(crate) mod status_text;
pub(crate) mod table;
pub(crate) mod telling;
pub(crate) mod template;
pub(crate) mod text;
pub(crate) mod trace;
pub(crate) mod ways;
pub(crate) mod words;
pub(crate) mod yaml;

use std::io::Write;

use serde::Serialize;

use super::args::Format;
use super::error::{CliError, Kind};
use crate::model::printable;

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
    Ok(writeln!(out, "{}", printable::json(&text))?)
}

/// A commit's date as RFC 3339, by its author's clock, as `git log --format=%aI` shows it (newer
/// versions of Git write UTC as `Z`); empty where it is no date.
pub(crate) fn date(seconds: i64, zone: i32) -> String {
    let Ok(date) = jiff::Timestamp::from_second(seconds) else { return String::new() };
    let offset = jiff::tz::Offset::from_seconds(zone.saturating_mul(60)).unwrap_or(jiff::tz::Offset::UTC);
    date.display_with_offset(offset).to_string()
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_told_by_the_authors_clock() {
        assert_eq!(date(1_772_000_000, 0), "2026-02-25T06:13:20+00:00");
        assert_eq!(date(1_772_000_000, 330), "2026-02-25T11:43:20+05:30");
        assert_eq!(date(0, -570), "1969-12-31T14:30:00-09:30");
        assert_eq!(date(4_102_444_800, 840), "2100-01-01T14:00:00+14:00");
        assert_eq!(date(i64::MAX, 60), "");
    }
}
