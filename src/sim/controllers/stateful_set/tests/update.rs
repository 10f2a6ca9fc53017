//! Pods are brought to another revision.

use serde_json::{Value, json};

use super::{Bench, StatefulSets, everywhere, of};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::{Compat, Version};

fn partition(bench: &mut Bench, partition: i64) {
    bench.edit(|spec| spec["updateStrategy"]["rollingUpdate"]["partition"] = partition.into());
}

#[test]
fn a_new_template_goes_from_the_top_one_by_one() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.image("a:2");
        for name in ["web-2", "web-1", "web-0"] {
            let writes = bench.writes();
            assert_eq!(of(&writes, "delete pods"), [format!("delete pods {name}")]);
            assert_eq!(of(&bench.writes(), "create pods"), [format!("create pods {name}")]);
            assert!(of(&bench.writes(), "delete").is_empty(), "{name} is not ready yet");
            bench.start_all();
        }
        bench.settle();
        assert_eq!(bench.images(), ["a:2"; 3]);
        assert_eq!(bench.status()["currentRevision"], bench.status()["updateRevision"]);
        assert_eq!(bench.status()["currentReplicas"], 3);
    });
}

#[test]
fn scaling_comes_before_updating() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.edit(|spec| {
            spec["replicas"] = 5.into();
            spec["template"]["spec"]["containers"][0]["image"] = "a:2".into();
        });
        let writes = bench.writes();
        assert!(!of(&writes, "create pods web-3").is_empty());
        assert_eq!(bench.image_of("web-3"), "a:2");
        if bench.is_ordered() {
            assert!(of(&writes, "delete").is_empty());
        }
        bench.settle();
        assert_eq!(bench.images(), ["a:2"; 5]);
        bench.edit(|spec| {
            spec["replicas"] = 1.into();
            spec["template"]["spec"]["containers"][0]["image"] = "a:3".into();
        });
        let writes = bench.settle();
        assert_eq!(bench.images(), ["a:3"]);
        if bench.is_ordered() {
            let expected = ["web-4", "web-3", "web-2", "web-1", "web-0"].map(|name| format!("delete pods {name}"));
            assert_eq!(of(&writes, "delete pods"), expected);
        }
    });
}

#[test]
fn on_delete_only_replaces_what_somebody_deletes() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["updateStrategy"] = json!({"type": "OnDelete"}));
        bench.settle();
        bench.image("a:2");
        assert!(of(&bench.settle(), "delete pods").is_empty());
        bench.fake.remove(Resource::Pods, "web-1");
        bench.settle();
        assert_eq!(bench.images(), ["a:1", "a:2", "a:1"]);
        let first = bench.status()["currentRevision"].clone();
        bench.edit(|spec| spec["replicas"] = 4.into());
        bench.settle();
        assert_eq!(bench.image_of("web-3"), "a:2");
        for name in ["web-0", "web-2"] {
            bench.fake.remove(Resource::Pods, name);
            bench.settle();
        }
        // Up to 1.36 the current revision stays behind for ever.
        let promoted = compat.version == Version::V1_37;
        assert_eq!(bench.status()["currentRevision"] != first, promoted);
        assert_eq!(bench.status()["updatedReplicas"], 4);
    });
}

#[test]
fn a_partition_holds_the_pods_below_it() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.edit(|spec| {
            spec["updateStrategy"]["rollingUpdate"]["partition"] = 99.into();
            spec["template"]["spec"]["containers"][0]["image"] = "a:2".into();
        });
        assert!(of(&bench.settle(), "delete pods").is_empty(), "frozen");
        partition(&mut bench, 2);
        bench.settle();
        assert_eq!(bench.images(), ["a:1", "a:1", "a:2"]);
        // Each comes back on its own side.
        for name in ["web-0", "web-2"] {
            bench.fake.remove(Resource::Pods, name);
            bench.settle();
        }
        assert_eq!(bench.images(), ["a:1", "a:1", "a:2"]);
        let status = bench.status();
        assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(2), &json!(1)));
        assert_ne!(status["currentRevision"], status["updateRevision"]);
        // Raised in the middle, it brings nothing back by itself.
        partition(&mut bench, 3);
        bench.settle();
        assert_eq!(bench.images(), ["a:1", "a:1", "a:2"]);
        bench.fake.remove(Resource::Pods, "web-2");
        bench.settle();
        assert_eq!(bench.images(), ["a:1"; 3]);
        partition(&mut bench, 0);
        bench.settle();
        assert_eq!(bench.images(), ["a:2"; 3]);
    });
}

