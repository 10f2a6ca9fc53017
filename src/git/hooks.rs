//! Finds the folder that a repository runs its hooks from, and keeps the settings that they read.

use std::path::{Path, PathBuf};

use git2::{ConfigLevel, ErrorCode, Repository};

use super::error::{Cause, GitError};

/// A repository as somebody sees it who puts hooks into it.
pub struct HookedRepository {
    repo: Repository,
}

/// Where a repository's hooks lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksFolder {
    /// The folder; it need not be there.
    pub path: PathBuf,
    /// `core.hooksPath` names it, and it does so for more than this one repository.
    pub shared: bool,
}

impl HookedRepository {
    /// Opens the repository that a folder is or lies in.
    ///
    /// # Errors
    /// [`GitError::NotARepository`], [`GitError::NotOwner`].
    pub fn find(path: &Path) -> Result<Self, GitError> {
        let url = super::error::clean(&path.to_string_lossy(), 200);
        match Repository::discover(path) {
            Ok(repo) => Ok(Self { repo }),
            Err(error) if error.code() == ErrorCode::Owner => {
                Err(GitError::NotOwner { url, cause: Cause::from(&error) })
            }
            Err(error) => Err(GitError::NotARepository { url, cause: Cause::from(&error) }),
        }
    }

    /// Whether it has no work tree: pushes come in here, commits are made elsewhere.
    pub fn is_bare(&self) -> bool {
        self.repo.is_bare()
    }

    /// The folder that git runs hooks from: `core.hooksPath`, else `hooks` in what all its work trees share.
    ///
    /// # Errors
    /// [`GitError::Settings`] where its settings cannot be read.
    pub fn hooks(&self) -> Result<HooksFolder, GitError> {
        let config = self.repo.config().and_then(|mut config| config.snapshot()).map_err(|it| self.unusable(&it))?;
        let level = match config.get_entry("core.hookspath") {
            Ok(entry) => entry.level(),
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Ok(HooksFolder { path: self.repo.commondir().join("hooks"), shared: false });
            }
            Err(error) => return Err(self.unusable(&error)),
        };
        let path = config.get_path("core.hookspath").map_err(|error| self.unusable(&error))?;
        // Where it is relative, git takes it from where hooks run.
        let path = self.repo.workdir().unwrap_or(self.repo.path()).join(path);
        let own = matches!(level, ConfigLevel::Local | ConfigLevel::Worktree | ConfigLevel::App);
        Ok(HooksFolder { path, shared: !own })
    }

    /// One of the repository's own settings; none where it is not set there.
    ///
    /// # Errors
    /// [`GitError::Settings`] where its settings cannot be read.
    pub fn setting(&self, name: &str) -> Result<Option<String>, GitError> {
        let config = self.local()?;
        match config.get_string(name) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(self.unusable(&error)),
        }
    }

    /// Writes one of the repository's own settings, or takes it out.
    ///
    /// # Errors
    /// [`GitError::Settings`] where its settings cannot be written.
    pub fn set(&self, name: &str, value: Option<&str>) -> Result<(), GitError> {
        let mut config = self.local()?;
        let done = match value {
            Some(value) => config.set_str(name, value),
            None => config.remove(name),
        };
        done.map_err(|error| self.unusable(&error))
    }

    fn local(&self) -> Result<git2::Config, GitError> {
        let config = self.repo.config().and_then(|config| config.open_level(ConfigLevel::Local));
        config.map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &git2::Error) -> GitError {
        GitError::Settings { path: self.repo.path().to_owned(), cause: Cause::from(error) }
    }
}

impl std::fmt::Debug for HookedRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookedRepository").field("path", &self.repo.path()).finish()
    }
}
