//! One deploy repository, one namespace, one daemon with exactly the rights that `phaseline install` prints.

use std::{
    cell::{Cell, RefCell},
    ffi::OsStr,
    fs::{self, OpenOptions},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde::Deserialize as _;
use serde_json::Value;
use tempfile::TempDir;

use super::{PATIENCE, api::Api, killer::Killer};
use crate::{
    controlplane::{ControlPlane, Pod, Version, eventually, try_eventually},
    support::repo::Repo,
};

/// The partition of a set at rest.
pub(crate) const PARKED: u64 = 2_147_483_647;

/// A namespace of a control plane with a daemon in charge of it.
pub(crate) struct Site<'a> {
    /// The plane.
    pub(crate) plane: &'a ControlPlane,
    /// The namespace.
    pub(crate) ns: String,
    /// The deploy repository.
    pub(crate) repo: Repo,
    /// The daemon's name in the audit log.
    pub(crate) user: String,
    /// How often a daemon was started.
    pub(crate) starts: RefCell<usize>,
    api: Api,
    kubeconfig: PathBuf,
    dir: TempDir,
    daemon: RefCell<Option<Child>>,
    /// Who kills the daemon after every write of its, where somebody does.
    killer: RefCell<Option<Killer>>,
    /// Whether commands are told of the repository.
    ask_git: Cell<bool>,
    /// What the daemon is told besides, when it is started.
    options: RefCell<Vec<String>>,
}

/// Another daemon of the same rights, on a copy of Git of its own.
pub(crate) struct Beside {
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// What it logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("--- the log of the other daemon:\n{}", self.log());
        }
    }
}

impl Site<'static> {
    /// A site on the plane that all tests share, its daemon running; none where end-to-end tests were not asked for.
    #[track_caller]
    pub(crate) fn shared(version: Version, name: &str) -> Option<Self> {
        let site = Self::on(ControlPlane::shared(version)?, name);
        site.start();
        Some(site)
    }
}

impl<'a> Site<'a> {
    /// A site whose daemon does not run yet.
    #[track_caller]
    pub(crate) fn on(plane: &'a ControlPlane, name: &str) -> Self {
        let ns = plane.namespace(name);
        let dir = TempDir::new().expect("a folder");
        let mut install = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        install.args(["install", "--rbac-only", "--watch-namespace", &ns, "-n", &ns]).stdin(Stdio::null());
        let rights = install.output().expect("phaseline starts");
        assert!(rights.status.success(), "{}", String::from_utf8_lossy(&rights.stderr));
        let rights = String::from_utf8(rights.stdout).expect("manifests in UTF-8");
        plane.grant(&ns, &rights);
        let documents = serde_yaml::Deserializer::from_str(&rights).map(|it| Value::deserialize(it).expect("YAML"));
        let account = documents.into_iter().find(|it| it["kind"] == "ServiceAccount").expect("a ServiceAccount");
        let name = account["metadata"]["name"].as_str().expect("a name").to_owned();
        let home = account["metadata"]["namespace"].as_str().unwrap_or(&ns).to_owned();
        Self {
            api: Api::connect(&plane.kubeconfig()),
            kubeconfig: plane.service_account_kubeconfig(&home, &name),
            user: format!("system:serviceaccount:{home}:{name}"),
            repo: Repo::new(),
            starts: RefCell::new(0),
            daemon: RefCell::new(None),
            killer: RefCell::new(None),
            ask_git: Cell::new(true),
            options: RefCell::new(vec!["--rewrite-grace".into(), "3s".into()]),
            plane,
            ns,
            dir,
        }
    }

    /// Starts the daemon.
    #[track_caller]
    pub(crate) fn start(&self) {
        self.start_on(&self.repo.origin_url());
    }

