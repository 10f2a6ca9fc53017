//! Phaseline.

pub mod git;
pub mod model;
pub mod revision;
