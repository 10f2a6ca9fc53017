//! `simulate` from what a cluster shows: it plays on from there, and the cluster is only read.

use serde_json::Value;

use super::manifest::{Set, plan};
use super::site::Site;
use crate::cli::simulate::is_valid;
use crate::controlplane::Version;

const STAGES: [&str; 2] = ["{name: canary, replicas: 1, pause: {}}", "{name: all, replicas: '100%'}"];

/// What the tip comes to, held to its schema, and the exit code.
#[track_caller]
fn simulated(site: &Site<'_>, arguments: &[&str]) -> (i32, Value) {
    let output = site.phaseline(&[&["simulate", "-o", "json"], arguments].concat());
    let said = || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let simulation: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said()));
    is_valid(&simulation).unwrap_or_else(|why| panic!("{why}\n{simulation:#}"));
    (output.status.code().unwrap(), simulation)
}

/// Whether something is told of a pod.
fn is_told(simulation: &Value, pod: &str, what: &str) -> bool {
    let timeline = simulation["timeline"].as_array().unwrap();
    timeline.iter().any(|entry| entry["pod"] == pod && entry["what"].as_str().unwrap().contains(what))
}

fn it_plays_on_from_what_the_cluster_shows(version: Version) {
    let Some(site) = Site::shared(version, "simulated") else { return };
    let web = Set::web("web:1").replicas(3).claims();
    let first = site.push("first", &[("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &STAGES))]);
    site.settled(&first);
    // At rest: a whole rollout is foreseen.
    site.kill9();
    site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let before = site.set("web");
    let (code, whole) = simulated(&site, &[]);
    assert_eq!(code, 0, "{whole:#}");
    assert_eq!(whole["kubernetes"], version.minor(), "as the cluster is");
    for pod in ["web-2", "web-1", "web-0"] {
        assert!(is_told(&whole, pod, "created"), "{whole:#}");
        assert!(!is_told(&whole, pod, "Unschedulable"), "its claim is there: {whole:#}");
    }
    let (code, halted) = simulated(&site, &["--fail", "web-2=ImagePullBackOff@1s"]);
    assert_eq!(
        (code, is_told(&halted, "web-2", "created"), is_told(&halted, "web-1", "")),
        (1, true, false),
        "{halted:#}"
    );
    assert_eq!(site.set("web"), before, "nothing of it happened");
    // Half-way: only what is left to do is foreseen.
    site.start();
    site.until("Paused", "StagePaused");
    site.kill9();
    let before = site.set("web");
    let (code, rest) = simulated(&site, &[]);
    assert_eq!((code, is_told(&rest, "web-2", ""), is_told(&rest, "web-1", "created")), (0, false, true), "{rest:#}");
    assert_eq!(site.set("web"), before);
    let commands = site.plane.audit(&site.ns).into_iter().filter(|it| it.user_agent.starts_with("phaseline-cli"));
    // `status` asks, with a dry run, whether the server would take what is to come.
    let writes: Vec<_> = commands.filter(|it| it.is_write() && !it.is_dry_run()).collect();
    assert!(writes.is_empty(), "{writes:#?}");
}

on_both_versions!(it_plays_on_from_what_the_cluster_shows);
