//! Answers from hand-made sets.
