//! `plan` from nothing but the repository: ranges, the work tree, hooks, what is printed and what its schema says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::repo::{Repo, hermetic};

/// Holds a plan's JSON to the schema that the program prints.
pub(crate) fn assert_valid(plan: &Value) {
    let schema: Value = {
        let output = Command::new(env!("CARGO_BIN_EXE_phaseline")).args(["plan", "--schema"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("plan.json", schema).unwrap();
    let schema = compiler.compile("plan.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(plan, schema) {
        panic!("{error:#}\n{plan:#}");
    }
}

fn set(image: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: web}}
spec:
  serviceName: web
  replicas: 4
{more}  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - name: web
        image: {image}
"
    )
}

const PLAN: &str = "apiVersion: phaseline.dev/v1alpha1
kind: RolloutPlan
metadata: {name: web}
spec: {stages: [{name: canary, replicas: 1, pause: {}}, {name: rest, replicas: \"100%\", minReadySeconds: 30}]}
";

/// Runs `plan` in a folder, with nothing of the machine's configuration.
fn plan(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.arg("plan").args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn json(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = plan(folder, &[arguments, &["-o", "json"]].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    assert_valid(&value);
    (output.status.code().unwrap(), value)
}

/// Three commits: nginx:1, nginx:2, and the first one again.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("web.yaml", set("nginx:1", "")).write("rollout-plan.yaml", PLAN).commit("one");
    repo.write("web.yaml", set("nginx:2", "")).commit("two");
    repo.write("web.yaml", set("nginx:1", "")).commit("back to one");
    repo
}

#[test]
fn a_range_is_planned_as_if_its_beginning_were_in_force() {
    let repo = repo();
    let work = repo.work_path();
    let (code, plan) = json(&work, &["HEAD~2..HEAD~1"]);
    assert_eq!((code, &plan["state"]), (1, &"Commit".into()));
    assert_eq!(plan["base"]["subject"], "one");
    let item = &plan["items"][0];
    assert_eq!((&item["entry"], &item["number"]), (&"Staged".into(), &2.into()), "{item:#}");
    assert_eq!(item["fields"].as_array().unwrap().len(), 1);
    assert_eq!(item["fields"][0]["path"], "spec.template.spec.containers[web].image");
    let stages = item["stages"].as_array().unwrap();
    let shape: Vec<_> = stages.iter().map(|it| (it["partition"].clone(), it["replaced"].clone())).collect();
    assert_eq!(shape, [(3.into(), serde_json::json!([3, 3])), (0.into(), serde_json::json!([0, 2]))]);
    assert_eq!((&item["earliestSeconds"], &item["needsPromotion"]), (&30.into(), &true.into()));
    assert_eq!(item["target"]["revision"], item["predicted"]["revision"]);
    // The same names as `hash` gives.
    let hash = Command::new(env!("CARGO_BIN_EXE_phaseline"))
        .args(["hash", "HEAD~1", "-o", "json"])
        .current_dir(&work)
        .output();
    let hash: Value = serde_json::from_slice(&hash.unwrap().stdout).unwrap();
    assert_eq!(hash["items"][0]["controllerRevision"], item["target"]["revision"]);
    assert_eq!(hash["items"][0]["hash"], item["target"]["hash"]);
    // At an older Kubernetes the same template has another name.
    let (_, older) = json(&work, &["HEAD~2..HEAD~1", "--kubernetes", "1.33"]);
    assert_eq!(older["kubernetes"], "1.33");
    assert_ne!(older["items"][0]["target"]["revision"], item["target"]["revision"]);
    let (code, same) = json(&work, &["HEAD~2..HEAD"]);
    assert_eq!((code, &same["items"][0]["changes"]), (0, &false.into()), "back where it began");
}

/// The ControllerRevision that a new set of the tip would run.
fn hashed(folder: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.args(["hash", "HEAD", "-o", "json"]).current_dir(folder).env_clear().env("HOME", folder);
    let hash: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    hash["items"][0]["controllerRevision"].clone()
}

#[test]
fn what_the_server_filled_in_for_the_base_stays() {
    let repo = Repo::new();
    let work = repo.work_path();
    repo.write("web.yaml", set("nginx", "")).commit("no tag");
    let untagged = hashed(&work);
    repo.write("web.yaml", set("nginx:1.2", "")).commit("a tag");
    for arguments in [&["HEAD~1..HEAD"][..], &["--offline"]] {
        let (code, plan) = json(&work, arguments);
        let item = &plan["items"][0];
        let fields: Vec<_> = item["fields"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
        assert_eq!((code, fields), (1, vec!["spec.template.spec.containers[web].image"]), "the pull policy stays");
        // The same as of a manifest that states what was filled in.
        assert_eq!(item["target"]["revision"], item["predicted"]["revision"]);
        assert_eq!(item["current"]["revision"], untagged);
        let new = hashed(&work);
        assert_ne!(item["target"]["revision"], new, "a new set would be another");
        assert!(item["assumptions"].to_string().contains(new.as_str().unwrap()), "{item:#}");
    }
    let kept = item_of(&work, &["--offline"])["target"]["revision"].clone();
    repo.write("web.yaml", set("nginx:1.2\n        imagePullPolicy: Always", "")).commit("said");
    assert_eq!(hashed(&work), kept, "as if the manifest said so");
    repo.git(&["checkout", "-q", "HEAD~2", "--", "."]);
    repo.write("web.yaml", set("nginx:1.3", ""));
    let item = item_of(&work, &["--offline", "--worktree"]);
    let fields: Vec<_> = item["fields"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    let paths = ["image", "imagePullPolicy"].map(|name| format!("spec.template.spec.containers[web].{name}"));
    assert_eq!(fields, paths, "a stated policy that goes is filled in anew: {item:#}");
}

/// The only workload of a plan.
fn item_of(folder: &Path, arguments: &[&str]) -> Value {
    let (_, mut plan) = json(folder, arguments);
    plan["items"][0].take()
}

#[test]
fn a_service_account_that_goes_stays() {
    let repo = Repo::new();
    let with = set("nginx:1", "").replace("      containers:", "      serviceAccountName: robot\n      containers:");
    repo.write("web.yaml", with).commit("robot");
    repo.write("web.yaml", set("nginx:1", "")).commit("no robot");
    let item = item_of(&repo.work_path(), &["--offline"]);
    assert_eq!((&item["templateChanges"], &item["fields"]), (&true.into(), &serde_json::json!([])), "{item:#}");
    assert_eq!(item["target"]["revision"], item["current"]["revision"]);
    assert!(item["warnings"].to_string().contains("no pod is replaced for it"), "{item:#}");
}

#[test]
fn without_a_range_the_first_parent_counts_as_in_force() {
    let repo = repo();
    let work = repo.work_path();
    let (code, plan) = json(&work, &["--offline"]);
    let item = &plan["items"][0];
    assert_eq!((code, &item["entry"]), (1, &"Rollback".into()));
    assert_eq!((&item["number"], &item["repeats"]), (&3.into(), &1.into()));
    assert!(item["assumptions"][0].as_str().unwrap().contains("proven"), "{item:#}");
    let (code, first) = json(&work, &["--offline", "HEAD~2"]);
    assert_eq!((code, &first["items"][0]["entry"]), (1, &"Install".into()));
    assert!(first.get("base").is_none());
}

#[test]
fn zeros_stand_for_nothing_as_in_a_hook() {
    let repo = repo();
    let work = repo.work_path();
    let zeros = "0".repeat(40);
    let (code, new) = json(&work, &["--offline", &format!("{zeros}..HEAD")]);
    assert_eq!((code, &new["items"][0]["entry"]), (1, &"Install".into()));
    let (code, gone) = json(&work, &["--offline", &format!("HEAD..{zeros}")]);
    assert_eq!((code, gone["items"].as_array().unwrap().len()), (0, 0));
    for wrong in ["HEAD...HEAD~1", "HEAD..nothing", "nothing"] {
        assert_eq!(plan(&work, &["--offline", wrong]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn the_commit_that_brings_the_folder_installs_what_is_in_it() {
    let repo = repo();
    repo.write("deploy/db.yaml", set("db:1", "").replace("name: web}", "name: db}")).commit("a folder");
    let (code, brought) = json(&repo.work_path(), &["--offline", "--path", "deploy"]);
    assert_eq!((code, brought["items"].as_array().unwrap().len()), (1, 1));
    assert_eq!((&brought["items"][0]["name"], &brought["items"][0]["entry"]), (&"db".into(), &"Install".into()));
    assert!(brought["assumptions"][0].as_str().unwrap().contains("has no folder deploy"), "{brought:#}");
    let nowhere = plan(&repo.work_path(), &["--offline", "--path", "nowhere"]);
    assert_eq!(nowhere.status.code(), Some(2));
}

#[test]
fn the_work_tree_is_planned_as_it_is_and_nothing_is_written() {
    let repo = repo();
    let work = repo.work_path();
    let (code, clean) = json(&work, &["--worktree", "--offline"]);
    assert_eq!((code, &clean["items"][0]["changes"]), (0, &false.into()));
    repo.write("web.yaml", set("nginx:3", ""));
    repo.write("new/db.yaml", set("db:1", "").replace("name: web}", "name: db}"));
    repo.write(".gitignore", "ignored/\n").write("ignored/x.yaml", set("x", "").replace("name: web}", "name: x}"));
    let objects =
        || repo.git(&["count-objects", "-v"]) + &repo.git(&["for-each-ref"]) + &repo.git(&["status", "--short"]);
    let before = objects();
    let (code, shown) = json(&work, &["--worktree", "--offline"]);
    assert_eq!(objects(), before, "the repository is as it was");
    assert_eq!((code, &shown["commit"]["id"]), (1, &"".into()));
    let named: Vec<_> = shown["items"].as_array().unwrap().iter().map(|it| (&it["name"], &it["entry"])).collect();
    assert_eq!(named, [(&"db".into(), &"Install".into()), (&"web".into(), &"Staged".into())]);
    assert_eq!(shown["items"][1]["target"]["commit"], "not committed");
    assert_eq!(shown["items"][1]["number"], 4, "it would be the next one");
    let bare = plan(repo.folder(), &["--worktree", "--offline", "--repo", "origin.git"]);
    assert_eq!(bare.status.code(), Some(2));
    assert!(text(&bare).contains("has no work tree"), "{}", text(&bare));
}

#[test]
fn a_field_that_is_fixed_is_refused_with_its_place() {
    let repo = repo();
    repo.write("web.yaml", set("nginx:2", "  podManagementPolicy: Parallel\n")).commit("parallel");
    let (code, plan) = json(&repo.work_path(), &["--offline"]);
    let item = &plan["items"][0];
    assert_eq!((code, &item["entry"], &item["reason"]), (2, &"Waits".into(), &"ImmutableField".into()));
    let problem = &item["problems"][0];
    assert_eq!((&problem["file"], &problem["line"]), (&"web.yaml".into(), &7.into()), "{problem:#}");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("OrderedReady") && message.contains("Parallel"), "{message}");
    assert!(problem["hint"].is_string() && item["stages"].as_array().unwrap().is_empty(), "{item:#}");
}

#[test]
fn what_is_worth_a_word_is_said() {
    let repo = repo();
    let needy = set("nginx:4", "").replace(
        "        image: nginx:4\n",
        "        image: nginx:4\n        envFrom: [{configMapRef: {name: here}}, {secretRef: {name: there}}]\n",
    );
    let others = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\n---\napiVersion: policy/v1\n\
                  kind: PodDisruptionBudget\nmetadata: {name: tight}\n\
                  spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n";
    repo.write("web.yaml", needy.replace("replicas: 4", "replicas: 1")).write("others.yaml", others).commit("needy");
    let (code, plan) = json(&repo.work_path(), &["--offline"]);
    let item = &plan["items"][0];
    assert_eq!(code, 1);
    let words = item["warnings"].to_string();
    for expected in
        ["a set of one pod: while web-0 is replaced", "PodDisruptionBudget tight (minAvailable: 1", "nothing to stage"]
    {
        assert!(words.contains(expected), "{expected}: {words}");
    }
    assert_eq!(item["assumptions"][0], "not in the repository, taken to be in the cluster: Secret there");
    // An autoscaler's set: the number is nobody's to know.
    repo.write("web.yaml", set("nginx:5", "").replace("  replicas: 4\n", "")).commit("scaled by others");
    repo.write("web.yaml", set("nginx:6", "").replace("  replicas: 4\n", "")).commit("and on");
    let (_, plan) = json(&repo.work_path(), &["--offline", "--replicas", "10"]);
    let item = &plan["items"][0];
    assert_eq!((&item["replicas"], &item["stages"][0]["partition"]), (&10.into(), &9.into()));
    assert!(item["assumptions"].to_string().contains("10 assumed"), "{item:#}");
}

#[test]
fn a_push_is_planned_before_it_is_accepted() {
    let repo = Repo::new();
    let hook = repo.origin_path().join("hooks/pre-receive");
    let script = format!(
        "#!/bin/sh\nwhile read old new ref; do {} plan --offline \"$old..$new\" --repo . -o name; \
         [ $? -lt 2 ] || exit 1; done\n",
        env!("CARGO_BIN_EXE_phaseline")
    );
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let push = || {
        let mut git = hermetic(&repo.folder().join("home"));
        git.current_dir(repo.work_path()).args(["push", "origin", "HEAD:refs/heads/main"]).output().unwrap()
    };
    repo.write("web.yaml", set("nginx:1", "")).commit("one");
    let first = push();
    assert!(first.status.success() && text(&first).contains("statefulset.apps/web"), "{}", text(&first));
    repo.write("web.yaml", set("nginx:2", "")).commit("two");
    let second = push();
    assert!(second.status.success() && text(&second).contains("statefulset.apps/web"), "{}", text(&second));
    repo.write("web.yaml", set("nginx:2", "").replace("serviceName: web", "serviceName: other")).commit("three");
    let third = push();
    assert!(!third.status.success(), "{}", text(&third));
    assert_eq!(repo.git_in(&repo.origin_path(), &["log", "-1", "--format=%s", "main"]), "two");
}

#[test]
fn a_comment_is_bounded_marked_and_safe() {
    let repo = repo();
    repo.write("web.yaml", set("\"nginx:```2@all\"", "")).commit("ping @everyone | <script> #1 ```");
    let output = plan(&repo.work_path(), &["--offline", "--comment"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("<!-- phaseline plan -->\n### Phaseline: 1 of 1 workloads would change\n"), "{said}");
    for danger in ["@everyone", "<script>", " | <", "#1 "] {
        let head = said.split("<details>").next().unwrap();
        assert!(!head.contains(danger), "{danger}: {head}");
    }
    assert!(said.contains("````diff\n") && said.contains("| 1 canary | 1/4 | 3 | web-3 |"), "{said}");
    assert!(said.contains("</details>"), "{said}");
    // Five hundred sets: as many as fit, and how many do not.
    for number in 0..500 {
        repo.write(
            format!("many/{number}.yaml"),
            set("x:1", "").replace("name: web}", &format!("name: web-{number}}}")),
        );
    }
    repo.commit("many");
    let output = plan(&repo.work_path(), &["--offline", "--comment"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.chars().count() <= 65_536 && said.contains("more workloads do not fit here"), "{}", said.len());
    assert_eq!(said.matches("<details>").count(), said.matches("</details>").count());
}

#[test]
fn the_schema_refuses_what_it_does_not_know() {
    let repo = repo();
    let (_, mut plan) = json(&repo.work_path(), &["--offline"]);
    plan["items"][0]["surprise"] = true.into();
    let drifted = std::panic::catch_unwind(|| assert_valid(&plan));
    assert!(drifted.is_err(), "a key that the schema does not name is noticed");
}
