//! One hook in a repository's folder of hooks: whose it is, and how it is written and removed.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Hook;
use crate::cli::error::{CliError, Kind};

/// How a hook file is protected: everybody who may push runs it.
const MODE: u32 = 0o755;
/// Largest file that is looked into to see whose it is, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Whose hook there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// There is none.
    None,
    /// This very one, and git can run it.
    Current,
    /// An older or an edited one of ours.
    Ours,
    /// Somebody else's.
    Foreign,
}

/// One hook's place.
#[derive(Debug)]
pub(super) struct HookFile {
    path: PathBuf,
    hook: Hook,
}

impl HookFile {
    /// The place of a hook in a folder.
    pub(super) fn new(folder: &Path, hook: Hook) -> Self {
        Self { path: folder.join(hook.name()), hook }
    }

    /// Its path, for people.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Whose hook is there.
    pub(super) fn found(&self) -> Result<Found, CliError> {
        let metadata = match fs::symlink_metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::None),
            Err(error) => return Err(failed("read", &self.path, &error)),
        };
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return Ok(Found::Foreign);
        }
        let content = fs::read(&self.path).map_err(|error| failed("read", &self.path, &error))?;
        Ok(if content == self.hook.script().as_bytes() && metadata.permissions().mode() & 0o111 == 0o111 {
            Found::Current
        } else if is_ours(&content, self.hook.name()) {
            Found::Ours
        } else {
            Found::Foreign
        })
    }

    /// Refuses where the hook that is there could not be kept without losing another one.
    pub(super) fn check_room(&self, chain: bool) -> Result<(), CliError> {
        let aside = self.aside(chain);
        match fs::symlink_metadata(&aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("read", &aside, &error)),
            Ok(_) => {
                let message = format!("{} cannot be moved to {}, which is there", self.shown(), aside.display());
                Err(CliError::new(Kind::Refused, message).hint("look at both, and remove the one that is not needed"))
            }
        }
    }

    /// Writes the hook; what was done, in a word.
    pub(super) fn install(&self, chain: bool) -> Result<&'static str, CliError> {
        let done = match self.found()? {
            Found::Current => return Ok("unchanged"),
            Found::None => "installed",
            Found::Ours => "updated",
            Found::Foreign => {
                let aside = self.aside(chain);
                fs::rename(&self.path, &aside).map_err(|error| failed("move", &self.path, &error))?;
                if chain { "installed; the one before runs first" } else { "installed; the one before was moved" }
            }
        };
        self.write()?;
        Ok(done)
    }

    /// Removes the hook where it is ours, and puts back the one before; what was done, in a word.
    pub(super) fn uninstall(&self) -> Result<Option<&'static str>, CliError> {
        match self.found()? {
            Found::None | Found::Foreign => return Ok(None),
            Found::Current | Found::Ours => {}
        }
        for before in [self.aside(true), self.aside(false)] {
            match fs::rename(&before, &self.path) {
                Ok(()) => return Ok(Some("removed; the one before is back")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("move", &before, &error)),
            }
        }
        fs::remove_file(&self.path).map_err(|error| failed("remove", &self.path, &error))?;
        Ok(Some("removed"))
    }

    /// In one step: a push that comes in meanwhile runs the old one or the new one.
    fn write(&self) -> Result<(), CliError> {
        let wrong = |error: &io::Error| failed("write", &self.path, error);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(|error| wrong(&error))?;
        }
        let new = self.beside(&format!("{}.new", std::process::id()));
        let written = fs::File::create(&new).and_then(|mut file| {
            file.write_all(self.hook.script().as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(MODE))?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| fs::rename(&new, &self.path));
        renamed.map_err(|error| {
            // The first error is the one to tell; of this file nothing is left to say.
            _ = fs::remove_file(&new);
            wrong(&error)
        })
    }

    /// Where a hook that is not ours goes.
    fn aside(&self, chain: bool) -> PathBuf {
        self.beside(if chain { "chained" } else { "before-phaseline" })
    }

    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        PathBuf::from(name)
    }
}

/// Whether a script is a hook of the product, of whatever version.
pub(super) fn is_ours(content: &[u8], name: &str) -> bool {
    let second = content.split(|byte| *byte == b'\n').nth(1).unwrap_or_default();
    second.starts_with(format!("# phaseline hook: {name}.").as_bytes())
}

fn failed(what: &str, path: &Path, error: &io::Error) -> CliError {
    CliError::new(Kind::Io, format!("cannot {what} {}: {error}", path.display()))
}
