//! The write protocol, against scripted servers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Outcome, execute};
use crate::cluster::script::{Answer, Script, Seen, set, status};
use crate::model::{Action, ApplyKind, Mode, Ordinal, Partition, Plan, Reason, Record, Seen as Revision, WorkloadId};

fn web() -> WorkloadId {
    WorkloadId::new("prod", "web")
}

fn record() -> Record {
    Record {
        began: 0,
        back: String::new(),
        v: 1,
        epoch: 2,
        rollout: "abc-2".into(),
        target: Revision::default(),
        src: None,
        mark: Default::default(),
        stable: None,
        mode: Mode::Staged,
        plan: Plan::default(),
        digest: String::new(),
        stage: Some(0),
        exposed: None,
        done: false,
        partition: Partition(2),
        generation: 0,
        live: Default::default(),
        rest: String::new(),
        at: 0,
        promoted: false,
        hashes: 1,
        stated: String::new(),
        hold: None,
        accepted: false,
        was: None,
        failed: Vec::new(),
        proven: Vec::new(),
        req: None,
        replicas: None,
    }
}

fn base() -> (String, String) {
    ("u1".into(), "10".into())
}

fn apply(kind: ApplyKind) -> Action {
    let manifest = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2", "args": ["\u{85}\u{2028}é"]}]}}},
    });
    let base = (kind != ApplyKind::Create).then(base);
    Action::Apply {
        kind,
        manifest: Arc::new(manifest),
        partition: Partition(2),
        record: Box::new(record()),
        base,
        takes_replicas: false,
    }
}

fn patch() -> Action {
    Action::Patch {
        partition: Some(Partition(1)),
        record: Box::new(record()),
        uid: "u1".into(),
        generation: 4,
        old_record: "old".into(),
        clear_request: Some("asked".into()),
    }
}

async fn run(action: &Action, answers: Vec<Answer>) -> (Outcome, Vec<Seen>) {
    let (cluster, script) = Script::new(answers);
    (execute(&cluster, &web(), action).await, script.seen())
}

fn conflict(manager: &str) -> Answer {
    let message = format!("conflict with \"{manager}\" using apps/v1");
    let field = ".spec.updateStrategy.rollingUpdate.partition";
    status(
        409,
        "Conflict",
        "Apply failed with 1 conflict",
        json!([{"reason": "FieldManagerConflict", "message": message, "field": field}]),
    )
}

