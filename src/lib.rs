//! Phaseline.

pub mod cluster;
pub mod manifest;
pub mod model;
pub mod revision;
