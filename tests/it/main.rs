//! The integration tests: one binary, so that everything is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

mod bad_inputs;
mod cli;
mod conformance;
mod controlplane;
mod e2e;
mod git;
mod hooks;
mod oracle;
mod planner;
mod sim;
mod source;
mod support;
mod tidy;
mod yaml;
