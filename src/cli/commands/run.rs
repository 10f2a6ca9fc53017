//! `run`: the daemon.

use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::cli::args::{GlobalArgs, duration};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::repository;
use crate::cluster::{Cluster, ConnectOptions};
use crate::daemon::{self, Ended, RunOptions, Scope, Source};
use crate::git::Wakes;
use crate::model::Phase;

/// Where Kubernetes puts the token of a pod's service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Asking more often than that serves nobody: a local push wakes at once.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);

/// Follows the repository and rolls its StatefulSets out
///
/// Wakes when a local repository is pushed to, at the interval, and on SIGHUP. SIGTERM and SIGINT end it between two
/// writes; started again, it goes on from where the sets say it was. With -n only that namespace is watched and
/// touched, without it all of them.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How often the repository is asked for news
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    interval: Duration,
    /// The cluster to work on [default: in-cluster in a pod without a kubeconfig, else kubeconfig]
    #[arg(long, value_enum, value_name = "WHICH")]
    cluster: Option<Which>,
    /// A namespace to watch; may be repeated [default: --namespace, else all]
    #[arg(long, value_name = "NAME", conflicts_with = "all_namespaces")]
    watch_namespace: Vec<String>,
    /// Does what is due now, waits for nothing, and ends; 1 if something is Degraded or Blocked
    #[arg(long)]
    once: bool,
    /// Decides everything and writes nothing
    #[arg(long)]
    observe: bool,
    /// Not built yet
    #[arg(long, value_name = "ADDR", hide = true)]
    listen: Option<String>,
}

/// A kind of cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// The one of the kubeconfig
    Kubeconfig,
    /// The one this pod runs in
    InCluster,
    /// Not built yet.
    #[value(hide = true)]
    Embedded,
}

pub(super) fn run(args: &RunArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let not_built = |what: &str| CliError::new(Kind::Usage, format!("{what} is not built yet"));
    if args.listen.is_some() {
        return Err(not_built("--listen"));
    }
    if args.cluster == Some(Which::Embedded) {
        return Err(not_built("the embedded cluster").hint("start one by hand, and give its --kubeconfig"));
    }
    if args.interval < LEAST_INTERVAL {
        return Err(CliError::new(Kind::Usage, "--interval has to be at least 1s"));
    }
    let global = &context.global;
    let config = repository::config(global)?;
    let in_cluster = match args.cluster {
        Some(which) => which == Which::InCluster,
        None => global.kubeconfig.is_none() && !has_kubeconfig() && Path::new(SERVICE_ACCOUNT).exists(),
    };
    let options = ConnectOptions {
        kubeconfig: global.kubeconfig.clone(),
        context: global.context.clone(),
        in_cluster,
        user_agent: ConnectOptions::DAEMON_AGENT.to_owned(),
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Kind::Io, format!("cannot start: {error}")))?;
    let ended: Result<Ended, CliError> = runtime.block_on(async {
        let cluster = Cluster::connect(&options).await?;
        let namespace = global.namespace.clone().unwrap_or_else(|| cluster.default_namespace.clone());
        let namespaces = namespaces(args, global);
        let scope = Scope { default_namespace: namespace, only: namespaces.clone() };
        let source = Source::open(&config, scope)?;
        info!(repository = source.url(), "follows");
        let wakes = (!args.once).then(|| Wakes::new(source.local(), args.interval));
        let options = RunOptions { once: args.once, observe: args.observe, namespaces, ..RunOptions::default() };
        let shutdown = shutdown().map_err(|error| CliError::new(Kind::Io, format!("cannot take signals: {error}")))?;
        Ok(daemon::run(cluster, source, wakes, options, shutdown).await)
    });
    // A fetch that hangs must not hold up the end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let ended = ended?;
    let bad = ended.phases.values().any(|phase| matches!(phase, Phase::Degraded | Phase::Blocked));
    Ok(if args.once && bad { Exit::of(1) } else { Exit::OK })
}

/// The namespaces to watch; none: all.
fn namespaces(args: &RunArgs, global: &GlobalArgs) -> Vec<String> {
    let mut namespaces = args.watch_namespace.clone();
    if namespaces.is_empty() && !global.all_namespaces {
        namespaces.extend(global.namespace.clone());
    }
    namespaces.sort();
    namespaces.dedup();
    namespaces
}

/// Done when the process is asked to end.
fn shutdown() -> std::io::Result<impl Future<Output = ()>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        info!("asked to end");
    })
}

/// Whether there is a kubeconfig without one being named.
fn has_kubeconfig() -> bool {
    std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty())
        || std::env::home_dir().is_some_and(|home| home.join(".kube/config").exists())
}
