//! Claims: made, held back, and owned as the retention policy says.

use serde_json::{Value, json};

use super::{Bench, everywhere, of};
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// Owners of a claim, by kind and name.
fn owners(bench: &Bench, claim: &str) -> Vec<String> {
    let claim = bench.fake.find(Resource::Claims, claim).unwrap();
    let owners = claim["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    owners.iter().map(|it| format!("{} {}", it["kind"].as_str().unwrap(), it["name"].as_str().unwrap())).collect()
}

const POLICIES: [(&str, &str); 4] =
    [("Retain", "Retain"), ("Retain", "Delete"), ("Delete", "Retain"), ("Delete", "Delete")];

fn retain(spec: &mut Value, (scaled, deleted): (&str, &str)) {
    spec["persistentVolumeClaimRetentionPolicy"] = json!({"whenScaled": scaled, "whenDeleted": deleted});
}

#[test]
fn owners_follow_the_policy() {
    everywhere(|compat, policy| {
        for retention in POLICIES {
            let mut bench = Bench::new(compat, policy, |spec| retain(spec, retention));
            bench.settle();
            let of_set: &[&str] = if retention.1 == "Delete" { &["StatefulSet web"] } else { &[] };
            for claim in ["www-web-0", "www-web-1", "www-web-2"] {
                assert_eq!(owners(&bench, claim), of_set, "{retention:?}");
            }
            bench.fake.lingering = true;
            bench.edit(|spec| spec["replicas"] = 1.into());
            bench.writes();
            let condemned: &[&str] = if retention.0 == "Delete" { &["Pod web-2"] } else { of_set };
            assert_eq!(owners(&bench, "www-web-2"), condemned, "{retention:?}: armed before the pod goes");
            assert_eq!(owners(&bench, "www-web-0"), of_set);
            // Back in range: as before.
            bench.edit(|spec| spec["replicas"] = 3.into());
            bench.fake.change(Resource::Pods, "web-2", |pod| {
                drop(pod["metadata"].as_object_mut().unwrap().remove("deletionTimestamp"))
            });
            bench.fake.change(Resource::Pods, "web-1", |pod| {
                drop(pod["metadata"].as_object_mut().unwrap().remove("deletionTimestamp"))
            });
            bench.settle();
            assert_eq!(owners(&bench, "www-web-2"), of_set, "{retention:?}");
            // Retained in the same write, nothing is armed.
            bench.edit(|spec| {
                spec["replicas"] = 0.into();
                retain(spec, ("Retain", "Retain"));
            });
            bench.writes();
            assert_eq!(owners(&bench, "www-web-2"), Vec::<String>::new());
        }
    });
}

#[test]
fn a_foreign_controller_switches_the_policy_off_for_its_claim() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| retain(spec, ("Delete", "Delete")));
        bench.settle();
        bench.fake.change(Resource::Claims, "www-web-1", |claim| {
            claim["metadata"]["ownerReferences"].as_array_mut().unwrap().insert(
                0,
                json!({
                    "apiVersion": "v1", "kind": "Backup", "name": "b", "uid": "u", "controller": true,
                }),
            );
        });
        bench.reasons();
        bench.settle();
        assert_eq!(owners(&bench, "www-web-1"), ["Backup b"]);
        assert!(bench.reasons().contains(&"ConflictingController"));
        assert!(bench.writes().is_empty(), "left alone from then on");
        bench.edit(|spec| spec["replicas"] = 1.into());
        bench.settle();
        assert_eq!(owners(&bench, "www-web-1"), ["Backup b"]);
    });
}

#[test]
fn an_owner_that_had_the_name_before_is_left_alone() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| retain(spec, ("Retain", "Delete")));
        bench.settle();
        bench.fake.change(Resource::Claims, "www-web-0", |claim| {
            claim["metadata"]["ownerReferences"][0]["uid"] = "older".into()
        });
        assert!(bench.writes().is_empty());
        // An owner that is no controller is made one.
        bench.fake.change(Resource::Claims, "www-web-1", |claim| {
            claim["metadata"]["ownerReferences"][0]["controller"] = false.into()
        });
        assert!(!of(&bench.writes(), "update persistentvolumeclaims www-web-1").is_empty());
        assert_eq!(
            bench.fake.find(Resource::Claims, "www-web-1").unwrap()["metadata"]["ownerReferences"][0]["controller"],
            true
        );
    });
}

#[test]
fn a_claim_that_goes_with_an_earlier_pod_holds_the_ordinal_back() {
    everywhere(|compat, policy| {
        for (retention, held) in [(("Delete", "Retain"), true), (("Retain", "Retain"), false)] {
            let mut bench = Bench::new(compat, policy, |spec| retain(spec, retention));
            bench.settle();
            bench.fake.remove(Resource::Pods, "web-1");
            bench.fake.change(Resource::Claims, "www-web-1", |claim| {
                claim["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "older", "controller": true}]);
            });
            let writes = bench.writes();
            assert_eq!(of(&writes, "create pods").is_empty(), held, "{retention:?}");
            if held {
                bench.fake.remove(Resource::Claims, "www-web-1");
                bench.settle();
                assert_eq!(bench.pods().len(), 3);
            }
        }
    });
}

#[test]
fn a_claim_that_is_going_holds_the_pod_back() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.fake.remove(Resource::Pods, "web-1");
        bench.fake.change(Resource::Claims, "www-web-1", |claim| {
            claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
        });
        bench.reasons();
        let error = bench.sync().error.unwrap();
        assert_eq!(error.to_string(), "pvc www-web-1 is being deleted");
        assert_eq!(bench.reasons(), ["FailedCreate"]);
    });
}

#[test]
fn claims_of_a_pending_pod_are_made_anew() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| retain(spec, ("Retain", "Delete")));
        bench.sync();
        bench.fake.remove(Resource::Claims, "www-web-0");
        let writes = bench.writes();
        assert!(!of(&writes, "create persistentvolumeclaims www-web-0").is_empty());
        assert_eq!(owners(&bench, "www-web-0"), ["StatefulSet web"]);
        // Not those of a pod that runs.
        bench.settle();
        bench.fake.remove(Resource::Claims, "www-web-0");
        assert!(bench.writes().is_empty());
    });
}

#[test]
fn a_claim_that_cannot_be_made_is_told() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["replicas"] = 1.into());
        bench.fake.refusals.push(("create persistentvolumeclaims".into(), Status::new(403, "Forbidden", "quota"), 1));
        let error = bench.sync().error.unwrap();
        assert_eq!(error.to_string(), "failed to create PVC www-web-0: quota");
        assert_eq!(bench.reasons(), ["FailedCreate", "FailedCreate"], "of the claim and of the pod");
        assert!(bench.pods().is_empty());
        bench.fake.refusals.push((
            "create persistentvolumeclaims".into(),
            Status::already_exists(Resource::Claims, "c"),
            1,
        ));
        assert!(bench.sync().error.is_some());
        assert_eq!(bench.reasons(), ["FailedCreate"], "of the pod only");
        bench.settle();
        assert_eq!(bench.reasons(), ["SuccessfulCreate", "SuccessfulCreate"]);
    });
}
