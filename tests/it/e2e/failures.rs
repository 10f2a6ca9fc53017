//! Rollouts that go wrong, and the ways out.

use super::{
    manifest::{Set, plan},
    site::{Site, all_ready, uids},
};
use crate::controlplane::Version;

const STAGES: [&str; 2] = ["{name: canary, replicas: 1}", "{name: rest, replicas: '100%'}"];

/// A canary that never becomes Ready, and the revert that heals it.
fn a_bad_image(version: Version, fault: &str, trouble: &str) {
    let Some(site) = Site::shared(version, fault) else { return };
    let web = Set::web("web:1").claims();
    let plan = plan(&["progressDeadlineSeconds: 5"], &STAGES);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    site.settled(&first);
    let (old, claims) = (site.pods(), site.claims());
    let revision = site.set("web")["status"]["updateRevision"].clone();

    let bad = site.push("bad", &[("web.yaml", &web.image(&format!("web:{fault}")).yaml())]);
    let status = site.until_failed();
    assert_eq!(status["culprit"]["pod"], "web-2", "{status:#}");
    assert_eq!(status["culprit"]["reason"], trouble, "{status:#}");
    let now = site.pods();
    assert_eq!(uids(&now)[..2], uids(&old)[..2], "the failure stays in its stage");

    let revert = site.push_revert(&bad);
    let status = site.settled(&revert);
    assert_eq!(status["reason"], "RolledBack");
    assert_eq!(site.set("web")["status"]["updateRevision"], revision, "the old revision, by its name");
    let now = site.pods();
    assert!(all_ready(&now, 3) && now.iter().all(|it| it.revision == revision), "{now:#?}");
    assert_eq!(uids(&now)[..2], uids(&old)[..2]);
    assert_eq!(site.claims(), claims);
    assert_eq!(site.deleted_pods(), ["web-2"], "once");
    let shapes: Vec<_> = site.set_writes_for(&bad).iter().map(|it| it.shape()).collect();
    let image = format!("web:{fault}");
    assert_eq!(
        shapes,
        [
            format!("apply web {image} partition 2 of 3 running failed 0"),
            format!("patch web {image} partition 2 of 3 running failed 1"),
        ]
    );
    let shapes: Vec<_> = site.set_writes_for(&revert).iter().map(|it| it.shape()).collect();
    assert_eq!(
        shapes,
        ["apply web web:1 partition 2 of 3 running failed 1", "patch web web:1 partition parked of 3 done failed 1"]
    );
    site.assert_guarded();
}

fn an_image_that_cannot_be_pulled(version: Version) {
    a_bad_image(version, "pull", "ImagePullBackOff");
}

fn a_container_that_crashes(version: Version) {
    a_bad_image(version, "crash", "CrashLoopBackOff");
}

fn a_pod_that_is_never_ready(version: Version) {
    a_bad_image(version, "never-ready", "NotReady");
}

fn a_fix_instead_of_a_revert(version: Version) {
    let Some(site) = Site::shared(version, "fix") else { return };
    let web = Set::web("web:1");
    let plan = plan(&["progressDeadlineSeconds: 4"], &STAGES);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    site.settled(&first);
    site.push("bad", &[("web.yaml", &web.image("web:pull").yaml())]);
    site.until_failed();
    let fix = site.push("fix", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.settled(&fix);
    assert_eq!(status["reason"], "Completed");
    let partitions: Vec<_> = site.set_writes_for(&fix).iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [2, 0, super::site::PARKED], "on the pods exposed, then by the plan");
    assert_eq!(site.deleted_pods(), ["web-2"]);
    site.assert_guarded();
}

fn what_failed_is_tried_again_when_asked_to(version: Version) {
    let Some(site) = Site::shared(version, "retry") else { return };
    let web = Set::web("web:1").replicas(2);
    let plan = plan(&["progressDeadlineSeconds: 5"], &STAGES);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    site.settled(&first);
    let late = site.push("late", &[("web.yaml", &web.image("web:never-ready").yaml())]);
    site.until_failed();
    // What held it up goes away: the pod's own annotation counts before its image.
    let heal = |pod: &str| site.kubectl(&["annotate", "pod", pod, "fault.phaseline.dev=none"]);
    heal("web-1");
    site.until_pods(|it| all_ready(it, 2));
    site.stays(1.0);
    assert_eq!(site.status("web")["phase"], "Degraded", "until somebody decides");
    let revision = site.pods()[1].revision.clone();
    site.phaseline_ok(&["retry", "web"]);
    site.until_pods(|it| it.len() == 2 && it[0].revision == revision);
    heal("web-0");
    site.settled(&late);
    site.assert_guarded();
}

fn a_first_install_that_never_becomes_ready_is_fixed(version: Version) {
    let Some(site) = Site::shared(version, "install") else { return };
    let web = Set::web("web:pull").claims();
    let plan = plan(&["progressDeadlineSeconds: 3"], &STAGES);
    site.push("bad", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan)]);
    let status = site.until("Degraded", "ProgressDeadlineExceeded");
    assert_eq!(status["culprit"]["pod"], "web-0", "{status:#}");
    let claims = site.claims();
    let fix = site.push("fix", &[("web.yaml", &web.image("web:1").yaml())]);
    site.settled(&fix);
    let pods = site.pods();
    assert!(all_ready(&pods, 3), "{pods:#?}");
    let partitions: Vec<_> = site.set_writes_for(&fix).iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [0, super::site::PARKED]);
    assert_eq!(site.deleted_pods(), ["web-0"], "once");
    assert!(claims.iter().all(|it| site.claims().contains(it)));
    site.assert_guarded();
}

on_both_versions![
    an_image_that_cannot_be_pulled,
    a_container_that_crashes,
    a_pod_that_is_never_ready,
    a_fix_instead_of_a_revert,
    what_failed_is_tried_again_when_asked_to,
    a_first_install_that_never_becomes_ready_is_fixed,
];
