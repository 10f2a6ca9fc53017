//! Rollouts that go well: stages, soaks, sizes, and commits that arrive on the way.

use jiff::SignedDuration;

use super::{
    manifest::{Set, plan},
    site::{Site, all_ready, uids},
};
use crate::controlplane::Version;

/// A canary that waits for a person, then the rest.
const CANARY: [&str; 2] = ["{name: canary, replicas: 1, pause: {}}", "{name: rest, replicas: '100%'}"];

fn install_then_three_stages_with_a_soak(version: Version) {
    let Some(site) = Site::shared(version, "stages") else { return };
    let plan = plan(
        &[],
        &[
            "{name: one, replicas: 1, minReadySeconds: 2}",
            "{name: half, replicas: '50%', minReadySeconds: 2}",
            "{name: all, replicas: '100%', minReadySeconds: 2}",
        ],
    );
    let web = Set::web("web:1").replicas(4);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    let status = site.settled(&first);
    assert_eq!(status["reason"], "Completed");
    let shapes: Vec<_> = site.set_writes().iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        [
            "apply web web:1 partition parked of 4 running failed 0",
            "patch web web:1 partition parked of 4 done failed 0"
        ]
    );
    let old = site.pods();
    assert!(all_ready(&old, 4), "{old:#?}");

    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    let writes = site.set_writes_for(&second);
    let shapes: Vec<_> = writes.iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        [
            "apply web web:2 partition 3 of 4 running failed 0",
            "patch web web:2 partition 2 of 4 running failed 0",
            "patch web web:2 partition 0 of 4 running failed 0",
            "patch web web:2 partition parked of 4 done failed 0",
        ]
    );
    assert!(writes[0].brings_template() && writes[0].brings_partition() == Some(3));
    assert!(writes.iter().all(|it| !it.brings_template() || it.brings_partition().is_some()));
    let pods = site.pods();
    assert!(all_ready(&pods, 4) && pods.iter().all(|it| it.revision != old[0].revision), "{pods:#?}");
    for (write, exposed) in writes[1..].iter().zip([3, 2, 0]) {
        for pod in &pods[exposed..] {
            let ready = site.ready_at(&pod.uid).expect("it was Ready");
            let soaked = write.received.duration_since(ready);
            assert!(soaked >= SignedDuration::from_secs(2), "{} after {soaked}: {}", write.shape(), pod.name);
        }
    }
    site.assert_guarded();
}

fn a_revert_on_the_way_takes_back_what_was_exposed(version: Version) {
    let Some(site) = Site::shared(version, "revert") else { return };
    let web = Set::web("web:1").claims();
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let (old, claims) = (site.pods(), site.claims());
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    assert_ne!(site.pods()[2].revision, old[2].revision);

    let revert = site.push_revert(&second);
    let status = site.settled(&revert);
    assert_eq!(status["reason"], "RolledBack");
    let now = site.pods();
    assert_eq!(uids(&now)[..2], uids(&old)[..2], "nothing else was ever exposed");
    assert_eq!(now[2].revision, old[2].revision);
    assert_eq!(site.claims(), claims);
    let shapes: Vec<_> = site.set_writes_for(&revert).iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        ["apply web web:1 partition 2 of 3 running failed 0", "patch web web:1 partition parked of 3 done failed 0"]
    );
    assert!(site.deleted_pods().is_empty(), "the controller does it by itself");
    site.assert_guarded();
}

fn a_newer_commit_takes_over_exactly_what_was_exposed(version: Version) {
    let Some(site) = Site::shared(version, "forward") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let old = site.pods();
    site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    let canary = site.pods()[2].clone();

    let third = site.push("third", &[("web.yaml", &web.image("web:3").yaml())]);
    site.until_status("web", |it| it["reason"] == "StagePaused" && it["target"]["commit"] == third.as_str());
    let now = site.pods();
    assert_eq!(uids(&now)[..2], uids(&old)[..2]);
    assert!(now[2].revision != canary.revision && now[2].revision != old[2].revision);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&third);
    let shapes: Vec<_> = site.set_writes_for(&third).iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        [
            "apply web web:3 partition 2 of 3 running failed 0",
            "patch web web:3 partition 0 of 3 running failed 0",
            "patch web web:3 partition parked of 3 done failed 0",
        ]
    );
    site.assert_guarded();
}

