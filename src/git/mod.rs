//! The Git side: a bare mirror of one branch, its trees and history by object id, and wakes when it may have moved.
//!
//! A repository on disk can be read in place as well ([`Place`]): its commits, and what is staged.
//!
//! There is never a work tree: trees are walked and blobs are read by id, so no path of a repository touches the file system,
//! no hook and no filter runs, and links lead nowhere. Everything here is blocking but [`Wakes`]; the daemon calls it on
//! a thread for blocking work ([`Mirror`] is `Send`).

mod address;
mod changes;
mod clone;
mod copy;
mod credentials;
mod dark;
mod error;
mod fetch;
mod files;
mod folder;
mod history;
mod hooks;
mod in_place;
mod index;
mod known_hosts;
mod lineage;
mod lock;
mod mirror;
mod object;
mod origin;
mod pack;
mod revision;
mod source;
mod transfer;
mod watch;
mod work_tree;

pub use address::{Address, shown as shown_address};
pub use changes::{FirstParent, MAX_CHANGES};
pub use clone::CloneHead;
pub use credentials::Credentials;
pub use error::{Cause, GitError};
pub use fetch::{Fetched, Limits, Movement};
pub use files::{
    Dark, DarkKind, FileEntry, Listing, MAX_BLOB_BYTES, MAX_DEPTH, MAX_FILES, MAX_FOLDERS, MAX_PATH_BYTES,
    MAX_TOTAL_BYTES,
};
pub use history::{End, Goal, Histories, MAX_COMMITS};
pub use hooks::{HookedRepository, HooksFolder};
pub use in_place::Place;
pub use index::{Index, Reader};
pub use mirror::Mirror;
pub use source::{SourceConfig, state_dir};
pub use watch::{Waker, Wakes};
pub use work_tree::{AUTHOR as WORK_TREE_AUTHOR, SUBJECT as WORK_TREE_SUBJECT};
