//! Answers questions about workloads from the index, and gives every question the answer that reading everything would.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Index;
use super::blobs::{Depth, Known};
use crate::git::changes::FirstParent;
use crate::git::error::GitError;
use crate::git::history::{End, Goal, Histories};
use crate::git::mirror::Mirror;
use crate::model::{CommitId, WorkloadId};
use crate::revision::history::{BlobId, Change, Step, Walk};
use crate::revision::reading::Reading;
use crate::revision::words::Needle;

/// Commits that are made ready at first; each further time it is four times as many.
const FIRST_BATCH: usize = 64;

impl Index {
    /// Walks from a tip back along first parents, at most `limit` commits (at most [`super::super::MAX_COMMITS`]).
    ///
    /// Where it meets the tip of an `earlier` walk it stops: the entries are those in between, and older ones are the
    /// earlier walk's. Where it does not (history was rewritten), it goes on as if there had been none.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`], [`GitError::RepositoryCorrupt`].
    pub fn histories(
        &mut self,
        mirror: &Mirror,
        tip: &CommitId,
        goal: Goal<'_>,
        earlier: Option<&Histories>,
        limit: usize,
    ) -> Result<Histories, GitError> {
        self.line.reach(mirror, tip)?;
        let files: Vec<(String, BlobId)> =
            mirror.all_files(tip)?.into_iter().filter_map(|change| Some((change.path, change.new?))).collect();
        self.blobs.fill(mirror, files.iter().map(|(_, blob)| *blob), Depth::All)?;
        let walk = Walk::from_tip(files.iter().cloned(), |blob| self.blobs.reading(mirror, blob))?.at(tip);
        let tracked = Tracked::of(goal, &walk);
        let mut holders = BTreeMap::new();
        if let Goal::Of(workload) = goal {
            for (path, blob) in files {
                if names(&*self.blobs.reading(mirror, &blob)?, workload) {
                    holders.insert(path, blob);
                }
            }
        }
        let batch = if matches!(goal, Goal::Latest(_)) { FIRST_BATCH } else { limit };
        let mut walker = Walker {
            index: self,
            mirror,
            goal,
            place: 0,
            ready: 0,
            batch,
            live: None,
            walk,
            tracked,
            holders,
            files: BTreeMap::new(),
        };
        let (mut walked, mut oldest) = (0, tip.clone());
        let end = loop {
            if matches!(goal, Goal::Latest(_)) && walker.tracked.settled() {
                break End::Settled;
            }
            let upcoming = walker.upcoming();
            if let (Some(earlier), Some(upcoming)) = (earlier, &upcoming)
                && earlier.tip == *upcoming
            {
                break End::Joined;
            }
            if walked >= limit && upcoming.is_some() {
                break End::CutOff;
            }
            match walker.next(limit) {
                None => break End::Root,
                Some(Ok(step)) => {
                    oldest.clone_from(&step.commit);
                    walker.undo(step)?;
                }
                Some(Err(GitError::TooMany { .. } | GitError::ObjectTooLarge { .. })) => break End::CutOff,
                Some(Err(error)) => return Err(error),
            }
            walked += 1;
        };
        let Walker { walk, holders, mut files, .. } = walker;
        if let (End::CutOff, Goal::Of(_)) = (end, goal) {
            files.entry(oldest).or_insert_with(|| holders.into_iter().collect());
        }
        let mut found = match (end, earlier) {
            (End::Joined, Some(earlier)) => walk.join(&earlier.found),
            (End::CutOff, _) => walk.cut_off(),
            (End::Root | End::Settled | End::Joined, _) => walk.finish(),
        };
        // Of others not everything was looked at, of those that were settled nothing older.
        match goal {
            Goal::Everything => {}
            Goal::Of(wanted) => found.entries.retain(|workload, _| workload == wanted),
            Goal::Latest(wanted) => {
                let wanted: BTreeSet<_> = wanted.iter().collect();
                found.entries.retain(|workload, _| wanted.contains(workload));
                found.entries.values_mut().for_each(|entries| entries.truncate(1));
            }
        }
        Ok(Histories { tip: tip.clone(), found, files, walked, end })
    }
}

/// The workloads that are still looked for; none stands for all of them.
struct Tracked {
    left: Option<BTreeMap<WorkloadId, (Needle, bool)>>,
    /// How many of these have to be found.
    wanted: usize,
}

impl Tracked {
    fn of(goal: Goal<'_>, walk: &Walk) -> Self {
        let wanted = match goal {
            Goal::Everything => return Self { left: None, wanted: 0 },
            Goal::Of(workload) => std::slice::from_ref(workload),
            Goal::Latest(workloads) => workloads,
        };
        // Those go on for their last good template, which a later walk may ask for.
        let unsure = walk.unsure().filter(|_| matches!(goal, Goal::Latest(_))).map(|workload| (workload, false));
        let all = unsure.chain(wanted.iter().map(|workload| (workload, true)));
        let left: BTreeMap<_, _> =
            all.map(|(workload, wanted)| (workload.clone(), (Needle::of(&workload.name), wanted))).collect();
        let wanted = left.values().filter(|(_, wanted)| *wanted).count();
        Self { left: Some(left), wanted }
    }

    fn settled(&self) -> bool {
        self.wanted == 0
    }

    fn has(&self, workload: &WorkloadId) -> bool {
        self.left.as_ref().is_none_or(|left| left.contains_key(workload))
    }

    fn drop(&mut self, workload: &WorkloadId) {
        if let Some((_, true)) = self.left.as_mut().and_then(|left| left.remove(workload)) {
            self.wanted -= 1;
        }
    }

