//! What the loop asks of Git's side, each thing once: reading is blocking work, and the answer comes as an event.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::mpsc::Sender;

use super::source::{Recalled, Source, View};
use crate::model::{CommitId, Lineage, Version, WorkloadId};

/// A question about the view that is shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    /// A workload's manifest at an earlier commit, if Git still has it.
    Version {
        /// The commit.
        commit: CommitId,
        /// The workload.
        workload: WorkloadId,
    },
    /// How a commit stands to one that a record names.
    Lineage {
        /// The commit.
        of: CommitId,
        /// The one in the record.
        mark: CommitId,
    },
    /// What was good of a workload that the view does not name, or not so that it can be used.
    Recall {
        /// The commits that the record names, the newest first.
        commits: Vec<CommitId>,
        /// The workload.
        workload: WorkloadId,
    },
}

/// What came of a question.
#[derive(Debug)]
pub(super) enum Answer {
    /// The manifest.
    Version(Option<Box<Version>>),
    /// How it stands.
    Lineage(Lineage),
    /// What is known; none where the repository could not be read.
    Recalled(Option<Recalled>),
}

impl Question {
    /// What is known where nobody could answer it.
    pub(super) fn unanswered(&self) -> Answer {
        match self {
            Self::Version { .. } => Answer::Version(None),
            Self::Lineage { .. } => Answer::Lineage(Lineage::Unknown),
            Self::Recall { .. } => Answer::Recalled(None),
        }
    }

    /// Asks it; `view` is the one that is shown.
    pub(super) fn ask(&self, source: &mut Source, view: Option<&View>) -> Answer {
        match self {
            Self::Version { commit, workload } => Answer::Version(source.version_at(commit, workload).map(Box::new)),
            Self::Lineage { of, mark } => Answer::Lineage(source.lineage(of, mark)),
            Self::Recall { commits, workload } => {
                Answer::Recalled(view.and_then(|view| source.recall(view, workload, commits).ok()))
            }
        }
    }
}

/// The questions under way, and the answers that hold for the view that is shown.
#[derive(Debug)]
pub(super) struct Asking {
    questions: Sender<Question>,
    /// What is under way, and who waits for it.
    pending: BTreeMap<Question, BTreeSet<WorkloadId>>,
    answers: BTreeMap<Question, Answer>,
}

impl Asking {
    pub(super) fn new(questions: Sender<Question>) -> Self {
        Self { questions, pending: BTreeMap::new(), answers: BTreeMap::new() }
    }

    /// The answer, where it is there.
    pub(super) fn answer(&self, question: &Question) -> Option<&Answer> {
        self.answers.get(question)
    }

    /// Asks what is not under way yet; false where there is no room for it now.
    pub(super) fn ask(&mut self, question: &Question, workload: &WorkloadId) -> bool {
        if let Some(waiting) = self.pending.get_mut(question) {
            waiting.insert(workload.clone());
            return true;
        }
        let sent = self.questions.try_send(question.clone()).is_ok();
        if sent {
            self.pending.insert(question.clone(), BTreeSet::from([workload.clone()]));
        }
        sent
    }

    /// Takes in an answer; who has waited for it.
    pub(super) fn answered(&mut self, question: Question, answer: Answer) -> BTreeSet<WorkloadId> {
        let waited = self.pending.remove(&question).unwrap_or_default();
        self.answers.insert(question, answer);
        waited
    }

    /// There is another view: what was answered was about the one before.
    pub(super) fn forget(&mut self) {
        self.answers.clear();
    }

    /// The source was read once more: what was not found may be there now.
    pub(super) fn look_again(&mut self) {
        self.answers.retain(|_, answer| match answer {
            Answer::Version(found) => found.is_some(),
            Answer::Lineage(lineage) => *lineage == Lineage::Onward,
            Answer::Recalled(recalled) => matches!(recalled, Some(Recalled::Good(..) | Recalled::Gone)),
        });
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }
}
