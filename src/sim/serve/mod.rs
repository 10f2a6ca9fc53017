//! The embedded cluster brought to life: a world, a clock that moves it on, and a door for clients in this process.
//!
//! [`Embedded`] is a handle that can be cloned: whoever has one shares the world. [`Embedded::service`] is the door: a
//! `tower` service that a client sits on as if it were a connection, and the one that the HTTP server passes requests
//! to. On a runtime with one thread and paused time, with a virtual [`Clock`], everything happens in one order: the same
//! seed and the same requests give the same bytes.

mod audit;
mod door;
mod guard;
mod http;
mod query;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

pub use self::audit::Audit;
pub use self::http::{ListenError, Server};
pub use door::{Door, Reply};
pub use guard::token;

use super::world::World;
use crate::clock::Clock;

/// A world that lives: time passes in it, and clients may ask it.
#[derive(Debug, Clone)]
pub struct Embedded {
    shared: Arc<Shared>,
    /// The last handle takes the life with it.
    _life: Arc<Life>,
}

#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    clock: Clock,
    /// Something changed: watches look again. Those that wait are woken in the order in which they came.
    changed: Notify,
    /// What is due next is due earlier than was known.
    sooner: Notify,
    /// A client has to die: see [`crate::sim::Fault::Crash`].
    crashes: Notify,
    /// Where everything is put down; locked only by who holds the world.
    audit: Option<Mutex<Audit>>,
}

/// The task that lets time pass.
#[derive(Debug)]
struct Life(JoinHandle<()>);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Embedded {
    /// Brings a world to life, for as long as somebody holds a handle. Must be called within a runtime, whose time has to
    /// be paused where the clock is virtual.
    pub fn start(world: World, clock: Clock) -> Self {
        Self::audited(world, clock, None)
    }

    /// The same, and puts everything down in an audit log.
    pub fn audited(world: World, clock: Clock, audit: Option<Audit>) -> Self {
        let shared = Arc::new(Shared {
            world: Mutex::new(world),
            clock,
            changed: Notify::new(),
            sooner: Notify::new(),
            crashes: Notify::new(),
            audit: audit.map(Mutex::new),
        });
        let life = tokio::spawn({
            let shared = shared.clone();
            async move { shared.live().await }
        });
        Self { shared, _life: Arc::new(Life(life)) }
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// Waits until a fault wants a client dead: its request is never answered, and whoever runs it is to kill it.
    pub async fn crash(&self) {
        self.shared.crashes.notified().await;
    }

    /// What becomes ready at the next change; asked for before one looks, no change is missed.
    pub fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.shared.changed.notified()
    }

    /// A door for requests of this user, as the audit log and the monitors name them.
    pub fn service(&self, user: &str) -> Door {
        Door::new(self.clone(), user)
    }

    /// Looks at the world, or does something to it, at the present time.
    ///
    /// Nothing else happens meanwhile: what is done has to be short, and must not ask the same world again.
    pub fn with<T>(&self, act: impl FnOnce(&mut World, Timestamp) -> T) -> T {
        self.shared.with(act)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, World> {
        // A panic in the world was reported where it happened; what it left behind is still the one truth there is.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut World, Timestamp) -> T) -> T {
        let (told, changed, sooner) = {
            let mut world = self.lock();
            let now = self.clock.now();
            let (version, due) = (world.version(), world.next_due());
            let told = act(&mut world, now);
            self.audit(|audit| audit.catch_up(&world));
            let next = world.next_due();
            let sooner = next.is_some_and(|next| due.is_none_or(|due| next < due));
            (told, world.version() != version, sooner)
        };
        if changed {
            self.changed.notify_waiters();
        }
        if sooner {
            self.sooner.notify_one();
        }
        told
    }

    /// Does something with the audit log, if there is one.
    fn audit(&self, act: impl FnOnce(&mut Audit)) {
        if let Some(audit) = &self.audit {
            act(&mut audit.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Lets happen what is due, when it is due.
    async fn live(&self) {
        loop {
            let next = self.with(|world, now| {
                world.advance(now);
                world.next_due()
            });
            match next {
                Some(due) => {
                    tokio::select! {
                        biased;
                        () = self.sooner.notified() => {}
                        () = sleep_until(self.clock.at(due)) => {}
                    }
                }
                None => self.sooner.notified().await,
            }
        }
    }
}
