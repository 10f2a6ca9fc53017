//! Finds the commits that gave a workload another template, and numbers them.
//!
//! An entry is one first-parent commit whose tree gives a workload another *template* than its parent's. The walk goes from
//! the newest commit to the oldest, undoing each commit's file changes, so it knows the exact set of documents on both sides
//! of every commit: a document that moves from one file to another is no entry, whatever the files are called.
//!
//! A commit at which a workload cannot be read (a YAML error, or two documents that differ) says nothing about it: the last
//! good template stays in force across it, as it does in a rollout. Coming back to the same template afterwards is no entry.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::reading::Reading;
use crate::model::{CommitId, TemplateHash, WorkloadId};

/// A Git blob by its SHA-1 object id: the key under which the caller keeps what it has read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub [u8; 20]);

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One file that a commit changed, against its first parent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The file's path inside the repository.
    pub path: String,
    /// The content before; `None` where the commit added the file.
    pub old: Option<BlobId>,
    /// The content after; `None` where the commit deleted the file.
    pub new: Option<BlobId>,
}

/// One first-parent commit with the manifest files it changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The commit.
    pub commit: CommitId,
    /// What it changed; empty where it touched no manifest below the path.
    pub changes: Vec<Change>,
}

/// One revision of one workload, as a commit brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The first-parent commit that brought the template.
    pub commit: CommitId,
    /// The template's digest.
    pub hash: TemplateHash,
}

/// An entry with the numbers people see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// The entry's number, counted from 1 at the oldest.
    pub number: u32,
    /// The first-parent commit that brought the template.
    pub commit: CommitId,
    /// The template's digest.
    pub hash: TemplateHash,
    /// The number of the first entry with this template, where this is not the first.
    pub repeats: Option<u32>,
    /// The template's revision number: the number of its *newest* entry, as ControllerRevisions are numbered.
    pub revision: u32,
}

/// Numbers one workload's entries, given oldest first.
///
/// Entries of templates A, B, A are numbered 1, 2, 3; the third says `repeats 1`, and A's revision number is 3, B's 2.
pub fn number(oldest_first: &[Entry]) -> Vec<Numbered> {
    let mut first = BTreeMap::new();
    let mut newest = BTreeMap::new();
    for (entry, number) in oldest_first.iter().zip(1u32..) {
        first.entry(&entry.hash).or_insert(number);
        newest.insert(&entry.hash, number);
    }
    oldest_first
        .iter()
        .zip(1u32..)
        .map(|(entry, number)| Numbered {
            number,
            commit: entry.commit.clone(),
            hash: entry.hash.clone(),
            repeats: first.get(&entry.hash).copied().filter(|first| *first != number),
            revision: newest.get(&entry.hash).copied().unwrap_or(number),
        })
        .collect()
}

/// Every entry of every workload, oldest first, from the files of the tip and all its first-parent steps, newest first.
///
/// `read` says what a blob holds; it is asked again for the same blob, so the caller keeps its answers.
///
/// # Errors
/// Whatever `read` or the steps report first.
pub fn entries<E>(
    files: impl IntoIterator<Item = (String, BlobId)>,
    newest_first: impl IntoIterator<Item = Result<Step, E>>,
    mut read: impl FnMut(&BlobId) -> Result<Arc<Reading>, E>,
) -> Result<BTreeMap<WorkloadId, Vec<Entry>>, E> {
    let mut walk = Walk::from_tip(files, &mut read)?;
    for step in newest_first {
        walk.step(&step?, &mut read)?;
    }
    let mut found = walk.finish().entries;
    found.values_mut().for_each(|entries| entries.reverse());
    Ok(found)
}

/// What a walk has found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The entries of every workload that was met, newest first.
    pub entries: BTreeMap<WorkloadId, Vec<Entry>>,
    /// The template in force at the tip, for every workload that has one there; the last good one where the tip's is broken.
    pub templates: BTreeMap<WorkloadId, TemplateHash>,
    /// What files that cannot be read at the tip held when they last could, by their paths.
    pub dark: BTreeMap<String, BTreeSet<WorkloadId>>,
}

/// A walk in progress, from a tip back to where its caller stops.
#[derive(Debug, Default)]
pub struct Walk {
    tree: Documents,
    /// Workloads that an unreadable file may be hiding, by the file's path.
    hidden: BTreeMap<String, BTreeSet<WorkloadId>>,
    /// Paths that have been unreadable all the way from the tip, with the paths they have there.
    dark: BTreeMap<String, String>,
    /// Workloads that the tip names, but whose template it does not tell.
    unsure: BTreeSet<WorkloadId>,
    runs: BTreeMap<WorkloadId, Run>,
    oldest: CommitId,
    found: Found,
}

/// A stretch of commits along which one workload had one template.
#[derive(Debug, Default)]
struct Run {
    /// The template; `None` where the workload was absent.
    hash: Option<TemplateHash>,
    /// The commit that brought the template back to light after commits that could not be read.
    pending: Option<CommitId>,
}

