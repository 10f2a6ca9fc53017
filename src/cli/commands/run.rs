//! `run`: the daemon.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::cli::args::{GlobalArgs, duration};
use crate::cli::context::{Context, Exit};
use crate::cli::embedded::{EmbeddedArgs, Served, address};
use crate::cli::error::{CliError, Kind};
use crate::cli::repository;
use crate::cluster::{Cluster, ConnectOptions};
use crate::daemon::report::{Followed, Report};
use crate::daemon::{self, Ended, Presence, RewriteGrace, RunOptions, Scope, Source};
use crate::git::Wakes;
use crate::model::Phase;

/// Where Kubernetes puts the token of a pod's service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// As whom the daemon is known to an embedded cluster.
const DAEMON: &str = "system:serviceaccount:phaseline-system:phaseline";

/// How long one pass may take where nobody says.
const ONCE: Duration = Duration::from_secs(600);

/// Asking more often than that serves nobody: a local push wakes at once.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);

/// Follows the repository and rolls its StatefulSets out
///
/// Wakes when a local repository is pushed to, at the interval, and on SIGHUP. SIGTERM and SIGINT end it between two
/// writes; started again, it goes on from where the sets say it was. With -n only that namespace is watched and
/// touched, without it all of them.
///
/// What it knows it writes down on a Lease, for `status` to read. With --leader-elect it also writes to sets only while
/// it holds that Lease: of several daemons that look after the same, one does, and another one takes over.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How often the repository is asked for news
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    interval: Duration,
    /// How long the repository has to name the same commit before a force-push counts
    ///
    /// A commit that the sets' own is no ancestor of may be a host's copy that lags behind. It counts once the
    /// repository has said the same for so long, and at least three times; then it is rolled out from the first stage.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    rewrite_grace: Duration,
    /// The cluster to work on [default: in-cluster in a pod without a kubeconfig, else kubeconfig]
    #[arg(long, value_enum, value_name = "WHICH")]
    cluster: Option<Which>,
    /// A namespace to watch; may be repeated [default: --namespace, else all]
    #[arg(long, value_name = "NAME", conflicts_with = "all_namespaces")]
    watch_namespace: Vec<String>,
    /// The namespace of manifests that state none [default: --namespace, else the kubeconfig's, else `default`]
    #[arg(long, value_name = "NAME")]
    default_namespace: Option<String>,
    /// Writes only while it holds its Lease: several daemons may run, one acts
    #[arg(long, conflicts_with = "observe")]
    leader_elect: bool,
    /// The namespace of its Lease [default: the pod's, else the kubeconfig's]
    #[arg(long, value_name = "NAME")]
    lease_namespace: Option<String>,
    /// Does what is due now, waits for nothing, and ends: 1 if something is Degraded or Blocked, 2 if it could not
    #[arg(long)]
    once: bool,
    /// How long --once may take [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "once")]
    timeout: Option<Duration>,
    /// Decides everything and writes nothing
    #[arg(long)]
    observe: bool,
    /// Not built yet
    #[arg(long, value_name = "ADDR", hide = true)]
    listen: Option<String>,
    /// Where to write a kubeconfig that leads to the embedded cluster; without it kubectl cannot see it
    #[arg(long, value_name = "FILE", help_heading = "The embedded cluster")]
    kubeconfig_out: Option<PathBuf>,
    /// Where the embedded cluster listens: an address of this machine only [default: 127.0.0.1, any free port]
    #[arg(long, value_name = "ADDR", value_parser = address, requires = "kubeconfig_out")]
    #[arg(help_heading = "The embedded cluster")]
    cluster_listen: Option<SocketAddr>,
    #[command(flatten)]
    embedded: EmbeddedArgs,
}

/// A kind of cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// The one of the kubeconfig
    Kubeconfig,
    /// The one this pod runs in
    InCluster,
    /// One in this process, which ends with it: a simulation
    Embedded,
}

