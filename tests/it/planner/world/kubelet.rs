//! The kubelet and the scheduler: pods go created, scheduled, started, ready, each as its template behaves.

use super::World;

/// How pods of a template behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Behaviour {
    #[default]
    Good,
    /// Runs and is never Ready.
    NeverReady,
    /// The image cannot be pulled.
    Pull,
    /// Crashes again and again.
    Crash,
    /// Ready for a while, then not, then again.
    Flaps,
    /// Takes its time to terminate.
    Slow,
}

const NEVER: i64 = i64::MAX;

impl World {
    /// A delay of `least` seconds, or a little more.
    pub(crate) fn delay(&mut self, least: i64) -> i64 {
        if self.varies { least + self.rng.i64(0..4) } else { least }
    }

    /// How long a pod of a template takes to terminate.
    pub(crate) fn grace(&mut self, template: char) -> i64 {
        let slow = self.behaviours.get(&template) == Some(&Behaviour::Slow);
        self.delay(if slow { 25 } else { 1 })
    }

    /// Does what is due. Says whether anything was.
    pub(crate) fn kubelet(&mut self) -> bool {
        let now = self.now;
        let due: Vec<u32> = self
            .cluster
            .pods
            .values()
            .filter(|pod| pod.gone_at.map_or(pod.next <= now, |gone| gone <= now))
            .map(|pod| pod.ordinal)
            .collect();
        for ordinal in &due {
            let mut pod = self.cluster.pods[ordinal];
            if pod.gone_at.is_some() {
                self.cluster.pods.remove(ordinal);
                self.cluster.touch();
                self.say("kubelet", || format!("web-{ordinal} gone"));
                continue;
            }
            let behaviour = self.behaviours.get(&pod.tpl.id).copied().unwrap_or_default();
            let soon = now + self.delay(1);
            let what = match (pod.scheduled, pod.started, behaviour) {
                (None, ..) => {
                    (pod.scheduled, pod.next) = (Some(now), soon);
                    "scheduled"
                }
                (Some(_), None, Behaviour::Pull) => {
                    (pod.started, pod.ready_since, pod.next) = (Some(now), now, NEVER);
                    pod.fault = Some("ImagePullBackOff");
                    "ImagePullBackOff"
                }
                (Some(_), None, _) => {
                    (pod.started, pod.ready_since, pod.next) = (Some(now), now, soon);
                    if behaviour == Behaviour::NeverReady {
                        pod.next = NEVER;
                    }
                    "started"
                }
                (_, Some(_), Behaviour::Crash) => {
                    pod.restarts += 1;
                    (pod.fault, pod.next) = (Some("CrashLoopBackOff"), now + 12);
                    "CrashLoopBackOff"
                }
                (_, Some(_), Behaviour::Flaps) => {
                    (pod.ready, pod.ready_since, pod.next) = (!pod.ready, now, now + self.delay(6));
                    if pod.ready { "Ready" } else { "not Ready" }
                }
                (_, Some(_), _) => {
                    (pod.ready, pod.ready_since, pod.next) = (true, now, NEVER);
                    "Ready"
                }
            };
            pod.rv = self.cluster.touch();
            self.cluster.pods.insert(*ordinal, pod);
            if pod.restarts < 6 {
                self.say("kubelet", || format!("web-{ordinal} {what} at {}", pod.tpl.revision()));
            }
        }
        !due.is_empty()
    }
}
