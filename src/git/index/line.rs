//! The first-parent line of commits that leads to a tip, and the manifest files that each of them changed.
//!
//! Commits are listed first, which is cheap; what they changed is compared when somebody asks, on several threads, and kept.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use git2::Oid;

use super::threads;
use crate::git::changes::Parent;
use crate::git::error::GitError;
use crate::git::history::MAX_COMMITS;
use crate::git::mirror::Mirror;
use crate::model::CommitId;
use crate::revision::history::{BlobId, Change, Step};

/// Most changed files that are kept, of all commits together: some 40 MB.
const MAX_KEPT: usize = 1_000_000;
/// Fewest commits that are worth a second thread.
const WORTH_A_THREAD: usize = 128;

/// The line, newest commit first.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) links: VecDeque<Link>,
    pub(super) bottom: Bottom,
    pub(super) paths: Paths,
    /// Something was added or dropped since it was read from a file.
    pub(super) changed: bool,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) commit: Oid,
    pub(super) tree: Oid,
    /// What it changed; none where that was not compared yet.
    pub(super) changes: Option<Box<[Changed]>>,
}

/// One changed file, its path by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) path: u32,
    pub(super) old: Option<BlobId>,
    pub(super) new: Option<BlobId>,
}

/// What is before the oldest commit of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Bottom {
    /// Nothing: it is a root.
    Root,
    /// This commit, which the shallow repository does not have.
    CutOff(Oid),
    /// More, which is not listed: the line is at its limit, or the repository is damaged there.
    #[default]
    Open,
}

/// Paths by number.
#[derive(Debug, Default)]
pub(super) struct Paths {
    pub(super) names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Paths {
    /// A path's number; the next one for a path that is new.
    pub(super) fn number(&mut self, path: &str) -> u32 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let (name, number) = (Arc::<str>::from(path), self.names.len() as u32);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", AsRef::as_ref)
    }
}

impl Line {
    /// Makes a commit the top of the line. What the line has of its ancestors stays, what is newer goes.
    pub(super) fn reach(&mut self, mirror: &Mirror, tip: &CommitId) -> Result<(), GitError> {
        let tip = mirror.known_commit(tip)?;
        if self.links.front().map(|link| link.commit) != Some(tip) {
            let known: HashMap<Oid, usize> =
                self.links.iter().enumerate().map(|(place, link)| (link.commit, place)).collect();
            let found = descend(mirror, tip, MAX_COMMITS + 1, |commit| known.contains_key(&commit))?;
            match found.met.and_then(|met| known.get(&met)) {
                Some(place) => drop(self.links.drain(..place)),
                None => {
                    self.links.clear();
                    self.bottom = found.bottom;
                }
            }
            found.links.into_iter().rev().for_each(|link| self.links.push_front(link));
            self.changed = true;
        }
        self.deepen(mirror)?;
        if self.links.len() > MAX_COMMITS + 1 {
            self.end_at(MAX_COMMITS + 1);
        }
        Ok(())
    }

    /// Lists what is before the oldest commit, where that has become possible.
    fn deepen(&mut self, mirror: &Mirror) -> Result<(), GitError> {
        let room = (MAX_COMMITS + 1).saturating_sub(self.links.len());
        match self.bottom {
            Bottom::Root => return Ok(()),
            Bottom::Open if room == 0 || self.kept() >= MAX_KEPT => return Ok(()),
            Bottom::CutOff(missing) if mirror.repo.is_shallow() && !mirror.odb()?.exists(missing) => return Ok(()),
            Bottom::Open | Bottom::CutOff(_) => {}
        }
        let Some(oldest) = self.links.pop_back() else { return Ok(()) };
        let found = descend(mirror, oldest.commit, room + 1, |_| false)?;
        self.changed |= found.bottom != self.bottom || found.links.len() > 1;
        self.bottom = found.bottom;
        if found.links.len() == 1 && matches!(found.bottom, Bottom::Open) {
            self.links.push_back(Link { changes: None, ..oldest });
        } else {
            self.links.extend(found.links);
        }
        Ok(())
    }

    /// Drops what is older.
    fn end_at(&mut self, length: usize) {
        if self.links.len() > length {
            self.links.truncate(length);
            self.bottom = Bottom::Open;
            self.changed = true;
        }
        if let (Bottom::Open, Some(oldest)) = (self.bottom, self.links.back_mut()) {
            oldest.changes = None;
        }
    }

