//! What goes wrong at the API's door: refusals, answers that are lost, views that are late, watches that break.
//!
//! Faults meet requests of clients. The cluster's own parts do not come through the door and never meet any.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::chance::Chance;
use super::request::{Answer, Loss, Request, Response};
use super::status::Status;

/// Of which the numbers of the faults come from the world's seed.
const APART: u64 = 0x6661_756c_7473;

/// One thing that goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// 409, as if somebody had been faster.
    Conflict,
    /// 410: what was asked for has been compacted away.
    Gone,
    /// 429, with so many seconds in `Retry-After`.
    TooMany(u32),
    /// 500, before anything is done.
    Internal,
    /// 503, before anything is done.
    Unavailable,
    /// 403: the right for that is missing.
    Forbidden,
    /// It is done, and 504 is answered.
    TimeoutAfterCommit,
    /// The connection breaks before the request is read.
    ResetBefore,
    /// It is done, and the connection breaks before the answer.
    ResetAfter,
    /// It is done, and our process dies before the answer: who watches over it is to kill it.
    Crash,
    /// It is done, and the answer takes so long.
    Slow(SignedDuration),
}

/// What goes wrong with a watch, each time it has something to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// It ends, and what it had to tell is not told.
    Ends,
    /// It tells everything twice.
    Doubles,
    /// It tells it later.
    Delays,
    /// 410 in the middle.
    Gone,
}

/// How often what goes wrong, of 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Writes that are answered 409.
    pub conflict: u32,
    /// Lists of a version, later pages and watches that are answered 410.
    pub gone: u32,
    /// Requests that are answered 429.
    pub too_many: u32,
    /// Requests that are answered 500.
    pub internal: u32,
    /// Requests that are answered 503.
    pub unavailable: u32,
    /// Writes that are done and answered 504.
    pub timeout: u32,
    /// Connections that break before the request is read.
    pub reset_before: u32,
    /// Connections that break before the answer.
    pub reset_after: u32,
    /// Writes after which our process dies.
    pub crash: u32,
    /// Answers that take up to 20 s.
    pub slow: u32,
    /// Watches that end when they have something to tell.
    pub watch_ends: u32,
    /// Watches that tell it twice.
    pub watch_doubles: u32,
    /// Watches that tell it up to 30 s later.
    pub watch_delays: u32,
    /// Watches that are answered 410 when they have something to tell.
    pub watch_gone: u32,
}

/// A fault at a certain write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWrite {
    /// Whose; empty: anybody's.
    pub user: String,
    /// Which write of theirs, from 1; dry runs do not count.
    pub number: u64,
    /// What happens.
    pub fault: Fault,
}

/// A view that lags behind: who reads sees the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Whose; empty: anybody's.
    pub user: String,
    /// How many versions it lags behind.
    pub versions: u64,
    /// Until when.
    pub until: Timestamp,
}

/// What goes wrong, all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// Whose requests are hit by chance; none given: those of every client.
    pub users: Vec<String>,
    /// How often.
    pub rates: Rates,
    /// Until when by chance; none: for ever.
    pub until: Option<Timestamp>,
    /// What goes wrong at which write.
    pub writes: Vec<AtWrite>,
    /// Views that lag behind.
    pub stale: Vec<Stale>,
    /// Rights that are missing.
    pub forbidden: Vec<Forbidden>,
}

/// A namespace in which somebody may do nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// Who; empty: anybody.
    pub user: String,
    /// Where.
    pub namespace: String,
}

/// The door as it stands.
#[derive(Debug)]
pub(crate) struct Door {
    faults: Faults,
    chance: Chance,
    /// Writes of each user so far.
    writes: Vec<(String, u64)>,
    /// Faults that hit.
    hits: u64,
}

impl Door {
    /// A door where nothing goes wrong.
    pub(crate) fn new(seed: u64) -> Self {
        Self { faults: Faults::default(), chance: Chance::new(seed ^ APART), writes: Vec::new(), hits: 0 }
    }

    /// From now on this goes wrong, and writes count from 1.
    pub(crate) fn set(&mut self, faults: Faults) {
        self.faults = faults;
        self.writes.clear();
    }