fn sent_record(seen: &Seen) -> Record {
    Record::decode(seen.body()["metadata"]["annotations"]["phaseline.dev/rollout"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn an_apply_is_tried_out_and_records_what_comes_of_it() {
    let answers = vec![Answer::Json(200, set(10, 7, "")), Answer::Json(200, set(11, 7, ""))];
    let (outcome, seen) = run(&apply(ApplyKind::Start), answers).await;
    assert!(matches!(outcome, Outcome::Done(Some(live)) if live.resource_version == "11"));
    assert_eq!(seen.len(), 2);
    assert!(seen[0].is_dry() && !seen[1].is_dry() && !seen[1].is_forced());
    assert!(seen[1].uri.contains("fieldManager=phaseline&"), "{}", seen[1].uri);
    assert_eq!(seen[1].content_type, "application/apply-patch+yaml");
    let body = seen[1].body();
    assert_eq!(body["metadata"]["uid"], "u1");
    assert_eq!(body["metadata"]["resourceVersion"], "10");
    assert_eq!(body["spec"]["updateStrategy"], json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}));
    let record = sent_record(&seen[1]);
    assert_eq!(record.generation, 7);
    assert_eq!(record.live.0.len(), 20);
    assert!(seen[1].text.contains(r"\u0085\u2028é"), "{}", seen[1].text);
}

#[tokio::test]
async fn a_creation_never_changes_a_set_that_exists() {
    let answers = vec![status(409, "Conflict", "the object has been modified", json!([]))];
    let (outcome, seen) = run(&apply(ApplyKind::Create), answers).await;
    assert_eq!(outcome, Outcome::Moved("the object has been modified".into()));
    assert_eq!(seen[0].body()["metadata"]["resourceVersion"], "1");
    assert_eq!(seen[0].body()["metadata"]["uid"], Value::Null);
}

#[tokio::test]
async fn an_apply_is_forced_only_over_ourselves_or_by_decision() {
    let good = || [Answer::Json(200, set(10, 7, "")), Answer::Json(200, set(11, 7, ""))];
    for (manager, kind, forced) in [
        ("phaseline", ApplyKind::Start, true),
        ("phaseline-handover", ApplyKind::Sync, true),
        ("kubectl-edit", ApplyKind::Overwrite, true),
        ("kubectl-edit", ApplyKind::Start, false),
        ("phaseline2", ApplyKind::Start, false),
    ] {
        let answers = std::iter::once(conflict(manager)).chain(good()).collect();
        let (outcome, seen) = run(&apply(kind), answers).await;
        match forced {
            true => {
                assert!(matches!(outcome, Outcome::Done(_)), "{manager} {kind:?}: {outcome:?}");
                assert_eq!(seen.iter().map(Seen::is_forced).collect::<Vec<_>>(), [false, true, true]);
                assert_eq!(seen.iter().map(Seen::is_dry).collect::<Vec<_>>(), [true, true, false]);
            }
            false => {
                let fields = vec![".spec.updateStrategy.rollingUpdate.partition".to_owned()];
                assert_eq!(outcome, Outcome::Conflict { managers: vec![manager.into()], fields });
                assert_eq!(seen.len(), 1);
            }
        }
    }
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let spec = json!([{"reason": "FieldValueForbidden", "field": "spec", "message": "Forbidden: updates to statefulset spec for fields other than 'replicas', .. are forbidden"}]);
    let uid = json!([{"reason": "FieldValueInvalid", "field": "metadata.uid", "message": "field is immutable"}]);
    let image = json!([{"reason": "FieldValueRequired", "field": "spec.template.spec.containers[0].image", "message": "Required value"}]);
    let namespace =
        Answer::Json(404, json!({"message": "namespaces \"prod\" not found", "details": {"kind": "namespaces"}}));
    let typed =
        "failed to create typed patch object (/web; apps/v1, Kind=StatefulSet): .spec.bogus: field not declared";
    for (answer, reason) in [
        (status(422, "Invalid", "is invalid", spec), Some(Reason::ImmutableField)),
        (status(422, "Invalid", "is invalid", image), Some(Reason::Refused)),
        (status(500, "", typed, json!([])), Some(Reason::Refused)),
        (status(403, "Forbidden", "denied by a webhook", json!([])), Some(Reason::Refused)),
        (status(400, "BadRequest", "no", json!([])), Some(Reason::Refused)),
        (namespace, Some(Reason::NamespaceMissing)),
        (status(422, "Invalid", "is invalid", uid), None),
        (status(404, "NotFound", "gone", json!([])), None),
    ] {
        match (run(&apply(ApplyKind::Start), vec![answer]).await.0, reason) {
            (Outcome::Refused { reason, .. }, Some(wanted)) => assert_eq!(reason, wanted),
            (Outcome::Moved(_), None) => {}
            (outcome, wanted) => panic!("{outcome:?} instead of {wanted:?}"),
        }
    }
}

#[tokio::test]
async fn a_right_that_is_missing_may_be_granted_later() {
    let denied =
        r#"statefulsets.apps "web" is forbidden: User "p" cannot patch resource "statefulsets" in API group "apps""#;
    let (outcome, seen) = run(&patch(), vec![status(403, "Forbidden", denied, json!([]))]).await;
    let Outcome::Refused { reason: Reason::Forbidden, message } = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("phaseline install --watch-namespace"), "{message}");
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn nothing_is_repeated_that_surely_was_not_done() {
    let busy = Answer::Text(429, ("retry-after", "7"), String::new());
    let (outcome, seen) = run(&patch(), vec![busy]).await;
    assert!(matches!(outcome, Outcome::Failed { retry_after: Some(after), .. } if after == Duration::from_secs(7)));
    assert_eq!(seen.len(), 1);
    let (outcome, seen) = run(&patch(), vec![Answer::Refuse]).await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert_eq!(seen.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_up_once() {
    let wanted = record().encode();
    let unknown = || {
        [
            Answer::Hang,
            Answer::Reset,
            status(504, "Timeout", "", json!([])),
            status(500, "InternalError", "etcdserver: request timed out", json!([])),
            Answer::Text(500, ("x", "y"), String::new()),
            Answer::Text(200, ("x", "y"), "{\"metadata\":{\"na".into()),
        ]
    };
    for answer in unknown() {
        let (outcome, seen) = run(&patch(), vec![answer, Answer::Json(200, set(12, 5, &wanted))]).await;
        assert!(matches!(outcome, Outcome::Done(Some(_))), "{outcome:?}");
        assert_eq!(seen.iter().map(|s| s.method.as_str()).collect::<Vec<_>>(), ["PATCH", "GET"]);
    }
    for answer in unknown() {
        let (outcome, seen) = run(&patch(), vec![answer, Answer::Json(200, set(12, 5, "old"))]).await;
        assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
        assert_eq!(seen.len(), 2);
    }
    let (outcome, _) = run(&patch(), vec![Answer::Reset, Answer::Reset]).await;
    assert!(matches!(outcome, Outcome::Failed { message, .. } if message.contains("reading it back failed")));
}

#[tokio::test]
async fn a_stage_is_tested_on_uid_generation_record_and_the_request_it_answers() {
    let (outcome, seen) = run(&patch(), vec![Answer::Json(200, set(12, 5, ""))]).await;
    assert!(matches!(outcome, Outcome::Done(_)));
    assert_eq!(seen[0].content_type, "application/json-patch+json");
    assert_eq!(
        seen[0].body(),
        json!([
            {"op": "test", "path": "/metadata/uid", "value": "u1"},
            {"op": "test", "path": "/metadata/generation", "value": 4},
            {"op": "test", "path": "/metadata/annotations/phaseline.dev~1rollout", "value": "old"},
            {"op": "test", "path": "/metadata/annotations/phaseline.dev~1request", "value": "asked"},
            {"op": "add", "path": "/spec/updateStrategy/rollingUpdate/partition", "value": 1},
            {"op": "replace", "path": "/metadata/annotations/phaseline.dev~1rollout", "value": record().encode()},
            {"op": "remove", "path": "/metadata/annotations/phaseline.dev~1request"},
        ])
    );
}

#[tokio::test]
async fn a_failed_test_means_that_something_moved() {
    let failed = || Answer::Json(422, json!({"reason": "Invalid", "message": "rejected", "details": {}}));
    let (outcome, _) = run(&patch(), vec![failed(), Answer::Json(200, set(12, 4, "old"))]).await;
    assert_eq!(outcome, Outcome::Moved("rejected".into()));
}

#[tokio::test]
async fn a_partition_without_its_block_brings_the_block() {
    let old = record().encode();
    let action = match patch() {
        Action::Patch { partition, record, uid, generation, clear_request, .. } => {
            Action::Patch { partition, record, uid, generation, old_record: old.clone(), clear_request }
        }
        other => other,
    };
    let mut bare = set(12, 4, &old);
    bare["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
    let failed = Answer::Json(422, json!({"reason": "Invalid", "message": "rejected", "details": {}}));
    let (outcome, seen) = run(&action, vec![failed, Answer::Json(200, bare), Answer::Json(200, set(13, 5, ""))]).await;
    assert!(matches!(outcome, Outcome::Done(_)));
    let step = json!({"op": "add", "path": "/spec/updateStrategy", "value": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}});
    assert_eq!(seen[2].body()[4], step);
}

#[tokio::test]
async fn a_pod_is_deleted_with_both_preconditions() {
    let action = Action::DeletePod { ordinal: Ordinal(2), uid: "p".into(), resource_version: "7".into() };
    let (outcome, seen) = run(&action, vec![Answer::Json(200, json!({}))]).await;
    assert_eq!(outcome, Outcome::Done(None));
    assert_eq!((seen[0].method.as_str(), seen[0].uri.as_str()), ("DELETE", "/api/v1/namespaces/prod/pods/web-2"));
    assert_eq!(seen[0].body()["preconditions"], json!({"uid": "p", "resourceVersion": "7"}));
    let (outcome, _) = run(&action, vec![status(409, "Conflict", "the UID ..", json!([]))]).await;
    assert_eq!(outcome, Outcome::Moved("the UID ..".into()));
    let pod = |uid: &str| {
        let metadata = json!({"name": "web-2", "namespace": "prod", "uid": uid,
            "labels": {"statefulset.kubernetes.io/pod-name": "web-2"}});
        Answer::Json(200, json!({"metadata": metadata}))
    };
    let (outcome, _) = run(&action, vec![Answer::Reset, pod("other")]).await;
    assert_eq!(outcome, Outcome::Done(None));
    let (outcome, _) = run(&action, vec![Answer::Reset, pod("p")]).await;
    assert!(matches!(outcome, Outcome::Failed { .. }));
}

#[tokio::test]
async fn an_adoption_moves_the_fields_of_known_tools() {
    let mut live = set(10, 3, "");
    live["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let applied = json!({"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}},
        "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:image": {}}}}}}});
    let edited =
        json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:args": {}}}}}}});
    let entry = |manager: &str, subresource: &str, fields: &Value| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "subresource": subresource,
            "time": "2026-01-01T00:00:00Z", "fieldsV1": fields})
    };
    let rollout = entry("kubectl-rollout", "", &json!({"f:spec": {}}));
    let scale = entry("kubectl", "scale", &json!({"f:spec": {"f:replicas": {}}}));
    live["metadata"]["managedFields"] =
        json!([entry("kubectl-client-side-apply", "", &applied), rollout, scale, entry("Helm", "", &edited),]);
    let action = Action::Adopt { record: Box::new(record()), base: base(), clear_request: true };
    let (outcome, seen) = run(&action, vec![Answer::Json(200, live.clone()), Answer::Json(200, set(11, 3, ""))]).await;
    assert!(matches!(outcome, Outcome::Done(_)));
    let steps = seen[1].body();
    let step = |path: &str| steps.as_array().unwrap().iter().find(|step| step["path"] == path && step["op"] != "test");
    let fields = json!({"f:metadata": {"f:annotations": {}}, "f:spec": {"f:replicas": {},
        "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:image": {}, "f:args": {}}}}}}});
    let ours = json!({"manager": "phaseline", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "time": "2026-01-01T00:00:00Z", "fieldsV1": fields});
    assert_eq!(step("/metadata/managedFields").unwrap()["value"], json!([ours, rollout, scale]));
    assert!(step("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration").is_some());
    assert!(step("/spec/updateStrategy/rollingUpdate/partition").is_none(), "it is 2 already");
    assert!(step("/metadata/annotations/phaseline.dev~1request").is_none(), "there is none");
    let written = step("/metadata/annotations/phaseline.dev~1rollout").unwrap()["value"].as_str().unwrap();
    assert_eq!(Record::decode(written).unwrap().generation, 3);
    live["metadata"]["resourceVersion"] = "11".into();
    let (outcome, seen) = run(&action, vec![Answer::Json(200, live)]).await;
    assert!(matches!(outcome, Outcome::Moved(_)));
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn a_release_leaves_nothing_of_ours() {
    let mut live = set(10, 3, "{}");
    let entry = |manager: &str| json!({"manager": manager, "operation": "Apply", "fieldsV1": {}});
    live["metadata"]["managedFields"] = json!([entry("phaseline"), entry("phaseline-cli")]);
    let mut after = set(11, 3, "");
    after["metadata"]["annotations"] = json!({});
    let action = Action::Release { partition: Some(Partition(0)), base: base() };
    let (outcome, seen) = run(&action, vec![Answer::Json(200, live), Answer::Json(200, after)]).await;
    assert!(matches!(outcome, Outcome::Done(_)));
    let steps = seen[1].body();
    assert_eq!(steps[2], json!({"op": "replace", "path": "/metadata/managedFields", "value": [{}]}));
    assert_eq!(steps[3], json!({"op": "remove", "path": "/metadata/annotations/phaseline.dev~1rollout"}));
    assert_eq!(steps[4], json!({"op": "add", "path": "/spec/updateStrategy/rollingUpdate/partition", "value": 0}));
    assert_eq!(seen.len(), 2);
}
