//! The command line from outside: help texts, error texts, exit codes, what goes to which stream.

#![allow(clippy::unwrap_used, reason = "tests may")]

mod help;
mod streams;
