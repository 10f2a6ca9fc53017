//! Sets that were there before: taken over when told, without a restart, and given back.

use serde_json::Value;

use super::{
    manifest::{Set, plan},
    site::{PARKED, Site, all_ready, image, partition, uids},
};
use crate::controlplane::{ControlPlane, Version};

const STAGES: [&str; 2] = ["{replicas: 1}", "{replicas: '100%'}"];

/// What Git and the cluster both have at first: with fields that Git will drop later.
fn before() -> Set {
    Set::web("web:1")
        .env("COLOUR", "blue")
        .env("OLD", "yes")
        .template_annotation("team", "blue")
        .annotation("note", "x")
}

fn env(set: &Value) -> Vec<&str> {
    let env = set.pointer("/spec/template/spec/containers/0/env").and_then(Value::as_array);
    env.into_iter().flatten().filter_map(|it| it["name"].as_str()).collect()
}

/// A set made by `kubectl VERB`, then adopted.
fn adopted(version: Version, name: &str, kubectl: &[&str]) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let site = Site::on(plane, name);
    let args = [&["-n", &site.ns], kubectl, &["-f", "-"]].concat();
    let made = plane.kubectl_with_input(&args, &before().yaml());
    assert!(made.status.success(), "{made:?}");
    let old = site.until_pods(|it| all_ready(it, 3));
    site.start();
    let first = site.push("first", &[("web.yaml", &before().yaml()), ("rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.until("Blocked", "AdoptionRequired");
    site.stays(1.0);
    let written = site.asked().into_iter().filter(|it| it.is_write() && it.resource != "leases").count();
    assert_eq!(written, 0, "not even a dry run");

    site.phaseline_ok(&["adopt", "web"]);
    site.until_live("web", |set, record| record["done"] == true && partition(set) == Some(PARKED));
    let status = site.until_status("web", |it| it["phase"] == "Healthy");
    assert_eq!(status["target"]["commit"], first.as_str(), "Git's revision is what runs: {status:#}");
    // The first apply, which brings nothing new, comes after it.
    site.until_live("web", |_, record| record["rest"].as_str().is_some_and(|it| !it.is_empty()));
    assert_eq!(uids(&site.pods()), uids(&old), "no pod restarts");

    // What Git drops is dropped in the cluster, and nobody is in the way.
    let after = Set::web("web:2").env("COLOUR", "red");
    let second = site.push("second", &[("web.yaml", &after.yaml())]);
    site.settled(&second);
    let set = site.set("web");
    assert_eq!((env(&set), image(&set)), (vec!["COLOUR"], "web:2"));
    assert!(set.pointer("/spec/template/metadata/annotations/team").is_none());
    assert!(set.pointer("/metadata/annotations/note").is_none());
    assert!(site.pods().iter().all(|it| it.ready && it.revision != old[0].revision));
    site.assert_guarded();
}

fn a_set_of_kubectl_apply(version: Version) {
    adopted(version, "adoptapply", &["apply"]);
}

fn a_set_of_a_server_side_apply(version: Version) {
    adopted(version, "adoptssa", &["apply", "--server-side"]);
}

fn a_set_of_kubectl_create(version: Version) {
    adopted(version, "adoptcreate", &["create"]);
}

fn what_differs_when_adopted_is_the_first_rollout(version: Version) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let site = Site::on(plane, "adoptdiff");
    plane.apply(&site.ns, &Set::web("web:0").yaml());
    let old = site.until_pods(|it| all_ready(it, 3));
    site.start();
    let stages = ["{replicas: 1, pause: {}}", "{replicas: '100%'}"];
    let wish = Set::web("web:1").annotation("phaseline.dev/adopt", "true");
    let first = site.push("first", &[("web.yaml", &wish.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.until("Paused", "StagePaused");
    let now = site.pods();
    assert_eq!(uids(&now)[..2], uids(&old)[..2], "staged");
    assert_ne!(now[2].revision, old[2].revision);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&first);
    site.assert_guarded();
}

fn a_set_is_given_back(version: Version) {
    let Some(site) = Site::shared(version, "release") else { return };
    let files = [("web.yaml", &*Set::web("web:1").yaml()), ("rollout-plan.yaml", &*plan(&[], &STAGES))];
    let first = site.push("first", &files);
    site.settled(&first);
    let old = site.pods();
    site.phaseline_ok(&["release", "web"]);
    let set = site.until_live("web", |set, record| record.is_null() && partition(set) == Some(0));
    let set = match ours(&set).is_empty() {
        true => set,
        false => site.until_live("web", |set, _| ours(set).is_empty()),
    };
    let annotations = set["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let record = |key: &&String| key.starts_with("phaseline.dev/");
    assert_eq!(annotations.keys().find(record), None, "{annotations:?}");
    site.until("Blocked", "AdoptionRequired");
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&old));
    // It is somebody else's now, without a conflict.
    let yaml = Set::web("web:2").yaml();
    let applied = site.plane.kubectl_with_input(&["-n", &site.ns, "apply", "--server-side", "-f", "-"], &yaml);
    assert!(applied.status.success(), "{applied:?}");
    site.until_pods(|it| all_ready(it, 3) && it.iter().all(|it| it.revision != old[0].revision));
    site.assert_guarded();
}

/// Our entries in the managed fields.
fn ours(set: &Value) -> Vec<&str> {
    let entries = set["metadata"]["managedFields"].as_array();
    let managers = entries.into_iter().flatten().filter_map(|it| it["manager"].as_str());
    managers.filter(|it| it.starts_with("phaseline") && *it != "phaseline-test").collect()
}

on_both_versions![
    a_set_of_kubectl_apply,
    a_set_of_a_server_side_apply,
    a_set_of_kubectl_create,
    what_differs_when_adopted_is_the_first_rollout,
    a_set_is_given_back,
];
