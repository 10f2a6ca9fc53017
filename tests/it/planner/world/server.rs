//! The server's side of every write: tests first, then the change, a new generation only for a changed spec.

use std::rc::Rc;

use phaseline::model::{Action, ApplyKind, FieldOwner, PARKED, Reason, Record, Request};

use super::cluster::{Owners, Set, Tpl};
use super::{Mutant, World};

/// How a write ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Done,
    /// Somebody moved it; read again.
    Moved,
    /// Refused with a reason that is not to be sent again.
    Refused(Reason, String),
}

/// A request as it is written on the set.
pub(crate) fn request_text(request: &Request) -> String {
    serde_json::to_string(request).expect("a request is JSON")
}

impl World {
    /// Whether the tests of an action hold at this moment.
    pub(crate) fn tests_hold(&self, action: &Action) -> bool {
        let set = self.cluster.set.as_ref();
        let based = |(uid, rv): &(String, String)| {
            set.is_some_and(|set| *uid == set.uid.to_string() && *rv == set.rv.to_string())
        };
        match action {
            Action::Apply { base: None, .. } => set.is_none(),
            Action::Apply { base: Some(base), .. }
            | Action::HandOverReplicas { base, .. }
            | Action::Adopt { base, .. }
            | Action::Release { base, .. } => based(base),
            Action::Patch { uid, generation, old_record, clear_request, .. } => set.is_some_and(|set| {
                *uid == set.uid.to_string()
                    && *generation == set.generation
                    && set.record.as_deref() == Some(old_record.as_str())
                    && (clear_request.is_none() || *clear_request == set.request.as_deref().map(request_text))
            }),
            Action::HoldBack { uid, generation, record, .. } => set.is_some_and(|set| {
                *uid == set.uid.to_string()
                    && *generation == set.generation
                    && set.record.as_deref() == Some(record.as_str())
            }),
            Action::DeletePod { ordinal, uid, resource_version } => self
                .cluster
                .pods
                .get(&ordinal.0)
                .is_some_and(|pod| *uid == pod.uid.to_string() && *resource_version == pod.rv.to_string()),
            Action::DropRequest { uid, resource_version, .. } => based(&(uid.clone(), resource_version.clone())),
        }
    }

    /// Carries an action out.
    pub(crate) fn serve(&mut self, action: &Action, mutant: Option<Mutant>) -> Answer {
        if !self.tests_hold(action) && mutant != Some(Mutant::NoPreconditions) {
            return Answer::Moved;
        }
        match action {
            Action::Apply { kind, manifest, partition, record, takes_replicas, .. } => {
                self.apply(*kind, *takes_replicas, manifest, partition.0, record, mutant)
            }
            Action::Patch { partition, record, clear_request, .. } => {
                let Some(set) = &mut self.cluster.set else { return Answer::Moved };
                let moves = partition.is_some_and(|partition| partition.0 != set.partition);
                if let Some(partition) = partition {
                    set.partition = partition.0;
                    set.owners.strategy = FieldOwner::DAEMON;
                }
                set.record = Some(Rc::from(record.encode()));
                if clear_request.is_some() {
                    set.request = None;
                }
                self.cluster.touch_set(moves);
                Answer::Done
            }
            Action::HoldBack { partition, .. } => {
                let Some(set) = &mut self.cluster.set else { return Answer::Moved };
                let moves = partition.0 != set.partition;
                (set.partition, set.owners.strategy) = (partition.0, FieldOwner::DAEMON);
                self.cluster.touch_set(moves);
                Answer::Done
            }
            Action::HandOverReplicas { .. } => {
                let Some(set) = &mut self.cluster.set else { return Answer::Moved };
                set.owners.replicas_too = Some(FieldOwner::HANDOVER);
                self.cluster.touch_set(false);
                Answer::Done
            }
            Action::DeletePod { ordinal, .. } => {
                let Some(pod) = self.cluster.pods.get(&ordinal.0).copied() else { return Answer::Moved };
                let gone_at = self.now + self.grace(pod.tpl.id);
                self.cluster.delete_pod(ordinal.0, gone_at);
                Answer::Done
            }
            Action::Adopt { record, clear_request, .. } => {
                let Some(set) = &mut self.cluster.set else { return Answer::Moved };
                let moves = set.partition != PARKED.0;
                let mut record = (**record).clone();
                record.generation = set.generation + i64::from(moves);
                set.partition = PARKED.0;
                set.record = Some(Rc::from(record.encode()));
                set.owners.template = FieldOwner::DAEMON;
                set.owners.strategy = FieldOwner::DAEMON;
                set.owners.record = FieldOwner::DAEMON;
                if set.owners.replicas == Some("kubectl") {
                    set.owners.replicas = Some(FieldOwner::DAEMON);
                }
                if *clear_request {
                    set.request = None;
                }
                self.cluster.touch_set(moves);
                Answer::Done
            }
            Action::Release { partition, .. } => {
                let Some(set) = &mut self.cluster.set else { return Answer::Moved };
                let moves = partition.is_some_and(|partition| partition.0 != set.partition);
                set.partition = partition.map_or(set.partition, |partition| partition.0);
                (set.record, set.request) = (None, None);
                set.owners = Owners { template: "kubectl", strategy: "kubectl", record: "", ..set.owners };
                if set.owners.replicas == Some(FieldOwner::DAEMON) {
                    set.owners.replicas = Some("kubectl");
                }
                self.cluster.touch_set(moves);
                Answer::Done
            }
            Action::DropRequest { .. } => {
                let Some(set) = &mut self.cluster.set else { return Answer::Moved };
                set.request = None;
                self.cluster.touch_set(false);
                Answer::Done
            }
        }
    }

