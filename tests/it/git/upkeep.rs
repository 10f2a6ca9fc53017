//! The mirror while it is in use: what people and crashes do to its folder, and what a long life leaves in it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use phaseline::git::{GitError, Limits, Mirror, Movement};

use super::{id, mirror, source};
use crate::support::repo::Repo;

fn fetched() -> (Repo, Mirror, String) {
    let repo = Repo::new();
    let tip = repo.commit_file("web.yaml", &"image: one\n".repeat(4_000));
    repo.push();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    (repo, mirror, tip)
}

fn reads(mirror: &Mirror, tip: &str) -> Result<usize, GitError> {
    let files = mirror.files(&id(tip))?.files;
    for file in &files {
        mirror.read(&file.blob)?;
    }
    Ok(files.len())
}

/// The bytes below a folder.
fn size(dir: &Path) -> u64 {
    let below = |path: &Path| match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => size(path),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    fs::read_dir(dir).map(|entries| entries.flatten().map(|entry| below(&entry.path())).sum()).unwrap_or(0)
}

#[test]
fn a_folder_that_is_removed_while_it_is_in_use_is_made_again() {
    type Removal = (&'static str, fn(&Path));
    let kinds: [Removal; 5] = [
        ("all of it", |dir| fs::remove_dir_all(dir.parent().unwrap()).unwrap()),
        ("the mirror", |dir| fs::remove_dir_all(dir).unwrap()),
        ("its objects", |dir| fs::remove_dir_all(dir.join("objects")).unwrap()),
        ("its packs", |dir| fs::remove_dir_all(dir.join("objects/pack")).unwrap()),
        ("its references", |dir| fs::remove_dir_all(dir.join("refs")).unwrap()),
    ];
    for (what, remove) in kinds {
        let (repo, mut mirror, first) = fetched();
        remove(mirror.folder());
        // Once with nothing new to fetch, once with a push.
        mirror.fetch().unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(reads(&mirror, &first).unwrap(), 1, "{what}");
        remove(mirror.folder());
        let second = repo.commit_file("api.yaml", "two\n");
        repo.push();
        assert_eq!(mirror.fetch().unwrap().tip, id(&second), "{what}");
        assert_eq!(reads(&mirror, &second).unwrap(), 2, "{what}");
        repo.git_in(mirror.folder(), &["fsck", "--full"]);
    }
}

#[test]
fn a_pack_that_is_cut_short_under_us_is_an_error_and_no_crash() {
    for extension in ["pack", "idx"] {
        let (repo, mut mirror, tip) = fetched();
        assert_eq!(reads(&mirror, &tip).unwrap(), 1, "it is open, and mapped");
        for file in fs::read_dir(mirror.folder().join("objects/pack")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|is| is == extension) {
                fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
                File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
            }
        }
        // A look at the sizes is good for a moment.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let error = reads(&mirror, &tip).unwrap_err();
        assert!(matches!(error, GitError::RepositoryCorrupt { .. }), "{extension}: {error:?}");
        assert!(mirror.fetch().unwrap().renewed, "{extension}");
        assert_eq!(reads(&mirror, &tip).unwrap(), 1, "{extension}");
        repo.git_in(mirror.folder(), &["fsck", "--full"]);
    }
}

/// Files that this process holds open, and maps of files, below a folder.
fn held(dir: &Path) -> (usize, usize) {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let files = links.filter(|link| fs::read_link(link.path()).is_ok_and(|path| path.starts_with(dir))).count();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    (files, maps.lines().filter(|line| line.contains(dir.to_str().unwrap())).count())
}

#[test]
fn a_hundred_pushes_leave_no_descriptor_and_no_map_behind() {
    let (repo, mut mirror, _) = fetched();
    let mut most = (0, 0);
    for push in 0..130 {
        let tip = repo.commit_file("web.yaml", &format!("image: {push}\n"));
        repo.push();
        mirror.fetch().unwrap();
        assert_eq!(reads(&mirror, &tip).unwrap(), 1);
        let (files, maps) = held(mirror.folder());
        most = (most.0.max(files), most.1.max(maps));
    }
    // Packs are put together when there are more than fifty.
    assert!(most.0 <= 60 && most.1 <= 120, "at most {most:?} files and maps at once");
    let gone = fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|link| fs::read_link(link.path()).ok());
    let folder = mirror.folder().to_str().unwrap().to_owned();
    let deleted: Vec<_> = gone.filter(|path| path.to_string_lossy().contains(&folder) && !path.exists()).collect();
    assert!(deleted.is_empty(), "{deleted:?}");
}

