//! Somebody else changes the set: parked, no pod moves, and it is said who it was.

use super::{
    manifest::{Set, plan},
    site::{PARKED, Site, image, uids},
};
use crate::controlplane::Version;

const CANARY: [&str; 2] = ["{name: canary, replicas: 1, pause: {}}", "{name: rest, replicas: '100%'}"];

/// A set at rest.
fn at_rest<'a>(version: Version, name: &str) -> Option<(Site<'a>, String)> {
    let site = Site::shared(version, name)?;
    let files = [("web.yaml", &*Set::web("web:1").yaml()), ("rollout-plan.yaml", &*plan(&[], &CANARY))];
    let first = site.push("first", &files);
    site.settled(&first);
    Some((site, first))
}

fn a_restart_is_rolled_out_by_the_plan(version: Version) {
    let Some((site, first)) = at_rest(version, "restart") else { return };
    let old = site.pods();
    site.kubectl(&["rollout", "restart", "statefulset", "web"]);
    let status = site.until("Paused", "StagePaused");
    assert_eq!(status["target"]["commit"], first.as_str(), "the same commit: {status:#}");
    assert_eq!(uids(&site.pods())[..2], uids(&old)[..2]);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&first);
    let now = site.pods();
    assert!(now.iter().zip(&old).all(|(now, old)| now.ready && now.uid != old.uid), "{now:#?}");
    assert_eq!(image(&site.set("web")), "web:1");

    // The same by `phaseline restart`; and a later commit keeps the annotation, so that no pod restarts for it.
    site.phaseline_ok(&["restart", "web"]);
    site.until("Paused", "StagePaused");
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&first);
    let newest = site.pods();
    assert!(newest.iter().zip(&now).all(|(newest, now)| newest.uid != now.uid), "{newest:#?}");
    let partitions: Vec<_> = site.set_writes().iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [PARKED, PARKED, 2, 0, PARKED, 2, 0, PARKED]);
    site.push("label", &[("web.yaml", &Set::web("web:1").annotation("team", "blue").yaml())]);
    site.until_live("web", |set, _| set.pointer("/metadata/annotations/team").is_some());
    // Long enough for the controller to restart a pod, if the template had changed.
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&newest));
    site.assert_guarded();
}

fn a_changed_image_moves_no_pod_and_is_overwritten_when_told(version: Version) {
    let Some((site, first)) = at_rest(version, "setimage") else { return };
    let old = site.pods();
    site.kubectl(&["set", "image", "statefulset/web", "web=web:9"]);
    let status = site.until("Degraded", "Drifted");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("kubectl-set"), "who it was: {message}");
    assert_eq!(status["waitingOn"]["kind"], "DriftDecision", "{status:#}");
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&old));
    // A commit does not fight over it either.
    let second = site.push("second", &[("web.yaml", &Set::web("web:2").yaml())]);
    site.until_log(&second[..10]);
    site.until("Degraded", "Drifted");
    site.stays(1.0);
    assert_eq!(image(&site.set("web")), "web:9");
    let revert = site.push_revert(&second);
    // The daemon goes by what it has read.
    site.until_log(&revert[..10]);
    site.until("Degraded", "Drifted");

    site.phaseline_ok(&["resume", "web", "--overwrite"]);
    site.until_status("web", |it| it["phase"] == "Healthy");
    assert_eq!(image(&site.set("web")), "web:1");
    assert_eq!(uids(&site.pods()), uids(&old), "no pod has ever moved");
    // And the next rollout finds nobody in its way.
    let third = site.push("third", &[("web.yaml", &Set::web("web:3").yaml())]);
    site.until("Paused", "StagePaused");
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&third);
    assert!(site.set_writes_for(&second).is_empty() && revert != first);
    site.assert_guarded();
}

fn an_edit_by_another_manager_is_accepted_when_told(version: Version) {
    let Some((site, _)) = at_rest(version, "edit") else { return };
    let old = site.pods();
    let patch = r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:9"}]}}}}"#;
    site.kubectl(&["patch", "statefulset", "web", "--field-manager=somebody-else", "-p", patch]);
    let status = site.until("Degraded", "Drifted");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("somebody-else"), "who it was: {message}");
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&old));

    site.phaseline_ok(&["resume", "web", "--accept"]);
    site.until("Paused", "StagePaused");
    assert_eq!(uids(&site.pods())[..2], uids(&old)[..2], "by the plan");
    site.phaseline_ok(&["promote", "web"]);
    // It runs everywhere, and Git says otherwise.
    site.until("Paused", "DriftAccepted");
    assert_eq!(image(&site.set("web")), "web:9");
    assert!(site.pods().iter().zip(&old).all(|(now, old)| now.uid != old.uid));
    site.assert_guarded();
}

fn a_partition_moved_by_hand_stops_the_rollout(version: Version) {
    let Some((site, _)) = at_rest(version, "partition") else { return };
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &Set::web("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    let patch = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}"#;
    site.kubectl(&["patch", "statefulset", "web", "-p", patch]);
    let status = site.until("Degraded", "Drifted");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("kubectl-patch"), "who it was: {message}");
    site.phaseline_ok(&["resume", "web", "--accept"]);
    site.until("Paused", "StagePaused");
    assert_eq!(uids(&site.pods())[..1], uids(&old)[..1]);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    site.assert_guarded();
}

on_both_versions![
    a_restart_is_rolled_out_by_the_plan,
    a_changed_image_moves_no_pod_and_is_overwritten_when_told,
    an_edit_by_another_manager_is_accepted_when_told,
    a_partition_moved_by_hand_stops_the_rollout,
];
