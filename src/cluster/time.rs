//! What time it is on the server, as the `Date` of its answers tells.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use http::header::DATE;
use jiff::fmt::rfc2822;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// `Date` has whole seconds, cut off.
const SECOND: Duration = Duration::from_secs(1);

/// How far two clocks part that are both called right: NTP lets a clock run wrong by at most 500 of 1,000,000.
const DRIFT_OF: u32 = 2000;

/// The server's clock, as far as its answers tell: shared by all who ask the same cluster.
///
/// Kubernetes' stamps are the server's, and ours may be wrong; so they are compared in the server's time. It is kept as
/// bounds beside the monotonic clock, which each answer narrows and which no step of our own clock moves. Servers behind
/// one name may differ: an answer that contradicts what was known replaces it. What is not known is how long the
/// machine slept: on Linux the monotonic clock stands still meanwhile. See [`ServerTime::jumped`].
#[derive(Debug, Clone, Default)]
pub struct ServerTime(Arc<Mutex<Option<Bounds>>>);

/// At that moment the server's clock showed at least `low` and at most `high`.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    at: Instant,
    low: Timestamp,
    high: Timestamp,
    /// Our clock has jumped since the last answer: whether that of the server did is not known.
    doubtful: bool,
}

impl Bounds {
    /// The same later on.
    fn at(self, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.at);
        let drift = passed / DRIFT_OF;
        Self { at: now, low: later(self.low, passed - drift), high: later(self.high, passed + drift), ..self }
    }

    fn hold(&self, time: Timestamp) -> bool {
        self.low <= time && time <= self.high
    }
}

