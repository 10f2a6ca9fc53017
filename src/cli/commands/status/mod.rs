//! `status`: how workloads are, what they wait for, what would move them.

use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::args::{self, Format, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::CliError;
use crate::cli::output::status::{Status, StatusList, StatusObject};
use crate::cli::output::{self, status_text};
use crate::cli::session::Session;
use crate::model::{Phase, WaitingOn};

mod awaited;
mod look;

use awaited::Ask;
use look::{Look, Looker};

/// How often the cluster is asked while somebody watches.
const POLL: Duration = Duration::from_secs(2);

/// How long what looks like the end is looked at once more.
const CONFIRM: Duration = Duration::from_millis(500);

/// Clears the terminal and begins at its top.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows how rollouts are, what they wait for, and what would move them
///
/// Works from the cluster alone, with or without a running daemon. With --repo it fetches first, so that a commit that
/// the daemon has not seen yet counts too: that is what a pipeline wants after a push. Without NAME every managed set
/// of the namespace is shown.
///
/// In a clone of the deploy repository, -w and --timeout wait for its HEAD, or for what its remote is known to have of
/// it, and never end with how things were at the commit before; --commit names another. A set is at a commit when its
/// manifest there is in force, so one that the commit does not touch may be there at once; a newer commit passes it.
///
/// Exit code: 0 Healthy, 1 Degraded or Blocked, 3 still going (at the timeout, or when not waiting), 4 Paused,
/// 2 error; of several workloads the worst, in the order 1, 3, 4, 0.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The set: NAME, sts/NAME or NAMESPACE/NAME
    #[arg(value_name = "NAME", value_parser = args::set_name)]
    name: Option<SetName>,
    /// Watches until the rollout has ended, failed, or waits for a person
    #[arg(short, long)]
    watch: bool,
    /// The commit that it is about: it has ended when the set's manifest there is in force [default: when watching in a
    /// clone, HEAD as far as it is pushed]
    #[arg(long, value_name = "REV")]
    commit: Option<String>,
    /// Waits for that end, at most so long
    #[arg(long, value_name = "DURATION", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "wide", "json", "yaml", "name"]))]
    output: Format,
}

pub(super) fn run(args: &StatusArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let name = args.name.as_ref().map(|name| name.place(&mut context.global)).transpose()?;
    let session = Session::open(&context.global)?;
    let ask = Ask { commit: args.commit.clone(), waits: args.watch || args.timeout.is_some() };
    let (mut looker, note) = Looker::new(&session, &context.global, name, &ask)?;
    if let Some(note) = note {
        context.note(&note)?;
    }
    let mut look = looker.look(context.now())?;
    if !args.watch && args.timeout.is_none() {
        // Sets and pods are read one after the other: what happened in between may look like trouble.
        if look.items.iter().any(|item| matches!(item.phase, Phase::Degraded | Phase::Blocked)) {
            look = looker.look(context.now())?;
        }
        print(args, context, &look)?;
        return Ok(exit(&look.items));
    }
    wait(args, context, &session, &mut looker, look)
}

/// Looks again and again until everything has settled.
fn wait(
    args: &StatusArgs,
    context: &mut Context<'_>,
    session: &Session,
    looker: &mut Looker<'_>,
    mut look: Look,
) -> Result<Exit, CliError> {
    let end = args.timeout.map(|timeout| Instant::now() + timeout);
    let mut shown: Option<Vec<Status>> = None;
    let (mut failing, mut confirmed) = (false, false);
    loop {
        let still: Vec<Status> = look.items.iter().map(Status::still).collect();
        if shown.as_ref() != Some(&still) {
            if args.watch {
                if context.terminal && matches!(args.output, Format::Table | Format::Wide) {
                    write!(context.out, "{CLEAR}")?;
                } else if shown.is_some() && args.output == Format::Table {
                    writeln!(context.out)?;
                }
                print(args, context, &look)?;
            } else {
                for item in &look.items {
                    context.note(&progress(item))?;
                }
            }
            context.out.flush()?;
            shown = Some(still);
        }
        let settled = look.waiting.iter().all(|waiting| !waiting);
        // What is the end is looked at twice: sets and pods are read one after the other.
        let pause = if settled { CONFIRM } else { POLL };
        let left = end.map_or(pause, |end| end.saturating_duration_since(Instant::now()).min(pause));
        if (settled && confirmed) || left.is_zero() {
            if !args.watch {
                print(args, context, &look)?;
            }
            return Ok(exit(&look.items));
        }
        session.wait(async { tokio::time::sleep(left).await });
        match looker.look(context.now()) {
            Ok(news) => {
                confirmed = settled && same(&look, &news);
                (look, failing) = (news, false);
            }
            // It may come back; the last good look stands until then.
            Err(error) if !failing => {
                failing = true;
                error.print(context.err)?;
            }
            Err(_) => {}
        }
    }
}

