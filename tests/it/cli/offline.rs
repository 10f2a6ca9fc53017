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

/// Documents that are refused though kubectl reads them, each with the reason that is given.
const STRICT: [(&str, &str); 3] = [("doc_end2", "end of the document"), ("dup_type", ""), ("key_quoted_nospace", "")];

#[test]
fn render_raw_reads_what_kubectl_reads_and_refuses_what_it_refuses() {
    use base64::Engine as _;
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../data/yaml-cases.json")).unwrap();
    assert_eq!(cases.len(), 144);
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let bytes = match case["yaml_base64"].as_str() {
            Some(text) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
            None => case["yaml"].as_str().unwrap().as_bytes().to_vec(),
        };
        let output = run(folder.path(), &["render", "--raw", "-"], Some(&bytes));
        let printed = out(&output);
        let code = output.status.code();
        let strict = STRICT.iter().find(|(strict, _)| *strict == name);
        let fine = match (case["json"].as_str(), strict) {
            (Some(_), Some((_, reason))) => code == Some(1) && printed.is_empty() && err(&output).contains(reason),
            // The recorded text is that of the first document; what was JSON was recorded as it was written.
            (Some(json), None) => code == Some(0) && same(printed.lines().next().unwrap_or_default(), json),
            (None, _) => code == Some(1) && printed.is_empty() && err(&output).starts_with("-"),
        };
        if !fine {
            wrong.push(format!("{name} {code:?}: {printed}{}\n  expected {}", err(&output), case["json"]));
        }
    }
    assert!(wrong.is_empty(), "{} of 144:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether two texts of JSON are alike: letter by letter, else number by number (`-0` and `0`, `1e2` and `100`).
fn same(ours: &str, recorded: &str) -> bool {
    fn alike(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| alike(value, other)))
            }
            (one, other) => one == other,
        }
    }
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    // What was JSON was recorded as it was written.
    let verbatim = recorded.contains(['.', 'e', '\\', '\t']) || recorded.contains("-0") || recorded.contains(": ");
    ours == recorded || (verbatim && alike(&value(ours), &value(recorded)))
}

#[test]
fn hash_gives_what_real_control_planes_gave() {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrong, mut seen) = (Vec::new(), [0, 0]);
    for line in include_str!("../../data/revision-cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (id, yaml) = (case["id"].as_str().unwrap(), case["yaml"].as_str().unwrap());
        for (index, (version, recorded)) in [("1.36", "1.36.3"), ("1.33", "1.33.13")].into_iter().enumerate() {
            let Some(revision) = case[recorded]["revision"].as_str() else { continue };
            seen[index] += 1;
            let arguments = ["hash", "-", "-o", "json", "--kubernetes", version];
            let output = run(folder.path(), &arguments, Some(yaml.as_bytes()));
            let list: Value = serde_json::from_slice(&output.stdout).unwrap();
            let item = &list["items"][0];
            let spec = match &case[recorded]["spec"] {
                Value::String(_) => as_1_33_writes_it(case["1.36.3"]["spec"].clone()),
                spec => spec.clone(),
            };
            if item["controllerRevision"] != revision || item["spec"] != spec {
                let same = item["spec"] == spec;
                wrong.push(format!(
                    "{id} {version}: {} for {revision}, spec {same}\n{}",
                    item["controllerRevision"],
                    err(&output)
                ));
            }
        }
    }
    assert_eq!(seen, [95, 105], "the sets that server-side apply accepted");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The spec of 1.36 with what only 1.33 writes into it.
fn as_1_33_writes_it(mut spec: Value) -> Value {
    let mark = |object: &mut Value| object["metadata"]["creationTimestamp"] = Value::Null;
    mark(&mut spec["template"]);
    for list in ["/volumeClaimTemplates", "/template/spec/volumes"] {
        for item in spec.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            match item.pointer_mut("/ephemeral/volumeClaimTemplate") {
                Some(claim) => mark(claim),
                None if list == "/volumeClaimTemplates" => mark(item),
                None => {}
            }
        }
    }
    spec
}

#[test]
fn five_hundred_sets_are_hashed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..500 {
        let set = SET.replace("{name: web}", &format!("{{name: web-{number}}}"));
        std::fs::write(folder.path().join(format!("{number}.yaml")), set).unwrap();
    }
    let started = std::time::Instant::now();
    let output = run(folder.path(), &["hash", "."], None);
    assert_eq!((output.status.code(), out(&output).lines().count()), (Some(0), 501));
    // A second in an optimized program; what tests are built with is an order of magnitude slower.
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
}
