//! Pods are created, replaced and removed.

use serde_json::json;

use super::{Bench, everywhere, of};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::{Compat, Version};

#[test]
fn pods_come_in_order_or_all_at_once() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        let first = bench.writes();
        let created = of(&first, "create pods");
        if bench.is_ordered() {
            assert_eq!(created, ["create pods web-0"]);
            assert_eq!(bench.writes(), ["status statefulsets web"]);
            // Pending, then running and not ready: still nothing.
            assert!(bench.writes().is_empty());
            bench.run("web-0", false);
            assert!(bench.writes().is_empty());
            bench.run("web-0", true);
            assert_eq!(of(&bench.writes(), "create pods"), ["create pods web-1"]);
        } else {
            assert_eq!(created, ["create pods web-0", "create pods web-1", "create pods web-2"]);
        }
        bench.settle();
        assert_eq!(bench.pods(), ["web-0", "web-1", "web-2"]);
        assert_eq!(bench.fake.names(Resource::Claims), ["www-web-0", "www-web-1", "www-web-2"]);
        let status = bench.status();
        assert_eq!(
            (&status["replicas"], &status["readyReplicas"], &status["availableReplicas"]),
            (&json!(3), &json!(3), &json!(3))
        );
        assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(3), &json!(3)));
        assert_eq!(status["currentRevision"], status["updateRevision"]);
        assert!(bench.writes().is_empty(), "at rest");
    });
}

#[test]
fn a_pod_is_built_as_the_controller_builds_it() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| {
            spec["template"]["metadata"]["annotations"] = json!({"note": "x"});
            spec["template"]["metadata"]["finalizers"] = json!(["a.b/c"]);
            spec["template"]["spec"]["volumes"] =
                json!([{"name": "www", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]);
        });
        bench.sync();
        let pod = bench.fake.find(Resource::Pods, "web-0").unwrap();
        let revision = bench.fake.names(Resource::Revisions)[0];
        assert_eq!(pod["metadata"]["generateName"], "web-");
        assert_eq!(
            pod["metadata"]["labels"],
            json!({
                "app": "web",
                "controller-revision-hash": revision,
                "statefulset.kubernetes.io/pod-name": "web-0",
                "apps.kubernetes.io/pod-index": "0",
            })
        );
        assert_eq!(pod["metadata"]["annotations"], json!({"note": "x"}));
        assert_eq!(pod["metadata"]["finalizers"], json!(["a.b/c"]));
        assert_eq!(
            pod["metadata"]["ownerReferences"],
            json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "uid-set", "controller": true, "blockOwnerDeletion": true}])
        );
        assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!("web-0"), &json!("web")));
        assert_eq!(
            pod["spec"]["volumes"],
            json!([
                {"name": "www", "persistentVolumeClaim": {"claimName": "www-web-0"}},
                {"name": "tmp", "emptyDir": {}},
            ])
        );
        let claim = bench.fake.find(Resource::Claims, "www-web-0").unwrap();
        assert_eq!(claim["metadata"]["labels"], json!({"app": "web"}));
    });
}

#[test]
fn a_set_scales_up_and_down_to_nothing() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.edit(|spec| spec["replicas"] = 5.into());
        let up = bench.settle();
        assert_eq!(of(&up, "create pods"), ["create pods web-3", "create pods web-4"]);
        bench.edit(|spec| spec["replicas"] = 0.into());
        let first = bench.writes();
        let down = of(&first, "delete pods");
        if bench.is_ordered() {
            assert_eq!(down, ["delete pods web-4"]);
        } else {
            assert_eq!(
                down,
                [
                    "delete pods web-4",
                    "delete pods web-3",
                    "delete pods web-2",
                    "delete pods web-1",
                    "delete pods web-0"
                ]
            );
        }
        bench.settle();
        assert!(bench.pods().is_empty());
        assert_eq!(bench.status()["replicas"], 0);
        assert_eq!(bench.fake.names(Resource::Claims).len(), 5, "claims stay");
    });
}

#[test]
fn what_goes_missing_comes_back() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["replicas"] = 5.into());
        bench.settle();
        ["web-0", "web-2", "web-4"].into_iter().for_each(|name| bench.fake.remove(Resource::Pods, name));
        let first = bench.writes();
        let created = of(&first, "create pods");
        if bench.is_ordered() {
            assert_eq!(created, ["create pods web-0"]);
        } else {
            assert_eq!(created, ["create pods web-0", "create pods web-2", "create pods web-4"]);
        }
        bench.settle();
        assert_eq!(bench.pods().len(), 5);
    });
}

