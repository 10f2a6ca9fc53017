//! Finds out what is to be checked, a path or a revision, and reads it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::against::{self, Before};
use super::{LintArgs, Looked, folder, namespace, no_repository};
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::repository;
use crate::daemon::{Contents, Scope, Source, plans_left_out};
use crate::git::{GitError, Place};
use crate::manifest::{self, Checks, Document};
use crate::model::CommitId;

/// What is checked.
pub(super) enum Subject {
    /// A folder or file on disk.
    Path(PathBuf),
    /// A commit, compared with another where one is named.
    Commit { source: Box<Source>, commit: CommitId, against: Option<CommitId> },
    /// What is staged.
    Staged { source: Box<Source> },
}

impl Subject {
    pub(super) fn of(args: &LintArgs, context: &mut Context<'_>) -> Result<Self, CliError> {
        if args.staged {
            let source = repository_on_disk(context).map_err(|error| no_repository(&error, "--staged"))?;
            return Ok(Self::Staged { source: Box::new(source) });
        }
        if let Some(rev) = &args.rev {
            return Self::revision(rev, context);
        }
        let path = Path::new(&args.subject);
        if path.symlink_metadata().is_err() {
            return Self::revision(&args.subject, context).map_err(|error| match error.kind {
                Kind::Git => CliError::new(
                    Kind::NotFound,
                    format!("{} is no file or folder, and no revision either: {}", args.subject, error.message),
                )
                .hint("name a folder, a file, a branch, a tag, HEAD~1 or at least four digits of an id"),
                _ => error,
            });
        }
        let is_revision = !args.subject.starts_with('.')
            && repository_on_disk(context).is_ok_and(|source| source.mirror().resolve(&args.subject).is_ok());
        if is_revision {
            let name = &args.subject;
            context
                .note(&format!("{name} is a path and a revision: the path is checked; for the other, --rev {name}"))?;
        }
        Ok(Self::Path(path.to_owned()))
    }

    /// `REV`, or `A..B`.
    fn revision(rev: &str, context: &Context<'_>) -> Result<Self, CliError> {
        let source = any_repository(context)?;
        let (commit, against) = match rev.split_once("..") {
            Some((from, to)) => {
                let against = source.mirror().resolve(from)?;
                (source.mirror().resolve(to.trim_start_matches('.'))?, Some(against))
            }
            None => (source.mirror().resolve(rev)?, None),
        };
        Ok(Self::Commit { source: Box::new(source), commit, against })
    }

    pub(super) fn look(self, args: &LintArgs, context: &mut Context<'_>) -> Result<Looked, CliError> {
        match self {
            Self::Commit { mut source, commit, against } => {
                let contents = source.contents(&commit, args.checks())?;
                let before = match (&args.base, against) {
                    (Some(rev), _) => base(&source, rev)?,
                    (None, Some(against)) => Some(against),
                    (None, None) => source.mirror().parent(&commit)?,
                };
                compared(&mut source, contents, before, args)
            }
            Self::Staged { mut source } => {
                let contents = source.staged_contents(args.checks())?;
                let before = match &args.base {
                    Some(rev) => base(&source, rev)?,
                    None => source.mirror().last_good(),
                };
                compared(&mut source, contents, before, args)
            }
            Self::Path(path) => on_disk(&path, args, context),
        }
    }
}

/// The commit to compare with; none where Git says so by an id of zeros, as it does of branches that are new.
fn base(source: &Source, rev: &str) -> Result<Option<CommitId>, GitError> {
    let nothing = rev.len() >= 40 && rev.bytes().all(|byte| byte == b'0');
    if nothing { Ok(None) } else { source.mirror().resolve(rev).map(Some) }
}

/// Looks at what a repository holds, beside what it held before.
fn compared(
    source: &mut Source,
    contents: Contents,
    before: Option<CommitId>,
    args: &LintArgs,
) -> Result<Looked, CliError> {
    let mut findings = super::of(&contents.bound);
    findings.extend(contents.skipped);
    if let Some(commit) = before {
        let before = match source.contents(&commit, Checks::Past) {
            Ok(contents) => Before::of(contents, &commit, "", ""),
            // The folder is new.
            Err(GitError::PathMissing { .. }) => Before::nothing(&commit),
            Err(error) => return Err(error.into()),
        };
        let documents: BTreeMap<&str, &[Document]> =
            contents.files.iter().map(|(path, parsed)| (path.as_str(), parsed.documents.as_slice())).collect();
        findings.extend(against::compare(&before, &contents.bound, &documents, args.kubernetes.level()));
    }
    let (files, workloads) = (contents.files.len(), contents.bound.workloads.len());
    let unstaged = super::unstaged(&contents.bound);
    Ok(Looked { findings, files, workloads, unstaged, prefix: String::new() })
}

