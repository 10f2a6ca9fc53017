//! Who holds the Lease, and what to do about it: client-go's rules on a monotonic clock.
//!
//! Nobody's `renewTime` is compared with a clock: a Lease runs out when it has not *changed* for as long as it says,
//! counted here, since it was seen to change. What this process holds ends at a deadline counted from before its last
//! good renewal was sent. So clocks may be skewed as they like; only their rates have to be nearly the same.

use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::Lease;

/// The longest Lease of somebody else that is waited for: more is a mistake.
const LONGEST: Duration = Duration::from_secs(300);

/// How long things last: client-go's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timing {
    /// How long others leave a Lease alone that does not change.
    pub(super) duration: Duration,
    /// How long after its last good renewal its holder may write.
    pub(super) deadline: Duration,
    /// How often it is renewed, and tried again.
    pub(super) retry: Duration,
    /// How long one request may take: two fit into the deadline.
    pub(super) request: Duration,
}

impl Timing {
    pub(super) const DEFAULT: Self = Self {
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
        request: Duration::from_secs(5),
    };
}

/// One candidate's side.
#[derive(Debug)]
pub(super) struct Election {
    me: String,
    timing: Timing,
    seen: Option<Seen>,
    /// When the last good renewal was sent; none while somebody else holds it.
    renewed: Option<Instant>,
    /// Nothing is sent before that.
    not_before: Option<Instant>,
}

/// What was seen last.
#[derive(Debug)]
struct Seen {
    /// The Lease; of one that is gone its last state, for its holder may not know yet.
    lease: Option<Lease>,
    gone: bool,
    /// When that was first seen.
    since: Instant,
    /// Whether it is to be read again first.
    doubtful: bool,
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// To look at it.
    Read,
    /// To make it, as the holder for that often changed.
    Create {
        /// `leaseTransitions`.
        transitions: u32,
    },
    /// To write on the one of that version.
    Claim {
        /// Its resourceVersion.
        version: String,
        /// `leaseTransitions`, where the holder changes.
        transitions: Option<u32>,
    },
    /// Nothing before then, unless it changes.
    Wait(Instant),
}

impl Election {
    pub(super) fn new(me: &str, timing: Timing) -> Self {
        Self { me: me.to_owned(), timing, seen: None, renewed: None, not_before: None }
    }

    /// What is due now.
    pub(super) fn next(&self, now: Instant) -> Step {
        if let Some(not_before) = self.not_before.filter(|not_before| *not_before > now) {
            return Step::Wait(not_before);
        }
        let Some(seen) = self.seen.as_ref().filter(|seen| !seen.doubtful) else { return Step::Read };
        let Some(lease) = &seen.lease else { return Step::Create { transitions: 0 } };
        let transitions = lease.transitions.saturating_add(1);
        match &lease.holder {
            Some(holder) if *holder == self.me => match self.renewed {
                _ if seen.gone => Step::Create { transitions: lease.transitions },
                Some(renewed) if renewed + self.timing.retry > now => Step::Wait(renewed + self.timing.retry),
                Some(_) | None => Step::Claim { version: lease.version.clone(), transitions: None },
            },
            Some(_) if self.runs_out(seen, lease) > now => Step::Wait(self.runs_out(seen, lease)),
            Some(_) if seen.gone => Step::Create { transitions },
            None if seen.gone => Step::Create { transitions },
            Some(_) | None => Step::Claim { version: lease.version.clone(), transitions: Some(transitions) },
        }
    }

    /// When a Lease of somebody else's that stays as it is may be taken.
    fn runs_out(&self, seen: &Seen, lease: &Lease) -> Instant {
        let duration = lease.seconds.map_or(self.timing.duration, |seconds| Duration::from_secs(seconds.into()));
        seen.since + duration.min(LONGEST)
    }

    /// Takes in how it is, read or told.
    pub(super) fn sees(&mut self, lease: Option<Lease>, now: Instant) {
        match (lease, self.seen.as_mut()) {
            (None, Some(seen)) if seen.gone => seen.doubtful = false,
            // Whoever held it may not know yet that it is gone, and writes until it does.
            (None, Some(seen)) => (seen.gone, seen.since, seen.doubtful) = (true, now, false),
            (Some(lease), Some(seen)) if !seen.gone && seen.lease.as_ref() == Some(&lease) => seen.doubtful = false,
            (lease, _) => self.seen = Some(Seen { gone: lease.is_none(), lease, since: now, doubtful: false }),
        }
        if self.holder().is_none_or(|holder| holder != self.me) {
            self.renewed = None;
        }
    }

    /// A write that was sent then came to this: its Lease is ours.
    pub(super) fn holds(&mut self, lease: Lease, sent: Instant, now: Instant) {
        self.sees(Some(lease), now);
        self.renewed = Some(sent);
        self.not_before = None;
    }

    /// What was seen is no longer so.
    pub(super) fn moved(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.doubtful = true;
        }
    }

    /// Nothing that was seen counts any more.
    pub(super) fn forget(&mut self) {
        (self.seen, self.renewed) = (None, None);
    }

    /// A request came to nothing.
    pub(super) fn failed(&mut self, now: Instant, wait: Duration) {
        // A write without an answer may be done: then the version is another one.
        self.moved();
        self.not_before = Some(now + wait);
    }

    /// Until when this process may write; none where it may not at all.
    pub(super) fn leads_until(&self) -> Option<Instant> {
        Some(self.renewed? + self.timing.deadline)
    }

    /// Who holds it, as far as it was seen.
    pub(super) fn holder(&self) -> Option<&str> {
        self.seen.as_ref()?.lease.as_ref()?.holder.as_deref()
    }

    /// The version to give it back at; none where there is nothing to give back.
    pub(super) fn to_release(&self) -> Option<String> {
        let lease = self.seen.as_ref()?.lease.as_ref()?;
        (lease.holder.as_deref() == Some(&self.me)).then(|| lease.version.clone())
    }

    /// The version to follow it from while somebody else holds it.
    pub(super) fn to_follow(&self) -> Option<String> {
        let seen = self.seen.as_ref().filter(|seen| !seen.gone && !seen.doubtful)?;
        let lease = seen.lease.as_ref()?;
        (lease.holder.as_deref() != Some(&self.me)).then(|| lease.version.clone())
    }
}

#[cfg(test)]
mod tests;
