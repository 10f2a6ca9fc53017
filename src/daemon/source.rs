//! The deploy repository as the daemon and the commands read it: what Git wants, workload by workload.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tracing::warn;

use super::sources::chain;
use crate::git::{
    Cause, Dark, DarkKind, FileEntry, GitError, Goal, Histories, Index, Listing, MAX_COMMITS, Mirror, Place, Reader,
    SourceConfig,
};
use crate::manifest::stateful_set::{self, ALLOW_CLAIM_DELETION};
use crate::manifest::{
    Bound, BoundWorkload, Document, Manifest,
    apply_body::{rest_digest, written_digest},
    bind, parse,
};
use crate::model::{
    CommitId, CommitInfo, Desired, Diagnostic, Lineage, Origin, Plan, Problem, TemplateHash, Version, Wanted,
    WorkloadId,
};
use crate::revision::digest;
use crate::revision::history::{BlobId, Numbered, number};
use crate::revision::reading::Reading;

mod last_good;
mod looks;

pub use looks::plans_left_out;

pub use last_good::Recalled;

/// Parsed files kept: two commits' worth of the largest repository.
const MOST_PARSED: usize = 40_000;

/// Which workloads of a repository are ours to look at.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The namespace of manifests that state none.
    pub default_namespace: String,
    /// The only namespaces that may be touched; none given: all of them.
    pub only: Vec<String>,
}

/// What one commit says about one workload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// What it asks for; none where the manifest cannot be used and no earlier one is known.
    pub desired: Option<Desired>,
    /// What is wrong at this commit; the wish is then an earlier one's.
    pub problem: Option<Problem>,
    /// The earlier commit at which it was as it is wished for; none where that is the view's own.
    pub at: Option<CommitId>,
    /// What is odd, but usable.
    pub warnings: Vec<Diagnostic>,
    /// Nothing stages it, neither a plan nor a partition: what is asked for reaches all pods in one stage.
    pub unstaged: bool,
}

impl Wish {
    /// The same, as a decision takes it.
    pub fn wanted(&self) -> Wanted<'_> {
        match (&self.desired, &self.problem) {
            (Some(desired), problem) => Wanted::Is(desired, problem.as_ref()),
            (None, Some(problem)) => Wanted::Broken(problem),
            (None, None) => Wanted::Absent,
        }
    }
}

/// What one commit says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// The commit.
    pub commit: CommitInfo,
    /// Every workload it names.
    pub wishes: BTreeMap<WorkloadId, Wish>,
    /// What is wrong with files, rather than with one workload.
    pub diagnostics: Vec<Diagnostic>,
    /// How many objects of other kinds there are; they are left to others.
    pub others: usize,
    /// Places that are not read: what is not named may be there, see [`Source::recall`].
    pub dark: Vec<Dark>,
}

/// What the files of one commit, or of the index, say by themselves: no history is looked at.
#[derive(Debug)]
pub struct Contents {
    /// Sets and plans.
    pub bound: Bound,
    /// What was left out.
    pub skipped: Vec<Diagnostic>,
    /// The documents of every file, by its path.
    pub files: BTreeMap<String, Arc<Parsed>>,
}

/// The files of one commit, read and bound.
struct Tree {
    bound: Bound,
    skipped: Vec<Diagnostic>,
    dark: Vec<Dark>,
}

/// One entry of a workload's history, newest last.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Numbers, hash, and what it repeats.
    pub entry: Numbered,
    /// The commit as people read it.
    pub commit: CommitInfo,
    /// The manifest there.
    pub version: Version,
}

/// A deploy repository: a mirror of it, and what was read from it.
///
/// Everything here is blocking. What was read of a blob is kept by its id: a push costs what it changed.
pub struct Source {
    mirror: Mirror,
    scope: Scope,
    parsed: BTreeMap<(String, BlobId), Arc<Parsed>>,
    index: Index,
    histories: Option<Histories>,
    view: Option<Arc<View>>,
    /// The commit that is taken for the tip; none: whatever was fetched last.
    tip: Option<Tip>,
    /// How many refreshes are to panic.
    #[cfg(test)]
    pub(super) breaks: u32,
    /// How many commits of the history are looked at.
    depth: usize,
}

