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
    pub(crate) api_version: &'static str,
    /// `Plan`.
    pub(crate) kind: &'static str,
    /// The commit; without an id where it is the work tree.
    pub(crate) commit: Commit,
    /// From where it is known what is in force: `Cluster`, or `Commit` where a commit is taken to be.
    pub(crate) state: &'static str,
    /// The commit that is taken to be in force; left out where the cluster was asked, or nothing is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<Commit>,
    /// The Kubernetes whose defaults our own predictions are made with: `1.33` or `1.36`.
    pub(crate) kubernetes: &'static str,
    /// What is taken for granted.
    pub(crate) assumptions: Vec<String>,
    /// One for each workload, by namespace and name.
    pub(crate) items: Vec<PlanItem>,
    /// What is wrong with files, rather than with one workload.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Objects of other kinds: they are left to others.
    pub(crate) other_objects: usize,
}

impl PlanObject {
    /// The state is the cluster's own.
    pub(crate) const CLUSTER: &'static str = "Cluster";
    /// The state is that of a commit.
    pub(crate) const COMMIT: &'static str = "Commit";

    /// A plan of nothing yet, against the cluster.
    pub(crate) fn of(commit: Commit, kubernetes: &'static str) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "Plan",
            commit,
            state: Self::CLUSTER,
            base: None,
            kubernetes,
            assumptions: Vec::new(),
            items: Vec::new(),
            diagnostics: Vec::new(),
            other_objects: 0,
        }
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
    /// Files that nobody has committed.
    pub(crate) fn work_tree() -> Self {
        let (author, subject) = (crate::git::WORK_TREE_AUTHOR.to_owned(), crate::git::WORK_TREE_SUBJECT.to_owned());
        Self { id: String::new(), author, email: String::new(), date: String::new(), subject }
    }

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
    /// The number of the target's revision in Git's history, counted from 1; left out where history was not read to
    /// its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<u32>,
    /// The number of the first revision with the same template, where the target is a revert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeats: Option<u32>,
    /// What we foretold ourselves, beside what the server showed; left out where the template does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) predicted: Option<Predicted>,
    /// The ControllerRevision that the cluster has already and goes back to; left out where a new one is made, or that
    /// is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) returns_to: Option<String>,
    /// The commit that brought the target's template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<Commit>,
    /// Fields in which the set would differ from what it is now.
    pub(crate) fields: Vec<Change>,
    /// Whether the template differs: only then pods are replaced.
    pub(crate) template_changes: bool,
    /// Pods after it.
    pub(crate) replicas: u32,
    /// Whether nothing stages it, neither a plan nor a partition in its manifest.
    pub(crate) no_plan: bool,
    /// The stages, in order.
    pub(crate) stages: Vec<PlanStage>,
    /// The least seconds that the soaks and pauses of the stages take, pods that start at once taken for granted.
    pub(crate) earliest_seconds: u64,
    /// Whether somebody has to promote a stage on the way; how long that takes is not counted.
    pub(crate) needs_promotion: bool,
    /// Claims that the set's own retention policy would delete at a scale-down.
    pub(crate) claims_removed: Vec<String>,
    /// Managers of fields that the apply would have to take.
    pub(crate) conflicts: Vec<Conflict>,
    /// What is odd, but done all the same.
    pub(crate) warnings: Vec<String>,
    /// What is taken for granted about this workload.
    pub(crate) assumptions: Vec<String>,
    /// What the server says against it, each at the file and line of its field.
    pub(crate) refusals: Vec<Diagnostic>,
    /// What the server says against it; left out where it says nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) refused: String,
    /// What is wrong with the manifest or the plan at this commit; an earlier one stays in force.
    pub(crate) problems: Vec<Diagnostic>,
}

/// What we foretell without a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Predicted {
    /// The name of a new ControllerRevision.
    pub(crate) revision: String,
    /// Fields of the template in which the server's answer is another; empty without a server.
    pub(crate) differences: Vec<Change>,
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
    /// The lowest and the highest ordinal among the pods that this stage replaces; left out where it replaces none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replaced: Option<[u32; 2]>,
    /// How many of these are down at a time at most.
    pub(crate) down_at_most: u32,
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
