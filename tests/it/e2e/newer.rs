//! A newer commit while a rollout runs, as the plan says: Restart, Queue, Block; and a newer plan.

use super::{
    manifest::{Set, plan},
    site::{PARKED, Site, all_ready, uids},
};
use crate::controlplane::{Pod, Version};

/// The revision of every pod, by name.
fn revisions(pods: &[Pod]) -> Vec<&str> {
    pods.iter().map(|it| it.revision.as_str()).collect()
}

/// Four pods at the first commit, with a plan of these stages.
fn site(version: Version, name: &str, spec: &[&str], stages: &[&str]) -> Option<(Site<'static>, Set)> {
    let site = Site::shared(version, name)?;
    let web = Set::web("web:1").replicas(4);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(spec, stages))]);
    site.settled(&first);
    Some((site, web))
}

fn partitions(site: &Site<'_>, commit: &str) -> Vec<u64> {
    site.set_writes_for(commit).iter().filter_map(|it| it.partition).collect()
}

fn restart_begins_with_the_first_stage_again(version: Version) {
    let stages = ["{replicas: 1}", "{replicas: '50%', pause: {}}", "{replicas: '100%'}"];
    let Some((site, web)) = site(version, "newer-restart", &["onNewRevision: Restart"], &stages) else { return };
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until_status("web", |it| it["reason"] == "StagePaused" && it["stage"]["number"] == 2);
    let half = site.pods();

    // The first stage of the third takes as long as it takes somebody to look.
    let slow = ["{replicas: 1, pause: {}}", "{replicas: '50%'}", "{replicas: '100%'}"];
    let plan = plan(&["onNewRevision: Restart"], &slow);
    let third = site.push("third", &[("web.yaml", &web.image("web:3").yaml()), ("rollout-plan.yaml", &plan)]);
    let status =
        site.until_status("web", |it| it["reason"] == "StagePaused" && it["target"]["commit"] == third.as_str());
    assert_eq!((&status["stage"]["number"], &status["stage"]["partition"]), (&1.into(), &3.into()), "{status:#}");
    let now = site.pods();
    assert_eq!(uids(&now)[..3], uids(&half)[..3], "what the second had exposed stays until its stage");
    assert_eq!(revisions(&now)[..3], revisions(&half)[..3]);
    assert!(![&old[3].revision, &half[3].revision].contains(&&now[3].revision), "{now:#?}");

    site.phaseline_ok(&["promote", "web"]);
    site.settled(&third);
    assert_eq!(partitions(&site, &second), [3, 2]);
    assert_eq!(partitions(&site, &third), [3, 2, 0, PARKED]);
    let done = site.pods();
    assert!(all_ready(&done, 4) && done.iter().all(|it| it.revision == now[3].revision), "{done:#?}");
    site.assert_guarded();
}