/// What a tree says about one workload.
enum State {
    Absent,
    Unknown,
    Known(TemplateHash),
}

impl Walk {
    /// Starts at a tip with the files of its tree.
    ///
    /// # Errors
    /// Whatever `read` reports.
    pub fn from_tip<E>(
        files: impl IntoIterator<Item = (String, BlobId)>,
        mut read: impl FnMut(&BlobId) -> Result<Arc<Reading>, E>,
    ) -> Result<Self, E> {
        let mut walk = Self::default();
        let mut named = BTreeSet::new();
        for (path, blob) in files {
            let reading = read(&blob)?;
            walk.tree.add(&reading);
            named.extend(reading.workloads().cloned());
            if reading.unreadable {
                walk.dark.insert(path.clone(), path);
            }
        }
        for workload in named {
            match walk.state(&workload) {
                State::Known(hash) => {
                    walk.found.templates.insert(workload.clone(), hash.clone());
                    walk.runs.insert(workload, Run { hash: Some(hash), pending: None });
                }
                State::Unknown => {
                    walk.unsure.insert(workload);
                }
                State::Absent => {}
            }
        }
        Ok(walk)
    }

    /// The same, told which commit the tip is: a walk that is cut off at once says that.
    #[must_use]
    pub fn at(mut self, tip: &CommitId) -> Self {
        self.oldest.clone_from(tip);
        self
    }

    /// Undoes one commit; steps are given newest first.
    ///
    /// # Errors
    /// Whatever `read` reports; the walk is of no use afterwards.
    pub fn step<E>(&mut self, step: &Step, mut read: impl FnMut(&BlobId) -> Result<Arc<Reading>, E>) -> Result<(), E> {
        self.oldest.clone_from(&step.commit);
        if step.changes.is_empty() {
            return Ok(());
        }
        let nothing = Arc::new(Reading::default());
        let mut undone = Vec::with_capacity(step.changes.len());
        for change in &step.changes {
            let old = change.old.as_ref().map_or_else(|| Ok(nothing.clone()), &mut read)?;
            let new = change.new.as_ref().map_or_else(|| Ok(nothing.clone()), &mut read)?;
            undone.push((change, old, new));
        }
        let mut touched = BTreeSet::new();
        for (_, old, new) in &undone {
            self.tree.remove(new);
            self.tree.add(old);
            touched.extend(old.workloads().chain(new.workloads()).cloned());
        }
        let revealed = self.turn_lights(&undone, &mut touched);
        for workload in touched {
            let sure = !self.unsure.contains(&workload) && !revealed.contains(&workload);
            self.compare(workload, &step.commit, sure);
        }
        Ok(())
    }

    /// The workloads that the tip names, but whose template it does not tell.
    pub fn unsure(&self) -> impl Iterator<Item = &WorkloadId> {
        self.unsure.iter()
    }

    /// Whether this path cannot be read, or could not be at a newer commit: what it held before matters then, whoever it names.
    pub fn in_the_dark(&self, path: &str) -> bool {
        self.hidden.contains_key(path) || self.dark.contains_key(path)
    }

    /// Whether this workload has its newest entry.
    pub fn has_entry(&self, workload: &WorkloadId) -> bool {
        self.found.entries.contains_key(workload)
    }

