//! The whole product on the embedded cluster: random worlds, and every scenario with a daemon that dies at every write.

mod clocks;
mod draft;
mod git;
mod leaders;
mod life;
mod once;
mod play;
mod scenarios;
mod seat;
mod sources;
mod views;
mod worlds;
