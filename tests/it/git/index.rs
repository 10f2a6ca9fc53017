//! The index of the history against reading everything, on random histories that `git` makes; and what becomes of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use phaseline::git::{End, GitError, Goal, Histories, Index, MAX_COMMITS, Mirror, Reader, SourceConfig};
use phaseline::model::{CommitId, WorkloadId};
use phaseline::revision::history::{Entry, entries};
use phaseline::revision::reading::Reading;

use super::{id, index, mirror, reader, reading, source};
use crate::support::repo::Repo;

/// Everything, by reading every file of every commit; oldest first.
fn full(mirror: &Mirror, tip: &CommitId) -> BTreeMap<WorkloadId, Vec<Entry>> {
    let steps: Vec<_> = mirror.first_parent(tip).unwrap().map(Result::unwrap).collect();
    let files = mirror.files(tip).unwrap().files.into_iter().map(|file| (file.path, file.blob));
    let read = |blob: &_| Ok::<_, GitError>(Arc::new(reading(&mirror.read(blob)?)));
    entries(files, steps.into_iter().map(Ok), read).unwrap()
}

fn whole(mut found: Histories) -> BTreeMap<WorkloadId, Vec<Entry>> {
    found.found.entries.values_mut().for_each(|entries| entries.reverse());
    found.found.entries
}

/// A branch of random commits for `git fast-import`: files that are written, moved, deleted, broken, and merges.
fn random_branch(random: &mut fastrand::Rng, odd: bool, name: &str, mark: &mut usize, stream: &mut String) {
    let first = *mark + 1;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..random.usize(3..25) {
        *mark += 1;
        let mut commands = String::new();
        for _ in 0..random.usize(0..4) {
            let path = format!("{}f{}.yaml", ["", "a/", "a/b/", "z/"][random.usize(0..4)], random.u32(0..3));
            match random.u32(0..8) {
                0 => {
                    files.remove(&path);
                    writeln!(commands, "D {path}").unwrap();
                }
                1 => {
                    let Some((from, content)) =
                        files.iter().nth(random.usize(0..4)).map(|(a, b)| (a.clone(), b.clone()))
                    else {
                        continue;
                    };
                    files.remove(&from);
                    writeln!(commands, "D {from}\nM 644 inline {path}\ndata {}\n{content}", content.len()).unwrap();
                    files.insert(path, content);
                }
                kind => {
                    let mut content = if odd && kind < 4 { format!("!{}\n", random.u32(0..2)) } else { String::new() };
                    for _ in 0..random.usize(0..3) {
                        let hash = ["A", "B", "C", ""][random.usize(0..4)];
                        writeln!(content, "web-{}={hash}", random.u32(0..5)).unwrap();
                    }
                    if random.u32(0..4) == 0 {
                        content.push_str("a \\ that hides\n");
                    }
                    writeln!(commands, "M 644 inline {path}\ndata {}\n{content}", content.len()).unwrap();
                    files.insert(path, content);
                }
            }
        }
        writeln!(
            stream,
            "commit refs/heads/{name}\nmark :{mark}\ncommitter A <a@b> {} +0000\ndata 1\nx",
            1_700_000_000 + *mark
        )
        .unwrap();
        if round > 0 {
            writeln!(stream, "from :{}", *mark - 1).unwrap();
            if random.u32(0..4) == 0 && *mark - 1 > first {
                writeln!(stream, "merge :{}", random.usize(first..*mark - 1)).unwrap();
            }
        }
        stream.push_str(&commands);
        stream.push('\n');
    }
}

