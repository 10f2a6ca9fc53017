//! The daemon: wakes, looks, decides, acts, sleeps.
//!
//! [`Source`] is Git's side, [`crate::cluster::Store`] the cluster's; [`run`] brings them together in one loop that
//! owns everything and shares nothing. Requests run beside it, one a workload at a time; whatever comes of them comes
//! back as an event like any other.

mod asking;
mod controller;
mod election;
mod git_side;
mod leader;
mod news;
mod pacer;
mod pass;
mod publish;
pub mod report;
mod sight;
mod source;
mod sources;
mod worker;

pub use controller::{Ended, RunOptions, run};
pub use leader::Presence;
pub use news::{Listener, News, What};
pub use publish::Said;
pub use report::Report;
pub use sight::RewriteGrace;
pub use source::{Contents, HistoryEntry, Parsed, Recalled, Scope, Source, Tip, View, Wish, plans_left_out};
