//! Fetching over a path: what moves the tip, and what does not take the last good one away.

use std::fs;
use std::time::Duration;

use phaseline::git::{Credentials, GitError, Limits, Mirror, Movement, SourceConfig};

use super::{chain, id, mirror, source};
use crate::support::http::Server;
use crate::support::repo::Repo;

fn pushed() -> (Repo, String) {
    let repo = Repo::new();
    let first = repo.commit_file("web/web.yaml", "one\n");
    repo.push();
    (repo, first)
}

#[test]
fn a_first_fetch_a_push_and_nothing_new() {
    let (repo, first) = pushed();
    let mut mirror = mirror(&repo);
    assert_eq!(mirror.last_good(), None);
    let fetched = mirror.fetch().unwrap();
    assert_eq!((fetched.branch.as_str(), fetched.movement, fetched.previous), ("main", Movement::First, None));
    assert_eq!(mirror.last_good(), Some(id(&first)));
    assert_eq!(mirror.fetch().unwrap().movement, Movement::Same);
    let second = repo.commit_file("web/web.yaml", "two\n");
    repo.push();
    let fetched = mirror.fetch().unwrap();
    assert_eq!((fetched.movement, fetched.tip, fetched.previous), (Movement::Forward, id(second), Some(id(first))));
    assert!(!fetched.renewed);
}

#[test]
fn a_mirror_outlives_its_process_and_is_shared() {
    let (repo, first) = pushed();
    mirror(&repo).fetch().unwrap();
    let mut other = mirror(&repo);
    assert_eq!(other.last_good(), Some(id(&first)));
    let mut third = mirror(&repo);
    let second = repo.commit_file("a.yaml", "x");
    repo.push();
    other.fetch().unwrap();
    // Another process's objects are found without opening anew.
    assert_eq!(third.last_good(), Some(id(&second)));
    assert_eq!(third.files(&id(&second)).unwrap().files.len(), 2);
    assert_eq!(third.fetch().unwrap().movement, Movement::Same);
}

#[test]
fn a_mirror_can_go_to_another_thread() {
    let (repo, first) = pushed();
    let mut mirror = mirror(&repo);
    let tip = std::thread::spawn(move || mirror.fetch().unwrap().tip).join().unwrap();
    assert_eq!(tip, id(first));
}

#[test]
fn two_at_once_take_turns() {
    let (repo, first) = pushed();
    let config = source(&repo);
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..6).map(|_| scope.spawn(|| Mirror::open(&config).unwrap().fetch().unwrap())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert!(results.iter().all(|fetched| fetched.tip == id(&first)));
    assert_eq!(results.iter().filter(|fetched| fetched.movement == Movement::First).count(), 1);
}

#[test]
fn a_held_lock_is_waited_for_only_so_long() {
    let (repo, _) = pushed();
    let mut mirror = mirror(&repo);
    let lock = format!("{}.lock", mirror.folder().display());
    let file = fs::File::options().write(true).open(lock).unwrap();
    file.lock().unwrap();
    mirror.set_limits(Limits { total: Duration::from_millis(200), ..Limits::default() });
    assert!(matches!(mirror.fetch(), Err(GitError::Locked { .. })));
    file.unlock().unwrap();
    mirror.set_limits(Limits::default());
    mirror.fetch().unwrap();
}

#[test]
fn rewritten_and_reset_history_is_told_apart() {
    let (repo, first) = pushed();
    let second = repo.commit_file("a.yaml", "2");
    repo.push();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    repo.force_push(&first);
    let fetched = mirror.fetch().unwrap();
    assert_eq!((fetched.movement, fetched.rewritten()), (Movement::Back, true));
    repo.git(&["reset", "-q", "--hard", &first]);
    let other = repo.commit_file("a.yaml", "other");
    repo.force_push(&second);
    assert_eq!(mirror.fetch().unwrap().movement, Movement::Forward);
    repo.force_push(&other);
    assert_eq!(mirror.fetch().unwrap().movement, Movement::Rewritten);
    // The commit that was dropped stays readable: a rollout may still be on it.
    assert_eq!(mirror.commit(&id(&second)).unwrap().subject, "write a.yaml");
}

