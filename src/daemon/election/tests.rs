//! Candidates and a Lease, in time that passes when it is told to.

use super::*;

const S: Duration = Duration::from_secs(1);

/// A Lease on a server that is strict about versions.
#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
}

impl Server {
    fn store(&mut self, holder: Option<&str>, transitions: Option<u32>) -> Lease {
        self.version += 1;
        let transitions = transitions.or(self.lease.as_ref().map(|lease| lease.transitions)).unwrap_or_default();
        let lease = Lease {
            version: self.version.to_string(),
            holder: holder.map(str::to_owned),
            seconds: Some(15),
            transitions,
            ..Lease::default()
        };
        self.lease = Some(lease.clone());
        lease
    }

    fn version(&self) -> Option<&str> {
        self.lease.as_ref().map(|lease| lease.version.as_str())
    }
}

/// Two candidates and the time.
struct Scene {
    server: Server,
    zero: Instant,
    now: Instant,
    a: Election,
    b: Election,
}

impl Scene {
    fn new() -> Self {
        let now = Instant::now();
        let [a, b] = ["a", "b"].map(|me| Election::new(me, Timing::DEFAULT));
        Self { server: Server::default(), zero: now, now, a, b }
    }

    fn of(&mut self, who: &str) -> &mut Election {
        if who == "a" { &mut self.a } else { &mut self.b }
    }

    /// Lets one do what is due, until it has to wait; and until when.
    fn turn(&mut self, who: &'static str) -> Duration {
        for _ in 0..10 {
            let now = self.now;
            let step = self.of(who).next(now);
            let (at, transitions) = match step {
                Step::Wait(until) => return until - self.zero,
                Step::Read => {
                    let lease = self.server.lease.clone();
                    self.of(who).sees(lease, now);
                    continue;
                }
                Step::Create { transitions } => (None, Some(transitions)),
                Step::Claim { version, transitions } => (Some(version), transitions),
            };
            if at.as_deref() == self.server.version() {
                let lease = self.server.store(Some(who), transitions);
                self.of(who).holds(lease, now, now);
            } else if self.server.lease.is_none() {
                self.of(who).sees(None, now);
            } else {
                self.of(who).moved();
            }
        }
        panic!("{who} goes in a circle");
    }

    /// What the server tells whoever follows.
    fn tell(&mut self, who: &'static str) {
        let (lease, now) = (self.server.lease.clone(), self.now);
        self.of(who).sees(lease, now);
    }

    fn at(&mut self, time: Duration) {
        self.now = self.zero + time;
    }

    fn leads(&mut self, who: &str) -> bool {
        let now = self.now;
        self.of(who).leads_until().is_some_and(|until| until > now)
    }
}

#[test]
fn the_first_one_leads_and_renews_and_the_other_waits() {
    let mut scene = Scene::new();
    assert_eq!(scene.turn("a"), 2 * S);
    assert_eq!(scene.turn("b"), 15 * S);
    assert!(scene.leads("a") && !scene.leads("b"));
    for second in (2..60).step_by(2) {
        scene.at(second * S);
        scene.turn("a");
        scene.tell("b");
        assert_eq!(scene.turn("b"), (second + 15) * S, "its time runs anew with every change");
        assert!(scene.leads("a") && !scene.leads("b"));
    }
    assert_eq!(scene.b.holder(), Some("a"));
}

#[test]
fn a_leader_that_is_killed_is_followed_when_its_lease_runs_out() {
    let mut scene = Scene::new();
    scene.turn("a");
    scene.turn("b");
    scene.at(2 * S);
    scene.turn("a");
    scene.tell("b");
    scene.at(17 * S - Duration::from_millis(1));
    scene.turn("b");
    assert!(!scene.leads("b"));
    scene.at(17 * S);
    scene.turn("b");
    assert!(scene.leads("b"));
    assert_eq!(scene.server.lease.as_ref().unwrap().transitions, 1);
}

#[test]
fn a_leader_that_was_stopped_may_not_write_before_it_has_looked() {
    let mut scene = Scene::new();
    scene.turn("a");
    scene.turn("b");
    scene.at(30 * S);
    scene.turn("b");
    assert!(scene.leads("b") && !scene.leads("a"), "the deadline passes by itself");
    // Its renewal meets another version; it looks, and waits.
    scene.turn("a");
    assert!(!scene.leads("a") && scene.leads("b"));
    assert_eq!(scene.a.holder(), Some("b"));
}