#[test]
fn a_partition_counts_from_the_first_ordinal() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| {
            spec["ordinals"] = json!({"start": 5});
            spec["updateStrategy"]["rollingUpdate"]["partition"] = 2.into();
        });
        bench.settle();
        bench.image("a:2");
        bench.settle();
        assert_eq!(bench.pods(), ["web-5", "web-6", "web-7"]);
        assert_eq!(bench.images(), ["a:1", "a:1", "a:2"]);
    });
}

#[test]
fn a_revert_leaves_a_broken_pod_standing_where_the_order_matters() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.image("a:bad");
        bench.writes();
        bench.writes();
        bench.run("web-2", false);
        bench.image("a:1");
        let writes = bench.writes();
        let revision = bench.fake.names(Resource::Revisions).len();
        assert_eq!(revision, 2, "the first one serves again");
        assert_eq!(of(&writes, "update controllerrevisions").len(), 1);
        // kubernetes#67250; up to 1.36 the gate brings it to Parallel too.
        let replaced = policy == "Parallel" && (!compat.max_unavailable || compat.version == Version::V1_37);
        assert_eq!(!of(&writes, "delete pods web-2").is_empty(), replaced);
        bench.settle();
        assert_eq!(bench.image_of("web-2"), if replaced { "a:1" } else { "a:bad" });
        if !replaced {
            bench.fake.remove(Resource::Pods, "web-2");
            bench.settle();
            assert_eq!(bench.images(), ["a:1"; 3]);
            assert_eq!(bench.status()["currentReplicas"], 3);
        }
    });
}

#[test]
fn a_budget_is_spent_from_the_top() {
    for version in [Version::V1_33, Version::V1_36, Version::V1_37] {
        for policy in ["OrderedReady", "Parallel"] {
            let mut bench = Bench::new(Compat { version, max_unavailable: true }, policy, |spec| {
                spec["replicas"] = 5.into();
                spec["updateStrategy"]["rollingUpdate"] = json!({"partition": 1});
            });
            // The gate's field is not part of what the server's defaults leave in; it is put in by hand.
            let most = |bench: &mut Bench, most: Value| {
                bench.fake.change(Resource::StatefulSets, "web", |set| {
                    set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = most;
                });
            };
            bench.settle();
            bench.image("a:2");
            most(&mut bench, json!("50%"));
            let first = bench.writes();
            assert_eq!(of(&first, "delete pods"), ["delete pods web-4", "delete pods web-3"], "{version:?} {policy}");
            let second = bench.writes();
            let created = of(&second, "create pods");
            if policy == "OrderedReady" {
                assert_eq!(created, ["create pods web-3"]);
            } else {
                assert_eq!(created, ["create pods web-3", "create pods web-4"]);
                // Refilled as each becomes available.
                bench.run("web-3", true);
                assert_eq!(of(&bench.writes(), "delete pods"), ["delete pods web-2"]);
            }
            bench.settle();
            assert_eq!(bench.images(), ["a:1", "a:2", "a:2", "a:2", "a:2"]);
            most(&mut bench, json!(99));
            bench.image("a:3");
            most(&mut bench, json!(99));
            bench.fake.take_writes();
            // The count goes below zero on the way, which the server refuses.
            assert!(bench.sync().error.is_some());
            assert_eq!(of(&bench.fake.writes, "delete pods").len(), 4, "never below the partition");
        }
    }
}

