//! A command's way to a repository on this machine, read where it lies.

use super::args::GlobalArgs;
use super::error::{CliError, Kind};
use crate::git::{GitError, Mirror, Place, SourceConfig};
use crate::model::CommitId;

/// The repository of --repo, else the one around the current folder (or of the hook that runs); nothing is fetched.
pub(crate) fn open(global: &GlobalArgs) -> Result<Mirror, CliError> {
    let path = global.path.as_deref().unwrap_or_default();
    let Some(repo) = global.repo.as_ref().filter(|repo| !repo.is_empty()) else {
        return Ok(Mirror::in_place(Place::Here, path)?);
    };
    let config = SourceConfig { url: repo.reveal().to_owned(), ..SourceConfig::default() };
    match config.local()? {
        Some(folder) => Ok(Mirror::in_place(Place::At(&folder), path)?),
        None => {
            let message = format!("{repo} is no repository on this machine");
            Err(CliError::new(Kind::Usage, message)
                .hint("clone it, and name the clone with --repo, or run the command inside of it"))
        }
    }
}

/// Lets the clone that one stands in count for more than the environment, which names what it is a clone of: `HEAD` and
/// the files on disk are then its own.
pub(crate) fn prefer_clone(global: &mut GlobalArgs) {
    let Some(repo) = global.repo.clone().filter(|repo| global.repo_of_environment && !repo.is_empty()) else { return };
    let config = SourceConfig { url: repo.reveal().to_owned(), ..SourceConfig::default() };
    if Mirror::in_place(Place::Here, "").is_ok_and(|mirror| mirror.work_tree().is_some() && mirror.is_clone_of(&config))
    {
        (global.repo, global.repo_of_environment) = (None, false);
    }
}

/// The commit that is meant; none where nothing goes by that name.
pub(crate) fn find(mirror: &Mirror, rev: &str) -> Result<Option<CommitId>, CliError> {
    match mirror.resolve(rev) {
        Ok(commit) => Ok(Some(commit)),
        Err(GitError::UnknownRevision { .. } | GitError::NoTip) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
