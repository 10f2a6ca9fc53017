//! The embedded cluster: a small, honest Kubernetes for people without one and for faults that no real one shows on
//! demand. It is never the evidence that something works on Kubernetes: a real control plane is, and this one is held
//! to it.

mod compat;

pub use compat::{Compat, Version};
