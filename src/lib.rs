//! Phaseline.

pub mod cluster;
pub mod daemon;
pub mod git;
pub mod manifest;
pub mod model;
pub mod revision;
pub mod rollout;
