//! `run`: the daemon.

use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::args;
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::repository;
use crate::cluster::{Cluster, ConnectOptions};
use crate::daemon::{self, RunOptions, Scope, Source};
use crate::git::Wakes;
use crate::model::Phase;

/// Where a pod finds the token of its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// Asking more often than that serves nobody.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the daemon: follows the repository and rolls every commit out, stage by stage
///
/// It keeps no state but a copy of the repository: stopped at any moment and started anywhere, it goes on where it was.
/// One daemon looks after a set at a time; a push to a repository on the same machine wakes it at once, any other is
/// seen within the interval.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How often the repository is asked for a new commit
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = args::duration)]
    interval: Duration,
    /// The cluster: that of a kubeconfig, or the one it runs in [default: kubeconfig; in a pod without one, in-cluster]
    #[arg(long, value_enum, value_name = "CLUSTER")]
    cluster: Option<ClusterKind>,
    /// A namespace to look after; may be repeated [default: --namespace, else all]
    #[arg(long, value_name = "NAME", conflicts_with = "all_namespaces")]
    watch_namespace: Vec<String>,
    /// One pass: does what is due, waits for nothing
    #[arg(long)]
    once: bool,
    /// Decides everything and says so, writes nothing
    #[arg(long)]
    observe: bool,
    /// Not built yet.
    #[arg(long, value_name = "ADDRESS", hide = true)]
    listen: Option<String>,
}

/// Which cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClusterKind {
    /// The one of the kubeconfig
    Kubeconfig,
    /// The one that the process runs in
    InCluster,
    /// Not built yet.
    #[value(hide = true)]
    Embedded,
}

pub(super) fn run(args: &RunArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    check(args)?;
    let config = repository::config(&context.global)?;
    let global = &context.global;
    let in_pod = Path::new(SERVICE_ACCOUNT).exists();
    let connect = ConnectOptions {
        kubeconfig: global.kubeconfig.clone(),
        context: global.context.clone(),
        in_cluster: args.cluster == Some(ClusterKind::InCluster),
        user_agent: ConnectOptions::DAEMON_AGENT.to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Kind::Io, format!("cannot start: {error}")))?;
    let named_nothing = args.cluster.is_none() && connect.kubeconfig.is_none() && connect.context.is_none();
    let cluster = match runtime.block_on(Cluster::connect(&connect)) {
        Err(_) if named_nothing && in_pod => {
            runtime.block_on(Cluster::connect(&ConnectOptions { in_cluster: true, ..connect }))?
        }
        connected => connected?,
    };
    let namespaces = namespaces(args, global);
    let default_namespace = global.namespace.clone().unwrap_or_else(|| cluster.default_namespace.clone());
    let only = match namespaces.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    };
    let source = Source::open(&config, Scope { default_namespace, only })?;
    let options = RunOptions { once: args.once, observe: args.observe, namespaces };
    let interval = args.interval;
    let ended = runtime.block_on(async {
        let wakes = (!args.once).then(|| Wakes::new(source.local(), interval));
        let shutdown = shutdown()?;
        Ok::<_, CliError>(daemon::run(cluster, source, wakes, options, shutdown).await)
    })?;
    // A fetch that hangs does not keep the process.
    runtime.shutdown_background();
    let wrong = ended.phases.values().any(|phase| matches!(phase, Phase::Degraded | Phase::Blocked));
    Ok(if args.once && wrong { Exit::of(1) } else { Exit::OK })
}

/// What is refused by name.
fn check(args: &RunArgs) -> Result<(), CliError> {
    if args.listen.is_some() {
        return Err(CliError::new(Kind::Usage, "--listen is not built yet: there is no dashboard and no metrics"));
    }
    if args.cluster == Some(ClusterKind::Embedded) {
        return Err(CliError::new(Kind::Usage, "the embedded cluster is not built yet")
            .hint("use --cluster kubeconfig with a local cluster, kind or k3d for one"));
    }
    if args.interval < LEAST_INTERVAL {
        return Err(CliError::new(Kind::Usage, "--interval is at least 1s"));
    }
    Ok(())
}

/// The namespaces to watch; none: all.
fn namespaces(args: &RunArgs, global: &args::GlobalArgs) -> Vec<String> {
    let mut namespaces = args.watch_namespace.clone();
    if namespaces.is_empty() && !global.all_namespaces {
        namespaces.extend(global.namespace.clone());
    }
    namespaces.sort();
    namespaces.dedup();
    namespaces
}

/// Done when somebody asks the process to end: Ctrl-C, or a pod's SIGTERM.
fn shutdown() -> Result<impl Future<Output = ()>, CliError> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| CliError::new(Kind::Io, format!("cannot hear signals: {error}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
