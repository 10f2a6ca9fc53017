//! `phaseline hooks install` and `uninstall`: what is written where, and what is never lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Site, err, executable};

fn script(name: &str) -> String {
    fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks").join(name)).unwrap()
}

#[test]
fn a_bare_repository_gets_the_servers_hooks_and_a_work_tree_the_committers() {
    let site = Site::new();
    let hooks = site.repo.origin_path().join("hooks");
    let said = site.hooks_ok(&["install", "origin.git"]);
    assert_eq!(said.lines().map(|line| line.rsplit(' ').next().unwrap()).collect::<Vec<_>>(), ["installed"; 2]);
    for name in ["pre-receive", "post-receive"] {
        assert_eq!(fs::read_to_string(hooks.join(name)).unwrap(), script(name));
        assert_eq!(fs::metadata(hooks.join(name)).unwrap().permissions().mode() & 0o777, 0o755);
    }
    assert!(!hooks.join("pre-commit").exists());
    // It is not on the PATH of this test: the hooks are told where it is.
    assert_eq!(site.server(&["phaseline.binary"]), env!("CARGO_BIN_EXE_phaseline"));

    fs::create_dir_all(site.repo.work_path().join("a/b")).unwrap();
    site.hooks_ok(&["install", "work/a/b"]);
    let hooks = site.repo.work_path().join(".git/hooks");
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), script("pre-commit"));
    assert!(!hooks.join("pre-receive").exists());
}

#[test]
fn installing_again_changes_nothing_and_mends_what_was_edited() {
    let site = Site::new();
    site.hooks_ok(&["install", "origin.git"]);
    let said = site.hooks_ok(&["install", "origin.git"]);
    assert_eq!(said.matches("unchanged").count(), 2, "{said}");
    let hook = site.repo.origin_path().join("hooks/pre-receive");
    fs::write(&hook, script("pre-receive").replace("set -u", "exit 0")).unwrap();
    let said = site.hooks_ok(&["install", "origin.git"]);
    assert!(said.contains("updated"), "{said}");
    assert_eq!(fs::read_to_string(&hook).unwrap(), script("pre-receive"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    site.hooks_ok(&["install", "origin.git"]);
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o755);

    let said = site.hooks_ok(&["uninstall", "origin.git"]);
    assert_eq!(said.matches("removed").count(), 2, "{said}");
    let left: Vec<_> = fs::read_dir(site.repo.origin_path().join("hooks")).unwrap().flatten().collect();
    assert!(left.iter().all(|it| it.file_name().to_string_lossy().ends_with(".sample")), "{left:?}");
    assert!(!site.repo.run(&site.repo.origin_path(), &["config", "phaseline.binary"]).status.success());
    assert_eq!(site.hooks_ok(&["uninstall", "origin.git"]), "");
}

#[test]
fn somebody_elses_hook_is_never_lost() {
    const FOREIGN: &str = "#!/bin/sh\necho mine >> mine.log\n";
    let site = Site::new();
    let hooks = site.repo.origin_path().join("hooks");
    executable(&hooks.join("post-receive"), FOREIGN);
    let refused = site.hooks(&["install", "origin.git"]);
    assert_eq!(refused.status.code(), Some(1));
    for word in ["post-receive", "--chain", "--force"] {
        assert!(err(&refused).contains(word), "{word}: {}", err(&refused));
    }
    assert!(!hooks.join("pre-receive").exists(), "all or none");
    assert_eq!(fs::read_to_string(hooks.join("post-receive")).unwrap(), FOREIGN);

    site.hooks_ok(&["install", "origin.git", "--chain"]);
    assert_eq!(fs::read_to_string(hooks.join("post-receive.chained")).unwrap(), FOREIGN);
    site.hooks_ok(&["uninstall", "origin.git"]);
    assert_eq!(fs::read_to_string(hooks.join("post-receive")).unwrap(), FOREIGN);
    assert!(!hooks.join("post-receive.chained").exists());

    site.hooks_ok(&["install", "origin.git", "--force"]);
    assert_eq!(fs::read_to_string(hooks.join("post-receive.before-phaseline")).unwrap(), FOREIGN);
    // Another one in its place: there is room for one.
    executable(&hooks.join("post-receive"), "#!/bin/sh\necho another\n");
    let refused = site.hooks(&["install", "origin.git", "--force"]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert_eq!(fs::read_to_string(hooks.join("post-receive.before-phaseline")).unwrap(), FOREIGN);
    assert_eq!(fs::read_to_string(hooks.join("post-receive")).unwrap(), "#!/bin/sh\necho another\n");
}

#[test]
fn a_hook_that_is_a_link_is_not_followed() {
    let site = Site::new();
    let target = site.program("shared-hook", "#!/bin/sh\nexit 0\n");
    let hook = site.repo.work_path().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &hook).unwrap();
    assert_eq!(site.hooks(&["install", "work"]).status.code(), Some(1));
    site.hooks_ok(&["install", "work", "--force"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "#!/bin/sh\nexit 0\n");
    assert!(fs::symlink_metadata(&hook).unwrap().is_file());
}

#[test]
fn hooks_are_written_where_git_looks_for_them() {
    let site = Site::new();
    site.repo.commit_file("a.txt", "1");
    // A work tree beside it shares the hooks of the repository.
    site.repo.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    site.hooks_ok(&["install", "linked"]);
    assert!(site.repo.work_path().join(".git/hooks/pre-commit").exists());
    site.hooks_ok(&["uninstall", "linked"]);
    assert!(!site.repo.work_path().join(".git/hooks/pre-commit").exists());
    // A folder of one's own, below the work tree.
    site.repo.git(&["config", "core.hooksPath", "tools/my hooks"]);
    site.hooks_ok(&["install", "work"]);
    assert!(site.repo.work_path().join("tools/my hooks/pre-commit").exists());
    // Hooks switched off.
    site.repo.git(&["config", "core.hooksPath", "/dev/null"]);
    let refused = site.hooks(&["install", "work"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("hooks are off"), "{}", err(&refused));
    // A folder for every repository of the user.
    site.repo.git(&["config", "--unset", "core.hooksPath"]);
    fs::write(site.repo.folder().join("home/.gitconfig"), "[core]\n\thooksPath = ~/hooks\n").unwrap();
    let refused = site.hooks(&["install", "work"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("more than this repository"), "{}", err(&refused));
    site.hooks_ok(&["install", "work", "--force"]);
    assert!(site.repo.folder().join("home/hooks/pre-commit").exists());
}

#[test]
fn only_the_hook_that_is_asked_for_and_only_in_a_repository() {
    let site = Site::new();
    site.hooks_ok(&["install", "work", "--hook", "pre-receive"]);
    let hooks = site.repo.work_path().join(".git/hooks");
    assert!(hooks.join("pre-receive").exists() && !hooks.join("pre-commit").exists());
    let nowhere = site.hooks(&["install", "/"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", err(&nowhere));
    assert!(err(&nowhere).contains("no repository at /"), "{}", err(&nowhere));
    fs::write(site.repo.folder().join("a file"), "").unwrap();
    for command in ["install", "uninstall"] {
        for (folder, words) in [("plain", "there is no folder plain"), ("a file", "a file is a file, and no folder")] {
            let missing = site.hooks(&[command, folder]);
            assert_eq!(missing.status.code(), Some(2), "{}", err(&missing));
            assert!(err(&missing).contains(words), "{command}: {}", err(&missing));
        }
    }
}
