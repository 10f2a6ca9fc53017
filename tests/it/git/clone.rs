//! What a clone is a clone of, and how its `HEAD` stands to what was pushed, against the real `git`.

use std::path::Path;

use phaseline::git::{CloneHead, Mirror, Place, SourceConfig};

use super::id;
use crate::support::repo::Repo;

fn at(folder: &Path) -> Mirror {
    Mirror::in_place(Place::At(folder), "").unwrap()
}

fn head(repo: &Repo, branch: Option<&str>) -> CloneHead {
    at(&repo.work_path()).clone_head(branch, None).unwrap()
}

fn named(url: &str) -> SourceConfig {
    SourceConfig { url: url.into(), ..SourceConfig::default() }
}

#[test]
fn head_is_awaited_where_the_remote_has_it_and_what_the_remote_has_otherwise() {
    let repo = Repo::new();
    assert_eq!(at(&repo.work_path()).clone_head(None, None), None, "no commit yet");
    let first = repo.commit_file("a", "1");
    let alone = head(&repo, None);
    assert_eq!((alone.awaited(), alone.upstream.clone()), (None, None), "nothing was pushed");
    repo.git(&["push", "-q", "-u", "origin", "HEAD"]);
    let pushed = head(&repo, None);
    assert_eq!((pushed.awaited(), pushed.pushed), (Some(&id(&*first)), true));
    let second = repo.commit_file("a", "2");
    let ahead = head(&repo, None);
    assert_eq!((ahead.awaited(), ahead.pushed), (Some(&id(&*first)), false), "not pushed");
    assert_eq!(ahead.upstream, Some(("origin/main".into(), id(&*first))));
    repo.push();
    assert_eq!(head(&repo, None).awaited(), Some(&id(&*second)));
    repo.git(&["reset", "-q", "--hard", &first]);
    let behind = head(&repo, None);
    assert_eq!((behind.awaited(), behind.pushed), (Some(&id(&*first)), true), "the remote has it and more");
    repo.commit_file("a", "3");
    assert_eq!(head(&repo, None).awaited(), Some(&id(&*second)), "two ways: what the remote has counts");
}

#[test]
fn the_branch_is_the_named_one_or_the_one_that_is_tracked() {
    let repo = Repo::new();
    let first = repo.commit_file("a", "1");
    // Without -u, as with a fresh `git init`.
    repo.push();
    assert_eq!(head(&repo, None).awaited(), Some(&id(&*first)), "the branch of the same name");
    repo.git(&["checkout", "-q", "-b", "topic"]);
    assert_eq!(head(&repo, None).awaited(), Some(&id(&*first)), "any branch that has it");
    let topic = repo.commit_file("a", "2");
    repo.git(&["push", "-q", "-u", "origin", "topic"]);
    assert_eq!(head(&repo, None).awaited(), Some(&id(&*topic)), "the branch that is tracked");
    let main = head(&repo, Some("main"));
    assert_eq!((main.awaited(), main.pushed), (Some(&id(&*first)), false), "the branch that is rolled out");
    assert_eq!(head(&repo, Some("none")).awaited(), None);
    // As a CI job checks a commit out.
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(head(&repo, None).awaited(), Some(&id(&*topic)));
    repo.commit_file("a", "3");
    let detached = head(&repo, None);
    assert_eq!((detached.awaited(), detached.pushed), (None, false), "on no branch of a remote");
}

#[test]
fn a_clone_is_told_by_its_remotes_however_they_are_spelled() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    let work = repo.work_path();
    let origin = repo.origin_path();
    assert!(at(&work).is_clone_of(&named(origin.to_str().unwrap())));
    assert!(at(&work).is_clone_of(&named(&format!("file://{}/", origin.display()))));
    assert!(at(&work).is_clone_of(&named(work.to_str().unwrap())), "it is itself");
    assert!(!at(&work).is_clone_of(&named(repo.bare("other.git").to_str().unwrap())));
    repo.git(&["remote", "set-url", "origin", "../origin.git"]);
    assert!(at(&work).is_clone_of(&named(origin.to_str().unwrap())), "relative to the work tree");
    repo.git(&["remote", "add", "upstream", "git@Git.example.com:org/deploy.git"]);
    for (url, is) in [
        ("https://git.example.com/org/deploy", true),
        ("https://ann:secret@git.example.com:8443/org/deploy.git/", true),
        ("ssh://git@git.example.com:2222/org/deploy.git", true),
        ("https://git.example.com/org/deploy-2", false),
        ("https://git.example.org/org/deploy", false),
        ("org/deploy", false),
    ] {
        assert_eq!(at(&work).is_clone_of(&named(url)), is, "{url}");
    }
}
