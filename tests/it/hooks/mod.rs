//! The Git hooks: each run by a real `git commit` or `git push`.

mod ci;
mod commit;
mod install;
mod receive;
mod stub;
mod wake;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
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

/// A set that is right, of three replicas.
const GOOD: &str = include_str!("../../../examples/web/web.yaml");

/// What is wrong with [`broken`], and where.
const WRONG: &str = "8:13: error: `spec.replicas`";

/// The same set with text in the place of a number.
fn broken() -> String {
    GOOD.replace("replicas: 3", "replicas: three")
}

/// The same set under another name, in any file.
fn named(name: &str, text: &str) -> String {
    text.replacen("name: web", &format!("name: {name}"), 1)
}

/// Names of files that a careless script stumbles over.
fn hostile_names() -> Vec<OsString> {
    let mut names: Vec<OsString> = [
        "a b.yaml",
        "a\nb.yaml",
        "a\tb\rc.yaml",
        "it's \"quoted\" `so`.yaml",
        "-rf.yaml",
        "--.yaml",
        "$(touch x).yaml",
        "${IFS}touch${IFS}x;touch x|&.yaml",
        "*?[a].yaml",
        "%s%n\\n.yaml",
        "\u{1b}[31mred\u{7}.yaml",
        "\u{202e}lmay.yaml",
        "\u{9b}2J.yaml",
        "日本 – né.yaml",
        "main..main.yaml",
    ]
    .map(OsString::from)
    .into();
    names.push(OsString::from("long".repeat(60) + ".yaml"));
    names.push(OsString::from_vec(b"not \xff\xfe utf8.yaml".to_vec()));
    names
}

/// Nothing of what a hook prints steers a terminal.
#[track_caller]
fn assert_plain(said: &str) {
    let steers = |letter: &char| letter.is_control() && *letter != '\n' || ('\u{202a}'..='\u{202e}').contains(letter);
    // Git writes an escape of its own at the end of a line that it passes on.
    let said = said.replace("\u{1b}[K", "");
    let found = said.chars().find(steers);
    assert!(found.is_none(), "{found:?} in {said:?}");
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
fn path_without_phaseline() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("phaseline").exists());
    std::env::join_paths(folders).unwrap()
}
