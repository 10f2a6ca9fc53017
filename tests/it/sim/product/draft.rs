//! A world by its seed: what runs in it, and what may happen.

use jiff::SignedDuration;
use phaseline::sim::{Compat, Faults, Forbidden, Pace, Rates, Settings, Version};

use super::git::Commit;
use super::play::{DAEMON, SECOND, is_on, start};
use crate::support::plans;

/// What runs in a world: the first three are good.
#[derive(Debug)]
pub(crate) struct Images {
    pub(crate) all: [&'static str; 7],
    /// The annotations of the second: it may take its time to end.
    slow: bool,
}

impl Images {
    fn any(rng: &mut fastrand::Rng) -> Self {
        let broken = ["app:never-ready-b", "app:pull-b", "app:crash-b"][rng.usize(0..3)];
        let worse = ["app:pull-d", "app:crash-d"][rng.usize(0..2)];
        Self { all: ["app:a", "app:e", "app:g", broken, broken, "app:flap-3", worse], slow: rng.bool() }
    }

    /// An image, and what comes with it.
    pub(crate) fn set(&self, commit: &mut Commit, image: &str) {
        commit.image = image.into();
        commit.annotations.clear();
        if image == "app:e" && self.slow {
            commit.annotations.push(("terminate-after.phaseline.dev", "25s"));
        }
    }
}

/// A world, by its seed.
pub(crate) struct Draft {
    pub(crate) rng: fastrand::Rng,
    pub(crate) images: Images,
    pub(crate) settings: Settings,
    pub(crate) first: Commit,
    /// Of 100 moments, how many see a daemon restarted.
    pub(crate) restarts: u32,
    pub(crate) ways: Ways,
}

/// A namespace that is as it should be.
pub(crate) const FINE: &str = "fine";
/// A namespace in which the daemons have no rights.
pub(crate) const FORBIDDEN: &str = "forbidden";
/// A namespace that does not exist.
pub(crate) const MISSING: &str = "missing";

/// The rights that are missing.
pub(crate) fn forbidden() -> Vec<Forbidden> {
    let of = |user: &str| Forbidden { user: user.into(), namespace: FORBIDDEN.into() };
    vec![of(DAEMON), of(SECOND)]
}

/// What happens in a world beside commits, requests and faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ways {
    /// Somebody else edits the set.
    pub(crate) meddles: bool,
    /// Commits that cannot be used.
    pub(crate) flaws: bool,
    /// Remotes that lag, flip or stand still, and branches that are rewritten.
    pub(crate) views: bool,
    /// The first daemon's clock is wrong, by so many seconds at the beginning, drifts by so many of 1,000, and jumps.
    pub(crate) skew: Option<(i64, i64)>,
    /// A second daemon.
    pub(crate) second: bool,
    /// Sets in namespaces of which one is fine, one is forbidden, and one does not exist.
    pub(crate) beside: bool,
    /// The daemons watch each namespace by itself.
    pub(crate) each: bool,
}

impl Ways {
    fn any(rng: &mut fastrand::Rng) -> Self {
        let mut one_in = |many: u32, name: &str| rng.u32(0..many) == 0 && is_on(name);
        let meddles = one_in(6, "meddles");
        let flaws = one_in(4, "flaws");
        let views = one_in(4, "views");
        let (second, beside) = (one_in(3, "second"), one_in(4, "beside"));
        let skewed = one_in(3, "skew");
        let skew = skewed.then(|| (rng.i64(-900..900), if rng.bool() { rng.i64(-60..60) } else { 0 }));
        Self { meddles, flaws, views, skew, second, beside, each: beside && rng.bool() }
    }
}

impl Draft {
    pub(crate) fn of(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let images = Images::any(&mut rng);
        let replicas = rng.u32(1..6);
        let parallel = rng.u32(0..4) == 0;
        let gate = parallel && rng.bool();
        let version = if rng.u32(0..4) == 0 { Version::V1_33 } else { Version::V1_36 };
        let ways = Ways::any(&mut rng);
        let mut first = Commit {
            replicas: (rng.u32(0..3) > 0).then_some(replicas),
            parallel,
            max_unavailable: gate.then_some(1),
            min_ready: if rng.u32(0..4) == 0 { rng.u32(1..5) } else { 0 },
            start: if rng.u32(0..6) == 0 { 3 } else { 0 },
            claims: rng.u32(0..3) == 0,
            plan: plans::any(&mut rng),
            ..Commit::new("app:a", replicas)
        };
        if rng.u32(0..12) == 0 {
            first.image = images.all[3].into();
        }
        let mut rate = |most: u32| rng.u32(0..most);
        let faulty = rate(2) == 0;
        let rates = Rates {
            conflict: rate(40),
            gone: rate(40),
            too_many: rate(20),
            internal: rate(20),
            unavailable: rate(20),
            timeout: rate(40),
            reset_before: rate(20),
            reset_after: rate(40),
            crash: rate(80),
            slow: rate(20),
            watch_ends: rate(60),
            watch_doubles: rate(60),
            watch_delays: rate(60),
            watch_gone: rate(30),
        };
        let faults = Faults {
            users: vec![DAEMON.into(), SECOND.into()],
            rates: if faulty { rates } else { Rates::default() },
            forbidden: if ways.beside { forbidden() } else { Vec::new() },
            ..Faults::default()
        };
        if ways.beside {
            first.neighbours = vec![FINE, FORBIDDEN, MISSING];
        }
        let restarts = if faulty { rate(6) } else { 0 };
        let start_up = SignedDuration::from_millis(i64::from(rate(4000)));
        let settings = Settings {
            compat: Compat { version, max_unavailable: gate && version == Version::V1_36 },
            seed,
            start: start(),
            pace: Pace { start: start_up, stop: SignedDuration::from_millis(i64::from(rate(2000))) },
            faults,
            ..Settings::default()
        };
        first.stamped = rng.u32(0..3) == 0;
        Self { rng, images, settings, first, restarts, ways }
    }
}
