//! The commands against a real control plane, the daemon beside them with the rights that `install` prints and no more.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::controlplane::{ControlPlane, Version, eventually};
use crate::support::repo::Repo;

/// A namespace with a daemon that may touch nothing else, and a repository that it follows.
struct Site {
    plane: &'static ControlPlane,
    namespace: String,
    repo: Repo,
    kubeconfig: PathBuf,
    daemon: Option<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Site {
    fn new() -> Option<Self> {
        let plane = ControlPlane::shared(Version::V1_36)?;
        let namespace = plane.namespace("cli");
        let (repo, kubeconfig) = (Repo::new(), plane.kubeconfig());
        Some(Self { plane, namespace, repo, kubeconfig, daemon: None })
    }

    fn command(&self, kubeconfig: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        command
            .args(arguments)
            .args(["-n", &self.namespace])
            .env_remove("NO_COLOR")
            .env("KUBECONFIG", kubeconfig)
            .env("PHASELINE_REPO", self.repo.origin_url())
            .env("PHASELINE_STATE_DIR", self.repo.state_dir());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(&self.kubeconfig, arguments).output().unwrap()
    }

    /// Runs it; its exit code and stdout.
    fn said(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        eprint!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["-o", "json"]].concat());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Starts the daemon with exactly the printed rights.
    fn start(&mut self) {
        let (_, rbac) = self.said(&["install", "--rbac-only", "--watch-namespace", &self.namespace]);
        self.plane.apply(&self.namespace, &rbac);
        let account = self.plane.service_account_kubeconfig(&self.namespace, "phaseline");
        let daemon = self.command(&account, &["run", "--interval", "1s"]).stderr(Stdio::null()).spawn().unwrap();
        self.daemon = Some(daemon);
    }

    fn stop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            _ = daemon.kill();
            _ = daemon.wait();
        }
    }

    fn push(&self, image: &str, message: &str) {
        self.repo.write("web.yaml", SET.replace("IMAGE", image));
        self.repo.write("rollout-plan.yaml", PLAN);
        // Commits of the same content and date are the same ones, and a repository is told by its commits.
        self.repo.commit(&format!("{message}, in {}", self.namespace));
        self.repo.push();
    }

    fn set(&self) -> Value {
        self.plane.kubectl_json(&["-n", &self.namespace, "get", "statefulset", "web"])
    }
}

const SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: IMAGE}]}
";

