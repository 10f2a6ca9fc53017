//! Commands that need no cluster: `render` and `hash`, over files, folders, standard input and commits.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::repo::Repo;

/// Runs the program in a folder, with nothing of the machine's configuration.
fn run(folder: &Path, arguments: &[&str], input: Option<&[u8]>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that reads nothing may be gone already.
    _ = child.stdin.take().unwrap().write_all(input.unwrap_or_default());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}\n{}", out(output), err(output)))
}

const SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx, args: [a && b]}]}
";

#[test]
fn render_prints_documents_as_they_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: v1, kind: Service, metadata: {{name: web}}}}\n- {}",
        SET.trim_end().replace('\n', "\n  ")
    );
    std::fs::write(folder.path().join("list.yaml"), &list).unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {}\n").unwrap();
    let output = run(folder.path(), &["render", "list.yaml", "-n", "prod"], None);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    let lines: Vec<String> = out(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines[0], r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}"#);
    assert!(lines[1].contains(r#""args":["a \u0026\u0026 b"]"#), "as Go writes it: {}", lines[1]);
    assert!(lines[1].contains(r#""metadata":{"name":"web","namespace":"prod"}"#), "{}", lines[1]);
    let all = run(folder.path(), &["render", "."], None);
    assert_eq!(all.status.code(), Some(1));
    assert!(err(&all).starts_with("bad.yaml:1:"), "{}", err(&all));
    assert_eq!(out(&all).lines().count(), 2, "the others are printed all the same");
    let again = run(folder.path(), &["render", "-", "-o", "yaml"], Some(list.as_bytes()));
    let read = run(folder.path(), &["render", "-"], Some(&again.stdout));
    let direct = run(folder.path(), &["render", "list.yaml"], None);
    assert_eq!(out(&read), out(&direct), "the YAML that is printed is read back alike");
}

#[test]
fn render_raw_takes_any_yaml_and_stops_where_kubectl_stops() {
    let folder = tempfile::tempdir().unwrap();
    let raw = |text: &str| run(folder.path(), &["render", "--raw", "-"], Some(text.as_bytes()));
    let good = raw("a: 9007199254740993\n---\n- 1\n- null\n---\nplain\n---\nkind: List\nitems: [{a: 1}]\n");
    assert_eq!(
        (good.status.code(), out(&good).as_str()),
        (Some(0), "{\"a\":9007199254740993}\n[1,null]\n\"plain\"\n{\"items\":[{\"a\":1}],\"kind\":\"List\"}\n")
    );
    let bad = raw("a: 1\n---\nb: [\n---\nc: 3\n");
    assert_eq!((bad.status.code(), out(&bad).as_str()), (Some(1), "{\"a\":1}\n"));
    assert!(err(&bad).starts_with("-:"), "{}", err(&bad));
}

#[test]
fn hash_names_what_kubernetes_will_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("web.yaml"), SET).unwrap();
    let at = |version: &str| {
        let list = json(&run(folder.path(), &["hash", "web.yaml", "-o", "json", "--kubernetes", version], None));
        assert_eq!((&list["kind"], &list["kubernetes"]), (&"HashList".into(), &version.into()));
        list["items"][0].clone()
    };
    let (new, old) = (at("1.36"), at("1.33"));
    assert_eq!((&new["name"], &new["file"], &new["line"]), (&"web".into(), &"web.yaml".into(), &1.into()));
    assert!(new.get("namespace").is_none(), "none is stated: {new}");
    assert_eq!(new["hash"], old["hash"], "one template has one hash");
    assert_ne!(new["controllerRevision"], old["controllerRevision"]);
    assert_eq!(new["spec"]["template"]["spec"]["restartPolicy"], "Always");
    assert_eq!(old["spec"]["template"]["metadata"]["creationTimestamp"], Value::Null);
    let table = run(folder.path(), &["hash", "."], None);
    let hash = &new["hash"].as_str().unwrap()[..10];
    assert!(out(&table).starts_with("NAMESPACE   NAME   HASH"), "{}", out(&table));
    assert!(out(&table).contains(hash) && out(&table).contains("web.yaml:1"), "{}", out(&table));
    let template = out(&run(folder.path(), &["hash", "web.yaml", "--defaulted"], None));
    assert!(template.starts_with(&format!("# web: hash {hash}, web-")), "{template}");
    assert!(template.contains("terminationGracePeriodSeconds: 30"), "{template}");
}

#[test]
fn hash_reads_commits_and_says_what_is_ambiguous() {
    let repo = Repo::new();
    repo.write("sets/web.yaml", SET);
    repo.commit("one");
    repo.write("sets/web.yaml", SET.replace("nginx", "nginx:2"));
    repo.write("sets/odd.yaml", "a: [\n");
    repo.commit("two");
    repo.git(&["branch", "sets"]);
    let work = repo.work_path();
    let first = json(&run(&work, &["hash", "HEAD~1", "-o", "json"], None));
    let second = run(&work, &["hash", "main", "-o", "json"], None);
    assert_eq!(second.status.code(), Some(1), "one file cannot be read");
    assert!(err(&second).starts_with("sets/odd.yaml:"), "{}", err(&second));
    assert_ne!(first["items"][0]["hash"], json(&second)["items"][0]["hash"]);
    assert_eq!(first["items"][0]["file"], "sets/web.yaml");
    let both = run(&work, &["hash", "sets", "-o", "json"], None);
    assert!(err(&both).starts_with("note: sets is on disk, and a commit goes by that name too"), "{}", err(&both));
    assert_eq!(json(&both)["items"].as_array().unwrap().len(), 1);
    let neither = run(&work, &["hash", "nothing"], None);
    assert_eq!(neither.status.code(), Some(2));
    assert!(err(&neither).starts_with("error: \"nothing\" is no file, no folder and no commit"), "{}", err(&neither));
    let elsewhere = run(repo.folder(), &["hash", "HEAD", "--repo", "origin.git", "-o", "json"], None);
    assert_eq!(elsewhere.status.code(), Some(2), "an empty repository has no HEAD");
    repo.push();
    let bare = run(repo.folder(), &["hash", "HEAD~1", "--repo", "origin.git", "-o", "json"], None);
    assert_eq!(json(&bare), first);
}
