//! What time it is: the machine's, or one that passes only when there is nothing left to do.

use std::sync::atomic::{AtomicI64, Ordering};
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
    /// One of the two that is wrong, by as much as the shift says at the moment: that of a machine whose time was never
    /// set, or is set in the middle. See [`Clock::shifted`].
    Shifted {
        /// The virtual clock's beginning; none where it is the machine's clock that is wrong.
        origin: Option<(Timestamp, Instant)>,
        /// By how much.
        shift: Shift,
    },
}

/// By how much a clock is wrong; whoever holds it may let the clock jump while others read it.
///
/// ```
/// # use jiff::SignedDuration;
/// # use phaseline::clock::{Clock, Shift};
/// let shift = Shift::new(SignedDuration::from_secs(120));
/// let ahead = Clock::Real.shifted(shift);
/// assert!(ahead.now().duration_since(Clock::Real.now()).as_secs() >= 119);
/// shift.jump(SignedDuration::from_mins(-20));
/// assert!(ahead.now() < Clock::Real.now());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shift(&'static AtomicI64);

impl Shift {
    /// A shift, forwards or backwards. It is kept for as long as the process runs: clocks are handed on by value.
    pub fn new(by: SignedDuration) -> Self {
        let shift = Self(Box::leak(Box::new(AtomicI64::new(0))));
        shift.set(by);
        shift
    }

    /// How much it is.
    pub fn get(self) -> SignedDuration {
        SignedDuration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// From now on it is that much: the clock jumps.
    pub fn set(self, by: SignedDuration) {
        self.0.store(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// The clock jumps by that much more.
    pub fn jump(self, by: SignedDuration) {
        self.set(self.get().saturating_add(by));
    }
}

impl Clock {
    /// The same clock, wrong by a shift: what a daemon is given to see what it does on a machine whose clock is off.
    ///
    /// Give the daemon `embedded.clock().shifted(shift)` and keep the shift: the cluster goes by the clock that is
    /// right, and `shift.jump(..)` in the middle of a run is a step of NTP, a machine that was asleep, a person with
    /// `date -s`. What waits beside the clock waits by [`Instant`], which no shift moves.
    pub fn shifted(self, shift: Shift) -> Self {
        let origin = match self {
            Self::Real => None,
            Self::Virtual { start, began } => Some((start, began)),
            Self::Shifted { origin, .. } => origin,
        };
        Self::Shifted { origin, shift }
    }

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
            Self::Shifted { origin, shift } => {
                let right = origin.map_or(Self::Real, |(start, began)| Self::Virtual { start, began }).now();
                right.checked_add(shift.get()).unwrap_or(right)
            }
        }
    }

    /// Whether time passes only when there is nothing left to do: then whatever blocks may as well be done at once,
    /// and everything comes in one order.
    pub fn is_virtual(self) -> bool {
        match self {
            Self::Real => false,
            Self::Virtual { .. } => true,
            Self::Shifted { origin, .. } => origin.is_some(),
        }
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

    #[tokio::test(start_paused = true)]
    async fn a_shifted_clock_is_wrong_by_its_shift_and_jumps_with_it() {
        let right = Clock::starting(Timestamp::from_second(1_800_000_000).unwrap());
        let shift = Shift::new(SignedDuration::from_secs(120));
        let wrong = right.shifted(shift);
        assert!(wrong.is_virtual());
        assert_eq!(wrong.now().duration_since(right.now()).as_secs(), 120);
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(wrong.now().duration_since(right.now()).as_secs(), 120);
        let before = wrong.now();
        shift.jump(SignedDuration::from_mins(-20));
        assert_eq!(wrong.now().duration_since(before), SignedDuration::from_mins(-20));
        assert_eq!(wrong.at(before), Instant::now() + Duration::from_mins(20), "it waits for its own time");
    }

    #[tokio::test]
    async fn the_machines_clock_goes_on_by_itself() {
        let before = Timestamp::now();
        assert!(Clock::Real.now() >= before);
        assert!(Clock::Real.at(before) <= Instant::now());
    }
}
