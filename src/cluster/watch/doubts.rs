//! Watches that somebody doubts: a connection may be dead without a word.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Source;

/// Watches that somebody doubts: they are begun anew, with a full list.
#[derive(Debug, Clone, Default)]
pub struct Doubts(Arc<Doubted>);

#[derive(Debug, Default)]
struct Doubted {
    sources: Mutex<BTreeSet<Source>>,
    raised: Notify,
}

impl Doubts {
    /// Doubts a watch.
    pub fn raise(&self, source: Source) {
        self.lock().insert(source);
        self.0.raised.notify_waiters();
    }

    /// Forgets a doubt, and says whether there was one.
    pub(super) fn settle(&self, source: &Source) -> bool {
        self.lock().remove(source)
    }

    /// Done when a watch is doubted.
    pub(super) async fn about(&self, source: &Source) {
        loop {
            let mut raised = pin!(self.0.raised.notified());
            // From here on none is missed.
            raised.as_mut().enable();
            if self.settle(source) {
                return;
            }
            raised.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Source>> {
        self.0.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
