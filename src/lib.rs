//! Phaseline rolls Kubernetes StatefulSets out of Git, phase by phase: push to deploy, `rollout-plan.yaml` to stage,
//! `git revert` to undo.
//!
//! # The way of one push
//!
//! ```text
//! git push ──wake──▶ git ──files──▶ manifest ──Desired──▶ rollout::decide ──Decision──▶ cluster::execute ──▶ Kubernetes
//!                                      ▲                       ▲                                               │
//!                        revision ─────┘         Observed ◀────┴──── cluster::Store ◀── cluster::watch ◀───────┘
//! ```
//!
//! 1. Something **wakes** the reader: a push to a local repository, the interval, a signal. A wake carries no data.
//! 2. [`git`] fetches into a bare mirror. There is no work tree: trees are walked and blobs read by id.
//! 3. [`manifest`] parses, checks and binds: sets, their plans, and a diagnostic with file and line for everything that
//!    is wrong. One bad file stops the workloads in it, never the others.
//! 4. [`revision`] tells templates apart and knows which commit brought the one in force.
//! 5. [`cluster`] watches sets and pods and keeps small records of them.
//! 6. [`rollout::decide`] takes both sides and the time, and says what to do, how it is, and what is waited for.
//! 7. [`cluster::execute`] carries it out: each request once, each with a precondition. A template and the partition
//!    that holds it travel in one write, and so do a stage and the record of it.
//! 8. [`daemon`] is the loop around it; [`cli`] are the commands, which read the same and write requests.
//!
//! State is Git, the StatefulSet, and one annotation on it ([`model::Record`]). Killed at any instruction and started
//! anywhere, the daemon decides the same next action. People's commands are requests written on the set, which the
//! daemon sees like any other fact: there is one way in.
//!
//! # Floors
//!
//! | floor | modules | may use |
//! |---|---|---|
//! | 0 vocabulary | [`model`] | plain data; no runtime, no client, no clock |
//! | 1 pure logic | [`manifest`], [`revision`], [`rollout`], [`sim`] but its server | floor 0, YAML, digests |
//! | beside them | [`clock`] | the runtime's time and the machine's; whoever is not pure may ask it |
//! | 2 adapters | [`git`], [`cluster`], [`sim::serve`] | floors 0 and 1, and the library that each one wraps; not each other |
//! | 3 composition | [`daemon`] | floors 0 to 2 |
//! | 4 command line | [`cli`], `main` | everything |
//!
//! `tests/it/tidy.rs` reads the sources and holds the floors.
//!
//! # What is absent, on purpose
//!
//! No custom resource, no webhook, no database. No write without a precondition, no retry of a write, no delete of
//! anything but a pod that an earlier revision left broken, no write to a claim. No status count is ever a gate: pods
//! are counted. No decision reads a clock, Git or the cluster: what it needs to know is an argument.

pub mod cli;
pub mod clock;
pub mod cluster;
pub mod daemon;
pub mod git;
pub mod manifest;
pub mod model;
pub mod revision;
pub mod rollout;
pub mod sim;