const PLAN: &str = "apiVersion: phaseline.dev/v1alpha1
kind: RolloutPlan
metadata: {name: web}
spec: {stages: [{name: canary, replicas: 1, pause: {}}, {name: rest, replicas: \"100%\"}]}
";

/// Numbers that both have say the same.
fn agree(status: &Value, set: &Value) {
    for (ours, theirs) in [
        ("/partition", "/spec/updateStrategy/rollingUpdate/partition"),
        ("/generation", "/metadata/generation"),
        ("/replicas", "/spec/replicas"),
        ("/updateRevision", "/status/updateRevision"),
        ("/currentRevision", "/status/currentRevision"),
    ] {
        assert_eq!(status.pointer(ours), set.pointer(theirs), "{ours}\n{status:#}");
    }
}

#[test]
fn a_push_is_planned_rolled_out_held_and_promoted() {
    let Some(mut site) = Site::new() else { return };
    site.push("nginx:1", "web: one");
    assert_eq!(site.said(&["plan"]).0, 1, "it would be created");
    assert_eq!(site.run(&["status", "nobody"]).status.code(), Some(2));
    site.start();
    assert_eq!(site.said(&["status", "web", "--timeout", "60s"]).0, 0);
    eventually(Duration::from_secs(20), || match site.said(&["plan"]) {
        (0, _) => Ok(()),
        (code, said) => Err(format!("{code}: {said}")),
    });
    site.stop();
    site.push("nginx:2", "web: two");
    let plan = site.json(&["plan"]);
    let item = &plan["items"][0];
    assert_eq!((&item["entry"], &item["changes"]), (&"Staged".into(), &true.into()), "{item:#}");
    assert_eq!(item["fields"].as_array().unwrap().len(), 1, "{item:#}");
    assert_eq!(item["fields"][0]["path"], "spec.template.spec.containers[web].image");
    let foretold = item["target"]["revision"].clone();
    site.start();
    assert_eq!(site.said(&["status", "web", "--timeout", "60s"]).0, 4, "it stands in the canary's pause");
    let status = site.json(&["status", "web"]);
    agree(&status, &site.set());
    assert_eq!(status["target"]["revision"], foretold, "the name that plan foretold");
    assert_eq!((&status["stage"]["number"], &status["stage"]["verified"]), (&1.into(), &1.into()));
    assert_eq!(site.said(&["plan"]).0, 0, "the tip is under way");
    let (code, said) = site.said(&["promote", "web", "--wait", "30s"]);
    assert_eq!((code, said.as_str()), (0, "statefulset.apps/web promoted\n"));
    assert_eq!(site.said(&["status", "web", "--timeout", "60s"]).0, 0);
    assert_eq!(site.run(&["promote", "web"]).status.code(), Some(1), "there is nothing to promote");
    let history = site.json(&["history", "web"]);
    let items = history["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item["live"] == true), "{history:#}");
    assert_eq!(items[1]["states"][0], "stable");
}

#[test]
fn a_request_without_a_daemon_waits_on_the_set() {
    let Some(mut site) = Site::new() else { return };
    site.push("nginx:1", "web: one");
    site.start();
    assert_eq!(site.said(&["status", "web", "--timeout", "60s"]).0, 0);
    eventually(Duration::from_secs(20), || match site.json(&["status", "web"])["partition"].as_i64() {
        Some(2_147_483_647) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    site.stop();
    let output = site.run(&["pause", "web", "--wait", "1s"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no daemon took it yet"));
    assert_eq!(site.json(&["status", "web"])["request"]["verb"], "pause");
    site.start();
    eventually(Duration::from_secs(20), || match site.said(&["status", "web"]) {
        (4, _) => Ok(()),
        (code, said) => Err(format!("{code}: {said}")),
    });
    assert_eq!(site.run(&["pause", "web"]).status.code(), Some(1), "it is paused already");
    assert_eq!(site.said(&["release", "web", "--wait", "30s"]).1, "statefulset.apps/web released\n");
    assert_eq!(site.run(&["promote", "web"]).status.code(), Some(1), "it is not managed any more");
    assert_eq!(site.said(&["adopt", "web", "--wait", "30s"]).1, "statefulset.apps/web adopted\n");
}

#[test]
fn what_install_prints_is_accepted_and_grants_no_more() {
    let Some(site) = Site::new() else { return };
    let (_, manifests) = site.said(&["install", "--git-token-secret", "git", "--watch-namespace", &site.namespace]);
    let output =
        site.plane.kubectl_with_input(&["apply", "--dry-run=server", "--validate=strict", "-f", "-"], &manifests);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (_, rbac) = site.said(&["install", "--rbac-only", "--watch-namespace", &site.namespace]);
    site.plane.apply(&site.namespace, &rbac);
    let account = format!("--as=system:serviceaccount:{}:phaseline", site.namespace);
    let may = |verb: &str, what: &str, namespace: &str| {
        let output = site.plane.kubectl(&["auth", "can-i", verb, what, "-n", namespace, &account]);
        String::from_utf8_lossy(&output.stdout).trim() == "yes"
    };
    for (verb, what) in [("create", "statefulsets.apps"), ("patch", "statefulsets.apps"), ("delete", "pods")] {
        assert!(may(verb, what, &site.namespace), "{verb} {what}");
        assert!(!may(verb, what, "default"), "{verb} {what} elsewhere");
    }
    for (verb, what) in [
        ("delete", "statefulsets.apps"),
        ("update", "statefulsets.apps"),
        ("create", "pods"),
        ("patch", "pods"),
        ("get", "secrets"),
        ("get", "persistentvolumeclaims"),
        ("delete", "persistentvolumeclaims"),
        ("impersonate", "users"),
    ] {
        assert!(!may(verb, what, &site.namespace), "{verb} {what}");
    }
}
