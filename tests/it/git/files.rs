//! What is listed of a commit, and what is reported instead.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use phaseline::git::{GitError, Listing, Mirror, SourceConfig};
use phaseline::model::Severity;

use super::{id, mirror, source};
use crate::support::http::Server;
use crate::support::repo::Repo;

fn listed(repo: &Repo) -> Listing {
    repo.push();
    let mut mirror = mirror(repo);
    let tip = mirror.fetch().unwrap().tip;
    let listing = mirror.files(&tip).unwrap();
    for file in &listing.files {
        assert_eq!(mirror.read(&file.blob).unwrap().len() as u64, file.size);
    }
    listing
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|file| file.path.as_str()).collect()
}

fn skipped(listing: &Listing) -> Vec<(&str, Severity)> {
    listing.skipped.iter().map(|found| (found.file.as_str(), found.severity)).collect()
}

#[test]
fn manifests_are_known_by_their_names() {
    let repo = Repo::new();
    for name in ["a.yaml", "b.yml", "c.json", "D.YAML", "d/e/f.Yml", ".hidden/g.yaml", "Web.yaml", "web.yaml", ".yaml"]
    {
        repo.write(name, name);
    }
    for name in ["README.md", "yaml", "x.yaml.bak", "y.yamll", "run.sh", "d/json"] {
        repo.write(name, name);
    }
    repo.commit("all");
    let listing = listed(&repo);
    let expected =
        [".hidden/g.yaml", ".yaml", "D.YAML", "Web.yaml", "a.yaml", "b.yml", "c.json", "d/e/f.Yml", "web.yaml"];
    assert_eq!(paths(&listing), expected);
    assert!(listing.skipped.is_empty(), "{:?}", listing.skipped);
}

#[test]
fn links_and_submodules_are_reported_where_they_matter() {
    let repo = Repo::new();
    repo.write("base/web.yaml", "x");
    let link = |target: &str, name: &str| {
        repo.write(format!("{name}.dir/x"), "");
        symlink(target, repo.work_path().join(name)).unwrap();
    };
    link("base/web.yaml", "web.yaml");
    link("/etc/passwd", "passwd.yaml");
    link("/etc", "etc");
    link("../../..", "up");
    link("base", "prod");
    link("./base/../base/.", "stage");
    link("base/web.yaml", "note.txt");
    link("loop", "loop");
    let inner = repo.folder().join("inner");
    repo.git_in(repo.folder(), &["init", "-q", "-b", "main", "inner"]);
    repo.git_in(&inner, &["commit", "-q", "--allow-empty", "-m", "x"]);
    repo.git(&["submodule", "--quiet", "add", inner.to_str().unwrap(), "module"]);
    repo.commit("links");
    let listing = listed(&repo);
    assert_eq!(paths(&listing), ["base/web.yaml"]);
    let warned = ["module", "passwd.yaml", "prod", "stage", "web.yaml"].map(|path| (path, Severity::Warning));
    assert_eq!(skipped(&listing), warned);
}

#[test]
fn a_kustomization_is_refused_with_its_folders() {
    let repo = Repo::new();
    repo.write("plain/a.yaml", "x").write("plain.yaml", "x");
    repo.write("k/kustomization.yaml", "x").write("k/patch.yaml", "x").write("k/deeper/b.yaml", "x");
    repo.write("l/kustomization.yml", "x").write("l/a.yaml", "x");
    repo.write("m/Kustomization", "x").write("m/a.yaml", "x");
    repo.write("n/Kustomization.yaml", "kustomize does not know this name");
    repo.commit("kustomize");
    let listing = listed(&repo);
    assert_eq!(paths(&listing), ["n/Kustomization.yaml", "plain.yaml", "plain/a.yaml"]);
    let refused = ["k/kustomization.yaml", "l/kustomization.yml", "m/Kustomization"];
    assert_eq!(skipped(&listing), refused.map(|path| (path, Severity::Error)));
    assert!(listing.skipped.iter().all(|found| found.hint.contains("kubectl kustomize")));
}

#[test]
fn names_that_are_no_text_are_read_and_reported() {
    let repo = Repo::new();
    for name in
        [&b"caf\xe9.yaml"[..], b"new\nline.yaml", b"esc\x1b[31m.yaml", "na\u{ef}ve.yaml".as_bytes(), b"-rf.yaml"]
    {
        repo.write(std::ffi::OsStr::from_bytes(name), "x");
    }
    repo.commit("names");
    let listing = listed(&repo);
    let expected = ["-rf.yaml", "caf\u{fffd}.yaml", "esc\u{fffd}[31m.yaml", "naïve.yaml", "new\u{fffd}line.yaml"];
    assert_eq!(paths(&listing), expected);
    assert_eq!(skipped(&listing), [("caf\u{fffd}.yaml", Severity::Warning)]);
}