    fn kept(&self) -> usize {
        self.links.iter().filter_map(|link| link.changes.as_deref()).map(<[Changed]>::len).sum()
    }

    /// Compares the commits in a stretch of the line with their parents, those that were not.
    ///
    /// A commit that cannot be compared stays as it is: whoever walks the line meets the reason there.
    pub(super) fn compare(&mut self, mirror: &Mirror, from: usize, to: usize) -> Result<(), GitError> {
        let last = self.links.len().saturating_sub(1);
        let mut open = Vec::new();
        for place in from..to.min(self.links.len()) {
            let Some(link) = self.links.get(place).filter(|link| link.changes.is_none()) else { continue };
            let before = self.links.get(place + 1).map(|parent| parent.tree);
            if place < last || self.bottom != Bottom::Open {
                open.push((place, link.commit, before, link.tree));
            }
        }
        let compared = threads::spread(mirror, &open, WORTH_A_THREAD, |mirror, (place, commit, before, after)| {
            match mirror.changes(&CommitId(commit.to_string()), *before, Some(*after)) {
                Ok(changes) => Ok(Some((*place, changes))),
                // Met again by whoever walks there; others need not know.
                Err(_) => Ok(None),
            }
        })?;
        for (place, changes) in compared.into_iter().flatten() {
            let packed = changes.into_iter().map(|change| Changed {
                path: self.paths.number(&change.path),
                old: change.old,
                new: change.new,
            });
            let packed = packed.collect();
            if let Some(link) = self.links.get_mut(place) {
                link.changes = Some(packed);
                self.changed = true;
            }
        }
        let mut sum = 0;
        let over = self.links.iter().position(|link| {
            sum += link.changes.as_deref().map_or(0, <[Changed]>::len);
            sum > MAX_KEPT
        });
        // The one that is too much stays as the end, so that whoever walks there goes on by reading.
        if let Some(place) = over {
            self.end_at(place.max(1));
        }
        Ok(())
    }

    /// What the commit at this place changed; none where it was not compared.
    pub(super) fn step(&self, place: usize) -> Option<Step> {
        let link = self.links.get(place)?;
        let changes = link.changes.as_ref()?.iter().map(|change| Change {
            path: self.paths.name(change.path).to_owned(),
            old: change.old,
            new: change.new,
        });
        Some(Step { commit: CommitId(link.commit.to_string()), changes: changes.collect() })
    }

    /// The blobs of a stretch of the line, those of one path together: they are stored as differences to each other.
    pub(super) fn blobs(&self, from: usize, to: usize) -> Vec<BlobId> {
        let links = self.links.iter().take(to).skip(from);
        let changes = links.flat_map(|link| link.changes.as_deref().unwrap_or_default());
        let mut blobs: Vec<(u32, BlobId)> = changes
            .flat_map(|change| [change.new, change.old].into_iter().flatten().map(|blob| (change.path, blob)))
            .collect();
        blobs.sort_by_key(|(path, _)| *path);
        blobs.into_iter().map(|(_, blob)| blob).collect()
    }
}

/// Commits that were listed.
struct Listed {
    links: Vec<Link>,
    bottom: Bottom,
    /// The commit that is on the line already.
    met: Option<Oid>,
}

/// Lists commits from one back along first parents, until one that is known, at most so many.
fn descend(mirror: &Mirror, from: Oid, most: usize, known: impl Fn(Oid) -> bool) -> Result<Listed, GitError> {
    let mut listed = Listed { links: Vec::new(), bottom: Bottom::Open, met: None };
    let mut at = from;
    while listed.links.len() < most {
        if known(at) {
            listed.met = Some(at);
            break;
        }
        let (tree, parent) = match mirror.first_parent_of(at) {
            Ok(found) => found,
            Err(error) if listed.links.is_empty() => {
                // The first one is there: what is wrong is behind it, for whoever walks there.
                let tree = mirror.raw_commit(at, |commit| commit.tree).map_err(|_| error)?;
                listed.links.push(Link { commit: at, tree, changes: None });
                break;
            }
            Err(_) => break,
        };
        listed.links.push(Link { commit: at, tree, changes: None });
        match parent {
            Parent::Is(parent) => at = parent,
            Parent::None => {
                listed.bottom = Bottom::Root;
                break;
            }
            Parent::CutOff(missing) => {
                listed.bottom = Bottom::CutOff(missing);
                break;
            }
        }
    }
    Ok(listed)
}