/// The commit that a source takes for its tip, whatever its branch names; moved by whoever holds a handle.
#[derive(Debug, Clone)]
pub struct Tip(Arc<Mutex<Held>>);

/// Where a tip is, and whether it can be asked for.
#[derive(Debug)]
struct Held {
    commit: CommitId,
    away: bool,
}

impl Tip {
    /// One that names this commit.
    pub fn new(commit: CommitId) -> Self {
        Self(Arc::new(Mutex::new(Held { commit, away: false })))
    }

    /// Moves it; whoever follows has to be woken.
    pub fn set(&self, commit: CommitId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).commit = commit;
    }

    /// Whether it cannot be asked for, like a repository that is away: what it was last is still known, and no more.
    pub fn set_away(&self, away: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).away = away;
    }

    fn get(&self) -> CommitId {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).commit.clone()
    }

    fn fetch(&self, url: &str) -> Result<CommitId, GitError> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match held.away {
            true => Err(GitError::Unreachable { url: url.to_owned(), cause: Cause::new("it is away") }),
            false => Ok(held.commit.clone()),
        }
    }
}

/// One file, parsed.
#[derive(Debug)]
pub struct Parsed {
    /// Its objects.
    pub documents: Vec<Document>,
    /// What of it could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

impl Source {
    /// Opens (or makes) the mirror; nothing is fetched yet.
    ///
    /// # Errors
    /// See [`Mirror::open`].
    pub fn open(config: &SourceConfig, scope: Scope) -> Result<Self, GitError> {
        Ok(Self::on(Mirror::open(config)?, scope))
    }

    /// The same on a repository that is open already.
    pub fn on(mirror: Mirror, scope: Scope) -> Self {
        let version = concat!(env!("CARGO_PKG_VERSION"), " ", env!("PHASELINE_READER"));
        let namespace = scope.default_namespace.clone();
        let reader = Reader { version: version.into(), namespace, read: Reading::of };
        let index = Index::open(&mirror, reader);
        Self {
            mirror,
            scope,
            parsed: BTreeMap::new(),
            index,
            histories: None,
            view: None,
            tip: None,
            #[cfg(test)]
            breaks: 0,
            depth: MAX_COMMITS,
        }
    }

    /// Opens a repository on disk to read it where it lies; `path` is the folder in it that holds the manifests.
    ///
    /// # Errors
    /// See [`Mirror::in_place`].
    pub fn in_place(place: Place<'_>, path: &str, scope: Scope) -> Result<Self, GitError> {
        Ok(Self::on(Mirror::in_place(place, path)?, scope))
    }

    /// The same that looks at so many commits at most: a template that is older is said to be of the last one of them,
    /// and numbers are not those of all history.
    #[must_use]
    pub fn looking_back(self, commits: usize) -> Self {
        Self { depth: commits, ..self }
    }

    /// The same with a tip of its own: nothing is fetched any more.
    pub fn at(mut self, tip: Tip) -> Self {
        (self.tip, self.view, self.histories) = (Some(tip), None, None);
        self
    }

    /// The repository itself, for what is asked of commits rather than of manifests.
    pub fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// The repository's address without credentials.
    pub fn url(&self) -> &str {
        self.mirror.shown_url()
    }

    /// The repository's folder where it is a local one, for [`crate::git::Wakes`].
    pub fn local(&self) -> Option<&Path> {
        self.mirror.local_source()
    }

    /// What records call it; none before it was fetched once, where no branch is named.
    pub fn origin(&self) -> Option<Origin> {
        self.mirror.origin()
    }

    /// Another one of the same, which remembers nothing: what a panic has left behind is not relied on.
    ///
    /// # Errors
    /// [`GitError::Mirror`] where it cannot be opened once more.
    pub fn anew(&self) -> Result<Self, GitError> {
        let another = Self::on(self.mirror.another()?, self.scope.clone());
        Ok(Self { tip: self.tip.clone(), ..another })
    }

