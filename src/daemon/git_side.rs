//! What is known of Git's side when a workload is looked at, and what has to be asked first.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::asking::{Answer, Asking, Question};
use super::sight::{RewriteGrace, Sights};
use super::source::{Recalled, View, Wish};
use super::sources::{Read, SourceEvent};
use crate::model::{
    CommitId, Desired, Lineage, LiveSet, Origin, Problem, Record, RecordState, Sight, Wanted, WorkloadId,
};
use crate::rollout::renew;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::Instant;

/// Git's side, as far as it was read.
#[derive(Debug)]
pub(super) struct GitSide {
    /// What the last good commit says; none before the first.
    pub(super) view: Option<Arc<View>>,
    /// Whether the source was asked once.
    pub(super) asked: bool,
    pub(super) asking: Asking,
    sights: Sights,
    origin: Option<Origin>,
    /// Whatever the records name, this is their repository, and new enough.
    any_source: bool,
    hurry: watch::Sender<Option<Instant>>,
}

/// Git's side of one workload.
#[derive(Debug)]
pub(super) struct Side {
    /// What is asked for.
    pub(super) desired: Option<Desired>,
    problem: Option<Problem>,
    /// Whether anything is known at all.
    known: bool,
    /// The view of it.
    pub(super) sight: Sight,
}

impl Side {
    /// The same, as a decision takes it.
    pub(super) fn wanted(&self) -> Wanted<'_> {
        match (&self.desired, &self.problem) {
            _ if !self.known => Wanted::Unknown,
            (Some(desired), problem) => Wanted::Is(desired, problem.as_ref()),
            (None, Some(problem)) => Wanted::Broken(problem),
            (None, None) => Wanted::Absent,
        }
    }
}

/// A record of this source.
#[derive(Debug, Clone, Copy)]
struct Marked<'a> {
    record: &'a Record,
    /// What the view is compared with; empty where with nothing.
    mark: &'a CommitId,
    /// Whether it is to be compared.
    compared: bool,
    /// The commit of the stable template, where the record tells templates apart in another way than we do.
    stable: Option<&'a CommitId>,
}

impl GitSide {
    pub(super) fn new(
        questions: Sender<Question>,
        hurry: watch::Sender<Option<Instant>>,
        grace: RewriteGrace,
        any_source: bool,
    ) -> Self {
        let (asking, sights) = (Asking::new(questions), Sights::new(grace));
        Self { view: None, asked: false, asking, sights, origin: None, any_source, hurry }
    }

    /// Takes in news from Git; the workloads to look at, and whether all of them are.
    pub(super) fn read(&mut self, event: SourceEvent) -> (Vec<WorkloadId>, bool) {
        match event {
            SourceEvent::Read(read) => self.looked(*read),
            SourceEvent::Answer(question, answer) => {
                (self.asking.answered(question, answer).into_iter().collect(), false)
            }
        }
    }

    fn looked(&mut self, read: Read) -> (Vec<WorkloadId>, bool) {
        let mut dirty = Vec::new();
        let before = self.view.clone();
        let was_confirmed = self.is_confirmed();
        if let Some(view) = read.view {
            let nobody = BTreeMap::new();
            let old = before.as_ref().map_or(&nobody, |view| &view.wishes);
            for name in old.keys().chain(view.wishes.keys()) {
                // What Git says the same of as before has no reason to be looked at.
                if old.get(name) != view.wishes.get(name) {
                    dirty.push(name.clone());
                }
            }
            self.view = Some(view);
            self.asking.forget();
        } else {
            self.asking.look_again();
        }
        let first = !self.asked;
        self.asked = true;
        self.origin = read.origin.or(self.origin.take());
        let tip = self.view.as_ref().map(|view| &view.commit.id);
        dirty.extend(self.sights.heard(read.fetched.as_ref().map_err(Clone::clone), tip, &read.trouble, read.began));
        let all = first || before.is_none() || self.is_confirmed() != was_confirmed || !self.is_confirmed();
        (dirty, all)
    }

    fn is_confirmed(&self) -> bool {
        self.view.as_ref().is_some_and(|view| self.sights.is_confirmed(&view.commit.id))
    }

    /// Whether a workload is any business of ours: Git names it, or it carries a record, and of this source.
    pub(super) fn is_ours(&self, workload: &WorkloadId, set: Option<&LiveSet>) -> bool {
        let named = self.view.as_ref().is_some_and(|view| view.wishes.contains_key(workload));
        named
            || match set.map(|set| &set.record) {
                Some(RecordState::Is(record, _)) => !self.is_elsewhere(record),
                Some(RecordState::Unreadable(_)) => true,
                Some(RecordState::Absent) | None => false,
            }
    }

