//! The command line from outside: help texts, error texts, exit codes, what goes to which stream.

mod cluster;
mod daemon_says;
mod demo;
mod diff;
mod e2e;
mod help;
mod hints;
mod lint;
mod offline;
pub(crate) mod plan;
pub(crate) mod simulate;
mod streams;
