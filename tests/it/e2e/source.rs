//! A repository that is away, rewritten, emptied or broken.

use std::fs;

use super::{
    manifest::{Set, plan, plan_for},
    site::{Site, image, uids},
};
use crate::controlplane::Version;

const STAGES: [&str; 2] = ["{replicas: 1}", "{replicas: '100%'}"];
const CANARY: [&str; 2] = ["{replicas: 1, pause: {}}", "{replicas: '100%'}"];
/// What the daemon says once when the repository cannot be read.
const AWAY: &str = "the source cannot be read";

fn a_repository_that_is_away_stops_no_rollout(version: Version) {
    let Some(site) = Site::shared(version, "away") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    let (here, gone) = (site.repo.origin_path(), site.repo.folder().join("gone.git"));
    fs::rename(&here, &gone).unwrap();
    site.until_log(AWAY);
    site.ask_git(false);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    // Started anew without the repository, it goes by what it read last.
    site.kill9();
    site.start();
    site.until_log_times(AWAY, 2);
    site.stays(1.0);

    fs::rename(&gone, &here).unwrap();
    site.ask_git(true);
    let third = site.push("third", &[("web.yaml", &web.image("web:3").yaml())]);
    site.until("Paused", "StagePaused");
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&third);
    site.assert_guarded();
}

fn a_branch_that_is_gone_or_rewritten(version: Version) {
    let Some(site) = Site::shared(version, "rewritten") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.settled(&first);
    let old = site.pods();
    site.repo.git_in(&site.repo.origin_path(), &["update-ref", "-d", "refs/heads/main"]);
    site.until_log(AWAY);
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&old));

    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    // Back by force: it counts when the repository goes on saying so, and what was proven before goes through the stages.
    site.repo.force_push(&first);
    site.until_log("SourceBehind");
    site.settled(&first);
    site.until_log("SourceRewritten");
    let partitions: Vec<_> = site.set_writes().iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions[partitions.len() - 3..], [2, 0, super::site::PARKED]);
    // Another history altogether.
    site.repo.git(&["checkout", "-q", "--orphan", "fresh"]);
    let third = site.repo.write("web.yaml", web.image("web:3").yaml()).commit("another beginning");
    site.repo.force_push(&third);
    site.settled(&third);
    assert_eq!(image(&site.set("web")), "web:3");
    site.assert_guarded();
}

fn an_emptied_repository_deletes_nothing(version: Version) {
    let Some(site) = Site::shared(version, "emptied") else { return };
    let files = [("web.yaml", &*Set::web("web:1").claims().yaml()), ("rollout-plan.yaml", &*plan(&[], &STAGES))];
    let first = site.push("first", &files);
    site.settled(&first);
    let (old, claims) = (site.pods(), site.claims());
    site.repo.remove("web.yaml").remove("rollout-plan.yaml");
    let emptied = site.push("away with it", &[]);
    site.until("Blocked", "Orphaned");
    site.until_log("Orphaned");
    site.stays(1.0);
    assert_eq!((uids(&site.pods()), site.claims()), (uids(&old), claims));
    site.push_revert(&emptied);
    site.until("Healthy", "Completed");
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&old));
    site.assert_guarded();
}

/// Two workloads in one repository, at rest.
fn two<'a>(version: Version, name: &str) -> Option<(Site<'a>, Set, Set)> {
    let site = Site::shared(version, name)?;
    let (web, db) = (Set::web("web:1").replicas(2), Set::named("db", "db:1").replicas(2));
    let first = site.push(
        "first",
        &[
            ("web/web.yaml", &web.yaml()),
            ("web/rollout-plan.yaml", &plan(&[], &STAGES)),
            ("db/db.yaml", &db.yaml()),
            ("db/rollout-plan.yaml", &plan_for("db", &[], &STAGES)),
        ],
    );
    site.settled(&first);
    site.settled_of("db", &first);
    Some((site, web, db))
}

fn a_broken_manifest_stops_its_own_workload_only(version: Version) {
    let Some((site, web, db)) = two(version, "broken") else { return };
    let old = site.set("web");
    let broken = web.image("web:2").yaml().replace("replicas: 2", "replicas: two");
    let second = site.push("second", &[("web/web.yaml", &broken), ("db/db.yaml", &db.image("db:2").yaml())]);
    site.settled_of("db", &second);
    let status = site.until("Blocked", "InvalidManifest");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("web/web.yaml:") && message.contains("replicas"), "file and line: {message}");
    assert_eq!(site.set("web")["metadata"]["generation"], old["metadata"]["generation"]);

    let third = site.push("third", &[("web/web.yaml", &web.image("web:2").yaml())]);
    site.settled(&third);
    assert!(site.set_writes_for(&second).is_empty());
    site.assert_guarded();
}

fn a_broken_plan_stops_its_own_workload_only(version: Version) {
    let Some((site, web, db)) = two(version, "brokenplan") else { return };
    let broken = plan(&[], &["{replicas: 2}", "{replicas: 1}"]);
    let second = site.push(
        "second",
        &[
            ("web/web.yaml", &web.image("web:2").yaml()),
            ("web/rollout-plan.yaml", &broken),
            ("db/db.yaml", &db.image("db:2").yaml()),
        ],
    );
    site.settled_of("db", &second);
    let status = site.until("Blocked", "InvalidManifest");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("web/rollout-plan.yaml:"), "file and line: {message}");
    assert_eq!(image(&site.set("web")), "web:1");

    site.push("third", &[("web/rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.settled(&second);
    site.assert_guarded();
}

on_both_versions![
    a_repository_that_is_away_stops_no_rollout,
    a_branch_that_is_gone_or_rewritten,
    an_emptied_repository_deletes_nothing,
    a_broken_manifest_stops_its_own_workload_only,
    a_broken_plan_stops_its_own_workload_only,
];
