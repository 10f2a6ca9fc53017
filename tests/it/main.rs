//! Integration tests, in one binary.

mod controlplane;
mod tidy;
