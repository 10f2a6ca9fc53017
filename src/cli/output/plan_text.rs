//! `plan` for people: a page for each workload that changes, a line for those that do not.

use std::io::{self, Write};

use super::diff::{self, Op};
use super::hidden;
use super::plan::{PlanItem, PlanObject, PlanStage};
use super::status::Revision;
use super::table::table;
use super::text;
use crate::cli::foresee::Entry;
use crate::manifest::ONE_STAGE;
use crate::model::{CommitId, Phase, Reason, TemplateHash};

/// In the place of a commit's id: the files of a work tree.
pub(crate) const NOT_COMMITTED: &str = "not committed";

/// What is said first of a plan that no cluster was asked for.
pub(crate) const OFFLINE: &str = "offline: the live state is unknown";

/// The most workloads without a change that are named.
const MOST_QUIET: usize = 5;

/// Prints it all.
pub(crate) fn print(out: &mut dyn Write, plan: &PlanObject, color: bool) -> io::Result<()> {
    if plan.state == PlanObject::COMMIT {
        writeln!(out, "{OFFLINE}")?;
    }
    let commit = &plan.commit;
    let line = match commit.id.as_str() {
        "" if commit.author.is_empty() => format!("commit {}", commit.subject),
        "" => format!("{}: {}", commit.author, commit.subject),
        id => format!("commit {} {}: {}", short(id), commit.author, commit.subject),
    };
    writeln!(out, "{}", text::line(&line))?;
    for assumption in &plan.assumptions {
        writeln!(out, "assumed: {}", text::line(assumption))?;
    }
    let (quiet, loud): (Vec<_>, Vec<_>) = plan.items.iter().partition(|item| is_quiet(item));
    for item in loud {
        writeln!(out)?;
        page(out, item, plan.state == PlanObject::CLUSTER, color)?;
    }
    if !quiet.is_empty() {
        let mut names: Vec<_> = quiet.iter().map(|item| format!("{}/{}", item.namespace, item.name)).collect();
        names.truncate(MOST_QUIET);
        let more = quiet.len().saturating_sub(MOST_QUIET);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(out, "\nno change: {}{more}", names.join(", "))?;
    }
    if !plan.diagnostics.is_empty() {
        writeln!(out)?;
    }
    for diagnostic in &plan.diagnostics {
        writeln!(out, "{}", text::lines(&diagnostic.to_string()))?;
    }
    if plan.other_objects > 0 {
        let (objects, are) = if plan.other_objects == 1 { ("object", "is") } else { ("objects", "are") };
        writeln!(out, "\n{} {objects} of other kinds {are} left to others", plan.other_objects)?;
    }
    let changes = plan.items.iter().filter(|item| item.changes).count();
    writeln!(out, "\n{} of {} workloads would change", changes, plan.items.len())
}