#[test]
fn what_is_unavailable_takes_from_the_budget() {
    // kubernetes#137409: what each version does about broken pods of an older revision.
    struct Row {
        version: Version,
        most: i64,
        /// Unready pods of the old revision; `T` before the name: terminating; `N`: of the new revision.
        away: &'static [&'static str],
        partition: i64,
        deleted: &'static [&'static str],
    }
    let row = |version, most, away, partition, deleted| Row { version, most, away, partition, deleted };
    use Version::{V1_33, V1_36, V1_37};
    let rows = [
        row(V1_36, 1, &["web-1"][..], 0, &[][..]),
        row(V1_33, 1, &["web-1"], 0, &[]),
        row(V1_37, 1, &["web-1"], 0, &["web-1"]),
        row(V1_36, 2, &["web-1"], 0, &["web-4"]),
        row(V1_37, 2, &["web-1"], 0, &["web-1", "web-4"]),
        row(V1_37, 1, &["web-3", "web-1"], 0, &["web-3", "web-1"]),
        row(V1_36, 3, &["web-3", "web-1"], 0, &["web-4"]),
        row(V1_37, 3, &["web-3", "web-1"], 0, &["web-3", "web-1", "web-4"]),
        // Below the partition nothing is deleted, and yet it counts.
        row(V1_37, 1, &["web-1"], 2, &[]),
        row(V1_37, 2, &["web-1"], 2, &["web-4"]),
        row(V1_36, 2, &["web-1"], 2, &["web-4"]),
        // Terminating pods and new ones that are not there yet count and are no work.
        row(V1_37, 1, &["Tweb-2"], 0, &[]),
        row(V1_37, 2, &["Tweb-2"], 0, &["web-4"]),
        row(V1_36, 2, &["Tweb-4"], 0, &["web-3"]),
        row(V1_37, 1, &["Nweb-4"], 0, &[]),
        row(V1_37, 2, &["Nweb-4"], 0, &["web-3"]),
        row(V1_37, 1, &["Nweb-4", "web-2"], 0, &["web-2"]),
    ];
    for row in rows {
        let compat = Compat { version: row.version, max_unavailable: true };
        let mut bench = Bench::new(compat, "Parallel", |spec| spec["replicas"] = 5.into());
        bench.settle();
        bench.edit(|spec| {
            spec["updateStrategy"]["rollingUpdate"]["partition"] = row.partition.into();
            spec["template"]["spec"]["containers"][0]["image"] = "a:2".into();
        });
        bench.fake.change(Resource::StatefulSets, "web", |set| {
            set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = row.most.into();
        });
        // The revision as a sync that does nothing else makes it.
        bench.fake.refusals.push(("delete pods".into(), Status::new(500, "InternalError", "not yet"), 9));
        bench.sync();
        bench.fake.refusals.clear();
        let revision = bench.status()["updateRevision"].clone();
        for away in row.away {
            let name = away.trim_start_matches(['T', 'N']);
            bench.run(name, away.starts_with('T'));
            bench.fake.change(Resource::Pods, name, |pod| match away.chars().next() {
                Some('T') => pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into(),
                Some('N') => pod["metadata"]["labels"]["controller-revision-hash"] = revision.clone(),
                _ => {}
            });
        }
        let writes = bench.writes();
        let deleted: Vec<_> = of(&writes, "delete pods").iter().map(|it| &it["delete pods ".len()..]).collect();
        assert_eq!(deleted, row.deleted, "{:?} {} {:?} {}", row.version, row.most, row.away, row.partition);
    }
}

#[test]
fn within_its_first_seconds_a_pod_is_unavailable_but_to_1_33() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| spec["minReadySeconds"] = 5.into());
        for _ in 0..3 {
            bench.settle();
            bench.now += jiff::SignedDuration::from_secs(10);
        }
        bench.image("a:2");
        assert_eq!(of(&bench.writes(), "delete pods"), ["delete pods web-2"]);
        bench.writes();
        bench.run("web-2", true);
        let writes = bench.writes();
        let next = !of(&writes, "delete pods web-1").is_empty();
        assert_eq!(next, compat.version == Version::V1_33 && policy == "Parallel");
    });
}

