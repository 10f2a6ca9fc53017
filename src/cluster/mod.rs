//! The cluster: the only way in which the program sees and changes Kubernetes.
//!
//! Thin on purpose. Objects come in through [`watch()`] (or, for one command, through [`mod@read`]), are cut down to small
//! records by `wire`, and are held by a [`Store`]; effects go out through [`execute`], each one once, each one with a
//! precondition. Nothing here knows what a stage is.
//!
//! What is absent: no retry of a write, no cache of whole objects, no delete of anything but a pod, no write to a claim.

pub mod apply;
pub mod connect;
pub mod exists;
pub mod fence;
pub mod lease;
pub mod read;
pub mod send;
pub mod store;
pub mod time;
pub mod watch;
mod wire;

pub use apply::{FieldFault, Outcome, execute};
pub use connect::{Cluster, ConnectError, ConnectOptions};
pub use fence::Fence;
pub use lease::{Lease, Slot};
pub use send::RequestError;
pub use store::{Health, InSight, Store};
pub use time::ServerTime;
pub use watch::{Change, ClusterEvent, Doubts, Kind, Source, namespace_made, watch, watch_with};
pub(crate) use wire::max_unavailable as max_unavailable_pods;

#[cfg(test)]
mod live;
#[cfg(test)]
mod script;