#[test]
fn every_question_is_answered_as_by_reading_everything() {
    const BRANCHES: usize = 80;
    let seed = std::env::var("PHASELINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_000);
    let mut random = fastrand::Rng::with_seed(seed);
    let repo = Repo::new();
    let (mut stream, mut mark) = (String::new(), 0);
    for branch in 0..BRANCHES {
        random_branch(&mut random, branch % 2 == 0, &format!("s{branch}"), &mut mark, &mut stream);
    }
    let origin = repo.origin_url();
    repo.feed(&["--git-dir", &origin, "fast-import", "--quiet"], stream.as_bytes());
    let mut compared = 0;
    for branch in 0..BRANCHES {
        let what = format!("seed {seed}, branch s{branch}");
        let config = SourceConfig { branch: Some(format!("s{branch}")), ..source(&repo) };
        let mut mirror = Mirror::open(&config).unwrap();
        let tip = mirror.fetch().unwrap().tip;
        let truth = full(&mirror, &tip);
        let ask = |index: &mut Index, at: &CommitId, goal: Goal<'_>| {
            index.histories(&mirror, at, goal, None, MAX_COMMITS).unwrap_or_else(|error| panic!("{what}: {error:?}"))
        };

        // Of one, each with an index of its own and with one that grows; of all; from what was kept.
        let mut growing = index(&mirror);
        for workload in (0..5).map(|number| WorkloadId::new("ns", format!("web-{number}"))) {
            let told = truth.get(&workload).cloned().into_iter().map(|entries| (workload.clone(), entries)).collect();
            for (index, how) in [(&mut index(&mirror), "cold"), (&mut growing, "growing")] {
                assert_eq!(whole(ask(index, &tip, Goal::Of(&workload))), told, "{what}: {workload}, {how}");
            }
            compared += 1;
        }
        assert_eq!(whole(ask(&mut index(&mirror), &tip, Goal::Everything)), truth, "{what}: everything");
        growing.save(&mirror).unwrap();
        assert_eq!(whole(ask(&mut index(&mirror), &tip, Goal::Everything)), truth, "{what}: kept");

        // The newest ones, of those that the tip has.
        let all = ask(&mut index(&mirror), &tip, Goal::Everything);
        let wanted: Vec<_> = all.found.templates.keys().cloned().collect();
        let latest = ask(&mut index(&mirror), &tip, Goal::Latest(&wanted));
        for workload in &wanted {
            let newest = latest.found.entries.get(workload).and_then(|entries| entries.first());
            assert_eq!(newest, truth[workload].last(), "{what}: newest of {workload}");
        }

        // In steps: an index that was made at an earlier commit.
        let line: Vec<_> = mirror.first_parent(&tip).unwrap().map(|step| step.unwrap().commit).collect();
        let earlier = &line[random.usize(0..line.len())];
        let mut grown = index(&mirror);
        let before = ask(&mut grown, earlier, Goal::Everything);
        assert_eq!(whole(ask(&mut grown, &tip, Goal::Everything)), truth, "{what}: grown from {earlier}");
        // The same, with the answer of then. (What is unreadable at both ends and moved meanwhile is looked up at the next start.)
        if branch % 2 == 1 {
            let after = grown.histories(&mirror, &tip, Goal::Everything, Some(&before), MAX_COMMITS).unwrap();
            assert_eq!(after.end, End::Joined, "{what}");
            assert_eq!(whole(after.with_older(before.clone())), truth, "{what}: joined at {earlier}");
        }
        // And back, as after a force-push.
        assert_eq!(ask(&mut grown, earlier, Goal::Everything), before, "{what}: back at {earlier}");
    }
    assert_eq!(compared, BRANCHES * 5);
}

/// A history of 40 commits of three sets, and what it says.
fn kept() -> (Repo, Mirror, CommitId, BTreeMap<WorkloadId, Vec<Entry>>) {
    let repo = Repo::new();
    let mut stream = String::new();
    for number in 1..=40 {
        let content = format!("web-{}={}\n", number % 3, number);
        writeln!(
            stream,
            "commit refs/heads/main\ncommitter A <a@b> {number} +0000\ndata 1\nx\nM 644 inline {}.yaml\ndata {}\n{content}",
            number % 3,
            content.len()
        )
        .unwrap();
    }
    repo.feed(&["--git-dir", &repo.origin_url(), "fast-import", "--quiet"], stream.as_bytes());
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    let mut made = index(&mirror);
    let truth = whole(made.histories(&mirror, &tip, Goal::Everything, None, MAX_COMMITS).unwrap());
    assert_eq!(truth, full(&mirror, &tip));
    made.save(&mirror).unwrap();
    (repo, mirror, tip, truth)
}

const FILES: [&str; 2] = ["phaseline-history", "phaseline-readings"];