    /// Starts the daemon on the repository by another address.
    #[track_caller]
    pub(crate) fn start_on(&self, repo: &str) {
        let mut command = self.run(repo, "state", &self.log_path());
        command.args(&*self.options.borrow());
        let before = self.daemon.borrow_mut().replace(command.spawn().expect("the daemon starts"));
        assert!(before.is_none(), "the daemon runs already");
        *self.starts.borrow_mut() += 1;
    }

    /// A daemon on that repository, with its copy in a folder of that name.
    fn run(&self, repo: &str, state: &str, log: &Path) -> Command {
        let log = OpenOptions::new().create(true).append(true).open(log).expect("a log");
        // Ended with this thread, however it ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_phaseline"), "run", "--repo", repo]);
        command.args(["--lease-namespace", &self.ns]);
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(["--interval", "5s"]);
        command.args(["-n", &self.ns]).arg("--state-dir").arg(self.dir.path().join(state));
        command.env_remove("KUBECONFIG").env("HOME", self.dir.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        command
    }

    /// Starts a daemon beside the other, on that repository, with its copy in a folder of that name.
    #[track_caller]
    pub(crate) fn beside(&self, repo: &str, state: &str) -> Beside {
        let log = self.dir.path().join(format!("{state}.log"));
        *self.starts.borrow_mut() += 1;
        Beside { child: self.run(repo, state, &log).spawn().expect("the daemon starts"), log }
    }

    /// Ends the daemon as a power cut would.
    #[track_caller]
    pub(crate) fn kill9(&self) {
        let mut child = self.daemon.borrow_mut().take().expect("the daemon runs");
        assert!(child.try_wait().expect("a child").is_none(), "the daemon has ended by itself");
        child.kill().expect("SIGKILL");
        child.wait().expect("a child");
    }

    /// From now on the daemon is killed, and started again, after every write of its.
    pub(crate) fn kill_after_every_write(&self) {
        let killer = Killer::on(&self.plane.dir().join("audit.log"), &self.ns, &self.user);
        killer.aim(self.daemon.borrow().as_ref().map(Child::id));
        *self.killer.borrow_mut() = Some(killer);
    }

    /// Starts the daemon again where it was killed.
    #[track_caller]
    fn revive(&self) {
        let Some(killer) = &*self.killer.borrow() else { return };
        let status = self.daemon.borrow_mut().as_mut().and_then(|it| it.try_wait().expect("a child"));
        if let Some(status) = status {
            assert_eq!(status.signal(), Some(9), "it has ended by itself");
            self.daemon.borrow_mut().take();
            self.start();
            killer.aim(self.daemon.borrow().as_ref().map(Child::id));
        }
    }

    /// Waits until the daemon has logged something.
    #[track_caller]
    pub(crate) fn until_log(&self, text: &str) {
        self.until_log_times(text, 1);
    }

    /// Waits until the daemon has logged something that often.
    #[track_caller]
    pub(crate) fn until_log_times(&self, text: &str, times: usize) {
        eventually(PATIENCE, || {
            let found = self.log().matches(text).count();
            if found >= times { Ok(()) } else { Err(format!("{text:?} was logged {found} times")) }
        });
    }

    /// Whether commands are told of the repository: not while it is away.
    pub(crate) fn ask_git(&self, yes: bool) {
        self.ask_git.set(yes);
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("daemon.log")
    }

    /// What the daemon logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// A `phaseline` command of a person (the admin), about this site's repository and namespace.
    pub(crate) fn phaseline<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.phaseline_in(&std::env::current_dir().expect("a folder"), args)
    }