    /// A server-side apply, with the dry run before it.
    fn apply(
        &mut self,
        kind: ApplyKind,
        takes_replicas: bool,
        manifest: &serde_json::Value,
        mut partition: u32,
        record: &Record,
        mutant: Option<Mutant>,
    ) -> Answer {
        if mutant == Some(Mutant::PartitionAfterTemplate) && kind == ApplyKind::Start {
            partition = 0;
        }
        let number = |pointer: &str| manifest.pointer(pointer).and_then(serde_json::Value::as_u64).map(|n| n as u32);
        let text = |pointer: &str| manifest.pointer(pointer).and_then(serde_json::Value::as_str);
        let tpl = Tpl {
            id: text("/spec/template/id").and_then(|id| id.chars().next()).unwrap(),
            restart: text("/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt")
                .map_or(0, |at| at[1..].parse().unwrap()),
        };
        let mut replicas = number("/spec/replicas");
        if mutant == Some(Mutant::ReplicasOfItsOwn) {
            replicas = Some(1);
        }
        let tip = self.git.tip().clone();
        let mut record = record.clone();
        record.live = tpl.hash();
        let Some(before) = self.cluster.set.clone() else {
            self.cluster.uids += 1;
            record.generation = 1;
            self.cluster.set = Some(Set {
                uid: self.cluster.uids,
                rv: 0,
                generation: 1,
                observed: 0,
                tpl,
                current: tpl,
                update: tpl,
                partition,
                replicas: replicas.unwrap_or(1),
                start: number("/spec/ordinals/start").unwrap_or(0),
                min_ready: number("/spec/minReadySeconds").unwrap_or(0),
                parallel: tip.parallel,
                max_unavailable: tip.max_unavailable,
                when_scaled_delete: tip.when_scaled_delete,
                record: Some(Rc::from(record.encode())),
                request: None,
                owners: Owners {
                    template: FieldOwner::DAEMON,
                    strategy: FieldOwner::DAEMON,
                    record: FieldOwner::DAEMON,
                    replicas: replicas.map(|_| FieldOwner::DAEMON),
                    replicas_too: None,
                },
            });
            self.cluster.touch_set(false);
            return Answer::Done;
        };
        let ours = |manager: &str| [FieldOwner::DAEMON, FieldOwner::HANDOVER, FieldOwner::CLI].contains(&manager);
        if kind != ApplyKind::Overwrite {
            let conflicts = [
                (!ours(before.owners.template) && tpl.id != before.tpl.id, before.owners.template),
                (!ours(before.owners.strategy) && partition != before.partition, before.owners.strategy),
                (
                    !takes_replicas
                        && replicas.is_some_and(|replicas| replicas != before.replicas)
                        && before.owners.replicas.is_some_and(|manager| !ours(manager)),
                    before.owners.replicas.unwrap_or_default(),
                ),
            ];
            if let Some((_, manager)) = conflicts.into_iter().find(|(conflict, _)| *conflict) {
                return Answer::Refused(Reason::Drifted, format!("conflict with \"{manager}\""));
            }
        }
        let mut set = before.clone();
        set.tpl = tpl;
        set.partition = partition;
        set.min_ready = number("/spec/minReadySeconds").unwrap_or(0);
        set.start = number("/spec/ordinals/start").unwrap_or(0);
        set.when_scaled_delete = manifest.pointer("/spec/whenScaledDelete").and_then(|is| is.as_bool()) == Some(true);
        set.owners.template = FieldOwner::DAEMON;
        set.owners.strategy = FieldOwner::DAEMON;
        match replicas {
            Some(replicas) => {
                set.replicas = replicas;
                (set.owners.replicas, set.owners.replicas_too) = (Some(FieldOwner::DAEMON), None);
            }
            None if set.owners.replicas == Some(FieldOwner::DAEMON) => {
                if set.owners.replicas_too.is_none() {
                    // Dropped by its only owner it falls to its default.
                    set.replicas = 1;
                }
                (set.owners.replicas, set.owners.replicas_too) = (set.owners.replicas_too, None);
            }
            None => {}
        }
        let spec = |set: &Set| (set.tpl, set.partition, set.replicas, set.min_ready, set.start, set.when_scaled_delete);
        let moves = spec(&set) != spec(&before);
        record.generation = set.generation + i64::from(moves);
        set.record = Some(Rc::from(record.encode()));
        self.cluster.set = Some(set);
        self.cluster.touch_set(moves);
        Answer::Done
    }
}
