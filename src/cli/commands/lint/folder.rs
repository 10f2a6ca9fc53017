//! Reads the manifests of a folder on disk by the rules that hold for a commit's tree.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::error::{CliError, Kind};
use crate::git::{MAX_BLOB_BYTES, MAX_DEPTH, MAX_FILES};
use crate::model::Diagnostic;

/// Files by path, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) findings: Vec<Diagnostic>,
}

/// Reads a folder, or one file.
pub(crate) fn read(path: &Path) -> Result<Reading, CliError> {
    let mut reading = Reading::default();
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        reading.folder(path, "", 0)?;
    } else {
        reading.file(path, &shown(path))?;
    }
    Ok(reading)
}

impl Reading {
    fn folder(&mut self, folder: &Path, shown_path: &str, depth: usize) -> Result<(), CliError> {
        let mut entries = fs::read_dir(folder)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(|error| unreadable(folder, &error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let kustomization = entries
            .iter()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .find(|name| matches!(name.as_str(), "kustomization.yaml" | "kustomization.yml" | "Kustomization"));
        if let Some(name) = kustomization {
            let folder = if shown_path.is_empty() { "the folder".into() } else { format!("folder {shown_path}") };
            let message = format!("{folder} is a kustomization; none of its files is read");
            let hint = "render it in CI: kubectl kustomize, and commit the result to the branch that is deployed";
            self.findings.push(Diagnostic::error(join(shown_path, &name), 0, message).hint(hint));
            return Ok(());
        }
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let (path, full) = (entry.path(), join(shown_path, &name));
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            if kind.is_symlink() {
                if is_manifest(&name) || path.is_dir() {
                    let message = "a symbolic link; links are not followed";
                    let hint = "commit the file itself in its place";
                    self.findings.push(Diagnostic::warning(full, 0, message).hint(hint));
                }
            } else if kind.is_dir() && name == ".git" {
                // No commit holds it.
            } else if kind.is_dir() && depth < MAX_DEPTH {
                self.folder(&path, &full, depth + 1)?;
            } else if kind.is_dir() {
                let message = format!("deeper than {MAX_DEPTH} folders; it is not read");
                self.findings.push(Diagnostic::error(full, 0, message));
            } else if is_manifest(&name) {
                self.file(&path, &full)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, shown_path: &str) -> Result<(), CliError> {
        let size = fs::metadata(path).map_err(|error| unreadable(path, &error))?.len();
        if size > MAX_BLOB_BYTES as u64 {
            let message = format!("{size} bytes; files of more than {MAX_BLOB_BYTES} are not read");
            self.findings.push(Diagnostic::error(shown_path, 0, message));
            return Ok(());
        }
        if self.files.len() >= MAX_FILES {
            return Err(CliError::new(Kind::Io, format!("there are more than {MAX_FILES} manifest files"))
                .hint("name a smaller folder"));
        }
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        self.files.push((shown_path.to_owned(), bytes));
        Ok(())
    }
}

fn unreadable(path: &Path, error: &io::Error) -> CliError {
    CliError::new(Kind::Io, format!("cannot read {}: {error}", path.display()))
}

/// Whether a file of this name is read as manifests.
fn is_manifest(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".yaml", ".yml", ".json"].iter().any(|extension| name.ends_with(extension))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_as_a_commit_would_be() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "a: 1").unwrap();
        };
        for path in ["a.yaml", "b/c.YML", "b/d.json", "b/e.txt", ".git/x.yaml", "k/kustomization.yaml", "k/patch.yaml"]
        {
            put(path);
        }
        let reading = read(root.path()).unwrap();
        let paths: Vec<&str> = reading.files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["a.yaml", "b/c.YML", "b/d.json"]);
        assert_eq!(reading.findings.len(), 1);
        assert!(reading.findings[0].message.contains("folder k is a kustomization"));
        assert_eq!(read(&root.path().join("nothing")).unwrap_err().code, 2);
    }
}
