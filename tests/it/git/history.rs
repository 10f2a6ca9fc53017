//! First-parent history and entries of real repositories, with `git` as the judge.

use phaseline::git::{End, Goal, Histories, MAX_COMMITS, Mirror, SourceConfig};
use phaseline::model::{CommitId, TemplateHash, WorkloadId};
use phaseline::revision::history::{BlobId, Change, Entry, number};

use super::{id, index, mirror, source};
use crate::support::repo::Repo;

fn walk(mirror: &Mirror, tip: &CommitId, goal: Goal<'_>, earlier: Option<&Histories>) -> Histories {
    index(mirror).histories(mirror, tip, goal, earlier, MAX_COMMITS).unwrap()
}

fn everything(repo: &Repo) -> Histories {
    let mut mirror = mirror(repo);
    let tip = mirror.fetch().unwrap().tip;
    walk(&mirror, &tip, Goal::Everything, None)
}

/// One workload's templates by their subjects' commits, oldest first.
fn of(histories: &Histories, name: &str) -> Vec<(String, String)> {
    let entries = histories.found.entries.get(&WorkloadId::new("ns", name)).cloned().unwrap_or_default();
    entries.into_iter().rev().map(|entry| (entry.commit.0, entry.hash.0)).collect()
}

fn entry(commit: &str, hash: &str) -> (String, String) {
    (commit.to_owned(), hash.to_owned())
}

/// What `git diff-tree` says that a commit changed, of plain manifest files.
fn judged(repo: &Repo, commit: &str) -> Vec<Change> {
    let parents = repo.git(&["rev-list", "--parents", "-n1", commit]);
    let parent = parents.split(' ').nth(1).map_or_else(|| repo.feed(&["mktree"], b""), str::to_owned);
    let told = repo.git(&["diff-tree", "-r", "--no-renames", "--no-abbrev", &parent, commit]);
    let blob = |mode: &str, hex: &str| {
        let bytes = std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
        mode.trim_start_matches(':').starts_with("100").then_some(BlobId(bytes))
    };
    let mut changes: Vec<_> = told
        .lines()
        .filter_map(|line| {
            let (facts, path) = line.split_once('\t')?;
            let facts: Vec<_> = facts.split(' ').collect();
            let (old, new) = (blob(facts[0], facts[2]), blob(facts[1], facts[3]));
            let named = path.ends_with(".yaml") && old != new;
            named.then(|| Change { path: path.to_owned(), old, new })
        })
        .collect();
    changes.sort();
    changes
}

#[test]
fn changes_are_those_that_git_tells() {
    let repo = Repo::new();
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..120 {
        for _ in 0..random.usize(0..4) {
            let folder = ["", "a/", "a/b/", "a.b/", "a-/", "z/"][random.usize(0..6)];
            let path = format!("{folder}{}.{}", random.u32(0..4), ["yaml", "txt"][random.usize(0..2)]);
            if random.u32(0..4) == 0 && repo.work_path().join(&path).is_file() {
                repo.remove(&path);
            } else {
                repo.write(&path, format!("{}", random.u32(0..5)));
            }
        }
        if random.u32(0..6) == 0 {
            repo.git(&["checkout", "-q", "-b", &format!("side{round}")]);
            repo.write("a/side.yaml", format!("{round}"));
            repo.commit("side");
            repo.git(&["checkout", "-q", "main"]);
            repo.git(&["merge", "-q", "--no-ff", "-m", "merge", &format!("side{round}")]);
        }
        repo.commit(&format!("round {round}"));
    }
    repo.push();
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    let line: Vec<_> = repo.git(&["rev-list", "--first-parent", "HEAD"]).lines().map(str::to_owned).collect();
    let steps: Vec<_> = mirror.first_parent(&tip).unwrap().map(Result::unwrap).collect();
    assert_eq!(steps.iter().map(|step| step.commit.0.clone()).collect::<Vec<_>>(), line);
    for step in steps {
        let mut changes = step.changes;
        changes.sort();
        assert_eq!(changes, judged(&repo, &step.commit.0), "{}", step.commit);
    }
}

#[test]
fn a_revert_repeats_and_takes_the_next_number() {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "web=A\n");
    let second = repo.commit_file("web.yaml", "web=B\n");
    let third = repo.revert("HEAD");
    let fourth = repo.revert("HEAD");
    repo.commit_file("README", "no manifest");
    repo.push();
    let found = everything(&repo);
    assert_eq!(of(&found, "web"), [entry(&first, "A"), entry(&second, "B"), entry(&third, "A"), entry(&fourth, "B")]);
    assert_eq!(found.end, End::Root);
    let entries = |count: usize| -> Vec<Entry> {
        let all = of(&found, "web").into_iter().take(count);
        all.map(|(commit, hash)| Entry { commit: id(commit), hash: TemplateHash(hash) }).collect()
    };
    let numbers = |count| -> Vec<_> {
        number(&entries(count)).into_iter().map(|entry| (entry.number, entry.repeats, entry.revision)).collect()
    };
    assert_eq!(numbers(3), [(1, None, 3), (2, None, 2), (3, Some(1), 3)]);
    assert_eq!(numbers(4), [(1, None, 3), (2, None, 4), (3, Some(1), 3), (4, Some(2), 4)]);
}

