//! What a daemon tells whoever runs it: how a workload is when that changes, and every write.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::publish::Said;
use crate::model::WorkloadId;

/// One piece of news.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// When.
    pub at: Timestamp,
    /// About which workload.
    pub workload: WorkloadId,
    /// What.
    pub what: What,
}

/// What is new.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// How it is.
    Is(Said),
    /// Something was written, or was to be.
    Wrote {
        /// The action, in words.
        action: String,
        /// Why it was not written; none where it was.
        failed: Option<String>,
    },
}

/// Somebody who is told. What is done with it has to be short: the loop waits meanwhile.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(News) + Send + Sync>);

impl Listener {
    /// One that does this with each piece.
    pub fn new(hear: impl Fn(News) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    pub(super) fn tell(&self, news: News) {
        (self.0)(news);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
