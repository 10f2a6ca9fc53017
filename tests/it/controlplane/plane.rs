//! Starts, ends and talks to a control plane; `tests/controlplane/up` and `down` know how.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write as _},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex, Once, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;

use super::{
    audit::{AuditEntry, AuditLog},
    embedded,
    wait::{eventually, try_eventually},
};

/// The Kubernetes versions that end-to-end tests run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// The newest one.
    V1_36,
    /// Writes `creationTimestamp: null` into templates and so gives other revision names.
    V1_33,
    /// No real one: the embedded cluster, which has to pass the same scripts.
    Embedded1_36,
    /// The same as it behaves like 1.33.
    Embedded1_33,
}

impl Version {
    /// The Kubernetes version, `1.36`.
    pub(crate) fn minor(self) -> &'static str {
        match self {
            Self::V1_36 | Self::Embedded1_36 => "1.36",
            Self::V1_33 | Self::Embedded1_33 => "1.33",
        }
    }

    /// As `PHASELINE_E2E_VERSIONS` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V1_36 => "1.36",
            Self::V1_33 => "1.33",
            Self::Embedded1_36 => "embedded-1.36",
            Self::Embedded1_33 => "embedded-1.33",
        }
    }

    /// Whether it is the embedded cluster.
    pub(crate) fn is_embedded(self) -> bool {
        matches!(self, Self::Embedded1_36 | Self::Embedded1_33)
    }
}

/// What a private control plane is started with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// How many volumes claims can bind to; 0 means the default of `up`.
    pub(crate) volumes: usize,
    /// Feature gates of API server and controller manager, `NAME=true,..`.
    pub(crate) feature_gates: String,
}

impl Options {
    /// Where the `kubectl` of a version lies once it is built.
    pub(crate) fn kubectl(version: Version) -> PathBuf {
        let cache = std::env::var_os("PHASELINE_CACHE").map(PathBuf::from);
        let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache/phaseline")));
        cache.unwrap_or_default().join("controlplane").join(version.minor()).join("kubectl")
    }
}

/// A running etcd, API server, controller manager, scheduler and kwok.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    pub(super) dir: PathBuf,
    pub(super) version: Version,
    pub(super) audit: AuditLog,
    /// Ends the plane when its standard input closes, that is, however this process ends.
    pub(super) watchdog: Child,
    /// The API server, when it was started again by us, or the embedded cluster: to be waited for.
    pub(super) apiserver: Mutex<Option<Child>>,
    pub(super) kubectl: PathBuf,
    pub(super) count: AtomicUsize,
}