#[test]
fn large_files_and_lfs_pointers() {
    let repo = Repo::new();
    repo.write("fits.yaml", vec![b'#'; 1 << 20]).write("large.yaml", vec![b'#'; (1 << 20) + 1]);
    repo.write("outside.bin", vec![0; 5 << 20]);
    repo.write("lfs.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    repo.write(".gitattributes", "*.yaml filter=lfs export-subst\n");
    repo.commit("large");
    let listing = listed(&repo);
    assert_eq!(paths(&listing), ["fits.yaml", "lfs.yaml"]);
    assert_eq!(skipped(&listing), [("large.yaml", Severity::Error)]);
}

#[test]
fn folders_that_are_too_deep_or_too_long() {
    let repo = Repo::new();
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"x");
    let mut deep = repo.feed(&["mktree"], format!("100644 blob {blob}\tbottom.yaml\n").as_bytes());
    for level in (0..300).rev() {
        deep = repo.feed(&["mktree"], format!("040000 tree {deep}\td\n100644 blob {blob}\tl{level}.yaml\n").as_bytes());
    }
    let name = "n".repeat(250);
    let mut long = repo.feed(&["mktree"], format!("100644 blob {blob}\tbottom.yaml\n").as_bytes());
    for _ in 0..20 {
        long = repo.feed(&["mktree"], format!("040000 tree {long}\t{name}\n").as_bytes());
    }
    let top = repo.feed(&["mktree"], format!("040000 tree {deep}\tdeep\n040000 tree {long}\tlong\n").as_bytes());
    let commit = repo.git(&["commit-tree", "-m", "deep", &top]);
    repo.git(&["reset", "-q", "--soft", &commit]);
    let listing = listed(&repo);
    assert_eq!(listing.files.len(), 64);
    let errors: Vec<_> = listing.skipped.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("64 folders") && errors[1].contains("4096 bytes"), "{errors:?}");
}

#[test]
fn a_folder_that_holds_itself_many_times_over_ends() {
    let repo = Repo::new();
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"x");
    let mut tree = repo.feed(&["mktree"], format!("100644 blob {blob}\tx.txt\n").as_bytes());
    for _ in 0..20 {
        let lines: String = (0..10).map(|n| format!("040000 tree {tree}\td{n}\n")).collect();
        tree = repo.feed(&["mktree"], lines.as_bytes());
    }
    let commit = repo.git(&["commit-tree", "-m", "bomb", &tree]);
    repo.git(&["push", "-q", "origin", &format!("{commit}:refs/heads/main")]);
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    assert!(matches!(mirror.files(&tip), Err(GitError::TooMany { what: "folders", .. })));
    let steps: Vec<_> = mirror.first_parent(&tip).unwrap().collect();
    assert!(matches!(steps.as_slice(), [Err(GitError::TooMany { .. })]));
}

#[test]
fn too_many_files_are_an_error() {
    let repo = Repo::new();
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"x");
    let lines: String = (0..20_001).map(|n| format!("100644 blob {blob}\t{n:06}.yaml\n")).collect();
    let tree = repo.feed(&["mktree"], lines.as_bytes());
    let commit = repo.git(&["commit-tree", "-m", "many", &tree]);
    repo.git(&["push", "-q", "origin", &format!("{commit}:refs/heads/main")]);
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    assert!(matches!(mirror.files(&tip), Err(GitError::TooMany { what: "manifest files", limit: 20_000, .. })));
}