#[test]
fn what_is_lost_at_the_source_stays_in_the_mirror() {
    let (repo, first) = pushed();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    let last = Some(id(&first));

    repo.git_in(&repo.origin_path(), &["update-ref", "refs/heads/other", &first]);
    repo.git_in(&repo.origin_path(), &["update-ref", "-d", "refs/heads/main"]);
    let error = mirror.fetch().unwrap_err();
    assert_eq!(error.hint(), "there are: other");
    assert!(matches!(&error, GitError::BranchMissing { others, .. } if others == &["other"]), "{error:?}");
    assert_eq!(mirror.last_good(), last);

    repo.git_in(&repo.origin_path(), &["update-ref", "-d", "refs/heads/other"]);
    assert!(matches!(mirror.fetch(), Err(GitError::Empty { .. })));
    assert_eq!(mirror.last_good(), last);

    fs::remove_dir_all(repo.origin_path()).unwrap();
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(error, GitError::Unreachable { .. }), "{error:?}");
    assert_eq!(mirror.last_good(), last);
    assert_eq!(super::mirror(&repo).last_good(), last);

    fs::create_dir(repo.origin_path()).unwrap();
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(error, GitError::NotARepository { .. }), "{error:?}");

    repo.bare("origin.git");
    assert!(matches!(mirror.fetch(), Err(GitError::Empty { .. })));
    repo.push();
    assert_eq!(mirror.fetch().unwrap().movement, Movement::Same);
    assert_eq!(mirror.last_good(), last);
}

