//! `status` for people: a table of many, a page of one.

use std::io::{self, Write};

use jiff::Timestamp;

use super::status::{AwaitedState, DaemonSeen, DaemonState, Revision, SourceState, StageState, Status};
use super::table::columns;
use super::text;
use crate::model::{CommitId, PARKED, Phase, Reason, TemplateHash};

/// A table; `namespaces` adds their column, `wide` what is rarely needed.
pub(crate) fn list(items: &[Status], namespaces: bool, wide: bool, now: Timestamp) -> String {
    let first = ["NAME", "PHASE", "REASON", "STAGE", "UPDATED", "SINCE", "TARGET"].map(str::to_owned);
    let further = ["STABLE", "READY", "PARTITION", "REVISION", "CULPRIT"].map(str::to_owned);
    let row = |namespace: String, first: [String; 7], middle: [String; 5], last: [String; 2]| {
        let [waiting, message] = last;
        let namespace = namespaces.then_some(namespace);
        let (middle, message) = (wide.then_some(middle), wide.then_some(message));
        namespace.into_iter().chain(first).chain(middle.into_iter().flatten()).chain([waiting]).chain(message).collect()
    };
    let header = row("NAMESPACE".to_owned(), first, further, ["WAITING", "MESSAGE"].map(str::to_owned));
    let rows = items.iter().map(|item| row(item.namespace.clone(), head(item, now), middle(item), last(item)));
    columns(header, rows)
}

fn head(item: &Status, now: Timestamp) -> [String; 7] {
    [
        item.name.clone(),
        item.phase.to_string(),
        item.reason.to_string(),
        item.stage.as_ref().map(stage).unwrap_or_default(),
        of_all(item.updated, item),
        item.since.map(|since| age(since, now)).unwrap_or_default(),
        item.target.as_ref().map(|target| short_commit(&target.commit)).unwrap_or_default(),
    ]
}

fn middle(item: &Status) -> [String; 5] {
    [
        item.stable.as_ref().map(|stable| short_commit(&stable.commit)).unwrap_or_default(),
        of_all(item.ready, item),
        item.partition.map(partition).unwrap_or_default(),
        item.update_revision.clone().unwrap_or_default(),
        item.culprit.as_ref().map(|culprit| format!("{}: {}", culprit.pod, culprit.reason)).unwrap_or_default(),
    ]
}

fn last(item: &Status) -> [String; 2] {
    let said = message(item).lines().next().unwrap_or_default().to_owned();
    let waiting = match &item.waiting_on {
        // Nobody can put right what is not named.
        Some(waiting) if waiting.kind == "Correction" && !said.is_empty() => said.clone(),
        Some(waiting) => waiting.text.clone(),
        None => String::new(),
    };
    [waiting, said]
}

/// `3/5`: so many of all replicas; `?` where they cannot be told.
fn of_all(count: Option<u32>, item: &Status) -> String {
    let Some(replicas) = item.replicas else { return String::new() };
    count.map_or_else(|| format!("?/{replicas}"), |count| format!("{count}/{replicas}"))
}

/// How long ago, as kubectl tells ages: two units at most, none that nobody needs.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600, seconds / 60);
    match (days, hours, minutes) {
        (_, _, 0..2) => format!("{seconds}s"),
        (_, _, 2..10) if seconds % 60 > 0 => format!("{minutes}m{}s", seconds % 60),
        (_, 0..3, _) => format!("{minutes}m"),
        (_, 3..8, _) if minutes % 60 > 0 => format!("{hours}h{}m", minutes % 60),
        (0..2, _, _) => format!("{hours}h"),
        (2..8, _, _) if hours % 24 > 0 => format!("{days}d{}h", hours % 24),
        _ => format!("{days}d"),
    }
}

/// What there is to say beyond what stands in other places: at a pause of the plan, that it can be promoted.
fn message(item: &Status) -> &str {
    let Some(waiting) = item.waiting_on.as_ref().filter(|_| item.reason == Reason::StagePaused) else {
        return &item.message;
    };
    let command = waiting.text.strip_prefix("for ").unwrap_or_default();
    match item.message.strip_prefix(command).and_then(|rest| rest.strip_prefix(" goes on")) {
        Some(rest) if !command.is_empty() => rest.trim_start_matches([';', ' ', '\n']),
        _ => &item.message,
    }
}

