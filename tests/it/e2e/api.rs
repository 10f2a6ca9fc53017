//! Looks at the cluster as admin without starting a process for it: waiting must not keep the machine busy.

use std::path::Path;

use phaseline::cluster::{Cluster, ConnectOptions};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A connection of one test.
pub(crate) struct Api {
    runtime: Runtime,
    cluster: Cluster,
}

impl Api {
    #[track_caller]
    pub(crate) fn connect(kubeconfig: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let options = ConnectOptions {
            kubeconfig: Some(kubeconfig.to_owned()),
            user_agent: "phaseline-test".into(),
            ..ConnectOptions::default()
        };
        let cluster = runtime.block_on(Cluster::connect(&options)).expect("a kubeconfig");
        Self { runtime, cluster }
    }

    /// An object or a list; `Null` where there is none, or where the server cannot be reached.
    pub(crate) fn get(&self, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        let text = self.runtime.block_on(self.cluster.client.request_text(request));
        text.ok().and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default()
    }
}