#[test]
fn the_remotes_head_chooses_the_branch() {
    let (repo, first) = pushed();
    repo.git(&["checkout", "-q", "-b", "deploy/prod"]);
    let second = repo.commit_file("a.yaml", "x");
    repo.push();
    let mut mirror = mirror(&repo);
    assert_eq!(mirror.fetch().unwrap().tip, id(&first));
    repo.git_in(&repo.origin_path(), &["symbolic-ref", "HEAD", "refs/heads/deploy/prod"]);
    let fetched = mirror.fetch().unwrap();
    assert_eq!((fetched.branch.as_str(), &fetched.tip), ("deploy/prod", &id(&second)));
    // A branch that becomes a folder of branches.
    repo.git_in(&repo.origin_path(), &["branch", "-m", "deploy/prod", "moved"]);
    repo.git_in(&repo.origin_path(), &["branch", "-m", "moved", "deploy/prod/eu"]);
    repo.git_in(&repo.origin_path(), &["symbolic-ref", "HEAD", "refs/heads/deploy/prod/eu"]);
    assert_eq!(mirror.fetch().unwrap().branch, "deploy/prod/eu");
    assert_eq!(mirror.last_good(), Some(id(&second)));
    // Unborn: HEAD names a branch that is not there.
    repo.git_in(&repo.origin_path(), &["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    assert!(matches!(mirror.fetch(), Err(GitError::BranchMissing { branch, .. }) if branch == "HEAD"));
}

#[test]
fn a_branch_is_named_and_a_tag_of_that_name_is_not_meant() {
    let (repo, first) = pushed();
    repo.git(&["checkout", "-q", "-b", "prod"]);
    let second = repo.commit_file("a.yaml", "x");
    repo.git(&["push", "-q", "origin", "refs/heads/prod"]);
    repo.git(&["tag", "prod", &first]);
    repo.git(&["push", "-q", "origin", "refs/tags/prod"]);
    for name in ["prod", "refs/heads/prod"] {
        let config = SourceConfig { branch: Some(name.into()), ..source(&repo) };
        let mut mirror = Mirror::open(&config).unwrap();
        assert_eq!(mirror.fetch().unwrap().tip, id(&second));
    }
    for name in ["", "-x", "a..b", "HEAD", "a b", "x.lock", "a\n"] {
        let config = SourceConfig { branch: Some(name.into()), ..source(&repo) };
        assert!(matches!(Mirror::open(&config), Err(GitError::BadBranch { .. })), "{name:?}");
    }
}

#[test]
fn a_work_tree_and_a_detached_head_can_be_followed() {
    let (repo, first) = pushed();
    let config = SourceConfig { url: repo.work_path().to_str().unwrap().into(), ..source(&repo) };
    let mut mirror = Mirror::open(&config).unwrap();
    assert_eq!(mirror.fetch().unwrap().tip, id(&first));
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(mirror.fetch().unwrap().branch, "main");
    let with_scheme = SourceConfig { url: format!("file://{}", repo.work_path().display()), ..source(&repo) };
    assert_eq!(Mirror::open(&with_scheme).unwrap().folder(), mirror.folder());
}

#[test]
fn names_lead_to_commits() {
    let (repo, first) = pushed();
    let second = repo.commit_file("a.yaml", "2");
    repo.git(&["tag", "v1", &first]);
    repo.git(&["tag", "-a", "-m", "note", "v2", &second]);
    repo.git(&["checkout", "-q", "-b", "side", &first]);
    let side = repo.commit_file("b.yaml", "3");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let merge = repo.head();
    repo.git(&["push", "-q", "--tags", "origin", "main"]);
    let mut mirror = mirror(&repo);
    assert!(matches!(mirror.resolve("HEAD"), Err(GitError::NoTip)));
    mirror.fetch().unwrap();
    for (rev, commit) in [
        ("HEAD", &merge),
        ("", &merge),
        ("main", &merge),
        ("origin/main", &merge),
        ("refs/heads/main", &merge),
        ("HEAD~1", &second),
        ("HEAD^", &second),
        ("HEAD^2", &side),
        ("HEAD^2~1", &first),
        ("main~2", &first),
        ("HEAD^0", &merge),
        ("v1", &first),
        ("v2", &second),
        ("refs/tags/v1", &first),
        (&first[..7], &first),
        (&first, &first),
    ] {
        assert_eq!(mirror.resolve(rev).unwrap(), id(commit), "{rev}");
    }
    for rev in ["nope", "HEAD~9", "HEAD^3", "HEAD~x", "HEAD@{1}", "abc", "main~99999999999", "..", "\u{1b}[31m", "side"]
    {
        assert!(matches!(mirror.resolve(rev), Err(GitError::UnknownRevision { .. })), "{rev}");
    }
}

#[test]
fn addresses_are_checked_and_shown_without_secrets() {
    let repo = Repo::new();
    let open = |url: &str| Mirror::open(&SourceConfig { url: url.into(), ..source(&repo) });
    for url in [
        "",
        "-oProxyCommand=x",
        "ext::sh -c x",
        "git://host/x",
        "ftp://host/x",
        "ssh://-oProxyCommand=x/y",
        "ssh://-u@host/x",
        "-u@host:x",
        "git@-host:x",
        "git@host:-x",
        "ssh://host/-x",
        "https://ho st/x",
        "https:///x",
        "https://host:99999/x",
        "https://host/\n",
        "https://a%0ab@host/x",
        "file://other/x",
        "git@host:",
    ] {
        assert!(matches!(open(url), Err(GitError::BadUrl { .. })), "{url}");
    }
    for (url, shown) in [
        ("https://bob:s3cret@host/x.git", "https://host/x.git"),
        ("https://s3cret@host:8443/x?token=s3cret", "https://host:8443/x"),
        ("ssh://git:s3cret@host:2222/x", "ssh://git@host:2222/x"),
        ("git@host:team/x.git", "git@host:team/x.git"),
        ("host:x", "git@host:x"),
        ("https://[::1]:3000/x", "https://[::1]:3000/x"),
        ("HTTPS://host/x", "https://host/x"),
    ] {
        let config = SourceConfig {
            url: url.into(),
            credentials: Credentials { username: Some("bob".into()), ..Credentials::default() },
            ..source(&repo)
        };
        let mirror = Mirror::open(&config).unwrap();
        assert_eq!(mirror.shown_url(), shown);
        assert!(!format!("{config:?} {mirror:?}").contains("s3cret"));
    }
    for url in ["ftp://u:s3cret@host/x", "https://u:s3cret@ho st/x", "u:s3cret@-h:x", "https://u:s3cret%zz@h/x"] {
        let error = open(url).unwrap_err();
        assert!(!format!("{} {error:?}", chain(&error)).contains("s3cret"), "{error:?}");
    }
}

#[test]
fn more_bytes_than_the_limit_are_refused() {
    let repo = Repo::new();
    let noise: Vec<u8> = (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    repo.write("big.bin", noise);
    repo.commit("big");
    repo.push();
    let mut mirror = mirror(&repo);
    mirror.set_limits(Limits { bytes: 100_000, ..Limits::default() });
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(error, GitError::TooLarge { limit: 100_000, .. }), "{error:?}");
    assert_eq!(mirror.last_good(), None);
}

#[test]
fn odd_reference_names_do_no_harm() {
    let (repo, first) = pushed();
    let mut packed = b"# pack-refs with: peeled fully-peeled sorted \n".to_vec();
    for name in [&b"heads/main"[..], b"tags/a", "tags/caf\u{e9}".as_bytes(), b"tags/caf\xe9"] {
        packed.extend([first.as_bytes(), b" refs/", name, b"\n"].concat());
    }
    fs::remove_file(repo.origin_path().join("refs/heads/main")).unwrap();
    fs::write(repo.origin_path().join("packed-refs"), packed).unwrap();
    assert_eq!(mirror(&repo).fetch().unwrap().tip, id(&first));
}

#[test]
fn many_fetches_do_not_pile_up_packs() {
    let repo = Repo::new();
    let mut mirror = None;
    for round in 0..56 {
        repo.commit_file("a.yaml", &format!("{round}\n"));
        repo.push();
        mirror.get_or_insert_with(|| super::mirror(&repo)).fetch().unwrap();
    }
    let mirror = mirror.unwrap();
    let packs = fs::read_dir(mirror.folder().join("objects/pack")).unwrap();
    let packs = packs.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "pack")).count();
    assert!(packs < 10, "{packs} packs");
    assert_eq!(mirror.first_parent(&mirror.last_good().unwrap()).unwrap().count(), 56);
    repo.git_in(mirror.folder(), &["fsck", "--full", "--strict"]);
    assert_eq!(super::mirror(&repo).last_good(), mirror.last_good());
}

