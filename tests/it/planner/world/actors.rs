//! Everybody else: autoscalers, kubectl, people with requests, commits; and the operator who helps in the end.

use std::rc::Rc;

use phaseline::model::{FieldOwner, Phase, Plan, Reason, Request, Schedule, Verb, WaitingOn};

use super::World;
use super::git::{Commit, is_by_hand};

impl World {
    /// A commit on top of the tip.
    pub(crate) fn commit(&mut self, change: impl FnOnce(&mut Commit)) -> &mut Self {
        self.git.push(change);
        let tip = self.git.tip().clone();
        self.say("git", || format!("{} template {} replicas {:?}", tip.id, tip.template, tip.replicas));
        self
    }

    /// A write to `/scale`.
    pub(crate) fn autoscale(&mut self, replicas: u32) -> &mut Self {
        let Some(set) = &mut self.cluster.set else { return self };
        if set.replicas == replicas {
            return self;
        }
        set.replicas = replicas;
        self.monitor.replicas = 0;
        if set.owners.replicas.is_some() {
            (set.owners.replicas, set.owners.replicas_too) = (Some("hpa"), None);
        }
        self.cluster.touch_set(true);
        self.look();
        self.say("hpa", || format!("scales to {replicas}"));
        self
    }

    /// `kubectl rollout restart`.
    pub(crate) fn kubectl_restart(&mut self) -> &mut Self {
        let number = self.cluster.rv as u32 + 1;
        let Some(set) = &mut self.cluster.set else { return self };
        set.tpl.restart = number;
        self.cluster.touch_set(true);
        self.look();
        self.say("kubectl", || format!("rollout restart {number}"));
        self
    }

    /// `kubectl set image`.
    pub(crate) fn kubectl_set_image(&mut self, template: char) -> &mut Self {
        let Some(set) = &mut self.cluster.set else { return self };
        if set.tpl.id == template {
            return self;
        }
        (set.tpl.id, set.owners.template) = (template, "kubectl-set");
        self.monitor.meddled = true;
        self.cluster.touch_set(true);
        self.look();
        self.say("kubectl", || format!("set image {template}"));
        self
    }

    /// A person edits the partition.
    pub(crate) fn kubectl_partition(&mut self, partition: u32) -> &mut Self {
        let Some(set) = &mut self.cluster.set else { return self };
        if set.partition == partition {
            return self;
        }
        (set.partition, set.owners.strategy) = (partition, "kubectl-edit");
        self.monitor.meddled = true;
        self.cluster.touch_set(true);
        self.look();
        self.say("kubectl", || format!("partition {partition}"));
        self
    }

    /// `kubectl delete pod`, or an eviction.
    pub(crate) fn kubectl_delete_pod(&mut self, ordinal: u32) -> &mut Self {
        let Some(pod) = self.cluster.pods.get(&ordinal).copied() else { return self };
        let gone_at = self.now + self.grace(pod.tpl.id);
        self.cluster.delete_pod(ordinal, gone_at);
        self.look();
        self.say("kubectl", || format!("delete pod web-{ordinal}"));
        self
    }

    /// A person deletes the lowest broken pod.
    fn delete_broken(&mut self) {
        let old = self.now - 40;
        let broken = self.cluster.pods.values().find(|pod| !pod.ready && pod.gone_at.is_none() && pod.created < old);
        if let Some(ordinal) = broken.map(|pod| pod.ordinal) {
            self.kubectl_delete_pod(ordinal);
        }
    }

    /// Whether a pod below the partition is broken at the revision that it would come back at.
    fn comes_back_broken(&self) -> bool {
        let Some(set) = &self.cluster.set else { return false };
        let below = |ordinal: u32| (set.start..set.start.saturating_add(set.partition)).contains(&ordinal);
        let old = self.now - 40;
        let pods = self.cluster.pods.values();
        pods.clone().any(|pod| below(pod.ordinal) && !pod.ready && pod.created < old && pod.tpl == set.current)
            && set.current != set.update
    }

