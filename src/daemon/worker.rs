//! What the daemon remembers of one workload between two looks.

use std::time::Duration;

use tokio::time::Instant;

use super::publish::Said;
use crate::cluster::Outcome;
use crate::model::{Desired, LiveSet, Phase, Progress, Reason};

/// How long a refusal stands: what the server refused for a reason outside of the set (a policy, a namespace that is
/// missing) is tried again after that.
const REFUSAL_STANDS: Duration = Duration::from_secs(60);
/// The same for a right that is missing: nothing tells when it is granted.
const FORBIDDEN_STANDS: Duration = Duration::from_secs(10);
/// The first wait after a failure.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// The longest one.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// So many writes that come too late in a row, and the set is read beside its watch.
const MOVED_BEFORE_READ: u32 = 4;
/// The first wait after a write that came too late: the watch will tell what happened in a moment.
const FIRST_MOVED: Duration = Duration::from_millis(50);
/// The longest one: that others write to a set as well is no trouble, only bad luck.
const LONGEST_MOVED: Duration = Duration::from_secs(2);

/// Failures in a row after which one pass gives a workload up.
const TRIES_OF_A_PASS: u32 = 6;

/// What was decided on when the server refused something: the same is not sent again before one of these changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grounds {
    commit: String,
    hash: String,
    rest: String,
    plan: String,
    uid: String,
    generation: i64,
    request: String,
}

impl Grounds {
    /// The grounds of a look.
    pub(super) fn of(desired: Option<&Desired>, set: Option<&LiveSet>) -> Self {
        let tip = |field: fn(&Desired) -> &str| desired.map(field).unwrap_or_default().to_owned();
        let request = set.and_then(|set| set.request.as_ref()).and_then(|request| request.as_ref().ok());
        Self {
            commit: tip(|desired| &desired.tip.commit.id.0),
            hash: tip(|desired| &desired.tip.hash.0),
            rest: tip(|desired| &desired.tip.rest),
            plan: tip(|desired| &desired.plan_digest),
            uid: set.map(|set| set.uid.clone()).unwrap_or_default(),
            generation: set.map(|set| set.generation).unwrap_or_default(),
            request: request.map(|request| request.id.clone()).unwrap_or_default(),
        }
    }
}

/// What the server refused.
#[derive(Debug)]
struct Refusal {
    grounds: Grounds,
    reason: Reason,
    message: String,
    until: Instant,
}

/// One workload's memory. All of it may be lost: the next look finds what matters in the record and the pods.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// The deadline's memory.
    pub(super) progress: Progress,
    /// What the server refused, and on what grounds it was sent.
    refused: Option<Refusal>,
    /// Whether a request is on its way.
    pub(super) busy: bool,
    /// Failures in a row.
    failures: u32,
    /// What the last request came to, where it came to nothing; empty else.
    pub(super) failing: String,
    /// Whether it waits for room in a queue.
    pub(super) queued: bool,
    /// Writes in a row that came too late.
    moved: u32,
    /// Nothing is sent before that.
    pub(super) not_before: Option<Instant>,
    /// When it wants to be looked at again.
    pub(super) due: Option<Instant>,
    /// What was said of it last.
    pub(super) said: Option<Said>,
    /// The phase of the last look.
    pub(super) phase: Option<Phase>,
}

impl Worker {
    /// The refusal, as long as it was about the same and not too long ago.
    pub(super) fn refusal(&self, grounds: &Grounds, now: Instant) -> Option<(Reason, String)> {
        let refusal = self.refused.as_ref().filter(|refusal| refusal.grounds == *grounds && refusal.until > now)?;
        Some((refusal.reason, refusal.message.clone()))
    }

    /// When a refusal that stands has to be looked at again.
    pub(super) fn refused_until(&self, grounds: &Grounds) -> Option<Instant> {
        self.refused.as_ref().filter(|refusal| refusal.grounds == *grounds).map(|refusal| refusal.until)
    }

    /// Something new is to be decided on: what was refused or failed before is no reason to wait.
    pub(super) fn meet(&mut self, grounds: &Grounds) {
        if self.refused.as_ref().is_some_and(|refusal| refusal.grounds != *grounds) {
            (self.failures, self.not_before, self.refused) = (0, None, None);
        }
    }

    /// Whether it was tried so often that another try is for another pass.
    pub(super) fn is_given_up(&self) -> bool {
        self.failures >= TRIES_OF_A_PASS
    }

    /// What was met while another one led is no reason to wait.
    pub(super) fn starts_afresh(&mut self) {
        (self.failures, self.not_before) = (0, None);
        self.failing.clear();
    }

    /// Takes in what came of an action.
    pub(super) fn took(&mut self, outcome: &Outcome, grounds: Grounds, now: Instant) {
        match outcome {
            Outcome::Done(_) => {
                (self.failures, self.not_before, self.refused) = (0, None, None);
                self.failing.clear();
                self.moved = 0;
            }
            Outcome::Moved(_) => {
                self.moved = self.moved.saturating_add(1);
                self.back_off(FIRST_MOVED, LONGEST_MOVED, now);
            }
            Outcome::Conflict { .. } | Outcome::Refused { .. } => {
                self.failing.clear();
                if let Some((reason, message)) = outcome.refusal() {
                    self.refuse(grounds, reason, message, now);
                }
            }
            Outcome::Failed { message, retry_after } => {
                self.failing.clone_from(message);
                self.back_off(FIRST_BACKOFF, LONGEST_BACKOFF, now);
                if let Some(after) = retry_after {
                    self.not_before = self.not_before.max(Some(now + (*after).min(LONGEST_BACKOFF)));
                }
            }
        }
    }

