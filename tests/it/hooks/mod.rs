//! The Git hooks: each run by a real `git commit` or `git push`.

mod install;
mod stub;
mod wake;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::repo::Repo;

/// A work tree with its bare origin, and a home of its own.
struct Site {
    repo: Repo,
}

impl Site {
    /// Nothing is installed yet.
    fn new() -> Self {
        Self { repo: Repo::new() }
    }

    /// Runs `phaseline hooks ...`.
    fn hooks<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        command.arg("hooks").args(args).current_dir(self.repo.folder()).stdin(Stdio::null());
        command.env_clear().env("HOME", self.repo.folder().join("home")).env("PATH", path_without_phaseline());
        command.output().unwrap()
    }

    /// The same, which has to succeed; what it printed.
    #[track_caller]
    fn hooks_ok<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let output = self.hooks(args);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Pushes; whatever comes of it.
    fn push(&self, args: &[&str]) -> Output {
        self.repo.run(&self.repo.work_path(), &[&["push", "origin"], args].concat())
    }

    /// A commit that may be refused.
    fn try_commit(&self, args: &[&str]) -> Output {
        self.repo.run(&self.repo.work_path(), &[&["commit", "-m", "try"], args].concat())
    }

    /// Settings of the bare repository.
    fn server(&self, args: &[&str]) -> String {
        self.repo.git_in(&self.repo.origin_path(), &[&["config"], args].concat())
    }

    /// What the origin has under a name; none where it has nothing.
    fn at_origin(&self, name: &str) -> Option<String> {
        let output = self.repo.run(&self.repo.origin_path(), &["rev-parse", "-q", "--verify", name]);
        output.status.success().then(|| out(&output).trim().to_owned())
    }

    /// Writes a program.
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.repo.folder().join(name);
        executable(&path, text);
        path
    }
}

/// A script that can be run.
fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The machine's programs, without a `phaseline` that somebody may have installed.
fn path_without_phaseline() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("phaseline").exists());
    std::env::join_paths(folders).unwrap()
}
