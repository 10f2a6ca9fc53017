//! The embedded cluster in the place of a control plane: `phaseline cluster` as a process, for the same scripts.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, atomic::AtomicUsize},
    time::Duration,
};

use super::{
    audit::AuditLog,
    plane::{ControlPlane, Options, Version, end, watchdog},
    wait::try_eventually,
};

/// Starts one.
pub(super) fn up(version: Version, options: &Options) -> Result<ControlPlane, String> {
    let temp = tempfile::Builder::new().prefix("phaseline-embedded.").tempdir();
    let dir = temp.map_err(|it| it.to_string())?.keep().canonicalize().map_err(|it| it.to_string())?;
    let watchdog = watchdog(&dir).map_err(|it| format!("watchdog: {it}"))?;
    let (kubeconfig, log) = (dir.join("kubeconfig"), dir.join("cluster.log"));
    let out = fs::File::create(&log).map_err(|it| format!("{}: {it}", log.display()))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.args(["cluster", "--listen", "127.0.0.1:0", "--kubernetes", version.minor()]);
    command.arg("--kubeconfig-out").arg(&kubeconfig).arg("--audit-log").arg(dir.join("audit.log"));
    if !options.feature_gates.is_empty() {
        command.args(["--feature-gates", &options.feature_gates]);
    }
    command.env_remove("KUBECONFIG").env("HOME", &dir).env("NO_COLOR", "1").stdin(Stdio::null());
    command.stdout(out.try_clone().map_err(|it| it.to_string())?).stderr(out);
    let child = command.spawn().map_err(|it| format!("phaseline cluster: {it}"))?;
    let pid = dir.join("pid");
    let noted = fs::create_dir(&pid).and_then(|()| fs::write(pid.join("embedded"), child.id().to_string()));
    noted.map_err(|it| format!("{}: {it}", pid.display()))?;
    let ready = try_eventually(Duration::from_secs(30), || {
        if kubeconfig.exists() && dir.join("audit.log").exists() { Ok(()) } else { Err("no kubeconfig".to_owned()) }
    });
    if let Err(why) = ready {
        let said = fs::read_to_string(&log).unwrap_or_default();
        end(watchdog);
        return Err(format!("phaseline cluster: {why}: {said}"));
    }
    Ok(ControlPlane {
        audit: AuditLog::new(&dir.join("audit.log")),
        kubectl: kubectl(),
        apiserver: Mutex::new(Some(child)),
        count: AtomicUsize::new(1),
        dir,
        version,
        watchdog,
    })
}

/// The newest kubectl that was built, or the one on the path.
fn kubectl() -> PathBuf {
    let cache = env::var_os("PHASELINE_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| env::home_dir().map(|home| home.join(".cache/phaseline")));
    let built = ["1.36", "1.33"].into_iter().filter_map(|version| {
        Some(cache.as_ref()?.join("controlplane").join(version).join("kubectl")).filter(|it| it.exists())
    });
    built.into_iter().next().unwrap_or_else(|| Path::new("kubectl").to_owned())
}