impl ServerTime {
    /// Takes in the `Date` of an answer that was asked for at `asked` and began to come in now.
    pub(super) fn note(&self, headers: &HeaderMap, asked: Instant) {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        if let Some(date) = date.and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok()) {
            self.saw(date, asked, Instant::now());
        }
    }

    fn saw(&self, date: Timestamp, asked: Instant, now: Instant) {
        // It was written somewhere between the two moments.
        let latest = later(date, now.saturating_duration_since(asked) + SECOND);
        let seen = Bounds { at: now, low: date, high: latest, doubtful: false };
        let mut bounds = self.lock();
        *bounds = Some(match bounds.map(|bounds| bounds.at(now)) {
            Some(known) if known.low <= seen.high && seen.low <= known.high => {
                Bounds { low: known.low.max(seen.low), high: known.high.min(seen.high), ..seen }
            }
            Some(_) | None => seen,
        });
    }

    /// The server's time at a moment at which our own clock shows `ours`.
    ///
    /// Ours, as long as no answer contradicts it; else the earliest that it may be there: what waits for a time may
    /// wait a second longer, and never too short.
    pub fn now(&self, ours: Timestamp, now: Instant) -> Timestamp {
        match self.lock().map(|bounds| bounds.at(now)) {
            Some(bounds) if bounds.doubtful || !bounds.hold(ours) => bounds.low,
            Some(_) | None => ours,
        }
    }

    /// By how much our own clock is ahead of the server's (behind it, where that is negative), as far as it is certain;
    /// none before the first answer.
    pub fn ahead(&self, ours: Timestamp, now: Instant) -> Option<SignedDuration> {
        let bounds = self.lock().map(|bounds| bounds.at(now))?;
        Some(ours.duration_since(ours.clamp(bounds.low, bounds.high)))
    }

    /// Our own clock was found to have jumped beside the monotonic one. Forwards, either it was set, or the machine
    /// slept, and then the server's clock went on by as much: the earliest counts until the next answer.
    pub fn jumped(&self, by: SignedDuration) {
        let mut bounds = self.lock();
        if let (Some(bounds), Ok(by)) = (bounds.as_mut(), Duration::try_from(by)) {
            bounds.high = later(bounds.high, by);
            bounds.doubtful = true;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Bounds>> {
        // Whoever panicked left one set of bounds or the other.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap() + SignedDuration::from_secs_f64(seconds)
    }

    /// A server and a daemon whose clocks differ, by a monotonic clock that begins at zero.
    struct Scene {
        time: ServerTime,
        zero: Instant,
    }

    impl Scene {
        fn new() -> Self {
            Self { time: ServerTime::default(), zero: Instant::now() }
        }

        fn mono(&self, seconds: f64) -> Instant {
            self.zero + Duration::from_secs_f64(seconds)
        }

        /// An answer written at that moment, as the server's clock had it.
        fn answer(&self, asked: f64, written: f64, came: f64, server_ahead: f64) {
            let date = at((written + server_ahead).floor());
            self.time.saw(date, self.mono(asked), self.mono(came));
        }

        fn now(&self, mono: f64, ours_ahead: f64) -> f64 {
            self.time.now(at(mono + ours_ahead), self.mono(mono)).duration_since(at(0.0)).as_secs_f64()
        }

        fn ahead(&self, mono: f64, ours_ahead: f64) -> Option<i64> {
            Some(self.time.ahead(at(mono + ours_ahead), self.mono(mono))?.as_secs())
        }
    }

    fn near(a: f64, b: f64, by: f64) -> bool {
        (a - b).abs() <= by
    }

    #[test]
    fn a_clock_that_is_right_is_believed_to_the_last_digit() {
        let scene = Scene::new();
        assert!(near(scene.now(3.25, 0.0), 3.25, 1e-9), "before any answer there is nothing else");
        assert_eq!(scene.ahead(3.0, 90.0), None);
        scene.answer(10.0, 10.4, 10.7, 0.0);
        for mono in [10.7, 11.3, 700.0] {
            assert!(near(scene.now(mono, 0.0), mono, 1e-9), "{mono}");
            assert_eq!(scene.ahead(mono, 0.0), Some(0));
        }
    }

    #[test]
    fn a_clock_that_is_wrong_is_put_right_and_never_ahead_of_the_server() {
        for ours in [120.0, -120.0, 1200.0, 3.0, -3.0, 1e6] {
            let scene = Scene::new();
            for n in 0..40 {
                let asked = f64::from(n) * 1.37;
                scene.answer(asked, asked + 0.05, asked + 0.2, 0.0);
                let told = scene.now(asked + 0.2, ours);
                assert!(told <= asked + 0.2 + 1e-6, "{ours}: {told}");
                assert!(told > asked + 0.2 - 1.3, "{ours}: {told}");
            }
            let told = scene.now(60.0, ours);
            assert!(near(told, 60.0, 0.35), "{ours}: forty answers narrow it to {told}");
            assert!(near(scene.ahead(60.0, ours).unwrap() as f64, ours, 1.0), "{ours}");
        }
    }

    #[test]
    fn a_slow_answer_tells_little_and_a_lying_one_nothing_for_long() {
        let scene = Scene::new();
        scene.answer(0.0, 0.1, 14.0, 0.0);
        assert!(scene.now(14.0, 200.0) <= 14.0);
        scene.answer(20.0, 20.0, 20.1, 0.0);
        assert!(near(scene.now(20.1, 200.0), 20.1, 1.2));
        // Another server behind the same name, an hour ahead; then the first one again.
        scene.answer(30.0, 30.0, 30.0, 3600.0);
        assert!(near(scene.now(30.0, 0.0), 3630.0, 1.1));
        scene.answer(31.0, 31.0, 31.0, 0.0);
        assert!(near(scene.now(31.0, 0.0), 31.0, 1.1));
    }

    #[test]
    fn a_jump_of_our_clock_moves_the_servers_nowhere() {
        let scene = Scene::new();
        scene.answer(10.0, 10.5, 10.5, 0.0);
        // Set forwards: until the next answer the earliest counts, for the machine may have slept.
        scene.time.jumped(SignedDuration::from_mins(20));
        let told = scene.now(11.0, 1200.0);
        assert!(told <= 11.0 && told > 9.4, "{told}");
        scene.answer(12.0, 12.5, 12.5, 0.0);
        assert!(near(scene.now(13.0, 1200.0), 13.0, 1.1));
        assert!(near(scene.now(13.0, 0.0), 13.0, 1e-9), "set back, it is believed again");
        // Asleep for an hour, by the monotonic clock not a second: the next answer tells.
        scene.time.jumped(SignedDuration::from_hours(1));
        assert!(scene.now(14.0, 3600.0) < 15.0);
        scene.answer(14.0, 14.0, 14.0, 3600.0);
        assert!(near(scene.now(15.0, 3600.0), 3615.0, 1e-9));
        // Set back.
        scene.time.jumped(SignedDuration::from_hours(-1));
        assert!(near(scene.now(16.0, 0.0), 3616.0, 1.1));
    }

    #[test]
    fn only_a_date_is_a_date() {
        let headers = |date: &'static str| HeaderMap::from_iter([(DATE, http::HeaderValue::from_static(date))]);
        let time = ServerTime::default();
        for none in ["", "yesterday", "1800000000"] {
            time.note(&headers(none), Instant::now());
        }
        time.note(&HeaderMap::new(), Instant::now());
        assert_eq!(time.ahead(at(0.0), Instant::now()), None);
        time.note(&headers("Fri, 15 Jan 2027 08:00:00 GMT"), Instant::now());
        assert!(time.ahead(at(90.0), Instant::now()).is_some_and(|ahead| ahead.as_secs() >= 88));
    }
}
