//! Looks into a place that is not read as manifests, as far as to tell whether a name stands in it.

use git2::Oid;

use super::error::GitError;
use super::files::{Dark, DarkKind, MAX_DEPTH, blob_id, is_manifest};
use super::mirror::Mirror;
use super::object::Kind;
use crate::revision::history::BlobId;
use crate::revision::words::{Needle, Words};

/// Most files and folders of a folder that are looked into; of one with more, anything is believed.
const MOST_FILES: usize = 2_000;

impl Mirror {
    /// Whether a place that is not read may hold a manifest of this name. Another repository holds none of ours.
    ///
    /// # Errors
    /// What reading a tree reports; a file that cannot be read may hold anything.
    pub fn may_hide(&self, place: &Dark, name: &str) -> Result<bool, GitError> {
        match place.what {
            DarkKind::Submodule => Ok(false),
            DarkKind::Unknown => Ok(true),
            DarkKind::File => Ok(self.names(&place.id, name)),
            DarkKind::Folder => {
                let id = Oid::from_bytes(&place.id.0).map_err(|error| self.mirror_error(&error))?;
                let mut left = MOST_FILES;
                self.folder_names(id, name, MAX_DEPTH, &mut left)
            }
        }
    }

    fn names(&self, blob: &BlobId, name: &str) -> bool {
        self.read(blob).map_or(true, |content| Words::of(&content).may_hold(Needle::of(name)))
    }

    fn folder_names(&self, id: Oid, name: &str, depth: usize, left: &mut usize) -> Result<bool, GitError> {
        // A folder may hold itself many times over.
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Ok(true);
        }
        let tree = self.tree(id)?;
        for entry in &tree.entries {
            let found = match entry.kind {
                Kind::File if is_manifest(tree.name(entry)) => {
                    *left = left.saturating_sub(1);
                    *left == 0 || self.names(&blob_id(entry.id), name)
                }
                Kind::Folder => depth == 0 || self.folder_names(entry.id, name, depth - 1, left)?,
                Kind::Symlink => is_manifest(tree.name(entry)),
                Kind::File | Kind::Submodule | Kind::Other => false,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