#[test]
fn a_healthy_pod_comes_back_before_an_unready_one_is_waited_for() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.run("web-1", false);
        bench.fake.remove(Resource::Pods, "web-0");
        bench.settle();
        assert_eq!(bench.pods(), ["web-0", "web-1", "web-2"], "no deadlock behind web-1");
    });
}

#[test]
fn failed_and_succeeded_pods_are_deleted_and_made_anew_later() {
    everywhere(|compat, policy| {
        for phase in ["Failed", "Succeeded"] {
            let mut bench = Bench::new(compat, policy, |_| {});
            bench.settle();
            bench.phase("web-1", phase);
            let uid = bench.fake.find(Resource::Pods, "web-1").unwrap()["metadata"]["uid"].clone();
            let writes = bench.writes();
            assert_eq!(of(&writes, "delete pods"), ["delete pods web-1"]);
            assert!(of(&writes, "create pods").is_empty(), "not in the same sync");
            bench.settle();
            assert_ne!(bench.fake.find(Resource::Pods, "web-1").unwrap()["metadata"]["uid"], uid);
            // One that is going already is left to go.
            bench.phase("web-1", phase);
            bench.fake.change(Resource::Pods, "web-1", |pod| {
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
            });
            assert!(of(&bench.writes(), "delete pods").is_empty());
        }
    });
}

#[test]
fn a_delete_that_fails_is_told_kept_and_tried_again() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.phase("web-0", "Failed");
        bench.reasons();
        bench.fake.refusals.push(("delete pods".into(), Status::new(500, "InternalError", "no"), 1));
        assert_eq!(bench.sync().error.unwrap().to_string(), "no");
        assert_eq!(bench.reasons(), ["FailedDelete"]);
        bench.settle();
        assert_eq!(bench.pods().len(), 3);
        assert!(bench.reasons().contains(&"SuccessfulDelete"));
    });
}

#[test]
fn a_pod_that_is_gone_when_it_is_deleted_is_an_error_to_1_33_only() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.edit(|spec| spec["replicas"] = 2.into());
        bench.reasons();
        bench.fake.refusals.push(("delete pods".into(), Status::not_found(Resource::Pods, "web-2"), 1));
        let outcome = bench.sync();
        let old = compat.version == Version::V1_33;
        assert_eq!(outcome.error.is_some(), old);
        assert_eq!(bench.reasons(), [if old { "FailedDelete" } else { "SuccessfulDelete" }]);
    });
}

#[test]
fn a_create_that_fails_is_told_and_the_status_is_written_all_the_same() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.fake.refusals.push(("create pods web-0".into(), Status::new(403, "Forbidden", "quota"), 1));
        let error = bench.sync().error.unwrap();
        assert_eq!(error.to_string(), "quota");
        assert_eq!(bench.status()["observedGeneration"], 1);
        assert!(bench.reasons().contains(&"FailedCreate"));
        let message = format!(
            "{} Pod web-0 in StatefulSet web failed error: quota",
            if compat.version == Version::V1_33 { "create" } else { "Create" }
        );
        bench.fake.refusals.push(("create pods web-0".into(), Status::new(403, "Forbidden", "quota"), 1));
        bench.sync();
        assert_eq!(bench.fake.events.iter().find(|it| it.reason == "FailedCreate").unwrap().message, message);
        // That the pod is there already is an error that nobody hears of.
        bench.reasons();
        bench.fake.refusals.push(("create pods web-0".into(), Status::already_exists(Resource::Pods, "web-0"), 1));
        assert!(bench.sync().error.is_some());
        assert!(!bench.reasons().contains(&"FailedCreate"));
        bench.settle();
        assert_eq!(bench.pods().len(), 3);
    });
}

#[test]
fn a_batch_that_fails_is_the_last_one() {
    let mut bench = Bench::new(Compat::of(Version::V1_36), "Parallel", |spec| spec["replicas"] = 20.into());
    for name in ["web-4", "web-5"] {
        bench.fake.refusals.push((format!("create pods {name}"), Status::new(500, "InternalError", name), 1));
    }
    let error = bench.sync().error.unwrap();
    assert_eq!(error.to_string(), "[web-4, web-5]");
    // 1 + 2 + 4 were tried.
    assert_eq!(of(&bench.fake.writes, "create pods").len(), 7);
    assert_eq!(bench.pods().len(), 5);
}

