//! A work tree with a bare `origin`, driven by the real `git`, cut off from the user's settings and from the clock.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// When the first commit is made, in seconds since 1970; each further one is a minute later.
pub(crate) const FIRST_COMMIT: i64 = 1_700_000_000;

/// A work tree on branch `main` and its bare origin, both gone when dropped.
pub(crate) struct Repo {
    folder: TempDir,
    clock: Cell<i64>,
}

impl Repo {
    /// An empty work tree and an empty bare `origin`.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let repo = Self { folder, clock: Cell::new(FIRST_COMMIT) };
        fs::create_dir(repo.folder.path().join("home")).unwrap();
        repo.bare("origin.git");
        repo.git_in(repo.folder.path(), &["init", "-q", "-b", "main", "work"]);
        repo.git(&["remote", "add", "origin", &repo.origin_url()]);
        repo
    }

    /// A further empty bare repository beside the work tree.
    pub(crate) fn bare(&self, name: &str) -> PathBuf {
        self.git_in(self.folder.path(), &["init", "-q", "--bare", "-b", "main", name]);
        self.folder.path().join(name)
    }

    /// The folder that everything is in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The work tree.
    pub(crate) fn work_path(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The bare repository that is pushed to.
    pub(crate) fn origin_path(&self) -> PathBuf {
        self.folder.path().join("origin.git")
    }

    /// The bare repository as an address.
    pub(crate) fn origin_url(&self) -> String {
        self.origin_path().to_str().unwrap().to_owned()
    }

    /// A folder for mirrors.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Writes a file of the work tree, folders included.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.work_path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Removes a file of the work tree.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) -> &Self {
        fs::remove_file(self.work_path().join(path)).unwrap();
        self
    }

    /// Commits everything as it is and gives the commit's id; a commit without changes is fine.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A", "."]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    /// Writes one file and commits it.
    pub(crate) fn commit_file(&self, path: &str, content: &str) -> String {
        self.write(path, content);
        self.commit(&format!("write {path}"))
    }

    /// Undoes a commit with another one.
    pub(crate) fn revert(&self, commit: &str) -> String {
        self.git(&["revert", "--no-edit", commit]);
        self.head()
    }

    /// The commit of the work tree.
    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Pushes the current branch.
    pub(crate) fn push(&self) {
        self.git(&["push", "-q", "origin", "HEAD"]);
    }

    /// Makes the origin's `main` another commit, whatever it was.
    pub(crate) fn force_push(&self, commit: &str) {
        self.git(&["push", "-q", "--force", "origin", &format!("{commit}:refs/heads/main")]);
    }

    /// Runs `git` in the work tree and gives what it printed; it has to succeed.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        self.git_in(&self.work_path(), args)
    }

    /// Runs `git` somewhere else.
    pub(crate) fn git_in<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> String {
        let output = self.run(dir, args);
        let shown: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {} failed:\n{said}", shown.join(" "));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs `git` and gives whatever came out.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> Output {
        let time = self.clock.get();
        self.clock.set(time + 60);
        self.command(time).current_dir(dir).args(args).stdin(Stdio::null()).output().unwrap()
    }

    /// Feeds `git` some bytes and gives what it printed.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> String {
        use std::io::Write as _;
        let mut command = self.command(self.clock.get());
        let mut child = command
            .current_dir(self.work_path())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?} failed");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn command(&self, time: i64) -> Command {
        let mut command = hermetic(&self.folder.path().join("home"));
        let date = format!("{time} +0000");
        command
            .args(["-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false", "-c", "gc.auto=0"])
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date);
        command
    }
}

/// `git` without the user's settings, hooks, editor and language.
pub(crate) fn hermetic(home: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C")
        .env("GIT_AUTHOR_NAME", "Ada Author")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Carl Committer")
        .env("GIT_COMMITTER_EMAIL", "carl@example.org");
    command
}
