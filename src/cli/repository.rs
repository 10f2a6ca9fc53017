//! A command's way to the deploy repository.

use super::args::GlobalArgs;
use super::context::Context;
use super::error::{CliError, Kind};
use super::known;
use super::local;
use super::session::Session;
use crate::daemon::{Scope, Source, Wish};
use crate::git::{self, Address, Credentials, SourceConfig};
use crate::model::{Desired, Observed, Pace, Pods, Progress, RecordState, Sight, WorkloadId};
use crate::rollout::renew;

/// The repository's address.
pub(crate) fn named(global: &GlobalArgs) -> Result<Address, CliError> {
    global.repo.clone().filter(|repo| !repo.is_empty()).ok_or_else(|| {
        CliError::new(Kind::Usage, "no repository is named").hint("name one with --repo URL|PATH or PHASELINE_REPO")
    })
}

/// Where manifests come from, as the options say.
pub(crate) fn config(global: &GlobalArgs) -> Result<SourceConfig, CliError> {
    let url = named(global)?.reveal().to_owned();
    let state_dir = match &global.state_dir {
        Some(folder) => folder.clone(),
        None => git::state_dir()?,
    };
    Ok(SourceConfig {
        url,
        branch: global.branch.clone(),
        path: global.path.clone().unwrap_or_default(),
        state_dir,
        credentials: Credentials {
            token_file: global.git_token_file.clone(),
            username: global.git_username.clone(),
            ssh_key: global.ssh_key.clone(),
            known_hosts: global.known_hosts.clone(),
        },
    })
}

/// Opens the repository for a command; nothing is fetched yet.
///
/// What is outside of --namespace is left out by the command: only the daemon has to refuse it.
pub(crate) fn open(global: &GlobalArgs, default_namespace: &str) -> Result<Source, CliError> {
    let scope = Scope { default_namespace: default_namespace.to_owned(), only: Vec::new() };
    Ok(Source::open(&config(global)?, scope)?)
}

/// The namespace meant where none is named: --namespace, else the kubeconfig's, else `default`. No cluster is asked.
pub(crate) fn namespace(global: &GlobalArgs) -> String {
    let configured = || Session::open(global).ok().map(|session| session.namespace);
    global.namespace.clone().or_else(configured).unwrap_or_else(|| "default".into())
}

/// The repository of --repo, up to date if it can be; without --repo the one around the current folder, as it is.
pub(crate) fn fetched_or_here(context: &mut Context<'_>, namespace: &str) -> Result<Source, CliError> {
    if context.global.repo.as_ref().is_none_or(Address::is_empty) {
        let scope = Scope { default_namespace: namespace.to_owned(), only: Vec::new() };
        let here = local::open(&context.global).map_err(|error| match named(&context.global) {
            Err(unnamed) => unnamed,
            Ok(_) => error,
        })?;
        return Ok(Source::on(here, scope));
    }
    let mut source = open(&context.global, namespace)?;
    if let Err(error) = source.refresh() {
        let error = CliError::from(error);
        context.note(&format!("warning: {}; what was fetched before is shown", error.message))?;
    }
    Ok(source)
}

/// The repository knows nothing of this set.
pub(crate) fn no_such_set(source: &mut Source, workload: &WorkloadId) -> CliError {
    let known = source.view().map(|view| view.wishes.keys().cloned().collect()).unwrap_or_default();
    CliError::new(Kind::NotFound, format!("the repository has no StatefulSet {workload}"))
        .hint(known::did_you_mean(workload, known))
}

/// Git's wish, with the manifest in force beside it where a newer template waits.
pub(crate) fn complete(source: &mut Source, wish: &Wish, observed: &Observed) -> Option<Desired> {
    let desired = wish.desired.as_ref()?;
    let in_force = match observed.set.as_ref().map(|set| &set.record) {
        Some(RecordState::Is(record, _)) if record.in_force().hash != desired.tip.hash => {
            Some(&record.in_force().commit)
        }
        Some(RecordState::Is(..) | RecordState::Absent | RecordState::Unreadable(_)) | None => None,
    };
    let target =
        in_force.filter(|commit| !commit.0.is_empty()).and_then(|commit| source.version_at(commit, &desired.workload));
    let stable = observed.set.as_ref().and_then(renew::asks_for);
    let stable = stable.and_then(|commit| source.version_at(commit, &desired.workload)).map(|version| version.hash);
    Some(Desired { target, stable, ..desired.clone() })
}

/// A workload that the cluster does not have.
pub(crate) fn absent(workload: &WorkloadId) -> Observed {
    Observed {
        workload: workload.clone(),
        set: None,
        pods: Pods::default(),
        stale_seconds: None,
        forbidden: None,
        pods_behind: false,
        sight: Sight::default(),
        refused: None,
        progress: Progress::default(),
        pace: Pace::default(),
    }
}

/// The same without a person's request: how it is, not what is about to be asked of it.
pub(crate) fn without_request(observed: &Observed) -> Observed {
    let mut observed = observed.clone();
    if let Some(set) = &mut observed.set {
        set.request = None;
    }
    observed
}
