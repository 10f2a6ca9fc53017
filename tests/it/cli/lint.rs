//! `lint` of what a repository holds: commits, the index, the work tree, and what changed in them.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::repo::Repo;

const SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1'}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

fn lint_in(dir: &Path, repo: &Repo, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.arg("lint").args(arguments).current_dir(dir).env_clear();
    command.env("HOME", repo.folder()).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap()
}

fn lint(repo: &Repo, arguments: &[&str]) -> Output {
    lint_in(&repo.work_path(), repo, arguments)
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn assert_clean(output: &Output) {
    assert_eq!((output.status.code(), out(output).as_str()), (Some(0), ""), "{}", err(output));
}

#[test]
fn a_revision_is_compared_with_its_first_parent() {
    let repo = Repo::new();
    let first = repo.commit_file("a/web.yaml", SET);
    repo.commit_file("a/web.yaml", &SET.replace("nginx:1", "nginx:2"));
    assert_clean(&lint(&repo, &["HEAD"]));
    repo.commit_file("b/web.yaml", &SET.replace("storage: 1Gi", "storage: 2Gi"));
    repo.remove("a/web.yaml");
    let last = repo.commit("move and grow");
    let bad = lint(&repo, &["HEAD~1..HEAD"]);
    assert_eq!(bad.status.code(), Some(0), "the parent named the set twice and was no set: {}", out(&bad));
    let bad = lint(&repo, &["--rev", &last, "--base", "HEAD~3"]);
    assert_eq!(bad.status.code(), Some(1));
    let said = out(&bad);
    let place =
        "b/web.yaml:12:74: error: `spec.volumeClaimTemplates[0].spec.resources.requests.storage` cannot be changed";
    assert!(said.starts_with(place), "{said}");
    assert!(
        said.contains("`\"1Gi\"` -> `\"2Gi\"`")
            && said.contains("`kubectl patch pvc data-web-0 -n default -p '{\"spec\""),
        "{said}"
    );
    // From anywhere, also of the bare repository that was pushed to.
    repo.push();
    let bare = lint_in(repo.folder(), &repo, &["main", "--repo", "origin.git", "--base", &first]);
    assert_eq!((bare.status.code(), out(&bare)), (Some(1), said));
    assert_clean(&lint(&repo, &[&first]));
}

#[test]
fn what_is_staged_is_compared_with_head_and_nothing_else_is_read() {
    let repo = Repo::new();
    repo.commit_file("web.yaml", SET);
    assert_clean(&lint(&repo, &["--staged"]));
    repo.write("web.yaml", SET.replace("serviceName: web", "serviceName: db"));
    assert_clean(&lint(&repo, &["--staged"]));
    let disk = lint(&repo, &[]);
    assert!(out(&disk).starts_with("web.yaml:5:16: error: `spec.serviceName` cannot be changed"), "{}", out(&disk));
    repo.git(&["add", "web.yaml"]);
    let objects = repo.git(&["count-objects"]);
    let staged = lint(&repo, &["--staged"]);
    assert_eq!((staged.status.code(), out(&staged)), (Some(1), out(&disk)));
    assert_eq!(repo.git(&["count-objects"]), objects, "nothing is written");
    // The first commit of all.
    let fresh = Repo::new();
    fresh.write("web.yaml", SET.replace("serviceName: web", "replicas: two")).git(&["add", "."]);
    assert_eq!(lint(&fresh, &["--staged"]).status.code(), Some(1));
    fresh.write("web.yaml", SET).git(&["add", "."]);
    assert_clean(&lint(&fresh, &["--staged"]));
}

#[test]
fn sets_that_go_or_are_renamed_are_worth_a_warning() {
    let repo = Repo::new();
    repo.commit_file("web.yaml", SET);
    repo.commit_file("web.yaml", &SET.replace("{name: web}", "{name: www}"));
    let renamed = lint(&repo, &["HEAD"]);
    assert_eq!(renamed.status.code(), Some(0));
    assert!(out(&renamed).contains("web.yaml:1: warning: no file names StatefulSet default/web any more"));
    assert!(out(&renamed).contains("renamed to default/www?"), "{}", out(&renamed));
    repo.remove("web.yaml");
    repo.commit("go");
    assert!(out(&lint(&repo, &["HEAD"])).contains("web.yaml: warning: no file names StatefulSet default/www any more"));
    assert_clean(&lint(&repo, &["."]));
}

#[test]
fn paths_and_revisions_of_one_name_are_told_apart() {
    let repo = Repo::new();
    repo.commit_file("main/web.yaml", &SET.replace("replicas", "x"));
    let both = lint(&repo, &["main"]);
    assert!(err(&both).contains("main is a path and a revision: the path is checked; for the other, --rev main"));
    assert_eq!(out(&lint(&repo, &["--rev", "main"])), "");
    let neither = lint(&repo, &["nothing"]);
    assert_eq!(neither.status.code(), Some(2));
    assert!(err(&neither).contains("nothing is no file or folder, and no revision either"), "{}", err(&neither));
    let nowhere = lint_in(repo.folder(), &repo, &["--staged"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(err(&nowhere).contains("--staged needs a Git repository"), "{}", err(&nowhere));
}

#[test]
fn paths_in_annotations_are_those_of_the_repository() {
    let repo = Repo::new();
    let name = "deploy/a,b:c%/web.yaml";
    repo.write(name, SET.replace("serviceName: web", "replicas: two"));
    let output = lint(&repo, &["deploy", "-o", "github"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        out(&output).starts_with("::error file=deploy/a%2Cb%3Ac%25/web.yaml,line=5,col=13,title="),
        "{}",
        out(&output)
    );
    let report: Value = serde_json::from_str(&out(&lint(&repo, &["deploy", "-o", "gitlab"]))).unwrap();
    assert_eq!(report[0]["location"]["path"], name);
    repo.commit("names of all kinds");
    let again: Value = serde_json::from_str(&out(&lint(&repo, &["HEAD", "-o", "gitlab"]))).unwrap();
    assert_eq!(again[0]["fingerprint"], report[0]["fingerprint"]);
}

#[test]
fn odd_files_are_named_and_stop_nothing() {
    let repo = Repo::new();
    repo.write("web.yaml", SET);
    repo.write("image.yaml", [0_u8, 159, 146, 150].repeat(100));
    repo.write("big.yaml", vec![b'#'; 2 << 20]);
    let hostile = std::ffi::OsStr::from_bytes(b"e\x1b[31m\xff.yaml");
    fs::write(repo.work_path().join(hostile), "a: [").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", repo.work_path().join("link.yaml")).unwrap();
    repo.commit("odd");
    for arguments in [&["HEAD"][..], &["."], &["--staged"]] {
        let output = lint(&repo, arguments);
        let said = out(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {}", err(&output));
        for words in [
            "image.yaml",
            "big.yaml: error: 2097152 bytes",
            "link.yaml: warning: a symbolic link",
            "\u{fffd}[31m\u{fffd}.yaml",
        ] {
            assert!(said.contains(words), "{arguments:?} {words}: {said}");
        }
        assert!(!said.contains('\x1b'));
    }
}

#[test]
fn a_push_is_checked_before_it_is_let_in() {
    let repo = Repo::new();
    repo.commit_file("web.yaml", SET);
    repo.push();
    let hook = repo.origin_path().join("hooks/pre-receive");
    let program = env!("CARGO_BIN_EXE_phaseline");
    let script =
        format!("#!/bin/sh\nwhile read old new ref; do {program} lint --rev $new --base $old 2>&1 || exit 1; done\n");
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.commit_file("web.yaml", &SET.replace("storage: 1Gi", "storage: 2Gi"));
    let refused = repo.run(&repo.work_path(), &["push", "origin", "HEAD"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(said.contains("web.yaml:12:74: error: `spec.volumeClaimTemplates[0]"), "{said}");
    repo.commit_file("web.yaml", &SET.replace("nginx:1", "nginx:2"));
    repo.push();
}

/// A plan of a canary and the rest, for the sets of its folder.
const PLAN: &str = "apiVersion: phaseline.dev/v1alpha1
kind: RolloutPlan
spec: {stages: [{replicas: 1}, {replicas: \"100%\"}]}
";

#[test]
fn a_set_without_a_plan_is_said_to_roll_in_one_stage() {
    let repo = Repo::new();
    let set = SET.replace("spec:\n  service", "spec:\n  replicas: 3\n  service");
    let plan = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        command.arg("plan").args(arguments).current_dir(repo.work_path()).env_clear().env("HOME", repo.folder());
        out(&command.output().unwrap())
    };
    repo.write("a/rollout-plan.yaml", PLAN);
    repo.commit_file("a/web.yaml", &set);
    let planned = lint(&repo, &["HEAD"]);
    assert_clean(&planned);
    assert!(!err(&planned).contains("no plan"), "{}", err(&planned));
    // The plan goes: that is allowed, and said aloud.
    repo.remove("a/rollout-plan.yaml");
    repo.write("a/web.yaml", set.replace("nginx:1", "nginx:2")).commit("without");
    let without = lint(&repo, &["HEAD"]);
    let said = out(&without);
    assert_eq!(without.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("a/web.yaml:1: warning: default/web has no plan any more (a/rollout-plan.yaml:1"),
        "{said}"
    );
    assert!(err(&without).contains("no plan: all pods in one stage: default/web\n"), "{}", err(&without));
    let shown = plan(&["HEAD~1..HEAD"]);
    for words in ["  no plan: all pods in one stage\n", "rolled out in one stage", "it had a plan in commit"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // A partition in the manifest stages it as well.
    repo.write(
        "a/web.yaml",
        SET.replace("spec:\n  service", "spec:\n  updateStrategy: {rollingUpdate: {partition: 1}}\n  service"),
    );
    let by_hand = lint(&repo, &["."]);
    assert!(!err(&by_hand).contains("no plan") && !out(&by_hand).contains("no plan"), "{}", out(&by_hand));
}

#[test]
fn a_plan_that_is_none_is_an_error_everywhere() {
    for (file, text, words) in [
        (
            "a/rollout-plan.yaml",
            PLAN.replace("RolloutPlan", "Rolloutplan"),
            "a/rollout-plan.yaml:2:7: error: there is no kind `Rolloutplan`\n  hint: did you mean `kind: RolloutPlan`?",
        ),
        (
            "a/rollout-plan.yaml",
            String::new(),
            "a/rollout-plan.yaml: error: the file is a plan by its name, and holds none",
        ),
        (
            "a/p.yaml",
            PLAN.replace("spec: {", "spec: {workloadRef: {name: wbe}, "),
            "a/p.yaml:3:28: error: the plan is for `default/wbe`, and no file names such a StatefulSet\n  hint: did you mean `workloadRef: {name: web}`?",
        ),
    ] {
        let repo = Repo::new();
        repo.write(file, text);
        repo.commit_file("a/web.yaml", SET);
        for arguments in [&["HEAD"][..], &["."], &["--staged"]] {
            let output = lint(&repo, arguments);
            assert_eq!(output.status.code(), Some(1), "{}", out(&output));
            assert!(out(&output).contains(words), "{arguments:?} {words}\n{}", out(&output));
        }
    }
    // A plan that is a link is not read: the set must not roll without it.
    let repo = Repo::new();
    repo.commit_file("a/web.yaml", SET);
    std::os::unix::fs::symlink("../plan.txt", repo.work_path().join("a/rollout-plan.yaml")).unwrap();
    repo.commit("a link");
    for arguments in [&["HEAD"][..], &["."]] {
        let output = lint(&repo, arguments);
        assert_eq!(output.status.code(), Some(1), "{}", out(&output));
        assert!(out(&output).contains("the plan of default/web cannot be used"), "{}", out(&output));
    }
}