#[test]
fn what_a_killed_process_leaves_is_swept_and_in_nobodys_way() {
    let (repo, mut mirror, _) = fetched();
    let dir = mirror.folder().to_owned();
    let leftovers = ["objects/pack/pack_git2_Xyz123", "refs/phaseline/main.lock", "HEAD.lock", "packed-refs.lock"];
    for file in leftovers {
        fs::write(dir.join(file), vec![0; 1 << 16]).unwrap();
    }
    let beside = |extension: &str| dir.with_file_name(format!("{}.{extension}", dir.file_name().unwrap().display()));
    fs::create_dir_all(beside("new").join("objects")).unwrap();
    // Somebody put a folder where the lock is.
    fs::remove_file(beside("lock")).unwrap();
    fs::create_dir(beside("lock")).unwrap();
    let tip = repo.commit_file("web.yaml", "image: two\n");
    repo.push();
    assert_eq!(mirror.fetch().unwrap().tip, id(&tip));
    let left: Vec<_> = leftovers.into_iter().filter(|file| dir.join(file).exists()).collect();
    assert!(left.is_empty() && !beside("new").exists(), "{left:?}");
}

#[test]
fn rewritten_history_does_not_pile_up_but_former_tips_stay_for_a_while() {
    let (repo, mut mirror, first) = fetched();
    mirror.set_limits(Limits { spare: 1 << 20, ..Limits::default() });
    let mut rng = fastrand::Rng::with_seed(7);
    let mut tips = Vec::new();
    let mut most = 0;
    for push in 0..24 {
        repo.git(&["checkout", "-q", "--detach", &first]);
        // 256 KiB that no compression makes smaller.
        let noise: String = (0..256 << 10).map(|_| rng.alphanumeric()).collect();
        let tip = repo.commit_file("noise.txt", &noise);
        repo.force_push(&tip);
        let fetched = mirror.fetch().unwrap();
        assert_eq!(fetched.movement, if push == 0 { Movement::Forward } else { Movement::Rewritten });
        most = most.max(size(mirror.folder()));
        tips.push(tip);
    }
    assert!(most < 5 << 20, "{most} bytes at most, of 24 pushes with 200 KB each");
    let last = tips.pop().unwrap();
    assert_eq!(reads(&mirror, &last).unwrap(), 1);
    for former in tips.iter().rev().take(3) {
        assert_eq!(reads(&mirror, former).unwrap(), 1, "a rollout may still be on it");
    }
}

#[test]
fn commits_that_git_reads_and_libgit2_does_not_are_read_by_path() {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "image: one\n");
    repo.push();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    let odd = |parent: &str, author: &str| {
        let tree = repo.git(&["rev-parse", &format!("{parent}^{{tree}}")]);
        let commit = format!("tree {tree}\nparent {parent}\nauthor {author}\ncommitter {author}\n\nodd\n");
        repo.feed(&["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], commit.as_bytes())
    };
    let mut parent = first.clone();
    for author in ["Ada 1700000000 +0000", "Ada", "<ada@example.org> x +0000", "Ada <ada 1700000000"] {
        let tip = odd(&parent, author);
        repo.git(&["push", "-q", "origin", &format!("{tip}:refs/heads/main")]);
        let fetched = mirror.fetch().unwrap_or_else(|error| panic!("{author}: {error:?}"));
        assert_eq!((fetched.tip, fetched.movement), (id(&tip), Movement::Forward), "{author}");
        assert_eq!(reads(&mirror, &tip).unwrap(), 1, "{author}");
        // And as an ancestor, here and in a new copy.
        repo.git(&["checkout", "-q", "--detach", &tip]);
        parent = repo.commit_file("web.yaml", &format!("# after {author}\n"));
        repo.git(&["push", "-q", "origin", &format!("{parent}:refs/heads/main")]);
        let fetched = mirror.fetch().unwrap();
        assert_eq!((fetched.tip, fetched.movement), (id(&parent), Movement::Forward), "{author}");
    }
    fs::remove_dir_all(mirror.folder()).unwrap();
    drop(mirror);
    let mut again = Mirror::open(&source(&repo)).unwrap();
    assert_eq!(again.fetch().unwrap().tip, id(&parent));
    assert_eq!(reads(&again, &first).unwrap(), 1);
}

#[test]
fn the_state_folder_is_for_its_owner_alone() {
    let repo = Repo::new();
    repo.commit_file("web.yaml", "image: one\n");
    repo.push();
    fs::create_dir(repo.state_dir()).unwrap();
    fs::set_permissions(repo.state_dir(), Permissions::from_mode(0o755)).unwrap();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&repo.state_dir()), mode(mirror.folder())), (0o700, 0o700));
}
