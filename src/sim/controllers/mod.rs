//! The controllers of the embedded cluster: what a controller manager does to make objects come true.
//!
//! Each one sees and does everything through [`Control`], never the store: what stands behind it decides how fresh the
//! cache is and which writes fail, and a test can put a fake there. None of them keeps anything that it could not find
//! out again; what they remember only saves work.

pub mod claims;
pub mod control;
#[cfg(test)]
mod fake;
pub mod garbage_collector;
mod meta;
pub mod stateful_set;

pub use control::{Control, Delete, Event, Severity};
pub use meta::{controller_of, patched_owners};
