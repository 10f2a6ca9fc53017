//! Revisions: how templates are told apart, and the names Kubernetes gives them.

pub mod controller_revision;
pub mod digest;

#[cfg(test)]
mod cases;
