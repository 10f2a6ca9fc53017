//! The files that a command is given: named ones, those of a folder, those of a commit, standard input.

use std::io::{self, Read};
use std::path::Path;

use super::commands::lint::folder;
use super::context::Context;
use super::error::{CliError, Kind};
use super::local;
use crate::git::Mirror;
use crate::manifest::MAX_FILE_BYTES;
use crate::model::Diagnostic;

/// Files with their contents, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Path and content, in the order in which they were named.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// What was left out, and why.
    pub(crate) findings: Vec<Diagnostic>,
}

/// What stands for standard input.
pub(crate) const STDIN: &str = "-";

/// Reads files, folders and standard input.
pub(crate) fn of_paths(paths: &[String]) -> Result<Inputs, CliError> {
    let mut inputs = Inputs::default();
    for path in paths {
        inputs.path(path)?;
    }
    Ok(inputs)
}

/// Reads files, folders, standard input and commits; a name that is a file and a commit is the file, and that is said.
pub(crate) fn of_paths_and_commits(names: &[String], context: &mut Context<'_>) -> Result<Inputs, CliError> {
    let mut inputs = Inputs::default();
    let mut opened: Option<Result<Mirror, CliError>> = None;
    for name in names {
        let on_disk = name == STDIN || Path::new(name).symlink_metadata().is_ok();
        let repository = opened.get_or_insert_with(|| local::open(&context.global));
        // A path that leads somewhere is no branch: only plain words may be both.
        let plain = name != STDIN && name != "." && !name.starts_with(['/', '.']);
        let commit = match repository {
            Ok(mirror) if !on_disk || plain => local::find(mirror, name)?,
            Ok(_) | Err(_) => None,
        };
        match (on_disk, commit, repository) {
            (false, Some(commit), Ok(mirror)) => inputs.commit(mirror, &commit)?,
            (true, commit, _) => {
                if commit.is_some() {
                    context.note(&format!(
                        "note: {name} is on disk, and a commit goes by that name too: what is on disk is read \
                         (write refs/heads/{name} or {name}~0 for the commit)"
                    ))?;
                }
                inputs.path(name)?;
            }
            // A repository was named, and cannot be read.
            (false, _, Err(error)) if context.global.repo.is_some() => return Err(error.clone()),
            (false, ..) => {
                return Err(CliError::new(Kind::NotFound, format!("{name:?} is no file, no folder and no commit"))
                    .hint("give a path, or a branch, a tag, HEAD~2 or at least four digits of a commit's id"));
            }
        }
    }
    Ok(inputs)
}

impl Inputs {
    fn path(&mut self, path: &str) -> Result<(), CliError> {
        if path == STDIN {
            return self.stdin();
        }
        let reading = folder::read(Path::new(path))?;
        let prefix = path.trim_end_matches('/');
        let inside = Path::new(path).is_dir() && prefix != ".";
        let full = |file: String| if inside { format!("{prefix}/{file}") } else { file };
        self.files.extend(reading.files.into_iter().map(|(file, bytes)| (full(file), bytes)));
        self.findings
            .extend(reading.findings.into_iter().map(|found| Diagnostic { file: full(found.file.clone()), ..found }));
        Ok(())
    }

    fn stdin(&mut self) -> Result<(), CliError> {
        let mut bytes = Vec::new();
        // A byte more than is read of a file: enough to be told that it is too large.
        io::stdin()
            .lock()
            .take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| CliError::new(Kind::Io, format!("cannot read standard input: {error}")))?;
        self.files.push(("-".to_owned(), bytes));
        Ok(())
    }

    fn commit(&mut self, mirror: &Mirror, commit: &crate::model::CommitId) -> Result<(), CliError> {
        let listing = mirror.files(commit)?;
        for file in listing.files {
            self.files.push((file.path, mirror.read(&file.blob)?));
        }
        self.findings.extend(listing.skipped);
        Ok(())
    }
}
