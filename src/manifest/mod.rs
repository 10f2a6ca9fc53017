//! Reads the deploy repository: bytes become documents, documents become sets and plans, sets and plans are bound.
//!
//! Floor 1: pure. What is wrong with a file comes back as a [`crate::model::Diagnostic`] with file, line, column and
//! a way out; nothing here gives up at the first finding, and no input makes it panic.
//!
//! [`parse`] is the narrow seam to YAML; [`stateful_set`] and [`plan`] check what was read; [`mod@bind`] says which plan
//! belongs to which set; [`apply_body`] makes the body that is sent; [`schema`] tells editors what a plan may hold.

pub mod apply_body;
pub mod bind;
pub mod default;
pub mod fields;
mod findings;
mod foreign;
pub mod go_json;
pub(crate) mod go_syntax;
mod hint;
mod kind;
pub mod leans_on;
mod level;
pub mod owned;
mod parse;
mod places;
pub mod plan;
pub mod quantity;
pub mod schema;
pub mod selector;
pub(crate) mod shown;
mod split;
pub mod stateful_set;
pub mod update;
mod words;
mod yaml;

pub use bind::{Bound, BoundWorkload, ONE_STAGE, bind, bind_for};
pub use level::Checks;
pub use parse::{
    Document, MAX_DOCUMENTS, MAX_FILE_BYTES, RawDocument, is_plan_file, parse, read_documents, read_documents_as,
};
pub use places::locate;
pub use plan::{PlanDocument, plan_digest};
pub use schema::plan_schema;
pub use selector::Selector;
pub use stateful_set::Manifest;
pub(crate) use words::nearest;
pub(crate) use yaml::body as yaml_body;
pub use yaml::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES, Reading};
