//! What servers send, good and bad (K01 to K16 of the bad-input corpus).

use serde_json::{Value, json};

use super::{Templates, controller_revision, pod, selector, set};
use crate::model::{LiveSet, Ordinal, Partition, Pod, PodPhase, RecordState, WorkloadId};

fn live(object: &Value) -> LiveSet {
    set(&object.to_string(), &mut Templates::default()).unwrap().1
}

fn the_pod(object: &Value) -> Pod {
    pod(&object.to_string()).unwrap().unwrap().1
}

fn with_record(text: &str) -> RecordState {
    live(&json!({"metadata": {"name": "web", "annotations": {"phaseline.dev/rollout": text}}})).record
}

fn pod_named(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "prod", "uid": "p", "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u1", "controller": true}]}})
}

#[test]
fn a_set_with_nothing_in_it_has_the_defaults() {
    for object in [
        json!({"metadata": {"name": "web"}}),
        json!({"metadata": {"name": "web", "annotations": null, "managedFields": null}, "spec": {"updateStrategy": null, "template": null}, "status": null}),
    ] {
        let set = live(&object);
        assert_eq!((set.replicas, set.start, set.observed_generation), (1, 0, 0));
        assert_eq!((set.strategy.as_str(), set.partition), ("RollingUpdate", None));
        assert_eq!((set.record, set.request), (RecordState::Absent, None));
    }
}

