//! Revisions are found, made, renumbered, adopted and cut.

use serde_json::{Value, json};

use super::{Bench, everywhere, of};
use crate::sim::controllers::fake::Fake;
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::{Compat, Version};

fn numbers(fake: &Fake) -> Vec<(String, i64)> {
    let number = |name: &&str| fake.find(Resource::Revisions, name).unwrap()["revision"].as_i64().unwrap();
    fake.names(Resource::Revisions).iter().map(|name| ((*name).to_owned(), number(name))).collect()
}

fn update_revision(bench: &Bench) -> String {
    bench.status()["updateRevision"].as_str().unwrap().to_owned()
}

#[test]
fn a_revision_is_made_once_and_a_revert_takes_it_again() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.fake.change(Resource::StatefulSets, "web", |set| {
            set["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "first"});
        });
        bench.settle();
        let first = update_revision(&bench);
        let revision = bench.fake.find(Resource::Revisions, &first).unwrap();
        assert_eq!(revision["revision"], 1);
        assert_eq!(revision["metadata"]["annotations"], json!({"kubernetes.io/change-cause": "first"}));
        assert_eq!(revision["metadata"]["labels"]["app"], "web");
        let hash = revision["metadata"]["labels"]["controller.kubernetes.io/hash"].as_str().unwrap();
        assert_eq!(first, format!("web-{hash}"));
        assert_eq!(revision["data"]["spec"]["template"]["$patch"], "replace");
        assert_eq!(revision["metadata"]["ownerReferences"][0]["uid"], "uid-set");
        bench.image("a:2");
        bench.settle();
        let second = update_revision(&bench);
        bench.image("a:1");
        bench.settle();
        assert_eq!(update_revision(&bench), first, "it keeps its name");
        let expected = std::collections::BTreeMap::from([(first, 3), (second, 2)]);
        assert_eq!(numbers(&bench.fake), expected.into_iter().collect::<Vec<_>>());
    });
}

#[test]
fn a_name_that_is_taken_counts_as_a_collision() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        // One with the name it would take, of other data, and of another owner.
        let mut twin = Bench::new(compat, policy, |_| {});
        twin.sync();
        let name = twin.fake.names(Resource::Revisions)[0].to_owned();
        let taken = json!({"metadata": {"name": name, "namespace": "shop", "labels": {"app": "other"}}, "data": {}, "revision": 1});
        bench.fake.put(Resource::Revisions, taken);
        bench.settle();
        assert_ne!(update_revision(&bench), name);
        assert_eq!(bench.status()["collisionCount"], 1);
        let made = bench.fake.find(Resource::Revisions, &update_revision(&bench)).unwrap();
        // The label keeps the hash of the first name.
        assert_eq!(
            format!("web-{}", made["metadata"]["labels"]["controller.kubernetes.io/hash"].as_str().unwrap()),
            name
        );
        // The same name with the same data, unseen so far: it is taken as it is.
        let mut bench = Bench::new(compat, policy, |_| {});
        let mut unseen = twin.fake.find(Resource::Revisions, &name).unwrap().clone();
        unseen["metadata"]["labels"] = json!({});
        bench.fake.put(Resource::Revisions, unseen);
        bench.sync();
        assert_eq!(update_revision(&bench), name);
        assert_eq!(bench.status()["collisionCount"], 0);
    });
}

#[test]
fn the_history_is_cut_to_its_limit_but_never_what_is_in_use() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |spec| {
            spec["revisionHistoryLimit"] = 2.into();
            spec["updateStrategy"]["rollingUpdate"]["partition"] = 3.into();
        });
        bench.settle();
        let first = update_revision(&bench);
        for image in 2..8 {
            bench.image(&format!("a:{image}"));
            bench.settle();
        }
        // The pods' own, the update's, and two more: the newest.
        let mut kept: Vec<i64> = numbers(&bench.fake).into_iter().map(|(_, number)| number).collect();
        kept.sort_unstable();
        assert_eq!(kept, [1, 5, 6, 7]);
        assert!(bench.fake.names(Resource::Revisions).contains(&first.as_str()));
        bench.edit(|spec| spec["revisionHistoryLimit"] = 0.into());
        bench.settle();
        assert_eq!(numbers(&bench.fake).len(), 2);
        bench.edit(|spec| spec["revisionHistoryLimit"] = (-1).into());
        for image in 10..14 {
            bench.image(&format!("a:{image}"));
            bench.settle();
        }
        assert_eq!(numbers(&bench.fake).len(), 6, "all are kept");
    });
}

#[test]
fn a_revision_made_in_a_sync_is_not_counted_in_it() {
    let mut bench = Bench::new(Compat::of(Version::V1_36), "Parallel", |spec| {
        spec["replicas"] = 0.into();
        spec["revisionHistoryLimit"] = 0.into();
    });
    bench.settle();
    bench.image("a:2");
    let writes = bench.writes();
    assert!(of(&writes, "delete controllerrevisions").is_empty(), "the old one is current until the status says else");
    assert_eq!(of(&bench.writes(), "delete controllerrevisions").len(), 1);
}

