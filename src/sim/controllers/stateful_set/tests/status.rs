//! The status: counts, completion, and when it is written.

use serde_json::json;

use super::{Bench, everywhere, of};
use crate::sim::Version;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

#[test]
fn replicas_ready_and_available_are_counted_apart() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| {
            spec["replicas"] = 4.into();
            spec["minReadySeconds"] = 30.into();
        });
        // The walk stops at each pod for its thirty seconds.
        for _ in 0..4 {
            bench.settle();
            bench.now += jiff::SignedDuration::from_secs(60);
        }
        bench.settle();
        assert_eq!(bench.status()["availableReplicas"], 4);
        bench.run("web-2", true);
        bench.run("web-3", false);
        bench.sync();
        let status = bench.status();
        assert_eq!(
            (&status["replicas"], &status["readyReplicas"], &status["availableReplicas"]),
            (&json!(4), &json!(3), &json!(2))
        );
        bench.edit(|spec| spec["minReadySeconds"] = 0.into());
        bench.sync();
        assert_eq!(bench.status()["availableReplicas"], 3);
        bench.edit(|spec| spec["minReadySeconds"] = 3600.into());
        bench.sync();
        assert_eq!(bench.status()["availableReplicas"], 0, "at once");
    });
}

#[test]
fn terminating_pods_are_ready_but_of_no_revision() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.fake.change(Resource::Pods, "web-2", |pod| {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
        });
        bench.sync();
        let status = bench.status();
        assert_eq!((&status["replicas"], &status["readyReplicas"]), (&json!(3), &json!(3)));
        assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(2), &json!(2)));
    });
}

#[test]
fn completion_asks_neither_for_the_partition_nor_for_availability() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| {
            spec["minReadySeconds"] = 60.into();
            spec["updateStrategy"]["rollingUpdate"]["partition"] = 3.into();
        });
        for _ in 0..4 {
            bench.settle();
            bench.now += jiff::SignedDuration::from_secs(120);
        }
        bench.image("a:2");
        bench.settle();
        let target = bench.status()["updateRevision"].clone();
        assert_ne!(bench.status()["currentRevision"], target);
        for name in ["web-0", "web-1", "web-2"] {
            bench.fake.change(Resource::Pods, name, |pod| {
                pod["metadata"]["labels"]["controller-revision-hash"] = target.clone()
            });
        }
        bench.run("web-2", true);
        bench.sync();
        assert_eq!(bench.status()["currentRevision"], target);
        assert_eq!(bench.status()["currentReplicas"], 3);
        assert_eq!(bench.status()["availableReplicas"], 2);
    });
}

#[test]
fn no_replicas_complete() {
    everywhere(|compat, policy| {
        let mut bench =
            Bench::new(compat, policy, |spec| spec["updateStrategy"]["rollingUpdate"]["partition"] = 2.into());
        bench.settle();
        bench.image("a:2");
        bench.settle();
        bench.edit(|spec| spec["replicas"] = 0.into());
        bench.settle();
        bench.edit(|spec| spec["replicas"] = 3.into());
        bench.settle();
        assert_eq!(bench.images(), ["a:2"; 3], "also below the partition");
    });
}

#[test]
fn it_is_written_when_something_in_it_changed() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        assert!(bench.writes().is_empty());
        bench.fake.change(Resource::StatefulSets, "web", |set| set["status"]["collisionCount"] = 7.into());
        assert!(bench.writes().is_empty(), "collisions are no reason");
        bench.edit(|spec| spec["revisionHistoryLimit"] = 5.into());
        assert_eq!(bench.writes(), ["status statefulsets web"]);
        assert_eq!(bench.status()["observedGeneration"], 2);
        assert_eq!(bench.status()["collisionCount"], 7);
        bench.fake.change(Resource::StatefulSets, "web", |set| set["status"]["observedGeneration"] = 9.into());
        assert!(bench.writes().is_empty(), "it never goes back");
    });
}

#[test]
fn conditions_of_others_are_kept_from_1_37_on() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.fake.change(Resource::StatefulSets, "web", |set| {
            set["status"]["conditions"] = json!([{"type": "Mine", "status": "True"}])
        });
        assert!(bench.writes().is_empty());
        bench.edit(|spec| spec["replicas"] = 4.into());
        bench.settle();
        assert_eq!(bench.status().get("conditions").is_some(), compat.version == Version::V1_37);
    });
}

#[test]
fn a_conflict_is_tried_again_and_then_given_up() {
    everywhere(|compat, policy| {
        for (refusal, times, attempts) in [
            (Status::conflict(Resource::StatefulSets, "web", "modified"), 2, 3),
            (Status::conflict(Resource::StatefulSets, "web", "modified"), 9, 5),
            (Status::new(500, "InternalError", "no"), 9, 1),
        ] {
            let mut bench = Bench::new(compat, policy, |_| {});
            bench.fake.refusals = vec![("status".into(), refusal.clone(), times)];
            let error = bench.sync().error;
            assert_eq!(of(&bench.fake.writes, "status").len(), attempts);
            assert_eq!(error.map(|it| it.to_string()), (times == 9).then_some(refusal.message));
        }
    });
}

#[test]
fn an_error_of_the_pass_is_told_rather_than_that_of_the_status() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.fake.refusals = vec![
            ("create pods web-0".into(), Status::new(403, "Forbidden", "quota"), 1),
            ("status".into(), Status::new(500, "InternalError", "no"), 1),
        ];
        assert_eq!(bench.sync().error.unwrap().to_string(), "quota");
    });
}