impl ControlPlane {
    /// The plane that all tests of this process share, each in namespaces of its own.
    ///
    /// `None`, and a line that says so, when end-to-end tests were not asked for.
    #[track_caller]
    pub(crate) fn shared(version: Version) -> Option<&'static Self> {
        static PLANES: [OnceLock<Result<ControlPlane, String>>; 4] = [const { OnceLock::new() }; 4];
        if !asked_for(version) {
            return None;
        }
        match PLANES[version as usize].get_or_init(|| Self::up(version, &Options::default())) {
            Ok(plane) => Some(plane),
            Err(why) => panic!("no control plane {}: {why}", version.name()),
        }
    }

    /// A plane of one's own, for tests that stop the API server; it ends when dropped.
    #[track_caller]
    pub(crate) fn start(version: Version) -> Option<Self> {
        Self::start_with(version, &Options::default())
    }

    /// Like [`ControlPlane::start`], with other options.
    #[track_caller]
    pub(crate) fn start_with(version: Version, options: &Options) -> Option<Self> {
        // It has neither volumes to run out of nor parts that can be ended one by one.
        (!version.is_embedded() && asked_for(version)).then(|| match Self::up(version, options) {
            Ok(plane) => plane,
            Err(why) => panic!("no control plane {}: {why}", version.name()),
        })
    }

    fn up(version: Version, options: &Options) -> Result<Self, String> {
        if version.is_embedded() {
            return embedded::up(version, options);
        }
        const PORT_TAKEN: i32 = 75;
        let mut last = String::new();
        for _ in 0..3 {
            let temp = tempfile::Builder::new().prefix("phaseline-controlplane.").tempdir();
            let dir = temp.map_err(|it| it.to_string())?.keep().canonicalize().map_err(|it| it.to_string())?;
            let watchdog = watchdog(&dir).map_err(|it| format!("watchdog: {it}"))?;
            let mut up = Command::new(script("up"));
            up.args(["--version", version.minor()]).arg(&dir).stdin(Stdio::null());
            if options.volumes > 0 {
                up.args(["--volumes", &options.volumes.to_string()]);
            }
            if !options.feature_gates.is_empty() {
                let gates = format!("--feature-gates={}", options.feature_gates);
                up.env("APISERVER_ARGS", &gates).env("KCM_ARGS", &gates);
            }
            let output = up.output().map_err(|it| format!("tests/controlplane/up: {it}"))?;
            if output.status.success() {
                let bin = fs::read_to_string(dir.join("bin")).map_err(|it| format!("the folder of programs: {it}"))?;
                return Ok(Self {
                    audit: AuditLog::new(&dir.join("audit.log")),
                    kubectl: Path::new(bin.trim()).join("kubectl"),
                    apiserver: Mutex::default(),
                    count: AtomicUsize::new(1),
                    dir,
                    version,
                    watchdog,
                });
            }
            end(watchdog);
            last = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.code() != Some(PORT_TAKEN) {
                break;
            }
        }
        Err(last)
    }

    /// Which version this is.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The folder with the logs.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The kubeconfig of a user who may do everything.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// The `kubectl` of its version.
    pub(crate) fn kubectl_path(&self) -> &Path {
        &self.kubectl
    }

    /// A `kubectl` command that goes to this plane as admin.
    pub(crate) fn kubectl_command(&self) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(self.kubeconfig()).env_remove("KUBECONFIG");
        // Not in the home folder, where another plane may have left its own under the same port.
        command.env("KUBECACHEDIR", self.dir.join("cache")).stdin(Stdio::null());
        command.current_dir(&self.dir);
        command
    }

    /// Runs `kubectl` as admin.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Output {
        self.kubectl_command().args(args).output().expect("kubectl starts")
    }

    /// Runs `kubectl` as admin and panics when it fails; its standard output.
    #[track_caller]
    pub(crate) fn kubectl_ok(&self, args: &[&str]) -> String {
        text(&self.kubectl(args), args)
    }

    /// Runs `kubectl ARGS -o json` as admin; panics when it fails.
    #[track_caller]
    pub(crate) fn kubectl_json(&self, args: &[&str]) -> Value {
        let args = [args, &["-o", "json"]].concat();
        serde_json::from_str(&self.kubectl_ok(&args)).expect("kubectl answers in JSON")
    }

    /// Runs `kubectl` as admin with something on its standard input.
    pub(crate) fn kubectl_with_input(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.kubectl_command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output().expect("kubectl ends")
        })
    }

    /// `kubectl apply` of a manifest into a namespace, as admin; panics when it fails.
    #[track_caller]
    pub(crate) fn apply(&self, namespace: &str, manifest: &str) -> String {
        let args = ["-n", namespace, "apply", "-f", "-"];
        text(&self.kubectl_with_input(&args, manifest), &args)
    }

    /// A new namespace with a unique name, ready for pods.
    #[track_caller]
    pub(crate) fn namespace(&self, prefix: &str) -> String {
        let name = format!("{prefix}-{}", self.count.fetch_add(1, Ordering::Relaxed));
        self.kubectl_ok(&["create", "namespace", &name]);
        if self.version.is_embedded() {
            // Pods need no service account there.
            return name;
        }
        eventually(Duration::from_secs(30), || {
            let output = self.kubectl(&["-n", &name, "get", "serviceaccount", "default"]);
            output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
        });
        name
    }

    /// Gives the rights in these manifests, as admin; the embedded cluster asks nobody for a right.
    #[track_caller]
    pub(crate) fn grant(&self, namespace: &str, manifests: &str) {
        if !self.version.is_embedded() {
            self.apply(namespace, manifests);
        }
    }

    /// The pods of a namespace, by name.
    #[track_caller]
    pub(crate) fn pods(&self, namespace: &str) -> Vec<Pod> {
        let list = self.kubectl_json(&["-n", namespace, "get", "pods"]);
        list["items"].as_array().into_iter().flatten().map(Pod::of).collect()
    }

    /// Creates a service account without rights, if it is not there, and a kubeconfig with a token of it.
    #[track_caller]
    pub(crate) fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> PathBuf {
        let label = format!("{namespace}-{name}");
        if self.version.is_embedded() {
            let token = format!("phaseline-user:system:serviceaccount:{namespace}:{name}");
            return self.kubeconfig_with_token(&label, &token);
        }
        if !self.kubectl(&["-n", namespace, "get", "serviceaccount", name]).status.success() {
            self.kubectl_ok(&["-n", namespace, "create", "serviceaccount", name]);
        }
        let token = self.kubectl_ok(&["-n", namespace, "create", "token", name, "--duration", "24h"]);
        self.kubeconfig_with_token(&label, token.trim())
    }

    /// A kubeconfig for this plane with any bearer token; `label` names the file.
    #[track_caller]
    pub(crate) fn kubeconfig_with_token(&self, label: &str, token: &str) -> PathBuf {
        let admin = fs::read_to_string(self.kubeconfig()).expect("the admin kubeconfig");
        let mut config: Value = serde_yaml::from_str(&admin).expect("a kubeconfig is YAML");
        config["users"][0]["user"] = serde_json::json!({ "token": token });
        let path = self.dir.join(format!("{label}.kubeconfig"));
        fs::write(&path, config.to_string()).expect("a kubeconfig is written");
        path
    }

    /// The address of the API server, `https://127.0.0.1:PORT`.
    #[track_caller]
    pub(crate) fn server(&self) -> String {
        let args = ["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"];
        self.kubectl_ok(&args)
    }

    /// The certificate that the API server's is signed with, in PEM.
    pub(crate) fn ca(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// What was asked of the API server in a namespace so far; "" for requests to the whole cluster.
    ///
    /// An entry is there by the time its answer is.
    #[track_caller]
    pub(crate) fn audit(&self, namespace: &str) -> Vec<AuditEntry> {
        self.audit.entries(namespace).expect("the audit log is readable")
    }

    /// Kills the API server: connections break, nothing listens.
    #[track_caller]
    pub(crate) fn stop_apiserver(&self) {
        let output = Command::new(script("down")).arg(&self.dir).arg("kube-apiserver").output().expect("down starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let child = self.apiserver.lock().expect("no panic while locked").take();
        child.map(|mut it| it.wait());
    }

    /// Starts the API server again on the same port and data, and waits until it is ready.
    #[track_caller]
    pub(crate) fn start_apiserver(&self) {
        let mut command = Command::new(self.dir.join("run/kube-apiserver"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        *self.apiserver.lock().expect("no panic while locked") = Some(command.spawn().expect("the API server starts"));
        let ready = try_eventually(Duration::from_secs(60), || {
            let output = self.kubectl(&["get", "--raw", "/readyz"]);
            output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
        });
        assert!(ready.is_ok(), "the API server is not ready: {ready:?}\n{}", self.log_tail("kube-apiserver"));
    }

    /// Kills the API server and starts it again on the same port and data.
    #[track_caller]
    pub(crate) fn restart_apiserver(&self) {
        self.stop_apiserver();
        self.start_apiserver();
    }

    /// Ends another component and starts it again: it has forgotten what it knew.
    #[track_caller]
    pub(crate) fn restart(&self, component: &str) {
        let output = Command::new(script("down")).arg(&self.dir).arg(component).output().expect("down starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut command = Command::new("setsid");
        command.arg("--fork").arg(self.dir.join("run").join(component));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("setsid starts").success());
    }

    /// The last lines that a component logged.
    pub(crate) fn log_tail(&self, component: &str) -> String {
        let log = fs::read_to_string(self.dir.join(format!("{component}.log"))).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.watchdog.stdin.take();
        // A test must not fail over the end of its plane.
        let _ = self.watchdog.wait();
        if let Ok(Some(child)) = self.apiserver.get_mut().map(Option::as_mut) {
            let _ = child.wait();
        }
    }
}

/// What tests look at most often in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pod {
    /// `web-0`.
    pub(crate) name: String,
    /// Of this pod, not of one of the same name before or after it.
    pub(crate) uid: String,
    /// The name of its ControllerRevision.
    pub(crate) revision: String,
    /// Condition Ready is True.
    pub(crate) ready: bool,
    /// It has a deletion timestamp.
    pub(crate) terminating: bool,
    /// Why the first container waits, e.g. `ImagePullBackOff`, or empty.
    pub(crate) waiting: String,
}

impl Pod {
    pub(crate) fn of(pod: &Value) -> Self {
        let text = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            name: text("/metadata/name"),
            uid: text("/metadata/uid"),
            revision: text("/metadata/labels/controller-revision-hash"),
            ready: conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"),
            terminating: !pod["metadata"]["deletionTimestamp"].is_null(),
            waiting: text("/status/containerStatuses/0/state/waiting/reason"),
        }
    }
}

#[track_caller]
fn text(output: &Output, args: &[&str]) -> String {
    assert!(output.status.success(), "kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("kubectl answers in UTF-8")
}

/// `PHASELINE_E2E_VERSIONS` (`1.36 1.33`) leaves out the others, when set.
fn asked_for(version: Version) -> bool {
    let versions = std::env::var("PHASELINE_E2E_VERSIONS").unwrap_or_default();
    let wanted = versions.trim().is_empty() || versions.split_whitespace().any(|it| it == version.name());
    let asked = wanted && std::env::var_os("PHASELINE_E2E").as_deref() == Some(OsStr::new("1"));
    static TOLD: [Once; 4] = [const { Once::new() }; 4];
    if !asked {
        // Past the test harness, which hides what passing tests print.
        TOLD[version as usize].call_once(|| {
            let _ =
                writeln!(io::stderr(), "left out: no control plane {} (run tests/controlplane/run)", version.name());
        });
    }
    asked
}

fn script(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "controlplane", name].iter().collect()
}

/// A process that outlives this one by the time it takes to end everything in `dir` and to remove it.
///
/// It has a process group of its own, so that an interrupt from the terminal does not end it first.
pub(super) fn watchdog(dir: &Path) -> io::Result<Child> {
    let keep = std::env::var_os("PHASELINE_E2E_KEEP").is_some();
    let mut command = Command::new("bash");
    command.args(["-c", r#"while read -r _; do :; done; trap '' HUP TERM INT; "$0" "$@""#]).arg(script("down"));
    if !keep {
        command.arg("--remove");
    }
    command.arg(dir).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.current_dir("/").spawn()
}

pub(super) fn end(mut watchdog: Child) {
    watchdog.stdin.take();
    let _ = watchdog.wait();
}
