//! Text from elsewhere, made fit for a terminal: commit subjects and messages of servers may hold anything.

pub(crate) use crate::model::printable::{line, lines};
