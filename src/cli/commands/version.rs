//! `version`: which program this is.

use clap::Args;
use serde::Serialize;

use crate::cli::args::Format;
use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;
use crate::cli::output;
use crate::model::Record;

/// Prints the version
///
/// Beside it stands the version of the rollout record that this program writes: a record of a later version is not
/// touched by it.
#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::among(&["table", "json", "yaml"]))]
    output: Format,
}

/// What `version -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    /// The version of the program.
    version: &'static str,
    /// The version of the rollout record that it writes, and the latest that it reads.
    record_version: u32,
}

pub(super) fn run(args: &VersionArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let version = Version { version: env!("CARGO_PKG_VERSION"), record_version: Record::VERSION };
    match args.output {
        Format::Json => output::json(context.out, &version)?,
        Format::Yaml => output::yaml::document(context.out, &version)?,
        Format::Table | Format::Wide | Format::Name => {
            writeln!(context.out, "phaseline {} (rollout record v{})", version.version, version.record_version)?;
        }
    }
    Ok(Exit::OK)
}