#[test]
fn damaged_files_are_as_good_as_none() {
    let (_repo, mirror, tip, truth) = kept();
    let answer = || {
        let mut index = index(&mirror);
        let found = index.histories(&mirror, &tip, Goal::Everything, None, MAX_COMMITS).unwrap();
        index.save(&mirror).unwrap();
        whole(found)
    };
    for name in FILES {
        let path = mirror.folder().join(name);
        let good = fs::read(&path).unwrap();
        let mut damages: Vec<(String, Vec<u8>)> =
            vec![("emptied".into(), Vec::new()), ("doubled".into(), good.repeat(2))];
        for place in (0..good.len()).step_by(1 + good.len() / 60) {
            damages.push((format!("cut at {place}"), good[..place].to_vec()));
            let mut flipped = good.clone();
            flipped[place] ^= 0x20;
            damages.push((format!("flipped at {place}"), flipped));
        }
        for (what, bytes) in damages {
            fs::write(&path, bytes).unwrap();
            assert_eq!(answer(), truth, "{name}: {what}");
            assert_eq!(fs::read(&path).unwrap(), good, "{name}: {what}, not made anew");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let mut index = index(&mirror);
        let found = index.histories(&mirror, &tip, Goal::Everything, None, MAX_COMMITS).unwrap();
        assert_eq!(whole(found), truth);
        assert!(matches!(index.save(&mirror), Err(GitError::State { .. })), "{name}: what cannot be kept is said");
        fs::remove_dir(&path).unwrap();
    }
}

#[test]
fn what_another_reader_or_another_repository_left_is_not_used() {
    let (_repo, mirror, tip, truth) = kept();
    // A reader that says something else, of a later version.
    let other = Reader {
        version: "test 2".into(),
        read: |content| {
            let mut reading = reading(content);
            reading.templates.iter_mut().for_each(|(_, hash)| hash.0.push('x'));
            reading
        },
        ..reader()
    };
    let found = Index::open(&mirror, other).histories(&mirror, &tip, Goal::Everything, None, MAX_COMMITS).unwrap();
    assert!(whole(found).values().flatten().all(|entry| entry.hash.0.ends_with('x')));

    // The files of one repository beside the mirror of another.
    let (elsewhere, theirs) = (Repo::new(), ["web-0=Q\n", "web-0=R\n"]);
    let commits = theirs.map(|content| elsewhere.commit_file("0.yaml", content));
    elsewhere.push();
    let mut second = super::mirror(&elsewhere);
    let tip = second.fetch().unwrap().tip;
    for name in FILES {
        fs::copy(mirror.folder().join(name), second.folder().join(name)).unwrap();
    }
    let found = whole(index(&second).histories(&second, &tip, Goal::Everything, None, MAX_COMMITS).unwrap());
    let web = &found[&WorkloadId::new("ns", "web-0")];
    assert_eq!(web.iter().map(|entry| entry.commit.0.clone()).collect::<Vec<_>>(), commits);
    assert_eq!(found.len(), 1);
    assert_eq!(truth.len(), 3);
}

#[test]
fn one_set_costs_only_what_may_name_it() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static READ: AtomicUsize = AtomicUsize::new(0);
    fn counting(content: &[u8]) -> Reading {
        READ.fetch_add(1, Ordering::Relaxed);
        reading(content)
    }
    let (_repo, mirror, tip, truth) = kept();
    FILES.iter().for_each(|name| fs::remove_file(mirror.folder().join(name)).unwrap());
    let open = || Index::open(&mirror, Reader { read: counting, ..reader() });
    let web = WorkloadId::new("ns", "web-1");
    let mut ours = open();
    let found = ours.histories(&mirror, &tip, Goal::Of(&web), None, MAX_COMMITS).unwrap();
    assert_eq!(found.found.entries[&web].len(), truth[&web].len());
    // Its own 14 files, and the two others of the tip.
    assert_eq!(READ.swap(0, Ordering::Relaxed), truth[&web].len() + 2);
    ours.save(&mirror).unwrap();
    open().histories(&mirror, &tip, Goal::Of(&web), None, MAX_COMMITS).unwrap();
    assert_eq!(READ.load(Ordering::Relaxed), 0, "what was kept was read again");
    let named: BTreeSet<_> = found.files.values().flatten().map(|(path, _)| path.as_str()).collect();
    assert_eq!(named, BTreeSet::from(["1.yaml"]));
    assert_eq!(found.tip, id(tip.0.clone()));
}
