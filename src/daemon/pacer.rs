//! Keeps an eye on the clocks: whether ours is right, and whether it or the process has jumped.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::cluster::ServerTime;
use crate::model::Pace;

/// How far our clock and the monotonic one may part between two looks: more is a step, and no drift.
const STEP: SignedDuration = SignedDuration::from_secs(5);
/// How much later than due a timer may go off: more, and the process was stopped, or starved.
const LATE: std::time::Duration = std::time::Duration::from_secs(5);
/// How wrong our clock may be before it is said.
const SKEW_SAID: i64 = 30;
/// How much more or less wrong it has to be than what was said, to be said again.
const SKEW_MORE: i64 = 10;

/// The clocks of a daemon.
#[derive(Debug)]
pub(super) struct Pacer {
    clock: Clock,
    began: Instant,
    /// What both clocks showed at the last look.
    last: (Timestamp, Instant),
    jumps: u32,
    ahead: i64,
}

impl Pacer {
    /// Begins now.
    pub(super) fn new(clock: Clock) -> Self {
        let now = Instant::now();
        Self { clock, began: now, last: (clock.now(), now), jumps: 0, ahead: 0 }
    }

    /// Compares the clocks, once a turn of the loop, before anything is decided; `due` is the earliest timer. Says
    /// whether one of them has jumped since the last look.
    ///
    /// A machine that sleeps stops the monotonic clock (on Linux) and not the other one; a process that is stopped
    /// stops neither, but then its timers go off late.
    pub(super) fn look(&mut self, server: &ServerTime, due: Option<Instant>, now: Instant) -> bool {
        let ours = self.clock.now();
        let (before, then) = self.last;
        let steady = SignedDuration::try_from(now.saturating_duration_since(then)).unwrap_or(SignedDuration::MAX);
        let parted = ours.duration_since(before).saturating_sub(steady);
        self.last = (ours, now);
        let set = parted.abs() > STEP;
        if set {
            server.jumped(parted);
            warn!(seconds = parted.as_secs(), "this machine's clock jumped; deadlines start anew");
        }
        let late = due.map(|due| now.saturating_duration_since(due)).filter(|late| *late > LATE);
        if let Some(late) = late {
            warn!(seconds = late.as_secs(), "the daemon stood still; deadlines start anew");
        }
        let jumped = set || late.is_some();
        self.jumps = self.jumps.saturating_add(u32::from(jumped));
        let skewed = self.measure(server, ours, now);
        jumped || skewed
    }

    /// Brings what is said of our clock up to date; whether that is news.
    fn measure(&mut self, server: &ServerTime, ours: Timestamp, now: Instant) -> bool {
        let Some(ahead) = server.ahead(ours, now).map(|ahead| ahead.as_secs()) else { return false };
        let is_wrong = |seconds: i64| seconds.abs() > SKEW_SAID;
        if is_wrong(ahead) == is_wrong(self.ahead) && (ahead - self.ahead).abs() < SKEW_MORE {
            return false;
        }
        let news = is_wrong(ahead) || is_wrong(self.ahead);
        self.ahead = ahead;
        match is_wrong(ahead) {
            true => warn!(seconds_ahead = ahead, "this machine's clock is wrong; the API server's time is used"),
            false if news => info!("this machine's clock is right again"),
            false => {}
        }
        news
    }

    /// By how many seconds our clock is ahead, where that is worth a word.
    pub(super) fn skew(&self) -> Option<i64> {
        (self.ahead.abs() > SKEW_SAID).then_some(self.ahead)
    }

    /// What a decision is to know.
    pub(super) fn now(&self, now: Instant) -> Pace {
        let steady = now.saturating_duration_since(self.began);
        Pace {
            steady: Some(SignedDuration::try_from(steady).unwrap_or(SignedDuration::MAX)),
            jumps: self.jumps,
            ahead_seconds: self.ahead,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Shift;

    struct Scene {
        pacer: Pacer,
        shift: Shift,
        server: ServerTime,
    }

    impl Scene {
        fn new() -> Self {
            let shift = Shift::new(SignedDuration::ZERO);
            let clock = Clock::starting(Timestamp::from_second(1_800_000_000).unwrap()).shifted(shift);
            Self { pacer: Pacer::new(clock), shift, server: ServerTime::default() }
        }

        async fn pass(&mut self, seconds: u64, due: Option<Instant>) -> bool {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            self.pacer.look(&self.server, due, Instant::now())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_parts_the_clocks_is_a_jump() {
        let mut scene = Scene::new();
        assert!(!scene.pass(3600, None).await);
        scene.shift.jump(SignedDuration::from_secs(4));
        assert!(!scene.pass(1, None).await, "a clock that is put right gently");
        for minutes in [20, -20, -20] {
            scene.shift.jump(SignedDuration::from_mins(minutes));
            assert!(scene.pass(1, None).await, "{minutes}");
            assert!(!scene.pass(1, None).await, "{minutes}: said once");
        }
        assert_eq!(scene.pacer.now(Instant::now()).jumps, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_stopped_finds_its_timers_late() {
        let mut scene = Scene::new();
        let due = Instant::now() + Duration::from_secs(60);
        assert!(!scene.pass(30, Some(due)).await, "not due yet");
        assert!(!scene.pass(32, Some(due)).await, "a machine that is busy");
        assert!(scene.pass(600, Some(due)).await);
        assert_eq!(scene.pacer.now(Instant::now()).steady, Some(SignedDuration::from_secs(662)));
    }
}
