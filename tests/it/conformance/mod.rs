//! Holds the embedded cluster to real control planes: one script, played on both, and the traces compared.
//!
//! A case is a file under `tests/conformance/` ([`script`]). Playing it ([`play`]) yields a [`trace`]: the answer of
//! every step and what was seen of every object of its namespace, with what cannot be alike taken out ([`normal`]).
//! A real plane is played several times: only what differs between two real runs may differ ([`record`],
//! [`compare`]). `tests/conformance/run` plays the real ones; plain `cargo test` replays what it recorded into
//! `tests/data/conformance/`.

mod compare;
mod embedded;
mod kubectl;
mod level;
mod memory;
mod normal;
mod pack;
mod play;
mod random;
mod record;
mod report;
mod requests;
mod runner;
mod script;
mod trace;
mod watch;