    /// Something was read, or could not be: it is not read in a circle.
    pub(super) fn missed(&mut self, now: Instant) {
        self.back_off(FIRST_BACKOFF, LONGEST_BACKOFF, now);
    }

    /// Whether writes came too late so often that what is held of it cannot be what is there; asked once for each time.
    pub(super) fn sees_ghosts(&mut self) -> bool {
        let is_so = self.moved >= MOVED_BEFORE_READ;
        if is_so {
            self.moved = 0;
        }
        is_so
    }

    /// Something panicked on its behalf.
    pub(super) fn broke(&mut self, now: Instant) {
        self.back_off(LONGEST_BACKOFF, LONGEST_BACKOFF, now);
    }

    fn refuse(&mut self, grounds: Grounds, reason: Reason, message: String, now: Instant) {
        let (stands, longest) = if reason == Reason::Forbidden {
            (FORBIDDEN_STANDS, FORBIDDEN_STANDS)
        } else {
            (REFUSAL_STANDS, LONGEST_BACKOFF)
        };
        self.refused = Some(Refusal { grounds, reason, message, until: now + stands });
        // Where a decision comes to the same all the same (a stage, and not an apply), it is not sent in a circle.
        self.back_off(FIRST_BACKOFF, longest, now);
    }

    /// Whether the server refused something because there is no such namespace.
    pub(super) fn lacks_namespace(&self) -> bool {
        self.refused.as_ref().is_some_and(|refusal| refusal.reason == Reason::NamespaceMissing)
    }

    /// What it was refused for is no more: it may be sent again at once.
    pub(super) fn forgive(&mut self) {
        (self.failures, self.not_before, self.refused) = (0, None, None);
    }

    fn back_off(&mut self, first: Duration, longest: Duration, now: Instant) {
        let wait = first.saturating_mul(2_u32.saturating_pow(self.failures.min(10))).min(longest);
        self.failures = self.failures.saturating_add(1);
        // Between half and all of it, so that many workloads do not come back at once.
        let jitter = wait.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.not_before = Some(now + jitter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grounds(commit: &str) -> Grounds {
        Grounds {
            commit: commit.into(),
            hash: String::new(),
            rest: String::new(),
            plan: String::new(),
            uid: String::new(),
            generation: 1,
            request: String::new(),
        }
    }

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".into(), retry_after: None }
    }

    #[test]
    fn failures_wait_longer_and_longer_but_not_for_ever() {
        let (mut worker, now) = (Worker::default(), Instant::now());
        let waits: Vec<Duration> = (0..12)
            .map(|_| {
                worker.took(&failed(), grounds("a"), now);
                worker.not_before.unwrap() - now
            })
            .collect();
        assert!(waits[0] >= FIRST_BACKOFF / 2 && waits[0] <= FIRST_BACKOFF);
        assert!(waits.iter().all(|wait| *wait <= LONGEST_BACKOFF));
        assert!(waits[11] >= LONGEST_BACKOFF / 2);
        worker.took(&Outcome::Done(None), grounds("a"), now);
        assert_eq!(worker.not_before, None);
    }

    #[test]
    fn the_server_says_when_to_come_again() {
        let (mut worker, now) = (Worker::default(), Instant::now());
        let retry_after = Some(Duration::from_secs(7));
        worker.took(&Outcome::Failed { message: "busy".into(), retry_after }, grounds("a"), now);
        assert_eq!(worker.not_before, Some(now + Duration::from_secs(7)));
    }

    #[test]
    fn a_refusal_stands_for_the_same_grounds_and_for_a_while() {
        let (mut worker, now) = (Worker::default(), Instant::now());
        let refused = Outcome::Refused { reason: Reason::ImmutableField, message: "serviceName".into() };
        worker.took(&refused, grounds("a"), now);
        assert_eq!(worker.refusal(&grounds("a"), now), Some((Reason::ImmutableField, "serviceName".into())));
        assert_eq!(worker.refusal(&grounds("b"), now), None);
        assert_eq!(worker.refusal(&grounds("a"), now + REFUSAL_STANDS), None);
        assert!(worker.not_before.is_some(), "not sent in a circle");
        worker.meet(&grounds("a"));
        assert!(worker.not_before.is_some());
        worker.meet(&grounds("b"));
        assert_eq!(worker.not_before, None, "a new commit is tried at once");
    }

    #[test]
    fn a_conflict_names_who_owns_what() {
        let (mut worker, now) = (Worker::default(), Instant::now());
        let conflict = Outcome::Conflict { managers: vec!["hpa".into()], fields: vec![".spec.replicas".into()] };
        worker.took(&conflict, grounds("a"), now);
        let (reason, message) = worker.refusal(&grounds("a"), now).unwrap();
        assert_eq!(reason, Reason::Drifted);
        assert!(message.contains(".spec.replicas owned by hpa"), "{message}");
    }
}
