//! Phaseline.

pub mod model;
