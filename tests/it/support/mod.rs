//! What several tests stand on.

pub(crate) mod http;
pub(crate) mod plans;
pub(crate) mod repo;
