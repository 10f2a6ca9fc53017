//! Runs the program: data on stdout, everything else on stderr, exit codes as documented.

use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program in a folder of its own, with nothing of the machine's configuration.
struct Program {
    home: TempDir,
}

impl Program {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        command.args(arguments).current_dir(self.home.path()).env_clear().env("HOME", self.home.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A kubeconfig whose server nobody is.
    fn nowhere(&self) {
        self.put(
            ".kube/config",
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n\
             users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n",
        );
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[test]
fn an_unreachable_cluster_is_an_error_with_a_hint() {
    let program = Program::new();
    program.nowhere();
    for arguments in [&["status"][..], &["status", "web"], &["promote", "web"], &["restart", "web"]] {
        let output = program.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(out(&output), "", "{arguments:?}");
        let text = err(&output);
        assert!(text.starts_with("error: cannot reach the cluster at http://127.0.0.1:1"), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
        assert_eq!(text.matches("refused").count(), 1, "the cause is said once: {text}");
    }
}

#[test]
fn a_missing_kubeconfig_and_a_missing_repository_are_errors() {
    let program = Program::new();
    let output = program.run(&["status"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).starts_with("error: cannot read the kubeconfig"), "{}", err(&output));
    for arguments in [&["plan"][..], &["run"], &["history", "web"], &["install"]] {
        let output = program.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(
            err(&output),
            "error: no repository is named\nhint: name one with --repo URL|PATH or PHASELINE_REPO\n",
            "{arguments:?}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_two() {
    let program = Program::new();
    program.nowhere();
    for (arguments, words) in [
        (&["status", "deploy/web"][..], "is no StatefulSet"),
        (&["status", "web", "-A"], "across all namespaces"),
        (&["status", "-o", "xml"], "invalid value 'xml'"),
        (&["status", "--timeout", "soon"], "is no duration"),
        (&["resume", "web", "--overwrite", "--accept"], "cannot be used with"),
        (&["run", "--repo", "x", "--listen", ":80"], "--listen is not built yet"),
        (&["run", "--repo", "x", "--interval", "0"], "at least 1s"),
        (&["install", "--repo", "https://ann:hunter2@x/y.git"], "holds a password"),
        (&["install", "--repo", "https://hunter2@x/y.git"], "holds a password"),
        (&["install", "--repo", "https://x/y.git?private_token=hunter2"], "holds a password"),
        (&["install", "--repo", "ann:hunter2@x:y.git"], "holds a password"),
        (&["install", "--repo", "http:/ann:hunter2@x/y.git"], "holds a password"),
        (&["run", "--once", "--repo", "http:/ann:hunter2@x/y.git"], "not followed by two slashes"),
        (&["run", "--once", "--repo", "//ann:hunter2@x/y.git"], "not followed by two slashes"),
        (&["run", "--once", "--repo", "ann:hunter2@x:y.git"], "its user is no user name"),
        (&["frobnicate"], "unrecognized subcommand"),
    ] {
        let output = program.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(words), "{arguments:?}: {}", err(&output));
        assert!(!err(&output).contains("hunter2"), "{arguments:?}");
        assert_eq!(out(&output), "", "{arguments:?}");
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let program = Program::new();
    for arguments in [&["--help"][..], &["--version"], &["version"], &["completion", "zsh"], &["lint", "--schema"]] {
        let output = program.run(arguments);
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!out(&output).is_empty(), "{arguments:?}");
        assert!(!out(&output).contains('\x1b'), "{arguments:?}: no colour in a pipe");
    }
    let version: Value = serde_json::from_str(&out(&program.run(&["version", "-o", "json"]))).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn lint_says_what_is_wrong_where() {
    let program = Program::new();
    program.put("good/web.yaml", SET);
    let good = program.run(&["lint", "good"]);
    assert_eq!((good.status.code(), out(&good).as_str()), (Some(0), ""));
    let said = "1 StatefulSet in 1 file: 0 errors, 0 warnings\nno plan: all pods in one stage: default/web\n";
    assert_eq!(err(&good), said);
    program.put("bad/a/web.yaml", &SET.replace("serviceName: web", "replicas: two"));
    program.put("bad/b.yaml", "a: [");
    let bad = program.run(&["lint", "bad"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(out(&bad).contains("a/web.yaml:5:"), "{}", out(&bad));
    assert!(out(&bad).contains("b.yaml:"), "{}", out(&bad));
    let list: Value = serde_json::from_str(&out(&program.run(&["lint", "bad", "-o", "json"]))).unwrap();
    assert_eq!(list["kind"], "DiagnosticList");
    assert!(list["items"].as_array().unwrap().iter().any(|item| item["severity"] == "error" && item["line"] == 5));
    assert_eq!(program.run(&["lint", "nothing"]).status.code(), Some(2));
}

#[test]
fn lint_warns_of_stages_that_merge() {
    let program = Program::new();
    program.put("web.yaml", SET);
    program.put(
        "rollout-plan.yaml",
        "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {name: web}\n\
         spec: {stages: [{replicas: 1}, {replicas: \"100%\"}]}\n",
    );
    let output = program.run(&["lint"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("rollout-plan.yaml:1: warning: with 1 replica"), "{}", out(&output));
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let program = Program::new();
    let mut child =
        program.command(&["completion", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(141), ""));
}

#[test]
fn install_prints_what_was_asked_for() {
    let program = Program::new();
    let rbac = out(&program.run(&["install", "--rbac-only", "--watch-namespace", "a", "--watch-namespace", "b"]));
    let kinds: Vec<&str> = rbac.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, ["ServiceAccount", "Role", "RoleBinding", "Role", "RoleBinding", "Role", "RoleBinding"]);
    let all =
        program.run(&["install", "--repo", "git@x:y.git", "--ssh-secret", "key", "--image", "r/p:1", "-n", "ops"]);
    let text = out(&all);
    let kinds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    // The namespace that was named may be there, with labels of its own: it is nobody's to change.
    let rights = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    assert_eq!(kinds, [&rights[..], &["Deployment"]].concat());
    for line in [
        "        - --cluster=in-cluster",
        "        - --repo=git@x:y.git",
        "        - --ssh-key=/etc/phaseline/git/ssh-privatekey",
        "  namespace: ops",
        "  replicas: 2",
        "        - --leader-elect",
        "        - --default-namespace=default",
        "          readOnlyRootFilesystem: true",
        "        runAsNonRoot: true",
        "        image: r/p:1",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
    }
    assert_eq!(err(&all), "note: namespace ops is not among the manifests: it has to be there\n");
    let own = out(&program.run(&["install", "--repo", "git@x:y.git", "--default-namespace", "data"]));
    let kinds: Vec<&str> = own.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, [&["Namespace"][..], &rights, &["Deployment"]].concat());
    assert!(own.lines().any(|line| line == "        - --default-namespace=data"), "{own}");
}
