//! Revisions: how templates are told apart, the names Kubernetes gives them, and the commits that brought them. Pure.

pub mod controller_revision;
pub mod digest;
pub mod history;
pub mod reading;
pub mod words;

#[cfg(test)]
mod cases;