/// A workload that changes, or of which there is something to say.
pub(crate) fn page(out: &mut dyn Write, item: &PlanItem, online: bool, color: bool) -> io::Result<()> {
    writeln!(out, "{}/{}: {}", item.namespace, item.name, headline(item))?;
    for problem in &item.problems {
        indented(out, &problem.to_string())?;
    }
    for refusal in &item.refusals {
        indented(out, &refusal.to_string())?;
    }
    if !item.refused.is_empty() && item.refusals.is_empty() {
        indented(out, &format!("the server refuses it: {}", item.refused))?;
    }
    let not_there = matches!(item.entry, Entry::Install) && item.current.is_none();
    match (online, not_there) {
        // Taken for granted, not seen.
        (false, _) => {}
        (true, true) => indented(out, "now: there is no such set")?,
        (true, false) => indented(out, &format!("now: {} ({})", item.phase, item.reason))?,
    }
    if !item.message.is_empty() {
        indented(out, &item.message)?;
    }
    for (word, revision) in [("current", &item.current), ("target ", &item.target)] {
        if let Some(revision) = revision {
            indented(out, &format!("{word} {}", revision_words(revision)))?;
        }
    }
    if let Some(words) = number_words(item) {
        indented(out, &words)?;
    }
    for change in &item.fields {
        for line in diff::lines(change) {
            let code = match change.op {
                Op::Add => 32,
                Op::Remove => 31,
                Op::Replace | Op::Reorder => 33,
            };
            if color { writeln!(out, "  \x1b[{code}m{line}\x1b[0m")? } else { writeln!(out, "  {line}")? }
        }
    }
    if item.fields.iter().flat_map(diff::lines).any(|line| hidden::is_in(&line)) {
        indented(out, hidden::HOW_TO_SEE)?;
    }
    for conflict in &item.conflicts {
        let (fields, managers) = (conflict.fields.join(", "), conflict.managers.join(", "));
        indented(out, &format!("owned by {managers}: {fields}"))?;
    }
    if !item.claims_removed.is_empty() {
        indented(out, &format!("claims that go with the scale-down: {}", item.claims_removed.join(", ")))?;
    }
    for warning in &item.warnings {
        indented(out, &format!("warning: {warning}"))?;
    }
    for assumption in &item.assumptions {
        indented(out, &format!("assumed: {assumption}"))?;
    }
    if !item.stages.is_empty() {
        if item.no_plan {
            indented(out, &no_plan())?;
        }
        let rows = item.stages.iter().map(|stage| row(stage, item));
        // How far the rollout has come that is taken back, only the cluster knows.
        let down = if !online && item.entry == Entry::Rollback { "DOWN AT MOST" } else { "DOWN" };
        for line in table(["STAGE", "PODS", "PARTITION", "ORDINALS", down, "WAITS FOR", "STATE"], rows).lines() {
            writeln!(out, "  {line}")?;
        }
        if let Some(words) = duration_words(item) {
            indented(out, &words)?;
        }
    }
    Ok(())
}

/// Whether there is nothing to say of it beyond that nothing changes.
pub(crate) fn is_quiet(item: &PlanItem) -> bool {
    !item.changes && item.phase == Phase::Healthy && item.problems.is_empty() && item.warnings.is_empty()
}

pub(crate) fn headline(item: &PlanItem) -> &'static str {
    match (item.entry, item.adoption_required) {
        (Entry::None, _) if !item.changes => "no change",
        (Entry::None, _) if item.reason == Reason::Drifted => "drifted: what follows would put Git's state back",
        (Entry::None, _) => "it is on its way",
        (Entry::Sync, true) => "once it is adopted: applied, no pod restarts",
        (Entry::Waits, _) if matches!(item.reason, Reason::Refused | Reason::ImmutableField) => {
            "refused: nothing of it is applied, what is in force stays"
        }
        (Entry::Waits, true) => "it has to be adopted, and cannot be as it is",
        (_, true) => "once it is adopted (no pod restarts for it): a staged rollout",
        (Entry::Install, false) => "created, all pods at once",
        (Entry::InstallAgain, false) => "installed again, all pods at once: no revision of it was ever Ready",
        (Entry::Staged, false) if item.no_plan => "rolled out in one stage",
        (Entry::Staged, false) => "a staged rollout",
        (Entry::Rollback, false) => "back to a proven revision: straight on, pauses and soaks skipped",
        (Entry::Revert, false) => "back to the stable revision: the partition is kept, nothing more is exposed",
        (Entry::RollForward, false) => "takes over the running rollout: exactly the exposed pods get it first",
        (Entry::Restart, false) => "takes over the running rollout: from the first stage",
        (Entry::Sync, false) => "applied at once, no pod is replaced",
        (Entry::Waits, false) => "waits",
    }
}