    /// Whether a blob has to be read: it may name one of these.
    fn concerns(&self, known: Option<&Known>) -> bool {
        match (&self.left, known) {
            (Some(left), Some(Known::Words(words))) => left.values().any(|(needle, _)| words.may_hold(*needle)),
            (Some(left), Some(Known::Read(_, reading))) => {
                reading.workloads().any(|workload| left.contains_key(workload))
            }
            (None, _) | (_, None) => true,
        }
    }
}

struct Walker<'a> {
    index: &'a mut Index,
    mirror: &'a Mirror,
    goal: Goal<'a>,
    /// The place on the line that the next step is about.
    place: usize,
    /// Up to where the line is compared and its blobs are looked at.
    ready: usize,
    batch: usize,
    /// Beyond the line's end: commit by commit.
    live: Option<FirstParent<'a>>,
    walk: Walk,
    tracked: Tracked,
    /// Of one workload: the files that name it.
    holders: BTreeMap<String, BlobId>,
    /// Of one workload: the files that named it at each commit that may have changed it.
    files: BTreeMap<CommitId, Vec<(String, BlobId)>>,
}

impl Walker<'_> {
    /// The commit that the next step is about.
    fn upcoming(&self) -> Option<CommitId> {
        match &self.live {
            Some(live) => live.upcoming(),
            None => self.index.line.links.get(self.place).map(|link| CommitId(link.commit.to_string())),
        }
    }

    fn next(&mut self, limit: usize) -> Option<Result<Step, GitError>> {
        if let Some(live) = &mut self.live {
            return live.next();
        }
        let step = match self.prepare(limit) {
            Ok(()) => self.index.line.step(self.place),
            Err(error) => return Some(Err(error)),
        };
        if let Some(step) = step {
            self.place += 1;
            return Some(Ok(step));
        }
        // Not compared: beyond what the index may hold, or not to be had. Reading on says which.
        let commit = self.upcoming()?;
        match self.mirror.first_parent(&commit) {
            Ok(live) => self.live.insert(live).next(),
            Err(error) => Some(Err(error)),
        }
    }

    /// Compares and looks at the next commits, some at a time.
    fn prepare(&mut self, limit: usize) -> Result<(), GitError> {
        if self.place < self.ready {
            return Ok(());
        }
        let to = self.place.saturating_add(self.batch).min(limit);
        self.index.line.compare(self.mirror, self.place, to)?;
        let blobs = self.index.line.blobs(self.place, to);
        match &self.tracked.left {
            None => self.index.blobs.fill(self.mirror, blobs, Depth::All)?,
            // Few names: what may hold one is read at once. Many: most blobs would be, so it is seen as the walk goes.
            Some(left) if left.len() <= 4 => {
                let needles: Vec<Needle> = left.values().map(|(needle, _)| *needle).collect();
                self.index.blobs.fill(self.mirror, blobs, Depth::Naming(&needles))?;
            }
            Some(_) => self.index.blobs.fill(self.mirror, blobs, Depth::Words)?,
        }
        self.ready = to;
        self.batch = self.batch.saturating_mul(4);
        Ok(())
    }

    /// Undoes one commit, as far as it matters to the workloads that are looked for.
    fn undo(&mut self, mut step: Step) -> Result<(), GitError> {
        let dark: BTreeSet<BlobId> = {
            let unseen = step.changes.iter().filter(|change| self.walk.in_the_dark(&change.path));
            unseen.filter_map(|change| change.new).collect()
        };
        let changes = std::mem::take(&mut step.changes);
        step.changes = changes.into_iter().filter(|change| self.matters(change, &dark)).collect();
        let mut readings: BTreeMap<BlobId, Arc<Reading>> = BTreeMap::new();
        for blob in step.changes.iter().flat_map(|change| change.old.into_iter().chain(change.new)) {
            let reading = self.index.blobs.reading(self.mirror, &blob)?;
            let all = reading.workloads().all(|workload| self.tracked.has(workload));
            let reading = if all { reading } else { Arc::new(reading.only(|workload| self.tracked.has(workload))) };
            readings.insert(blob, reading);
        }
        let read = |blob: &BlobId| readings.get(blob).cloned().unwrap_or_default();
        self.walk.step(&step, |blob| Ok::<_, GitError>(read(blob)))?;
        match self.goal {
            Goal::Everything => {}
            Goal::Of(workload) if !step.changes.is_empty() => {
                self.files.insert(step.commit, self.holders.clone().into_iter().collect());
                for change in step.changes {
                    self.holders.remove(&change.path);
                    if let Some(old) = change.old.filter(|old| names(&read(old), workload)) {
                        self.holders.insert(change.path, old);
                    }
                }
            }
            Goal::Of(_) => {}
            Goal::Latest(_) => {
                let touched = readings.values().flat_map(|reading| reading.workloads());
                touched
                    .filter(|workload| self.walk.has_entry(workload))
                    .for_each(|workload| self.tracked.drop(workload));
            }
        }
        Ok(())
    }

    /// Whether a changed file can make a difference: it may name one of the workloads before or after, it was hiding something,
    /// or what was hiding something came from it.
    fn matters(&self, change: &Change, dark: &BTreeSet<BlobId>) -> bool {
        let known = &self.index.blobs.known;
        let concerns = |blob: &Option<BlobId>| blob.is_some_and(|blob| self.tracked.concerns(known.get(&blob)));
        self.walk.in_the_dark(&change.path)
            || change.old.is_some_and(|blob| dark.contains(&blob))
            || concerns(&change.old)
            || concerns(&change.new)
    }
}

fn names(reading: &Reading, workload: &WorkloadId) -> bool {
    reading.workloads().any(|named| named == workload)
}