    /// How many faults hit so far.
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }

    /// How many writes of a user came so far.
    pub(crate) fn writes(&self, user: &str) -> u64 {
        self.writes.iter().find(|(name, _)| name == user).map_or(0, |(_, count)| *count)
    }

    /// What goes wrong with a request.
    pub(crate) fn fault(&mut self, request: &Request, now: Timestamp) -> Option<Fault> {
        let fault =
            self.at_write(request).or_else(|| self.forbids(request)).or_else(|| self.by_chance(request, now))?;
        self.hits += 1;
        Some(fault)
    }

    fn at_write(&mut self, request: &Request) -> Option<Fault> {
        if !is_write(request) {
            return None;
        }
        let number = match self.writes.iter_mut().find(|(user, _)| *user == request.user) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.writes.push((request.user.clone(), 1));
                1
            }
        };
        let hits = |it: &&AtWrite| it.number == number && is_of(&it.user, &request.user);
        self.faults.writes.iter().find(hits).map(|it| it.fault)
    }

    fn forbids(&self, request: &Request) -> Option<Fault> {
        let within = request.path.split_once("/namespaces/").and_then(|(_, rest)| rest.split('/').next())?;
        let hit = |it: &Forbidden| it.namespace == within && is_of(&it.user, &request.user);
        self.faults.forbidden.iter().any(hit).then_some(Fault::Forbidden)
    }

    fn concerns(&self, user: &str, now: Timestamp) -> bool {
        let users = &self.faults.users;
        self.faults.rates != Rates::default()
            && self.faults.until.is_none_or(|until| now < until)
            && (users.is_empty() || users.iter().any(|name| name == user))
    }

    fn by_chance(&mut self, request: &Request, now: Timestamp) -> Option<Fault> {
        if !self.concerns(&request.user, now) {
            return None;
        }
        let rates = self.faults.rates;
        let writes = is_write(request);
        let late = writes || !is_watch(request);
        let of_version = ["continue", "resourceVersion"]
            .iter()
            .any(|name| request.parameter(name).is_some_and(|value| !matches!(value, "" | "0")));
        let seconds = u32::try_from(1 + self.chance.below(3)).unwrap_or(1);
        let wait = SignedDuration::from_millis(i64::try_from(self.chance.below(20_000)).unwrap_or_default());
        let likely = [
            (rates.conflict, writes, Fault::Conflict),
            (rates.gone, !writes && of_version, Fault::Gone),
            (rates.too_many, true, Fault::TooMany(seconds)),
            (rates.internal, true, Fault::Internal),
            (rates.unavailable, true, Fault::Unavailable),
            (rates.timeout, writes, Fault::TimeoutAfterCommit),
            (rates.reset_before, true, Fault::ResetBefore),
            (rates.reset_after, late, Fault::ResetAfter),
            (rates.crash, writes, Fault::Crash),
            (rates.slow, late, Fault::Slow(wait)),
        ];
        // The same numbers are drawn whatever the request is: another kind of request moves nothing else.
        let mut drawn = self.chance.below(1000);
        for (rate, fits, fault) in likely {
            let rate = u64::from(rate);
            if drawn < rate {
                return fits.then_some(fault);
            }
            drawn -= rate;
        }
        None
    }

    /// Which version a user's reading shows; none: the newest.
    pub(crate) fn shows(&self, user: &str, newest: u64, now: Timestamp) -> Option<u64> {
        let lags = |it: &&Stale| it.versions > 0 && now < it.until && is_of(&it.user, user);
        self.faults.stale.iter().find(lags).map(|it| newest.saturating_sub(it.versions))
    }

    /// When a view that lags behind catches up.
    pub(crate) fn catches_up(&self, user: &str, now: Timestamp) -> Option<Timestamp> {
        self.faults.stale.iter().filter(|it| now < it.until && is_of(&it.user, user)).map(|it| it.until).min()
    }

    fn broken(&mut self, user: &str, now: Timestamp) -> Option<Broken> {
        if !self.concerns(user, now) {
            return None;
        }
        let rates = self.faults.rates;
        let mut drawn = self.chance.below(1000);
        for (rate, broken) in [
            (rates.watch_ends, Broken::Ends),
            (rates.watch_doubles, Broken::Doubles),
            (rates.watch_delays, Broken::Delays),
            (rates.watch_gone, Broken::Gone),
        ] {
            let rate = u64::from(rate);
            if drawn < rate {
                self.hits += 1;
                return Some(broken);
            }
            drawn -= rate;
        }
        None
    }

    /// What becomes of the lines of a watch: with a time, they are to be told then.
    pub(crate) fn spoil(&mut self, user: &str, lines: &mut Vec<Value>, now: Timestamp) -> Spoilt {
        match self.broken(user, now) {
            None => Spoilt::Told,
            Some(Broken::Ends) => {
                lines.clear();
                Spoilt::Ended
            }
            Some(Broken::Gone) => {
                lines.clear();
                lines.push(json!({"type": "ERROR", "object": expired().to_json()}));
                Spoilt::Ended
            }
            Some(Broken::Doubles) => {
                *lines = lines.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
                Spoilt::Told
            }
            Some(Broken::Delays) => {
                let wait = i64::try_from(100 + self.chance.below(30_000)).unwrap_or_default();
                Spoilt::Later(now.checked_add(SignedDuration::from_millis(wait)).unwrap_or(now))
            }
        }
    }
}

