//! The control plane itself: what the other end-to-end tests rely on.

use std::time::Duration;

use serde_json::json;

use super::{
    plane::{ControlPlane, Options, Version},
    wait::eventually,
};

const PATIENCE: Duration = Duration::from_secs(60);

const WEB: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 3
  serviceName: web
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: 'nginx:1', volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

/// Image `k8s.gcr.io/nginx-slim:0.8`: a template whose revision name is known for both versions.
const GOLDEN: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 0
  serviceName: nginx
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      containers:
      - name: nginx
        image: k8s.gcr.io/nginx-slim:0.8
        ports: [{containerPort: 80, name: web}]
        volumeMounts: [{name: www, mountPath: /usr/share/nginx/html}]
  volumeClaimTemplates:
  - metadata: {name: www}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

fn pods_fail_and_the_audit_log_tells_who_wrote(version: Version) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let ns = plane.namespace("selftest");
    plane.apply(&ns, WEB);
    let old = eventually(PATIENCE, || {
        let pods = plane.pods(&ns);
        (pods.len() == 3 && pods.iter().all(|it| it.ready)).then(|| pods.clone()).ok_or(format!("{pods:?}"))
    });
    let revision = old[0].revision.clone();
    let hash = revision.strip_prefix("web-").expect("the set's name and a hash");
    assert!(hash.len() <= 10 && hash.chars().all(|it| "bcdfghjklmnpqrstvwxz2456789".contains(it)), "{revision}");

    plane.kubectl_ok(&["-n", &ns, "set", "image", "statefulset/web", "web=web:pull"]);
    eventually(PATIENCE, || {
        let pods = plane.pods(&ns);
        let broken = pods.iter().any(|it| it.name == "web-2" && it.waiting == "ImagePullBackOff");
        broken.then_some(()).ok_or(format!("{pods:?}"))
    });
    let now = plane.pods(&ns);
    assert_eq!(now[..2], old[..2], "an update goes one by one from the top");
    assert_ne!(now[2].revision, revision);

    let audit = plane.audit(&ns);
    let create = audit.iter().find(|it| it.resource == "statefulsets" && it.verb == "create").expect("a create");
    assert_eq!((create.user.as_str(), create.code, create.is_dry_run()), ("admin", 201, false));
    assert_eq!(create.request["spec"]["replicas"], 3);
    assert_eq!(create.response["spec"]["revisionHistoryLimit"], 10, "the answer has the defaults");
    assert!(create.received <= create.completed);
    assert_eq!(create.field_manager().as_deref(), Some("kubectl-client-side-apply"));
    let patch = audit.iter().find(|it| it.resource == "statefulsets" && it.verb == "patch").expect("a patch");
    assert_eq!(patch.request["spec"]["template"]["spec"]["containers"][0]["image"], "web:pull");
    let delete = audit.iter().find(|it| it.resource == "pods" && it.verb == "delete" && it.name == "web-2");
    let delete = delete.expect("a delete");
    assert_eq!(delete.user, "system:kube-controller-manager");
    assert!(audit.iter().any(|it| it.user == "kwok" && it.resource == "pods" && it.is_write()));
    assert!(plane.audit("no-such-namespace").is_empty());
}

fn revision_names_are_those_of_the_version(version: Version, expected: &str) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let ns = plane.namespace("golden");
    plane.apply(&ns, GOLDEN);
    eventually(PATIENCE, || {
        let set = plane.kubectl_json(&["-n", &ns, "get", "statefulset", "web"]);
        let revision = set["status"]["updateRevision"].as_str().unwrap_or_default().to_owned();
        if revision == expected { Ok(()) } else { Err(revision) }
    });
}

fn a_service_account_has_only_the_rights_it_was_given(version: Version) {
    let Some(plane) = ControlPlane::shared(version) else { return };
    let ns = plane.namespace("rights");
    let kubeconfig = plane.service_account_kubeconfig(&ns, "daemon");
    let get = || {
        let mut command = plane.kubectl_command();
        command.arg("--kubeconfig").arg(&kubeconfig).args(["-n", &ns, "get", "statefulsets"]).output().unwrap()
    };
    let refused = get();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Forbidden"), "{refused:?}");
    let audit = plane.audit(&ns);
    let entry = audit.iter().rfind(|it| it.by_daemon("daemon")).expect("an entry of the service account");
    assert!(entry.is_forbidden() && entry.code == 403, "{entry:?}");

    let subject = format!("--serviceaccount={ns}:daemon");
    plane.kubectl_ok(&["-n", &ns, "create", "rolebinding", "see", "--clusterrole=view", &subject]);
    eventually(PATIENCE, || if get().status.success() { Ok(()) } else { Err("still refused".into()) });
}

fn a_restarted_api_server_keeps_its_port_and_data(version: Version) {
    let options = Options { volumes: 2, feature_gates: "MaxUnavailableStatefulSet=true".into() };
    let Some(plane) = ControlPlane::start_with(version, &options) else { return };
    let (ns, server) = (plane.namespace("restart"), plane.server());
    plane.stop_apiserver();
    assert!(!plane.kubectl(&["get", "namespaces"]).status.success());
    plane.start_apiserver();
    assert_eq!(plane.server(), server);
    plane.apply(
        &ns,
        &GOLDEN.replace("replicas: 0", "replicas: 2\n  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}"),
    );
    let set = plane.kubectl_json(&["-n", &ns, "get", "statefulset", "web"]);
    assert_eq!(set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], json!(2));
    eventually(PATIENCE, || {
        let pods = plane.pods(&ns);
        (pods.len() == 2 && pods.iter().all(|it| it.ready)).then_some(()).ok_or(format!("{pods:?}"))
    });
    let dir = plane.dir().to_owned();
    drop(plane);
    assert!(!dir.exists(), "an ended plane leaves nothing");
}

#[test]
fn e2e_1_36_pods_fail_and_the_audit_log_tells_who_wrote() {
    pods_fail_and_the_audit_log_tells_who_wrote(Version::V1_36);
}

#[test]
fn e2e_1_33_pods_fail_and_the_audit_log_tells_who_wrote() {
    pods_fail_and_the_audit_log_tells_who_wrote(Version::V1_33);
}

#[test]
fn e2e_1_36_revision_names_are_those_of_the_version() {
    revision_names_are_those_of_the_version(Version::V1_36, "web-85744c9dc6");
}

#[test]
fn e2e_1_33_revision_names_are_those_of_the_version() {
    revision_names_are_those_of_the_version(Version::V1_33, "web-b46f789c4");
}

#[test]
fn e2e_1_36_a_service_account_has_only_the_rights_it_was_given() {
    a_service_account_has_only_the_rights_it_was_given(Version::V1_36);
}

#[test]
fn e2e_1_33_a_service_account_has_only_the_rights_it_was_given() {
    a_service_account_has_only_the_rights_it_was_given(Version::V1_33);
}

#[test]
fn e2e_1_36_a_restarted_api_server_keeps_its_port_and_data() {
    a_restarted_api_server_keeps_its_port_and_data(Version::V1_36);
}

#[test]
fn e2e_1_33_a_restarted_api_server_keeps_its_port_and_data() {
    a_restarted_api_server_keeps_its_port_and_data(Version::V1_33);
}
