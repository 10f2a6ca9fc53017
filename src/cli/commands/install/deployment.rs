//! The daemon's pods: two of them, of which one leads, without rights on their nodes.

use serde_json::{Value, json};

use super::{InstallArgs, NAME, labels};
use crate::cli::args::{GlobalArgs, LogFormat};

/// The user of the image.
const USER: u32 = 65532;
/// Where the copy of the repository is kept.
const STATE: &str = "/var/lib/phaseline";
/// The most that it may take: the copy is fetched again when the pod is a new one.
const STATE_LIMIT: &str = "2Gi";
/// Where a Secret is mounted.
const CREDENTIALS: &str = "/etc/phaseline/git";
/// Read by owner and group, in the decimal that YAML of every version reads alike: 0440.
const SECRET_MODE: u32 = 288;

/// The daemon's namespace.
pub(super) fn namespace(name: &str) -> Value {
    let mut labels = labels();
    labels["pod-security.kubernetes.io/enforce"] = "restricted".into();
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

/// How many there are: one that acts, and one that takes over.
const REPLICAS: u32 = 2;

/// The Deployment. That only one pod acts is the Lease's to see to; on two nodes, where there are two.
pub(super) fn deployment(namespace: &str, repo: &str, args: &InstallArgs, global: &GlobalArgs) -> Value {
    let selector = json!({"app.kubernetes.io/name": NAME});
    let (mut volumes, mut mounts) = (
        vec![json!({"name": "state", "emptyDir": {"sizeLimit": STATE_LIMIT}})],
        vec![json!({"name": "state", "mountPath": STATE})],
    );
    if let Some(secret) = args.git_token_secret.as_ref().or(args.ssh_secret.as_ref()) {
        volumes.push(json!({"name": "git", "secret": {"secretName": secret, "defaultMode": SECRET_MODE}}));
        mounts.push(json!({"name": "git", "mountPath": CREDENTIALS, "readOnly": true}));
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels()},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": labels()},
                "spec": {
                    "serviceAccountName": NAME,
                    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                        "weight": 100,
                        "podAffinityTerm": {
                            "labelSelector": {"matchLabels": selector},
                            "topologyKey": "kubernetes.io/hostname",
                        },
                    }]}},
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": USER,
                        "runAsGroup": USER,
                        "fsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": NAME,
                        "image": args.image,
                        "args": arguments(repo, args, global),
                        "env": [{"name": "PHASELINE_STATE_DIR", "value": STATE}],
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "capabilities": {"drop": ["ALL"]},
                            "readOnlyRootFilesystem": true,
                        },
                        "resources": {
                            "requests": {"cpu": "50m", "memory": "64Mi"},
                            "limits": {"memory": "512Mi"},
                        },
                        "volumeMounts": mounts,
                    }],
                    "volumes": volumes,
                },
            },
        },
    })
}

/// The command line in the pod.
fn arguments(repo: &str, args: &InstallArgs, global: &GlobalArgs) -> Vec<String> {
    let mut line = ["run", "--cluster=in-cluster", "--leader-elect"].map(str::to_owned).to_vec();
    line.push(format!("--repo={repo}"));
    // In words, so that it is seen in the cluster what `plan` and `lint` have to be told elsewhere.
    line.push(format!("--default-namespace={}", args.default_namespace));
    let mut option = |name: &str, value: Option<String>| {
        line.extend(value.map(|value| format!("--{name}={value}")));
    };
    option("branch", global.branch.clone());
    option("path", global.path.clone());
    option("interval", args.interval.map(|interval| format!("{}s", interval.as_secs())));
    option("git-username", global.git_username.clone());
    option("git-token-file", args.git_token_secret.as_ref().map(|_| format!("{CREDENTIALS}/token")));
    option("ssh-key", args.ssh_secret.as_ref().map(|_| format!("{CREDENTIALS}/ssh-privatekey")));
    option("known-hosts", args.ssh_secret.as_ref().map(|_| format!("{CREDENTIALS}/known_hosts")));
    option("log-format", (global.log_format == LogFormat::Json).then(|| "json".to_owned()));
    for namespace in &args.watch_namespace {
        option("watch-namespace", Some(namespace.clone()));
    }
    line
}