/// A page about one workload.
pub(crate) fn page(
    out: &mut dyn Write,
    item: &Status,
    source: Option<&SourceState>,
    now: Timestamp,
    color: bool,
) -> io::Result<()> {
    writeln!(out, "{} in namespace {}", text::line(&item.name), text::line(&item.namespace))?;
    writeln!(out, "  {:<9} {} ({})", "Phase:", painted(item.phase, color), item.reason)?;
    if let Some(state) = &item.stage {
        let partition = partition(state.partition);
        row(out, "Stage", &format!("{}, {} pods verified, partition {partition}", stage(state), pods(state)))?;
    }
    if item.replicas.is_some() {
        let rest = item.partition.filter(|_| item.stage.is_none());
        let rest = rest.map(|at| format!(", partition {}", partition(at))).unwrap_or_default();
        let updated = item.target.is_some().then(|| format!("{} updated, ", of_all(item.updated, item)));
        row(out, "Pods", &format!("{}{} Ready{rest}", updated.unwrap_or_default(), of_all(item.ready, item)))?;
    }
    if let Some(since) = item.since {
        row(out, "Since", &age(since, now))?;
    }
    if let Some(waiting) = &item.waiting_on {
        row(out, "Waits", &text::line(&waiting.text))?;
    }
    for next in &item.next {
        row(out, "Next", &text::line(next))?;
    }
    if let Some(culprit) = &item.culprit {
        row(out, "Culprit", &text::line(&format!("{}: {}", culprit.pod, culprit.reason)))?;
    }
    if let Some(target) = &item.target {
        row(out, "Target", &revision(target))?;
    }
    if let Some(stable) = &item.stable {
        row(out, "Stable", &revision(stable))?;
    }
    if let Some(pending) = &item.pending_commit {
        row(out, "Pending", &format!("commit {}", short_commit(pending)))?;
    }
    if let Some(awaited) = &item.awaited {
        row(out, "Commit", &awaited_words(awaited))?;
    }
    daemon(out, &item.daemon, now)?;
    if let Some(hold) = &item.hold {
        row(out, "Held by", &text::line(&hold.by))?;
    }
    if let Some(request) = &item.request {
        row(out, "Asked", &text::line(&format!("{} by {}, not taken yet", request.verb, request.by)))?;
    }
    let message = text::lines(message(item));
    let mut lines = message.lines();
    if let Some(first) = lines.next() {
        row(out, "Message", first)?;
    }
    for line in lines {
        row(out, "", line)?;
    }
    if let Some(source) = source {
        row(out, "Source", &text::line(&source_line(source)))?;
    }
    for hint in &item.hints {
        row(out, "Try", &text::line(hint))?;
    }
    Ok(())
}

/// Who looks after it, and what it said.
fn daemon(out: &mut dyn Write, seen: &DaemonSeen, now: Timestamp) -> io::Result<()> {
    let daemon = match seen {
        DaemonSeen::Unknown => return Ok(()),
        DaemonSeen::Nobody => return row(out, "Daemon", "no daemon was heard of"),
        DaemonSeen::Is(daemon) => daemon,
    };
    let holder = daemon.holder.as_deref().unwrap_or("none leads");
    let heard = daemon.heard.map(|heard| format!(", heard {} ago", age(heard, now))).unwrap_or_default();
    let DaemonState { version, source, default_namespace, .. } = &**daemon;
    let place = format!("follows {}, default namespace {default_namespace}", source.url);
    row(out, "Daemon", &format!("{holder}, version {version}, {place}{heard}"))?;
    for line in daemon.says.iter().flat_map(|said| said.lines()) {
        row(out, "", line)?;
    }
    match &daemon.trouble {
        Some(trouble) => row(out, "", &format!("for {}: {}", age(trouble.since, now), trouble.message)),
        None => Ok(()),
    }
}

/// The repository in a line.
pub(crate) fn source_line(source: &SourceState) -> String {
    match (source.commit.as_str(), source.trouble.as_str()) {
        (commit, "") => format!("{} at {}", source.url, short_commit(commit)),
        ("", trouble) => trouble.to_owned(),
        (commit, trouble) => format!("{trouble}; the last good commit {} stays in force", short_commit(commit)),
    }
}

/// A line of a page. Whatever it repeats of a record, of Git or of the cluster may have been written by anybody.
fn row(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    let name = if name.is_empty() { String::new() } else { format!("{name}:") };
    writeln!(out, "  {name:<9} {}", text::line(value))
}

fn stage(stage: &StageState) -> String {
    let place = format!("{}/{}", stage.number, stage.of);
    if stage.name.is_empty() { place } else { format!("{place} {}", text::line(&stage.name)) }
}

fn pods(stage: &StageState) -> String {
    match stage.verified {
        Some(verified) => format!("{verified}/{}", stage.count),
        None => format!("?/{}", stage.count),
    }
}

fn partition(partition: u32) -> String {
    if partition == PARKED.0 { "parked".to_owned() } else { partition.to_string() }
}

fn revision(revision: &Revision) -> String {
    let commit = match short_commit(&revision.commit).as_str() {
        "" => "(from before adoption)".to_owned(),
        short => format!("commit {short}"),
    };
    let mut words = format!("{commit}, hash {}", TemplateHash(revision.hash.clone()));
    if let Some(name) = &revision.revision {
        words.push_str(&format!(", {name}"));
    }
    if !revision.restarted_at.is_empty() {
        words.push_str(&format!(", restarted at {}", text::line(&revision.restarted_at)));
    }
    words
}

fn awaited_words(awaited: &AwaitedState) -> String {
    let commit = short_commit(&awaited.commit);
    match (awaited.state, &awaited.by) {
        ("InForce", _) => format!("{commit} is in force"),
        (_, Some(newer)) => format!("{commit}, and {} after it, which is in force", short_commit(newer)),
        ("NotNamed", _) => format!("{commit} says nothing of it"),
        ("Unseen", _) => format!("{commit} is not in the repository yet"),
        _ => format!("{commit} is not in force yet"),
    }
}

fn short_commit(commit: &str) -> String {
    CommitId(commit.to_owned()).short().to_owned()
}

/// A phase, in the colour that goes with it where it may be coloured.
pub(crate) fn painted(phase: Phase, color: bool) -> String {
    if !color {
        return phase.to_string();
    }
    let code = match phase {
        Phase::Healthy => 32,
        Phase::Progressing => 36,
        Phase::Paused => 33,
        Phase::Degraded | Phase::Blocked => 31,
    };
    format!("\x1b[{code}m{phase}\x1b[0m")
}