#[test]
fn a_whole_set_is_cut_down() {
    let set = live(&json!({
        "metadata": {
            "name": "web", "namespace": "prod", "uid": "u1", "resourceVersion": "abc", "generation": 3,
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [
                {"manager": "phaseline", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {
                    "f:metadata": {"f:annotations": {"f:phaseline.dev/rollout": {}}},
                    "f:spec": {"f:template": {}, "f:updateStrategy": {}}}},
                {"manager": "hpa", "operation": "Update", "subresource": "scale", "time": "no time", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                {"manager": "odd", "fieldsV1": null},
            ],
        },
        "spec": {
            "replicas": 5, "ordinals": {"start": 2}, "minReadySeconds": -4, "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
            "template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}},
        },
        "status": {"observedGeneration": 9, "currentRevision": "a", "updateRevision": "b"},
    }));
    assert_eq!((set.replicas, set.start, set.min_ready_seconds, set.parallel, set.terminating), (5, 2, 0, true, true));
    assert_eq!(
        (set.partition, set.max_unavailable, set.deletes_claims_when_scaled),
        (Some(Partition(0)), Some(1), true)
    );
    assert_eq!((set.claim_templates, set.restarted_at.as_str()), (vec!["data".to_owned()], "now"));
    assert_eq!((set.generation, set.observed_generation, set.resource_version.as_str()), (3, 9, "abc"));
    let owns: Vec<_> = set.owners.iter().map(|o| (o.template, o.strategy, o.replicas, o.record, o.apply)).collect();
    assert_eq!(
        owns,
        [(true, true, false, true, true), (false, false, true, false, false), (false, false, false, false, false)]
    );
    assert_eq!(set.owners.iter().filter(|owner| owner.time.is_some()).count(), 1);
}

#[test]
fn a_record_that_cannot_be_read_is_said_to_be_so() {
    for text in [
        "",
        "{",
        "[]",
        r#"{"v":1}"#,
        r#"{"v":2,"more":true}"#,
        r#"{"v":1,"epoch":18446744073709551616}"#,
        &"x".repeat(4000),
    ] {
        assert!(matches!(with_record(text), RecordState::Unreadable(_)), "{text}");
    }
    let request = |text: &str| {
        live(&json!({"metadata": {"name": "web", "annotations": {"phaseline.dev/request": text}}})).request
    };
    assert!(matches!(request("{}"), Some(Err(_))));
    assert!(matches!(request(&"x".repeat(600)), Some(Err(why)) if why.contains("600 bytes")));
    assert!(matches!(request(r#"{"id":"a","verb":"promote-full","by":"me"}"#), Some(Ok(_))));
}

#[test]
fn what_makes_no_sense_is_an_error_and_no_more() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"metadata":{"name":"web","generation":"x"}}"#,
        r#"{"metadata":{"name":"web"},"spec":{"replicas":{}}}"#,
    ] {
        assert!(set(text, &mut Templates::default()).is_err(), "{text}");
    }
    for text in ["", "7", r#"{"metadata":{"name":7}}"#] {
        assert!(pod(text).is_err(), "{text}");
    }
    let large = json!({"metadata": {"name": "web", "annotations": {"x": "y".repeat(1_500_000)}}});
    assert_eq!(live(&large).replicas, 1);
}

#[test]
fn a_template_is_digested_once_a_generation() {
    let mut templates = Templates::default();
    let mut object = json!({"metadata": {"name": "web", "uid": "u1", "generation": 1}, "spec": {"template": {"metadata": {"labels": {"a": "1"}}}}});
    let first = set(&object.to_string(), &mut templates).unwrap().1.template;
    object["spec"]["template"]["metadata"]["labels"]["a"] = "2".into();
    assert_eq!(set(&object.to_string(), &mut templates).unwrap().1.template, first);
    object["metadata"]["generation"] = 2.into();
    assert_ne!(set(&object.to_string(), &mut templates).unwrap().1.template, first);
}

#[test]
fn a_pod_belongs_to_the_set_that_controls_it() {
    let whose = |object: &Value| pod(&object.to_string()).unwrap().map(|(id, pod)| (id, pod.ordinal, pod.owner));
    let web = WorkloadId::new("prod", "web");
    assert_eq!(whose(&pod_named("web-7")), Some((web.clone(), Ordinal(7), "u1".into())));
    for name in ["web", "web-", "web-07", "web-4294967296", "-3", "other-1", "web-x"] {
        assert_eq!(whose(&pod_named(name)), None, "{name}");
    }
    let long = format!("{}-0", "a".repeat(251));
    assert_eq!(whose(&pod_named(&long)), None);
    let mut foreign = pod_named("web-1");
    foreign["metadata"]["ownerReferences"][0]["apiVersion"] = "apps.kruise.io/v1beta1".into();
    assert_eq!(whose(&foreign), None);
    // An orphan is known by its label only.
    let mut orphan = pod_named("web-1");
    orphan["metadata"]["ownerReferences"] = Value::Null;
    assert_eq!(whose(&orphan), None);
    orphan["metadata"]["labels"] = json!({"statefulset.kubernetes.io/pod-name": "web-1"});
    assert_eq!(whose(&orphan), Some((web, Ordinal(1), String::new())));
}

#[test]
fn readiness_takes_the_doubtful_view() {
    let mut object = pod_named("web-0");
    assert!(!the_pod(&object).ready);
    let ready = |status: &str, at: &str| json!({"type": "Ready", "status": status, "lastTransitionTime": at});
    object["status"] = json!({"phase": "Running", "conditions": [ready("True", "2026-01-01T00:00:05Z")]});
    assert!(the_pod(&object).ready);
    object["status"]["conditions"] =
        json!([ready("True", "2026-01-01T00:00:05Z"), ready("False", "2026-01-01T00:00:09Z")]);
    let pod = the_pod(&object);
    assert!(!pod.ready && !pod.node_lost);
    assert_eq!(pod.ready_since.unwrap().to_string(), "2026-01-01T00:00:09Z");
    object["status"]["conditions"] = json!([ready("Unknown", "never")]);
    assert!(the_pod(&object).node_lost);
    object["status"] = json!({"phase": "Failed", "reason": "NodeLost"});
    assert!(the_pod(&object).node_lost);
    // The control plane takes readiness away without a word; a kubelet says why.
    let all_ready = json!({"type": "ContainersReady", "status": "True"});
    object["status"] = json!({"phase": "Running", "conditions": [ready("False", "2026-01-01T00:00:09Z"), all_ready]});
    object["spec"] = json!({"nodeName": "node-3"});
    let pod = the_pod(&object);
    assert_eq!((pod.node_lost, pod.node.as_str()), (true, "node-3"));
    object["status"]["conditions"][0]["reason"] = "ReadinessGatesNotReady".into();
    assert!(!the_pod(&object).node_lost);
}

#[test]
fn what_holds_a_pod_that_is_deleted_is_told() {
    let mut object = pod_named("web-0");
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z".into();
    object["metadata"]["finalizers"] = json!(["example.org/backup"]);
    let pod = the_pod(&object);
    assert_eq!((pod.terminating, pod.finalizers), (true, vec!["example.org/backup".to_owned()]));
    assert_eq!(pod.gone_by.unwrap().to_string(), "2026-01-01T00:00:30Z");
    object["metadata"]["deletionTimestamp"] = "odd".into();
    assert!(the_pod(&object).terminating, "a time that cannot be read is a deletion all the same");
}

#[test]
fn faults_come_worst_first() {
    let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "m".repeat(500)}});
    let ended = |code: u32, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason}});
    let running = json!({"running": {}});
    let container = |name: &str, state: &Value, last: &Value, ready: bool| json!({"name": name, "ready": ready, "restartCount": 4, "state": state, "lastState": last});
    let none = json!({});
    for (status, reasons) in [
        (json!({"containerStatuses": [container("c", &waiting("ContainerCreating"), &none, false)]}), vec![]),
        (json!({"containerStatuses": [container("c", &running, &ended(137, "OOMKilled"), true)]}), vec![]),
        (json!({"containerStatuses": [container("c", &running, &ended(137, "OOMKilled"), false)]}), vec!["OOMKilled"]),
        (
            json!({"containerStatuses": [container("c", &waiting("CrashLoopBackOff"), &ended(1, "Error"), false)]}),
            vec!["CrashLoopBackOff", "Error"],
        ),
        (
            json!({"containerStatuses": [container("a", &waiting("ErrImagePull"), &none, false), container("b", &waiting("InvalidImageName"), &none, false)]}),
            vec!["InvalidImageName", "ErrImagePull"],
        ),
        (
            json!({"initContainerStatuses": [container("i", &ended(0, "Completed"), &none, true), container("j", &ended(3, ""), &none, false)]}),
            vec!["Error"],
        ),
        (
            json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}),
            vec!["Unschedulable"],
        ),
        (json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}), vec!["Evicted"]),
    ] {
        let mut object = pod_named("web-0");
        object["status"] = status;
        let pod = the_pod(&object);
        assert_eq!(pod.faults.iter().map(|fault| fault.reason.as_str()).collect::<Vec<_>>(), reasons, "{object}");
        assert!(pod.faults.iter().all(|fault| fault.message.len() <= 200));
        assert_eq!(
            pod.restarts,
            if object["status"]["containerStatuses"].is_array() || object["status"]["initContainerStatuses"].is_array()
            {
                4
            } else {
                0
            }
        );
    }
    assert_eq!(the_pod(&pod_named("web-0")).phase, PodPhase::Pending);
}

#[test]
fn a_selector_is_a_query() {
    let set = json!({"spec": {"selector": {"matchLabels": {"app": "web", "a": "b"}, "matchExpressions": [
        {"key": "t", "operator": "In", "values": ["x", "y"]}, {"key": "u", "operator": "DoesNotExist"}]}}});
    assert_eq!(selector(set.to_string().as_bytes()).unwrap().query(), "a=b,app=web,t in (x,y),!u");
}

#[test]
fn a_controller_revision_has_the_digest_of_its_template() {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {}});
    let mut patch = template.clone();
    patch["$patch"] = "replace".into();
    let object = json!({"metadata": {"name": "web-1", "ownerReferences": [{"uid": "u1", "controller": true}]},
        "revision": 3, "data": {"spec": {"template": patch}}});
    let (name, number, digest, cause, owner) = controller_revision(&object.to_string()).unwrap();
    assert_eq!((name.as_str(), number, cause.as_str(), owner.as_str()), ("web-1", 3, "", "u1"));
    assert_eq!(digest.hash, live(&json!({"metadata": {"name": "web"}, "spec": {"template": template}})).template);
}
