//! Exit codes, pages and JSON from hand-made facts.
