//! End-to-end tests: the built program, a real control plane, a real repository, and the audit log as the witness.
//!
//! Every scenario is a function of the version; [`on_both_versions`] makes its tests. Without `PHASELINE_E2E=1` (see
//! `tests/controlplane/run`) they pass at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests may")]

use std::time::Duration;

/// How long a cluster on a busy machine may take to get somewhere.
const PATIENCE: Duration = Duration::from_secs(90);

/// Makes `e2e_1_36::NAME` and `e2e_1_33::NAME` of functions that take a version, and the same for the embedded cluster.
macro_rules! on_both_versions {
    ($($name:ident),* $(,)?) => {
        mod e2e_1_36 {
            $(#[test] fn $name() { super::$name(crate::controlplane::Version::V1_36); })*
        }
        mod e2e_1_33 {
            $(#[test] fn $name() { super::$name(crate::controlplane::Version::V1_33); })*
        }
        mod embedded_1_36 {
            $(#[test] fn $name() { super::$name(crate::controlplane::Version::Embedded1_36); })*
        }
        mod embedded_1_33 {
            $(#[test] fn $name() { super::$name(crate::controlplane::Version::Embedded1_33); })*
        }
    };
}

/// Waits for something else than a set's status or its pods.
#[track_caller]
fn eventually_ok(probe: impl FnMut() -> Result<(), String>) {
    crate::controlplane::eventually(PATIENCE, probe);
}

mod adoption;
mod after_push;
mod api;
mod audit;
mod claims;
mod commands;
mod crashes;
mod drift;
mod examples;
mod failures;
mod foresight;
mod forward;
mod gone;
mod killer;
pub(crate) mod manifest;
mod newer;
mod people;
mod replicas;
mod rollout;
mod simulation;
mod site;
mod source;
