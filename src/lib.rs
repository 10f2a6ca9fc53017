//! Phaseline.

pub mod cluster;
pub mod model;
