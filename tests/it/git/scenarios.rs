//! What happens to repositories in the wild, with `git` itself as the judge of the history.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use phaseline::git::{Goal, MAX_COMMITS};
use phaseline::model::WorkloadId;

use super::{index, mirror};
use crate::support::repo::Repo;

type Told = BTreeMap<String, Vec<(String, String)>>;

/// The history as `git` tells it, commit by commit and file by file: who has which template, and who brought it.
fn judged(repo: &Repo) -> Told {
    let git = |args: &[&str]| repo.git_in(&repo.origin_path(), &[&["--no-replace-objects"], args].concat());
    let mut told = Told::new();
    let mut before: BTreeMap<String, String> = BTreeMap::new();
    for commit in git(&["rev-list", "--first-parent", "--reverse", "main"]).lines() {
        let mut now = BTreeMap::new();
        for line in git(&["ls-tree", "-r", commit]).lines() {
            let (facts, path) = line.split_once('\t').unwrap();
            let facts: Vec<_> = facts.split(' ').collect();
            // A name that is no plain text stands in quotes.
            if facts[0].starts_with("100") && path.trim_end_matches('"').ends_with(".yaml") {
                let content = git(&["cat-file", "-p", facts[2]]);
                now.extend(content.lines().filter_map(|line| line.split_once('=')).map(|(a, b)| (a.into(), b.into())));
            }
        }
        for (name, hash) in &now {
            if before.get(name) != Some(hash) {
                told.entry(String::clone(name)).or_default().push((commit.to_owned(), hash.clone()));
            }
        }
        before = now;
    }
    told
}

/// The index, cold and of one set at a time, says what the judge says.
fn agrees(repo: &Repo, what: &str) {
    let judged = judged(repo);
    let mut mirror = mirror(repo);
    let tip = mirror.fetch().unwrap().tip;
    let ask = |goal: Goal<'_>| {
        let found = index(&mirror).histories(&mirror, &tip, goal, None, MAX_COMMITS).unwrap().found.entries;
        let told = found.into_iter().map(|(workload, entries)| {
            (workload.name, entries.into_iter().rev().map(|entry| (entry.commit.0, entry.hash.0)).collect())
        });
        told.collect::<Told>()
    };
    assert_eq!(ask(Goal::Everything), judged, "{what}");
    for (name, entries) in &judged {
        let one = ask(Goal::Of(&WorkloadId::new("ns", name.as_str())));
        assert_eq!(one.get(name), Some(entries), "{what}: {name}");
    }
}

#[test]
fn odd_trees_are_told_as_git_tells_them() {
    let repo = Repo::new();
    repo.write("web.yaml", "web=A\n").write("api.yaml", "api=A\n");
    repo.commit("first");
    repo.commit("empty");
    repo.git(&["mv", "web.yaml", "Web.yaml"]);
    repo.commit("another case");
    repo.push();
    agrees(&repo, "empty commits and a rename of case only");

    let odd = |bytes: &[u8]| repo.work_path().join(std::ffi::OsStr::from_bytes(bytes));
    std::fs::write(odd(b"\xff.yaml"), "ff=A\n").unwrap();
    std::fs::write(odd(b"\xfe.yaml"), "fe=A\n").unwrap();
    repo.commit("names that are no text");
    std::fs::write(odd(b"\xfe.yaml"), "fe=B\n").unwrap();
    repo.commit("one of them");
    repo.push();
    agrees(&repo, "names that are no text");

    symlink("b.yaml", repo.work_path().join("a.yaml")).unwrap();
    symlink("a.yaml", repo.work_path().join("b.yaml")).unwrap();
    symlink(".", repo.work_path().join("loop")).unwrap();
    repo.write("api.yaml", "api=B\n");
    repo.commit("links that lead round");
    let head = repo.head();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},module.yaml")]);
    repo.git(&["commit", "-q", "-m", "a submodule"]);
    repo.push();
    agrees(&repo, "links and a submodule");
}

#[test]
fn odd_lines_of_commits_are_told_as_git_tells_them() {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "web=A\n");
    let second = repo.commit_file("web.yaml", "web=B\n");
    // Criss-cross: two branches that merge each other.
    repo.git(&["checkout", "-q", "-b", "left"]);
    repo.commit_file("left.yaml", "left=1\n");
    repo.git(&["checkout", "-q", "-b", "right", &second]);
    repo.commit_file("right.yaml", "right=1\n");
    repo.git(&["merge", "-q", "--no-ff", "-m", "left into right", "left"]);
    repo.git(&["checkout", "-q", "left"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "right into left", "right~1"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "left", "left"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "right", "right"]);
    // Another root, and a revert of a revert.
    repo.git(&["checkout", "-q", "--orphan", "other"]);
    repo.git(&["rm", "-rfq", "."]);
    repo.commit_file("other.yaml", "other=1\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "--allow-unrelated-histories", "-m", "other", "other"]);
    let third = repo.commit_file("web.yaml", "web=C\n");
    repo.revert(&third);
    repo.revert("HEAD");
    repo.push();
    agrees(&repo, "criss-cross, another root, a revert of a revert");

    // What stands in for a commit on this machine does not count: it is not what was pushed.
    repo.git_in(&repo.origin_path(), &["replace", &second, &first]);
    agrees(&repo, "a replaced commit");
}

#[test]
fn a_large_file_in_the_way_is_not_read() {
    let repo = Repo::new();
    repo.commit_file("web.yaml", "web=A\n");
    std::fs::File::create(repo.work_path().join("big.bin")).unwrap().set_len(100 << 20).unwrap();
    repo.commit("a hundred megabytes");
    repo.git(&["mv", "big.bin", "big.yaml"]);
    repo.commit("called a manifest");
    repo.commit_file("web.yaml", "web=B\n");
    repo.remove("big.yaml");
    repo.commit("gone");
    repo.push();
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    let mut index = index(&mirror);
    let found = index.histories(&mirror, &tip, Goal::Everything, None, MAX_COMMITS).unwrap();
    assert_eq!(found.found.entries[&WorkloadId::new("ns", "web")].len(), 2);
    // It counts as a file that cannot be read; its size alone is asked for.
    assert_eq!(found.found.templates.len(), 1);
}
