//! What time it is: the machine's, or one that passes only when there is nothing left to do.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock. Whatever waits beside it waits by [`Instant`], which stands still where the runtime's time does.
#[derive(Debug, Clone, Copy, Default)]
pub enum Clock {
    /// The machine's.
    #[default]
    Real,
    /// A moment, and what the runtime's time has moved on by since: on a runtime whose time is paused, the virtual time
    /// in which the embedded cluster plays hours in a second.
    Virtual {
        /// The time at which it began.
        start: Timestamp,
        /// When that was, to the runtime.
        began: Instant,
    },
}

impl Clock {
    /// A clock that begins now, at that time. Must be called within the runtime whose time is paused.
    pub fn starting(start: Timestamp) -> Self {
        Self::Virtual { start, began: Instant::now() }
    }

    /// The time.
    pub fn now(self) -> Timestamp {
        match self {
            Self::Real => Timestamp::now(),
            Self::Virtual { start, began } => {
                let passed = SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::MAX);
                start.checked_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// Whether time passes only when there is nothing left to do: then whatever blocks may as well be done at once,
    /// and everything comes in one order.
    pub fn is_virtual(self) -> bool {
        matches!(self, Self::Virtual { .. })
    }

    /// When it will be that time; now, where it is past.
    pub fn at(self, time: Timestamp) -> Instant {
        let wait = Duration::try_from(time.duration_since(self.now())).unwrap_or_default();
        let now = Instant::now();
        now.checked_add(wait).unwrap_or(now + FOREVER)
    }
}

/// Longer than anything runs: what lies beyond the end of the runtime's time.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn virtual_time_is_the_runtimes() {
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let clock = Clock::starting(start);
        assert!(clock.is_virtual() && !Clock::Real.is_virtual());
        let later = start + SignedDuration::from_hours(7);
        tokio::time::sleep_until(clock.at(later)).await;
        assert_eq!(clock.now(), later);
        assert_eq!(clock.at(start), Instant::now(), "what is past is due now");
        assert!(clock.at(Timestamp::MAX) > Instant::now());
    }

    #[tokio::test]
    async fn the_machines_clock_goes_on_by_itself() {
        let before = Timestamp::now();
        assert!(Clock::Real.now() >= before);
        assert!(Clock::Real.at(before) <= Instant::now());
    }
}