#[test]
fn moved_split_and_merged_documents_are_no_entries() {
    let repo = Repo::new();
    let first = repo.commit_file("all.yaml", "web=A\napi=X\n");
    repo.git(&["mv", "all.yaml", "renamed.yaml"]);
    repo.commit("rename");
    repo.write("renamed.yaml", "web=A\n").write("deep/er/api.yaml", "api=X\n");
    repo.commit("split");
    // Two files change places, and one of them its template.
    repo.write("renamed.yaml", "api=X\n").write("deep/er/api.yaml", "web=B\n");
    let swap = repo.commit("swap and edit");
    repo.remove("renamed.yaml").write("deep/er/api.yaml", "# note\napi=X\nweb=B\n");
    repo.commit("merge");
    repo.push();
    let found = everything(&repo);
    assert_eq!(of(&found, "web"), [entry(&first, "A"), entry(&swap, "B")]);
    assert_eq!(of(&found, "api"), [entry(&first, "X")]);
}

#[test]
fn deleting_and_adding_again_is_an_entry() {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "web=A\n");
    repo.remove("web.yaml");
    repo.commit("gone");
    let again = repo.commit_file("other.yaml", "web=A\n");
    repo.push();
    let found = everything(&repo);
    assert_eq!(of(&found, "web"), [entry(&first, "A"), entry(&again, "A")]);
    assert_eq!(found.found.templates.len(), 1);
}

#[test]
fn broken_files_and_conflicts_leave_the_last_good_template() {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "web=A\n");
    repo.commit_file("web.yaml", "! broken\n");
    repo.commit_file("web.yaml", "web=A\n# fixed\n");
    repo.commit_file("twin.yaml", "web=B\n");
    repo.remove("twin.yaml");
    repo.commit("twin gone");
    repo.commit_file("web.yaml", "! broken\n");
    let changed = repo.commit_file("web.yaml", "web=C\n");
    repo.push();
    assert_eq!(of(&everything(&repo), "web"), [entry(&first, "A"), entry(&changed, "C")]);
    // Broken at the tip, moved while broken, and of a kustomization.
    repo.commit_file("web.yaml", "! broken\n");
    repo.git(&["mv", "web.yaml", "moved.yaml"]);
    repo.commit("moved");
    repo.push();
    let found = everything(&repo);
    assert_eq!(found.found.templates.get(&WorkloadId::new("ns", "web")), Some(&TemplateHash("C".into())));
    assert_eq!(of(&found, "web"), [entry(&first, "A"), entry(&changed, "C")]);
}

#[test]
fn merges_count_by_their_first_parent() {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "web=A\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let side = repo.commit_file("web.yaml", "web=B\n");
    repo.commit_file("web.yaml", "web=C\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit_file("api.yaml", "api=X\n");
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let merge = repo.head();
    for name in ["one", "two"] {
        repo.git(&["checkout", "-q", "-b", name, &merge]);
        repo.commit_file(&format!("{name}.yaml"), &format!("{name}=1\n"));
    }
    repo.git(&["checkout", "-q", "main"]);
    repo.commit_file("note", "so that the octopus has three parents");
    repo.git(&["merge", "-q", "--no-ff", "-m", "octopus", "one", "two"]);
    let octopus = repo.head();
    assert_eq!(repo.git(&["rev-list", "--parents", "-n1", "HEAD"]).split(' ').count(), 4);
    repo.git(&["revert", "--no-edit", "-m", "1", &merge]);
    let undone = repo.head();
    repo.push();
    let found = everything(&repo);
    assert_eq!(of(&found, "web"), [entry(&first, "A"), entry(&merge, "C"), entry(&undone, "A")]);
    assert_eq!(of(&found, "one"), [entry(&octopus, "1")]);
    assert_eq!(of(&found, "two"), [entry(&octopus, "1")]);

    // Somebody whose first parent is the side fast-forwards the branch to it: the history is another, the hashes are not.
    repo.git(&["checkout", "-q", "-b", "theirs", &side]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "theirs", &first.clone(), "--strategy=ours"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "theirs", &undone, "--strategy=ours"]);
    let theirs = repo.head();
    repo.git(&["push", "-q", "origin", &format!("{theirs}:refs/heads/main")]);
    assert_eq!(of(&everything(&repo), "web"), [entry(&first, "A"), entry(&side, "B")]);
}

