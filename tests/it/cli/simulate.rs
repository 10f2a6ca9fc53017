//! `simulate`: the examples and commits of a repository, played with and without failures, in virtual time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::e2e::manifest::Set;
use crate::support::repo::Repo;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Runs `simulate` in a folder, with nothing of the machine's configuration.
fn simulate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.arg("simulate").args(arguments).current_dir(folder).env_clear().env("HOME", "/nonexistent");
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Holds a simulation's JSON to the schema that the program prints.
pub(crate) fn is_valid(simulation: &Value) -> Result<(), String> {
    let output = simulate(Path::new("/"), &["--schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("simulation.json", schema).unwrap();
    let schema = compiler.compile("simulation.json", &mut schemas).unwrap();
    schemas.validate(simulation, schema).map_err(|error| format!("{error:#}"))
}

#[track_caller]
fn json(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = simulate(folder, &[arguments, &["-o", "json"]].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    is_valid(&value).unwrap_or_else(|why| panic!("{why}\n{value:#}"));
    (output.status.code().unwrap(), value)
}

#[track_caller]
fn said(simulation: &Value, what: &str) -> f64 {
    let timeline = simulation["timeline"].as_array().unwrap();
    let found = timeline.iter().find(|entry| entry["what"].as_str().unwrap().contains(what));
    found.unwrap_or_else(|| panic!("{what}: {simulation:#}"))["seconds"].as_f64().unwrap()
}

fn set(image: &str, replicas: u32) -> String {
    Set::web(image).replicas(replicas).yaml()
}

const PLAN: &str = "apiVersion: phaseline.dev/v1alpha1
kind: RolloutPlan
metadata: {name: web}
spec:
  progressDeadlineSeconds: 120
  stages: [{name: canary, replicas: 1, pause: {}}, {name: rest, replicas: \"100%\", minReadySeconds: 30}]
";

/// Four commits: nginx:1, nginx:2, one that changes nothing, and an image that no registry has.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("web.yaml", set("nginx:1", 3)).write("rollout-plan.yaml", PLAN).commit("one");
    repo.write("web.yaml", set("nginx:2", 3)).commit("two");
    repo.write("README.md", "words").commit("words");
    repo.write("web.yaml", set("nginx:pull-me", 3)).commit("typo");
    repo
}

#[test]
fn every_example_ends_healthy_and_halts_where_a_pod_breaks() {
    for (example, pod, trouble) in [
        ("web", "web-1", "CrashLoopBackOff"),
        ("quorum", "etcd-1", "CrashLoopBackOff"),
        ("cache", "cache-1", "CrashLoopBackOff"),
    ] {
        let repo = format!("examples/{example}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (code, fine) = json(root, &["--repo", &repo]);
        assert_eq!((code, &fine["outcome"]), (0, &"Healthy".into()), "{fine:#}");
        let item = &fine["items"][0];
        assert_eq!((&item["ready"], &item["updated"]), (&item["replicas"], &item["replicas"]), "{fine:#}");
        assert_eq!(item["unavailable"]["most"], 1, "one at a time: {fine:#}");
        let (code, halted) = json(root, &["--repo", &repo, "--fail", &format!("{pod}=CrashLoop@30s")]);
        assert_eq!((code, &halted["outcome"]), (1, &"NotHealthy".into()), "{halted:#}");
        let item = &halted["items"][0];
        assert_eq!(item["phase"], "Degraded", "{halted:#}");
        assert_eq!(item["culprit"], format!("{pod}: {trouble}"), "{halted:#}");
        assert_eq!(halted["faults"][0]["struckSeconds"], 30.0, "{halted:#}");
        let (struck, halt) = (said(&halted, "CrashLoop strikes"), said(&halted, "halts: Degraded"));
        assert!(struck < halt, "{struck} {halt}");
        assert!(halted.get("etaSeconds").is_none());
    }
}

#[test]
fn the_halt_is_told_to_people() {
    let output = simulate(&examples(), &["--repo", "web", "--fail", "web-1=crashloopbackoff@30s"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [
        "fault    web-1 CrashLoop strikes",
        "stage    2/2 rest: partition 0, 3 pods",
        "daemon   halts: Degraded (ProgressDeadlineExceeded): web-1: CrashLoopBackOff",
        "--fail web-1=crashloopbackoff@30s: struck web-1 at 30s; halted after",
        "at most 1 of 3 pods at once",
        "ETA: none: it does not end Healthy",
    ] {
        assert!(said.contains(words), "{words}:\n{said}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let ask = |seed: &str| {
        let options = ["--repo", "cache", "--seed", seed, "--fail", "cache-7=NotReady@20s..50s", "-o", "json"];
        simulate(&examples(), &options).stdout
    };
    let first = ask("5");
    assert!(!first.is_empty());
    assert_eq!(String::from_utf8(first).unwrap(), String::from_utf8(ask("5")).unwrap());
}

#[test]
fn a_commit_begins_with_the_newest_earlier_one_that_differs() {
    let repo = repo();
    let (code, simulation) = json(&repo.work_path(), &["--offline", "HEAD~1", "--promote", "20s"]);
    assert_eq!(code, 0, "{simulation:#}");
    let assumed = simulation["assumptions"].to_string();
    assert!(assumed.contains("(one), installed and Healthy"), "{assumed}");
    let canary = said(&simulation, "1/2 canary: partition 2");
    let promoted = said(&simulation, "phaseline promote web");
    let rest = said(&simulation, "2/2 rest: partition 0");
    assert!(canary < promoted && promoted <= rest, "{simulation:#}");
    // A pod takes 2 s to end and 10 s to get Ready; nothing else is slow.
    assert!((11.9..13.0).contains(&said(&simulation, "Paused (StagePaused)")), "{simulation:#}");

    let (code, simulation) = json(&repo.work_path(), &["--offline"]);
    assert_eq!(code, 1, "{simulation:#}");
    assert!(simulation["assumptions"].to_string().contains("(words), installed and Healthy"), "{simulation:#}");
    let item = &simulation["items"][0];
    assert_eq!(item["culprit"], "web-2: ImagePullBackOff", "{simulation:#}");
    assert_eq!((&item["ready"], &item["updated"]), (&2.into(), &1.into()), "{simulation:#}");

    // The first one is an install: there is nothing before it.
    let (code, simulation) = json(&repo.work_path(), &["--offline", "HEAD~3"]);
    assert_eq!((code, &simulation["assumptions"][0]), (0, &"nothing is in force: every set is new".into()));
}

#[test]
fn nobody_promotes_where_nobody_is_to() {
    let repo = repo();
    let (code, simulation) = json(&repo.work_path(), &["--offline", "HEAD~1", "--promote", "never"]);
    let item = &simulation["items"][0];
    assert_eq!((code, &item["phase"], &item["reason"]), (1, &"Paused".into(), &"StagePaused".into()));
    assert_eq!(item["waiting"], "for `phaseline promote web`");
}

#[test]
fn the_work_tree_is_played_and_left_alone() {
    let repo = Repo::new();
    repo.write("web.yaml", set("nginx:1", 3)).write("rollout-plan.yaml", PLAN).commit("one");
    repo.write("web.yaml", set("nginx:3", 3));
    let work = repo.work_path();
    let before = repo.git(&["status", "--porcelain", "--ignored"]);
    let (code, simulation) = json(&work, &["--offline", "--worktree", "--fail", "web-2=ImagePullBackOff@1s"]);
    assert_eq!((code, &simulation["commit"]["id"]), (1, &"".into()), "{simulation:#}");
    assert_eq!(repo.git(&["status", "--porcelain", "--ignored"]), before);
    assert!(!work.join(".git/phaseline-history").exists());
}

#[test]
fn a_pod_that_gets_well_again_is_waited_for() {
    let repo = repo();
    let fail = ["--offline", "HEAD~1", "--fail", "web-2=NotReady@20s..50s,new"];
    let (code, simulation) = json(&repo.work_path(), &fail);
    assert_eq!(code, 0, "{simulation:#}");
    let fault = &simulation["faults"][0];
    assert_eq!((&fault["struckSeconds"], &fault["pod"]), (&20.0.into(), &"web-2".into()), "{fault}");
    assert!(fault["answer"].as_str().unwrap().starts_with("the rollout bore it"), "{fault}");
    let spans = simulation["items"][0]["unavailable"]["intervals"].as_array().unwrap();
    assert!(spans.iter().any(|span| span["fromSeconds"] == 20.0), "{spans:?}");
}

#[test]
fn a_failure_that_never_strikes_is_no_success() {
    let repo = repo();
    // No pod of that name is made anew after the rollout.
    let fail = ["--offline", "HEAD~1", "--fail", "web-0=Unschedulable@1h"];
    let (code, simulation) = json(&repo.work_path(), &fail);
    assert_eq!((code, &simulation["outcome"]), (1, &"Healthy".into()), "{simulation:#}");
    assert!(simulation["faults"][0].get("struckSeconds").is_none());
    let output = simulate(&repo.work_path(), &fail);
    assert!(text(&output).contains("it never struck"), "{}", text(&output));
}

#[test]
fn slow_pods_take_their_time() {
    let repo = repo();
    let quick = json(&repo.work_path(), &["--offline", "HEAD~1", "--slow", "1s"]).1;
    let slow = json(&repo.work_path(), &["--offline", "HEAD~1", "--slow", "1s", "--slow", "web-2=60s"]).1;
    let ready = |it: &Value| said(it, "Paused (StagePaused)");
    assert!(
        (2.9..4.0).contains(&ready(&quick)) && (61.9..63.0).contains(&ready(&slow)),
        "{} {}",
        ready(&quick),
        ready(&slow)
    );
}

#[test]
fn a_restart_is_played_in_place_of_a_change() {
    let repo = repo();
    let (code, simulation) = json(&repo.work_path(), &["--offline", "--restart", "HEAD~2"]);
    assert_eq!(code, 0, "{simulation:#}");
    said(&simulation, "phaseline restart web");
    said(&simulation, "1/2 canary: partition 2");
}

#[test]
fn what_cannot_be_played_is_refused_with_the_way_out() {
    let repo = repo();
    let work = repo.work_path();
    fs::create_dir(repo.folder().join("empty")).unwrap();
    let empty = repo.folder().join("empty");
    for (arguments, code, words) in [
        (&["--offline", "HEAD~1", "--fail", "web-9=CrashLoop@1s"][..], 2, "there are web-0 to web-2"),
        (&["--offline", "HEAD~1", "--fail", "web-1=Boom@1s"], 2, "`Boom` is no failure; there are ImagePullBackOff,"),
        (&["--offline", "HEAD~1", "--fail", "web-1@1s"], 2, "is not POD=REASON@TIME"),
        (&["--offline", "HEAD~1", "--fail", "web-1=Failed@soon"], 2, "is no duration"),
        (&["--offline", "HEAD~1", "--slow", "web-9=1s"], 2, "there are web-0 to web-2"),
        (&["--offline", "nowhere"], 2, "nowhere"),
        (&["--repo", empty.to_str().unwrap()], 2, "there is no StatefulSet to play"),
        (&["--repo", "/nonexistent/folder"], 2, "/nonexistent/folder"),
        (&["--offline", "HEAD~1", "--timeout", "5s"], 1, "ETA: none: still going after"),
    ] {
        let output = simulate(&work, arguments);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    repo.write("web.yaml", "kind: StatefulSet\napiVersion: apps/v1\nmetadata: {name: web}\nspec: {replicas: -1}\n");
    repo.commit("broken");
    let output = simulate(&work, &["--offline"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("web.yaml"), "{}", text(&output));
}

#[test]
fn the_schema_refuses_what_it_does_not_know() {
    let (_, mut simulation) = json(&examples(), &["--repo", "web"]);
    simulation["items"][0]["colour"] = "blue".into();
    assert!(is_valid(&simulation).is_err(), "a key that the schema does not name is noticed");
}

#[test]
fn every_kubernetes_plays() {
    for version in ["1.33", "1.36", "1.37"] {
        let (code, simulation) = json(&examples(), &["--repo", "cache", "--kubernetes", version]);
        assert_eq!((code, &simulation["kubernetes"]), (0, &version.into()), "{simulation:#}");
    }
}
