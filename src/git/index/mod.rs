//! The index of the history: which first-parent commit changed which manifest file, and what the files say.
//!
//! Two layers, both kept beside the mirror's objects. The line of commits knows the changed files of each commit by the ids
//! of their contents, found by comparing trees; a fetch adds only what is new. What a content says is kept by its id and
//! read only where a question needs it: a cheap test of its words tells for certain that it does not name a workload.
//!
//! Whatever is kept only saves work. A file that is damaged, or of another version, is as good as none.

mod blobs;
mod code;
mod file;
mod line;
mod threads;
mod walk;

use std::path::PathBuf;

use super::error::GitError;
use super::mirror::Mirror;
use crate::model::CommitId;
use crate::revision::history::BlobId;
use blobs::Blobs;
pub use blobs::Reader;
use line::Line;

/// The index of one mirror's history.
#[derive(Debug)]
pub struct Index {
    line: Line,
    blobs: Blobs,
}

impl Index {
    /// The index as it was kept, or an empty one. Nothing is kept of a repository that is read in place: it is not ours.
    pub fn open(mirror: &Mirror, reader: Reader) -> Self {
        let kept = |path: PathBuf| if mirror.in_place { None } else { file::read(&path) };
        let line = kept(line_path(mirror)).and_then(|bytes| code::line(&bytes, &mirror.path())).unwrap_or_default();
        let mut blobs = Blobs { reader, known: Default::default(), changed: false };
        if let Some(bytes) = kept(blobs_path(mirror)) {
            blobs.known = code::blobs(&bytes, &blobs.reader).unwrap_or_default();
        }
        Self { line, blobs }
    }

    /// Keeps what was added. Where another process is keeping the same, this one leaves it to that.
    ///
    /// # Errors
    /// [`GitError::State`] where it cannot be written. Nothing is lost then but the work of doing it again.
    pub fn save(&mut self, mirror: &Mirror) -> Result<(), GitError> {
        if mirror.in_place {
            return Ok(());
        }
        let top = self.line.links.front().map(|link| link.commit.to_string());
        if self.line.changed && top == mirror.last_good().map(|tip| tip.0) {
            file::write(&line_path(mirror), &code::line_bytes(&self.line, &mirror.path()))?;
            self.line.changed = false;
        }
        if self.blobs.changed {
            file::write(&blobs_path(mirror), &code::blobs_bytes(&self.blobs, &self.line))?;
            self.blobs.changed = false;
        }
        Ok(())
    }

    /// Drops everything that is known of blobs: what was kept turned out to be wrong.
    pub fn forget(&mut self) {
        self.blobs.known.clear();
        self.blobs.changed = true;
    }

    /// Whether a file's content may name a workload of this name; where not, it certainly does not.
    ///
    /// # Errors
    /// Whatever reading the mirror reports.
    pub fn may_name(&mut self, mirror: &Mirror, blob: &BlobId, name: &str) -> Result<bool, GitError> {
        self.blobs.may_name(mirror, blob, name)
    }

    /// The commits before a tip that changed a manifest file, newest first, among so many that are looked at.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] where the mirror does not have the tip; whatever reading it reports.
    pub fn changing(&mut self, mirror: &Mirror, tip: &CommitId, most: usize) -> Result<Vec<CommitId>, GitError> {
        self.line.reach(mirror, tip)?;
        self.line.compare(mirror, 0, most)?;
        let steps = (0..most).map_while(|place| self.line.step(place));
        Ok(steps.filter(|step| !step.changes.is_empty()).map(|step| step.commit).collect())
    }
}

/// Where the line of commits is kept.
fn line_path(mirror: &Mirror) -> PathBuf {
    mirror.folder().join("phaseline-history")
}

/// Where the readings of blobs are kept.
fn blobs_path(mirror: &Mirror) -> PathBuf {
    mirror.folder().join("phaseline-readings")
}
