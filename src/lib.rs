//! Phaseline.

pub mod manifest;
pub mod model;