/// Whether two looks show the same, but for what changes by time alone.
fn same(one: &Look, other: &Look) -> bool {
    one.items.iter().map(Status::still).eq(other.items.iter().map(Status::still))
}

/// A line of progress on stderr.
fn progress(item: &Status) -> String {
    let mut line = format!("{}: {} ({})", item.name, item.phase, item.reason);
    if let Some(stage) = &item.stage {
        line.push_str(&format!(", stage {}/{}", stage.number, stage.of));
    }
    if let Some(waiting) = &item.waiting_on {
        line.push_str(&format!(", waits {}", waiting.text));
    }
    line
}

fn print(args: &StatusArgs, context: &mut Context<'_>, look: &Look) -> Result<(), CliError> {
    let (source, now) = (look.source.as_ref(), context.now());
    match args.output {
        Format::Json | Format::Yaml => match (&args.name, look.items.as_slice()) {
            (Some(_), [item]) => output::structured(context.out, args.output, &StatusObject::of(item, source))?,
            _ => {
                let list = StatusList::of(look.items.clone(), look.source.clone());
                output::structured(context.out, args.output, &list)?;
            }
        },
        Format::Name => {
            for item in &look.items {
                writeln!(context.out, "statefulset.apps/{}", item.name)?;
            }
        }
        Format::Table if args.name.is_some() => {
            for item in &look.items {
                status_text::page(context.out, item, source, now, context.color)?;
            }
        }
        Format::Table | Format::Wide => {
            if let (Some(unread), Format::Wide) = (&look.unread, args.output) {
                context.note(&format!("what the daemon says is not shown: {unread}"))?;
            }
            if let Some(source) = source.filter(|source| !source.trouble.is_empty()) {
                context.note(&format!("warning: {}", status_text::source_line(source)))?;
            }
            if look.items.is_empty() {
                let place = look.place.as_deref().map_or_else(String::new, |name| format!(" in namespace {name}"));
                context.note(&format!("no StatefulSet{place} is managed by phaseline"))?;
                return Ok(());
            }
            let table = status_text::list(&look.items, look.place.is_none(), args.output == Format::Wide, now);
            write!(context.out, "{table}")?;
        }
    }
    Ok(())
}

/// The worst of them: something wrong, then something under way, then something paused.
fn exit(items: &[Status]) -> Exit {
    let codes = items.iter().map(|item| match item.phase {
        Phase::Healthy => 0,
        Phase::Degraded | Phase::Blocked => 1,
        Phase::Progressing => 3,
        Phase::Paused => 4,
    });
    let rank = |code: &u8| [0, 4, 3, 1].iter().position(|other| other == code);
    Exit::of(codes.max_by_key(rank).unwrap_or_default())
}

/// Whether time, or the daemon, will change something without a person.
fn goes_on(phase: Phase, waiting: Option<&WaitingOn>) -> bool {
    match phase {
        Phase::Progressing => true,
        Phase::Paused => matches!(waiting, Some(WaitingOn::Pause { .. })),
        Phase::Healthy | Phase::Degraded | Phase::Blocked => false,
    }
}

#[cfg(test)]
mod tests;
