//! Keeps the daemon's Lease: one leads, the others stand by; and writes down on it what the daemon knows.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use super::election::{Election, Step, Timing};
use super::report::Report;
use crate::clock::Clock;
use crate::cluster::lease::{Claim, Follow, Written};
use crate::cluster::{Cluster, Fence, RequestError, Slot};

/// How long a Lease may take to be given back.
const RELEASE: Duration = Duration::from_secs(5);
/// After a refusal for want of a right nothing is gained by asking again soon.
const DENIED: Duration = Duration::from_secs(10);
/// How often a daemon that stands for no election says that it is there, and for how long that is to be believed.
const BEAT: Duration = Duration::from_secs(10);
const BELIEVED: Duration = Duration::from_secs(30);
/// The same where it may not: rights change seldom.
const NO_BEAT: Duration = Duration::from_secs(600);
/// Bytes of the digest in a Lease's name.
const DIGEST_BYTES: usize = 6;

/// How a daemon shows itself to others.
#[derive(Debug, Clone)]
pub struct Presence {
    /// A way to the cluster of its own: what waits on the others must not hold the renewal up.
    pub cluster: Cluster,
    /// The namespace of its Lease.
    pub namespace: String,
    /// Whether it writes only while it holds that Lease.
    pub elect: bool,
    /// What it looks after, in words that are the same for all who look after the same.
    pub after: String,
    /// Its name among them.
    pub me: String,
}

impl Presence {
    /// The name of the Lease. Daemons that look after different things do not stand in each other's way.
    pub fn lease(&self) -> String {
        let mut name = String::from("phaseline-");
        for byte in Sha256::digest(self.after.as_bytes()).iter().take(DIGEST_BYTES) {
            // Writing to a string has no way to fail.
            let _ = write!(name, "{byte:02x}");
        }
        if !self.elect {
            // Those who stand for election count on nobody else writing on theirs.
            name.push_str("-alone");
        }
        name
    }

    /// A name that no other process has: its host, its number, and chance.
    pub fn identity(host: &str) -> String {
        let host = if host.is_empty() { "unknown" } else { host };
        format!("{host}-{}-{:08x}", std::process::id(), fastrand::u32(..))
    }
}

/// Whether this daemon is the one that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// It is.
    Leads,
    /// Another one is, or nobody yet.
    StandsBy {
        /// Who.
        leader: Option<String>,
    },
}

/// The loop's side of it.
pub(super) struct Leader {
    role: watch::Receiver<Role>,
    /// What is to be written down. Once it is gone, so is the daemon.
    pub(super) report: watch::Sender<Report>,
    /// Who keeps the Lease, where one is kept, and how it is asked to end.
    keeper: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    /// Whether it changes.
    elects: bool,
}

