//! Every action against a real API server: `PHASELINE_TEST_KUBECONFIG=.. cargo test --lib cluster::live -- --ignored`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::apply::{Outcome, execute};
use super::connect::{Cluster, ConnectOptions};
use super::send::{Call, PatchKind, fetch, send};
use super::{Store, read, watch};
use crate::model::{
    Action, ApplyKind, LiveSet, Mode, Observed, Ordinal, PARKED, Partition, Plan, Reason, Record, RecordState, Request,
    Seen, Verb, WorkloadId,
};

async fn cluster() -> Cluster {
    let kubeconfig = std::env::var_os("PHASELINE_TEST_KUBECONFIG").map(PathBuf::from);
    assert!(kubeconfig.is_some(), "PHASELINE_TEST_KUBECONFIG is not set");
    let user_agent = ConnectOptions::DAEMON_AGENT.to_owned();
    Cluster::connect(&ConnectOptions { kubeconfig, user_agent, ..ConnectOptions::default() }).await.unwrap()
}

/// A name that no earlier run has used.
fn fresh(name: &str) -> WorkloadId {
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() % 1_000_000_000;
    WorkloadId::new("default", format!("{name}{stamp}"))
}

fn record(partition: Partition) -> Record {
    Record {
        began: 0,
        back: String::new(),
        v: 1,
        epoch: 1,
        rollout: "r-1".into(),
        target: Seen::default(),
        src: None,
        mark: Default::default(),
        stable: None,
        mode: Mode::Staged,
        plan: Plan::default(),
        digest: String::new(),
        stage: Some(0),
        exposed: None,
        done: false,
        partition,
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

fn manifest(id: &WorkloadId, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": id.name, "namespace": id.namespace, "labels": {"team": "a"}},
        "spec": {
            "replicas": 3, "serviceName": id.name, "selector": {"matchLabels": {"app": id.name}},
            "template": {
                "metadata": {"labels": {"app": id.name}, "annotations": {"odd": "a\u{85}b\u{2028}c\u{7f}d\u{feff}e\u{ffff}f\u{1f600}"}},
                "spec": {"containers": [{"name": "c", "image": image, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]},
            },
        },
    })
}

fn apply(kind: ApplyKind, manifest: Value, partition: Partition, live: Option<&LiveSet>) -> Action {
    Action::Apply {
        kind,
        manifest: Arc::new(manifest),
        partition,
        record: Box::new(record(partition)),
        base: live.map(base),
        takes_replicas: false,
    }
}

fn base(live: &LiveSet) -> (String, String) {
    (live.uid.clone(), live.resource_version.clone())
}

fn done(outcome: Outcome) -> LiveSet {
    match outcome {
        Outcome::Done(Some(live)) => *live,
        other => panic!("{other:?}"),
    }
}

/// Looks again for as long as a status write comes in between.
async fn retried(cluster: &Cluster, id: &WorkloadId, action: impl Fn(&LiveSet) -> Action) -> Outcome {
    loop {
        let live = read::observe(cluster, id).await.unwrap().set.unwrap();
        match execute(cluster, id, &action(&live)).await {
            Outcome::Moved(why) => println!("   again: {why}"),
            outcome => return outcome,
        }
    }
}

fn written(live: &LiveSet) -> (&Record, &str) {
    match &live.record {
        RecordState::Is(record, text) => (record, text),
        other => panic!("{other:?}"),
    }
}

async fn raw(cluster: &Cluster, id: &WorkloadId) -> Value {
    serde_json::from_slice(&fetch(cluster, &Call::get_set(id)).await.unwrap().unwrap()).unwrap()
}

/// Writes as another field manager would.
async fn other(cluster: &Cluster, id: &WorkloadId, manager: &str, body: Value) {
    let reply =
        send(cluster, &Call::patch(id, PatchKind::Merge, manager, body.to_string().into_bytes())).await.unwrap();
    assert!(reply.status.is_success(), "{:?}", reply.problem());
}

async fn until(cluster: &Cluster, id: &WorkloadId, what: impl Fn(&Observed) -> bool) -> Observed {
    for _ in 0..300 {
        let observed = read::observe(cluster, id).await.unwrap();
        if what(&observed) {
            return observed;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within 30 s: {:?}", read::observe(cluster, id).await);
}

fn all_ready(observed: &Observed) -> bool {
    let set = observed.set.as_ref().unwrap();
    set.observed_generation == set.generation
        && observed.pods.len() == set.replicas as usize
        && observed.pods.values().all(|pod| pod.ready && !pod.terminating)
}

fn show(step: &str, object: &Value) {
    println!("{step}: generation {}", object["metadata"]["generation"]);
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        println!("   {} {} {} {}", entry["manager"], entry["operation"], entry["subresource"], entry["fieldsV1"]);
    }
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn a_rollout_from_creation_to_the_end() {
    let (cluster, id) = (cluster().await, fresh("roll"));
    println!("{} {}", cluster.server, read::server_version(&cluster).await.unwrap());
    let create = apply(ApplyKind::Create, manifest(&id, "nginx:1"), Partition(0), None);
    let live = done(execute(&cluster, &id, &create).await);
    assert_eq!((live.generation, written(&live).0.generation), (1, 1));
    assert_eq!(written(&live).0.live, live.template);
    assert_eq!(
        raw(&cluster, &id).await["spec"]["template"]["metadata"]["annotations"]["odd"],
        "a\u{85}b\u{2028}c\u{7f}d\u{feff}e\u{ffff}f\u{1f600}"
    );
    let again = execute(&cluster, &id, &create).await;
    println!("create again: {again:?}");
    assert!(matches!(again, Outcome::Moved(_)));

    // A start: template and partition in one write.
    let live = until(&cluster, &id, all_ready).await.set.unwrap();
    let start = apply(ApplyKind::Start, manifest(&id, "nginx:2"), Partition(2), Some(&live));
    let again = |live: &LiveSet| apply(ApplyKind::Start, manifest(&id, "nginx:2"), Partition(2), Some(live));
    let started = done(retried(&cluster, &id, again).await);
    assert_eq!((started.generation, written(&started).0.generation), (2, 2));
    assert_ne!(started.template, live.template);
    let stale = execute(&cluster, &id, &start).await;
    println!("start again: {stale:?}");
    assert!(matches!(stale, Outcome::Moved(_)));
    let observed = until(&cluster, &id, |o| {
        all_ready(o) && o.pods[&Ordinal(2)].revision == o.set.as_ref().unwrap().update_revision
    })
    .await;
    assert_ne!(observed.pods[&Ordinal(1)].revision, observed.pods[&Ordinal(2)].revision);

    // A stage, and a stale one.
    let stage = |partition: u32, shown: &LiveSet| Action::Patch {
        partition: Some(Partition(partition)),
        record: Box::new(Record { epoch: 2, generation: shown.generation + 1, ..record(Partition(partition)) }),
        uid: shown.uid.clone(),
        generation: shown.generation,
        old_record: written(shown).1.to_owned(),
        clear_request: None,
    };
    let patched = done(execute(&cluster, &id, &stage(1, &started)).await);
    assert_eq!((patched.generation, written(&patched).0.generation, patched.partition), (3, 3, Some(Partition(1))));
    let stale = execute(&cluster, &id, &stage(1, &started)).await;
    println!("stage again: {stale:?}");
    assert!(matches!(stale, Outcome::Moved(_)));
    show("after a stage", &raw(&cluster, &id).await);

    // The block is gone: the partition brings it.
    other(&cluster, &id, "somebody", json!({"spec": {"updateStrategy": {"rollingUpdate": null}}})).await;
    let bare = read::observe(&cluster, &id).await.unwrap().set.unwrap();
    println!("without its block: partition {:?}", bare.partition);
    let live = done(execute(&cluster, &id, &stage(1, &bare)).await);
    assert_eq!(live.partition, Some(Partition(1)));

    // Our own patch conflicts with our own apply, and gives way; somebody else's does not.
    until(&cluster, &id, all_ready).await;
    let live = done(
        retried(&cluster, &id, |live| {
            apply(ApplyKind::Start, manifest(&id, "nginx:3").clone(), Partition(2), Some(live))
        })
        .await,
    );
    assert_eq!(live.partition, Some(Partition(2)));
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:9", "env": [{"name": "A", "value": "9"}]}]}}}});
    other(&cluster, &id, "kubectl-edit", image).await;
    let conflict = retried(&cluster, &id, |live| {
        apply(ApplyKind::Start, manifest(&id, "nginx:4").clone(), Partition(2), Some(live))
    })
    .await;
    println!("conflict: {conflict:?}");
    assert!(matches!(&conflict, Outcome::Conflict { managers, .. } if *managers == ["kubectl-edit"]));
    let live = done(
        retried(&cluster, &id, |live| {
            apply(ApplyKind::Overwrite, manifest(&id, "nginx:4").clone(), Partition(2), Some(live))
        })
        .await,
    );
    assert_eq!(written(&live).0.generation, live.generation);

    // Refusals.
    let mut immutable = manifest(&id, "nginx:4");
    immutable["spec"]["serviceName"] = "other".into();
    let mut unknown = manifest(&id, "nginx:4");
    unknown["spec"]["bogus"] = 1.into();
    let live = read::observe(&cluster, &id).await.unwrap().set.unwrap();
    for (manifest, wanted) in [(immutable, Reason::ImmutableField), (unknown, Reason::Refused)] {
        let refused =
            retried(&cluster, &id, |live| apply(ApplyKind::Start, manifest.clone(), Partition(2), Some(live))).await;
        println!("refused: {refused:?}");
        assert!(matches!(refused, Outcome::Refused { reason, .. } if reason == wanted));
    }
    let nowhere = WorkloadId::new("nowhere", "web");
    let refused =
        execute(&cluster, &nowhere, &apply(ApplyKind::Create, manifest(&nowhere, "nginx:1"), Partition(0), None)).await;
    println!("no namespace: {refused:?}");
    assert!(matches!(refused, Outcome::Refused { reason: Reason::NamespaceMissing, .. }));
    let other_uid = apply(
        ApplyKind::Start,
        manifest(&id, "nginx:4"),
        Partition(2),
        Some(&LiveSet { uid: "5e1f0b9e-0000-4000-8000-000000000000".into(), ..live.clone() }),
    );
    let moved = execute(&cluster, &id, &other_uid).await;
    println!("wrong uid: {moved:?}");
    assert!(matches!(moved, Outcome::Moved(_)));

    // A pod, by its uid and version.
    let observed = until(&cluster, &id, all_ready).await;
    let pod = &observed.pods[&Ordinal(2)];
    let delete = |uid: &str, version: &str| Action::DeletePod {
        ordinal: Ordinal(2),
        uid: uid.into(),
        resource_version: version.into(),
    };
    for wrong in [delete("x", &pod.resource_version), delete(&pod.uid, "1")] {
        let moved = execute(&cluster, &id, &wrong).await;
        println!("pod: {moved:?}");
        assert!(matches!(moved, Outcome::Moved(_)));
    }
    assert_eq!(execute(&cluster, &id, &delete(&pod.uid, &pod.resource_version)).await, Outcome::Done(None));
    until(&cluster, &id, |o| all_ready(o) && o.pods[&Ordinal(2)].uid != pod.uid).await;

    let revisions = read::controller_revisions(&cluster, &id).await.unwrap();
    println!("{revisions:?}");
    let observed = until(&cluster, &id, all_ready).await;
    let live = observed.set.as_ref().unwrap();
    let newest = revisions.last().unwrap();
    assert_eq!((&newest.name, &newest.hash), (&live.update_revision, &live.template));
    assert!(read::list(&cluster, Some("default")).await.unwrap().iter().any(|o| o.workload == id && o.pods.len() == 3));
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn replicas_stay_when_a_manifest_drops_them() {
    let (cluster, id) = (cluster().await, fresh("hand"));
    done(execute(&cluster, &id, &apply(ApplyKind::Create, manifest(&id, "nginx:1"), PARKED, None)).await);
    let live = until(&cluster, &id, all_ready).await.set.unwrap();
    let handed = done(retried(&cluster, &id, |live| Action::HandOverReplicas { replicas: 3, base: base(live) }).await);
    assert_eq!(handed.generation, live.generation);
    let mut without = manifest(&id, "nginx:1");
    without["spec"].as_object_mut().unwrap().remove("replicas");
    let live = done(retried(&cluster, &id, |live| apply(ApplyKind::Sync, without.clone(), PARKED, Some(live))).await);
    show("without replicas", &raw(&cluster, &id).await);
    assert_eq!(live.replicas, 3);
    // And back: our own hand-over gives way.
    let mut four = manifest(&id, "nginx:1");
    four["spec"]["replicas"] = 4.into();
    let live = done(retried(&cluster, &id, |live| apply(ApplyKind::Sync, four.clone(), PARKED, Some(live))).await);
    assert_eq!(live.replicas, 4);
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn an_adoption_restarts_nothing_and_a_release_leaves_nothing() {
    let (cluster, id) = (cluster().await, fresh("adopt"));
    // As `kubectl create` and `kubectl apply` leave it: no partition, no record.
    let mut body = manifest(&id, "nginx:1");
    body["spec"]["template"]["metadata"]["annotations"] = Value::Null;
    body["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let create = Call::patch(&id, PatchKind::Apply, "kubectl", body.to_string().into_bytes());
    assert!(send(&cluster, &create).await.unwrap().status.is_success());
    other(&cluster, &id, "kubectl-client-side-apply", json!({"metadata": {"labels": {"by": "csa"}}})).await;
    let before = until(&cluster, &id, all_ready).await;
    let live = before.set.clone().unwrap();
    show("before", &raw(&cluster, &id).await);

    let request = Request { id: "q1".into(), verb: Verb::Adopt, by: "me".into(), rollout: String::new(), stage: None };
    let live = done(read::write_request(&cluster, &id, &live, &request).await);
    assert_eq!(live.request, Some(Ok(request.clone())));
    let adopt =
        |live: &LiveSet| Action::Adopt { record: Box::new(record(PARKED)), base: base(live), clear_request: true };
    let adopted = done(retried(&cluster, &id, adopt).await);
    let object = raw(&cluster, &id).await;
    show("adopted", &object);
    assert_eq!(adopted.partition, Some(PARKED));
    assert_eq!(adopted.request, None);
    assert_eq!((written(&adopted).0.generation, &written(&adopted).0.live), (adopted.generation, &adopted.template));
    assert_eq!(object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"], Value::Null);
    assert!(matches!(execute(&cluster, &id, &adopt(&live)).await, Outcome::Moved(_)));
    let after = until(&cluster, &id, all_ready).await;
    let uids = |o: &Observed| o.pods.values().map(|pod| pod.uid.clone()).collect::<Vec<_>>();
    assert_eq!(uids(&before), uids(&after));

    // What the manifest no longer says is removed by the next apply; nobody else is asked.
    let mut smaller = manifest(&id, "nginx:1");
    smaller["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("annotations");
    smaller["spec"]["template"]["spec"]["containers"][0]["env"].as_array_mut().unwrap().pop();
    let live = done(retried(&cluster, &id, |live| apply(ApplyKind::Start, smaller.clone(), PARKED, Some(live))).await);
    let object = raw(&cluster, &id).await;
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap().len(), 1);
    assert_eq!(object["metadata"]["labels"]["by"], Value::Null);
    show("applied", &object);

    // Requests, and a restart.
    let live = done(read::write_request(&cluster, &id, &live, &request).await);
    let drop = Action::DropRequest {
        uid: live.uid.clone(),
        resource_version: live.resource_version.clone(),
        why: "old".into(),
    };
    let live = done(execute(&cluster, &id, &drop).await);
    assert_eq!(live.request, None);
    assert!(matches!(execute(&cluster, &id, &drop).await, Outcome::Moved(_)));
    let settled =
        until(&cluster, &id, |o| o.set.as_ref().unwrap().observed_generation >= live.generation).await.set.unwrap();
    let live = done(read::restart(&cluster, &id, &settled, jiff::Timestamp::now()).await);
    assert_eq!(live.template, settled.template);
    assert!(!live.restarted_at.is_empty());
    println!("a stale restart: {:?}", read::restart(&cluster, &id, &settled, jiff::Timestamp::now()).await);

    let release = |live: &LiveSet| Action::Release { partition: Some(Partition(0)), base: base(live) };
    let live = done(retried(&cluster, &id, release).await);
    show("released", &raw(&cluster, &id).await);
    assert_eq!((live.record, live.partition), (RecordState::Absent, Some(Partition(0))));
    assert!(!live.owners.iter().any(crate::model::FieldOwner::is_ours));
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn troubles_with_the_server_have_their_names() {
    let good = std::fs::read_to_string(std::env::var_os("PHASELINE_TEST_KUBECONFIG").unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let port = good.split("127.0.0.1:").nth(1).unwrap().split('"').next().unwrap();
    let token = good.split("token:").nth(1).unwrap().trim().split(['}', '\n']).next().unwrap();
    for (name, broken, wanted) in [
        ("refused", good.replace(port, "9"), "cannot reach https://127.0.0.1:9: "),
        (
            "untrusted",
            good.replace("certificate-authority-data", "other"),
            "no secure connection to https://127.0.0.1:",
        ),
        ("unknown", good.replace(token, "nobody"), "the server does not know us: Unauthorized"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, broken).unwrap();
        let options = ConnectOptions { kubeconfig: Some(path), user_agent: "test".into(), ..ConnectOptions::default() };
        let cluster = Cluster::connect(&options).await.unwrap();
        let error = read::list(&cluster, None).await.unwrap_err();
        println!("{} ({})", error.words(), error.hint());
        assert!(error.words().starts_with(wanted), "{}", error.words());
        let live = LiveSet { uid: "u".into(), ..nothing() };
        let request =
            Request { id: "q1".into(), verb: Verb::Pause, by: "me".into(), rollout: String::new(), stage: None };
        let outcome = read::write_request(&cluster, &fresh("x"), &live, &request).await;
        assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    }
}

/// A set with nothing in it.
fn nothing() -> LiveSet {
    read::set(br#"{"metadata":{"name":"x"}}"#).unwrap()
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn the_view_follows() {
    let (cluster, id) = (cluster().await, fresh("view"));
    let (sender, mut events) = tokio::sync::mpsc::channel(100);
    let watching = cluster.clone();
    let namespaces = vec!["default".to_owned()];
    let mut store = Store::new(&namespaces);
    tokio::spawn(async move { watch(&watching, &namespaces, sender).await });
    let live =
        done(execute(&cluster, &id, &apply(ApplyKind::Create, manifest(&id, "nginx:1"), Partition(0), None)).await);
    let began = Instant::now();
    while store.observed(&id).set.is_none() || !all_ready(&store.observed(&id)) {
        let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await.unwrap().unwrap();
        store.apply(event, Instant::now());
    }
    println!("ready after {:?}, view age {:?}", began.elapsed(), store.view_age(Instant::now()));
    assert!(store.view_age(Instant::now()).is_some());
    // The view is as new as our own write, before the watch says so.
    let start = |live: &LiveSet| apply(ApplyKind::Start, manifest(&id, "nginx:2"), PARKED, Some(live));
    let started = done(retried(&cluster, &id, start).await);
    store.note_write(&id, started.clone(), Instant::now());
    assert_eq!(store.observed(&id).set, Some(started));
    store.note_write(&id, live, Instant::now());
    assert_eq!(store.observed(&id).set.unwrap().generation, 2);
    let same = read::observe(&cluster, &id).await.unwrap();
    while store.observed(&id).set.as_ref().map(|set| &set.resource_version)
        != same.set.as_ref().map(|set| &set.resource_version)
    {
        let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await.unwrap().unwrap();
        store.apply(event, Instant::now());
    }
}
