//! Pods are adopted, released and repaired; and a pod's change wakes the right sets.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Bench, everywhere, of};
use crate::sim::controllers::stateful_set::{Wake, wakes};
use crate::sim::resource::Resource;
use crate::sim::status::Status;
use crate::sim::{Compat, Version};

fn owners(bench: &Bench, name: &str) -> usize {
    bench.fake.find(Resource::Pods, name).unwrap()["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len)
}

fn orphan(bench: &mut Bench, name: &str) {
    bench
        .fake
        .change(Resource::Pods, name, |pod| drop(pod["metadata"].as_object_mut().unwrap().remove("ownerReferences")));
}

#[test]
fn orphans_that_match_are_adopted() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        orphan(&mut bench, "web-1");
        assert_eq!(bench.writes(), ["patch pods web-1"]);
        assert_eq!(owners(&bench, "web-1"), 1);
        // Neither one that is going, nor one of another name, nor one whose labels do not match.
        for change in [
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            json!({"metadata": {"labels": {"app": "other"}}}),
        ] {
            orphan(&mut bench, "web-1");
            bench.fake.change(Resource::Pods, "web-1", |pod| merge(pod, &change));
            let refusal = Status::already_exists(Resource::Pods, "web-1");
            bench.fake.refusals = vec![("create pods web-1".into(), refusal, 1)];
            assert!(bench.sync().error.is_some(), "its place is taken");
            assert_eq!(owners(&bench, "web-1"), 0);
            bench.fake.remove(Resource::Pods, "web-1");
            bench.fake.refusals.clear();
            bench.settle();
        }
        let mut other = bench.fake.find(Resource::Pods, "web-0").unwrap().clone();
        other["metadata"]["name"] = "other-0".into();
        other["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        bench.fake.put(Resource::Pods, other);
        assert!(bench.writes().is_empty());
    });
}

fn merge(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            change.iter().for_each(|(key, value)| merge(object.entry(key.clone()).or_insert(Value::Null), value));
        }
        (object, change) => *object = change.clone(),
    }
}

#[test]
fn nothing_is_adopted_for_a_set_that_is_going_or_another() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        orphan(&mut bench, "web-1");
        bench.fake.change(Resource::StatefulSets, "web", |set| {
            set["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
        });
        bench.writes();
        assert_eq!(owners(&bench, "web-1"), 0);
    });
}

#[test]
fn pods_whose_labels_do_not_match_are_released_and_taken_back() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        bench.fake.change(Resource::Pods, "web-2", |pod| pod["metadata"]["labels"]["app"] = "out".into());
        let refusal = Status::already_exists(Resource::Pods, "web-2");
        bench.fake.refusals.push(("create pods web-2".into(), refusal, 1));
        bench.sync();
        assert_eq!(owners(&bench, "web-2"), 0);
        bench.fake.change(Resource::Pods, "web-2", |pod| pod["metadata"]["labels"]["app"] = "web".into());
        bench.settle();
        assert_eq!(owners(&bench, "web-2"), 1);
        // That it is gone, or another one, is no error; anything else is.
        bench.fake.change(Resource::Pods, "web-2", |pod| pod["metadata"]["labels"]["app"] = "out".into());
        for (refusal, fails) in [
            (Status::not_found(Resource::Pods, "web-2"), false),
            (Status::new(422, "Invalid", "no owner"), false),
            (Status::new(500, "InternalError", "no"), true),
        ] {
            let message = refusal.message.clone();
            bench.fake.refusals = vec![
                ("patch pods web-2".into(), refusal, 1),
                ("create pods web-2".into(), Status::new(403, "Forbidden", "taken"), 1),
            ];
            let error = bench.sync().error.unwrap().to_string();
            assert_eq!(error, if fails { message } else { "taken".into() });
        }
    });
}

