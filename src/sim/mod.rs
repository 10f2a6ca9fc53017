//! The embedded cluster: a small, honest Kubernetes for people without one and for faults that no real one shows on
//! demand. It is never the evidence that something works on Kubernetes: a real control plane is, and this one is held
//! to it.
//!
//! [`World`] is all of it, without a clock, a socket or a thread: a request and the time go in, an answer comes out, and
//! as time passes its controllers and its kubelet do what they do. The same seed and the same requests give the same
//! answers.

mod agenda;
mod api;
mod chance;
mod compat;
pub mod controllers;
mod fault;
mod hands;
mod kubelet;
mod life;
mod look;
mod moment;
mod monitor;
mod recorder;
mod request;
mod resource;
pub mod serve;
mod status;
mod store;
mod world;

pub use api::apply;
pub use api::watch::{Poll, Watch};
pub use chance::Chance;
pub use compat::{Compat, Version};
pub use fault::{AtWrite, Fault, Faults, Forbidden, Rates, Stale};
pub use kubelet::{Blow, Pace, Script, Stroke, Whom};
pub use look::News;
pub use monitor::{STAMP, Told, Violation};
pub use request::{Answer, Loss, Request, Response};
pub use resource::Resource;
pub use status::{Cause, Status};
pub use store::{Change, Key, Store};
pub use world::{Settings, World};
