//! The pure floors of Phaseline that read what people write, and nothing else of it.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "their other callers are not here")]

#[path = "../../../src/manifest/mod.rs"]
pub mod manifest;
#[path = "../../../src/model/mod.rs"]
pub mod model;
