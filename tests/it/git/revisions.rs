//! The walk over history against a slow and simple one, on random trees.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use phaseline::model::{CommitId, TemplateHash, WorkloadId};
use phaseline::revision::history::{BlobId, Change, Entry, Found, Step, Walk, entries};
use phaseline::revision::reading::Reading;

/// A tree: content by path.
type Tree = BTreeMap<String, String>;
type Answer = Result<Arc<Reading>, Infallible>;

/// Contents are space-separated: `w0=A` a template, `w0!` a broken document, `!` an unreadable file.
fn reading(content: &str) -> Reading {
    if content.starts_with('!') {
        return Reading { unreadable: true, ..Reading::default() };
    }
    let id = |name: &str| WorkloadId::new("ns", name);
    let words = || content.split(' ');
    Reading {
        templates: words()
            .filter_map(|word| word.split_once('='))
            .map(|(name, hash)| (id(name), TemplateHash(hash.into())))
            .collect(),
        broken: words().filter_map(|word| word.strip_suffix('!')).map(id).collect(),
        unreadable: false,
    }
}

fn blob(content: &str) -> BlobId {
    let mut bytes = [b' '; 20];
    bytes.iter_mut().zip(content.bytes()).for_each(|(to, from)| *to = from);
    BlobId(bytes)
}

fn read(id: &BlobId) -> Answer {
    Ok(Arc::new(reading(std::str::from_utf8(&id.0).unwrap().trim_end())))
}

fn commit(number: usize) -> CommitId {
    CommitId(format!("{number:040}"))
}

/// The steps of commits 1.. from the trees after each, newest first; tree 0 is empty.
fn steps(trees: &[Tree]) -> Vec<Step> {
    let step = |number: usize| {
        let (before, after) = (&trees[number - 1], &trees[number]);
        let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let changes = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
        let of = |tree: &Tree, path| tree.get(path).map(|content: &String| blob(content));
        Step {
            commit: commit(number),
            changes: changes
                .map(|path| Change { path: path.clone(), old: of(before, path), new: of(after, path) })
                .collect(),
        }
    };
    (1..trees.len()).rev().map(step).collect()
}

fn files(tree: &Tree) -> Vec<(String, BlobId)> {
    tree.iter().map(|(path, content)| (path.clone(), blob(content))).collect()
}

/// The same question answered forwards: what is in force after each commit, carrying the last good template.
#[derive(Default)]
struct Forward {
    /// The last readable content's workloads, by the path of a file that cannot be read now.
    hidden: BTreeMap<String, BTreeSet<WorkloadId>>,
    in_force: BTreeMap<WorkloadId, TemplateHash>,
    entries: BTreeMap<WorkloadId, Vec<Entry>>,
}

impl Forward {
    fn run(trees: &[Tree]) -> Self {
        let mut forward = Self::default();
        for number in 1..trees.len() {
            forward.commit(number, &trees[number - 1], &trees[number]);
        }
        forward
    }

    fn commit(&mut self, number: usize, before: &Tree, after: &Tree) {
        let named = |content: &str| -> BTreeSet<WorkloadId> {
            let reading = reading(content);
            reading.templates.into_iter().map(|(id, _)| id).chain(reading.broken).collect()
        };
        let mut hidden: BTreeMap<String, BTreeSet<WorkloadId>> = BTreeMap::new();
        for (path, _) in after.iter().filter(|(_, content)| content.starts_with('!')) {
            let kept = match before.get(path) {
                Some(content) if content.starts_with('!') => self.hidden.get(path).cloned().unwrap_or_default(),
                Some(content) => named(content),
                None => BTreeSet::new(),
            };
            hidden.insert(path.clone(), kept);
        }
        self.hidden = hidden;
        let all: BTreeSet<_> = before.values().chain(after.values()).flat_map(|content| named(content)).collect();
        let all: BTreeSet<_> = all.into_iter().chain(self.in_force.keys().cloned()).collect();
        for workload in all {
            let (mut hashes, mut broken) = (BTreeSet::new(), false);
            for content in after.values() {
                let reading = reading(content);
                hashes.extend(reading.templates.into_iter().filter(|(id, _)| *id == workload).map(|(_, hash)| hash));
                broken |= reading.broken.contains(&workload);
            }
            let dark = self.hidden.values().any(|hidden| hidden.contains(&workload));
            if broken || hashes.len() > 1 || (hashes.is_empty() && dark) {
                continue;
            }
            match hashes.pop_first() {
                None => {
                    self.in_force.remove(&workload);
                }
                Some(hash) => {
                    if self.in_force.insert(workload.clone(), hash.clone()).as_ref() != Some(&hash) {
                        self.entries.entry(workload).or_default().push(Entry { commit: commit(number), hash });
                    }
                }
            }
        }
    }
}