#[test]
fn dates_play_no_part() {
    let repo = Repo::new();
    let mut parent: Option<String> = None;
    let mut made = Vec::new();
    for (template, date) in [("A", 4_102_444_800_i64), ("B", 0), ("C", 1_700_000_000)] {
        let blob = repo.feed(&["hash-object", "-w", "--stdin"], format!("web={template}\n").as_bytes());
        let tree = repo.feed(&["mktree"], format!("100644 blob {blob}\tweb.yaml\n").as_bytes());
        let above = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
        let text =
            format!("tree {tree}\n{above}author A <a> {date} +0000\ncommitter A <a> {date} +0000\n\n{template}\n");
        let commit = repo.feed(&["hash-object", "-t", "commit", "-w", "--stdin"], text.as_bytes());
        made.push(entry(&commit, template));
        parent = Some(commit);
    }
    repo.git(&["push", "-q", "origin", &format!("{}:refs/heads/main", parent.unwrap())]);
    assert_eq!(of(&everything(&repo), "web"), made);
}

#[test]
fn kustomizations_and_the_path_bound_the_history() {
    let repo = Repo::new();
    let first = repo.commit_file("prod/web.yaml", "web=A\n");
    repo.commit_file("stage/web.yaml", "web=B\n");
    repo.commit_file("prod/kustomization.yaml", "resources: [web.yaml]\n");
    repo.commit_file("prod/web.yaml", "web=C\n");
    repo.remove("prod/kustomization.yaml");
    let back = repo.commit("plain again");
    repo.push();
    let mut mirror = Mirror::open(&SourceConfig { path: "prod".into(), ..source(&repo) }).unwrap();
    let tip = mirror.fetch().unwrap().tip;
    let found = walk(&mirror, &tip, Goal::Everything, None);
    assert_eq!(of(&found, "web"), [entry(&first, "A"), entry(&back, "C")]);
}

#[test]
fn a_later_walk_looks_only_at_what_is_new() {
    let repo = Repo::new();
    let mut commits = Vec::new();
    for round in 0..30 {
        commits.push(repo.commit_file("web.yaml", &format!("web={}\n", round / 3)));
    }
    repo.write("api.yaml", "api=X\n");
    repo.push();
    let mut mirror = mirror(&repo);
    let old = mirror.fetch().unwrap().tip;
    let before = walk(&mirror, &old, Goal::Everything, None);
    let api = repo.commit("api");
    let web = repo.commit_file("web.yaml", "web=new\n");
    repo.push();
    let tip = mirror.fetch().unwrap().tip;
    let after = walk(&mirror, &tip, Goal::Everything, Some(&before));
    assert_eq!((after.walked, after.end), (2, End::Joined));
    assert_eq!(of(&after, "web"), [entry(&web, "new")]);
    assert_eq!(of(&after, "api"), [entry(&api, "X")]);
    assert_eq!(after.found.templates.len(), 2);

    let whole = after.with_older(before.clone());
    assert_eq!(whole, walk(&mirror, &tip, Goal::Everything, None));

    // Rewritten: the old tip is not met, and the walk is complete again.
    repo.git(&["reset", "-q", "--hard", &commits[3]]);
    let other = repo.commit_file("web.yaml", "web=other\n");
    repo.force_push(&other);
    let tip = mirror.fetch().unwrap().tip;
    let found = walk(&mirror, &tip, Goal::Everything, Some(&before));
    assert_eq!((found.walked, found.end), (5, End::Root));
    assert_eq!(of(&found, "web"), [entry(&commits[0], "0"), entry(&commits[3], "1"), entry(&other, "other")]);
}

#[test]
fn the_newest_entries_are_found_without_the_whole_history() {
    let repo = Repo::new();
    for round in 0..20 {
        repo.commit_file("web.yaml", &format!("web={round}\n"));
    }
    let api = repo.commit_file("api.yaml", "api=X\n");
    let web = repo.commit_file("web.yaml", "web=last\n");
    repo.commit_file("README", "x");
    repo.push();
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    let wanted = [WorkloadId::new("ns", "api"), WorkloadId::new("ns", "web")];
    let found = walk(&mirror, &tip, Goal::Latest(&wanted), None);
    assert_eq!((found.walked, found.end), (3, End::Settled));
    assert_eq!((of(&found, "api"), of(&found, "web")), (vec![entry(&api, "X")], vec![entry(&web, "last")]));
    let cut = index(&mirror).histories(&mirror, &tip, Goal::Everything, None, 2).unwrap();
    assert_eq!((cut.walked, cut.end), (2, End::CutOff));
    // What was in force at the cut counts as brought there.
    assert_eq!(of(&cut, "api"), [entry(&web, "X")]);
    assert_eq!(of(&cut, "web"), [entry(&web, "19"), entry(&web, "last")]);
}
