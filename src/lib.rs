//! Phaseline.

pub mod cli;
pub mod cluster;
pub mod git;
pub mod manifest;
pub mod model;
pub mod revision;
pub mod rollout;