pub(super) fn run(args: &RunArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let not_built = |what: &str| CliError::new(Kind::Usage, format!("{what} is not built yet"));
    if args.listen.is_some() {
        return Err(not_built("--listen"));
    }
    let embedded = args.cluster == Some(Which::Embedded);
    if !embedded && (args.kubeconfig_out.is_some() || args.embedded.any()) {
        let message = "--kubeconfig-out and the options of the embedded cluster go with --cluster embedded only";
        return Err(CliError::new(Kind::Usage, message));
    }
    if embedded && (context.global.kubeconfig.is_some() || context.global.context.is_some()) {
        let message = "--kubeconfig and --context name a cluster, and --cluster embedded another one";
        return Err(CliError::new(Kind::Usage, message).hint("to reach it with kubectl, use --kubeconfig-out"));
    }
    if args.interval < LEAST_INTERVAL {
        return Err(CliError::new(Kind::Usage, "--interval has to be at least 1s"));
    }
    let global = &context.global.clone();
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
        let (end, ends) = tokio::sync::oneshot::channel::<()>();
        let (cluster, served) = if embedded {
            let ends = async {
                // Whichever way the sender goes, it is the end.
                let _ = ends.await;
            };
            serve(args, ends, context).await?
        } else {
            (Cluster::connect(&options).await?, None)
        };
        let namespace = args.default_namespace.as_ref().or(global.namespace.as_ref());
        let namespace = namespace.unwrap_or(&cluster.default_namespace).clone();
        let namespaces = namespaces(args, global);
        let scope = Scope { default_namespace: namespace.clone(), only: namespaces.clone() };
        let source = Source::open(&config, scope)?;
        let about = Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Followed {
                url: source.url().to_owned(),
                branch: config.branch.clone().unwrap_or_default(),
                path: config.path.clone(),
            },
            default_namespace: namespace,
            namespaces: namespaces.clone(),
            ..Report::default()
        };
        // A pass that nobody else is to know of leaves what the daemon wrote down alone.
        let shows = !args.observe && (!args.once || args.leader_elect);
        let presence = match (shows, embedded) {
            (false, _) => None,
            (true, true) => Some(presence(args, cluster.clone(), &about)),
            (true, false) => Some(presence(args, Cluster::connect(&options).await?, &about)),
        };
        info!(repository = source.url(), "follows");
        let wakes = (!args.once).then(|| Wakes::new(source.local(), args.interval));
        let options = RunOptions {
            once: args.once,
            timeout: Some(args.timeout.unwrap_or(ONCE)),
            observe: args.observe,
            namespaces,
            presence,
            about,
            rewrite_grace: RewriteGrace(args.rewrite_grace),
            ..RunOptions::default()
        };
        let shutdown = shutdown().map_err(|error| CliError::new(Kind::Io, format!("cannot take signals: {error}")))?;
        let ended = daemon::run(cluster, source, wakes, options, shutdown).await;
        drop(end);
        if let Some(served) = served {
            served.task.await.map_err(|error| CliError::new(Kind::Io, format!("the server ended: {error}")))?;
        }
        Ok(ended)
    });
    // A fetch that hangs must not hold up the end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let ended = ended?;
    if let Some(problem) = ended.problem {
        return Err(CliError::new(Kind::Cluster, problem));
    }
    let bad = ended.phases.values().any(|phase| matches!(phase, Phase::Degraded | Phase::Blocked));
    Ok(if args.once && bad { Exit::of(1) } else { Exit::OK })
}

/// How the daemon shows itself.
fn presence(args: &RunArgs, cluster: Cluster, about: &Report) -> Presence {
    let home = args.lease_namespace.as_ref().or(cluster.pod_namespace.as_ref()).unwrap_or(&cluster.default_namespace);
    let Followed { url, branch, path } = &about.source;
    let parts = [&[url.as_str(), branch, path, &about.default_namespace][..], &names(&about.namespaces)].concat();
    Presence {
        namespace: home.clone(),
        elect: args.leader_elect,
        // No part of it has a line feed in it.
        after: parts.join("\n"),
        me: Presence::identity(&super::people::host().unwrap_or_default()),
        cluster,
    }
}

fn names(namespaces: &[String]) -> Vec<&str> {
    namespaces.iter().map(String::as_str).collect()
}

/// An embedded cluster, and its server where kubectl is to see it.
async fn serve(
    args: &RunArgs,
    until: impl Future<Output = ()> + Send + 'static,
    context: &mut Context<'_>,
) -> Result<(Cluster, Option<Served>), CliError> {
    let embedded = args.embedded.start()?;
    let cluster = Cluster::from_service(embedded.service(DAEMON));
    let Some(kubeconfig) = &args.kubeconfig_out else { return Ok((cluster, None)) };
    let served = Served::start(embedded, args.cluster_listen, kubeconfig, until).await?;
    served.announce(args.embedded.compat(), kubeconfig, context)?;
    Ok((cluster, Some(served)))
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
pub(super) fn shutdown() -> std::io::Result<impl Future<Output = ()>> {
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