    /// Fetches, and gives the tip. Where that fails, the last good one stays in force.
    ///
    /// # Errors
    /// See [`Mirror::fetch`].
    pub fn refresh(&mut self) -> Result<CommitId, GitError> {
        #[cfg(test)]
        if self.breaks > 0 {
            self.breaks -= 1;
            panic!("a hole in the reader");
        }
        if let Some(tip) = &self.tip {
            return tip.fetch(self.url());
        }
        let fetched = self.mirror.fetch()?;
        if fetched.renewed {
            (self.histories, self.view) = (None, None);
        }
        Ok(fetched.tip)
    }

    /// How a commit stands to an earlier one that a record names.
    pub fn lineage(&self, commit: &CommitId, earlier: &CommitId) -> Lineage {
        self.mirror.lineage(commit, earlier)
    }

    /// What the last good tip says.
    ///
    /// # Errors
    /// [`GitError::NoTip`] before the first fetch; whatever reading the mirror reports.
    pub fn view(&mut self) -> Result<Arc<View>, GitError> {
        let tip = match &self.tip {
            Some(tip) => tip.get(),
            None => self.mirror.last_good().ok_or(GitError::NoTip)?,
        };
        if let Some(view) = self.view.as_ref().filter(|view| view.commit.id == tip) {
            return Ok(view.clone());
        }
        let before = self.histories.take();
        let (view, histories) = self.read(&tip, before)?;
        let view = Arc::new(view);
        (self.histories, self.view) = (Some(histories), Some(view.clone()));
        Ok(view)
    }

    /// What another commit says: a branch, a tag, an id or its beginning, `HEAD~1`.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`], [`GitError::AmbiguousRevision`]; whatever reading the mirror reports.
    pub fn view_at(&mut self, rev: &str) -> Result<View, GitError> {
        let commit = self.mirror.resolve(rev)?;
        Ok(self.read(&commit, None)?.0)
    }

    /// A workload's manifest at a commit; none where the commit is gone or its manifest cannot be used.
    pub fn version_at(&mut self, commit: &CommitId, workload: &WorkloadId) -> Option<Version> {
        let info = self.mirror.commit(commit).ok()?;
        // Only the files that name it: a push that changes every workload asks for every one of them.
        let mut files = self.mirror.files(commit).ok()?.files;
        files.retain(|file| self.index.may_name(&self.mirror, &file.blob, &workload.name).unwrap_or(true));
        let names_it = |document: &Document| {
            let name = document.value.pointer("/metadata/name").and_then(Value::as_str);
            stateful_set::is_stateful_set(document) && name == Some(workload.name.as_str())
        };
        let bound = self.bind_files(files, &[], |file| file.documents.iter().any(names_it)).ok()?;
        let Ok(bound) = bound.workloads.get(workload)? else { return None };
        Some(version(&bound.manifest, info, None))
    }

    /// A workload's history, oldest first.
    ///
    /// # Errors
    /// [`GitError::NoTip`] before the first fetch; whatever reading the mirror reports.
    pub fn history(&mut self, workload: &WorkloadId) -> Result<Vec<HistoryEntry>, GitError> {
        let tip = self.mirror.last_good().ok_or(GitError::NoTip)?;
        match self.entries(&tip, workload)? {
            Some(history) => Ok(history),
            // What was kept of a file is not what it says: everything is read again.
            None => {
                self.index.forget();
                self.entries(&tip, workload)?.ok_or_else(|| GitError::Unsteady { workload: workload.clone() })
            }
        }
    }

    /// A workload's history; none where a manifest is not what the index says of it.
    fn entries(&mut self, tip: &CommitId, workload: &WorkloadId) -> Result<Option<Vec<HistoryEntry>>, GitError> {
        let found = self.walk(tip, Goal::Of(workload), None)?;
        let mut entries = found.found.entries.get(workload).cloned().unwrap_or_default();
        entries.reverse();
        let mut history = Vec::with_capacity(entries.len());
        for entry in number(&entries) {
            let commit = self.mirror.commit(&entry.commit)?;
            let mut manifest = None;
            for (path, blob) in found.files.get(&entry.commit).into_iter().flatten() {
                let parsed = self.parse(path, blob)?;
                let sets = parsed.documents.iter().filter(|document| stateful_set::is_stateful_set(document));
                let read = sets.filter_map(|set| stateful_set::read(set, &self.scope.default_namespace).manifest);
                let is_it = |manifest: &Manifest| manifest.workload == *workload && hash(manifest) == entry.hash;
                manifest = manifest.or(read.into_iter().find(is_it));
            }
            let Some(manifest) = manifest else { return Ok(None) };
            history.push(HistoryEntry { entry, version: version(&manifest, commit.clone(), None), commit });
        }
        Ok(Some(history))
    }

