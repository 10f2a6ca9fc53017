//! `plan` for a push: what is not known first, then a line for each workload, then the pages that fit.

use std::io::{self, Write};

use super::plan::{PlanItem, PlanObject};
use super::plan_text::{duration, headline, is_quiet, no_plan, page};
use super::table::table;
use super::text;
use crate::cli::foresee::Entry;

/// The most workloads of the table.
const MOST_ROWS: usize = 40;
/// The most lines in all: whoever pushes in a hurry reads no more.
const MOST_LINES: usize = 60;
/// The most workloads without a change that are named.
const MOST_QUIET: usize = 5;

/// Prints it all; `range` is how `plan` is asked for the rest.
pub(crate) fn print(out: &mut dyn Write, plan: &PlanObject, range: &str) -> io::Result<()> {
    let mut lines = Vec::new();
    let assumed = plan.assumptions.join("; ");
    lines.push(match assumed.as_str() {
        "" => "offline: the live state is unknown".to_owned(),
        _ => format!("offline: the live state is unknown; assumed: {}", text::line(&assumed)),
    });
    let (quiet, loud): (Vec<_>, Vec<_>) = plan.items.iter().partition(|item| is_quiet(item));
    if !loud.is_empty() {
        lines.push(String::new());
        let rows = loud.iter().take(MOST_ROWS).map(|item| row(item));
        lines.extend(table(["SET", "ROLLOUT", "REVISION", "STAGES"], rows).lines().map(str::to_owned));
        if loud.len() > MOST_ROWS {
            lines.push(format!("and {} more", loud.len() - MOST_ROWS));
        }
    }
    let mut tail = Vec::new();
    if !quiet.is_empty() {
        let names: Vec<_> = quiet.iter().take(MOST_QUIET).map(|item| name(item)).collect();
        let more = quiet.len().saturating_sub(MOST_QUIET);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        tail.push(format!("no change: {}{more}", names.join(", ")));
    }
    let changes = plan.items.iter().filter(|item| item.changes).count();
    tail.push(format!("{changes} of {} workloads would change", plan.items.len()));
    for diagnostic in &plan.diagnostics {
        tail.extend(text::lines(&diagnostic.to_string()).lines().map(str::to_owned));
    }
    let pages = details(&loud, MOST_LINES.saturating_sub(lines.len() + tail.len() + 1))?;
    for line in lines.iter().chain(&pages.lines) {
        writeln!(out, "{line}")?;
    }
    if pages.left > 0 {
        let sets = if pages.left == 1 { "1 set" } else { &format!("{} sets", pages.left) };
        writeln!(out, "\nthe details of {sets}: phaseline plan {range}")?;
    }
    writeln!(out)?;
    for line in &tail {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

struct Pages {
    lines: Vec<String>,
    /// How many workloads have no page.
    left: usize,
}

/// The pages that fit; where something is wrong, that comes first.
fn details(items: &[&PlanItem], most: usize) -> io::Result<Pages> {
    let mut items = items.to_vec();
    items.sort_by_key(|item| item.problems.is_empty() && item.refused.is_empty() && item.refusals.is_empty());
    let mut pages = Pages { lines: Vec::new(), left: 0 };
    for item in items {
        let mut text = Vec::new();
        writeln!(text)?;
        page(&mut text, &told(item), false, false)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let count = text.lines().count();
        if pages.left > 0 || pages.lines.len() + count > most {
            pages.left += 1;
        } else {
            pages.lines.extend(text.lines().map(str::to_owned));
        }
    }
    Ok(pages)
}

/// An item without what an offline look cannot know: of a revert, which pods it takes down.
fn told(item: &PlanItem) -> PlanItem {
    // The revisions stand in the table; of what an older commit brought, only the newest ones were looked at.
    let before = item.current.as_ref();
    let mut item = PlanItem { current: None, number: None, message: String::new(), ..item.clone() };
    item.target = item.target.filter(|_| item.template_changes);
    if is_revert(&item) {
        item.stages.clear();
        let (name, from) = (&item.name, revision(before));
        item.assumptions.push(format!(
            "only pods of {name} that run {from} by now go back, one after the other; where its rollout had come to a canary, \
             that is the canary alone (`phaseline plan` with a cluster says which)"
        ));
    }
    item
}

/// Whether it goes back to what was proven: which pods that replaces depends on how far the cluster has come.
fn is_revert(item: &PlanItem) -> bool {
    matches!(item.entry, Entry::Rollback | Entry::Revert)
}

fn row(item: &PlanItem) -> [String; 4] {
    let revisions = match (item.current.as_ref(), item.target.as_ref()) {
        (Some(_), Some(_)) if !item.template_changes => "-".to_owned(),
        (from, Some(to)) => match from {
            Some(from) => format!("{} -> {}", revision(Some(from)), revision(Some(to))),
            None => revision(Some(to)),
        },
        (_, None) => "-".to_owned(),
    };
    let what = if item.problems.is_empty() { headline(item) } else { "cannot be used: what is in force stays" };
    [name(item), what.to_owned(), revisions, stages(item)]
}

/// The stages in a few words: `1, 4, 10 pods, at least 15s, then promote`.
fn stages(item: &PlanItem) -> String {
    if is_revert(item) {
        return "the pods that run it".to_owned();
    }
    if item.stages.is_empty() {
        return "-".to_owned();
    }
    if item.no_plan {
        return no_plan();
    }
    const SHOWN: usize = 6;
    let mut counts: Vec<String> = item.stages.iter().take(SHOWN).map(|stage| stage.count.to_string()).collect();
    if item.stages.len() > SHOWN {
        counts.push("..".to_owned());
        counts.extend(item.stages.last().map(|stage| stage.count.to_string()));
    }
    let mut words = format!("{} pods", counts.join(", "));
    if item.earliest_seconds > 0 {
        let seconds = u32::try_from(item.earliest_seconds).unwrap_or(u32::MAX);
        words.push_str(&format!(", at least {}", duration(seconds)));
    }
    if item.needs_promotion {
        words.push_str(", and a promotion");
    }
    words
}

fn name(item: &PlanItem) -> String {
    format!("{}/{}", item.namespace, item.name)
}

/// A revision's name; its hash where it has none.
fn revision(revision: Option<&super::status::Revision>) -> String {
    revision.map_or_else(
        || "-".to_owned(),
        |revision| revision.revision.clone().unwrap_or_else(|| revision.hash.chars().take(10).collect()),
    )
}
