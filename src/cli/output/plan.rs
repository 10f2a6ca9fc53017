//! What `plan` prints: the DTO of `-o json|yaml`.

use serde::Serialize;

use super::API_VERSION;
use super::diff::Change;
use super::status::Revision;
use crate::cli::foresee::Entry;
use crate::model::{CommitInfo, Diagnostic, Phase, Reason};

/// What a commit would change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanObject {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `Plan`.
    kind: &'static str,
    /// The commit.
    pub(crate) commit: Commit,
    /// One for each workload, by namespace and name.
    pub(crate) items: Vec<PlanItem>,
    /// What is wrong with files, rather than with one workload.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Objects of other kinds: they are left to others.
    pub(crate) other_objects: usize,
}

impl PlanObject {
    /// The plan of a commit.
    pub(crate) fn of(
        commit: &CommitInfo,
        items: Vec<PlanItem>,
        diagnostics: Vec<Diagnostic>,
        other_objects: usize,
    ) -> Self {
        Self { api_version: API_VERSION, kind: "Plan", commit: Commit::of(commit), items, diagnostics, other_objects }
    }

    /// The exit code: 2 where anything cannot be used, 1 where anything would change, else 0.
    pub(crate) fn exit_code(&self) -> u8 {
        let broken = self.diagnostics.iter().any(Diagnostic::is_error)
            || self.items.iter().any(|item| item.problems.iter().any(Diagnostic::is_error) || !item.refused.is_empty());
        if broken { 2 } else { u8::from(self.items.iter().any(|item| item.changes)) }
    }
}

/// A commit as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Commit {
    /// The full id.
    pub(crate) id: String,
    /// The author's name.
    pub(crate) author: String,
    /// The author's e-mail address.
    pub(crate) email: String,
    /// The author date, RFC 3339 by the author's own clock.
    pub(crate) date: String,
    /// The first paragraph of the message, in one line.
    pub(crate) subject: String,
}

impl Commit {
    /// The same of a commit.
    pub(crate) fn of(commit: &CommitInfo) -> Self {
        Self {
            id: commit.id.0.clone(),
            author: commit.author.clone(),
            email: commit.email.clone(),
            date: super::date(commit.time, commit.zone),
            subject: commit.subject.clone(),
        }
    }
}

/// What would become of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanItem {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Whether anything of the commit is not in force yet.
    pub(crate) changes: bool,
    /// How the commit takes over: `None`, `Install`, `InstallAgain`, `Staged`, `Rollback`, `Revert`, `RollForward`,
    /// `Restart`, `Sync` or `Waits`.
    pub(crate) entry: Entry,
    /// Whether the set has to be adopted first (`phaseline adopt`); no pod restarts for it.
    pub(crate) adoption_required: bool,
    /// The phase now.
    pub(crate) phase: Phase,
    /// Its reason.
    pub(crate) reason: Reason,
    /// What there is to say about it.
    pub(crate) message: String,
    /// The revision in force; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<Revision>,
    /// The revision of the commit. Its `revision` is the ControllerRevision that Kubernetes will make or has made;
    /// left out where it could not be foretold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Revision>,
    /// The commit that brought the target's template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<Commit>,
    /// Fields in which the set would differ from what it is now.
    pub(crate) fields: Vec<Change>,
    /// Whether the template differs: only then pods are replaced.
    pub(crate) template_changes: bool,
    /// Pods after it.
    pub(crate) replicas: u32,
    /// The stages, in order.
    pub(crate) stages: Vec<PlanStage>,
    /// Claims that the set's own retention policy would delete at a scale-down.
    pub(crate) claims_removed: Vec<String>,
    /// Managers of fields that the apply would have to take.
    pub(crate) conflicts: Vec<Conflict>,
    /// What is odd, but done all the same.
    pub(crate) warnings: Vec<String>,
    /// What the server says against it; left out where it says nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) refused: String,
    /// What is wrong with the manifest or the plan at this commit; an earlier one stays in force.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Fields that somebody else owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Conflict {
    /// Who.
    pub(crate) managers: Vec<String>,
    /// Which.
    pub(crate) fields: Vec<String>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanStage {
    /// Counted from 1.
    pub(crate) number: u32,
    /// Its name; may be empty.
    pub(crate) name: String,
    /// Pods that run the target when it is done.
    pub(crate) count: u32,
    /// `spec.updateStrategy.rollingUpdate.partition` that exposes them.
    pub(crate) partition: u32,
    /// The lowest and the highest ordinal among them; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ordinals: Option<[u32; 2]>,
    /// Seconds that each of them has to have been Ready.
    pub(crate) ready_seconds: u32,
    /// The wait after it: `none`, `untilPromoted` or `duration`.
    pub(crate) pause: &'static str,
    /// How long, with `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pause_seconds: Option<u32>,
    /// `done`, `current`, `next`; `start` for the one that the first write of the commit exposes.
    pub(crate) state: &'static str,
}
