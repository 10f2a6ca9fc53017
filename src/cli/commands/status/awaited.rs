//! The commit that is asked about: where a workload stands towards it.
//!
//! A workload is at a commit when the manifest that the commit has of it is the one in force: a commit that does not
//! touch it counts as reached where its manifest was reached. What is newer in Git than the commit has passed it.

use crate::cli::args::GlobalArgs;
use crate::cli::error::{CliError, Kind};
use crate::cli::foresee;
use crate::cli::output::status::{AwaitedState, Status, Waiting};
use crate::daemon::{Source, View};
use crate::git::{GitError, Mirror, Place, SourceConfig};
use crate::model::{CommitId, Observed, Phase, Reason, RecordState};

/// What is asked for beside the state of now.
#[derive(Debug, Clone, Default)]
pub(super) struct Ask {
    /// A commit, by name.
    pub(super) commit: Option<String>,
    /// Whether it is waited for.
    pub(super) waits: bool,
}

/// A commit that is asked about.
#[derive(Debug)]
pub(super) struct Awaited {
    /// Its id.
    pub(super) commit: CommitId,
    /// What it says; none as long as the repository that is looked at does not have it.
    view: Option<View>,
}

/// Where a workload stands towards the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stand {
    /// Its manifest is in force.
    InForce,
    /// A newer commit is in force, which has it among its ancestors.
    Passed(CommitId),
    /// The commit says nothing of it.
    NotNamed,
    /// Not yet in force.
    Coming,
    /// Not yet in the repository that is looked at.
    Unseen,
}

/// The clone around the current folder, and what of it is asked about.
pub(super) struct Here {
    /// The clone.
    pub(super) mirror: Mirror,
    /// The commit that is asked about.
    pub(super) commit: CommitId,
    /// What there is to say about the choice.
    pub(super) note: Option<String>,
}

/// What is asked about the clone that one stands in; none where it is about no commit of it.
///
/// `of` is the repository that was named: another clone than one of that is none of this command's business.
pub(super) fn here(ask: &Ask, global: &GlobalArgs, of: Option<&SourceConfig>) -> Result<Option<Here>, CliError> {
    if ask.commit.is_none() && !ask.waits {
        return Ok(None);
    }
    let path = global.path.as_deref().unwrap_or_default();
    let mirror = match Mirror::in_place(Place::Here, path) {
        Ok(mirror) => mirror,
        Err(_) if ask.commit.is_none() || of.is_some() => return Ok(None),
        Err(_) => {
            return Err(CliError::new(Kind::Usage, "--commit needs a repository")
                .hint("run it in a clone of the deploy repository, or name that with --repo URL|PATH"));
        }
    };
    if of.is_some_and(|config| !mirror.is_clone_of(config)) {
        return Ok(None);
    }
    if let Some(rev) = &ask.commit {
        return match mirror.resolve(rev) {
            Ok(commit) => Ok(Some(Here { mirror, commit, note: None })),
            // The named repository may know it: somebody else has pushed it.
            Err(GitError::UnknownRevision { .. }) if of.is_some() => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    let Some(head) = mirror.clone_head(global.branch.as_deref(), of) else { return Ok(None) };
    let note = match &head.upstream {
        _ if head.pushed => None,
        Some((name, tip)) => Some(format!(
            "note: HEAD ({}) is not on {name}: waiting for {name} ({}), which is",
            head.commit.short(),
            tip.short()
        )),
        None => Some(format!("note: HEAD ({}) is on no branch of a remote, and not waited for", head.commit.short())),
    };
    match head.awaited().cloned() {
        Some(commit) => Ok(Some(Here { mirror, commit, note })),
        None => Ok(None),
    }
}

impl Awaited {
    pub(super) fn new(commit: CommitId) -> Self {
        Self { commit, view: None }
    }

    /// Reads what the commit says, as soon as it is there.
    pub(super) fn read(&mut self, source: &mut Source) -> Result<(), CliError> {
        if self.view.is_some() {
            return Ok(());
        }
        match source.view_at(&self.commit.0) {
            Ok(view) => self.view = Some(view),
            Err(GitError::UnknownRevision { .. } | GitError::NoTip) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Where a workload stands towards it; `tip` is what is known of newer commits.
    pub(super) fn stand(&self, source: &Source, tip: Option<&View>, observed: &Observed) -> Stand {
        let Some(view) = &self.view else { return Stand::Unseen };
        let Some(wish) = view.wishes.get(&observed.workload) else { return Stand::NotNamed };
        // Without a manifest that can be used there is nothing to wait for: what is wrong with it is shown.
        let Some(desired) = &wish.desired else { return Stand::InForce };
        if foresee::in_force(desired, observed) {
            return Stand::InForce;
        }
        let passes =
            |newer: &CommitId| *newer != self.commit && source.mirror().contains(newer, &self.commit) == Some(true);
        let target = match observed.set.as_ref().map(|set| &set.record) {
            Some(RecordState::Is(record, _)) => Some(record.mark()),
            Some(RecordState::Absent | RecordState::Unreadable(_)) | None => None,
        };
        if let Some(target) = target.filter(|target| passes(target)) {
            return Stand::Passed(target.clone());
        }
        let newest = tip.filter(|tip| passes(&tip.commit.id));
        let there = newest.and_then(|tip| Some((tip, tip.wishes.get(&observed.workload)?.desired.as_ref()?)));
        match there {
            Some((tip, desired)) if foresee::in_force(desired, observed) => Stand::Passed(tip.commit.id.clone()),
            Some(_) | None => Stand::Coming,
        }
    }
}

impl Stand {
    /// Puts it into a status; whether it is worth waiting for.
    ///
    /// How a workload was at the commit before is no answer: it is under way as long as nothing stands against the
    /// commit.
    pub(super) fn put(&self, awaited: &Awaited, item: &mut Status) -> bool {
        let commit = &awaited.commit;
        let (state, by) = match self {
            Self::InForce => ("InForce", None),
            Self::Passed(newer) => ("Passed", Some(newer.0.clone())),
            Self::NotNamed => ("NotNamed", None),
            Self::Coming => ("Coming", None),
            Self::Unseen => ("Unseen", None),
        };
        item.awaited = Some(AwaitedState { commit: commit.0.clone(), state, by });
        let text = match self {
            Self::InForce | Self::Passed(_) | Self::NotNamed => return false,
            // What was decided was decided without it.
            Self::Unseen => format!("for commit {} to come to the repository", commit.short()),
            Self::Coming if item.phase == Phase::Healthy => format!("for the daemon to take commit {}", commit.short()),
            Self::Coming => return false,
        };
        (item.phase, item.reason) = (Phase::Progressing, Reason::Starting);
        item.waiting_on = Some(Waiting { kind: "Commit", text, ..Waiting::default() });
        item.hints.clear();
        item.culprit = None;
        true
    }
}