/// Looks at a folder or file on disk, beside what the repository around it has committed.
fn on_disk(path: &Path, args: &LintArgs, context: &mut Context<'_>) -> Result<Looked, CliError> {
    let folder::Reading { files, mut findings } = folder::read(path)?;
    let parsed: Vec<_> = files.iter().map(|(path, bytes)| (path.as_str(), manifest::parse(path, bytes))).collect();
    let read = parsed.iter().map(|(path, (documents, findings))| (*path, documents.as_slice(), findings.as_slice()));
    let bound = manifest::bind_for(read.chain(plans_left_out(&findings)), &namespace(context), args.checks());
    let found = super::of(&bound);
    findings.extend(found);
    let mut looked = Looked {
        findings,
        files: files.len(),
        workloads: bound.workloads.len(),
        unstaged: super::unstaged(&bound),
        prefix: String::new(),
    };
    let scope = Scope { default_namespace: namespace(context), only: Vec::new() };
    let around =
        if path.is_dir() { path } else { path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new(".")) };
    let mut source = match Source::in_place(Place::Around(around), "", scope) {
        Ok(source) => source,
        // Nothing to compare with: a folder need not be in a repository.
        Err(GitError::NotARepository { .. }) if args.base.is_none() => {
            looked.prefix = shown_prefix(path);
            return Ok(looked);
        }
        Err(error) if args.base.is_some() => return Err(no_repository(&error, "--base")),
        Err(error) => {
            context.note(&format!("nothing is compared with HEAD: {}", CliError::from(error).message))?;
            looked.prefix = shown_prefix(path);
            return Ok(looked);
        }
    };
    let Some(inside) = inside(source.mirror().work_tree(), path) else {
        looked.prefix = shown_prefix(path);
        return Ok(looked);
    };
    let before = match &args.base {
        Some(rev) => Some(source.mirror().resolve(rev)?),
        None => source.mirror().last_good(),
    };
    if let Some(commit) = before {
        let given = if path.is_dir() { String::new() } else { path.to_string_lossy().into_owned() };
        let before = match source.contents(&commit, Checks::Past) {
            Ok(contents) => Before::of(contents, &commit, &inside, &given),
            Err(error) if args.base.is_none() => {
                context.note(&format!("nothing is compared with HEAD: {}", CliError::from(error).message))?;
                Before::nothing(&commit)
            }
            Err(error) => return Err(error.into()),
        };
        let documents: BTreeMap<&str, &[Document]> =
            parsed.iter().map(|(path, (documents, _))| (*path, documents.as_slice())).collect();
        looked.findings.extend(against::compare(&before, &bound, &documents, args.kubernetes.level()));
    }
    // A single file is named as it was given; a folder's files by their place in it.
    looked.prefix = if path.is_dir() { inside } else { String::new() };
    Ok(looked)
}

/// Where a path is inside the work tree, `/` between its parts; empty is all of it, none is outside.
fn inside(work_tree: Option<&Path>, path: &Path) -> Option<String> {
    let (tree, path) = (work_tree?.canonicalize().ok()?, path.canonicalize().ok()?);
    let below = path.strip_prefix(&tree).ok()?;
    Some(below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"))
}

/// The folder as it was given, where it is in no repository.
fn shown_prefix(path: &Path) -> String {
    let text = path.to_string_lossy();
    if path.is_dir() && text != "." { text.trim_end_matches('/').to_owned() } else { String::new() }
}

/// The repository for a revision: the one that is named, wherever it is, else the one around the current folder.
fn any_repository(context: &Context<'_>) -> Result<Source, CliError> {
    let global = &context.global;
    if global.repo.as_ref().is_some_and(|repo| !repo.is_empty()) && repository::config(global)?.local()?.is_none() {
        let mut source = repository::open(global, &namespace(context))?;
        source.refresh()?;
        return Ok(source);
    }
    Ok(repository_on_disk(context)?)
}

/// The repository on disk: --repo, else the one that a hook is run for, else the one around the current folder.
fn repository_on_disk(context: &Context<'_>) -> Result<Source, GitError> {
    let global = &context.global;
    let scope = Scope { default_namespace: namespace(context), only: Vec::new() };
    let path = global.path.as_deref().unwrap_or_default();
    match global.repo.as_ref().filter(|repo| !repo.is_empty()) {
        Some(repo) => {
            let folder = repo.reveal().strip_prefix("file://").unwrap_or(repo.reveal());
            Source::in_place(Place::At(Path::new(folder)), path, scope)
        }
        None => Source::in_place(Place::Here, path, scope),
    }
}
