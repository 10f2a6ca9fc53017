//! What is known of blobs, by their ids: the words in them, or all they say.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::threads;
use crate::git::error::GitError;
use crate::git::mirror::Mirror;
use crate::revision::history::BlobId;
use crate::revision::reading::Reading;
use crate::revision::words::{Needle, Words};

/// Fewest blobs that are worth a second thread.
const WORTH_A_THREAD: usize = 32;

/// What is known of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Which words are in it.
    Words(Words),
    /// What it says: as it is kept, and with the namespace of manifests that state none.
    Read(Arc<Reading>, Arc<Reading>),
}

/// How much of a blob has to be known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Depth<'a> {
    /// Its words.
    Words,
    /// What it says, where it may name one of these; its words where not.
    Naming(&'a [Needle]),
    /// What it says.
    All,
}

/// How blobs are read.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Which reader it is: what another one has read is not used.
    pub version: String,
    /// The namespace of manifests that state none.
    pub namespace: String,
    /// Reads the content of a file; workloads without a namespace have an empty one.
    pub read: fn(&[u8]) -> Reading,
}

impl Reader {
    pub(super) fn known(&self, reading: Reading) -> Known {
        let reading = Arc::new(reading);
        let filled = if reading.workloads().any(|workload| workload.namespace.is_empty()) {
            Arc::new((*reading).clone().in_namespace(&self.namespace))
        } else {
            reading.clone()
        };
        Known::Read(reading, filled)
    }

    fn look(&self, mirror: &Mirror, blob: &BlobId, depth: Depth<'_>) -> Result<Known, GitError> {
        let content = match mirror.read(blob) {
            Ok(content) => content,
            Err(GitError::ObjectTooLarge { .. }) => {
                return Ok(self.known(Reading { unreadable: true, ..Reading::default() }));
            }
            Err(error) => return Err(error),
        };
        let needles = match depth {
            Depth::All => return Ok(self.known((self.read)(&content))),
            Depth::Words => &[],
            Depth::Naming(needles) => needles,
        };
        let words = Words::of(&content);
        if needles.iter().any(|needle| words.may_hold(*needle)) {
            return Ok(self.known((self.read)(&content)));
        }
        Ok(Known::Words(words))
    }
}

/// Everything that is known.
#[derive(Debug)]
pub(super) struct Blobs {
    pub(super) reader: Reader,
    pub(super) known: HashMap<BlobId, Known>,
    /// Something was added since it was read from a file.
    pub(super) changed: bool,
}

impl Blobs {
    /// Looks at these blobs, as deep as asked for, those that are not known so well.
    pub(super) fn fill(
        &mut self,
        mirror: &Mirror,
        blobs: impl IntoIterator<Item = BlobId>,
        depth: Depth<'_>,
    ) -> Result<(), GitError> {
        let mut met = HashSet::new();
        let lacks = |blob: &BlobId| match (self.known.get(blob), depth) {
            (None, _) => true,
            (Some(Known::Read(..)), _) | (Some(Known::Words(_)), Depth::Words) => false,
            (Some(Known::Words(_)), Depth::All) => true,
            (Some(Known::Words(words)), Depth::Naming(needles)) => needles.iter().any(|needle| words.may_hold(*needle)),
        };
        let open: Vec<BlobId> = blobs.into_iter().filter(|blob| lacks(blob) && met.insert(*blob)).collect();
        let reader = &self.reader;
        // One that cannot be read is met again by whoever needs it; others need not know.
        let looked = threads::spread(mirror, &open, WORTH_A_THREAD, |mirror, blob| {
            Ok(reader.look(mirror, blob, depth).ok().map(|known| (*blob, known)))
        })?;
        self.changed |= !open.is_empty();
        self.known.extend(looked.into_iter().flatten());
        Ok(())
    }

    /// What a blob says.
    pub(super) fn reading(&mut self, mirror: &Mirror, blob: &BlobId) -> Result<Arc<Reading>, GitError> {
        if let Some(Known::Read(_, reading)) = self.known.get(blob) {
            return Ok(reading.clone());
        }
        let known = self.reader.look(mirror, blob, Depth::All)?;
        let reading = match &known {
            Known::Read(_, reading) => reading.clone(),
            Known::Words(_) => Arc::default(),
        };
        self.known.insert(*blob, known);
        self.changed = true;
        Ok(reading)
    }

    /// Whether a blob may hold this workload name; where it is not known, it is looked at.
    pub(super) fn may_name(&mut self, mirror: &Mirror, blob: &BlobId, name: &str) -> Result<bool, GitError> {
        self.fill(mirror, [*blob], Depth::Words)?;
        Ok(match self.known.get(blob) {
            Some(Known::Read(_, reading)) => reading.workloads().any(|workload| workload.name == name),
            Some(Known::Words(words)) => words.may_hold(Needle::of(name)),
            None => true,
        })
    }
}
