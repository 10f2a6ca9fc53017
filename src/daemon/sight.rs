//! What is known of the source itself: whether it has confirmed the view, and what it goes on saying where that is
//! older than the sets.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{CommitId, WorkloadId};

/// How often the source has to give the same answer before a rewritten history counts.
const ANSWERS: u32 = 3;
/// The least time between two fetches that nobody but a set that is ahead asks for.
const LEAST_GAP: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_GAP: Duration = Duration::from_secs(15);

/// How long the source has to say the same before a rewritten history counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RewriteGrace(pub Duration);

impl Default for RewriteGrace {
    /// A minute: hosts whose copies lag behind each other have caught up by then.
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

/// A workload that is ahead of the view.
#[derive(Debug, Clone)]
struct Doubt {
    /// What its record names.
    mark: CommitId,
    /// What the source says.
    tip: CommitId,
    /// Since when.
    since: Instant,
    /// How often the source has said so since.
    answers: u32,
    settled: bool,
}

/// What the source said.
#[derive(Debug)]
pub(super) struct Sights {
    grace: Duration,
    /// The newest commit that the source has confirmed to this process and that could be read.
    confirmed: Option<CommitId>,
    /// Why it could not be read the last time; empty where it could.
    trouble: String,
    doubts: BTreeMap<WorkloadId, Doubt>,
    /// When the last fetch began.
    fetched: Option<Instant>,
    /// How many fetches in a row there were while something was in doubt.
    tries: u32,
}

impl Sights {
    pub(super) fn new(grace: RewriteGrace) -> Self {
        Self {
            grace: grace.0,
            confirmed: None,
            trouble: String::new(),
            doubts: BTreeMap::new(),
            fetched: None,
            tries: 0,
        }
    }

    /// Takes in a fetch that began then: the tip that it brought, or why there is none; and the commit of the view.
    /// What it concerns has to be looked at again.
    pub(super) fn heard(
        &mut self,
        outcome: Result<&CommitId, String>,
        view: Option<&CommitId>,
        trouble: &str,
        began: Instant,
    ) -> Vec<WorkloadId> {
        self.fetched = Some(began);
        self.tries = if self.is_unsure() { self.tries.saturating_add(1) } else { 0 };
        match outcome {
            Ok(tip) => {
                trouble.clone_into(&mut self.trouble);
                if view == Some(tip) {
                    self.confirmed = Some(tip.clone());
                }
                for doubt in self.doubts.values_mut() {
                    doubt.hear(tip, began, self.grace);
                }
            }
            // No answer is not another answer.
            Err(trouble) => self.trouble = trouble,
        }
        self.doubts.keys().cloned().collect()
    }

    /// A workload is ahead of the view, or aside of it: whether the source has said so for long enough.
    pub(super) fn doubt(&mut self, workload: &WorkloadId, mark: &CommitId, tip: &CommitId, now: Instant) -> bool {
        let new = Doubt { mark: mark.clone(), tip: tip.clone(), since: now, answers: 0, settled: false };
        if self.doubts.is_empty() {
            self.tries = 0;
        }
        let doubt = self.doubts.entry(workload.clone()).or_insert_with(|| new.clone());
        if (&doubt.mark, &doubt.tip) != (mark, tip) {
            *doubt = new;
        }
        doubt.settled
    }

    /// A workload is not, or there is none.
    pub(super) fn clear(&mut self, workload: &WorkloadId) {
        self.doubts.remove(workload);
    }

    /// Whether the source has confirmed this commit.
    pub(super) fn is_confirmed(&self, commit: &CommitId) -> bool {
        self.confirmed.as_ref() == Some(commit)
    }

    /// Why the source cannot be read; empty where it can.
    pub(super) fn trouble(&self) -> &str {
        &self.trouble
    }

    /// Whether a set is ahead, or nothing was confirmed yet at all.
    fn is_unsure(&self) -> bool {
        self.confirmed.is_none() || self.doubts.values().any(|doubt| !doubt.settled)
    }

