//! A command's way to the cluster: connects, and waits for the answers.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::args::GlobalArgs;
use super::error::{CliError, Kind};
use super::output::ways::Ways;
use crate::clock::Clock;
use crate::cluster::send::{Call, fetch};
use crate::cluster::{Cluster, ConnectError, ConnectOptions, read};
use crate::model::{Observed, WorkloadId};

/// A cluster inside of this program, with the runtime on which it lives and its clock: time passes in it, and a daemon
/// beside it works, while somebody waits for an answer.
#[derive(Debug, Clone)]
pub(crate) struct Inside {
    /// The runtime.
    pub(crate) runtime: Arc<Runtime>,
    /// The way in.
    pub(crate) cluster: Cluster,
    /// What time it is there.
    pub(crate) clock: Clock,
}

/// A cluster, and the runtime on which it is asked.
pub(crate) struct Session {
    runtime: Arc<Runtime>,
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// Whether the cluster is inside of this program.
    pub(crate) is_inside: bool,
    /// The namespace meant where none is named: --namespace, else the kubeconfig's, else `default`.
    pub(crate) namespace: String,
}

impl Session {
    /// The same for a command that does without a cluster: none where nobody named one and there is no kubeconfig.
    pub(crate) fn open_if_any(global: &GlobalArgs) -> Result<Option<Self>, CliError> {
        let named = global.kubeconfig.is_some()
            || global.context.is_some()
            || std::env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
        match Self::connect(global)? {
            Ok(session) => Ok(Some(session)),
            Err(ConnectError::NoKubeconfig | ConnectError::KubeconfigMissing { .. }) if !named => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Connects as the options say; nothing is sent yet.
    pub(crate) fn open(global: &GlobalArgs) -> Result<Self, CliError> {
        Ok(Self::connect(global)??)
    }

    fn connect(global: &GlobalArgs) -> Result<Result<Self, ConnectError>, CliError> {
        if let Some(Inside { runtime, cluster, .. }) = global.inside.clone() {
            let namespace = global.namespace.clone().unwrap_or_else(|| cluster.default_namespace.clone());
            return Ok(Ok(Self { runtime, cluster, is_inside: true, namespace }));
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::new(Kind::Io, format!("cannot start: {error}")))?;
        let options = ConnectOptions {
            kubeconfig: global.kubeconfig.clone(),
            context: global.context.clone(),
            in_cluster: false,
            user_agent: ConnectOptions::CLI_AGENT.to_owned(),
        };
        Ok(runtime.block_on(Cluster::connect(&options)).map(|cluster| {
            let namespace = global.namespace.clone().unwrap_or_else(|| cluster.default_namespace.clone());
            Self { runtime: Arc::new(runtime), cluster, is_inside: false, namespace }
        }))
    }

    /// Waits for an answer.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// One workload as it is now.
    pub(crate) fn observe(&self, workload: &WorkloadId) -> Result<Observed, CliError> {
        Ok(self.wait(read::observe(&self.cluster, workload))?)
    }

    /// Every workload of a namespace, or of all.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Result<Vec<Observed>, CliError> {
        Ok(self.wait(read::list(&self.cluster, namespace))?)
    }

    /// The set as the server shows it, null where there is none.
    pub(crate) fn object(&self, workload: &WorkloadId) -> Result<Value, CliError> {
        let Some(body) = self.wait(fetch(&self.cluster, &Call::get_set(workload)))? else { return Ok(Value::Null) };
        serde_json::from_slice(&body)
            .map_err(|error| CliError::new(Kind::Cluster, format!("cannot read the StatefulSet {workload}: {error}")))
    }

    /// The set of that name in the namespace meant.
    pub(crate) fn workload(&self, name: &str) -> WorkloadId {
        WorkloadId::new(&self.namespace, name)
    }

    /// How commands name a workload that is looked at from here.
    pub(crate) fn ways(&self, workload: &WorkloadId, global: &GlobalArgs) -> Ways {
        Ways::to(workload, global, &self.cluster.default_namespace)
    }
}
