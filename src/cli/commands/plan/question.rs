//! What is asked about: the commit or the files to come, and what counts as in force.

use super::PlanArgs;
use crate::cli::args::GlobalArgs;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::session::Session;
use crate::cli::{local, placing, repository};
use crate::daemon::{Scope, Source, View};
use crate::git::{GitError, Mirror};
use crate::model::{CommitId, CommitInfo};

/// The namespace of manifests that state none, where no kubeconfig is asked.
pub(super) const NAMESPACE: &str = "default";

/// The commits that are looked back on for a push: a revert of what was proven before them is taken for something new.
const RECENT_COMMITS: usize = 300;

/// A question, its repository read.
pub(super) struct Question {
    /// The repository.
    pub(super) source: Source,
    /// What would be in force.
    pub(super) view: View,
    /// Whether that is the work tree, and no commit.
    pub(super) work_tree: bool,
    /// What is in force.
    pub(super) state: State,
    /// What is taken for granted, in words.
    pub(super) assumptions: Vec<String>,
}

/// Where it is told from what is in force.
pub(super) enum State {
    /// The cluster shows it.
    Cluster(Box<Session>),
    /// A commit is taken as in force and Healthy; none: nothing is.
    Commit(Option<Box<View>>),
}

/// Two ends of a range, or one commit.
enum Named<'a> {
    Range(&'a str, &'a str),
    One(Option<&'a str>),
}

/// Opens what the options name and reads it.
pub(super) fn ask(args: &PlanArgs, context: &Context<'_>) -> Result<Question, CliError> {
    let global = &context.global;
    let named = match args.rev.as_deref().and_then(|rev| rev.split_once("..")) {
        Some((_, new)) if new.starts_with('.') => {
            return Err(CliError::new(Kind::Usage, "a range has two dots").hint("write A..B: what B would change of A"));
        }
        Some((old, new)) => {
            Named::Range(if old.is_empty() { "HEAD" } else { old }, if new.is_empty() { "HEAD" } else { new })
        }
        None => Named::One(args.rev.as_deref()),
    };
    match named {
        Named::Range(old, new) => {
            let mut source = in_place(global)?;
            if args.push {
                source = source.looking_back(RECENT_COMMITS);
            }
            let ends = (end(source.mirror(), old)?, end(source.mirror(), new)?);
            between(source, ends.0, ends.1, false)
        }
        Named::One(_) if args.offline => {
            let source = in_place(global)?;
            let mirror = source.mirror();
            if args.worktree {
                let new = mirror.work_tree_commit()?;
                let old = mirror.parent(&new)?;
                return between(source, old, Some(new), true);
            }
            let new = match args.rev.as_deref() {
                Some(rev) => mirror.resolve(rev)?,
                None => tip(mirror, global)?,
            };
            let old = mirror.parent(&new)?;
            if old.is_none() && mirror.is_shallow() {
                let message = format!("the clone is shallow: what was before {} is not there", new.short());
                return Err(
                    CliError::new(Kind::Git, message).hint("git fetch --deepen 1 gets it; or name both ends, A..B")
                );
            }
            between(source, old, Some(new), false)
        }
        Named::One(rev) => against_cluster(args, rev, global),
    }
}

/// A commit or the work tree against the cluster.
fn against_cluster(args: &PlanArgs, rev: Option<&str>, global: &GlobalArgs) -> Result<Question, CliError> {
    let here = if global.repo.is_none() || args.worktree { Some(local::open(global)) } else { None };
    let mirror = match here {
        None => None,
        Some(Ok(mirror)) => Some(mirror),
        Some(Err(_)) if global.repo.is_none() && !args.worktree => {
            // Nothing is named, and nothing is around: say how to name one.
            repository::named(global)?;
            None
        }
        Some(Err(error)) => return Err(error),
    };
    let session = Session::open(global)?;
    let (source, view) = match mirror {
        Some(mirror) => {
            let commit = match rev {
                _ if args.worktree => mirror.work_tree_commit()?,
                Some(rev) => mirror.resolve(rev)?,
                None => tip(&mirror, global)?,
            };
            let mut source = Source::on(mirror, scope(&session.namespace));
            source = placed(&session, source, &commit)?;
            let view = source.view_at(&commit.0)?;
            (source, view)
        }
        None => {
            let mut source = repository::open(global, &session.namespace)?;
            source.refresh()?;
            let commit = source.mirror().resolve(rev.unwrap_or("HEAD"))?;
            source = placed(&session, source, &commit)?;
            let view = source.view_at(&commit.0)?;
            (source, view)
        }
    };
    let state = State::Cluster(Box::new(session));
    Ok(Question { source, view, work_tree: args.worktree, state, assumptions: Vec::new() })
}

/// The source with manifests that state no namespace where the daemon puts them.
fn placed(session: &Session, mut source: Source, commit: &CommitId) -> Result<Source, CliError> {
    let namespace = placing::settle(session, &mut source, commit)?;
    Ok(if namespace == source.default_namespace() { source } else { source.placed_in(&namespace) })
}

/// What one commit would change if another were in force.
fn between(
    mut source: Source,
    old: Option<CommitId>,
    new: Option<CommitId>,
    work_tree: bool,
) -> Result<Question, CliError> {
    let mut assumptions = Vec::new();
    let (before, view) = match (old, new) {
        (Some(old), Some(new)) => match source.views(&old, &new) {
            Ok((before, after)) => {
                let (id, subject) = (old.short(), &before.commit.subject);
                assumptions.push(format!("commit {id} ({subject}) is in force, every pod of it Ready and at rest"));
                (Some(Box::new(before)), after)
            }
            // The commit that brings the folder.
            Err(GitError::PathMissing { commit, path, .. }) if commit == old => {
                assumptions.push(format!("nothing is in force: commit {} has no folder {path}", old.short()));
                (None, source.view_at(&new.0)?)
            }
            Err(error) => return Err(error.into()),
        },
        (None, Some(new)) => {
            assumptions.push("nothing is in force: every set is new".to_owned());
            (None, source.view_at(&new.0)?)
        }
        (_, None) => {
            assumptions.push("the branch is deleted: the last good commit stays in force".to_owned());
            let gone = CommitInfo { subject: "none: the branch is deleted".to_owned(), ..CommitInfo::default() };
            (None, View { commit: gone, ..View::default() })
        }
    };
    Ok(Question { source, view, work_tree, state: State::Commit(before), assumptions })
}

/// One end of a range; none where Git says so by an id of zeros, as it does of branches that are made or deleted.
fn end(mirror: &Mirror, rev: &str) -> Result<Option<CommitId>, GitError> {
    let nothing = rev.len() >= 40 && rev.bytes().all(|byte| byte == b'0');
    if nothing { Ok(None) } else { mirror.resolve(rev).map(Some) }
}

/// The commit that is meant where none is named: the tip of --branch, else `HEAD`.
fn tip(mirror: &Mirror, global: &GlobalArgs) -> Result<CommitId, GitError> {
    mirror.resolve(global.branch.as_deref().unwrap_or("HEAD"))
}

fn in_place(global: &GlobalArgs) -> Result<Source, CliError> {
    Ok(Source::on(local::open(global)?, scope(global.namespace.as_deref().unwrap_or(NAMESPACE))))
}

fn scope(default_namespace: &str) -> Scope {
    Scope { default_namespace: default_namespace.to_owned(), only: Vec::new() }
}
