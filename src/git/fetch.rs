//! Brings a mirror up to date, and keeps the last good state where that fails.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use git2::{ErrorClass, ErrorCode, ObjectType, Oid, Repository, RepositoryOpenFlags};

use super::copy;
use super::credentials::Offers;
use super::error::GitError;
use super::folder::{self, Known};
use super::history::MAX_COMMITS;
use super::known_hosts::default_files;
use super::lock::Lock;
use super::mirror::{Mirror, TIP, beside, create, lock_path, remove};
use super::pack;
use super::transfer::{self, Downloaded, INCOMING, Job};
use crate::model::CommitId;

/// How often a new copy of the whole repository is made at most because an object was damaged.
const RENEW_EVERY: Duration = Duration::from_secs(600);

/// Largest note of where a history was cut off, in bytes: some twenty thousand places.
const SHALLOW_LIMIT: usize = 1 << 20;

/// Where former tips are kept that no branch leads to any more.
const KEPT: &str = "refs/phaseline-kept/";

/// Most former tips that are kept.
const MAX_KEPT: usize = 8;

/// Notes how many bytes the packs had when the mirror was last copied anew.
const SIZE: &str = "phaseline-size";

/// What one fetch may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long the source may keep silent.
    pub idle: Duration,
    /// How long the download may take; another process that is fetching is waited for as long again.
    pub total: Duration,
    /// Most bytes that are received.
    pub bytes: u64,
    /// Bytes that the mirror may have beyond twice its size when it was last copied anew, where history was rewritten.
    pub spare: u64,
}

impl Default for Limits {
    /// 60 s of silence, 15 minutes, 1 GiB: more than the largest deploy repositories need over a slow line; 64 MiB to spare.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), total: Duration::from_secs(900), bytes: 1 << 30, spare: 64 << 20 }
    }
}

/// Where the tip went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// There was none before.
    First,
    /// Nowhere.
    Same,
    /// Onward: the old tip is an ancestor of the new one.
    Forward,
    /// Back: the new tip is an ancestor of the old one (a reset, or a server that lags behind).
    Back,
    /// Aside: history was rewritten.
    Rewritten,
}

/// What a fetch brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The branch.
    pub branch: String,
    /// Its tip, now [`Mirror::last_good`].
    pub tip: CommitId,
    /// The tip before.
    pub previous: Option<CommitId>,
    /// Where the tip went.
    pub movement: Movement,
    /// Whether a damaged mirror was replaced by a new copy.
    pub renewed: bool,
}

impl Fetched {
    /// Whether the tip is another than before.
    pub fn moved(&self) -> bool {
        self.movement != Movement::Same
    }

    /// Whether the old tip is no ancestor of the new one.
    pub fn rewritten(&self) -> bool {
        matches!(self.movement, Movement::Back | Movement::Rewritten)
    }
}

