//! What the daemon remembers of one workload between two looks.

use std::time::{Duration, Instant};

use super::publish::Said;
use crate::cluster::Outcome;
use crate::model::{Desired, LiveSet, Phase, Progress, Reason};

/// The first wait after a failure.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// The longest one.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// The first wait after a write that came too late: the watch will tell what happened in a moment.
const FIRST_MOVED: Duration = Duration::from_millis(50);
/// The longest one: that others write to a set as well is no trouble, only bad luck.
const LONGEST_MOVED: Duration = Duration::from_secs(2);

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

/// One workload's memory. All of it may be lost: the next look finds what matters in the record and the pods.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// The deadline's memory.
    pub(super) progress: Progress,
    /// What the server refused, and on what grounds it was sent.
    pub(super) refused: Option<(Grounds, Reason, String)>,
    /// Whether a request is on its way.
    pub(super) busy: bool,
    /// Failures in a row.
    failures: u32,
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
    /// The refusal, as long as it was about the same.
    pub(super) fn refusal(&self, grounds: &Grounds) -> Option<(Reason, String)> {
        let (on, reason, message) = self.refused.as_ref()?;
        (on == grounds).then(|| (*reason, message.clone()))
    }

    /// Takes in what came of an action.
    pub(super) fn took(&mut self, outcome: &Outcome, grounds: Grounds, now: Instant) {
        match outcome {
            Outcome::Done(_) => {
                (self.failures, self.not_before, self.refused) = (0, None, None);
            }
            Outcome::Moved(_) => self.back_off(FIRST_MOVED, LONGEST_MOVED, now),
            Outcome::Conflict { managers, fields } => {
                let message = format!(
                    "{} owned by {}: `phaseline resume --overwrite` takes it, or let Git leave the field out",
                    fields.join(", "),
                    managers.join(", ")
                );
                self.refused = Some((grounds, Reason::Drifted, message));
            }
            Outcome::Refused { reason, message } => {
                self.refused = Some((grounds, *reason, message.clone()));
            }
            Outcome::Failed { retry_after, .. } => {
                self.back_off(FIRST_BACKOFF, LONGEST_BACKOFF, now);
                if let Some(after) = retry_after {
                    self.not_before = self.not_before.max(Some(now + (*after).min(LONGEST_BACKOFF)));
                }
            }
        }
    }

    /// Something panicked on its behalf.
    pub(super) fn broke(&mut self, now: Instant) {
        self.back_off(LONGEST_BACKOFF, LONGEST_BACKOFF, now);
    }

    fn back_off(&mut self, first: Duration, longest: Duration, now: Instant) {
        let wait = first.saturating_mul(2_u32.saturating_pow(self.failures.min(10))).min(longest);
        self.failures = self.failures.saturating_add(1);
        // Between half and all of it, so that many workloads do not come back at once.
        let jitter = wait.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.not_before = Some(now + jitter);
    }
}
