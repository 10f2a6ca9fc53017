//! What would become of one workload: the rules are asked, then the server.

use jiff::Timestamp;
use serde_json::Value;

use super::server::{self, Shown};
use super::{immutable, predict, refusal};
use crate::cli::args::GlobalArgs;
use crate::cli::error::CliError;
use crate::cli::foresee::{self, Entry, Foreseen};
use crate::cli::output::diff;
use crate::cli::output::plan::{Commit, PlanItem, Predicted};
use crate::cli::output::status::{Revision, Status};
use crate::cli::output::ways::Ways;
use crate::cli::repository;
use crate::cli::session::Session;
use crate::cli::stages;
use crate::daemon::{Source, Wish};
use crate::manifest::Document;
use crate::manifest::default::Level;
use crate::model::{Action, CommitId, Decision, Desired, LiveSet, Observed, Reason, Record, RecordState, Wanted};
use crate::rollout::{claims_removed, decide};

/// What is said where a template changes in Git alone.
const KEPT: &str = "the template differs in Git alone: the server keeps what the commit leaves out, the revision stays, \
                    and no pod is replaced for it";

/// How predictions are made, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// How the server reads and writes templates.
    pub(super) level: Level,
    /// The time.
    pub(super) now: Timestamp,
}

/// The plan of one workload against the cluster.
pub(super) fn plan(
    session: &Session,
    source: &mut Source,
    head: &CommitId,
    wish: &Wish,
    observed: &Observed,
    terms: Terms,
) -> Result<PlanItem, CliError> {
    // What somebody has asked for meanwhile is not the commit's doing.
    let observed = &repository::without_request(observed);
    let Some(desired) = repository::complete(source, wish, observed) else {
        let mut item = bare(observed, &decide(&wish.wanted(), observed, terms.now), terms.now);
        problems(&mut item, wish);
        return Ok(item);
    };
    let foreseen = foresee::foresee(&desired, wish.problem.as_ref(), observed, terms.now);
    if let (Some(set), None, Some(_)) = (&observed.set, &wish.problem, &foreseen.apply)
        && let Some(document) = source.document(head, &desired.workload)?
    {
        let live = session.object(&observed.workload)?;
        let since = format!("the set in the cluster, generation {}", set.generation);
        let found = immutable::changes(&live, &desired, &document, terms.level, &since);
        if !found.is_empty() {
            let shown = Shown {
                fields: diff::changes(
                    &server::cleaned(live.clone()),
                    &server::cleaned(predict::applied(&live, &desired.tip, terms.level)),
                ),
                ..Shown::default()
            };
            let mut item = compose(&desired, &foreseen, observed, shown, terms.now);
            immutable::refuse(&mut item, found);
            return Ok(item);
        }
    }
    let mut shown = server::ask(session, &desired, &foreseen, observed, terms.level)?;
    let faults = std::mem::take(&mut shown.faults);
    let mut item = compose(&desired, &foreseen, observed, shown, terms.now);
    if !item.refused.is_empty() {
        immutable::stop(&mut item, Reason::Refused);
        item.refusals = refusal::places(source.document(head, &desired.workload)?, &faults, &item.refused);
    }
    problems(&mut item, wish);
    Ok(item)
}

/// The plan of one workload if another commit were in force, from the repository alone.
pub(super) fn offline(
    wish: &Wish,
    before: Option<(&Wish, &str)>,
    document: Option<&Document>,
    observed: &Observed,
    terms: Terms,
) -> PlanItem {
    let Some(desired) = &wish.desired else {
        let mut item = bare(observed, &decide(&wish.wanted(), observed, terms.now), terms.now);
        problems(&mut item, wish);
        return item;
    };
    let earlier = before.and_then(|(wish, _)| wish.desired.as_ref()).map(|desired| desired.tip.clone());
    let since = before.map(|(_, since)| since).unwrap_or_default();
    let desired = Desired { target: earlier.clone().filter(|tip| tip.hash != desired.tip.hash), ..desired.clone() };
    let foreseen = foresee::foresee(&desired, wish.problem.as_ref(), observed, terms.now);
    let created = predict::created(&desired.tip, terms.level);
    let object = match &earlier {
        Some(earlier) => predict::followed(earlier, &desired.tip, terms.level),
        None => created.clone(),
    };
    let [name, new] = [&object, &created].map(|object| predict::revision(&desired.workload.name, object));
    let fixed = match (&earlier, document) {
        (Some(earlier), Some(document)) if wish.problem.is_none() => {
            immutable::changes(&earlier.manifest, &desired, document, terms.level, since)
        }
        _ => Vec::new(),
    };
    let fields = earlier.map(|earlier| {
        let [old, new] = [predict::created(&earlier, terms.level), object].map(server::cleaned);
        diff::changes(&old, &new)
    });
    let kept = name != new;
    let predicted = Predicted { revision: name.clone(), differences: Vec::new() };
    let shown = Shown {
        fields: fields.unwrap_or_default(),
        revision: Some(name),
        predicted: Some(predicted),
        ..Shown::default()
    };
    let mut item = compose(&desired, &foreseen, observed, shown, terms.now);
    if item.entry == Entry::Rollback {
        item.assumptions.push("the revisions before it are proven: each was rolled out to its end".to_owned());
        item.assumptions.push(format!(
            "the rollout of commit {since} has ended: in the middle of it only the pods that it has reached go back, and \
             no other is down"
        ));
    }
    if kept && item.template_changes {
        item.assumptions.push(format!(
            "the set was made of commit {since}: it keeps what the server filled in then (a new set would run {new})"
        ));
    }
    immutable::refuse(&mut item, fixed);
    problems(&mut item, wish);
    item
}

