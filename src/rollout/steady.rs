//! Says since when pods are Ready by a clock that nobody can set: stamps alone end no soak and no pause.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::gate;
use crate::model::{LiveSet, Observed, Ordinal, Pace, Pod, Progress, SeenReady};

/// The steady clock, and what was seen by it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Steady<'a> {
    /// How time passes.
    pub pace: Pace,
    /// The pods that are Ready; none where nobody counts.
    pub ready: Option<&'a BTreeMap<Ordinal, SeenReady>>,
}

impl Steady<'_> {
    /// What it shows; the time of the look itself where nobody counts.
    pub fn shows(&self, now: Timestamp) -> SignedDuration {
        shows(self.pace, now)
    }

    /// Since when a pod was seen to be Ready.
    pub fn seen(&self, pod: &Pod) -> Option<SignedDuration> {
        let seen = self.ready?.get(&pod.ordinal).filter(|seen| Some(seen.since) == pod.ready_since)?;
        Some(seen.seen)
    }

    /// When `seconds` will have passed since a moment, by the stamps and by the steady clock: the later of the two.
    pub fn passed(&self, since: Timestamp, seen: Option<SignedDuration>, seconds: u32, now: Timestamp) -> Timestamp {
        let stamps = gate::available_at(since, seconds);
        let left = seen.map(|seen| {
            let passed = self.shows(now).saturating_sub(seen);
            SignedDuration::from_secs(i64::from(seconds)).saturating_sub(passed)
        });
        match left.filter(|left| left.is_positive()) {
            Some(left) => stamps.max(now.checked_add(left).unwrap_or(Timestamp::MAX)),
            None => stamps,
        }
    }
}

/// What the steady clock shows at a look.
fn shows(pace: Pace, now: Timestamp) -> SignedDuration {
    pace.steady.unwrap_or_else(|| now.as_duration())
}

/// The pods that are Ready, as they are to be remembered: what was seen before stays as it was seen.
///
/// At the first look, after a start of ours, the stamps tell how long they have been Ready; from then on a pod is Ready
/// since it was seen so, whatever its node's clock says.
pub(super) fn remember(set: &LiveSet, observed: &Observed, now: Timestamp) -> Option<BTreeMap<Ordinal, SeenReady>> {
    let steady = observed.pace.steady?;
    let Progress { ready: before, .. } = &observed.progress;
    let ready = gate::own_pods(set, &observed.pods).filter(|pod| pod.ready).filter_map(|pod| {
        let since = pod.ready_since?;
        let seen = match before {
            None => steady.saturating_sub(now.duration_since(since).max(SignedDuration::ZERO)),
            Some(before) => match before.get(&pod.ordinal) {
                Some(known) if known.since == since => known.seen,
                Some(_) | None => steady,
            },
        };
        Some((pod.ordinal, SeenReady { since, seen }))
    });
    Some(ready.collect())
}
