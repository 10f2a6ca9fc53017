//! Makes a cluster forget what changed: a real one through its etcd, the embedded one through its store.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use phaseline::sim::serve::Embedded;
use serde_json::{Value, json};

use super::play::send;

/// Where a cluster remembers what changed.
pub(super) enum Memory {
    /// A connection to its etcd.
    Etcd(kube::Client),
    /// The cluster itself.
    Embedded(Embedded),
}

/// Where a server writes down how far its etcd is compacted: other servers look there, and so does its own cache.
const NOTED: &str = "compact_rev_key";

impl Memory {
    /// That of the plane whose kubeconfig this is.
    pub(super) fn of_plane(kubeconfig: &Path) -> Result<Self, String> {
        let path = kubeconfig.with_file_name("run").join("etcd");
        let started = fs::read_to_string(&path).map_err(|it| format!("{}: {it}", path.display()))?;
        let url = started.split_whitespace().find(|it| it.starts_with("http://127.0.0.1:"));
        let url = url.ok_or_else(|| format!("{} names no address", path.display()))?;
        let config = kube::Config::new(url.parse().map_err(|it| format!("{url}: {it}"))?);
        kube::Client::try_from(config).map(Self::Etcd).map_err(|it| it.to_string())
    }

    /// Forgets all changes up to now.
    pub(super) async fn forget(&self) -> Result<(), String> {
        let etcd = match self {
            Self::Embedded(embedded) => {
                embedded.with(|world, _| world.forget());
                return Ok(());
            }
            Self::Etcd(etcd) => etcd,
        };
        let ask = async |path: &str, body: Value| {
            let came = send(etcd, "POST", path, "application/json", "", Some(&body)).await?;
            if came["code"] == 200 { Ok(came["body"].clone()) } else { Err(format!("{path}: {came}")) }
        };
        let key = STANDARD.encode(NOTED);
        let found = ask("/v3/kv/range", json!({"key": key})).await?;
        let revision = found.pointer("/header/revision").and_then(Value::as_str);
        let revision = revision.ok_or_else(|| format!("etcd names no revision: {found}"))?;
        ask("/v3/kv/put", json!({"key": key, "value": STANDARD.encode(revision)})).await?;
        ask("/v3/kv/compaction", json!({"revision": revision, "physical": true})).await?;
        Ok(())
    }
}