    fn is_elsewhere(&self, record: &Record) -> bool {
        !self.any_source
            && self.origin.as_ref().zip(record.src.as_ref()).is_some_and(|(ours, theirs)| !ours.is_same(theirs))
    }

    /// Whether Git has to be asked first; false as well where there is no room for a question now.
    pub(super) fn waits(&mut self, workload: &WorkloadId, set: Option<&LiveSet>, now: Instant) -> Waits {
        let marked = self.marked(set);
        let doubted = match (marked.filter(|marked| marked.compared), &self.view) {
            (Some(marked), Some(view)) => match self.lineage(&view.commit.id, marked.mark) {
                Ok(Lineage::Onward) => None,
                Ok(_) => Some((marked.mark.clone(), view.commit.id.clone())),
                Err(question) => return self.ask(&question, workload),
            },
            _ => None,
        };
        match doubted {
            Some((mark, tip)) => {
                if !self.sights.doubt(workload, &mark, &tip, now) {
                    // It is older than the set: nothing else about it matters.
                    return Waits::No;
                }
            }
            None => self.sights.clear(workload),
        }
        match self.understand(workload, marked) {
            Ok(_) => Waits::No,
            Err(question) => self.ask(&question, workload),
        }
    }

    fn ask(&mut self, question: &Question, workload: &WorkloadId) -> Waits {
        if self.asking.ask(question, workload) { Waits::ForAnswer } else { Waits::ForRoom }
    }

    /// A workload is no business of ours any more.
    pub(super) fn forget(&mut self, workload: &WorkloadId) {
        self.sights.clear(workload);
    }

    /// Lets the reader know when the source is wanted next.
    pub(super) fn hurry(&self) {
        let next = self.sights.next_fetch();
        self.hurry.send_if_modified(|before| std::mem::replace(before, next) != next);
    }

    /// Git's side of a workload, as far as it was asked for.
    pub(super) fn of(&mut self, workload: &WorkloadId, set: Option<&LiveSet>, now: Instant) -> Side {
        let trouble = self.sights.trouble().to_owned();
        let marked = self.marked(set);
        let Some(view) = self.view.clone() else {
            let sight = if self.any_source {
                Sight::default()
            } else {
                Sight { origin: self.origin.clone(), ..Sight::none(trouble) }
            };
            return Side { desired: None, problem: None, known: false, sight };
        };
        let mut sight = Sight {
            origin: self.origin.clone(),
            tip: view.commit.id.clone(),
            lineage: Lineage::Onward,
            settled: false,
            confirmed: self.is_confirmed(),
            trouble,
        };
        if self.any_source {
            sight = Sight::default();
        }
        if let Some(marked) = marked.filter(|marked| marked.compared) {
            sight.lineage = self.lineage(&view.commit.id, marked.mark).unwrap_or(Lineage::Unknown);
            if sight.lineage != Lineage::Onward {
                let (mark, tip) = (marked.mark.clone(), view.commit.id.clone());
                sight.settled = self.sights.doubt(workload, &mark, &tip, now);
            }
        }
        let understood = self.understand(workload, marked).unwrap_or_default();
        if let Some(at) = understood.at.filter(|_| sight.lineage == Lineage::Onward && !self.any_source) {
            sight.tip = at;
        }
        Side { desired: understood.desired, problem: understood.problem, known: true, sight }
    }