impl Mirror {
    /// Fetches the branch: all of its history, no tags, within the [`Limits`].
    ///
    /// A damaged mirror is replaced by a new copy, fetched beside it first. Whatever goes wrong, [`Mirror::last_good`] stays.
    ///
    /// # Errors
    /// Why there is no newer state: [`GitError::Unreachable`], [`GitError::AuthFailed`], [`GitError::BranchMissing`],
    /// [`GitError::Empty`], and the other variants that name the source; [`GitError::Locked`] where another process is at it.
    pub fn fetch(&mut self) -> Result<Fetched, GitError> {
        if self.in_place {
            // There is nothing to fetch: it is the source itself.
            let tip = self.last_good().ok_or_else(|| GitError::Empty { url: self.source.shown.clone() })?;
            let (previous, movement) = (Some(tip.clone()), Movement::Same);
            return Ok(Fetched { branch: "HEAD".into(), tip, previous, movement, renewed: false });
        }
        if let Some(state) = self.dir.parent() {
            // Somebody may have removed it: it is a copy, and made again.
            folder::make_private(state)?;
        }
        let _lock = Lock::take(&lock_path(&self.dir), self.limits.total)?;
        if ![self.dir.clone(), beside(&self.dir, "new")].iter().any(|dir| transfer::is_running(dir)) {
            folder::sweep(&self.dir);
        }
        if !self.known.stands(&self.dir) && self.reopen().is_err() {
            self.suspect.store(true, Ordering::Relaxed);
        }
        let previous = self.last_good();
        let have = previous.as_ref().and_then(|tip| Oid::from_str(&tip.0).ok());
        let mut renewed = self.suspect.load(Ordering::Relaxed) || self.is_overgrown();
        let downloaded = if renewed { self.renew(have)? } else { self.update(have, &mut renewed)? };
        let movement = match have {
            None => Movement::First,
            Some(have) => self.movement(have, downloaded.tip),
        };
        self.remember(&downloaded)?;
        if let (Movement::Back | Movement::Rewritten, Some(have)) = (movement, have)
            && self.odb()?.exists(have)
        {
            self.keep(have).map_err(|error| self.mirror_error(&error))?;
        }
        // Tidying up may fail (a full disk); the state is good all the same, and the next fetch tries again.
        if let Ok(true) = pack::tidy(&self.repo, &self.dir) {
            self.reopen()?;
        } else {
            self.known = Known::of(&self.dir);
        }
        let tip = CommitId(downloaded.tip.to_string());
        Ok(Fetched { branch: downloaded.branch, tip, previous, movement, renewed })
    }

    /// Downloads into the mirror as it is; makes a new copy where it turns out to be damaged.
    fn update(&mut self, have: Option<Oid>, renewed: &mut bool) -> Result<Downloaded, GitError> {
        let result = self.download(&self.dir).and_then(|downloaded| {
            // Objects that the mirror claimed to have may be missing or damaged.
            if have != Some(downloaded.tip) {
                self.check(downloaded.tip)?;
            }
            Ok(downloaded)
        });
        let lately = self.renewed.is_some_and(|when| when.elapsed() < RENEW_EVERY);
        match result {
            // A malformed commit as the last good tip makes libgit2 refuse to go on from it; a new copy does not start there.
            Err(GitError::RepositoryCorrupt { .. } | GitError::Unsupported { .. }) if !lately => {
                *renewed = true;
                self.renew(have)
            }
            result => result,
        }
    }