fn a_singleton_has_one_stage(version: Version) {
    let Some(site) = Site::shared(version, "single") else { return };
    let web = Set::web("web:1").replicas(1);
    let stages = ["{replicas: 1, pause: {}}", "{replicas: '50%', pause: {}}", "{replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    let shapes: Vec<_> = site.set_writes_for(&second).iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        ["apply web web:2 partition 0 of 1 running failed 0", "patch web web:2 partition parked of 1 done failed 0"]
    );
    site.assert_guarded();
}

fn ordinals_may_start_anywhere(version: Version) {
    let Some(site) = Site::shared(version, "ordinals") else { return };
    let web = Set::web("web:1").spec("ordinals: {start: 5}");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let old = site.pods();
    assert_eq!(old.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["web-5", "web-6", "web-7"]);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.until("Paused", "StagePaused");
    assert_eq!((&status["stage"]["partition"], &status["stage"]["count"]), (&2.into(), &1.into()), "{status:#}");
    let now = site.pods();
    assert_eq!(uids(&now)[..2], uids(&old)[..2]);
    assert_ne!(now[2].revision, old[2].revision);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    assert!(site.pods().iter().all(|it| it.revision == now[2].revision));
    site.assert_guarded();
}

fn a_share_of_seven_is_rounded_up(version: Version) {
    let Some(site) = Site::shared(version, "seven") else { return };
    let web = Set::web("web:1").replicas(7).parallel();
    let stages = ["{replicas: '30%', pause: {}}", "{replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.settled(&first);
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.until("Paused", "StagePaused");
    assert_eq!((&status["stage"]["count"], &status["stage"]["partition"]), (&3.into(), &4.into()), "{status:#}");
    assert_eq!(uids(&site.pods())[..4], uids(&old)[..4]);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    assert!(site.pods().iter().all(|it| it.ready && it.revision != old[0].revision));
    site.assert_guarded();
}

fn without_a_plan_everything_is_one_stage(version: Version) {
    let Some(site) = Site::shared(version, "noplan") else { return };
    let web = Set::web("web:1").claims();
    let first = site.push("first", &[("web.yaml", &web.yaml())]);
    site.settled(&first);
    let claims = site.claims();
    assert_eq!(claims.len(), 3);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    let shapes: Vec<_> = site.set_writes_for(&second).iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        ["apply web web:2 partition 0 of 3 running failed 0", "patch web web:2 partition parked of 3 done failed 0"]
    );
    assert_eq!(site.claims(), claims, "claims outlive their pods");
    site.assert_guarded();
}

fn a_parallel_set_goes_by_stages_too(version: Version) {
    let Some(site) = Site::shared(version, "parallel") else { return };
    let web = Set::web("web:1").replicas(4).parallel().claims();
    let stages = ["{replicas: 1, minReadySeconds: 1}", "{replicas: '50%'}", "{replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.settled(&first);
    let (old, claims) = (site.pods(), site.claims());
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.settled(&second);
    let partitions: Vec<_> = site.set_writes_for(&second).iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [3, 2, 0, super::site::PARKED]);
    assert!(site.pods().iter().all(|it| it.ready && it.revision != old[0].revision));

    // At rest again, a revert to what was proven goes at once.
    let revert = site.push_revert(&second);
    let status = site.settled(&revert);
    assert_eq!(status["reason"], "RolledBack");
    let partitions: Vec<_> = site.set_writes_for(&revert).iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [0, super::site::PARKED]);
    assert!(site.pods().iter().all(|it| it.ready && it.revision == old[0].revision), "the old revision's name again");
    assert_eq!(site.claims(), claims);
    site.assert_guarded();
}

on_both_versions![
    install_then_three_stages_with_a_soak,
    a_revert_on_the_way_takes_back_what_was_exposed,
    a_newer_commit_takes_over_exactly_what_was_exposed,
    a_singleton_has_one_stage,
    ordinals_may_start_anywhere,
    a_share_of_seven_is_rounded_up,
    without_a_plan_everything_is_one_stage,
    a_parallel_set_goes_by_stages_too,
];