#[test]
fn scaling_down_waits_for_the_unhealthy_but_for_the_first_of_them() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["replicas"] = 4.into());
        bench.settle();
        ["web-1", "web-2"].into_iter().for_each(|name| bench.run(name, false));
        bench.edit(|spec| spec["replicas"] = 0.into());
        bench.settle();
        // web-3 goes; web-2 is unhealthy and not the lowest such one.
        let left: &[&str] = if bench.is_ordered() { &["web-0", "web-1", "web-2"] } else { &[] };
        assert_eq!(bench.pods(), left);
        if bench.is_ordered() {
            bench.run("web-2", true);
            bench.settle();
            assert!(bench.pods().is_empty(), "web-1 is the first unhealthy one: it may go");
        }
    });
}

#[test]
fn scaling_waits_for_a_terminating_pod_where_the_order_matters() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.fake.lingering = true;
        bench.edit(|spec| spec["replicas"] = 1.into());
        bench.writes();
        let writes = bench.writes();
        assert!(of(&writes, "delete pods").is_empty(), "web-2 is going");
        let gone = if bench.is_ordered() { 1 } else { 2 };
        bench.edit(|spec| spec["replicas"] = 3.into());
        assert!(of(&bench.writes(), "create pods").is_empty(), "they are still there");
        let going = bench.fake.listed_terminating();
        assert_eq!(going, gone);
    });
}

#[test]
fn a_set_that_is_going_only_counts() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.fake.change(Resource::StatefulSets, "web", |set| {
            set["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
        });
        bench.fake.remove(Resource::Pods, "web-1");
        assert_eq!(bench.writes(), ["status statefulsets web"]);
        assert_eq!(bench.status()["replicas"], 2);
        bench.fake.remove(Resource::StatefulSets, "web");
        assert!(bench.writes().is_empty());
    });
}

#[test]
fn ordinals_start_where_the_set_says() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["ordinals"] = json!({"start": 2}));
        bench.settle();
        assert_eq!(bench.pods(), ["web-2", "web-3", "web-4"]);
        bench.edit(|spec| spec["replicas"] = 1.into());
        bench.settle();
        assert_eq!(bench.pods(), ["web-2"], "the first ordinal stays");
        bench.edit(|spec| spec["ordinals"] = json!({"start": 4}));
        bench.settle();
        assert_eq!(bench.pods(), ["web-4"]);
        bench.edit(|spec| spec["ordinals"] = json!({"start": 3}));
        bench.settle();
        assert_eq!(bench.pods(), ["web-3"]);
        bench.edit(|spec| drop(spec.as_object_mut().unwrap().remove("ordinals")));
        bench.settle();
        assert_eq!(bench.pods(), ["web-0"]);
    });
}

#[test]
fn a_pod_has_to_be_available_before_the_next_one_comes() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["minReadySeconds"] = 10.into());
        bench.sync();
        bench.run("web-0", true);
        let ordered = bench.is_ordered();
        let writes = bench.writes();
        if ordered {
            assert!(of(&writes, "create pods").is_empty());
        }
        let seconds = |it| jiff::SignedDuration::from_secs(it);
        bench.now += seconds(4);
        let again = bench.sync().requeue_after;
        assert_eq!(again, Some(seconds(if compat.version == Version::V1_33 { 10 } else { 6 })));
        bench.now += seconds(6);
        let writes = bench.writes();
        // To 1.33 the tenth second has to be over.
        let due = compat.version != Version::V1_33;
        if ordered {
            assert_eq!(!of(&writes, "create pods").is_empty(), due);
        }
        assert_eq!(bench.status()["availableReplicas"], i32::from(due));
        bench.now += jiff::SignedDuration::from_millis(1);
        bench.sync();
        assert_eq!(bench.status()["availableReplicas"], 1);
    });
}

#[test]
fn a_pod_that_did_not_change_is_not_read_again() {
    let mut bench = Bench::new(Compat::of(Version::V1_36), "Parallel", |spec| spec["replicas"] = 50.into());
    bench.settle();
    let read = |bench: &Bench| bench.controller.memory.values().next().unwrap().pods.read_pods();
    let before = read(&bench);
    bench.fake.remove(Resource::Pods, "web-7");
    bench.run("web-30", false);
    bench.sync();
    let after = read(&bench);
    assert_eq!((before.len(), after.len()), (50, 49));
    let kept = after.iter().filter(|pod| before.iter().any(|it| std::sync::Arc::ptr_eq(it, pod))).count();
    assert_eq!(kept, 48, "all but the one that is gone and the one that changed");
}
