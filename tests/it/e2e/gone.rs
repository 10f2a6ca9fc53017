//! A set is deleted and its pods are not: it comes back where they are, and no pod restarts for it.

use super::{
    manifest::{Set, plan, plan_for},
    site::{PARKED, Site, all_ready, image, partition, uids},
};
use crate::controlplane::Version;

const CANARY: [&str; 2] = ["{name: canary, replicas: 1, pause: {}}", "{name: rest, replicas: '100%'}"];

fn it_comes_back_at_stable_in_mid_canary(version: Version) {
    let Some(site) = Site::shared(version, "gone") else { return };
    // Whoever scales it is not asked when the set comes back.
    for (name, set) in [("web", Set::web("web:1")), ("free", Set::named("free", "web:1").any_replicas())] {
        let stages = plan_for(name, &[], &CANARY);
        let first =
            site.push("first", &[(&format!("{name}.yaml"), &set.yaml()), (&format!("{name}-plan.yaml"), &stages)]);
        site.settled_of(name, &first);
    }
    site.kubectl(&["scale", "statefulset", "free", "--replicas=3"]);
    site.until_pods(|pods| all_ready(pods, 6));
    let second = site.push(
        "second",
        &[("web.yaml", &Set::web("web:2").yaml()), ("free.yaml", &Set::named("free", "web:2").any_replicas().yaml())],
    );
    for name in ["web", "free"] {
        site.until_of(name, "Paused", "StagePaused");
    }
    let canary = site.until_pods(|pods| all_ready(pods, 6));
    let refused = site.phaseline(&["resume", "web", "--recreate"]);
    assert_eq!(refused.status.code(), Some(1), "it is there: {refused:?}");
    for name in ["web", "free"] {
        site.kubectl(&["delete", "statefulset", name, "--cascade=orphan"]);
        let status = site.until_of(name, "Blocked", "Missing");
        let message = status["message"].as_str().unwrap_or_default();
        let way = format!("`phaseline resume {name} --recreate -n {}`", site.ns);
        assert!(message.contains(&way), "{message}");
    }
    site.stays(1.0);

    for name in ["web", "free"] {
        let said = site.phaseline_ok(&["resume", name, "--recreate"]);
        assert!(said.contains(&format!("statefulset.apps/{name} created at ")), "{said}");
        // The tip goes on by its plan, on the pod that runs it already.
        site.until_of(name, "Paused", "StagePaused");
        let set = site.set(name);
        assert_eq!((partition(&set), image(&set)), (Some(2), "web:2"));
    }
    assert_eq!(uids(&site.pods()), uids(&canary), "no pod has moved");
    for name in ["web", "free"] {
        site.phaseline_ok(&["promote", name]);
        site.settled_of(name, &second);
        assert_eq!(partition(&site.set(name)), Some(PARKED));
    }
    let after = site.until_pods(|pods| all_ready(pods, 6));
    for (now, before) in after.iter().zip(&canary) {
        assert_eq!(now.uid == before.uid, now.name.ends_with("-2"), "{}", now.name);
    }
}

fn at_rest_it_comes_back_where_git_is_ahead(version: Version) {
    let Some(site) = Site::shared(version, "gonerest") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let old = site.pods();
    site.kill9();
    site.kubectl(&["delete", "statefulset", "web", "--cascade=orphan"]);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let said = site.phaseline_ok(&["resume", "web", "--recreate"]);
    assert!(said.contains(&first[..10]), "{said}");
    site.start();
    site.until("Paused", "StagePaused");
    assert_eq!(uids(&site.pods())[..2], uids(&old)[..2], "by the plan");
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
}

on_both_versions![it_comes_back_at_stable_in_mid_canary, at_rest_it_comes_back_where_git_is_ahead];
