//! Manifests: what is read from Git, and the form the API server gives it.

pub mod default;
pub mod go_json;
pub mod quantity;
