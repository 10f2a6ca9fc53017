//! The reader of YAML held against kubectl: recorded answers, and its own code.

mod cases;
mod compare;
mod differential;
mod generator;
mod pieces;
