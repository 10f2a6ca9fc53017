//! `status` for people: a table of many, a page of one.

use std::io::{self, Write};

use super::status::{Revision, SourceState, StageState, Status};
use super::table::table;
use super::text;
use crate::model::{CommitId, PARKED, Phase, Reason, TemplateHash};

/// A table; `namespaces` adds their column, `wide` what is rarely needed.
pub(crate) fn list(items: &[Status], namespaces: bool, wide: bool) -> String {
    if namespaces && wide {
        let rows = items.iter().map(|item| {
            let [name, phase, reason, stage, pods, target, waiting] = narrow(item);
            let [partition, stable, revision, culprit] = further(item);
            let namespace = item.namespace.clone();
            [namespace, name, phase, reason, stage, pods, target, stable, partition, revision, culprit, waiting]
        });
        return table(
            [
                "NAMESPACE",
                "NAME",
                "PHASE",
                "REASON",
                "STAGE",
                "PODS",
                "TARGET",
                "STABLE",
                "PARTITION",
                "REVISION",
                "CULPRIT",
                "WAITING",
            ],
            rows,
        );
    }
    if wide {
        let rows = items.iter().map(|item| {
            let [name, phase, reason, stage, pods, target, waiting] = narrow(item);
            let [partition, stable, revision, culprit] = further(item);
            [name, phase, reason, stage, pods, target, stable, partition, revision, culprit, waiting]
        });
        return table(
            [
                "NAME",
                "PHASE",
                "REASON",
                "STAGE",
                "PODS",
                "TARGET",
                "STABLE",
                "PARTITION",
                "REVISION",
                "CULPRIT",
                "WAITING",
            ],
            rows,
        );
    }
    if namespaces {
        let rows = items.iter().map(|item| {
            let [name, phase, reason, stage, pods, target, waiting] = narrow(item);
            [item.namespace.clone(), name, phase, reason, stage, pods, target, waiting]
        });
        return table(["NAMESPACE", "NAME", "PHASE", "REASON", "STAGE", "PODS", "TARGET", "WAITING"], rows);
    }
    table(["NAME", "PHASE", "REASON", "STAGE", "PODS", "TARGET", "WAITING"], items.iter().map(narrow))
}

fn narrow(item: &Status) -> [String; 7] {
    [
        item.name.clone(),
        item.phase.to_string(),
        item.reason.to_string(),
        item.stage.as_ref().map(stage).unwrap_or_default(),
        item.stage.as_ref().map_or_else(|| item.replicas.map(|all| all.to_string()).unwrap_or_default(), pods),
        item.target.as_ref().map(|target| short_commit(&target.commit)).unwrap_or_default(),
        item.waiting_on.as_ref().map(|waiting| waiting.text.clone()).unwrap_or_default(),
    ]
}

fn further(item: &Status) -> [String; 4] {
    [
        item.partition.map(partition).unwrap_or_default(),
        item.stable.as_ref().map(|stable| short_commit(&stable.commit)).unwrap_or_default(),
        item.update_revision.clone().unwrap_or_default(),
        item.culprit.as_ref().map(|culprit| format!("{}: {}", culprit.pod, culprit.reason)).unwrap_or_default(),
    ]
}

/// A page about one workload.
pub(crate) fn page(out: &mut dyn Write, item: &Status, source: Option<&SourceState>, color: bool) -> io::Result<()> {
    writeln!(out, "{} in namespace {}", item.name, item.namespace)?;
    let phase = painted(item.phase, color);
    row(out, "Phase", &format!("{phase} ({})", item.reason))?;
    if let Some(state) = &item.stage {
        let partition = partition(state.partition);
        row(out, "Stage", &format!("{}, {} pods verified, partition {partition}", stage(state), pods(state)))?;
    } else if let (Some(replicas), Some(at)) = (item.replicas, item.partition) {
        row(out, "Pods", &format!("{replicas}, partition {}", partition(at)))?;
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
    if let Some(hold) = &item.hold {
        row(out, "Held by", &text::line(&hold.by))?;
    }
    if let Some(request) = &item.request {
        row(out, "Asked", &text::line(&format!("{} by {}, not taken yet", request.verb, request.by)))?;
    }
    // At a pause of the plan it only names the command that stands below.
    if !item.message.is_empty() && item.reason != Reason::StagePaused {
        let message = text::lines(&item.message);
        let mut lines = message.lines();
        row(out, "Message", lines.next().unwrap_or_default())?;
        for line in lines {
            row(out, "", line)?;
        }
    }
    if let Some(source) = source {
        row(out, "Source", &text::line(&source_line(source)))?;
    }
    for hint in &item.hints {
        row(out, "Try", &text::line(hint))?;
    }
    Ok(())
}

/// The repository in a line.
pub(crate) fn source_line(source: &SourceState) -> String {
    match (source.commit.as_str(), source.trouble.as_str()) {
        (commit, "") => format!("{} at {}", source.url, short_commit(commit)),
        ("", trouble) => trouble.to_owned(),
        (commit, trouble) => format!("{trouble}; the last good commit {} stays in force", short_commit(commit)),
    }
}

fn row(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    let name = if name.is_empty() { String::new() } else { format!("{name}:") };
    writeln!(out, "  {name:<9} {value}")
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
