//! The whole product on the embedded cluster: random worlds, and every scenario with a daemon that dies at every write.

mod clocks;
mod git;
mod leaders;
mod once;
mod play;
mod scenarios;
mod sources;
mod views;
mod worlds;
