//! Phaseline.

pub mod manifest;
pub mod model;
pub mod revision;
