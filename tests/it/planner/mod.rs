//! The planner, `phaseline::rollout::decide`: tables by the sections of the rules, scenarios, and random worlds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod found;
mod found_later;
mod properties;
mod s02_record;
mod s03_parking;
mod s04_budget;
mod s04_gate;
mod s05_replicas;
mod s06_new_commit;
mod s07_repair;
mod s08_failure;
mod s09_adoption;
mod s10_drift;
mod s11_gone;
mod s12_history;
mod s14_forward;
mod s15_time;
mod s16_frozen;
mod s17_refused;
mod s18_healthy;
mod s20_first_rollouts;
mod s21_versions;
mod scenarios;
mod variants;
mod words;
mod world;