fn queue_ends_the_running_one_first(version: Version) {
    let stages = ["{replicas: 1, pause: {}}", "{replicas: '100%'}"];
    let Some((site, web)) = site(version, "newer-queue", &["onNewRevision: Queue"], &stages) else { return };
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    let canary = site.pods();
    let third = site.push("third", &[("web.yaml", &web.image("web:3").yaml())]);
    let status = site.until_status("web", |it| it.to_string().contains(&third));
    assert_eq!((&status["reason"], &status["target"]["commit"]), (&"StagePaused".into(), &second.as_str().into()));
    site.stays(1.0);
    assert_eq!(uids(&site.pods()), uids(&canary));

    // A scale does not wait in the queue.
    let wider = web.image("web:3").replicas(5);
    let scaled = site.push("scaled", &[("web.yaml", &wider.yaml())]);
    site.until_live("web", |set, _| set["spec"]["replicas"] == 5);
    assert_eq!(site.set("web")["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
    site.push("back", &[("web.yaml", &web.image("web:3").yaml())]);
    site.until_live("web", |set, _| set["spec"]["replicas"] == 4);
    assert!(site.set_writes_for(&scaled).is_empty(), "a commit that only scales is no rollout");
    site.until("Paused", "StagePaused");

    site.phaseline_ok(&["promote", "web"]);
    let status =
        site.until_status("web", |it| it["reason"] == "StagePaused" && it["target"]["commit"] == third.as_str());
    assert_eq!((&status["stage"]["number"], &status["stage"]["partition"]), (&1.into(), &3.into()), "{status:#}");
    let now = site.pods();
    let second_revision = &canary[3].revision;
    assert!(now[..3].iter().all(|it| it.revision == *second_revision), "the second was brought to its end: {now:#?}");
    assert_ne!(now[3].revision, *second_revision);
    let order: Vec<_> = site.set_writes().into_iter().map(|it| it.record["target"]["commit"].clone()).collect();
    let ended = order.iter().rposition(|it| *it == second.as_str());
    assert!(ended < order.iter().position(|it| *it == third.as_str()), "{order:?}");
    assert_eq!(partitions(&site, &second).last(), Some(&PARKED));
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&third);
    assert_eq!(partitions(&site, &third), [3, 0, PARKED]);
    site.assert_guarded();
}

fn block_waits_for_a_person(version: Version) {
    let stages = ["{replicas: 1, minReadySeconds: 3}", "{replicas: '100%'}"];
    let Some((site, web)) = site(version, "newer-block", &["onNewRevision: Block"], &stages) else { return };
    let old = site.pods();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until_live("web", |set, _| super::site::partition(set) == Some(3));
    let third = site.push("third", &[("web.yaml", &web.image("web:3").yaml())]);
    // The stage is brought to its end, and no further.
    let status = site.until("Paused", "Superseded");
    assert_eq!(status["waitingOn"]["kind"], "NewRevisionDecision", "{status:#}");
    assert_eq!(status["target"]["commit"], second.as_str(), "{status:#}");
    site.stays(1.5);
    let canary = site.pods();
    assert_eq!(uids(&canary)[..3], uids(&old)[..3]);

    site.phaseline_ok(&["resume", "web"]);
    site.settled(&third);
    assert_eq!(partitions(&site, &second), [3]);
    assert_eq!(partitions(&site, &third), [3, 0, PARKED], "on the pod exposed, then by the plan");
    let done = site.pods();
    assert!(
        all_ready(&done, 4) && done.iter().all(|it| ![&old[0].revision, &canary[3].revision].contains(&&it.revision))
    );
    site.assert_guarded();
}

fn a_newer_plan_is_taken_when_somebody_says_so(version: Version) {
    let stages = ["{replicas: 1, pause: {}}", "{replicas: '100%'}"];
    let Some((site, web)) = site(version, "replan", &[], &stages) else { return };
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    let refused = site.phaseline(&["resume", "web", "--replan"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("no newer plan waits"), "{why}");
    let canary = site.pods();

    // Another pause, later; the one that is waited for is gone.
    let other = ["{replicas: 1}", "{replicas: '50%', pause: {}}", "{replicas: '100%'}"];
    site.push("plan", &[("rollout-plan.yaml", &plan(&[], &other))]);
    let status = site.until_status("web", |it| it.to_string().contains("--replan"));
    assert_eq!((&status["reason"], &status["stage"]["of"]), (&"StagePaused".into(), &2.into()), "{status:#}");
    site.stays(1.0);

    site.phaseline_ok(&["resume", "web", "--replan"]);
    let status = site.until_status("web", |it| it["reason"] == "StagePaused" && it["stage"]["number"] == 2);
    assert_eq!((&status["stage"]["of"], &status["stage"]["partition"]), (&3.into(), &2.into()), "{status:#}");
    let half = site.pods();
    assert_eq!(uids(&half)[3..], uids(&canary)[3..], "what was exposed stays as it is");
    assert_eq!(uids(&half)[..2], uids(&canary)[..2]);
    site.phaseline_ok(&["promote", "web"]);
    site.settled(&second);
    assert_eq!(
        partitions(&site, &second),
        [3, 3, 3, 2, 0, PARKED],
        "the start, the refusal, the newer plan, its stages"
    );
    site.assert_guarded();
}

on_both_versions![
    restart_begins_with_the_first_stage_again,
    queue_ends_the_running_one_first,
    block_waits_for_a_person,
    a_newer_plan_is_taken_when_somebody_says_so,
];