    /// Whether every one of these has its newest entry.
    pub fn settled<'a>(&self, wanted: impl IntoIterator<Item = &'a WorkloadId>) -> bool {
        wanted.into_iter().all(|workload| self.found.entries.contains_key(workload))
    }

    /// Ends a walk after the root commit, or when the caller has seen enough.
    pub fn finish(self) -> Found {
        self.found
    }

    /// Ends a walk that cannot go on (the history is cut off): what is in force there counts as brought by the oldest commit seen.
    pub fn cut_off(mut self) -> Found {
        for (workload, run) in std::mem::take(&mut self.runs) {
            if let Some(hash) = run.hash {
                let commit = run.pending.unwrap_or_else(|| self.oldest.clone());
                self.found.entries.entry(workload).or_default().push(Entry { commit, hash });
            }
        }
        self.found
    }

    /// Ends a walk at the tip of an earlier one: only what is newer is found.
    pub fn join(mut self, older: &Found) -> Found {
        for (workload, run) in std::mem::take(&mut self.runs) {
            if let (Some(hash), Some(commit)) = (run.hash, run.pending)
                && older.templates.get(&workload) != Some(&hash)
            {
                self.found.entries.entry(workload).or_default().push(Entry { commit, hash });
            }
        }
        let mut carried = std::mem::take(&mut self.unsure);
        for (path, at_tip) in std::mem::take(&mut self.dark) {
            if let Some(held) = older.dark.get(&path) {
                let gone = |workload: &&WorkloadId| matches!(self.state(workload), State::Absent);
                carried.extend(held.iter().filter(gone).cloned());
                self.found.dark.entry(at_tip).or_default().extend(held.iter().cloned());
            }
        }
        for workload in carried {
            if let Some(hash) = older.templates.get(&workload) {
                self.found.templates.entry(workload).or_insert_with(|| hash.clone());
            }
        }
        self.found
    }

    /// Keeps book of files that cannot be read: what they may be hiding, and what becomes visible again.
    /// Returns the workloads that were in the dark since the tip and are seen for the first time.
    fn turn_lights(
        &mut self,
        undone: &[(&Change, Arc<Reading>, Arc<Reading>)],
        touched: &mut BTreeSet<WorkloadId>,
    ) -> BTreeSet<WorkloadId> {
        let mut moved: BTreeMap<BlobId, (BTreeSet<WorkloadId>, Option<String>)> = BTreeMap::new();
        let mut revealed = BTreeSet::new();
        for (change, old, _) in undone.iter().filter(|(_, _, new)| new.unreadable) {
            let hidden = self.hidden.remove(&change.path).unwrap_or_default();
            let dark = self.dark.remove(&change.path);
            touched.extend(hidden.iter().cloned());
            if let Some(at_tip) = dark.clone().filter(|_| !old.unreadable) {
                revealed.extend(old.workloads().cloned());
                self.found.dark.entry(at_tip).or_default().extend(old.workloads().cloned());
            }
            if let Some(blob) = change.new {
                moved.insert(blob, (hidden.clone(), dark.clone()));
            }
            if old.unreadable {
                self.hidden.insert(change.path.clone(), hidden);
                self.dark.extend(dark.map(|at_tip| (change.path.clone(), at_tip)));
            }
        }
        for (change, _, new) in undone.iter().filter(|(_, old, new)| old.unreadable && !new.unreadable) {
            let hidden = self.hidden.entry(change.path.clone()).or_default();
            hidden.extend(new.workloads().cloned());
            if let Some((more, dark)) = change.old.and_then(|blob| moved.get(&blob)) {
                hidden.extend(more.iter().cloned());
                self.dark.extend(dark.clone().map(|at_tip| (change.path.clone(), at_tip)));
            }
        }
        revealed
    }

    /// Compares one workload on both sides of a commit: its run on the newer side, the tree on the older.
    fn compare(&mut self, workload: WorkloadId, commit: &CommitId, sure: bool) {
        let before = self.state(&workload);
        let run = self.runs.entry(workload.clone()).or_default();
        let (hash, ended) = match (run.hash.take(), before) {
            (None, State::Known(hash)) => {
                if !sure {
                    self.unsure.remove(&workload);
                    self.found.templates.entry(workload.clone()).or_insert_with(|| hash.clone());
                }
                (Some(hash), None)
            }
            (None, State::Absent) => {
                self.unsure.remove(&workload);
                (None, None)
            }
            (None, State::Unknown) => {
                if !sure {
                    self.unsure.insert(workload.clone());
                }
                (None, None)
            }
            (Some(hash), State::Known(same)) if same == hash => {
                run.pending = None;
                (Some(hash), None)
            }
            (Some(hash), State::Known(other)) => (Some(other), Some(hash)),
            (Some(hash), State::Absent) => (None, Some(hash)),
            (Some(hash), State::Unknown) => {
                run.pending.get_or_insert_with(|| commit.clone());
                (Some(hash), None)
            }
        };
        run.hash = hash;
        if let Some(hash) = ended {
            let commit = run.pending.take().unwrap_or_else(|| commit.clone());
            self.found.entries.entry(workload).or_default().push(Entry { commit, hash });
        }
    }

    fn state(&self, workload: &WorkloadId) -> State {
        let templates = self.tree.templates.get(workload);
        if self.tree.broken.contains_key(workload) {
            return State::Unknown;
        }
        match templates.map(|hashes| hashes.keys().collect::<Vec<_>>()).as_deref() {
            Some([hash]) => State::Known((*hash).clone()),
            Some([_, ..]) => State::Unknown,
            None | Some([]) if self.hidden.values().any(|hidden| hidden.contains(workload)) => State::Unknown,
            None | Some([]) => State::Absent,
        }
    }
}

/// The documents of one tree, counted, so that a document in two files is noticed and survives the loss of one.
#[derive(Debug, Default)]
struct Documents {
    templates: BTreeMap<WorkloadId, BTreeMap<TemplateHash, u32>>,
    broken: BTreeMap<WorkloadId, u32>,
}

impl Documents {
    fn add(&mut self, reading: &Reading) {
        for (workload, hash) in &reading.templates {
            *self.templates.entry(workload.clone()).or_default().entry(hash.clone()).or_default() += 1;
        }
        for workload in &reading.broken {
            *self.broken.entry(workload.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, reading: &Reading) {
        for (workload, hash) in &reading.templates {
            if let Some(hashes) = self.templates.get_mut(workload) {
                count_down(hashes, hash);
                if hashes.is_empty() {
                    self.templates.remove(workload);
                }
            }
        }
        for workload in &reading.broken {
            count_down(&mut self.broken, workload);
        }
    }
}

fn count_down<K: Ord>(counts: &mut BTreeMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
