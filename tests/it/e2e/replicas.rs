//! Scaling on the way: by commit and by somebody else.

use super::{
    manifest::{Set, plan},
    site::{PARKED, Site, all_ready, uids},
};
use crate::controlplane::Version;

const CANARY: [&str; 2] = ["{name: canary, replicas: 1, pause: {}}", "{name: rest, replicas: '100%'}"];
const HALF: [&str; 2] = ["{name: half, replicas: '50%', pause: {}}", "{name: rest, replicas: '100%'}"];

fn a_commit_scales_and_changes_the_template_in_one_write(version: Version) {
    let Some(site) = Site::shared(version, "scaleup") else { return };
    let web = Set::web("web:1");
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &CANARY))]);
    site.settled(&first);
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").replicas(5).yaml())]);
    site.until("Paused", "StagePaused");
    let writes = site.set_writes_for(&second);
    assert_eq!(writes[0].shape(), "apply web web:2 partition 4 of 5 running failed 0");
    let now = site.pods();
    assert!(all_ready(&now, 5), "{now:#?}");
    assert_eq!(uids(&now)[..3], uids(&old)[..3]);
    assert_eq!(now[3].revision, old[0].revision, "a new pod below the partition is of the old side");
    assert_ne!(now[4].revision, old[0].revision);

    // A commit that only scales does not wait for the canary, and takes nothing with it.
    let only = site.push("only scale", &[("web.yaml", &web.image("web:2").replicas(6).yaml())]);
    let set = site.until_live("web", |set, _| set["spec"]["replicas"] == 6);
    assert_eq!(super::site::partition(&set), Some(5), "the canary stays one pod");
    let now = site.until_pods(|it| all_ready(it, 6));
    assert!(site.set_writes_for(&only).is_empty(), "the same revision, brought by the commit before");
    assert_eq!(now.iter().filter(|it| it.revision != old[0].revision).count(), 2, "the old canary and the new one");
    site.until("Paused", "StagePaused");
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    assert!(site.pods().iter().all(|it| it.revision != old[0].revision));
    site.assert_guarded();
}

/// Brings a set without `replicas` to four pods and its canary, half of them.
fn half_way<'a>(version: Version, name: &str) -> Option<(Site<'a>, String)> {
    let site = Site::shared(version, name)?;
    let web = Set::web("web:1").any_replicas().parallel();
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &HALF))]);
    site.settled(&first);
    site.kubectl(&["scale", "statefulset", "web", "--replicas=4"]);
    site.until_pods(|it| all_ready(it, 4));
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.until("Paused", "StagePaused");
    assert_eq!((&status["stage"]["count"], &status["stage"]["partition"]), (&2.into(), &2.into()), "{status:#}");
    Some((site, second))
}

/// The autoscaler's number at a stage of a half, and what has to come of it.
fn scaled_to(version: Version, replicas: u64, partition: u64) {
    let Some((site, second)) = half_way(version, &format!("autoscale{replicas}")) else { return };
    site.kubectl(&["scale", "statefulset", "web", &format!("--replicas={replicas}")]);
    let done = partition == 0;
    if !done {
        site.until_live("web", |set, _| super::site::partition(set) == Some(partition));
        let count = usize::try_from(replicas).unwrap();
        site.until_pods(|it| all_ready(it, count));
        let status = site.until("Paused", "StagePaused");
        assert_eq!(status["stage"]["count"], replicas - partition, "{status:#}");
        site.phaseline_ok(&["promote", "web"]);
    }
    site.settled(&second);
    let set = site.set("web");
    assert_eq!(set["spec"]["replicas"], replicas, "never ours to set");
    let target = set["status"]["updateRevision"].as_str().unwrap_or_default();
    let pods = site.pods();
    assert!(pods.iter().all(|it| it.revision == target), "{pods:#?}");
    let partitions: Vec<_> = site.set_writes_for(&second).iter().filter_map(|it| it.partition).collect();
    let expected: &[u64] = if done { &[2, 0, PARKED] } else { &[2, partition, 0, PARKED] };
    assert_eq!(partitions, expected);
    assert!(site.set_writes().iter().all(|it| it.entry.request.pointer("/spec/replicas").is_none()));
    site.assert_guarded();
}

fn an_autoscaler_goes_up_at_the_canary(version: Version) {
    scaled_to(version, 6, 3);
}

fn an_autoscaler_goes_down_below_the_canary(version: Version) {
    scaled_to(version, 2, 1);
}

fn an_autoscaler_goes_down_to_one(version: Version) {
    scaled_to(version, 1, 0);
}

fn an_autoscaler_goes_down_at_the_canary(version: Version) {
    // Three: half of it, rounded up, is two: the partition falls to one.
    scaled_to(version, 3, 1);
}

on_both_versions![
    a_commit_scales_and_changes_the_template_in_one_write,
    an_autoscaler_goes_up_at_the_canary,
    an_autoscaler_goes_down_at_the_canary,
    an_autoscaler_goes_down_below_the_canary,
    an_autoscaler_goes_down_to_one,
];