    /// When the source is to be asked again without waiting for its turn: at once where a set is ahead, then less and
    /// less often, and often enough to be sure when the time has come.
    pub(super) fn next_fetch(&self) -> Option<Instant> {
        if !self.is_unsure() {
            return None;
        }
        let fetched = self.fetched?;
        let longest = (self.grace / 4).clamp(LEAST_GAP, LONGEST_GAP);
        Some(fetched + LEAST_GAP.saturating_mul(2_u32.saturating_pow(self.tries.min(10))).min(longest))
    }
}

impl Doubt {
    fn hear(&mut self, tip: &CommitId, began: Instant, grace: Duration) {
        if *tip != self.tip {
            // It says something else: whatever it was, it does not stand.
            (self.since, self.answers, self.settled) = (began, 0, false);
        } else if began >= self.since {
            self.answers = self.answers.saturating_add(1);
            self.settled |= self.answers >= ANSWERS && began.duration_since(self.since) >= grace;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: &str) -> CommitId {
        CommitId(id.into())
    }

    fn web() -> WorkloadId {
        WorkloadId::new("default", "web")
    }

    struct Bench {
        sights: Sights,
        began: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { sights: Sights::new(RewriteGrace::default()), began: Instant::now() }
        }

        fn at(&self, seconds: u64) -> Instant {
            self.began + Duration::from_secs(seconds)
        }

        fn doubt(&mut self, seconds: u64) -> bool {
            let now = self.at(seconds);
            self.sights.doubt(&web(), &commit("new"), &commit("old"), now)
        }

        fn says(&mut self, seconds: u64, tip: &str) {
            let (now, tip) = (self.at(seconds), commit(tip));
            self.sights.heard(Ok(&tip), Some(&tip), "", now);
        }

        fn fails(&mut self, seconds: u64) {
            let now = self.at(seconds);
            self.sights.heard(Err("away".into()), Some(&commit("old")), "", now);
        }
    }

    #[test]
    fn a_rewritten_history_counts_when_the_source_has_said_so_for_long_and_often_enough() {
        let mut bench = Bench::new();
        bench.says(0, "old");
        assert!(!bench.doubt(1));
        for seconds in [1, 20, 40, 60] {
            bench.says(seconds, "old");
            assert!(!bench.doubt(seconds), "{seconds}");
        }
        bench.says(61, "old");
        assert!(bench.doubt(61));
        assert_eq!(bench.sights.next_fetch(), None, "nothing is in doubt any more");
    }

    #[test]
    fn two_answers_are_not_enough_however_far_apart_and_what_was_said_before_does_not_count() {
        let mut bench = Bench::new();
        for seconds in [0, 100, 200] {
            bench.says(seconds, "old");
        }
        assert!(!bench.doubt(300));
        bench.says(301, "old");
        bench.says(900, "old");
        assert!(!bench.doubt(900));
        bench.says(901, "old");
        assert!(bench.doubt(901));
    }

    #[test]
    fn a_tip_that_flips_never_counts_and_silence_is_no_answer() {
        let mut bench = Bench::new();
        bench.doubt(0);
        for turn in 0..200 {
            bench.says(2 * turn, "old");
            bench.says(2 * turn + 1, "new");
            assert!(!bench.doubt(2 * turn + 1));
        }
        for seconds in 400..1000 {
            bench.fails(seconds);
        }
        assert!(!bench.doubt(1000));
        for seconds in [1000, 1001, 1002] {
            bench.says(seconds, "old");
        }
        assert!(bench.doubt(1002), "it has said the same since second 399");
    }

    #[test]
    fn another_mark_is_another_doubt() {
        let mut bench = Bench::new();
        bench.doubt(0);
        [0, 30, 60].into_iter().for_each(|seconds| bench.says(seconds, "old"));
        assert!(bench.doubt(60));
        assert!(!bench.sights.doubt(&web(), &commit("newer"), &commit("old"), bench.at(61)));
    }

    #[test]
    fn the_source_is_asked_at_once_and_then_less_and_less_often() {
        let mut bench = Bench::new();
        bench.says(0, "old");
        assert_eq!(bench.sights.next_fetch(), None);
        bench.doubt(100);
        assert!(bench.sights.next_fetch() <= Some(bench.at(100)), "at once");
        let (mut now, mut gaps) = (100, Vec::new());
        for _ in 0..7 {
            bench.fails(now);
            let next = bench.sights.next_fetch().unwrap().duration_since(bench.began).as_secs();
            gaps.push(next - now);
            now = next;
        }
        assert_eq!(gaps, [2, 4, 8, 15, 15, 15, 15]);
    }

    #[test]
    fn a_view_is_confirmed_by_a_fetch_that_brought_it() {
        let mut bench = Bench::new();
        bench.fails(0);
        assert!(!bench.sights.is_confirmed(&commit("old")));
        assert_eq!(bench.sights.trouble(), "away");
        // The new tip could not be read: what is shown is still what was on disk.
        let now = bench.at(1);
        bench.sights.heard(Ok(&commit("new")), Some(&commit("old")), "it has no such folder", now);
        assert!(!bench.sights.is_confirmed(&commit("old")));
        assert_eq!(bench.sights.trouble(), "it has no such folder");
        bench.says(2, "old");
        assert!(bench.sights.is_confirmed(&commit("old")));
        bench.fails(3);
        assert!(bench.sights.is_confirmed(&commit("old")), "silence takes nothing back");
    }
}
