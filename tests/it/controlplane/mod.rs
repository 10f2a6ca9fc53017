//! A real Kubernetes control plane for end-to-end tests: started on first use, gone with the test process.
//!
//! ```no_run
//! let Some(plane) = ControlPlane::shared(Version::V1_36) else { return };
//! let ns = plane.namespace("canary");
//! plane.apply(&ns, "apiVersion: apps/v1 ...");
//! ```
//!
//! Without `PHASELINE_E2E=1` (which `tests/controlplane/run` sets) there is no plane and such tests pass at once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests may")]
#![allow(dead_code, reason = "a helper: not every test uses all of it")]

mod audit;
mod embedded;
mod plane;
mod selftest;
mod wait;

#[allow(unused_imports, reason = "a helper: not every test uses all of it")]
pub(crate) use self::{
    audit::AuditEntry,
    plane::{ControlPlane, Options, Pod, Version},
    wait::{eventually, try_eventually},
};
