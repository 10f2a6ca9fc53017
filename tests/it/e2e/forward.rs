//! Forward in Git only: two daemons on one repository, an old copy of it, a tip that flips, broken commits without end.

use std::fs;
use std::time::Duration;

use super::{
    eventually_ok,
    manifest::{Set, plan},
    site::{Site, image, uids},
};
use crate::controlplane::{ControlPlane, Version};
use crate::support::http::{Manners, Server};

const STAGES: [&str; 2] = ["{replicas: 1}", "{replicas: '100%'}"];
const CANARY: [&str; 2] = ["{replicas: 1, pause: {}}", "{replicas: '100%'}"];

fn two_daemons_on_one_repository_write_no_more_than_one(version: Version) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let site = Site::on(plane, "two");
    // Both ask over HTTP, each in its own time: a push is news to one of them before it is to the other.
    let server = Server::start(site.repo.folder());
    site.start_on(&server.url("origin.git"));
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.settled(&first);
    let other = site.beside(&server.url("origin.git"), "other");
    // By another address it is another repository, as far as anybody can tell.
    let by_path = site.beside(&site.repo.origin_url(), "path");
    eventually_ok(|| if by_path.log().contains("OtherSource") { Ok(()) } else { Err(by_path.log()) });
    let mut last = first;
    let mut allowed = site.set_writes().len();
    for turn in 2..8 {
        last = if turn % 3 == 0 {
            allowed += 3;
            site.push_revert(&last)
        } else {
            allowed += 4;
            site.push("next", &[("web.yaml", &web.image(&format!("web:{turn}")).yaml())])
        };
        site.settled(&last);
    }
    let writes = site.set_writes();
    let shapes = || writes.iter().map(|it| it.shape()).collect::<Vec<_>>().join("\n");
    assert!(writes.len() <= allowed, "{} writes, {allowed} at most:\n{}", writes.len(), shapes());
    assert!(!other.log().contains("OtherSource"), "{}", other.log());
    site.assert_guarded();
}

fn an_old_copy_of_git_rolls_nothing_back_while_git_is_away(version: Version) {
    let Some(site) = Site::shared(version, "failover") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.settled(&first);
    // A copy of the first commit.
    let old = site.beside(&site.repo.origin_url(), "old");
    eventually_ok(|| if old.log().contains("read the repository") { Ok(()) } else { Err(old.log()) });
    drop(old);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    site.kill9();
    let (here, gone) = (site.repo.origin_path(), site.repo.folder().join("gone.git"));
    fs::rename(&here, &gone).unwrap();
    let before = site.pods();
    let old = site.beside(&site.repo.origin_url(), "old");
    eventually_ok(|| if old.log().contains("SourceBehind") { Ok(()) } else { Err(old.log()) });
    site.stays(5.0);
    assert_eq!(uids(&site.pods()), uids(&before));
    fs::rename(&gone, &here).unwrap();
    let third = site.push("third", &[("web.yaml", &web.image("web:3").yaml())]);
    site.settled(&third);
    site.assert_guarded();
}

fn a_tip_that_flips_moves_nothing(version: Version) {
    let Some(site) = Site::shared(version, "flips") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let before = site.set_writes().len();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    for turn in 0..24 {
        let tip = if turn % 2 == 0 { &first } else { &second };
        site.repo.git_in(&site.repo.origin_path(), &["update-ref", "refs/heads/main", tip]);
        std::thread::sleep(Duration::from_millis(400));
    }
    site.until_log("SourceBehind");
    let writes = site.set_writes();
    let shapes: Vec<_> = writes[before..].iter().map(|it| it.shape()).collect();
    assert_eq!(shapes.len(), 1, "one start: {shapes:?}");
    assert_eq!(image(&site.set("web")), "web:2");
    site.phaseline_ok(&["promote", "web", "--wait", "30s"]);
    site.settled(&second);
    site.assert_guarded();
}

fn a_git_host_that_hangs_keeps_nobody_waiting(version: Version) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let site = Site::on(plane, "hangs");
    let server = Server::start(site.repo.folder());
    site.start_on(&server.url("origin.git"));
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    site.kill9();
    let before = site.set_writes().len();
    server.behave(Manners { hangs_at: Some("info/refs"), ..Manners::default() });
    site.start_on(&server.url("origin.git"));
    site.phaseline_ok(&["pause", "web", "--wait", "40s"]);
    site.until_live("web", |_, record| !record["hold"].is_null());
    assert_eq!(site.set_writes().len(), before + 1, "the hold, and nothing else");
    site.assert_guarded();
}

fn broken_commits_without_end_leave_the_last_good_one_in_force(version: Version) {
    let Some(site) = Site::shared(version, "broken60") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    site.kill9();
    for turn in 0..60 {
        site.repo.write("web.yaml", format!("kind: StatefulSet\n\tbroken {turn}"));
        site.repo.commit("broken");
    }
    site.repo.push();
    // On a disk that knows nothing.
    fs::remove_dir_all(site.dir().join("state")).unwrap();
    site.start();
    site.until_log("web.yaml:2");
    site.stays(2.0);
    let status = site.status("web");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(status["reason"] == "StagePaused" && message.contains("web.yaml:2"), "{status:#}");
    site.phaseline_ok(&["promote", "web", "--wait", "30s"]);
    site.until_live("web", |_, record| record["done"] == true && record["target"]["commit"] == *second);
    site.until("Blocked", "InvalidManifest");
    let third = site.push("mended", &[("web.yaml", &web.image("web:3").yaml())]);
    site.until("Paused", "StagePaused");
    site.phaseline_ok(&["promote", "web", "--wait", "30s"]);
    site.settled(&third);
    site.assert_guarded();
}

on_both_versions![
    two_daemons_on_one_repository_write_no_more_than_one,
    an_old_copy_of_git_rolls_nothing_back_while_git_is_away,
    a_tip_that_flips_moves_nothing,
    a_git_host_that_hangs_keeps_nobody_waiting,
    broken_commits_without_end_leave_the_last_good_one_in_force,
];
