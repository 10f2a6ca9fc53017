//! What is played: the commit or the files to come, and the state that it begins with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::SimulateArgs;
use super::live::{self, Live};
use crate::cli::args::GlobalArgs;
use crate::cli::context::Context;
use crate::cli::embedded::Kubernetes;
use crate::cli::error::{CliError, Kind};
use crate::cli::session::Session;
use crate::cli::temporary::Temporary;
use crate::cli::{local, repository};
use crate::cluster::{RequestError, read};
use crate::daemon::{Scope, Source, View};
use crate::git::{Address, GitError, Mirror, Place, SourceConfig};
use crate::model::{CommitId, TemplateHash, WorkloadId};

/// The namespace of manifests that state none, where no kubeconfig is asked.
const NAMESPACE: &str = "default";
/// Commits looked back through for one that differs.
const MOST_BACK: usize = 200;

/// What is played.
pub(super) struct Subject {
    /// The repository, until the daemon has it.
    pub(super) source: Option<Source>,
    /// What is rolled out.
    pub(super) view: View,
    /// Whether that is no commit, but files as they are.
    pub(super) not_committed: bool,
    /// As which Kubernetes the embedded cluster behaves.
    pub(super) kubernetes: Kubernetes,
    /// What it begins with.
    pub(super) before: Before,
    /// Whether every pod is restarted, in place of a change.
    pub(super) restart: bool,
    /// What is taken for granted, in words.
    pub(super) assumptions: Vec<String>,
    /// Holds a repository that nothing else needs.
    _scratch: Option<Temporary>,
}

/// The state that it begins with.
pub(super) enum Before {
    /// Nothing is there: everything is installed.
    Nothing,
    /// This commit, installed and Healthy.
    Commit(Box<View>),
    /// What a cluster shows.
    Cluster(Box<Live>),
}

impl Subject {
    /// The workloads that are played.
    pub(super) fn workloads(&self) -> impl Iterator<Item = &WorkloadId> {
        self.view.wishes.keys()
    }
}

/// Where the manifests are.
struct Found {
    source: Source,
    commit: CommitId,
    not_committed: bool,
    /// Files that belong to no commit and no history.
    folder: bool,
    scratch: Option<Temporary>,
}

/// Finds out what is meant.
pub(super) fn find(args: &SimulateArgs, context: &Context<'_>) -> Result<Subject, CliError> {
    let global = &context.global;
    let lone = lone_folder(args, global)?;
    let session = match args.offline || lone.is_some() {
        true => None,
        false => Session::open_if_any(global)?,
    };
    let namespace = match &session {
        Some(session) => session.namespace.clone(),
        None => global.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned()),
    };
    let found = match lone {
        Some(folder) => of_folder(&folder, global, &namespace)?,
        None => of_repository(args, global, &namespace)?,
    };
    let Found { mut source, commit, not_committed, folder, scratch } = found;
    let view = source.view_at(&commit.0)?;
    if view.wishes.is_empty() {
        return Err(CliError::new(Kind::NotFound, "there is no StatefulSet to play")
            .hint("name the folder that holds the manifests with --path"));
    }
    if let Some(diagnostic) = unusable(&view) {
        return Err(CliError::new(Kind::Usage, diagnostic).hint("`phaseline lint` says all that is wrong"));
    }
    let mut assumptions = Vec::new();
    let restart = args.restart || folder;
    let mut kubernetes = args.kubernetes.unwrap_or_default();
    let before = match session {
        Some(session) => {
            if args.kubernetes.is_none() {
                kubernetes = match session.wait(read::server_version(&session.cluster)) {
                    // Who may not ask gets the usual one.
                    Err(RequestError::Forbidden { .. }) => kubernetes,
                    version => Kubernetes::of(&version?),
                };
            }
            assumptions.push(format!("begins with what the cluster at {} shows", session.cluster.server));
            Before::Cluster(Box::new(live::read(&session, &view)?))
        }
        None if restart => {
            assumptions.push(match folder {
                true => "the files as they are, installed and Healthy; then every pod is restarted".to_owned(),
                false => format!("commit {} is in force; then every pod is restarted", view.commit.id.short()),
            });
            Before::Commit(Box::new(view.clone()))
        }
        None => match earlier(&mut source, &view)? {
            Some(before) => {
                let (id, subject) = (before.commit.id.short(), &before.commit.subject);
                assumptions.push(format!("begins with commit {id} ({subject}), installed and Healthy"));
                Before::Commit(Box::new(before))
            }
            None => {
                assumptions.push("nothing is in force: every set is new".to_owned());
                Before::Nothing
            }
        },
    };
    Ok(Subject {
        source: Some(source),
        view,
        kubernetes,
        not_committed,
        before,
        restart,
        assumptions,
        _scratch: scratch,
    })
}

/// Why a commit cannot be played; none where every set of it can be used.
fn unusable(view: &View) -> Option<String> {
    let broken = view.wishes.values().filter_map(|wish| wish.problem.as_ref()).flat_map(|problem| &problem.diagnostics);
    broken.chain(&view.diagnostics).find(|diagnostic| diagnostic.is_error()).map(ToString::to_string)
}