    /// The set's record, where it is of this source.
    fn marked<'a>(&self, set: Option<&'a LiveSet>) -> Option<Marked<'a>> {
        let set = set?;
        let RecordState::Is(record, _) = &set.record else { return None };
        let stable = renew::asks_for(set);
        let mark = record.mark();
        let compared = !self.any_source && !mark.0.is_empty();
        (!self.is_elsewhere(record)).then_some(Marked { record, mark, compared, stable })
    }

    /// How a commit stands to another; the question where that is not known.
    fn lineage(&self, of: &CommitId, mark: &CommitId) -> Result<Lineage, Question> {
        if of == mark {
            return Ok(Lineage::Onward);
        }
        let question = Question::Lineage { of: of.clone(), mark: mark.clone() };
        match self.asking.answer(&question) {
            Some(Answer::Lineage(lineage)) => Ok(*lineage),
            Some(Answer::Version(_) | Answer::Recalled(_)) | None => Err(question),
        }
    }

    /// What Git asks for; the question where something is not known.
    fn understand(&self, workload: &WorkloadId, marked: Option<Marked<'_>>) -> Result<Understood, Question> {
        let Some(view) = &self.view else { return Ok(Understood::default()) };
        let wish = view.wishes.get(workload);
        let mut understood = match (wish, marked) {
            (Some(Wish { desired: Some(desired), problem, at, .. }), marked) => {
                let older = match (at, marked) {
                    // Found on the way back, it may be older than what the set was rolled to.
                    (Some(at), Some(marked)) if marked.compared => self.lineage(at, marked.mark)? != Lineage::Onward,
                    _ => false,
                };
                match (older, marked) {
                    (true, Some(marked)) => self.recalled(workload, marked)?,
                    _ => Understood { desired: Some(desired.clone()), problem: problem.clone(), at: at.clone() },
                }
            }
            (Some(Wish { desired: None, problem: None, .. }), _) => Understood::default(),
            (Some(Wish { desired: None, .. }), Some(marked)) => self.recalled(workload, marked)?,
            (None, Some(marked)) if !view.dark.is_empty() => self.recalled(workload, marked)?,
            (wish, _) => Understood { problem: wish.and_then(|wish| wish.problem.clone()), ..Understood::default() },
        };
        if let (Some(desired), Some(marked)) = (&mut understood.desired, marked) {
            let target = marked.record.in_force();
            if target.hash != desired.tip.hash && !target.commit.0.is_empty() {
                let question = Question::Version { commit: target.commit.clone(), workload: workload.clone() };
                match self.asking.answer(&question) {
                    Some(Answer::Version(version)) => desired.target = version.as_deref().cloned(),
                    Some(Answer::Lineage(_) | Answer::Recalled(_)) | None => return Err(question),
                }
            }
            if let Some(commit) = marked.stable {
                let question = Question::Version { commit: commit.clone(), workload: workload.clone() };
                match self.asking.answer(&question) {
                    Some(Answer::Version(version)) => {
                        desired.stable = version.as_deref().map(|version| version.hash.clone());
                    }
                    Some(Answer::Lineage(_) | Answer::Recalled(_)) | None => return Err(question),
                }
            }
        }
        Ok(understood)
    }

    /// What was good at the commits that the record names.
    fn recalled(&self, workload: &WorkloadId, marked: Marked<'_>) -> Result<Understood, Question> {
        let mut commits = vec![marked.mark.clone()];
        if marked.record.target.commit != *marked.mark {
            commits.push(marked.record.target.commit.clone());
        }
        let question = Question::Recall { commits, workload: workload.clone() };
        let wish = self.view.as_ref().and_then(|view| view.wishes.get(workload));
        let problem = wish.and_then(|wish| wish.problem.clone());
        match self.asking.answer(&question) {
            Some(Answer::Recalled(Some(Recalled::Good(desired, problem, at)))) => Ok(Understood {
                desired: Some((**desired).clone()),
                problem: Some(problem.clone()),
                at: Some(at.clone()),
            }),
            Some(Answer::Recalled(Some(Recalled::Lost(problem)))) => {
                Ok(Understood { problem: Some(problem.clone()), ..Understood::default() })
            }
            Some(Answer::Recalled(Some(Recalled::Gone))) => Ok(Understood { problem, ..Understood::default() }),
            // Nobody knows whether it is gone.
            Some(Answer::Recalled(None)) => {
                let unread = || Problem {
                    diagnostics: self
                        .view
                        .iter()
                        .flat_map(|view| &view.dark)
                        .flat_map(|place| place.why.clone())
                        .collect(),
                };
                Ok(Understood { problem: Some(problem.unwrap_or_else(unread)), ..Understood::default() })
            }
            Some(Answer::Lineage(_) | Answer::Version(_)) | None => Err(question),
        }
    }
}

/// What Git asks for of a workload: as of which commit, if not the view's own, and what is wrong with that.
#[derive(Debug, Clone, Default)]
struct Understood {
    desired: Option<Desired>,
    problem: Option<Problem>,
    at: Option<CommitId>,
}

/// Whether Git has to be asked before a workload can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// Everything is known.
    No,
    /// The answer marks the workload again.
    ForAnswer,
    /// There is no room for a question.
    ForRoom,
}
