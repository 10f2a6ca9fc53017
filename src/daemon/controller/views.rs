//! How well the cluster is seen: watches that fall silent, and namespaces that are missing.

use tokio::time::Instant;
use tracing::warn;

use super::Controller;
use crate::cluster::{Health, namespace_made};

impl Controller {
    /// When something is due though nothing happens.
    pub(super) fn next_turn(&self, now: Instant) -> Option<Instant> {
        let timer = self.timers.first().map(|(when, _)| *when);
        let (_, worse) = self.store.health(now);
        [timer, worse, self.store.next_doubt()].into_iter().flatten().min()
    }

    /// Marks the workloads of the watches that see better or worse than at the last look, and has those begun anew
    /// whose connection may be dead.
    pub(super) fn look_at_watches(&mut self, now: Instant) {
        for source in self.store.doubtful(now) {
            warn!(%source, "a write of ours was not told by its watch, which is begun anew");
            self.doubts.raise(source);
        }
        let (health, _) = self.store.health(now);
        let before = std::mem::replace(&mut self.health, health);
        for (source, health) in &self.health {
            let was = before.get(source).copied().unwrap_or(Health::Blind);
            // A connection that breaks and comes back is not worth a look at everything behind it.
            if was == *health || *health == Health::Blind {
                continue;
            }
            let named = self.git.view.iter().flat_map(|view| view.wishes.keys());
            let concerned = named.chain(self.workers.keys()).filter(|workload| source.covers(workload));
            self.dirty.extend(concerned.cloned());
        }
    }

    /// Waits for a namespace, if nobody does yet.
    pub(super) fn wait_for(&mut self, namespace: &str) {
        let (tries, awaited) = self.namespaces.entry(namespace.to_owned()).or_default();
        if std::mem::replace(awaited, true) {
            return;
        }
        let (cluster, name, tried) = (self.cluster.clone(), namespace.to_owned(), *tries);
        *tries = tries.saturating_add(1);
        self.awaited.spawn(async move {
            namespace_made(&cluster, &name, tried).await;
            name
        });
    }

    /// A namespace is there, or may be: what was refused for the lack of it is sent again.
    pub(super) fn made(&mut self, namespace: &str) {
        if let Some((_, awaited)) = self.namespaces.get_mut(namespace) {
            *awaited = false;
        }
        for (workload, worker) in &mut self.workers {
            if workload.namespace == *namespace && worker.lacks_namespace() {
                worker.forgive();
                self.dirty.insert(workload.clone());
            }
        }
    }
}