#[test]
fn whoever_may_write_does_so_alone() {
    // However late a renewal is: between the end of one's time and the beginning of the other's lie five seconds.
    for late in 0..40 {
        let mut scene = Scene::new();
        scene.turn("a");
        scene.turn("b");
        for second in 1..40 {
            scene.at(second * S);
            scene.turn("b");
            if second >= late {
                scene.turn("a");
            }
            assert!(!(scene.leads("a") && scene.leads("b")), "late {late}, second {second}");
        }
    }
}

#[test]
fn what_is_given_back_is_taken_at_once() {
    let mut scene = Scene::new();
    scene.turn("a");
    scene.turn("b");
    assert_eq!(scene.b.to_release(), None);
    assert_eq!(scene.a.to_release().as_deref(), scene.server.version());
    scene.server.store(None, None);
    scene.tell("b");
    scene.turn("b");
    assert!(scene.leads("b"));
}

#[test]
fn clocks_of_others_do_not_matter() {
    // There is no time in a Lease that is looked at: a holder whose clock is an hour off changes nothing.
    let mut scene = Scene::new();
    let mut lease = scene.server.store(Some("a"), None);
    for hours in [-1_i64, 0, 1, 100] {
        lease.heard = jiff::Timestamp::from_second(1_800_000_000 + hours * 3600).ok();
        scene.b = Election::new("b", Timing::DEFAULT);
        let now = scene.now;
        scene.b.sees(Some(lease.clone()), now);
        assert_eq!(scene.b.next(now), Step::Wait(now + 15 * S));
    }
}

#[test]
fn a_lease_that_is_deleted_is_made_anew_by_its_holder_first() {
    let mut scene = Scene::new();
    scene.turn("a");
    scene.turn("b");
    scene.at(S);
    scene.server.lease = None;
    scene.tell("b");
    assert_eq!(scene.turn("b"), 16 * S, "the holder may not know yet");
    scene.at(2 * S);
    scene.turn("a");
    assert!(scene.leads("a"));
    scene.at(16 * S);
    scene.turn("b");
    assert!(!scene.leads("b"), "there is one again, and it is somebody's");
    // And where the holder is gone too, the other one makes it.
    scene.server.lease = None;
    scene.tell("b");
    scene.at(40 * S);
    scene.turn("b");
    assert!(scene.leads("b"));
}

#[test]
fn nonsense_in_a_lease_holds_nobody_up_for_ever() {
    for (holder, seconds, wait) in [
        (None, None, 0),
        (Some("x"), None, 15),
        (Some("x"), Some(1), 1),
        (Some("x"), Some(40), 40),
        (Some("x"), Some(u32::MAX), 300),
    ] {
        let mut scene = Scene::new();
        let lease = Lease { seconds, ..scene.server.store(holder, None) };
        scene.server.lease = Some(lease);
        scene.turn("a");
        scene.at(wait * S);
        scene.turn("a");
        assert!(scene.leads("a"), "{holder:?} {seconds:?}");
    }
}

#[test]
fn a_stolen_lease_is_given_up() {
    let mut scene = Scene::new();
    scene.turn("a");
    scene.server.store(Some("thief"), None);
    scene.at(2 * S);
    scene.turn("a");
    assert!(!scene.leads("a"));
    assert_eq!(scene.a.holder(), Some("thief"));
}

#[test]
fn a_renewal_without_an_answer_is_looked_up() {
    let mut scene = Scene::new();
    scene.turn("a");
    scene.at(2 * S);
    // It was stored, and its answer was lost.
    scene.server.store(Some("a"), None);
    let now = scene.now;
    scene.a.failed(now, 2 * S);
    assert_eq!(scene.turn("a"), 4 * S, "not in a hurry");
    assert!(scene.leads("a"), "what was granted before still is");
    scene.at(4 * S);
    scene.turn("a");
    assert_eq!(scene.a.leads_until(), Some(scene.now + 10 * S));
    // And where nothing comes back at all, its time ends.
    scene.at(14 * S);
    assert!(!scene.leads("a"));
}
