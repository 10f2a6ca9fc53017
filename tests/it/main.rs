//! The integration tests: one binary, so that everything is linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod git;
mod support;
