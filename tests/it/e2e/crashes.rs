//! Power cuts: the daemon after every single write of its, and the API server on the way.

use super::{
    manifest::{Set, plan},
    site::{Site, all_ready},
};
use crate::controlplane::{ControlPlane, Options, Version};

const STAGES: [&str; 3] = ["{replicas: 1}", "{replicas: 2, minReadySeconds: 1}", "{replicas: '100%'}"];

/// An install, a rollout, a failure and its revert; every write that was made for it.
fn story(site: &Site<'_>) -> Vec<String> {
    let web = Set::web("web:1").replicas(4);
    let plan = plan(&["progressDeadlineSeconds: 4"], &STAGES);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    let old = site.pods();
    let bad = site.push("bad", &[("web.yaml", &web.image("web:pull").yaml())]);
    site.until_failed();
    let revert = site.push_revert(&bad);
    let status = site.settled(&revert);
    assert_eq!(status["reason"], "RolledBack");
    let now = site.pods();
    assert!(all_ready(&now, 4) && now.iter().all(|it| it.revision == old[0].revision), "{now:#?}");
    assert_eq!(now[..3], old[..3], "three of them saw nothing of it");
    site.assert_guarded();
    let writes = site.set_writes().into_iter().map(|it| it.shape());
    writes.chain(site.deleted_pods().into_iter().map(|it| format!("delete {it}"))).collect()
}

fn a_daemon_killed_after_every_write_comes_to_the_same(version: Version) {
    let Some(undisturbed) = Site::shared(version, "calm") else { return };
    let expected = story(&undisturbed);
    assert_eq!(expected.last().map(String::as_str), Some("delete web-3"));
    drop(undisturbed);
    let Some(site) = Site::shared(version, "killed") else { return };
    site.kill_after_every_write();
    assert_eq!(story(&site), expected);
    // Two writes may come so fast after each other that one death is enough for both.
    let deaths = *site.starts.borrow() - 1;
    assert!(deaths + 2 >= expected.len(), "killed {deaths} times");
}

fn an_api_server_that_goes_away_on_the_way(version: Version) {
    let Some(plane) = ControlPlane::start_with(version, &Options { volumes: 1, ..Options::default() }) else { return };
    let site = Site::on(&plane, "apiserver");
    site.start();
    let web = Set::web("web:1");
    let plan = plan(&[], &["{replicas: 1, minReadySeconds: 4}", "{replicas: '100%'}"]);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    // In the soak, with the canary Ready.
    site.until_pods(|it| all_ready(it, 3) && it[2].revision != it[0].revision);
    plane.stop_apiserver();
    site.until_log("lost sight of the cluster");
    plane.start_apiserver();
    // A scheduler that has missed a pod's end and the beginning of its successor gives up, sooner or later.
    plane.restart("kube-scheduler");
    // What happened before its start a new API server cannot tell: everything is listed once more.
    *site.starts.borrow_mut() += 1;
    site.settled(&second);
    let shapes: Vec<_> = site.set_writes_for(&second).iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        [
            "apply web web:2 partition 2 of 3 running failed 0",
            "patch web web:2 partition 0 of 3 running failed 0",
            "patch web web:2 partition parked of 3 done failed 0",
        ]
    );
    // An API server that has just started may not know who has which rights yet: it refuses what it will allow.
    site.assert_guarded_but_for(|it| it.code == 403);
}

on_both_versions![a_daemon_killed_after_every_write_comes_to_the_same, an_api_server_that_goes_away_on_the_way];