    /// Fetches a new copy beside the mirror and puts it in its place.
    fn renew(&mut self, have: Option<Oid>) -> Result<Downloaded, GitError> {
        self.renewed = Some(Instant::now());
        let (fresh, old) = (beside(&self.dir, "new"), beside(&self.dir, "damaged"));
        remove(&fresh)?;
        drop(create(&fresh)?);
        let downloaded = match self.download(&fresh) {
            Ok(downloaded) => downloaded,
            Err(error) => {
                remove(&fresh)?;
                return Err(error);
            }
        };
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |cause| GitError::State { path, cause }
        };
        remove(&old)?;
        if fs::symlink_metadata(&self.dir).is_ok() {
            // Of what may be damaged, whatever can be read: a rollout may still be on a commit that no branch names.
            let repo = Repository::open_bare(&fresh).map_err(|error| self.mirror_error(&error))?;
            for id in self.kept().into_iter().chain(have) {
                let copied = copy::copy(&self.repo, &fresh, &[id], &mut |bytes| bytes <= self.limits.bytes);
                if copied.is_ok() && have != Some(id) {
                    let _ = repo.reference(&kept_name(id), id, true, "kept");
                }
            }
            fs::rename(&self.dir, &old).map_err(failed(&self.dir))?;
        }
        fs::rename(&fresh, &self.dir).map_err(failed(&fresh))?;
        self.reopen()?;
        self.suspect.store(false, Ordering::Relaxed);
        remove(&old)?;
        // How large a copy is that holds what is needed; only a note.
        let _ = fs::write(self.dir.join(SIZE), folder::pack_bytes(&self.dir).to_string());
        self.check(downloaded.tip)?;
        Ok(downloaded)
    }

    fn download(&self, dir: &Path) -> Result<Downloaded, GitError> {
        let offers = Offers::collect(&self.source, &self.credentials)?;
        let known_hosts = self.credentials.known_hosts.clone().map_or_else(default_files, |file| vec![file]);
        let job = Job { dir: dir.to_owned(), source: self.source.clone(), offers, known_hosts };
        let downloaded = transfer::run(job, self.limits)?;
        self.copy_shallow(dir)?;
        Ok(downloaded)
    }

    /// A local source that was cut off (`git clone --depth`) does not say where; its own note of that is taken over.
    fn copy_shallow(&self, dir: &Path) -> Result<(), GitError> {
        let Some(source) = self.local_source() else { return Ok(()) };
        let none: [&str; 0] = [];
        let note = Repository::open_ext(source, RepositoryOpenFlags::NO_SEARCH, none)
            .ok()
            .and_then(|repo| fs::read(repo.commondir().join("shallow")).ok())
            .filter(|note| note.len() <= SHALLOW_LIMIT);
        let path = dir.join("shallow");
        let result = match note {
            Some(note) => fs::write(&path, note),
            None if path.exists() => fs::remove_file(&path),
            None => Ok(()),
        };
        result.map_err(|cause| GitError::State { path, cause })
    }

    /// Whether the tip and every manifest of it can be read.
    fn check(&self, tip: Oid) -> Result<(), GitError> {
        match self.files(&CommitId(tip.to_string())) {
            Ok(_)
            | Err(
                GitError::PathMissing { .. }
                | GitError::TooMany { .. }
                | GitError::TotalTooLarge { .. }
                | GitError::ObjectTooLarge { .. },
            ) => Ok(()),
            // The commit itself did not arrive.
            Err(GitError::UnknownRevision { rev }) => {
                self.suspect.store(true, Ordering::Relaxed);
                let cause = super::error::Cause::new("the commit did not arrive");
                Err(GitError::RepositoryCorrupt { object: rev, cause })
            }
            Err(error) => Err(error),
        }
    }

    /// Former tips that no branch leads to any more.
    fn kept(&self) -> Vec<Oid> {
        let references = self.repo.references_glob(&format!("{KEPT}*"));
        references.into_iter().flatten().flatten().filter_map(|reference| reference.target()).collect()
    }

    /// Keeps a former tip: a rollout may still be on it. Of many, the last ones.
    fn keep(&self, tip: Oid) -> Result<(), git2::Error> {
        let names: Vec<(i64, String)> = self
            .repo
            .references_glob(&format!("{KEPT}*"))?
            .flatten()
            .filter_map(|reference| {
                let name = reference.name().ok()?.to_owned();
                Some((fs::metadata(self.dir.join(&name)).ok()?.mtime(), name))
            })
            .collect();
        let surplus = (names.len() + 1).saturating_sub(MAX_KEPT);
        let mut oldest = names;
        oldest.sort();
        for (_, name) in oldest.into_iter().take(surplus) {
            self.repo.find_reference(&name)?.delete()?;
        }
        self.repo.reference(&kept_name(tip), tip, true, "kept").map(drop)
    }

    /// Whether what no branch leads to any more takes more room than what is needed: every rewrite leaves something.
    fn is_overgrown(&self) -> bool {
        if self.kept().is_empty() || self.renewed.is_some_and(|when| when.elapsed() < RENEW_EVERY) {
            return false;
        }
        let size = folder::pack_bytes(&self.dir);
        let path = self.dir.join(SIZE);
        let Some(base) = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok()) else {
            let _ = fs::write(path, size.to_string());
            return false;
        };
        size > base.saturating_mul(2).saturating_add(self.limits.spare)
    }

    fn movement(&self, old: Oid, new: Oid) -> Movement {
        let descends = |child, ancestor| {
            // libgit2 gives up at a commit without a proper author or date.
            self.repo.graph_descendant_of(child, ancestor).unwrap_or_else(|_| self.leads_to(child, ancestor))
        };
        if old == new {
            Movement::Same
        } else if descends(new, old) {
            Movement::Forward
        } else if descends(old, new) {
            Movement::Back
        } else {
            Movement::Rewritten
        }
    }

    /// Whether an ancestor of a commit is another one, read as leniently as everything else.
    fn leads_to(&self, child: Oid, ancestor: Oid) -> bool {
        let (mut seen, mut waiting) = (HashSet::from([child]), vec![child]);
        while let Some(id) = waiting.pop() {
            for parent in self.raw_commit(id, |commit| commit.parents.clone()).unwrap_or_default() {
                if parent == ancestor {
                    return true;
                }
                if seen.len() < MAX_COMMITS && seen.insert(parent) {
                    waiting.push(parent);
                }
            }
        }
        false
    }

    /// Makes the downloaded tip the last good one.
    fn remember(&self, downloaded: &Downloaded) -> Result<(), GitError> {
        let failed = |error: git2::Error| self.mirror_error(&error);
        let name = format!("refs/phaseline/{}", downloaded.branch);
        let set = || self.repo.reference(&name, downloaded.tip, true, "fetch");
        match set() {
            Ok(_) => {}
            // `a` became `a/b`: the one reference must go before the other can be.
            Err(error) if error.code() != ErrorCode::Locked => {
                self.forget_others(&name).map_err(failed)?;
                set().map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        self.repo.reference_symbolic(TIP, &name, true, "fetch").map_err(failed)?;
        self.forget_others(&name).map_err(failed)?;
        self.remember_tags(&downloaded.tags).map_err(failed)
    }

    fn forget_others(&self, keep: &str) -> Result<(), git2::Error> {
        for pattern in ["refs/phaseline/*", &format!("{INCOMING}*")] {
            for reference in self.repo.references_glob(pattern)? {
                let mut reference = reference?;
                if reference.name() != Ok(keep) {
                    reference.delete()?;
                }
            }
        }
        Ok(())
    }

    /// Keeps the tags that name commits of this branch; their own objects are not fetched.
    fn remember_tags(&self, tags: &[(String, Oid)]) -> Result<(), git2::Error> {
        let odb = self.repo.odb()?;
        let ours = |id: Oid| odb.read_header(id).is_ok_and(|(_, kind)| kind == ObjectType::Commit);
        for (name, id) in tags {
            let name = format!("refs/tags/{name}");
            let kept = self.repo.find_reference(&name).ok().and_then(|reference| reference.target());
            if kept != Some(*id) && ours(*id) && git2::Reference::is_valid_name(&name) {
                // Two tags of which one is the other's folder cannot both be files; the first stays.
                ignore_conflicts(self.repo.reference(&name, *id, true, "fetch").map(drop))?;
            }
        }
        for reference in self.repo.references_glob("refs/tags/*")? {
            let mut reference = reference?;
            let name = reference.name().ok().and_then(|name| name.strip_prefix("refs/tags/")).map(str::to_owned);
            let still = tags.iter().any(|(tag, id)| Some(tag) == name.as_ref() && Some(*id) == reference.target());
            if !still {
                reference.delete()?;
            }
        }
        Ok(())
    }
}

/// The name under which a former tip is kept.
fn kept_name(id: Oid) -> String {
    format!("{KEPT}{id}")
}

fn ignore_conflicts(result: Result<(), git2::Error>) -> Result<(), git2::Error> {
    match result {
        Err(error) if matches!(error.class(), ErrorClass::Filesystem | ErrorClass::Reference | ErrorClass::Os) => {
            Ok(())
        }
        result => result,
    }
}
