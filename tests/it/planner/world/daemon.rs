//! The daemon's side: looks, decides, carries out, and forgets when it is restarted.

use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use phaseline::model::{
    Action, ContainerFault, Decision, Desired, LiveSet, Observed, Ordinal, Pace, Partition, Phase, PodPhase, Progress,
    Reason, Record, RecordState, WaitingOn, Wanted, WorkloadId,
};
use phaseline::rollout::{decide, progress};

use super::World;
use super::cluster::{Pod, Set, View};
use super::server::{Answer, request_text};
use crate::planner::bench::{self, T0};

/// A daemon that is deliberately wrong in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Writes go through whatever moved meanwhile.
    NoPreconditions,
    /// The template travels without the partition that holds it.
    PartitionAfterTemplate,
    /// The next stage without asking the gate.
    NoGate,
    /// A healthy pod is deleted.
    DeletesWithoutCause,
    /// Two broken pods at once, or the same one again.
    DeletesAll,
    /// From the first stage to the last.
    SkipsStages,
    /// The partition is raised at a stage.
    RaisesPartition,
    /// Replicas that no manifest states.
    ReplicasOfItsOwn,
    /// A write at rest.
    WritesAtRest,
    /// On after a failure.
    GoesOnAfterFailure,
    /// Parked before the end.
    ParksEarly,
    /// A stage is written twice.
    RepeatsStage,
}

/// What the daemon keeps between two looks.
#[derive(Debug, Default)]
pub(crate) struct Daemon {
    progress: Progress,
    /// When its process began.
    began: i64,
    /// The oldest view it may still see.
    pub(crate) floor: u64,
    /// What it saw last.
    pub(crate) view: Option<Rc<View>>,
    seen: Option<(u64, String)>,
    pub(crate) requeue: Option<i64>,
    refused: Option<(Reason, String, i64, String)>,
    pub(crate) last: Option<Decision>,
    pub(crate) writes: u32,
    said: String,
    pub(crate) mutant: Option<Mutant>,
    cache: Option<(Rc<str>, Box<Record>)>,
    wanted: Option<(usize, String, Rc<Desired>)>,
}

impl World {
    /// The record as it stands on the server.
    pub(crate) fn record(&self) -> Option<Record> {
        self.cluster.set.as_ref()?.record.as_ref().map(|text| Record::decode(text).unwrap())
    }

    /// The daemon is killed and comes back.
    pub(crate) fn restart_daemon(&mut self) {
        let (writes, mutant) = (self.daemon.writes, self.daemon.mutant);
        // It lists anew: its view is the newest there is.
        self.daemon = Daemon { floor: self.newest(), writes, mutant, began: self.now, ..Daemon::default() };
        self.say("daemon", || "restarted".into());
    }

    fn record_of(&mut self, text: &Rc<str>) -> Box<Record> {
        match &self.daemon.cache {
            Some((known, record)) if Rc::ptr_eq(known, text) => record.clone(),
            _ => {
                let record = Box::new(Record::decode(text).unwrap_or_else(|why| panic!("an unreadable record: {why}")));
                self.daemon.cache = Some((text.clone(), record.clone()));
                record
            }
        }
    }

    /// The cluster as the planner sees it.
    fn observe(&mut self, view: &View) -> Observed {
        let set = view.set.as_ref().map(|set| {
            let record = match &set.record {
                None => RecordState::Absent,
                Some(text) => RecordState::Is(self.record_of(text), text.to_string()),
            };
            live(set, record)
        });
        let owner = view.set.as_ref().map_or_else(String::new, |set| set.uid.to_string());
        let refused = self.daemon.refused.as_ref().map(|(reason, message, ..)| (*reason, message.clone()));
        Observed {
            workload: WorkloadId::new("default", "web"),
            set,
            pods: view.pods.values().map(|pod| (Ordinal(pod.ordinal), seen(pod, &owner))).collect(),
            stale_seconds: None,
            forbidden: None,
            pods_behind: false,
            sight: Default::default(),
            refused,
            progress: self.daemon.progress.clone(),
            pace: Pace { steady: Some(SignedDuration::from_secs(self.now - self.daemon.began)), ..Pace::default() },
        }
    }

