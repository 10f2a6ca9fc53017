//! Decides what happens to one workload: pure, total, no clock, no I/O.
//!
//! [`decide`] takes what Git wants, what the cluster shows and the time, and returns a [`crate::model::Decision`].
//! Everything else here is a step of it: [`stage`] resolves a plan to partitions, [`gate`] says whether a stage is
//! done, [`steady`] by which clocks, [`progress`] whether it has stood still for too long, [`repair`] which broken pod
//! may be replaced, [`drift`] whether somebody else moved something, `forward` whether the view of Git is new enough,
//! `budget` whether a healthy pod may be taken down,
//! `recreate` makes a set again over its orphans, `frozen` what a set gets in which nothing is advanced, `start` how a rollout begins, `stood` what the pods prove of
//! the past, `restart` which wish for a restart is in force, [`renew`] what becomes of a record of another phaseline,
//! `running` how it goes on, `rest` what is left to do when it does not, `request` what people ask for, and [`explain`]
//! has the words.

mod adopt;
mod body;
mod budget;
mod decide;
pub mod drift;
pub mod explain;
mod forward;
mod frozen;
pub mod gate;
pub mod progress;
mod recreate;
pub mod renew;
pub mod repair;
mod request;
mod rest;
mod restart;
mod running;
pub mod stage;
mod start;
pub mod steady;
mod stood;
mod view;

pub use decide::{claims_removed, decide};
pub use recreate::recreate;
