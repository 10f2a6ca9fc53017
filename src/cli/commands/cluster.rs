//! `cluster`: the embedded cluster in a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio::runtime::Builder;

use super::run::shutdown;
use crate::cli::context::{Context, Exit};
use crate::cli::embedded::{EmbeddedArgs, Served, address};
use crate::cli::error::{CliError, Kind};

/// Serves an embedded cluster for kubectl, and for a daemon with its kubeconfig
///
/// StatefulSets, pods, claims and what belongs to them, on loopback, in memory. It needs nothing installed, and is for
/// trying things out: nothing in it is real. SIGINT and SIGTERM end it.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Where to write a kubeconfig that leads to it; only one of an embedded cluster is written over
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: PathBuf,
    /// Where to listen: an address of this machine only [default: 127.0.0.1, any free port]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    embedded: EmbeddedArgs,
}

pub(super) fn run(args: &ClusterArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Kind::Io, format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let until = shutdown().map_err(|error| CliError::new(Kind::Io, format!("cannot take signals: {error}")))?;
        let embedded = args.embedded.start()?;
        let served = Served::start(embedded, args.listen, &args.kubeconfig_out, until).await?;
        served.announce(args.embedded.compat(), &args.kubeconfig_out, context)?;
        served.task.await.map_err(|error| CliError::new(Kind::Io, format!("the server ended: {error}")))
    })?;
    Ok(Exit::OK)
}