#[test]
fn a_shallow_source_ends_where_it_is_cut() {
    let repo = Repo::new();
    for round in 0..5 {
        repo.commit_file("a.yaml", &format!("{round}\n"));
    }
    repo.push();
    let origin = format!("file://{}", repo.origin_path().display());
    repo.git_in(repo.folder(), &["clone", "-q", "--bare", "--depth=2", &origin, "shallow.git"]);
    let shallow = repo.folder().join("shallow.git");
    let config = SourceConfig { url: shallow.to_str().unwrap().to_owned(), ..source(&repo) };
    let mut mirror = Mirror::open(&config).unwrap();
    let steps = |mirror: &mut Mirror| {
        let tip = mirror.fetch().unwrap().tip;
        let steps: Vec<_> = mirror.first_parent(&tip).unwrap().collect();
        assert!(steps.iter().all(Result::is_ok), "{steps:?}");
        steps.len()
    };
    assert_eq!((steps(&mut mirror), steps(&mut mirror)), (2, 2));
    // Over a network libgit2 does not understand such a repository.
    let server = Server::start(repo.folder());
    let remote = SourceConfig { url: server.url("shallow.git"), ..source(&repo) };
    let error = Mirror::open(&remote).unwrap().fetch().unwrap_err();
    assert!(matches!(error, GitError::Unsupported { .. }), "{error:?}");
    // Made whole: what is missing is noticed, and a new copy has it.
    repo.git_in(&shallow, &["fetch", "-q", "--unshallow"]);
    let tip = mirror.fetch().unwrap().tip;
    assert!(mirror.first_parent(&tip).unwrap().any(|step| step.is_err()));
    assert_eq!(steps(&mut mirror), 5);
}

#[test]
fn a_state_folder_is_private_and_its_place_can_be_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let (repo, _) = pushed();
    mirror(&repo).fetch().unwrap();
    assert_eq!(fs::metadata(repo.state_dir()).unwrap().permissions().mode() & 0o777, 0o700);
    let name = mirror(&repo).folder().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.ends_with("-origin") && name.len() == 12 + "-origin".len(), "{name}");
    fs::write(repo.folder().join("file"), "").unwrap();
    let config = SourceConfig { state_dir: repo.folder().join("file/x"), ..source(&repo) };
    assert!(matches!(Mirror::open(&config), Err(GitError::State { .. })));
}