/// A managed set that the commit does not name: it stays as it is.
pub(super) fn orphan(observed: &Observed, now: Timestamp) -> PlanItem {
    bare(observed, &decide(&Wanted::Absent, observed, now), now)
}

fn problems(item: &mut PlanItem, wish: &Wish) {
    item.no_plan = wish.unstaged;
    item.warnings.extend(wish.warnings.iter().map(ToString::to_string));
    if let Some(problem) = &wish.problem {
        item.problems.extend(problem.diagnostics.iter().cloned());
        // Said above, with file and line.
        let said = problem.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        item.message = item.message.replace(&said, "").trim_matches([';', ' ', '\n']).to_owned();
    }
}

/// Everything that is known without a manifest.
fn bare(observed: &Observed, decision: &Decision, now: Timestamp) -> PlanItem {
    // Commands in its words are completed where it is known from where the question is asked.
    let ways = Ways::to(&observed.workload, &GlobalArgs::default(), &observed.workload.namespace);
    let status = Status::of(observed, decision, &ways, now);
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
        number: None,
        repeats: None,
        predicted: None,
        returns_to: None,
        commit: None,
        fields: Vec::new(),
        template_changes: false,
        replicas: status.replicas.unwrap_or_default(),
        no_plan: false,
        stages: Vec::new(),
        earliest_seconds: 0,
        needs_promotion: false,
        claims_removed: Vec::new(),
        conflicts: Vec::new(),
        warnings: Vec::new(),
        assumptions: Vec::new(),
        refusals: Vec::new(),
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
    let mut item = match as_it_is(&foreseen.decision, observed, now) {
        Some(decision) => bare(observed, &decision, now),
        None => bare(observed, &foreseen.decision, now),
    };
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
    if template_changes && unmoved(item.current.as_ref(), item.target.as_ref()) {
        item.warnings.push(KEPT.to_owned());
    }
    item.commit = Some(Commit::of(&tip.commit));
    item.fields = shown.fields;
    item.predicted = shown.predicted.filter(|_| template_changes);
    item.returns_to = shown.returns_to.filter(|_| template_changes);
    item.warnings.extend(shown.warnings);
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
    if !matches!(foreseen.entry, Entry::Install | Entry::InstallAgain) {
        stages::say_what_is_down(&mut item.stages, shown.max_unavailable.unwrap_or(1));
        if template_changes {
            item.warnings.extend(stages::merged(&desired.plan, replicas));
        }
    }
    (item.earliest_seconds, item.needs_promotion) = stages::earliest(&item.stages, min_ready);
    if let Some(replicas) = foreseen.hands_over {
        item.warnings.push(format!(
            "the manifest states no replicas any more: the {replicas} of now are handed over to others, never reset"
        ));
    }
    item
}

/// How a set is before the commit comes; none where what was decided about it is not the commit's doing.
fn as_it_is(decision: &Decision, observed: &Observed, now: Timestamp) -> Option<Decision> {
    let is_the_commits = match decision.actions.first()? {
        Action::Apply { .. } | Action::HandOverReplicas { .. } | Action::Adopt { .. } => observed.set.is_some(),
        Action::Patch { .. }
        | Action::HoldBack { .. }
        | Action::DeletePod { .. }
        | Action::Release { .. }
        | Action::DropRequest { .. } => false,
    };
    is_the_commits.then(|| decide(&Wanted::Unknown, observed, now))
}

/// Whether the template comes to the very revision that is there, though the manifest says another.
fn unmoved(current: Option<&Revision>, target: Option<&Revision>) -> bool {
    let (Some(current), Some(target)) = (current, target) else { return false };
    target.revision.is_some() && target.revision == current.revision && target.hash != current.hash
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