/// What became of the lines of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoilt {
    /// They are told.
    Told,
    /// They are told, as far as they are left, and nothing more.
    Ended,
    /// They are told then.
    Later(Timestamp),
}

/// What a fault answers before anything is done; none where it is done first.
pub(crate) fn before(fault: Fault) -> Option<Answer> {
    let refused = |status: Status| Some(Answer::Whole(Response::new(status.code, status.to_json())));
    match fault {
        Fault::Conflict => refused(Status::new(
            409,
            "Conflict",
            "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest \
             version and try again",
        )),
        Fault::Gone => refused(expired()),
        Fault::TooMany(seconds) => {
            let mut status = Status::new(429, "TooManyRequests", "Too many requests, please try again later.");
            status.details = json!({"retryAfterSeconds": seconds});
            refused(status)
        }
        Fault::Internal => refused(Status::new(500, "InternalError", "Internal error occurred: etcdserver: no leader")),
        Fault::Unavailable => {
            refused(Status::new(503, "ServiceUnavailable", "the server is currently unable to handle the request"))
        }
        Fault::Forbidden => refused(Status::new(
            403,
            "Forbidden",
            "forbidden: the user cannot do this in the namespace: RBAC: no role grants it",
        )),
        Fault::ResetBefore => Some(Answer::Lost(Loss::Reset)),
        Fault::TimeoutAfterCommit | Fault::ResetAfter | Fault::Crash | Fault::Slow(_) => None,
    }
}

/// What a fault makes of the answer to what was done.
pub(crate) fn after(fault: Fault, answer: Answer) -> Answer {
    match fault {
        Fault::TimeoutAfterCommit => {
            let status = Status::new(504, "Timeout", "Timeout: request did not complete within requested timeout");
            Answer::Whole(Response::new(status.code, status.to_json()))
        }
        Fault::ResetAfter => Answer::Lost(Loss::Reset),
        Fault::Crash => Answer::Lost(Loss::Crash),
        Fault::Slow(wait) => Answer::Late(wait, Box::new(answer)),
        Fault::Conflict
        | Fault::Gone
        | Fault::TooMany(_)
        | Fault::Internal
        | Fault::Unavailable
        | Fault::Forbidden
        | Fault::ResetBefore => answer,
    }
}

/// Whether a request changes anything, if it is carried out.
pub(crate) fn is_write(request: &Request) -> bool {
    request.method != "GET" && request.parameter("dryRun").is_none_or(str::is_empty)
}

fn is_watch(request: &Request) -> bool {
    matches!(request.parameter("watch"), Some("true" | "1"))
}

fn is_of(meant: &str, user: &str) -> bool {
    meant.is_empty() || meant == user
}

fn expired() -> Status {
    Status::new(410, "Expired", "The provided resource version is too old: what came after it is forgotten.")
}

#[cfg(test)]
mod tests;