#[test]
fn odd_trees_do_no_harm() {
    let repo = Repo::new();
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"x");
    let folder = repo.feed(&["mktree"], format!("100644 blob {blob}\ta.yaml\n").as_bytes());
    let mut bytes = Vec::new();
    for (mode, name, id) in [
        ("40000", "..", &folder),
        ("40000", ".git", &folder),
        ("120000", "twice", &blob),
        ("40000", "twice", &folder),
        ("100644", "z.yaml", &blob),
        ("100644", "a.yaml", &blob),
        ("100664", "group.yaml", &blob),
        ("100755", "run.yaml", &blob),
        ("170000", "odd.yaml", &blob),
    ] {
        bytes.extend(format!("{mode} {name}\0").as_bytes());
        bytes.extend((0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()));
    }
    let tree = repo.feed(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &bytes);
    let commit = repo.feed(
        &["hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        format!("tree {tree}\nauthor A <a> x\n\nodd\n").as_bytes(),
    );
    repo.git(&["push", "-q", "origin", &format!("{commit}:refs/heads/main")]);
    let server = Server::start(repo.folder());
    let mut by_http = Mirror::open(&SourceConfig { url: server.url("origin.git"), ..source(&repo) }).unwrap();
    let mut mirror = mirror(&repo);
    let tip = mirror.fetch().unwrap().tip;
    assert_eq!(by_http.fetch().unwrap().tip, tip);
    assert_eq!(by_http.files(&tip).unwrap(), mirror.files(&tip).unwrap());
    assert_eq!(mirror.fetch().unwrap().tip, tip);
    let listing = mirror.files(&tip).unwrap();
    let expected = ["../a.yaml", ".git/a.yaml", "a.yaml", "group.yaml", "run.yaml", "twice/a.yaml", "z.yaml"];
    assert_eq!(paths(&listing), expected);
    let step = mirror.first_parent(&tip).unwrap().next().unwrap().unwrap();
    assert_eq!(step.changes.len(), expected.len());
}

#[test]
fn only_the_configured_path_is_listed() {
    let repo = Repo::new();
    repo.write("prod/eu/a.yaml", "x").write("prod/b.yaml", "x").write("production/c.yaml", "x").write("f.yaml", "x");
    let tip = repo.commit("paths");
    repo.push();
    let at = |path: &str| {
        let mut mirror = Mirror::open(&SourceConfig { path: path.into(), ..source(&repo) }).unwrap();
        mirror.fetch().unwrap();
        mirror.files(&id(&tip)).map(|listing| listing.files.into_iter().map(|file| file.path).collect::<Vec<_>>())
    };
    for path in ["prod", "/prod/", "./prod", "prod//."] {
        assert_eq!(at(path).unwrap(), ["prod/b.yaml", "prod/eu/a.yaml"], "{path}");
    }
    assert_eq!(at("prod/eu").unwrap(), ["prod/eu/a.yaml"]);
    for path in ["none", "prod/none", "f.yaml", "Prod"] {
        assert!(matches!(at(path), Err(GitError::PathMissing { .. })), "{path}");
    }
    for (path, others) in [("none", &["prod", "production"][..]), ("prod/none", &["prod/eu"]), ("prod/eu/x", &[])] {
        let Err(error @ GitError::PathMissing { .. }) = at(path) else { panic!("{path}") };
        let named = if others.is_empty() { String::new() } else { format!("there are: {}", others.join(", ")) };
        assert_eq!(error.hint(), named, "{path}");
    }
    for path in ["..", "prod/../x", "a\0b"] {
        let config = SourceConfig { path: path.into(), ..source(&repo) };
        assert!(matches!(Mirror::open(&config), Err(GitError::BadPath { .. })), "{path}");
    }
}

#[test]
fn a_commit_is_told_as_git_tells_it() {
    let repo = Repo::new();
    let tree = repo.feed(&["mktree"], b"");
    let raw = |author: &str, message: &str| {
        let text = format!("tree {tree}\nauthor {author}\ncommitter C <c> 5 +0000\n\n{message}");
        repo.feed(&["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], text.as_bytes())
    };
    let ids = [
        raw("Zoë Ü <z@x.org> 0 +0000", "1970\n"),
        raw("A <a@x.org> 4102444800 +1400", "2100\n  and more\n\nbody\n\nTrailer: x\n"),
        raw("\u{1b}[31mEve\u{7} <e\u{1b}@x> 7 +0000", "\u{1b}[2Jclear\rme\n"),
        raw("N", "no date"),
        raw("A <a> -9 +0000", ""),
    ];
    let server = Server::start(repo.folder());
    let mut mirror = Mirror::open(&SourceConfig { url: server.url("origin.git"), ..source(&repo) }).unwrap();
    for (at, commit) in ids.iter().enumerate() {
        repo.git(&["push", "-q", "origin", &format!("+{commit}:refs/heads/main")]);
        mirror.fetch().unwrap();
        let info = mirror.commit(&id(commit)).unwrap();
        let told = repo.git(&["show", "-s", "--format=%an|%ae|%at|%s", commit]);
        let ours = format!("{}|{}|{}|{}", info.author, info.email, info.time, info.subject);
        match at {
            0 | 1 => assert_eq!(ours, told),
            _ => assert!(!ours.chars().any(char::is_control), "{ours:?}"),
        }
    }
    assert!(matches!(mirror.commit(&id("0".repeat(40))), Err(GitError::UnknownRevision { .. })));
    assert!(matches!(mirror.commit(&id("xyz")), Err(GitError::UnknownRevision { .. })));
}