#[test]
fn what_differs_in_defaults_only_makes_no_revision_from_1_34_on() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        let name = update_revision(&bench);
        // As an older server stored it, and without a default that it did not know.
        bench.fake.change(Resource::Revisions, &name, |revision| {
            let template = &mut revision["data"]["spec"]["template"];
            template["metadata"]["creationTimestamp"] = Value::Null;
            template["spec"].as_object_mut().unwrap().remove("schedulerName");
        });
        let writes = bench.settle();
        let made = of(&writes, "create controllerrevisions").len();
        if compat.version == Version::V1_33 {
            assert_eq!(made, 2, "the first name is that of the other form");
        } else {
            assert!(writes.is_empty(), "no writes at all: {writes:?}");
        }
    });
}

#[test]
fn only_the_newest_is_asked_what_it_means() {
    let mut bench = Bench::new(Compat::of(Version::V1_36), "OrderedReady", |_| {});
    bench.settle();
    let old = update_revision(&bench);
    bench.fake.change(Resource::Revisions, &old, |revision| {
        revision["data"]["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    });
    bench.edit(|spec| {
        spec["updateStrategy"]["rollingUpdate"]["partition"] = 2.into();
        spec["template"]["spec"]["containers"][0]["image"] = "a:2".into();
    });
    bench.settle();
    bench.image("a:1");
    bench.settle();
    assert_ne!(update_revision(&bench), old, "a revert across an upgrade makes a new one");
    assert_eq!(bench.status()["currentRevision"].as_str(), Some(old.as_str()));
    assert_eq!(bench.fake.names(Resource::Revisions).len(), 3);
}

#[test]
fn only_1_33_compares_hashes_that_are_numbers() {
    for version in [Version::V1_33, Version::V1_36] {
        let mut bench = Bench::new(Compat::of(version), "OrderedReady", |_| {});
        bench.settle();
        let name = update_revision(&bench);
        let made = bench.fake.find(Resource::Revisions, &name).unwrap().clone();
        let hash = &made["metadata"]["labels"]["controller.kubernetes.io/hash"];
        bench.fake.change(Resource::Revisions, &name, |revision| {
            revision["metadata"]["labels"]["controller.kubernetes.io/hash"] = "4456789".into();
        });
        let writes = bench.settle();
        // No number on our side: nothing to compare.
        assert_eq!(hash.as_str().unwrap().parse::<i32>().is_ok() && version == Version::V1_33, !writes.is_empty());
    }
}

#[test]
fn orphans_are_adopted_and_count() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        let orphan = json!({
            "metadata": {"name": "web-foreign", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
            "data": {"spec": {"template": {"$patch": "replace"}}},
            "revision": 50,
        });
        bench.fake.put(Resource::Revisions, orphan);
        let pods = bench.pods().len();
        let writes = bench.settle();
        assert_eq!(of(&writes, "patch controllerrevisions"), ["patch controllerrevisions web-foreign"]);
        let own = bench.fake.find(Resource::Revisions, &update_revision(&bench)).unwrap();
        assert_eq!(own["revision"], 51, "its own, unchanged, is the newest again");
        assert_eq!((bench.pods().len(), of(&writes, "delete pods").len()), (pods, 0));
        assert_eq!(
            bench.fake.find(Resource::Revisions, "web-foreign").unwrap()["metadata"]["ownerReferences"][0]["uid"],
            "uid-set"
        );
    });
}

#[test]
fn an_orphan_that_cannot_be_adopted_stops_every_sync() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        let orphan = json!({"metadata": {"name": "web-x", "namespace": "shop", "uid": "u", "labels": {"app": "web"}}, "data": {}, "revision": 1});
        bench.fake.put(Resource::Revisions, orphan);
        let refusal = Status::new(422, "Invalid", "data: field is immutable");
        bench.fake.refusals.push(("patch controllerrevisions".into(), refusal, 3));
        for _ in 0..3 {
            assert_eq!(bench.sync().error.unwrap().to_string(), "data: field is immutable");
        }
        assert!(bench.pods().is_empty() && bench.status().is_null() && bench.reasons().is_empty());
    });
}

#[test]
fn a_current_revision_that_somebody_deleted_is_the_update_from_then_on() {
    everywhere(|compat, policy| {
        let mut bench =
            Bench::new(compat, policy, |spec| spec["updateStrategy"]["rollingUpdate"]["partition"] = 2.into());
        bench.settle();
        let first = update_revision(&bench);
        bench.image("a:2");
        bench.settle();
        bench.fake.remove(Resource::Revisions, &first);
        bench.fake.remove(Resource::Pods, "web-0");
        bench.settle();
        assert_eq!(bench.images(), ["a:2", "a:1", "a:2"]);
        assert_eq!(bench.status()["currentRevision"], bench.status()["updateRevision"]);
    });
}

#[test]
fn a_renumbering_that_fails_leaves_everything_as_it_is() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.image("a:2");
        bench.settle();
        bench.image("a:1");
        let refusal = Status::conflict(Resource::Revisions, "web", "the object has been modified");
        bench.fake.refusals.push(("update controllerrevisions".into(), refusal, 1));
        assert!(bench.sync().error.is_some());
        assert_eq!(bench.images(), ["a:2"; 3]);
        bench.settle();
        assert_eq!(bench.images(), ["a:1"; 3]);
    });
}
