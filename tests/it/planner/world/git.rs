//! Git's side: a line of commits, and what the daemon makes of it.

use std::sync::Arc;

use phaseline::model::{CommitId, CommitInfo, Desired, Plan, Record, Schedule, Version, WorkloadId};
use serde_json::json;

use crate::planner::bench::hash;

/// The tree of one commit, as far as it matters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Commit {
    pub(crate) id: String,
    pub(crate) template: char,
    pub(crate) replicas: Option<u32>,
    pub(crate) min_ready: u32,
    pub(crate) start: u32,
    pub(crate) parallel: bool,
    pub(crate) max_unavailable: bool,
    pub(crate) when_scaled_delete: bool,
    pub(crate) allow_claim_deletion: bool,
    pub(crate) adopt: bool,
    pub(crate) plan: Plan,
}

/// First-parent history, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    pub(crate) commits: Vec<Commit>,
}

impl Git {
    pub(crate) fn new(replicas: Option<u32>, plan: Plan) -> Self {
        let commits = vec![Commit {
            id: "c1".into(),
            template: 'A',
            replicas,
            min_ready: 0,
            start: 0,
            parallel: false,
            max_unavailable: false,
            when_scaled_delete: false,
            allow_claim_deletion: false,
            adopt: false,
            plan,
        }];
        Self { commits }
    }

    pub(crate) fn tip(&self) -> &Commit {
        self.commits.last().unwrap()
    }

    /// A new commit on top.
    pub(crate) fn push(&mut self, change: impl FnOnce(&mut Commit)) {
        let mut commit = self.tip().clone();
        commit.id = format!("c{}", self.commits.len() + 1);
        change(&mut commit);
        self.commits.push(commit);
    }

    /// The commit that brought the template which a commit has.
    fn bringer(&self, mut index: usize) -> usize {
        while index > 0 && self.commits[index - 1].template == self.commits[index].template {
            index -= 1;
        }
        index
    }

    /// What Git asks for, given what the record names as its target.
    pub(crate) fn desired(&self, record: Option<&Record>) -> Desired {
        let last = self.commits.len() - 1;
        let tip = self.version(last, self.bringer(last));
        let target = record
            .filter(|record| record.target.commit != tip.commit.id)
            .and_then(|record| self.commits.iter().position(|commit| commit.id == record.target.commit.0))
            .map(|index| self.version(index, index));
        let plan = self.tip().plan.clone();
        let plan_digest =
            format!("{:x}", plan.frozen().bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte)));
        Desired { workload: WorkloadId::new("default", "web"), tip, target, stable: None, plan, plan_digest }
    }

    fn version(&self, index: usize, bringer: usize) -> Version {
        let commit = &self.commits[index];
        let mut manifest = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "minReadySeconds": commit.min_ready,
                "ordinals": {"start": commit.start},
                "whenScaledDelete": commit.when_scaled_delete,
                "template": {"id": commit.template.to_string(), "metadata": {}},
            },
        });
        if let Some(replicas) = commit.replicas {
            manifest["spec"]["replicas"] = replicas.into();
        }
        Version {
            commit: CommitInfo { id: CommitId(self.commits[bringer].id.clone()), ..CommitInfo::default() },
            manifest: Arc::new(manifest),
            hash: hash(&commit.template.to_string()),
            rest: format!(
                "{:?}/{}/{}/{}/{}",
                commit.replicas, commit.min_ready, commit.start, commit.when_scaled_delete, commit.adopt
            ),
            rest_as_written: String::new(),
            replicas: commit.replicas,
            restart: None,
            start: commit.start,
            deletes_claims_when_scaled: commit.when_scaled_delete,
            allow_claim_deletion: commit.allow_claim_deletion,
            adopt: commit.adopt,
        }
    }
}

/// Whether a plan stages by hand.
pub(crate) fn is_by_hand(plan: &Plan) -> bool {
    matches!(plan.schedule, Schedule::ByHand(_))
}
