//! Integration tests, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

mod controlplane;
mod git;
mod support;
mod tidy;
