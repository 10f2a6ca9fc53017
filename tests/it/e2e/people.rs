//! What people ask for: promote, pause, resume; and pauses that end by themselves.

use jiff::SignedDuration;

use super::{
    manifest::{Set, plan},
    site::{PARKED, Site, all_ready, uids},
};
use crate::controlplane::Version;

fn a_pause_ends_when_somebody_promotes(version: Version) {
    let Some(site) = Site::shared(version, "promote") else { return };
    let web = Set::web("web:1");
    let stages = ["{replicas: 1, pause: {}}", "{replicas: 2, pause: {}}", "{replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.settled(&first);
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.until("Paused", "StagePaused");
    assert_eq!(status["waitingOn"]["kind"], "Promotion", "{status:#}");
    assert_eq!((&status["stage"]["number"], &status["stage"]["of"]), (&1.into(), &3.into()), "{status:#}");
    site.stays(1.0);
    assert_eq!(uids(&site.pods())[..2], uids(&old)[..2]);

    site.phaseline_ok(&["promote", "web"]);
    site.until_status("web", |it| it["reason"] == "StagePaused" && it["stage"]["number"] == 2);
    assert_eq!(uids(&site.pods())[..1], uids(&old)[..1]);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    // A promotion travels in the write of the stage.
    let partitions: Vec<_> = site.set_writes_for(&second).iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [2, 1, 0, PARKED]);
    let refused = site.phaseline(&["promote", "web"]);
    assert!(!refused.status.success(), "nothing is under way: {refused:?}");
    site.assert_guarded();
}

fn a_pause_with_an_end_ends(version: Version) {
    let Some(site) = Site::shared(version, "timed") else { return };
    let web = Set::web("web:1");
    let stages = ["{replicas: 1, pause: {duration: 3s}}", "{replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.until("Paused", "StagePaused");
    assert_eq!(status["waitingOn"]["kind"], "Pause", "{status:#}");
    site.settled(&second);
    let writes = site.set_writes_for(&second);
    assert_eq!(writes.iter().filter_map(|it| it.partition).collect::<Vec<_>>(), [2, 0, PARKED]);
    let ready = site.ready_at(&site.pods()[2].uid).expect("it was Ready");
    let paused = writes[1].received.duration_since(ready);
    assert!(paused >= SignedDuration::from_secs(3), "{paused}");
    site.assert_guarded();
}

fn a_person_holds_a_rollout_and_lets_it_go(version: Version) {
    let Some(site) = Site::shared(version, "hold") else { return };
    let web = Set::web("web:1");
    let stages = ["{replicas: 1, minReadySeconds: 2}", "{replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &stages))]);
    site.settled(&first);
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until_live("web", |set, _| super::site::partition(set) == Some(2));
    site.phaseline_ok(&["pause", "web"]);
    site.until("Paused", "PausedByUser");
    // Longer than the soak, after which it would go on.
    site.stays(3.5);
    let now = site.pods();
    assert_eq!(uids(&now)[..2], uids(&old)[..2]);
    assert!(all_ready(&now, 3), "{now:#?}");
    site.phaseline_ok(&["resume", "web"]);
    site.settled(&second);
    let partitions: Vec<_> = site.set_writes_for(&second).iter().filter_map(|it| it.partition).collect();
    assert_eq!(partitions, [2, 2, 2, 0, PARKED], "the start, the hold, its end, the rest, the end");
    site.assert_guarded();
}

on_both_versions![
    a_pause_ends_when_somebody_promotes,
    a_pause_with_an_end_ends,
    a_person_holds_a_rollout_and_lets_it_go,
];