impl Leader {
    /// Begins to keep the Lease; and the cluster, as the loop is to write to it.
    pub(super) fn start(presence: Option<Presence>, cluster: Cluster, clock: Clock, report: Report) -> (Cluster, Self) {
        let (report, reported) = watch::channel(report);
        let Some(presence) = presence else {
            let (_, role) = watch::channel(Role::Leads);
            return (cluster, Self { role, report, keeper: None, elects: false });
        };
        let elects = presence.elect;
        let first = if elects { Role::StandsBy { leader: None } } else { Role::Leads };
        let fence = if elects { Fence::shut(clock) } else { Fence::default() };
        let (told, role) = watch::channel(first);
        let slot = Slot::new(&presence.cluster, &presence.namespace, &presence.lease());
        info!(namespace = slot.namespace, lease = slot.name, identity = presence.me, elects, "keeps a Lease");
        let keeper = Keeper {
            election: Election::new(&presence.me, Timing::DEFAULT),
            me: presence.me,
            slot,
            fence: fence.clone(),
            clock,
            role: told,
            report: reported,
            acknowledged: None,
            follow: None,
            trouble: String::new(),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(keeper.run(elects, stopped));
        (cluster.behind(fence), Self { role, report, keeper: Some((stop, task)), elects })
    }

    /// Whether this daemon writes now.
    pub(super) fn leads(&self) -> bool {
        *self.role.borrow() == Role::Leads
    }

    /// Who does, where that is known and somebody else.
    pub(super) fn other(&self) -> Option<String> {
        match &*self.role.borrow() {
            Role::Leads => None,
            Role::StandsBy { leader } => leader.clone(),
        }
    }

    /// Done when that is no longer so.
    pub(super) async fn changed(&mut self) {
        if !self.elects || self.role.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Changes what is to be written down; `change` tells whether it did.
    pub(super) fn knows(&self, change: impl FnOnce(&mut Report) -> bool) {
        if self.keeper.is_some() {
            self.report.send_if_modified(change);
        }
    }

    /// Gives the Lease back: whatever was being written has ended.
    pub(super) async fn end(self) {
        let Some((stop, task)) = self.keeper else { return };
        // Whichever way that goes, it is the end.
        let _ = stop.send(());
        let _ = timeout(RELEASE, task).await;
    }
}

/// Who keeps the Lease, beside the loop.
struct Keeper {
    me: String,
    slot: Slot,
    election: Election,
    fence: Fence,
    clock: Clock,
    role: watch::Sender<Role>,
    report: watch::Receiver<Report>,
    /// What was written down last.
    acknowledged: Option<String>,
    /// How the Lease of another one is followed, while it is.
    follow: Option<Follow>,
    /// What is wrong; empty where nothing is.
    trouble: String,
}

impl Keeper {
    async fn run(mut self, elects: bool, stop: oneshot::Receiver<()>) {
        let kept = async {
            match elects {
                true => self.stand().await,
                false => self.beat().await,
            }
        };
        tokio::select! {
            biased;
            // Nobody asked, and the daemon is gone: as if it had been killed.
            stopped = stop => if stopped.is_err() { return },
            () = kept => return,
        }
        self.fence.drop_hold();
        self.release().await;
    }

    /// Stands for election, again and again, until the daemon is gone.
    async fn stand(&mut self) {
        while self.report.has_changed().is_ok() {
            self.publish();
            match self.election.next(Instant::now()) {
                Step::Wait(until) => self.wait(until).await,
                Step::Read => self.look().await,
                Step::Create { transitions } => self.claim(None, Some(transitions)).await,
                Step::Claim { version, transitions } => self.claim(Some(version), transitions).await,
            }
        }
    }

    async fn look(&mut self) {
        match self.slot.read(Timing::DEFAULT.request).await {
            Ok(lease) => self.election.sees(lease, Instant::now()),
            Err(error) => self.fail(&error),
        }
    }

    async fn claim(&mut self, version: Option<String>, transitions: Option<u32>) {
        let sent = (Instant::now(), self.clock.now());
        match self.write(version.as_deref(), transitions, Timing::DEFAULT.duration, sent.1).await {
            Ok(Written::Done(lease)) => {
                self.election.holds(lease, sent.0, Instant::now());
                self.fence.hold(sent, Timing::DEFAULT.deadline);
                self.follow = None;
                self.mended();
            }
            Ok(Written::Moved) => self.election.moved(),
            Ok(Written::Gone) => self.election.sees(None, Instant::now()),
            Err(error) => self.fail(&error),
        }
    }

    /// Writes that it is held, and what is new of what the daemon knows.
    async fn write(
        &mut self,
        version: Option<&str>,
        transitions: Option<u32>,
        believed: Duration,
        now: Timestamp,
    ) -> Result<Written, RequestError> {
        let report = self.report.borrow_and_update().encode();
        let is_news = transitions.is_some() || self.acknowledged.as_ref() != Some(&report);
        let claim = Claim {
            holder: Some(self.me.clone()),
            seconds: u32::try_from(believed.as_secs()).unwrap_or(u32::MAX),
            transitions,
            report: is_news.then(|| report.clone()),
        };
        let written = match version {
            None => self.slot.create(&claim, now, Timing::DEFAULT.request).await,
            Some(version) => self.slot.claim(&claim, version, now, Timing::DEFAULT.request).await,
        };
        if let Ok(Written::Done(_)) = &written {
            self.acknowledged = Some(report);
        }
        written
    }

    /// Waits until then, or until something is told of a Lease that another one holds.
    async fn wait(&mut self, until: Instant) {
        // The end of its time is to be told too, once.
        let end = self.election.leads_until().filter(|end| *end > Instant::now());
        let mut until = end.map_or(until, |end| until.min(end));
        let mut asks = false;
        let version = if self.follow.is_some() { None } else { self.election.to_follow() };
        if let Some(version) = version {
            match self.slot.follow(&version).await {
                Ok(follow) => self.follow = Some(follow),
                // Then it is asked after, every now and then.
                Err(error) => {
                    self.say(&error);
                    (asks, until) = (true, until.min(Instant::now() + Timing::DEFAULT.retry));
                }
            }
        }
        let told = async {
            match &mut self.follow {
                Some(follow) => follow.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            lease = told => match lease {
                Some(lease) => self.election.sees(lease, Instant::now()),
                None => {
                    self.follow = None;
                    self.election.failed(Instant::now(), Timing::DEFAULT.retry / 4);
                }
            },
            // What is new goes with the next renewal; that nobody is there any more is seen by the caller.
            _ = self.report.changed() => {}
            () = sleep_until(until) => if asks {
                self.election.moved();
            },
        }
    }

    fn fail(&mut self, error: &RequestError) {
        self.say(error);
        let wait = if error.is_permanent() { DENIED } else { Timing::DEFAULT.retry };
        self.election.failed(Instant::now(), wait);
    }

    /// Says what is wrong, once.
    fn say(&mut self, error: &RequestError) {
        let error = error.words();
        if self.trouble != error {
            warn!(namespace = self.slot.namespace, lease = self.slot.name, error, "the Lease cannot be kept");
            self.trouble = error;
        }
    }

    fn mended(&mut self) {
        if !std::mem::take(&mut self.trouble).is_empty() {
            info!(namespace = self.slot.namespace, lease = self.slot.name, "the Lease can be kept again");
        }
    }

    /// Tells the loop, and people, who leads.
    fn publish(&mut self) {
        let leads = self.election.leads_until().is_some_and(|until| until > Instant::now());
        if !leads {
            self.fence.drop_hold();
        }
        let leader = self.election.holder().filter(|holder| *holder != self.me).map(str::to_owned);
        let role = if leads { Role::Leads } else { Role::StandsBy { leader } };
        let lease = &self.slot.name;
        self.role.send_if_modified(|before| {
            if *before == role {
                return false;
            }
            if *before == Role::Leads {
                warn!(reason = "LeaseLost", lease, "writes nothing any more: the Lease was not renewed in time");
            }
            match &role {
                Role::Leads => info!(lease, "leads"),
                Role::StandsBy { leader: Some(leader) } => {
                    info!(reason = "NotLeader", lease, leader, "stands by: another daemon leads");
                }
                Role::StandsBy { leader: None } => {}
            }
            *before = role;
            true
        });
    }

    /// Gives the Lease back, so that whoever stands by need not wait for its end.
    async fn release(&mut self) {
        let mut version = self.election.to_release();
        for _ in 0..2 {
            let Some(seen) = version.take() else { return };
            let report = self.report.borrow().encode();
            let report = (self.acknowledged.as_ref() != Some(&report)).then_some(report);
            let claim = Claim { holder: None, seconds: 1, transitions: None, report };
            match self.slot.claim(&claim, &seen, self.clock.now(), Timing::DEFAULT.request).await {
                Ok(Written::Done(_)) => return info!(lease = self.slot.name, "has given the Lease back"),
                // A renewal was on its way.
                Ok(Written::Moved) => {
                    self.look().await;
                    version = self.election.to_release();
                }
                Ok(Written::Gone) => return,
                Err(error) => return self.say(&error),
            }
        }
    }

    /// Says that the daemon is there and what it knows, without standing for anything.
    async fn beat(&mut self) {
        while self.report.has_changed().is_ok() {
            let wait = self.beat_once().await;
            tokio::time::sleep(wait.min(Timing::DEFAULT.retry)).await;
            let rest = wait.saturating_sub(Timing::DEFAULT.retry);
            tokio::select! {
                biased;
                // Where it may not be written down, that it has changed is no reason to try.
                _ = self.report.changed(), if wait <= BEAT => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// One beat; and when the next one is due.
    async fn beat_once(&mut self) -> Duration {
        let now = Instant::now();
        let written = match self.election.to_release() {
            Some(version) if self.election.to_follow().is_none() => {
                self.write(Some(&version), None, BELIEVED, self.clock.now()).await
            }
            Some(_) | None => match self.slot.read(Timing::DEFAULT.request).await {
                Ok(Some(lease)) => {
                    if let (Some(other), true) = (&lease.holder, self.acknowledged.is_some()) {
                        warn!(
                            other,
                            "another daemon follows the same source: end one of them, or run both with --leader-elect"
                        );
                    }
                    let transitions = lease.transitions.saturating_add(1);
                    self.write(Some(&lease.version), Some(transitions), BELIEVED, self.clock.now()).await
                }
                Ok(None) => self.write(None, Some(0), BELIEVED, self.clock.now()).await,
                Err(error) => Err(error),
            },
        };
        match written {
            Ok(Written::Done(lease)) => {
                self.election.holds(lease, now, now);
                self.mended();
                BEAT
            }
            Ok(Written::Moved | Written::Gone) => {
                self.election.forget();
                Timing::DEFAULT.retry
            }
            Err(error) => {
                self.election.forget();
                if !error.is_permanent() {
                    self.say(&error);
                    return BEAT;
                }
                let error = error.words();
                if self.trouble != error {
                    info!(error, "may keep no Lease: `phaseline status` cannot say what this daemon knows");
                    self.trouble = error;
                }
                NO_BEAT
            }
        }
    }
}