/// The folder of --repo, where it is neither a repository nor a work tree's top and no commit is named.
fn lone_folder(args: &SimulateArgs, global: &GlobalArgs) -> Result<Option<PathBuf>, CliError> {
    let Some(folder) = local_folder(global)? else { return Ok(None) };
    let named = args.rev.is_some() || args.worktree || global.branch.is_some();
    let alone = folder.is_dir() && Mirror::in_place(Place::At(&folder), "").is_err();
    Ok(Some(folder).filter(|_| alone && !named))
}

/// --repo, where it is a path.
fn local_folder(global: &GlobalArgs) -> Result<Option<PathBuf>, CliError> {
    let Some(repo) = global.repo.as_ref().filter(|repo| !repo.is_empty()) else { return Ok(None) };
    Ok(SourceConfig { url: repo.reveal().to_owned(), ..SourceConfig::default() }.local()?)
}

/// Files that belong to no repository, or to a part of one.
fn of_folder(folder: &Path, global: &GlobalArgs, namespace: &str) -> Result<Found, CliError> {
    let failed = |error| CliError::new(Kind::Io, format!("cannot make a temporary folder: {error}"));
    let scratch = Temporary::new().map_err(failed)?;
    let path = global.path.as_deref().unwrap_or_default();
    let mirror = Mirror::of_folder(folder, path, scratch.path())?;
    let commit = mirror.work_tree_commit()?;
    let source = Source::on(mirror, scope(namespace));
    Ok(Found { source, commit, not_committed: true, folder: true, scratch: Some(scratch) })
}

/// A commit of a repository, or its work tree.
fn of_repository(args: &SimulateArgs, global: &GlobalArgs, namespace: &str) -> Result<Found, CliError> {
    let (mirror, fetched) = open(global)?;
    if let Some(mirror) = mirror {
        let commit = match &args.rev {
            _ if args.worktree => mirror.work_tree_commit()?,
            Some(rev) => mirror.resolve(rev)?,
            None => mirror.resolve(global.branch.as_deref().unwrap_or("HEAD"))?,
        };
        let source = Source::on(mirror, scope(namespace));
        return Ok(Found { source, commit, not_committed: args.worktree, folder: false, scratch: None });
    }
    if args.worktree {
        return Err(CliError::new(Kind::Usage, format!("{fetched} has no work tree here")));
    }
    let mut source = repository::open(global, namespace)?;
    source.refresh()?;
    let commit = match &args.rev {
        Some(rev) => source.mirror().resolve(rev)?,
        None => source.mirror().last_good().ok_or(GitError::NoTip)?,
    };
    Ok(Found { source, commit, not_committed: false, folder: false, scratch: None })
}

/// A repository on this machine; else the address of one that has to be fetched.
fn open(global: &GlobalArgs) -> Result<(Option<Mirror>, Address), CliError> {
    let Some(repo) = global.repo.clone().filter(|repo| !repo.is_empty()) else {
        return Ok((Some(local::open(global)?), Address::default()));
    };
    let Some(folder) = local_folder(global)? else { return Ok((None, repo)) };
    let path = global.path.as_deref().unwrap_or_default();
    match Mirror::in_place(Place::At(&folder), path) {
        Ok(mirror) => Ok((Some(mirror), repo)),
        // A folder in a work tree: its part of that history.
        Err(error @ GitError::NotARepository { .. }) => {
            let around = Mirror::in_place(Place::Around(&folder), "").ok();
            let root = around.as_ref().and_then(|mirror| mirror.work_tree()?.canonicalize().ok());
            let inside = root.and_then(|root| Some(folder.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned()));
            match inside.as_deref().and_then(Path::to_str) {
                Some(inside) => {
                    let path = [inside, path].map(|part| part.trim_matches('/')).join("/");
                    Ok((Some(Mirror::in_place(Place::Around(&folder), path.trim_matches('/'))?), repo))
                }
                None => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// What the newest earlier commit says that has another template of any set, or none of it; none where all of history
/// says the same.
fn earlier(source: &mut Source, view: &View) -> Result<Option<View>, CliError> {
    let says = |view: &View| -> BTreeMap<WorkloadId, (TemplateHash, String)> {
        let wishes = view.wishes.iter();
        let tips = wishes.filter_map(|(workload, wish)| Some((workload.clone(), &wish.desired.as_ref()?.tip)));
        tips.map(|(workload, tip)| (workload, (tip.hash.clone(), tip.rest.clone()))).collect()
    };
    let now = says(view);
    let mut at = source.mirror().parent(&view.commit.id)?;
    for _ in 0..MOST_BACK {
        let Some(commit) = at else { break };
        let before = match source.view_at(&commit.0) {
            Ok(before) => before,
            // The folder came later.
            Err(GitError::PathMissing { .. }) => break,
            Err(error) => return Err(error.into()),
        };
        if before.wishes.is_empty() {
            break;
        }
        if says(&before) != now {
            return Ok(Some(before));
        }
        at = source.mirror().parent(&commit)?;
    }
    Ok(None)
}

fn scope(default_namespace: &str) -> Scope {
    Scope { default_namespace: default_namespace.to_owned(), only: Vec::new() }
}
