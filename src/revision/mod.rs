//! What a workload's revisions are: digests of templates and the commits that brought them. Pure.

pub mod history;
