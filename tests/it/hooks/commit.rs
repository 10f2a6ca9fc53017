//! `pre-commit` with the real program: what is staged counts, whatever lies in the work tree.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::{GOOD, Site, WRONG, assert_plain, broken, err, executable, hostile_names, named, out};

/// A site whose work tree has the hook, and no commit yet.
fn site() -> Site {
    let site = Site::new();
    site.hooks_ok(&["install", "work"]);
    site
}

impl Site {
    fn add(&self, path: impl AsRef<Path>, text: &str) {
        self.repo.write(&path, text);
        self.repo.git(&["add".as_ref(), "--".as_ref(), path.as_ref().as_os_str()]);
    }

    /// Commits what has to be refused; what was said.
    #[track_caller]
    fn no_commit(&self, args: &[&str]) -> String {
        let before = self.repo.run(&self.repo.work_path(), &["rev-parse", "-q", "--verify", "HEAD"]).stdout;
        let output = self.try_commit(args);
        let said = err(&output);
        assert!(!output.status.success(), "committed: {said}");
        assert!(said.contains("the commit is refused") && said.contains("--no-verify"), "{said}");
        assert_eq!(self.repo.run(&self.repo.work_path(), &["rev-parse", "-q", "--verify", "HEAD"]).stdout, before);
        assert_plain(&said);
        said
    }

    #[track_caller]
    fn committed(&self, args: &[&str]) -> String {
        let output: Output = self.try_commit(args);
        assert!(output.status.success(), "{}", err(&output));
        err(&output)
    }
}

#[test]
fn a_broken_manifest_is_refused_with_file_line_and_hint() {
    let site = site();
    // The very first commit, too.
    site.add("web/web.yaml", &broken());
    let said = site.no_commit(&[]);
    assert!(
        said.contains(&format!("web/web.yaml:{WRONG}"))
            && said.contains("hint: `kubectl explain statefulset.spec.replicas`"),
        "{said}"
    );
    site.add("web/web.yaml", GOOD);
    site.committed(&[]);
    // From a folder below, by amending, and all the same where somebody insists.
    site.add("web/web.yaml", &broken());
    let below = site.repo.run(&site.repo.work_path().join("web"), &["commit", "-m", "below"]);
    assert!(!below.status.success() && err(&below).contains("web/web.yaml:8"), "{}", err(&below));
    site.no_commit(&["--amend"]);
    site.committed(&["--no-verify"]);
}

#[test]
fn what_is_staged_counts_and_not_what_lies_around() {
    let site = site();
    site.add("web.yaml", GOOD);
    site.committed(&[]);
    site.repo.write("web.yaml", broken());
    site.repo.write("untracked.yaml", named("untracked", &broken()));
    site.add("notes.txt", "x");
    site.committed(&[]);
    // `-a` takes it, and so does naming it, by an index of its own.
    assert!(site.no_commit(&["-a"]).contains(WRONG));
    assert!(site.no_commit(&["--", "web.yaml"]).contains(WRONG));
    site.add("more.txt", "x");
    site.committed(&["--", "more.txt"]);
    // Staged wrong, mended on disk: the mending has to be staged as well.
    site.add("web.yaml", &broken());
    site.repo.write("web.yaml", GOOD);
    assert!(site.no_commit(&[]).contains(WRONG));
    site.committed(&["-a", "--allow-empty"]);
    // What goes away is wrong no more; what is only announced is not there yet.
    site.add("bad.yaml", &named("bad", &broken()));
    site.committed(&["--no-verify"]);
    site.repo.git(&["rm", "-q", "bad.yaml"]);
    site.committed(&[]);
    site.repo.git(&["add", "-N", "untracked.yaml"]);
    site.add("notes.txt", "y");
    site.committed(&[]);
}

#[test]
fn a_field_that_cannot_be_changed_is_refused_against_the_last_commit() {
    let site = site();
    site.add("web.yaml", GOOD);
    site.committed(&[]);
    site.add("web.yaml", &GOOD.replace("storage: 1Gi", "storage: 2Gi"));
    let said = site.no_commit(&[]);
    assert!(said.contains("web.yaml:40:") && said.contains("volumeClaimTemplates"), "{said}");
}

#[test]
fn linked_work_trees_and_merges_are_checked() {
    let site = site();
    site.add("web.yaml", GOOD);
    site.committed(&[]);
    site.repo.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = site.repo.folder().join("linked");
    fs::write(linked.join("web.yaml"), broken()).unwrap();
    let refused = site.repo.run(&linked, &["commit", "-am", "x"]);
    assert!(!refused.status.success() && err(&refused).contains(WRONG), "{}", err(&refused));
    assert!(site.repo.run(&linked, &["commit", "-qam", "x", "--no-verify"]).status.success());
    // A merge that stops is ended by a commit.
    site.repo.write("web.yaml", GOOD.replace("replicas: 3", "replicas: 4"));
    site.committed(&["-a"]);
    assert!(!site.repo.run(&site.repo.work_path(), &["merge", "-q", "side"]).status.success());
    site.add("web.yaml", &broken());
    assert!(site.no_commit(&[]).contains(WRONG));
    site.add("web.yaml", GOOD);
    site.committed(&[]);
    assert_eq!(site.repo.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3);
}

#[test]
fn hostile_file_names_are_data() {
    let site = site();
    site.add("web.yaml", GOOD);
    site.committed(&[]);
    for name in hostile_names() {
        site.add(Path::new(&name), &named("other", &broken()));
        let said = site.no_commit(&[]);
        assert!(said.contains(WRONG) || said.contains("UTF-8"), "{name:?}: {said}");
        site.repo.git(&["rm".as_ref(), "-qf".as_ref(), "--".as_ref(), format_pathspec(&name).as_os_str()]);
        assert_eq!(site.repo.git(&["status", "--porcelain"]), "", "{name:?}");
    }
    assert!(!site.repo.work_path().join("x").exists());
}

/// A path that `git` takes as it is.
fn format_pathspec(name: &std::ffi::OsStr) -> std::ffi::OsString {
    let mut literal = std::ffi::OsString::from(":(literal)");
    literal.push(name);
    literal
}

#[test]
fn nothing_is_said_to_another_program() {
    let site = site();
    // Names and words of the environment that the program would heed.
    executable(&site.repo.folder().join("home/bin/kubectl"), "#!/bin/sh\ntouch \"$HOME/asked\"\n");
    site.repo.git(&["config", "phaseline.namespace", "shop"]);
    site.add("web.yaml", GOOD);
    let mut command = crate::support::repo::hermetic(&site.repo.folder().join("home"));
    command.current_dir(site.repo.work_path()).args(["commit", "-m", "x"]);
    command.env("PHASELINE_REPO", "https://example.invalid/x.git").env("KUBECONFIG", "/not/there");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert!(!err(&output).contains("example.invalid") && out(&output).contains("1 file changed"), "{}", err(&output));
    assert!(!site.repo.folder().join("home/asked").exists());
}