#[test]
fn labels_and_volumes_are_put_right() {
    everywhere(|compat, policy| {
        let mut bench = Bench::new(compat, policy, |_| {});
        bench.settle();
        assert!(bench.writes().is_empty(), "nothing to put right");
        bench.fake.change(Resource::Pods, "web-0", |pod| {
            pod["metadata"]["labels"].as_object_mut().unwrap().remove("statefulset.kubernetes.io/pod-name");
            pod["spec"]["volumes"] = json!([{"name": "tmp", "emptyDir": {}}]);
        });
        bench.fake.remove(Resource::Claims, "www-web-0");
        bench.reasons();
        let writes = bench.writes();
        assert_eq!(writes, ["create persistentvolumeclaims www-web-0", "update pods web-0"]);
        assert_eq!(bench.reasons(), ["SuccessfulCreate", "SuccessfulUpdate"]);
        let pod = bench.fake.find(Resource::Pods, "web-0").unwrap();
        assert_eq!(pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"], "web-0");
        assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "www-web-0");
        assert_eq!(pod["spec"]["volumes"][1]["name"], "tmp");
        // A conflict is tried again, four times in all; another error ends it.
        for (refusal, times, attempts) in [
            (Status::conflict(Resource::Pods, "web-0", "modified"), 2, 3),
            (Status::conflict(Resource::Pods, "web-0", "modified"), 9, 4),
            (Status::new(500, "InternalError", "no"), 9, 1),
        ] {
            bench.fake.change(Resource::Pods, "web-0", |pod| {
                pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = "x".into();
            });
            bench.fake.refusals = vec![("update pods".into(), refusal, times)];
            bench.fake.take_writes();
            let failed = bench.sync().error.is_some();
            assert_eq!(of(&bench.fake.writes, "update pods").len(), attempts);
            assert_eq!(failed, times == 9);
            assert_eq!(bench.reasons(), [if failed { "FailedUpdate" } else { "SuccessfulUpdate" }]);
            bench.fake.refusals.clear();
            bench.settle();
            bench.reasons();
        }
    });
}

#[test]
fn a_pod_wakes_its_set_or_those_that_would_have_it() {
    for version in [Version::V1_33, Version::V1_36] {
        let compat = Compat::of(version);
        let mut bench = Bench::new(compat, "OrderedReady", |spec| spec["minReadySeconds"] = 5.into());
        bench.sync();
        let pod = bench.fake.find(Resource::Pods, "web-0").unwrap().clone();
        let with = |change: Value| {
            let mut changed = pod.clone();
            merge(&mut changed, &change);
            changed
        };
        let woken = |old: Option<&Value>, new: Option<&Value>| wakes(&bench.fake, compat, old, new);
        let now = Wake { name: "web".into(), after: None };
        assert_eq!(woken(None, Some(&pod)), std::slice::from_ref(&now));
        assert_eq!(woken(Some(&pod), None), std::slice::from_ref(&now));
        let ready = with(json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}));
        let seconds = if version == Version::V1_33 { 6 } else { 5 };
        let later = Wake { name: "web".into(), after: Some(SignedDuration::from_secs(seconds)) };
        assert_eq!(woken(Some(&pod), Some(&ready)), [now.clone(), later]);
        assert_eq!(woken(Some(&ready), Some(&ready)), std::slice::from_ref(&now));
        let other_owner = with(
            json!({"metadata": {"ownerReferences": [{"kind": "StatefulSet", "name": "web", "uid": "older", "controller": true}]}}),
        );
        assert!(woken(None, Some(&other_owner)).is_empty(), "a set of that name, not that one");
        assert_eq!(woken(Some(&pod), Some(&other_owner)), std::slice::from_ref(&now), "the set that lost it");
        let orphan = with(json!({"metadata": {"ownerReferences": []}}));
        assert_eq!(woken(None, Some(&orphan)), std::slice::from_ref(&now), "it may be adopted");
        assert!(woken(Some(&orphan), Some(&orphan)).is_empty());
        assert!(woken(Some(&orphan), None).is_empty());
        let unlike = with(json!({"metadata": {"ownerReferences": [], "labels": {"app": "x"}}}));
        assert!(woken(None, Some(&unlike)).is_empty());
        assert_eq!(woken(Some(&unlike), Some(&orphan)), std::slice::from_ref(&now), "its labels match now");
        let going = with(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        assert_eq!(woken(None, Some(&going)), std::slice::from_ref(&now));
        let orphan_going =
            with(json!({"metadata": {"ownerReferences": [], "deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        assert!(woken(None, Some(&orphan_going)).is_empty());
        let of_a_job = with(
            json!({"metadata": {"ownerReferences": [{"kind": "Job", "name": "web", "uid": "uid-set", "controller": true}]}}),
        );
        assert!(woken(None, Some(&of_a_job)).is_empty());
    }
}
