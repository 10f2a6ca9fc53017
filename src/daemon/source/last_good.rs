//! What was last good of a workload whose manifest cannot be used, and whether one that is not read is gone at all.
//!
//! "Gone" is only what the tree of a commit really lacks. What is there and cannot be read (a broken file, a link, a
//! folder that became a kustomization) may be what a manifest has become: then the last good version stays in force.

use std::collections::{BTreeMap, BTreeSet};

use super::{Good, Source, Tree, View, Wish, version};
use crate::git::{Dark, GitError};
use crate::model::{CommitId, Desired, Diagnostic, Lineage, Problem, Record, Severity, WorkloadId};

/// Commits looked at for the last good version of a broken workload that no record names a commit of.
const MOST_STEPS_BACK: usize = 1_000;
/// Of these, how many are read, the ones that changed a manifest.
const MOST_TRIES_BACK: usize = 50;

/// What is known of a workload that a set's record names and the tip does not, or not so that it can be used.
#[derive(Debug, Clone, PartialEq)]
pub enum Recalled {
    /// It is there and cannot be used: what was good at a commit that the record names, and what is wrong now.
    Good(Box<Desired>, Problem, CommitId),
    /// It is there and cannot be used, and the commits that the record names are not known.
    Lost(Problem),
    /// The tree really lacks it.
    Gone,
}

/// A last good version: of which workload, what is wrong with it now, and the commit at which it was good.
pub(super) type Found = (WorkloadId, Good, Problem, CommitId);

impl Source {
    /// For what cannot be used at the tip: what it was at the last commit at which it could.
    pub(super) fn last_good(
        &mut self,
        tip: &CommitId,
        tree: &Tree,
        problems: &BTreeMap<WorkloadId, Problem>,
    ) -> Result<Vec<Found>, GitError> {
        let mut missing: BTreeMap<WorkloadId, Problem> = problems.clone();
        let (mut dark, mut found, mut met) = (tree.dark.clone(), Vec::new(), BTreeSet::new());
        if missing.is_empty() && dark.is_empty() {
            return Ok(found);
        }
        let commits = self.index.changing(&self.mirror, tip, MOST_STEPS_BACK)?;
        for commit in commits.iter().filter(|commit| *commit != tip).take(MOST_TRIES_BACK) {
            if missing.is_empty() && dark.is_empty() {
                break;
            }
            let Ok(earlier) = self.bind(commit) else { continue };
            for (workload, outcome) in &earlier.bound.workloads {
                let Ok(good) = outcome else { continue };
                let problem = match missing.remove(workload) {
                    Some(problem) => Some(problem),
                    None if tree.bound.workloads.contains_key(workload) || !met.insert(workload.clone()) => None,
                    None => self.hidden(&tree.dark, &earlier.dark, workload, &good.manifest.file)?,
                };
                if let Some(problem) = problem {
                    found.push((workload.clone(), Good::of(good), problem, commit.clone()));
                }
            }
            // Whatever became dark after this commit was read here.
            dark.retain(|place| earlier.dark.iter().any(|before| before.path == place.path));
        }
        Ok(found)
    }

    /// What is known of a workload that the view does not name, or not so that it can be used: `commits` are those
    /// that the record names, the newest first.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn recall(&mut self, view: &View, workload: &WorkloadId, commits: &[CommitId]) -> Result<Recalled, GitError> {
        let broken = view.wishes.get(workload).and_then(|wish| wish.problem.clone());
        for commit in commits {
            let (Ok(info), Ok(tree)) = (self.mirror.commit(commit), self.bind(commit)) else { continue };
            let Some(Ok(bound)) = tree.bound.workloads.get(workload) else { continue };
            let problem = match &broken {
                Some(problem) => Some(problem.clone()),
                None => self.hidden(&view.dark, &tree.dark, workload, &bound.manifest.file)?,
            };
            let Some(problem) = problem else { return Ok(Recalled::Gone) };
            let good = Good::of(bound);
            let desired = good.desired(workload, version(&good.manifest, info, None));
            return Ok(Recalled::Good(Box::new(desired), problem, commit.clone()));
        }
        // Nobody knows in which file it was.
        let anywhere = || view.dark.iter().flat_map(|place| place.why.iter().cloned()).map(as_error).collect();
        Ok(match broken {
            Some(problem) => Recalled::Lost(problem),
            None if view.dark.is_empty() => Recalled::Gone,
            None => Recalled::Lost(Problem { diagnostics: anywhere() }),
        })
    }

    /// What a view asks for of a workload, with what its record remembers: as the daemon sees it, for commands.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn wish(
        &mut self,
        view: &View,
        workload: &WorkloadId,
        record: Option<&Record>,
    ) -> Result<Option<Wish>, GitError> {
        let wish = view.wishes.get(workload).cloned();
        let Some(record) = record.filter(|record| !record.mark().0.is_empty()) else { return Ok(wish) };
        let is_older = |at: &CommitId| self.lineage(at, record.mark()) != Lineage::Onward;
        let remembered = match &wish {
            Some(Wish { desired: Some(_), at, .. }) => at.as_ref().is_some_and(is_older),
            Some(Wish { desired: None, problem, .. }) => problem.is_some(),
            None => !view.dark.is_empty(),
        };
        if !remembered {
            return Ok(wish);
        }
        let commits = [record.mark().clone(), record.target.commit.clone()];
        Ok(match self.recall(view, workload, &commits)? {
            Recalled::Good(desired, problem, at) => {
                Some(Wish { desired: Some(*desired), problem: Some(problem), at: Some(at), ..Wish::default() })
            }
            Recalled::Lost(problem) => Some(Wish { problem: Some(problem), ..Wish::default() }),
            Recalled::Gone => wish,
        })
    }

    /// What may hide a workload that is not read at a commit and was in a file at an earlier one; none: it is gone.
    fn hidden(
        &mut self,
        dark: &[Dark],
        before: &[Dark],
        workload: &WorkloadId,
        file: &str,
    ) -> Result<Option<Problem>, GitError> {
        for place in dark {
            // What was there before, and is the same, has not received it since.
            let same = before.iter().any(|before| (&before.path, &before.id) == (&place.path, &place.id));
            if !same && (place.covers(file) || self.mirror.may_hide(place, &workload.name)?) {
                let diagnostics = place.why.iter().cloned().map(as_error).collect();
                return Ok(Some(Problem { diagnostics }));
            }
        }
        Ok(None)
    }
}

/// What is only odd by itself (a link) is an error where a manifest is missing for it.
fn as_error(diagnostic: Diagnostic) -> Diagnostic {
    Diagnostic { severity: Severity::Error, ..diagnostic }
}
