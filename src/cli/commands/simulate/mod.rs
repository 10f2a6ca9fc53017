//! `simulate`: a commit played on the embedded cluster in virtual time. Writes nothing, anywhere.

use std::time::Duration;

use clap::Args;

use crate::cli::args::{Format, duration};
use crate::cli::context::{Context, Exit};
use crate::cli::embedded::Kubernetes;
use crate::cli::error::CliError;
use crate::cli::local;
use crate::cli::output::simulation::Simulation;
use crate::cli::output::{self, simulation_text};

mod failures;
mod live;
mod play;
mod report;
mod subject;
pub(super) mod timeline;

/// What `-o json` holds; a test validates real simulations by it.
const SCHEMA: &str = include_str!("../../output/simulation.schema.json");

/// Plays a rollout on the embedded cluster, in virtual time
///
/// The daemon that would roll the commit out runs here, on a small cluster inside of this program: hours pass in a
/// moment, and nothing is written anywhere. REV is a branch, a tag, an id or HEAD~1; without it the tip is meant.
///
/// It begins with what the kubeconfig's cluster shows (its sets, pods and revisions are read once) or, with --offline
/// and where there is no kubeconfig, with the newest earlier commit that differs, installed and Healthy. A folder that
/// is no repository (examples/web) is installed as it is, and then every pod is restarted through the plan.
///
/// --fail web-1=CrashLoop@30s breaks a pod from 30 s after the rollout began on, whatever runs in it. Reasons:
/// ImagePullBackOff, CrashLoop, NeverReady, NotReady, Flap(10s), Failed, Evicted, Unschedulable, SlowStart(1m),
/// SlowTermination(1m). TIME may be a span, 30s..2m; `web-*` is every pod, `,new` means the new revision only.
///
/// Exit code: 0 everything ends Healthy, 1 it does not (or a failure never struck), 2 something is wrong.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The commit [default: the tip]
    #[arg(value_name = "REV")]
    rev: Option<String>,
    /// The files of the work tree as they are, in place of a commit
    #[arg(long, conflicts_with = "rev")]
    worktree: bool,
    /// Asks no cluster: begins with the newest earlier commit that differs
    #[arg(long)]
    offline: bool,
    /// Restarts every pod, as `phaseline restart` does, in place of a change
    #[arg(long)]
    restart: bool,
    /// What goes wrong with a pod, and when; may be repeated
    #[arg(long, value_name = "POD=REASON@TIME")]
    fail: Vec<String>,
    /// How long pods take from their start to Ready, all or one; may be repeated [default: 10s]
    #[arg(long, value_name = "DURATION|POD=DURATION")]
    slow: Vec<String>,
    /// When a person promotes a stage that waits for one, or `never`
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = promotion)]
    promote: Promotion,
    /// What chance makes of it: the same seed, the same run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// When it is given up, in virtual time
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    timeout: Duration,
    /// The Kubernetes that the embedded cluster behaves like [default: the cluster's own, else 1.36]
    #[arg(long, value_enum, value_name = "VERSION")]
    kubernetes: Option<Kubernetes>,
    /// The replicas of sets whose manifests state none, and which no cluster shows
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    replicas: Option<u32>,
    /// Prints the JSON Schema of -o json, and plays nothing
    #[arg(long)]
    schema: bool,
    /// How to print it; `wide` has every event of every pod
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "wide", "json", "yaml"]))]
    output: Format,
}

/// Whether somebody promotes stages that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promotion {
    After(Duration),
    Never,
}

fn promotion(text: &str) -> Result<Promotion, String> {
    match text {
        "never" => Ok(Promotion::Never),
        text => duration(text).map(Promotion::After),
    }
}

pub(super) fn run(args: &SimulateArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.schema {
        write!(context.out, "{SCHEMA}")?;
        return Ok(Exit::OK);
    }
    local::prefer_clone(&mut context.global);
    let subject = subject::find(args, context)?;
    let script = failures::script(args, &subject)?;
    let simulation = play::play(args, subject, script)?;
    print(args, context, &simulation)?;
    Ok(Exit::of(simulation.exit_code()))
}

fn print(args: &SimulateArgs, context: &mut Context<'_>, simulation: &Simulation) -> Result<(), CliError> {
    match args.output {
        Format::Json | Format::Yaml => output::structured(context.out, args.output, simulation),
        Format::Table | Format::Wide | Format::Name => {
            let all = args.output == Format::Wide;
            Ok(simulation_text::print(context.out, simulation, all, context.color)?)
        }
    }
}
