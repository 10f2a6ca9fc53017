//! `phaseline cluster`: what it prints, writes and leaves alone, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.arg("cluster").args(arguments).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

#[test]
fn it_serves_until_it_is_told_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--kubeconfig-out", "kube config", "--kubernetes", "1.33", "--audit-log", "audit.log", "--seed=1"];
    let mut child = command(folder.path(), &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let path = folder.path().canonicalize().unwrap().join("kube config");
    assert_eq!(line, format!("export KUBECONFIG='{}'\n", path.display()));
    let config: Value = serde_yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(config["users"][0]["user"]["token"], "phaseline-user:admin");
    let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
    let version = fetched(server, "/version");
    assert!(version.contains("v1.33.13"), "{version}");
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(ended.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("like Kubernetes v1.33.13") && said.contains("nothing in it is real"), "{said}");
    let log = fs::read_to_string(folder.path().join("audit.log")).unwrap();
    assert!(log.lines().any(|line| line.contains(r#""requestURI":"/version""#)), "{log}");
}

/// The answer to a GET.
fn fetched(server: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let address = server.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_would_harm_is_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let mine = "apiVersion: v1\nkind: Config\nclusters: [{name: production}]\n";
    fs::write(folder.path().join("mine"), mine).unwrap();
    for (arguments, code, words) in [
        (&["--kubeconfig-out", "mine"][..], 1, "it is left alone"),
        (&["--kubeconfig-out", "new", "--listen", "0.0.0.0:0"], 2, "can be reached from elsewhere"),
        (&["--kubeconfig-out", "new", "--feature-gates", "WatchList=true"], 2, "has no feature gate \"WatchList\""),
        (&["--kubeconfig-out", "none/new"], 2, "cannot write none/new"),
        (&["--kubeconfig-out", "new", "--audit-log", "none/log"], 2, "cannot open the audit log none/log"),
        (&[], 2, "--kubeconfig-out"),
    ] {
        let output = command(folder.path(), arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("mine")).unwrap(), mine);
    assert!(!folder.path().join("new").exists());
}