    /// One look and what follows from it; only when something woke the daemon. Says whether it wrote.
    pub(crate) fn daemon_round(&mut self) -> bool {
        let newest = self.newest();
        let mut index = newest;
        if self.faults.stale > 0 && self.rng.u32(0..100) < self.faults.stale {
            index = self.rng.u64(self.daemon.floor.max(self.first_view)..=newest);
        }
        // Never back in time.
        let tip = self.git.tip().id.clone();
        if let Some((seen, at)) = &self.daemon.seen {
            index = index.max(*seen);
            let due = self.daemon.requeue.is_some_and(|due| due <= self.now);
            if index == *seen && *at == tip && !due {
                return false;
            }
        }
        let view = self.views[(index - self.first_view) as usize].clone();
        self.daemon.view = Some(view.clone());
        let generation = view.set.as_ref().map_or(0, |set| set.generation);
        if self.daemon.refused.as_ref().is_some_and(|(_, _, at, of)| *at != generation || *of != tip) {
            self.daemon.refused = None;
        }
        let observed = self.observe(&view);
        let record = observed.set.as_ref().and_then(|set| match &set.record {
            RecordState::Is(record, _) => Some(&**record),
            _ => None,
        });
        let target = record.map_or("", |record| record.target.commit.0.as_str());
        let known =
            self.daemon.wanted.as_ref().filter(|(commits, of, _)| *commits == self.git.commits.len() && of == target);
        let desired = known.map(|(.., desired)| desired.clone()).unwrap_or_else(|| Rc::new(self.git.desired(record)));
        self.daemon.wanted = Some((self.git.commits.len(), target.to_owned(), desired.clone()));
        let now = Timestamp::from_second(self.at()).unwrap();
        let mut decision = decide(&Wanted::Is(&desired, None), &observed, now);
        self.daemon.progress = decision.progress.clone();
        self.daemon.requeue = decision.requeue.map(|at| at.as_second() - T0);
        self.daemon.seen = Some((index, tip.clone()));
        bench::check(&decision);
        if let Some(mutant) = self.daemon.mutant {
            self.pervert(mutant, &mut decision, &view);
        }
        self.monitor_decision(&decision, index == newest);
        let line = bench::line(&decision);
        if self.tracing && (line != self.daemon.said || !decision.actions.is_empty()) {
            self.say("daemon", || line.clone());
            self.daemon.said = line;
        }
        let actions = decision.actions.clone();
        self.daemon.last = Some(decision);
        let wrote = !actions.is_empty();
        for action in actions {
            if !self.carry_out(&action, generation, &tip) {
                break;
            }
        }
        wrote
    }

    /// Carries one action out. False where the rest is left alone.
    fn carry_out(&mut self, action: &Action, generation: i64, tip: &str) -> bool {
        let roll = self.rng.u32(0..100);
        if roll < self.faults.lost {
            self.say("network", || "the write is lost".into());
            self.read_back();
            return false;
        }
        let answered = roll < 100 - self.faults.unanswered;
        if self.tests_hold(action) || self.daemon.mutant == Some(Mutant::NoPreconditions) {
            self.monitor_write(action);
        }
        let pod = match action {
            Action::DeletePod { ordinal, .. } => self.cluster.pods.get(&ordinal.0).copied(),
            _ => None,
        };
        let answer = self.serve(action, self.daemon.mutant);
        self.look();
        self.monitor_written(action, &answer);
        if answer == Answer::Done {
            self.daemon.writes += 1;
        }
        if !answered {
            self.say("network", || "no answer".into());
            self.read_back();
            return false;
        }
        match answer {
            Answer::Done => {
                if let Action::Apply { .. } = action {
                    self.daemon.refused = None;
                }
                self.daemon.floor = self.newest();
                self.daemon.seen = None;
                if let (Some(pod), Action::DeletePod { ordinal, uid, .. }) = (pod, action) {
                    progress::note_repair(&mut self.daemon.progress, *ordinal, &pod.tpl.revision(), uid);
                }
                true
            }
            Answer::Moved => {
                self.say("server", || "moved".into());
                self.read_back();
                false
            }
            Answer::Refused(reason, message) => {
                self.say("server", || format!("refuses: {message}"));
                self.daemon.refused = Some((reason, message, generation, tip.into()));
                self.read_back();
                false
            }
        }
    }

    /// Reads the newest state.
    fn read_back(&mut self) {
        self.daemon.floor = self.newest();
        self.daemon.seen = None;
    }

