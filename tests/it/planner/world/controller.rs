//! The native StatefulSet controller, one small step at a time (statefulset.md 1.2 to 1.5 and 1.8).

use super::{Pod, World};

impl World {
    /// One sync. Says whether it did anything.
    pub(crate) fn controller(&mut self) -> bool {
        let before = self.cluster.rv;
        if self.cluster.set.is_none() {
            return false;
        }
        self.observe_spec();
        self.main_pass();
        self.complete();
        self.cluster.rv != before
    }

    /// observedGeneration and updateRevision.
    fn observe_spec(&mut self) {
        let Some(set) = &mut self.cluster.set else { return };
        if set.observed == set.generation && set.update == set.tpl {
            return;
        }
        (set.observed, set.update) = (set.generation, set.tpl);
        self.cluster.touch_set(false);
    }

    fn is_available(&self, pod: &Pod, min_ready: u32) -> bool {
        pod.ready && pod.gone_at.is_none() && pod.ready_since + i64::from(min_ready) <= self.now
    }

    /// Creation, scale-down, update.
    fn main_pass(&mut self) {
        let Some(set) = self.cluster.set.clone() else { return };
        let last = set.start + set.replicas;
        let unavailable = |world: &Self, pod: &Pod| !world.is_available(pod, set.min_ready);
        for ordinal in set.start..last {
            let Some(pod) = self.cluster.pods.get(&ordinal).copied() else {
                self.create(ordinal);
                if set.parallel {
                    continue;
                }
                return;
            };
            if !set.parallel && unavailable(self, &pod) {
                // The wall of kubernetes#67250.
                return;
            }
        }
        let condemned: Vec<Pod> = self
            .cluster
            .pods
            .values()
            .rev()
            .filter(|pod| pod.ordinal < set.start || pod.ordinal >= last)
            .copied()
            .collect();
        let first_bad = condemned.iter().rev().find(|pod| unavailable(self, pod)).map(|pod| pod.ordinal);
        for pod in &condemned {
            if pod.gone_at.is_some() {
                if set.parallel {
                    continue;
                }
                return;
            }
            if !set.parallel && unavailable(self, pod) && first_bad != Some(pod.ordinal) {
                return;
            }
            self.end(pod.ordinal);
            if !set.parallel {
                return;
            }
        }
        if set.max_unavailable {
            // Gate on at 1.36: what is unavailable anywhere eats the budget.
            let pods = &self.cluster.pods;
            let away = (set.start..last).filter(|at| pods.get(at).is_none_or(|pod| unavailable(self, pod))).count();
            if away >= 1 {
                return;
            }
        }
        for ordinal in (set.start.saturating_add(set.partition)..last).rev() {
            let Some(pod) = self.cluster.pods.get(&ordinal).copied() else { return };
            if pod.tpl != set.update && pod.gone_at.is_none() {
                return self.end(ordinal);
            }
            if unavailable(self, &pod) {
                return;
            }
        }
    }

    /// Makes the pod of an ordinal at the revision of its side (1.3).
    fn create(&mut self, ordinal: u32) {
        let Some(set) = self.cluster.set.clone() else { return };
        let tpl = if ordinal < set.start.saturating_add(set.partition) { set.current } else { set.update };
        self.cluster.uids += 1;
        let (uid, rv) = (self.cluster.uids, self.cluster.touch());
        let next = self.now + self.delay(0);
        let now = self.now;
        let pod = Pod {
            ordinal,
            uid,
            rv,
            tpl,
            created: now,
            scheduled: None,
            started: None,
            ready: false,
            ready_since: now,
            gone_at: None,
            restarts: 0,
            fault: None,
            next,
        };
        self.cluster.pods.insert(ordinal, pod);
        self.say("sets", || format!("creates web-{ordinal} at {}", tpl.revision()));
    }

    fn end(&mut self, ordinal: u32) {
        let tpl = self.cluster.pods[&ordinal].tpl;
        let gone_at = self.now + self.grace(tpl.id);
        self.cluster.delete_pod(ordinal, gone_at);
        self.say("sets", || format!("deletes web-{ordinal} of {}", tpl.revision()));
    }

    /// The completion rule (1.8): it does not ask for the partition, and zero replicas complete.
    fn complete(&mut self) {
        let Some(set) = &self.cluster.set else { return };
        let pods = self.cluster.pods.values();
        let all = pods.len() == set.replicas as usize;
        let ready = self.cluster.pods.values().all(|pod| pod.ready);
        let updated = self.cluster.pods.values().all(|pod| pod.tpl == set.update && pod.gone_at.is_none());
        if all && ready && updated && set.current != set.update {
            let update = set.update;
            if set.replicas == 0 {
                // Promoted by a scale to zero; the daemon may never see it (kubernetes#121534).
                self.monitor.meddled = true;
            }
            if let Some(set) = &mut self.cluster.set {
                set.current = update;
            }
            self.cluster.touch_set(false);
            self.say("sets", || format!("{} is current", update.revision()));
        }
    }
}
