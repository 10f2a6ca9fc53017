//! Damaged mirrors are noticed, and replaced by a new copy.

use std::fs;
use std::path::{Path, PathBuf};

use phaseline::git::{GitError, Mirror};

use super::{id, mirror, source};
use crate::support::repo::Repo;

fn fetched() -> (Repo, Mirror, String) {
    let repo = Repo::new();
    repo.write("web.yaml", (0..500).map(|n| format!("line {}\n", n * 7919)).collect::<String>());
    repo.commit("one");
    let tip = repo.commit_file("api.yaml", "two\n");
    repo.push();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    (repo, mirror, tip)
}

fn packs(mirror: &Path, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(mirror.join("objects/pack")).unwrap();
    files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

fn overwrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The mirror, opened anew, reads all it should after one fetch.
fn heals(repo: &Repo, tip: &str, what: &str) {
    let mut mirror = Mirror::open(&source(repo)).unwrap();
    let read = |mirror: &Mirror| {
        let listing = mirror.files(&id(tip))?;
        for file in &listing.files {
            mirror.read(&file.blob)?;
        }
        Ok::<_, GitError>(listing.files.len())
    };
    // What cannot be read is an error by name, never a panic.
    if let Err(error) = read(&mirror) {
        let named = matches!(error, GitError::RepositoryCorrupt { .. } | GitError::UnknownRevision { .. });
        assert!(named, "{what}: {error:?}");
    }
    let fetched = mirror.fetch().unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_eq!(fetched.tip, id(tip), "{what}");
    assert_eq!(read(&mirror).unwrap(), 2, "{what}");
    assert_eq!(mirror.last_good(), Some(id(tip)), "{what}");
    repo.git_in(mirror.folder(), &["fsck", "--full"]);
    let left: Vec<_> = fs::read_dir(repo.state_dir()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{left:?}");
}

#[test]
fn every_kind_of_damage_is_healed_by_the_next_fetch() {
    type Damage = (&'static str, fn(&Path));
    let kinds: [Damage; 10] = [
        ("pack cut short", |dir| {
            packs(dir, "pack").iter().for_each(|pack| overwrite(pack, |b| b.truncate(b.len() / 2)))
        }),
        ("pack flipped", |dir| {
            packs(dir, "pack").iter().for_each(|pack| {
                overwrite(pack, |b| {
                    let middle = b.len() - 40;
                    b[12..middle].iter_mut().for_each(|byte| *byte ^= 0x5a);
                });
            });
        }),
        ("pack gone", |dir| packs(dir, "pack").iter().for_each(|pack| fs::remove_file(pack).unwrap())),
        ("index cut short", |dir| packs(dir, "idx").iter().for_each(|index| overwrite(index, |b| b.truncate(200)))),
        ("index gone", |dir| packs(dir, "idx").iter().for_each(|index| fs::remove_file(index).unwrap())),
        ("objects gone", |dir| fs::remove_dir_all(dir.join("objects")).unwrap()),
        ("reference emptied", |dir| fs::write(dir.join("refs/phaseline/main"), "").unwrap()),
        ("reference leads nowhere", |dir| fs::write(dir.join("refs/phaseline/main"), format!("{:040}\n", 7)).unwrap()),
        ("settings emptied", |dir| fs::write(dir.join("config"), "").unwrap()),
        ("a file in its place", |dir| {
            fs::remove_dir_all(dir).unwrap();
            fs::write(dir, "x").unwrap();
        }),
    ];
    for (what, damage) in kinds {
        let (repo, mirror, tip) = fetched();
        let dir = mirror.folder().to_owned();
        drop(mirror);
        damage(&dir);
        heals(&repo, &tip, what);
    }
}

#[test]
fn one_missing_file_is_noticed_when_it_is_read() {
    let (repo, mirror, tip) = fetched();
    let dir = mirror.folder().to_owned();
    drop(mirror);
    let pack = packs(&dir, "pack").remove(0);
    let loose = pack.with_file_name("all");
    fs::rename(&pack, &loose).unwrap();
    fs::remove_file(pack.with_extension("idx")).unwrap();
    let input = fs::read(&loose).unwrap();
    let target = dir.to_str().unwrap();
    repo.feed(&["--git-dir", target, "unpack-objects", "-q"], &input);
    let blob = repo.git(&["rev-parse", "HEAD:web.yaml"]);
    fs::remove_file(dir.join(format!("objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    heals(&repo, &tip, "one object missing");
}

#[test]
fn damage_without_a_source_keeps_what_there_is() {
    let (repo, mirror, tip) = fetched();
    let dir = mirror.folder().to_owned();
    drop(mirror);
    packs(&dir, "pack").iter().for_each(|pack| overwrite(pack, |b| b.truncate(b.len() / 2)));
    fs::rename(repo.origin_path(), repo.folder().join("away")).unwrap();
    let mut mirror = Mirror::open(&source(&repo)).unwrap();
    assert!(matches!(mirror.fetch(), Err(GitError::Unreachable { .. })));
    assert!(dir.exists());
    fs::rename(repo.folder().join("away"), repo.origin_path()).unwrap();
    let fetched = mirror.fetch().unwrap();
    assert!(fetched.renewed);
    assert_eq!(fetched.tip, id(tip));
}