    /// A folder of the site's own, within no repository.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The same as [`Self::phaseline`], run in a folder.
    pub(crate) fn phaseline_in<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S]) -> Output {
        self.phaseline_with(folder, &[], args)
    }

    /// The same with more in its environment.
    pub(crate) fn phaseline_with<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        environment: &[(&str, &str)],
        args: &[S],
    ) -> Output {
        let mut command = self.person(folder, args);
        command.args(["-n", &self.ns]);
        if self.ask_git.get() {
            command.arg("--repo").arg(self.repo.origin_path());
        }
        command.envs(environment.iter().copied()).output().expect("phaseline starts")
    }

    /// A command of a person who is told of no namespace and no repository, in a folder of no repository.
    pub(crate) fn phaseline_bare<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.person(self.dir(), args).output().expect("phaseline starts")
    }

    fn person<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        command.current_dir(folder).args(args).arg("--kubeconfig").arg(self.plane.kubeconfig());
        command.arg("--state-dir").arg(self.dir.path().join("cli")).env_remove("PHASELINE_REPO");
        command.env_remove("KUBECONFIG").env("HOME", self.dir.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// The same, which has to succeed; its standard output.
    #[track_caller]
    pub(crate) fn phaseline_ok<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let output = self.phaseline(args);
        let shown: Vec<_> = args.iter().map(|it| it.as_ref().to_string_lossy()).collect();
        assert!(output.status.success(), "phaseline {}: {output:?}", shown.join(" "));
        String::from_utf8(output.stdout).expect("phaseline answers in UTF-8")
    }

    /// What `phaseline status NAME -o json` says.
    #[track_caller]
    pub(crate) fn status(&self, name: &str) -> Value {
        let output = self.phaseline(&["status", name, "-o", "json"]);
        let said = serde_json::from_slice(&output.stdout);
        said.unwrap_or_else(|why| panic!("phaseline status {name} -o json: {why}: {output:?}"))
    }

    /// Waits until the status of `web` is that phase and reason, and hands it back.
    #[track_caller]
    pub(crate) fn until(&self, phase: &str, reason: &str) -> Value {
        self.until_of("web", phase, reason)
    }

    /// Waits until `web` has failed for good: recorded, not only seen. `status` may see it a moment before the daemon.
    #[track_caller]
    pub(crate) fn until_failed(&self) -> Value {
        self.until_live("web", |_, record| {
            let failed = record["failed"].as_array().map(Vec::as_slice).unwrap_or_default();
            failed.iter().any(|it| it["commit"] == record["target"]["commit"])
        });
        self.until("Degraded", "ProgressDeadlineExceeded")
    }

    /// The same of another set.
    #[track_caller]
    pub(crate) fn until_of(&self, name: &str, phase: &str, reason: &str) -> Value {
        self.until_status(name, |it| it["phase"] == phase && it["reason"] == reason)
    }

    /// Waits until the status of a set is as wanted, and hands it back.
    #[track_caller]
    pub(crate) fn until_status(&self, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        eventually(PATIENCE, || {
            self.revive();
            let status = self.status(name);
            if is(&status) {
                return Ok(status);
            }
            // A process each: not as often as a look that costs nothing.
            std::thread::sleep(Duration::from_millis(100));
            Err(format!("{status:#}"))
        })
    }

    /// Waits until `web` rests at what that commit brought, and checks that `status` agrees.
    #[track_caller]
    pub(crate) fn settled(&self, commit: &str) -> Value {
        self.settled_of("web", commit)
    }

    /// The same of another set.
    #[track_caller]
    pub(crate) fn settled_of(&self, name: &str, commit: &str) -> Value {
        self.until_live(name, |set, record| {
            record["target"]["commit"] == commit && record["done"] == true && partition(set) == Some(PARKED)
        });
        self.until_status(name, |it| it["phase"] == "Healthy" && it["target"]["commit"] == commit)
    }

    /// Waits until the set and its record are as wanted; cheaper than asking `status`.
    #[track_caller]
    pub(crate) fn until_live(&self, name: &str, is: impl Fn(&Value, &Value) -> bool) -> Value {
        eventually(PATIENCE, || {
            self.revive();
            let set = self.set(name);
            let record = record(&set);
            if is(&set, &record) { Ok(set) } else { Err(format!("partition {:?}, record {record:#}", partition(&set))) }
        })
    }

    /// Waits until the pods of the namespace are as wanted, and hands them back.
    #[track_caller]
    pub(crate) fn until_pods(&self, is: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        eventually(PATIENCE, || {
            let pods = self.pods();
            if is(&pods) { Ok(pods) } else { Err(format!("{pods:#?}")) }
        })
    }

    /// The set as it is; `Null` where there is none.
    #[track_caller]
    pub(crate) fn set(&self, name: &str) -> Value {
        self.api.get(&format!("/apis/apps/v1/namespaces/{}/statefulsets/{name}", self.ns))
    }

    /// The pods of the namespace, by name.
    #[track_caller]
    pub(crate) fn pods(&self) -> Vec<Pod> {
        let list = self.api.get(&format!("/api/v1/namespaces/{}/pods", self.ns));
        list["items"].as_array().into_iter().flatten().map(Pod::of).collect()
    }

    /// Name and uid of every claim.
    #[track_caller]
    pub(crate) fn claims(&self) -> Vec<(String, String)> {
        let list = self.api.get(&format!("/api/v1/namespaces/{}/persistentvolumeclaims", self.ns));
        let text = |it: &Value, key: &str| it["metadata"][key].as_str().unwrap_or_default().to_owned();
        list["items"].as_array().into_iter().flatten().map(|it| (text(it, "name"), text(it, "uid"))).collect()
    }

    /// Runs `kubectl` as admin in the namespace; it has to succeed.
    #[track_caller]
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.plane.kubectl_ok(&[&["-n", &self.ns], args].concat())
    }

    /// Writes files, commits and pushes them; the commit.
    #[track_caller]
    pub(crate) fn push(&self, message: &str, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            self.repo.write(path, content);
        }
        let commit = self.repo.commit(message);
        self.repo.push();
        commit
    }

    /// Reverts a commit and pushes; the new commit.
    #[track_caller]
    pub(crate) fn push_revert(&self, commit: &str) -> String {
        let revert = self.repo.revert(commit);
        self.repo.push();
        revert
    }

    /// Nothing is written to any set for a while, though there would be a reason to.
    #[track_caller]
    pub(crate) fn stays(&self, seconds: f64) {
        let before = self.writes().len();
        let more = try_eventually(Duration::from_secs_f64(seconds), || {
            if self.writes().len() > before { Ok(()) } else { Err(String::new()) }
        });
        assert!(more.is_err(), "written: {}", self.writes().last().map(|it| it.shape()).unwrap_or_default());
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        self.killer.borrow_mut().take();
        if let Some(mut child) = self.daemon.borrow_mut().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            println!("--- namespace {}; the daemon's log:\n{}", self.ns, self.log());
            let writes: Vec<_> = self.writes().iter().map(|it| it.shape()).collect();
            println!("--- its writes to sets:\n{}", writes.join("\n"));
        }
        // Deleted in the background: what is left of a finished test keeps the controllers busy.
        let _ = self.plane.kubectl(&["-n", &self.ns, "delete", "statefulset,pod", "--all", "--wait=false"]);
    }
}

/// The partition of a set.
pub(crate) fn partition(set: &Value) -> Option<u64> {
    set.pointer("/spec/updateStrategy/rollingUpdate/partition")?.as_u64()
}

/// The record of a set; `Null` where there is none.
pub(crate) fn record(set: &Value) -> Value {
    let text = set.pointer("/metadata/annotations/phaseline.dev~1rollout").and_then(Value::as_str);
    text.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
}

/// The image of a set.
pub(crate) fn image(set: &Value) -> &str {
    set.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default()
}

/// Uids by name.
pub(crate) fn uids(pods: &[Pod]) -> Vec<(&str, &str)> {
    pods.iter().map(|it| (it.name.as_str(), it.uid.as_str())).collect()
}

/// Whether there are that many pods, all Ready and none on its way out.
pub(crate) fn all_ready(pods: &[Pod], count: usize) -> bool {
    pods.len() == count && pods.iter().all(|it| it.ready && !it.terminating)
}
