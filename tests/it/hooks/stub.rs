//! What the hooks make of a program that is missing, broken or too talkative: a script in its place.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Site, err, executable, path_without_phaseline};

/// Writes down how it was called and ends as it is told: `STUB_lint=1` in the file beside it, say.
const STUB: &str = "#!/bin/sh
printf '%s\\n' \"$*\" >> \"$0.called\"
[ ! -f \"$0.does\" ] || . \"$0.does\"
eval \"exit \\${STUB_$1:-0}\"
";

/// A site whose hooks call a script.
struct Stubbed {
    site: Site,
}

impl Stubbed {
    fn new() -> Self {
        let site = Site::new();
        site.hooks_ok(&["install", "origin.git"]);
        site.hooks_ok(&["install", "work"]);
        let stub = site.program("a stub", STUB);
        site.server(&["phaseline.binary", stub.to_str().unwrap()]);
        site.repo.git(&["config", "phaseline.binary", stub.to_str().unwrap()]);
        Self { site }
    }

    fn does(&self, text: &str) -> &Self {
        fs::write(self.site.repo.folder().join("a stub.does"), text).unwrap();
        self
    }

    /// How it was called since the last time that this was asked.
    fn called(&self) -> Vec<String> {
        let file = self.site.repo.folder().join("a stub.called");
        let called = fs::read_to_string(&file).unwrap_or_default();
        _ = fs::remove_file(&file);
        called.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_push_is_checked_branch_by_branch() {
    let stubbed = Stubbed::new();
    let (site, repo) = (&stubbed.site, &stubbed.site.repo);
    let first = repo.commit_file("a.txt", "1");
    stubbed.called();
    assert!(site.push(&["main"]).status.success());
    let none = "0".repeat(40);
    let against = format!("lint --rev={first} --base={none} --repo=.");
    assert_eq!(stubbed.called(), [against, format!("plan --offline --push {none}..{first} --repo=.")]);

    let second = repo.commit_file("a.txt", "2");
    let third = repo.commit_file("a.txt", "3");
    stubbed.called();
    assert!(site.push(&["main"]).status.success());
    let against = format!("lint --rev={third} --base={first} --repo=.");
    assert_eq!(stubbed.called(), [against, format!("plan --offline --push {first}..{third} --repo=.")]);

    // A new branch is held against where it left the repository's own.
    repo.git(&["checkout", "-q", "-b", "side", &second]);
    let side = repo.commit_file("a.txt", "4");
    stubbed.called();
    assert!(site.push(&["side"]).status.success());
    assert!(stubbed.called()[0].ends_with(&format!("{side} --base={second} --repo=.")));

    // A rewritten branch is held against what it was.
    repo.git(&["reset", "-q", "--hard", &first]);
    let other = repo.commit_file("a.txt", "5");
    stubbed.called();
    assert!(site.push(&["--force", "side"]).status.success());
    assert!(stubbed.called()[0].ends_with(&format!("{other} --base={side} --repo=.")));

    // Tags, other references and branches that go are nobody's business; of several branches each is looked at.
    repo.git(&["tag", "v1"]);
    assert!(site.push(&["v1", "HEAD:refs/changes/1", ":side"]).status.success());
    assert_eq!((stubbed.called(), site.at_origin("side")), (vec![], None));
    assert!(site.push(&["HEAD:one", "HEAD:two", "v1:refs/tags/v2"]).status.success());
    assert_eq!(stubbed.called().len(), 4);
}

#[test]
fn settings_of_the_server_are_handed_on() {
    let stubbed = Stubbed::new();
    let site = &stubbed.site;
    site.server(&["phaseline.path", "deploy/my apps"]);
    site.server(&["phaseline.namespace", "-odd"]);
    site.server(&["phaseline.kubernetes", "1.33"]);
    let head = site.repo.commit_file("a.txt", "1");
    stubbed.called();
    site.push(&["main"]);
    let options = "--repo=. --path=deploy/my apps --namespace=-odd --kubernetes=1.33";
    let none = "0".repeat(40);
    let against = format!("lint --rev={head} --base={none} {options}");
    assert_eq!(stubbed.called(), [against, format!("plan --offline --push {none}..{head} {options}")]);
    site.repo.git(&["config", "phaseline.path", "x"]);
    site.repo.commit_file("a.txt", "2");
    assert_eq!(stubbed.called(), ["lint --staged --path=x"]);
}

#[test]
fn one_bad_branch_refuses_the_whole_push() {
    let stubbed = Stubbed::new();
    let (site, repo) = (&stubbed.site, &stubbed.site.repo);
    let good = repo.commit_file("a.txt", "1");
    let bad = repo.commit_file("a.txt", "2");
    stubbed.does(&format!(
        "[ $1 = plan ] || case \"$*\" in *{bad}*) echo 'web.yaml:7:3: error: no'; STUB_lint=1;; esac\n"
    ));
    let refused = site.push(&[&format!("{good}:refs/heads/main"), &format!("{bad}:refs/heads/side")]);
    assert!(!refused.status.success());
    for words in [
        "phaseline: side: refused:",
        "remote: web.yaml:7:3: error: no",
        "main: nothing would be rolled out",
        "as a whole",
    ] {
        assert!(err(&refused).contains(words), "{words}: {}", err(&refused));
    }
    assert_eq!((site.at_origin("main"), site.at_origin("side")), (None, None));

    // Only what is deployed has to be right, where the server says so.
    site.server(&["--add", "phaseline.branch", "main"]);
    site.server(&["--add", "phaseline.branch", "refs/heads/prod/eu"]);
    let warned = site.push(&[&format!("{bad}:refs/heads/mai"), &format!("{bad}:refs/heads/main2")]);
    assert!(warned.status.success(), "{}", err(&warned));
    assert!(err(&warned).contains("phaseline: mai: warning"), "{}", err(&warned));
    for branch in ["main", "prod/eu"] {
        assert!(!site.push(&[&format!("{bad}:refs/heads/{branch}")]).status.success(), "{branch}");
    }
}

#[test]
fn what_breaks_off_refuses_and_what_cannot_be_planned_too() {
    let stubbed = Stubbed::new();
    let site = &stubbed.site;
    site.repo.commit_file("a.txt", "1");
    for (does, words) in [
        ("STUB_lint=2", "refused"),
        ("STUB_plan=2; [ $1 != plan ] || echo 'cannot change volumeClaimTemplates'", "volumeClaimTemplates"),
        ("STUB_lint=3", "ended with 3"),
        ("kill -SEGV $$", "could not be checked"),
        ("STUB_plan=101", "ended with 101"),
        ("STUB_lint=126", "cannot be run"),
    ] {
        stubbed.does(&format!("{does}\n"));
        let refused = site.push(&["main"]);
        assert!(!refused.status.success(), "{does}");
        assert!(err(&refused).contains(words), "{does}: {}", err(&refused));
        assert_eq!(site.at_origin("main"), None, "{does}");
    }
    // Changes are no reason to refuse.
    stubbed.does("STUB_plan=1\n");
    assert!(site.push(&["main"]).status.success());
}

#[test]
fn who_knows_better_gets_past_what_is_wrong() {
    let stubbed = Stubbed::new();
    let site = &stubbed.site;
    site.repo.commit_file("a.txt", "1");
    stubbed.does("[ $1 = plan ] || echo 'web.yaml:7:3: error: no'; STUB_lint=1\n");
    let refused = site.push(&["main"]);
    assert!(!refused.status.success());
    assert!(err(&refused).contains("who knows better: git push -o phaseline.force"), "{}", err(&refused));
    // Other options are none of ours.
    assert!(!site.push(&["-o", "ci.skip", "-o", "phaseline.force=no", "main"]).status.success());
    let pushed = site.push(&["-o", "ci.skip", "-o", "phaseline.force", "main"]);
    assert!(pushed.status.success(), "{}", err(&pushed));
    for words in ["main: let in as told, though this is wrong", "web.yaml:7:3: error: no"] {
        assert!(err(&pushed).contains(words), "{words}: {}", err(&pushed));
    }
    assert_eq!(site.at_origin("main"), Some(site.repo.head()));
    // What could not be looked at at all is not let in, and the server may allow it to nobody.
    stubbed.does("STUB_lint=0\n");
    site.repo.commit_file("a.txt", "2");
    stubbed.does("STUB_lint=3\n");
    let broken = site.push(&["-o", "phaseline.force", "main"]);
    assert!(!broken.status.success() && !err(&broken).contains("knows better"), "{}", err(&broken));
    stubbed.does("STUB_lint=1\n");
    site.server(&["phaseline.force", "false"]);
    let never = site.push(&["-o", "phaseline.force", "main"]);
    assert!(!never.status.success() && !err(&never).contains("knows better"), "{}", err(&never));
}

#[test]
fn a_talkative_program_is_cut_short_and_does_not_eat_the_branches() {
    let stubbed = Stubbed::new();
    let site = &stubbed.site;
    site.repo.commit_file("a.txt", "1");
    stubbed.does("cat; i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i + 1)); done; STUB_lint=1\n");
    let refused = site.push(&["HEAD:one", "HEAD:two"]);
    let said = err(&refused);
    assert!(!refused.status.success());
    assert_eq!(said.matches("and 40 lines more").count(), 2, "{said}");
    assert!(said.contains("line 59") && !said.contains("line 60"), "{said}");
}

#[test]
fn names_of_branches_are_data() {
    let stubbed = Stubbed::new();
    let (site, repo) = (&stubbed.site, &stubbed.site.repo);
    repo.commit_file("a.txt", "1");
    let long = "x/".repeat(100) + "y";
    let names =
        ["$(touch x)", "`touch${IFS}x`", "a;touch", "'\"", "a&b|c", "%s%n", "--force", "\u{9b}31m", "日本", &long];
    for name in names {
        let name = name.replace(' ', "${IFS}");
        let pushed = site.push(&[&format!("HEAD:refs/heads/{name}")]);
        assert!(pushed.status.success(), "{name}: {}", err(&pushed));
        assert!(site.at_origin(&format!("refs/heads/{name}")).is_some(), "{name}");
        assert!(err(&pushed).contains("nothing would be rolled out"), "{name}: {}", err(&pushed));
        assert!(!err(&pushed).lines().any(|line| line.starts_with("remote: phaseline") && line.contains('\u{9b}')));
    }
    for folder in [repo.origin_path(), repo.work_path()] {
        assert!(!folder.join("x").exists() && !folder.join("touch").exists());
    }
}

#[test]
fn more_branches_than_can_be_looked_at_are_refused() {
    let stubbed = Stubbed::new();
    let site = &stubbed.site;
    site.repo.commit_file("a.txt", "1");
    let refs: Vec<String> = (0..51).map(|number| format!("HEAD:refs/heads/b{number}")).collect();
    let refs: Vec<&str> = refs.iter().map(String::as_str).collect();
    let refused = site.push(&refs);
    assert!(!refused.status.success());
    assert!(err(&refused).contains("push fewer at a time"), "{}", err(&refused));
    assert!(site.push(&refs[..50]).status.success());
}

#[test]
fn without_the_program_nothing_passes_unchecked() {
    let stubbed = Stubbed::new();
    let (site, repo) = (&stubbed.site, &stubbed.site.repo);
    repo.commit_file("a.txt", "1");
    let gone = repo.folder().join("gone").to_str().unwrap().to_owned();
    site.server(&["phaseline.binary", &gone]);
    let refused = site.push(&["main"]);
    assert!(!refused.status.success());
    for words in
        [&*gone, "not found on the server", "git config phaseline.binary", "git config phaseline.required false"]
    {
        assert!(err(&refused).contains(words), "{words}: {}", err(&refused));
    }
    assert_eq!(site.at_origin("main"), None);
    site.server(&["phaseline.required", "off"]);
    let passed = site.push(&["main"]);
    assert!(passed.status.success());
    assert!(err(&passed).contains("warning"), "{}", err(&passed));

    repo.git(&["config", "phaseline.binary", &gone]);
    let head = repo.head();
    let refused = site.try_commit(&["--allow-empty"]);
    assert!(!refused.status.success() && repo.head() == head);
    for words in [&*gone, "--no-verify", "git config phaseline.binary"] {
        assert!(err(&refused).contains(words), "{words}: {}", err(&refused));
    }
    assert!(site.try_commit(&["--allow-empty", "--no-verify"]).status.success());
    repo.git(&["config", "phaseline.required", "false"]);
    let passed = site.try_commit(&["--allow-empty"]);
    assert!(passed.status.success() && err(&passed).contains("warning"), "{}", err(&passed));
}

#[test]
fn the_hook_before_runs_first_and_has_its_say() {
    let stubbed = Stubbed::new();
    let (site, repo) = (&stubbed.site, &stubbed.site.repo);
    for (folder, name) in [("origin.git", "pre-receive"), ("origin.git", "post-receive"), ("work", "pre-commit")] {
        site.hooks_ok(&["uninstall", folder]);
        let hooks = if folder == "work" { "work/.git/hooks" } else { "origin.git/hooks" };
        let foreign = format!("#!/bin/sh\ncat >> '{}/{name}.read'\n[ ! -f '{0}/no' ]\n", repo.folder().display());
        executable(&repo.folder().join(hooks).join(name), &foreign);
        site.hooks_ok(&["install", folder, "--chain", "--hook", name]);
    }
    site.hooks_ok(&["install", "origin.git", "--chain"]);
    let stub = repo.folder().join("a stub");
    site.server(&["phaseline.binary", stub.to_str().unwrap()]);
    repo.git(&["config", "phaseline.binary", stub.to_str().unwrap()]);

    let head = repo.commit_file("a.txt", "1");
    stubbed.called();
    fs::write(repo.folder().join("no"), "").unwrap();
    assert!(!site.push(&["main"]).status.success());
    assert_eq!(stubbed.called(), Vec::<String>::new());
    assert!(!site.try_commit(&["--allow-empty"]).status.success());
    fs::remove_file(repo.folder().join("no")).unwrap();
    assert!(site.push(&["main"]).status.success());
    assert_eq!(stubbed.called().len(), 2);
    for name in ["pre-receive", "post-receive"] {
        let read = fs::read_to_string(repo.folder().join(format!("{name}.read"))).unwrap();
        assert!(read.ends_with(&format!("{} {head} refs/heads/main\n", "0".repeat(40))), "{name}: {read}");
    }
}

#[test]
fn every_shell_runs_them() {
    let shells: [&[&str]; 5] =
        [&["dash"], &["bash", "--posix"], &["busybox", "sh"], &["mksh"], &["yash", "-o", "posixly-correct"]];
    let mut ran = 0;
    for shell in shells {
        if Command::new(shell[0]).args(["-c", ":"]).output().is_err() {
            println!("{shell:?} is not here");
            continue;
        }
        ran += 1;
        let stubbed = Stubbed::new();
        let (site, repo) = (&stubbed.site, &stubbed.site.repo);
        let shebang = format!("#!/usr/bin/env -S {}", shell.join(" "));
        for path in ["origin.git/hooks/pre-receive", "origin.git/hooks/post-receive", "work/.git/hooks/pre-commit"] {
            let path = repo.folder().join(path);
            let text = fs::read_to_string(&path).unwrap();
            executable(&path, &text.replacen("#!/bin/sh", &shebang, 1));
        }
        repo.commit_file("a.txt", "1");
        assert_eq!(stubbed.called(), ["lint --staged"], "{shell:?}");
        site.server(&["phaseline.wake", "touch woken"]);
        stubbed.does("STUB_lint=1; echo why\n");
        let refused = site.push(&["main"]);
        assert!(!refused.status.success() && err(&refused).contains("why"), "{shell:?}: {}", err(&refused));
        stubbed.does("STUB_plan=1; echo so\n");
        let pushed = site.push(&["main"]);
        assert!(pushed.status.success() && err(&pushed).contains("so"), "{shell:?}: {}", err(&pushed));
        let by = Instant::now() + Duration::from_secs(10);
        while !repo.origin_path().join("woken").exists() {
            assert!(Instant::now() < by, "{shell:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert!(ran > 0, "no shell at all");
}

#[test]
fn the_program_on_the_path_is_found() {
    let stubbed = Stubbed::new();
    let repo = &stubbed.site.repo;
    repo.git(&["config", "--unset", "phaseline.binary"]);
    executable(&repo.folder().join("bin/phaseline"), STUB);
    let path = format!("{}:{}", repo.folder().join("bin").display(), path_without_phaseline().to_string_lossy());
    let mut command = crate::support::repo::hermetic(&repo.folder().join("home"));
    command.current_dir(repo.work_path()).args(["commit", "-q", "--allow-empty", "-m", "x"]).env("PATH", path);
    assert!(command.output().unwrap().status.success());
    let called = fs::read_to_string(repo.folder().join("bin/phaseline.called")).unwrap();
    assert_eq!(called, "lint --staged\n");
}