pub(crate) fn row(stage: &PlanStage, item: &PlanItem) -> [String; 7] {
    let place =
        if stage.name.is_empty() { stage.number.to_string() } else { format!("{} {}", stage.number, stage.name) };
    let ordinals = match stage.ordinals {
        None => "-".to_owned(),
        Some([low, high]) if low == high => format!("{}-{low}", item.name),
        Some([low, high]) => format!("{}-{low} to {}-{high}", item.name, item.name),
    };
    [
        place,
        format!("{}/{}", stage.count, item.replicas),
        stage.partition.to_string(),
        ordinals,
        down(stage, item),
        waits(stage),
        stage.state.to_owned(),
    ]
}

/// Which pods a stage takes down: `web-1 to web-2, one at a time`.
fn down(stage: &PlanStage, item: &PlanItem) -> String {
    match stage.replaced {
        None => "-".to_owned(),
        Some([low, high]) if low == high => format!("{}-{low}", item.name),
        Some([low, high]) => {
            let at_most = match stage.down_at_most {
                1 => "one".to_owned(),
                more => format!("at most {more}"),
            };
            format!("{}-{high} to {}-{low}, {at_most} at a time", item.name, item.name)
        }
    }
}

/// Which revision of Git's history it is; none where that is not known, or nothing new comes.
pub(crate) fn number_words(item: &PlanItem) -> Option<String> {
    let number = item.number.map(|number| match item.repeats {
        Some(first) => format!("revision {number}, the template of revision {first} again"),
        None => format!("revision {number}"),
    });
    let back =
        item.returns_to.as_ref().map(|name| format!("back to the ControllerRevision {name}, which is there already"));
    match (number, back) {
        (Some(number), Some(back)) => Some(format!("{number}; {back}")),
        (number, back) => number.or(back),
    }
}

/// What is said of a set that nothing stages.
pub(crate) fn no_plan() -> String {
    format!("no plan: {ONE_STAGE}")
}

/// The least time that it takes; none where there is nothing to wait for.
pub(crate) fn duration_words(item: &PlanItem) -> Option<String> {
    let seconds = u32::try_from(item.earliest_seconds).unwrap_or(u32::MAX);
    let time = (seconds > 0).then(|| format!("at least {}", duration(seconds)));
    let promotion = item.needs_promotion.then_some("as long as it takes somebody to promote");
    let words: Vec<&str> = time.as_deref().into_iter().chain(promotion).collect();
    (!words.is_empty()).then(|| format!("soaks and pauses take {}", words.join(", and ")))
}

fn waits(stage: &PlanStage) -> String {
    let mut words = match stage.ready_seconds {
        0 => "Ready".to_owned(),
        seconds => format!("Ready for {}", duration(seconds)),
    };
    match (stage.pause, stage.pause_seconds) {
        ("untilPromoted", _) => words.push_str(", then promote"),
        (_, Some(seconds)) => words.push_str(&format!(", then pause {}", duration(seconds))),
        _ => {}
    }
    words
}

/// `90s`, `10m`, `1h30m`.
pub(crate) fn duration(seconds: u32) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, 0) if minutes > 0 => format!("{minutes}m"),
        (hours, 0, 0) if hours > 0 => format!("{hours}h"),
        (hours, minutes, 0) if hours > 0 => format!("{hours}h{minutes}m"),
        _ => format!("{seconds}s"),
    }
}

pub(crate) fn revision_words(revision: &Revision) -> String {
    let commit = if revision.commit == NOT_COMMITTED {
        NOT_COMMITTED.to_owned()
    } else if revision.commit.is_empty() {
        "what was there before adoption".to_owned()
    } else {
        format!("commit {}", short(&revision.commit))
    };
    let name = revision.revision.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    format!("{commit}, hash {}{name}", TemplateHash(revision.hash.clone()))
}

fn indented(out: &mut dyn Write, text: &str) -> io::Result<()> {
    for line in text::lines(text).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn short(id: &str) -> String {
    CommitId(id.to_owned()).short().to_owned()
}
