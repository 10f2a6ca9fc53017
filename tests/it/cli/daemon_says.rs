//! What only the daemon knows is shown by `status`, on the embedded cluster.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::controlplane::eventually;
use crate::support::repo::Repo;

const SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME}
spec:
  serviceName: web
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}
";

/// Ended with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn phaseline(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.args(arguments).current_dir(folder).env("KUBECONFIG", folder.join("kubeconfig")).env("NO_COLOR", "1");
    command.env_remove("PHASELINE_REPO").stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// The exit code and what was printed.
fn status(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = phaseline(folder, &[&["status"], arguments].concat()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_refusal_a_missing_namespace_and_the_heartbeat_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut cluster = phaseline(folder, &["cluster", "--kubeconfig-out", "kubeconfig"]);
    let mut cluster = Running(cluster.stdout(Stdio::piped()).spawn().unwrap());
    BufReader::new(cluster.0.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let (code, page) = status(folder, &["-o", "json"]);
    assert_eq!(code, Some(0), "{page}");

    let repo = Repo::new();
    let odd = SET.replace("{name: NAME}", "{name: odd, namespace: default}");
    let odd = odd.replace("serviceName:", "surprise: 1\n  serviceName:");
    repo.write("odd.yaml", odd).write("web.yaml", SET.replace("NAME", "web")).commit("first");
    repo.push();
    let url = repo.origin_url();
    let run = ["run", "--repo", &url, "--interval", "1s", "--default-namespace", "nowhere", "--state-dir", "daemon"];
    let _daemon = Running(phaseline(folder, &run).stdout(Stdio::null()).spawn().unwrap());

    // Nobody is told of the repository: what is said is what the daemon wrote down.
    let web = eventually(Duration::from_secs(60), || {
        let (code, json) = status(folder, &["nowhere/web", "-o", "json"]);
        let item: Value = serde_json::from_str(&json).map_err(|error| format!("{code:?}: {error}"))?;
        if code == Some(1) && item["reason"] == "NamespaceMissing" { Ok(item) } else { Err(json) }
    });
    assert_eq!(web["phase"], "Blocked", "{web:#}");
    assert!(web["message"].as_str().unwrap().contains("nowhere"), "{web:#}");
    let daemon = &web["daemon"];
    assert_eq!((&daemon["defaultNamespace"], &daemon["silent"]), (&"nowhere".into(), &false.into()), "{web:#}");
    assert_eq!((&daemon["source"]["url"], &daemon["commit"]), (&url.as_str().into(), &repo.head().into()), "{web:#}");
    let page = eventually(Duration::from_secs(60), || {
        let (code, page) = status(folder, &["odd", "-n", "default"]);
        if code == Some(1) && page.contains("surprise") { Ok(page) } else { Err(format!("{code:?}: {page}")) }
    });
    let row = page.lines().find(|line| line.starts_with("  Daemon:")).unwrap_or_else(|| panic!("{page}"));
    let (_, heard) = row.rsplit_once(", heard ").unwrap_or_else(|| panic!("{page}"));
    let seconds: u32 = heard.strip_suffix("s ago").unwrap().parse().unwrap();
    assert!(seconds <= 30, "{row}");
    // Who asks Git puts the manifest without a namespace where the daemon does, and knows why it is not there.
    let (code, json) = status(folder, &["-A", "--repo", &url, "--state-dir", "cli", "-o", "json"]);
    let list: Value = serde_json::from_str(&json).unwrap();
    let items = list["items"].as_array().unwrap();
    let web = items.iter().find(|item| item["name"] == "web").unwrap();
    assert_eq!((&web["namespace"], &web["reason"]), (&"nowhere".into(), &"NamespaceMissing".into()), "{list:#}");
    assert_eq!(code, Some(1));
}