    /// Reads one commit: its workloads, and which commit brought the template of each.
    fn read(&mut self, tip: &CommitId, before: Option<Histories>) -> Result<(View, Histories), GitError> {
        let head = self.mirror.commit(tip)?;
        let tree = self.bind(tip)?;
        let (bound, mut diagnostics) = (&tree.bound, tree.skipped.clone());
        diagnostics.extend(bound.diagnostics.iter().cloned());
        diagnostics.extend(bound.broken_files.values().flatten().cloned());
        let mut good: BTreeMap<WorkloadId, Good> = BTreeMap::new();
        let mut problems: BTreeMap<WorkloadId, Problem> = BTreeMap::new();
        for (workload, outcome) in &bound.workloads {
            match outcome {
                Ok(bound) => {
                    good.insert(workload.clone(), Good::of(bound));
                }
                Err(problem) => {
                    problems.insert(workload.clone(), problem.clone());
                }
            }
        }
        let mut earlier: BTreeMap<WorkloadId, CommitId> = BTreeMap::new();
        for (workload, found, problem, commit) in self.last_good(tip, &tree, &problems)? {
            problems.entry(workload.clone()).or_insert(problem);
            earlier.insert(workload.clone(), commit);
            good.insert(workload, found);
        }
        // Only what is newer than the last look is walked through.
        let workloads: Vec<WorkloadId> = good.keys().cloned().collect();
        let mut histories = self.walk(tip, Goal::Latest(&workloads), before.as_ref())?;
        if let Some(before) = before {
            histories = histories.with_older(before);
        }
        let mut wishes: BTreeMap<WorkloadId, Wish> = BTreeMap::new();
        for (workload, good) in good {
            let newest = histories.found.entries.get(&workload).and_then(|entries| entries.first());
            let commit = match newest {
                Some(entry) => self.mirror.commit(&entry.commit)?,
                None => head.clone(),
            };
            let desired = good.desired(&workload, version(&good.manifest, commit, Some(&head)));
            let at = earlier.remove(&workload);
            let (desired, warnings, unstaged) = (Some(desired), good.warnings, good.unstaged);
            let wish = Wish { desired, problem: None, at, warnings, unstaged };
            wishes.insert(workload, wish);
        }
        for (workload, problem) in problems {
            wishes.entry(workload).or_default().problem = Some(problem);
        }
        let only = &self.scope.only;
        if !only.is_empty() {
            for (workload, wish) in wishes.iter_mut().filter(|(workload, _)| !only.contains(&workload.namespace)) {
                *wish = outside(workload, wish, only);
            }
        }
        diagnostics.sort();
        diagnostics.dedup();
        let others = tree.bound.others;
        Ok((View { commit: head, wishes, diagnostics, others, dark: tree.dark }, histories))
    }

    /// Parses and binds the files of a commit.
    fn bind(&mut self, commit: &CommitId) -> Result<Tree, GitError> {
        let Listing { files, skipped, mut dark } = self.mirror.files(commit)?;
        let bound = self.bind_files(files.clone(), &skipped, |_| true)?;
        for file in files {
            if let Some(why) = bound.broken_files.get(&file.path) {
                dark.push(Dark { path: file.path, id: file.blob, what: DarkKind::File, why: why.clone() });
            }
        }
        Ok(Tree { bound, skipped, dark })
    }

    fn bind_files(
        &mut self,
        files: Vec<FileEntry>,
        skipped: &[Diagnostic],
        wanted: impl Fn(&Parsed) -> bool,
    ) -> Result<Bound, GitError> {
        let mut read = Vec::with_capacity(files.len());
        for file in files {
            let parsed = self.parse(&file.path, &file.blob)?;
            if wanted(&parsed) {
                read.push((file.path, parsed));
            }
        }
        let read = read.iter().map(|(path, parsed)| (path.as_str(), &parsed.documents[..], &parsed.diagnostics[..]));
        Ok(bind(read.chain(plans_left_out(skipped)), &self.scope.default_namespace))
    }