    /// A request of a person.
    pub(crate) fn ask(&mut self, verb: Verb) -> &mut Self {
        let id = format!("q{}", self.cluster.rv);
        let Some(set) = &mut self.cluster.set else { return self };
        set.request = Some(Rc::new(Request { id, verb, by: "ann".into(), rollout: String::new(), stage: None }));
        self.cluster.touch_set(false);
        self.look();
        self.say("ann", || format!("{verb:?}"));
        self
    }

    /// A set that somebody made by hand, running.
    pub(crate) fn foreign_set(&mut self, template: char, replicas: u32) -> &mut Self {
        let keep = std::mem::take(&mut self.faults);
        self.git.commits[0].template = template;
        self.git.commits[0].replicas = Some(replicas);
        self.tracing = false;
        self.run(60);
        self.tracing = true;
        self.faults = keep;
        if let Some(set) = &mut self.cluster.set {
            (set.record, set.request) = (None, None);
            set.partition = 0;
            (set.owners.template, set.owners.strategy, set.owners.record) = ("kubectl", "kubectl", "");
            set.owners.replicas = Some("kubectl");
        }
        self.cluster.touch_set(true);
        let writes = 0;
        self.restart_daemon();
        (self.daemon.writes, self.daemon.last) = (writes, None);
        self.monitor = super::Monitor::default();
        self.run(5)
    }

    /// The operator does what the daemon waits for. Says what it was.
    pub(crate) fn operator(&mut self) -> Option<Verb> {
        let last = self.daemon.last.as_ref()?;
        let by_hand = is_by_hand(&self.git.tip().plan);
        let (phase, reason) = (last.phase, last.reason);
        if self.record().is_some_and(|record| record.hold.is_some()) && reason != Reason::Drifted {
            self.ask(Verb::Resume);
            return Some(Verb::Resume);
        }
        if last.message.contains("(ClaimDeletion)") {
            // Shown beside what goes on.
            self.commit(|commit| commit.allow_claim_deletion = true);
            return None;
        }
        let verb = match last.waiting_on.as_ref()? {
            WaitingOn::Promotion => Verb::Promote,
            WaitingOn::Resume | WaitingOn::NewRevisionDecision => Verb::Resume,
            WaitingOn::Decision if self.comes_back_broken() => {
                // Nothing above it is ever updated: a person lets go of the partition, and says that it is meant.
                self.kubectl_partition(0);
                Verb::ResumeAccept
            }
            WaitingOn::Decision => {
                self.delete_broken();
                Verb::Retry
            }
            WaitingOn::DriftDecision => Verb::ResumeOverwrite,
            WaitingOn::Adoption => Verb::Adopt,
            WaitingOn::PartitionCommit if by_hand => {
                self.commit(|commit| commit.plan = Plan { schedule: Schedule::ByHand(0), ..commit.plan.clone() });
                return None;
            }
            WaitingOn::Correction if reason == Reason::NotAdoptable => {
                // A rollout was given back half-done: a person ends it.
                let tip = self.git.tip().template;
                self.kubectl_set_image(tip);
                self.kubectl_partition(0);
                self.delete_broken();
                return None;
            }
            _ if reason == Reason::StuckPod || phase == Phase::Degraded => {
                self.delete_broken();
                return None;
            }
            WaitingOn::Correction if reason == Reason::ClaimDeletion => {
                self.commit(|commit| commit.allow_claim_deletion = true);
                return None;
            }
            _ => return None,
        };
        self.ask(verb);
        Some(verb)
    }

    /// Who owns replicas now, for a test.
    pub(crate) fn replicas_are_ours(&self) -> bool {
        self.cluster.set.as_ref().is_some_and(|set| set.owners.replicas == Some(FieldOwner::DAEMON))
    }
}
