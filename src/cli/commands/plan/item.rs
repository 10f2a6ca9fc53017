//! What would become of one workload: the rules are asked, then the server.

use jiff::Timestamp;
use serde_json::Value;

use super::server::{self, Shown};
use crate::cli::error::CliError;
use crate::cli::foresee::{self, Entry, Foreseen};
use crate::cli::output::plan::{Commit, PlanItem};
use crate::cli::output::status::{Revision, Status};
use crate::cli::repository;
use crate::cli::session::Session;
use crate::cli::stages;
use crate::daemon::{Source, Wish};
use crate::model::{Decision, Desired, LiveSet, Observed, Reason, Record, RecordState, Wanted};
use crate::rollout::{claims_removed, decide};

/// The plan of one workload.
pub(super) fn plan(
    session: &Session,
    source: &mut Source,
    wish: &Wish,
    observed: &Observed,
    now: Timestamp,
) -> Result<PlanItem, CliError> {
    // What somebody has asked for meanwhile is not the commit's doing.
    let observed = &repository::without_request(observed);
    let Some(desired) = repository::complete(source, wish, observed) else {
        let mut item = bare(observed, &decide(&wish.wanted(), observed, now), now);
        problems(&mut item, wish);
        return Ok(item);
    };
    let foreseen = foresee::foresee(&desired, wish.problem.as_ref(), observed, now);
    let shown = server::ask(session, &desired, &foreseen, observed)?;
    let mut item = compose(&desired, &foreseen, observed, shown, now);
    problems(&mut item, wish);
    Ok(item)
}

/// A managed set that the commit does not name: it stays as it is.
pub(super) fn orphan(observed: &Observed, now: Timestamp) -> PlanItem {
    bare(observed, &decide(&Wanted::Absent, observed, now), now)
}

fn problems(item: &mut PlanItem, wish: &Wish) {
    item.warnings.extend(wish.warnings.iter().map(ToString::to_string));
    if let Some(problem) = &wish.problem {
        item.problems.clone_from(&problem.diagnostics);
        // Said above, with file and line.
        let said = problem.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        item.message = item.message.replace(&said, "").trim_matches([';', ' ', '\n']).to_owned();
    }
}

/// Everything that is known without a manifest.
fn bare(observed: &Observed, decision: &Decision, now: Timestamp) -> PlanItem {
    let status = Status::of(observed, decision, "", now);
    PlanItem {
        namespace: status.namespace,
        name: status.name,
        changes: false,
        entry: Entry::None,
        adoption_required: false,
        phase: status.phase,
        reason: status.reason,
        message: status.message,
        current: status.target,
        target: None,
        commit: None,
        fields: Vec::new(),
        template_changes: false,
        replicas: status.replicas.unwrap_or_default(),
        stages: Vec::new(),
        claims_removed: Vec::new(),
        conflicts: Vec::new(),
        warnings: Vec::new(),
        refused: String::new(),
        problems: Vec::new(),
    }
}

/// Puts together what Git wants, what the rules say and what the server showed.
pub(super) fn compose(
    desired: &Desired,
    foreseen: &Foreseen,
    observed: &Observed,
    shown: Shown,
    now: Timestamp,
) -> PlanItem {
    let set = observed.set.as_ref();
    let record = set.and_then(record);
    let tip = &desired.tip;
    let replicas = tip.replicas.or(set.map(|set| set.replicas)).unwrap_or(1);
    let start = tip.start;
    let mut item = bare(observed, &foreseen.decision, now);
    let template_changes = match (set, record) {
        (Some(_), Some(record)) => record.target.hash != tip.hash,
        (Some(set), None) => set.template != tip.hash,
        (None, _) => true,
    };
    let live_name = item.current.as_ref().and_then(|current| current.revision.clone());
    item.current = item.current.or_else(|| set.map(unmanaged));
    item.entry = foreseen.entry;
    item.adoption_required = foreseen.adopts;
    if let Some(obstacle) = &foreseen.obstacle {
        item.message.clone_from(obstacle);
    }
    item.template_changes = template_changes;
    item.replicas = replicas;
    item.target = Some(Revision {
        commit: tip.commit.id.0.clone(),
        hash: tip.hash.0.clone(),
        revision: if template_changes { shown.revision } else { live_name.or(shown.revision) },
        restarted_at: tip.restart.clone().unwrap_or_default(),
    });
    item.commit = Some(Commit::of(&tip.commit));
    item.fields = shown.fields;
    item.conflicts = shown.conflicts;
    item.refused = shown.refused;
    item.changes = changes(desired, foreseen, observed);
    item.claims_removed = set.map(|set| claims_removed(observed, set, tip)).unwrap_or_default();
    let min_ready = tip.manifest.pointer("/spec/minReadySeconds").and_then(Value::as_u64);
    let min_ready = min_ready.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or_default();
    // What is in force, or will be with the apply; else what the plan at this commit comes to.
    let applied = foreseen.apply.as_ref().map(|apply| &apply.record);
    let running = applied.or(record.filter(|_| foreseen.entry == Entry::None)).filter(|record| !record.done);
    item.stages = match (running, foreseen.entry) {
        (Some(record), _) => {
            let here = if foreseen.apply.is_some() { "start" } else { "current" };
            stages::of_record(record, replicas, start, min_ready, here)
        }
        (None, Entry::None | Entry::Sync) => Vec::new(),
        (None, _) => stages::of_plan(&desired.plan, replicas, start, min_ready),
    };
    if template_changes && !matches!(foreseen.entry, Entry::Install | Entry::InstallAgain) {
        item.warnings.extend(stages::merged(&desired.plan, replicas));
    }
    if let Some(replicas) = foreseen.hands_over {
        item.warnings.push(format!(
            "the manifest states no replicas any more: the {replicas} of now are handed over to others, never reset"
        ));
    }
    item
}

/// Whether anything of the commit is not in force yet.
fn changes(desired: &Desired, foreseen: &Foreseen, observed: &Observed) -> bool {
    foreseen.adopts
        || foreseen.apply.is_some()
        || foreseen.decision.reason == Reason::Drifted
        || !foresee::in_force(desired, observed)
}

fn record(set: &LiveSet) -> Option<&Record> {
    match &set.record {
        RecordState::Is(record, _) => Some(record),
        RecordState::Absent | RecordState::Unreadable(_) => None,
    }
}

/// The revision of a set that is not ours.
fn unmanaged(set: &LiveSet) -> Revision {
    Revision {
        commit: String::new(),
        hash: set.template.0.clone(),
        revision: Some(set.update_revision.clone()).filter(|name| !name.is_empty()),
        restarted_at: set.restarted_at.clone(),
    }
}

#[cfg(test)]
mod tests;