    fn parse(&mut self, path: &str, blob: &BlobId) -> Result<Arc<Parsed>, GitError> {
        let key = (path.to_owned(), *blob);
        if let Some(parsed) = self.parsed.get(&key) {
            return Ok(parsed.clone());
        }
        let (documents, diagnostics) = parse(path, &self.mirror.read(blob)?);
        let parsed = Arc::new(Parsed { documents, diagnostics });
        if self.parsed.len() >= MOST_PARSED {
            self.parsed.clear();
        }
        self.parsed.insert(key, parsed.clone());
        Ok(parsed)
    }

    fn walk(&mut self, tip: &CommitId, goal: Goal<'_>, before: Option<&Histories>) -> Result<Histories, GitError> {
        let found = self.index.histories(&self.mirror, tip, goal, before, self.depth)?;
        if let Err(error) = self.index.save(&self.mirror) {
            warn!("the index of the history cannot be kept, it has to be made again next time: {}", chain(&error));
        }
        Ok(found)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("url", &self.url()).field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// A workload that can be used.
struct Good {
    manifest: Manifest,
    plan: Plan,
    digest: String,
    warnings: Vec<Diagnostic>,
    unstaged: bool,
}

impl Good {
    fn of(bound: &BoundWorkload) -> Self {
        let (plan, digest) = bound.effective_plan();
        let (manifest, warnings) = (bound.manifest.clone(), bound.diagnostics.clone());
        Self { manifest, plan, digest, warnings, unstaged: bound.is_unstaged() }
    }

    fn desired(&self, workload: &WorkloadId, tip: Version) -> Desired {
        Desired {
            workload: workload.clone(),
            tip,
            target: None,
            stable: None,
            plan: self.plan.clone(),
            plan_digest: self.digest.clone(),
        }
    }
}

/// The digest of a manifest's template.
fn hash(manifest: &Manifest) -> TemplateHash {
    digest::template(manifest.value.pointer("/spec/template").unwrap_or(&Value::Null)).hash
}

/// A manifest as a version of a workload.
///
/// `commit` brought the template; `head` is the commit it was read at, whose message may allow what the manifest does not.
fn version(manifest: &Manifest, commit: CommitInfo, head: Option<&CommitInfo>) -> Version {
    let value = &manifest.value;
    let template = value.pointer("/spec/template").unwrap_or(&Value::Null);
    let digest = digest::template(template);
    let allows = |commit: &CommitInfo| {
        commit.message.lines().any(|line| {
            let line = line.replace(['"', ' '], "");
            line == format!("{ALLOW_CLAIM_DELETION}:true")
        })
    };
    Version {
        hash: digest.hash,
        restart: digest.restarted_at,
        rest: rest_digest(value),
        rest_as_written: written_digest(value),
        replicas: manifest.replicas,
        start: value
            .pointer("/spec/ordinals/start")
            .and_then(Value::as_u64)
            .and_then(|start| u32::try_from(start).ok())
            .unwrap_or_default(),
        deletes_claims_when_scaled: value
            .pointer("/spec/persistentVolumeClaimRetentionPolicy/whenScaled")
            .is_some_and(|policy| policy == "Delete"),
        allow_claim_deletion: manifest.allow_claim_deletion || allows(&commit) || head.is_some_and(allows),
        adopt: manifest.adopt,
        manifest: Arc::new(value.clone()),
        commit,
    }
}

/// The wish of a workload that is not ours to touch.
fn outside(workload: &WorkloadId, wish: &Wish, only: &[String]) -> Wish {
    let file = wish
        .problem
        .as_ref()
        .and_then(|problem| problem.diagnostics.first())
        .map_or_else(|| format!("({workload})"), |diagnostic| diagnostic.file.clone());
    let names = only.join(", ");
    let place =
        if only.len() == 1 { format!("namespace {names}, which is") } else { format!("namespaces {names}, which are") };
    let message = format!("the manifest of {workload} is outside of the {place} all that may be touched");
    let diagnostic =
        Diagnostic::error(file, 0, message).hint("run without --namespace, or keep it in another repository");
    Wish { problem: Some(Problem { diagnostics: vec![diagnostic] }), ..Wish::default() }
}
