//! Claims outlive everything that nobody asked for.

use super::{
    manifest::{Set, plan},
    site::{Site, all_ready, uids},
};
use crate::controlplane::Version;

const STAGES: [&str; 2] = ["{replicas: 1}", "{replicas: '100%'}"];
const DELETES: &str = "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}";

/// A commit that drops `replicas` leaves the number to others; nothing is reset on the way.
fn replicas_dropped(version: Version, name: &str, web: &Set) {
    let Some(site) = Site::shared(version, name) else { return };
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.settled(&first);
    let (old, claims) = (site.pods(), site.claims());
    assert_eq!((old.len(), claims.len()), (3, 3));
    let rest = site.status("web")["revision"].clone();

    site.push("drop", &[("web.yaml", &web.any_replicas().yaml())]);
    let managers = |set: &serde_json::Value| {
        let entries = set["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let owns = |it: &&serde_json::Value| it.pointer("/fieldsV1/f:spec/f:replicas").is_some();
        entries.iter().filter(owns).map(|it| it["manager"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    site.until_live("web", |set, _| managers(set) == ["phaseline-handover"]);
    assert_eq!(site.status("web")["revision"], rest);
    // Long enough for the controller to scale down, if it were told to.
    site.stays(1.0);
    assert_eq!(site.set("web")["spec"]["replicas"], 3);
    assert_eq!(uids(&site.pods()), uids(&old));
    assert_eq!(site.claims(), claims);
    let writes = site.set_writes();
    assert!(writes.iter().all(|it| it.replicas == 3), "at no time another number");
    assert_eq!(
        writes.iter().filter(|it| it.entry.field_manager().as_deref() == Some("phaseline-handover")).count(),
        1,
        "handed over before it goes"
    );

    // From now on it is somebody else's.
    site.kubectl(&["scale", "statefulset", "web", "--replicas=4"]);
    site.until_pods(|it| all_ready(it, 4));
    let second = site.push("second", &[("web.yaml", &web.image("web:2").any_replicas().yaml())]);
    site.settled(&second);
    assert_eq!(site.set("web")["spec"]["replicas"], 4);
    assert!(claims.iter().all(|it| site.claims().contains(it)));
    site.assert_guarded();
}

fn a_commit_that_drops_replicas_changes_no_number(version: Version) {
    replicas_dropped(version, "drop", &Set::web("web:1").claims());
}

fn a_commit_that_drops_replicas_deletes_no_claim(version: Version) {
    replicas_dropped(version, "dropdelete", &Set::web("web:1").claims().spec(DELETES));
}

fn a_scale_down_that_deletes_claims_is_blocked_until_allowed(version: Version) {
    let Some(site) = Site::shared(version, "claims") else { return };
    let web = Set::web("web:1").claims().spec(DELETES);
    let first = site.push("first", &[("web.yaml", &web.yaml()), ("rollout-plan.yaml", &plan(&[], &STAGES))]);
    site.settled(&first);
    let (old, claims) = (site.pods(), site.claims());
    site.push("down", &[("web.yaml", &web.replicas(1).yaml())]);
    let status = site.until("Blocked", "ClaimDeletion");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("data-web-1, data-web-2"), "{message}");
    site.stays(1.0);
    assert_eq!((uids(&site.pods()), site.claims()), (uids(&old), claims.clone()));

    let allowed = web.replicas(1).annotation("phaseline.dev/allow-claim-deletion", "true");
    site.push("down, and the claims too", &[("web.yaml", &allowed.yaml())]);
    super::eventually_ok(|| if site.claims() == claims[..1] { Ok(()) } else { Err(format!("{:?}", site.claims())) });
    site.until("Healthy", "Completed");
    assert_eq!(uids(&site.pods()), uids(&old)[..1]);
    site.assert_guarded();
}

on_both_versions![
    a_commit_that_drops_replicas_changes_no_number,
    a_commit_that_drops_replicas_deletes_no_claim,
    a_scale_down_that_deletes_claims_is_blocked_until_allowed,
];
