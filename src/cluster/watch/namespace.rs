//! Waits for one namespace to be there.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::list::list_at;
use super::{SERVER_SECONDS, lines};
use crate::cluster::connect::Cluster;
use crate::cluster::send::{Call, RequestError};
use crate::cluster::wire;

/// How long a watch may go on before it is begun anew.
const DEADLINE: Duration = Duration::from_secs(210);

/// The first wait where namespaces may not be watched; it doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest one: it is then that the write itself is tried again.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Done when the namespace is there. Where it cannot be told (namespaces are the cluster's, and a daemon with rights in
/// some of them may not watch them) it is done after a while that is longer each time.
pub async fn namespace_made(cluster: &Cluster, name: &str, tries: u32) {
    let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(tries.min(10))).min(LONGEST_WAIT);
    let began = Instant::now();
    match shown(cluster, name).await {
        Ok(()) => {}
        Err(error) => {
            tracing::debug!(namespace = name, %error, "cannot watch for it; the write is tried again");
            tokio::time::sleep(wait).await;
            return;
        }
    }
    // One that is there and is refused all the same (it is being deleted) is not asked for in a circle.
    if began.elapsed() < FIRST_WAIT {
        tokio::time::sleep(if tries == 0 { Duration::ZERO } else { wait }).await;
    }
}

/// Done when a list or a watch shows it.
async fn shown(cluster: &Cluster, name: &str) -> Result<(), RequestError> {
    let selected = |call: Call| call.query("fieldSelector", &format!("metadata.name={name}"));
    loop {
        let is_there = |item: &str| Ok(Some(serde_json::from_str::<wire::Identity>(item)?.metadata.name == name));
        let found = list_at(cluster, &selected(Call::list("namespaces", "")), is_there).await?;
        if found.items.contains(&true) {
            return Ok(());
        }
        let call = selected(Call::watch("namespaces", ""))
            .query("timeoutSeconds", SERVER_SECONDS)
            .query("resourceVersion", &found.version);
        let began = Instant::now();
        let mut lines = lines::open(cluster, &call).await?;
        while let Ok(Ok(Some(line))) = timeout_at(began + DEADLINE, lines.next()).await {
            let made = serde_json::from_str::<wire::Line<'_>>(&line).is_ok_and(|line| line.kind == "ADDED");
            if made {
                return Ok(());
            }
        }
        if began.elapsed() < FIRST_WAIT {
            tokio::time::sleep(FIRST_WAIT).await;
        }
    }
}