    /// Makes a decision wrong.
    fn pervert(&mut self, mutant: Mutant, decision: &mut Decision, view: &View) {
        let Some(set) = &view.set else { return };
        let Some(text) = set.record.clone() else { return };
        let record = self.record_of(&text);
        let patch = |record: Record, partition: u32| Action::Patch {
            partition: Some(Partition(partition)),
            record: Box::new(record),
            uid: set.uid.to_string(),
            generation: set.generation,
            old_record: text.to_string(),
            clear_request: None,
        };
        let go_on = |to: u32| {
            let mut new = (*record).clone();
            new.epoch += 1;
            new.partition = Partition(to);
            new.generation += 1;
            new.at = T0 + self.now;
            new.stage = new.stage.map(|stage| stage + 1);
            patch(new, to)
        };
        match mutant {
            Mutant::NoPreconditions | Mutant::PartitionAfterTemplate | Mutant::ReplicasOfItsOwn => {}
            Mutant::NoGate => {
                let waits = matches!(
                    decision.waiting_on,
                    Some(WaitingOn::PodReady { .. } | WaitingOn::PodUpdated { .. } | WaitingOn::PodCreated { .. })
                );
                if waits && !record.done && set.partition > 0 && set.partition < set.replicas {
                    decision.actions = vec![go_on(set.partition - 1)];
                }
            }
            Mutant::DeletesWithoutCause => {
                if let (true, Some(pod)) = (decision.actions.is_empty(), view.pods.values().find(|pod| pod.ready)) {
                    decision.actions = vec![delete(pod)];
                }
            }
            Mutant::DeletesAll => {
                if let [Action::DeletePod { .. }] = decision.actions.as_slice() {
                    let broken = view.pods.values().filter(|pod| !pod.ready && pod.gone_at.is_none());
                    let other = view.pods.values().find(|pod| pod.ready);
                    decision.actions = broken.chain(other).map(delete).collect();
                }
            }
            Mutant::SkipsStages => {
                if let [Action::Patch { partition: Some(partition), record: new, .. }] = decision.actions.as_mut_slice()
                    && !new.done
                {
                    *partition = Partition(0);
                    new.partition = Partition(0);
                }
            }
            Mutant::RaisesPartition => {
                if let [Action::Patch { partition: Some(partition), record: new, .. }] = decision.actions.as_mut_slice()
                    && !new.done
                {
                    *partition = Partition(set.partition + 1);
                    new.partition = *partition;
                }
            }
            Mutant::WritesAtRest => {
                if decision.phase == Phase::Healthy && decision.actions.is_empty() {
                    let mut new = (*record).clone();
                    new.epoch += 1;
                    decision.actions = vec![patch(new, set.partition)];
                }
            }
            Mutant::GoesOnAfterFailure => {
                if decision.waiting_on == Some(WaitingOn::Decision) && set.partition > 0 {
                    decision.actions = vec![go_on(set.partition - 1)];
                }
            }
            Mutant::ParksEarly => {
                if !record.done && matches!(decision.waiting_on, Some(WaitingOn::PodUpdated { .. })) {
                    let mut new = (*record).clone();
                    (new.done, new.epoch, new.stable) = (true, new.epoch + 1, Some(new.target.clone()));
                    new.partition = phaseline::model::PARKED;
                    new.generation += 1;
                    decision.actions = vec![patch(new, phaseline::model::PARKED.0)];
                }
            }
            Mutant::RepeatsStage => {
                if !record.done && decision.actions.is_empty() && record.stage.is_some_and(|stage| stage > 0) {
                    let mut new = (*record).clone();
                    (new.epoch, new.at) = (new.epoch + 1, new.at + 1);
                    decision.actions = vec![patch(new, set.partition)];
                }
            }
        }
    }
}

fn delete(pod: &Pod) -> Action {
    Action::DeletePod { ordinal: Ordinal(pod.ordinal), uid: pod.uid.to_string(), resource_version: pod.rv.to_string() }
}

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_second(T0 + seconds).unwrap()
}

fn live(set: &Set, record: RecordState) -> LiveSet {
    LiveSet {
        uid: set.uid.to_string(),
        resource_version: set.rv.to_string(),
        generation: set.generation,
        terminating: false,
        replicas: set.replicas,
        start: set.start,
        min_ready_seconds: set.min_ready,
        parallel: set.parallel,
        strategy: "RollingUpdate".into(),
        partition: Some(Partition(set.partition)),
        max_unavailable: set.max_unavailable.then_some(1),
        deletes_claims_when_scaled: set.when_scaled_delete,
        claim_templates: vec!["data".into()],
        template: set.tpl.hash(),
        restarted_at: set.tpl.restarted_at(),
        ready_replicas: 0,
        observed_generation: set.observed,
        current_revision: set.current.revision(),
        update_revision: set.update.revision(),
        record,
        request: set.request.as_ref().map(|request| Ok((**request).clone())),
        request_text: set.request.as_deref().map(request_text).unwrap_or_default(),
        owners: set.owners.list(),
    }
}

fn seen(pod: &Pod, owner: &str) -> phaseline::model::Pod {
    phaseline::model::Pod {
        ordinal: Ordinal(pod.ordinal),
        uid: pod.uid.to_string(),
        resource_version: pod.rv.to_string(),
        owner: owner.to_owned(),
        revision: pod.tpl.revision(),
        created: moment(pod.created),
        scheduled: pod.scheduled.map(moment),
        started: pod.started.map(moment),
        ready: pod.ready,
        ready_since: Some(moment(pod.ready_since)),
        terminating: pod.gone_at.is_some(),
        phase: if pod.started.is_some() && pod.fault != Some("ImagePullBackOff") {
            PodPhase::Running
        } else {
            PodPhase::Pending
        },
        restarts: pod.restarts,
        faults: pod
            .fault
            .map(|reason| ContainerFault { container: "c".into(), reason: reason.into(), message: String::new() })
            .into_iter()
            .collect(),
        node_lost: false,
        node: String::new(),
        gone_by: None,
        finalizers: Vec::new(),
        longest_run: None,
    }
}