#[test]
fn a_count_below_zero_is_refused_and_the_next_sync_is_clean() {
    let mut bench = Bench::new(Compat::of(Version::V1_36), "Parallel", |spec| spec["replicas"] = 1.into());
    bench.settle();
    bench.image("a:bad");
    bench.writes();
    bench.writes();
    bench.run("web-0", false);
    bench.image("a:3");
    let outcome = bench.sync();
    assert!(outcome.error.unwrap().to_string().contains("must be greater than or equal to 0"));
    assert!(bench.pods().is_empty(), "the delete has happened");
    bench.settle();
    assert_eq!(bench.images(), ["a:3"]);
}

#[test]
fn without_a_block_the_last_count_decides_what_comes_back() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| {
            spec["replicas"] = 4.into();
            spec["updateStrategy"] = json!({"type": "RollingUpdate"});
        });
        bench.settle();
        bench.image("a:bad");
        bench.writes();
        bench.writes();
        bench.run("web-3", false);
        bench.writes();
        bench.fake.remove(Resource::Pods, "web-2");
        // The status was written as two while web-2 was away.
        bench.fake.change(Resource::StatefulSets, "web", |set| set["status"]["currentReplicas"] = 2.into());
        bench.writes();
        assert_eq!(bench.image_of("web-2"), "a:bad");
        bench.fake.remove(Resource::Pods, "web-1");
        bench.fake.change(Resource::StatefulSets, "web", |set| set["status"]["currentReplicas"] = 2.into());
        bench.run("web-2", true);
        bench.writes();
        assert_eq!(bench.image_of("web-1"), "a:1");
    });
}

#[test]
fn a_delete_that_fails_on_the_way_leaves_the_status_true() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.image("a:2");
        bench.fake.refusals.push(("delete pods web-2".into(), Status::new(500, "InternalError", "no"), 1));
        assert_eq!(bench.sync().error.unwrap().to_string(), "no");
        let status = bench.status();
        assert_eq!((&status["currentReplicas"], &status["observedGeneration"]), (&json!(3), &json!(2)));
        bench.settle();
        assert_eq!(bench.images(), ["a:2"; 3]);
        // The same on the way down.
        bench.edit(|spec| spec["replicas"] = 1.into());
        bench.fake.refusals.push(("delete pods web-2".into(), Status::new(500, "InternalError", "no"), 1));
        assert_eq!(bench.sync().error.unwrap().to_string(), "no");
        assert!(bench.pods().contains(&"web-2"));
        bench.settle();
        assert_eq!(bench.pods(), ["web-0"]);
    });
}

#[test]
fn recreate_removes_every_old_pod_before_the_first_new_one() {
    for policy in ["OrderedReady", "Parallel"] {
        let mut bench = Bench::new(Compat::of(Version::V1_37), policy, |spec| {
            spec["updateStrategy"] = json!({"type": "Recreate"});
        });
        let outcome = bench.sync();
        assert!(outcome.error.is_some(), "the gate is closed");
        assert_eq!(bench.reasons(), ["UnknownStrategy"]);
        assert!(bench.pods().is_empty() && bench.status().is_null());
        bench.controller = StatefulSets::new(bench.compat).with_recreate();
        bench.settle();
        bench.fake.lingering = true;
        bench.image("a:2");
        let writes = bench.writes();
        assert_eq!(of(&writes, "delete pods").len(), 3);
        assert_eq!(bench.status()["conditions"][0]["message"], "Deleting old revision pods");
        bench.fake.remove(Resource::Pods, "web-0");
        assert!(of(&bench.writes(), "create pods").is_empty(), "web-1 is not gone");
        ["web-1", "web-2"].into_iter().for_each(|name| bench.fake.remove(Resource::Pods, name));
        let writes = bench.writes();
        assert_eq!(of(&writes, "create pods").len(), if policy == "Parallel" { 3 } else { 1 });
        assert_eq!(bench.status()["conditions"][0]["message"], "Waiting for new-revision pods to be created");
        bench.settle();
        assert_eq!(bench.images(), ["a:2"; 3]);
        assert_eq!(bench.status()["conditions"][0]["status"], "False");
        assert_eq!(bench.status()["currentRevision"], bench.status()["updateRevision"]);
    }
}