/// Random trees; `odd` says whether broken documents and unreadable files occur. Then each file has workloads of its own:
/// backwards it is not yet known what an unreadable file held before, so a workload that moves meanwhile counts as gone.
fn random_trees(random: &mut fastrand::Rng, odd: bool) -> Vec<Tree> {
    let mut trees = vec![Tree::new()];
    for _ in 0..random.usize(2..14) {
        let mut tree = trees.last().unwrap().clone();
        for _ in 0..random.usize(0..4) {
            let file = random.u32(0..4);
            let path = format!("f{file}");
            let own = |name: u32| if odd { format!("w{file}{name}") } else { format!("w{name}") };
            match random.u32(0..6) {
                0 => drop(tree.remove(&path)),
                1 if !odd => {
                    if let Some(content) = tree.remove(&path) {
                        tree.insert(format!("f{}", random.u32(0..4)), content);
                    }
                }
                1 | 2 if odd => drop(tree.insert(path, format!("!{file}{}", random.u32(0..2)))),
                _ => {
                    let words: Vec<_> = (0..random.usize(0..3))
                        .map(|_| {
                            let name = own(random.u32(0..3));
                            match random.u32(0..8) {
                                0 if odd => format!("{name}!"),
                                _ => format!("{name}={}", random.choice(["A", "B", "C"]).unwrap()),
                            }
                        })
                        .collect();
                    tree.insert(path, words.join(" "));
                }
            }
        }
        trees.push(tree);
    }
    trees
}

fn backwards(trees: &[Tree]) -> Found {
    let mut walk = Walk::from_tip(files(trees.last().unwrap()), read).unwrap();
    for step in steps(trees) {
        walk.step(&step, read).unwrap();
    }
    walk.finish()
}

#[test]
fn backwards_finds_what_forwards_finds() {
    for seed in 0..1_500 {
        let trees = random_trees(&mut fastrand::Rng::with_seed(seed), false);
        let forward = Forward::run(&trees);
        let all =
            entries(files(trees.last().unwrap()), steps(&trees).into_iter().map(Ok::<_, Infallible>), read).unwrap();
        assert_eq!(all, forward.entries, "seed {seed}: {trees:#?}");
    }
}

#[test]
fn the_two_agree_about_broken_files_too() {
    for seed in 0..1_500 {
        let trees = random_trees(&mut fastrand::Rng::with_seed(seed), true);
        let forward = Forward::run(&trees);
        let mut found = backwards(&trees);
        found.entries.values_mut().for_each(|entries| entries.reverse());
        assert_eq!(found.entries, forward.entries, "seed {seed}: {trees:#?}");
        assert_eq!(found.templates, forward.in_force, "seed {seed}: {trees:#?}");
    }
}

#[test]
fn two_walks_joined_are_one() {
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let trees = random_trees(&mut random, seed % 2 == 0);
        let split = random.usize(1..trees.len());
        let old = backwards(&trees[..=split]);
        let mut walk = Walk::from_tip(files(trees.last().unwrap()), read).unwrap();
        for step in steps(&trees).into_iter().take(trees.len() - 1 - split) {
            walk.step(&step, read).unwrap();
        }
        let mut joined = walk.join(&old);
        for (workload, older) in old.entries {
            joined.entries.entry(workload).or_default().extend(older);
        }
        let whole = backwards(&trees);
        assert_eq!(joined.templates, whole.templates, "seed {seed}, split {split}: {trees:#?}");
        assert_eq!(joined.entries, whole.entries, "seed {seed}, split {split}: {trees:#?}");
    }
}
