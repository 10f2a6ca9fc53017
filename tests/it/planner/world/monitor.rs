//! The invariants, watched at every write against the server's truth (reliability.md 2.4).

use std::collections::BTreeSet;

use phaseline::model::{
    Action, ApplyKind, Decision, Mode, PARKED, Partition, Phase, Plan, Ramp, Record, Schedule, Size,
};

use super::World;
use super::cluster::{Pod, Set, View};
use super::server::Answer;
use crate::planner::bench::action_words;

/// What is remembered between two writes.
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    /// The first thing that was wrong.
    pub(crate) wrong: Option<String>,
    /// Stages written, by rollout and stage.
    stages: BTreeSet<(String, u32)>,
    /// The view of our last write.
    last_write: u64,
    /// Replicas at our last write.
    pub(crate) replicas: u32,
    /// Somebody else moved template or partition, and it was accepted or overwritten: shares are no measure any more.
    pub(crate) meddled: bool,
    /// Pods that were deleted, by uid.
    deleted: BTreeSet<u32>,
    /// Partitions that every rollout was written at.
    pub(crate) log: Vec<(String, u32)>,
}

impl Monitor {
    pub(crate) fn fail(&mut self, what: impl Into<String>) {
        if self.wrong.is_none() {
            self.wrong = Some(what.into());
        }
    }
}

/// How many pods each stage of a plan reaches: worked out anew, not by the code under test.
fn counts(plan: &Plan, replicas: u32) -> Vec<u32> {
    let raw: Vec<u32> = match &plan.schedule {
        Schedule::ByHand(partition) => vec![replicas.saturating_sub(*partition)],
        Schedule::Stages(stages) => stages
            .iter()
            .map(|stage| match stage.size {
                Size::Pods(pods) => pods,
                Size::Percent(percent) => (replicas * percent).div_ceil(100),
                Size::Partition(partition) => replicas.saturating_sub(partition),
            })
            .collect(),
        Schedule::Ramp { ramp, .. } => {
            let (mut list, mut reached, mut step) = (Vec::new(), 0, 1);
            while reached < replicas {
                reached = match ramp {
                    Ramp::Linear(by) => reached + by,
                    Ramp::Geometric(factor) => {
                        let next = reached + step;
                        step *= factor;
                        next
                    }
                    Ramp::Exponential(base) => (reached * base).max(1),
                };
                list.push(reached);
            }
            list
        }
    };
    let mut most = 0;
    let mut rising = Vec::new();
    for count in raw {
        let count = if matches!(plan.schedule, Schedule::ByHand(_)) { count } else { count.max(1) };
        let count = count.min(replicas);
        if count > most {
            most = count;
            rising.push(count);
        }
    }
    rising
}

fn index(set: &Set, pod: &Pod) -> Option<u32> {
    pod.ordinal.checked_sub(set.start).filter(|index| *index < set.replicas)
}

/// Whether every pod at or above the partition is at the target, Ready for the soak, and nothing is on its way out.
fn gate_holds(view: &View, partition: u32, soak: u32, now: i64, count: u32) -> bool {
    let Some(set) = &view.set else { return false };
    let within: Vec<&Pod> = view.pods.values().filter(|pod| index(set, pod).is_some()).collect();
    let soak = i64::from(soak.max(set.min_ready));
    let verified =
        |pod: &&&Pod| pod.tpl == set.update && pod.ready && pod.gone_at.is_none() && pod.ready_since + soak <= now;
    set.observed == set.generation
        && within.len() == set.replicas as usize
        && within.len() == view.pods.len()
        && within.iter().all(|pod| pod.gone_at.is_none())
        && within.iter().filter(|pod| index(set, pod).is_some_and(|at| at >= partition)).all(|pod| verified(&pod))
        && within.iter().filter(verified).count() >= count as usize
}

impl World {
    fn wrong(&mut self, rule: &str, what: String) {
        let now = self.now;
        self.monitor.fail(format!("{rule} at {now}s: {what}"));
    }

    /// Looks at a decision.
    pub(crate) fn monitor_decision(&mut self, decision: &Decision, fresh: bool) {
        let ends = parks(decision) && self.record().is_some_and(|record| !record.done);
        if decision.phase == Phase::Healthy && !decision.actions.is_empty() && !ends {
            self.wrong("I12", format!("a write at rest: {:?}", decision.actions));
        }
        if decision.phase == Phase::Healthy
            && decision.actions.is_empty()
            && fresh
            && !self.monitor.meddled
            && let (Some(record), Some(set)) = (self.record(), self.cluster.set.clone())
        {
            let astray = self.cluster.pods.values().find(|pod| pod.tpl.hash() != record.target.hash);
            if let Some(pod) = astray.copied() {
                self.wrong("healthy", format!("web-{} runs {} at rest", pod.ordinal, pod.tpl.revision()));
            }
            if set.partition != PARKED.0 {
                self.wrong("healthy", "not parked".into());
            }
        }
    }

    /// Looks at a write before it is committed.
    pub(crate) fn monitor_write(&mut self, action: &Action) {
        if !self.tests_hold(action) {
            self.wrong("I6", format!("a write that was overtaken: {}", action_words(action)));
        }
        let record = self.record();
        match action {
            Action::Apply { kind, manifest, partition, record: new, .. } => {
                let replicas = manifest.pointer("/spec/replicas").and_then(serde_json::Value::as_u64);
                let stated = self.git.tip().replicas.map(u64::from);
                if replicas != stated {
                    self.wrong("I8", format!("replicas {replicas:?} applied, the manifest states {stated:?}"));
                }
                self.claims(replicas);
                if let (Some(set), Some(old)) = (self.cluster.set.clone(), record) {
                    self.template(*kind, manifest, partition.0, &set, &old, new);
                }
            }
            Action::Patch { partition, record: new, .. } => {
                if let (Some(set), Some(old)) = (self.cluster.set.clone(), record) {
                    self.stage(*partition, &set, &old, new);
                }
            }
            Action::HoldBack { partition, .. } => {
                if let Some(set) = self.cluster.set.clone()
                    && partition.0 <= set.partition
                {
                    self.wrong("I3", format!("added pods are held back at {partition}, below {}", set.partition));
                }
            }
            Action::DeletePod { ordinal, .. } => self.deletion(ordinal.0),
            Action::HandOverReplicas { replicas, .. } => {
                if self.cluster.set.as_ref().is_some_and(|set| set.replicas != *replicas) {
                    self.wrong("I8", "other replicas are handed over than there are".into());
                }
            }
            Action::Adopt { .. } | Action::Release { .. } | Action::DropRequest { .. } => {}
        }
    }

    /// Looks at what a write left.
    pub(crate) fn monitor_written(&mut self, action: &Action, answer: &Answer) {
        if *answer != Answer::Done {
            return;
        }
        self.monitor.last_write = self.newest();
        let Some(set) = self.cluster.set.clone() else { return };
        if let Action::Apply { .. } = action {
            let stated = self.git.tip().replicas;
            let before = self.monitor.replicas;
            if stated.is_none() && before != 0 && set.replicas != before && self.views.len() > 1 {
                let live = self.views[self.views.len() - 2].set.as_ref().map(|set| set.replicas);
                if live.is_some_and(|live| live != set.replicas) {
                    self.wrong("I8", format!("an apply moved replicas to {}", set.replicas));
                }
            }
            if stated.is_some_and(|stated| stated != set.replicas) {
                self.wrong("I8", format!("an apply set replicas to {}", set.replicas));
            }
        }
        if let Some(record) = self.record() {
            // Higher than recorded it stands where added pods are held back.
            if record.partition.0 > set.partition && !self.monitor.meddled {
                self.wrong("record", format!("partition {} recorded, {} there", record.partition, set.partition));
            }
            if matches!(action, Action::Patch { partition: Some(_), .. } | Action::Apply { .. } | Action::Adopt { .. })
                && record.generation != set.generation
            {
                let (is, there) = (record.generation, set.generation);
                self.wrong("record", format!("generation {is} recorded, {there} there"));
            }
            self.monitor.log.push((record.rollout, set.partition));
        }
        if matches!(action, Action::Patch { partition: Some(_), .. } | Action::Apply { .. }) {
            self.monitor.replicas = set.replicas;
        }
    }

    /// I8: no claim is given up that nobody gave up.
    fn claims(&mut self, replicas: Option<u64>) {
        let tip = self.git.tip();
        if let (Some(set), true, false) = (&self.cluster.set, tip.when_scaled_delete, tip.allow_claim_deletion)
            && (replicas.is_some_and(|replicas| replicas < u64::from(set.replicas)) || tip.start > set.start)
        {
            self.wrong("I8", "claims would be deleted".into());
        }
    }

    /// I2: a new template exposes no more than it may.
    fn template(
        &mut self,
        kind: ApplyKind,
        manifest: &serde_json::Value,
        partition: u32,
        set: &Set,
        old: &Record,
        new: &Record,
    ) {
        let id = manifest.pointer("/spec/template/id").and_then(|id| id.as_str()).unwrap_or_default();
        let replicas = self.git.tip().replicas.unwrap_or(set.replicas);
        if self.monitor.meddled || old.stable.is_none() {
            return;
        }
        let changed = id != set.tpl.id.to_string();
        let touched = self
            .cluster
            .pods
            .values()
            .filter(|pod| index(set, pod).is_some_and(|at| at < replicas && at >= partition))
            .filter(|pod| pod.tpl.id.to_string() != id)
            .count() as u32;
        let plan = &self.git.tip().plan;
        let first = counts(plan, replicas).first().copied().unwrap_or(0);
        let proven = old.proven.iter().any(|hash| hash.0 == id);
        let stable = old.stable.as_ref().is_some_and(|stable| stable.hash.0 == id);
        let kept = if old.done { 0 } else { set.replicas.saturating_sub(set.partition) };
        let share = if new.done { 0 } else { replicas.saturating_sub(partition) };
        let allowed = if changed {
            if old.done && proven { replicas } else { kept.max(first) }
        } else {
            // The same template: pods it exposes are those of its stage.
            share.min(kept.max(counts(&old.plan, replicas).into_iter().max().unwrap_or(0)))
        };
        // Nothing stands that could be lost.
        let fallen = new.mode == Mode::Install
            && self.daemon.view.as_ref().is_some_and(|view| {
                !view.pods.values().any(|pod| pod.ready && pod.gone_at.is_none() && pod.tpl == set.current)
            });
        let goes_back = stable && !old.done;
        if touched > allowed && !goes_back && !fallen {
            self.wrong("I2", format!("{kind:?} of {id} touches {touched} pods, {allowed} are allowed"));
        }
        if kind == ApplyKind::Sync && changed {
            self.wrong("I2", format!("a sync brings template {id}"));
        }
        let failed =
            old.failed.iter().any(|failed| failed.commit == old.target.commit && failed.hash == old.target.hash);
        if !changed && failed && share > kept.max(replicas.saturating_sub(old.partition.0)) && new.hold.is_none() {
            self.wrong("I16", "a halted rollout exposes more".into());
        }
    }

    /// I1, I3, I4, I16: a stage after the other, each through its gate.
    fn stage(&mut self, partition: Option<Partition>, set: &Set, old: &Record, new: &Record) {
        if new.epoch != old.epoch + 1 {
            self.wrong("I7", format!("epoch {} after {}", new.epoch, old.epoch));
        }
        if new.done && !old.done {
            return self.completion(set, old, new);
        }
        let Some(Partition(to)) = partition else {
            let same =
                (&new.rollout, new.stage, new.exposed, &new.plan, new.promoted, &new.hold, &new.req, &new.failed)
                    == (
                        &old.rollout,
                        old.stage,
                        old.exposed,
                        &old.plan,
                        old.promoted,
                        &old.hold,
                        &old.req,
                        &old.failed,
                    );
            if same && new.target == old.target && new.live == old.live {
                self.wrong("I12", "a write that says nothing".into());
            }
            return;
        };
        if self.monitor.meddled {
            return;
        }
        let (from, replicas) = (set.partition, set.replicas);
        let exposed = |partition: u32| replicas.saturating_sub(partition);
        if new.rollout != old.rollout {
            // A restart from rest: the first stage, or all of it in the cases without one.
            let first = counts(&new.plan, replicas).first().copied().unwrap_or(0);
            let by_hand = matches!(new.plan.schedule, Schedule::ByHand(_));
            if old.done && exposed(to) > first && !by_hand {
                self.wrong("I2", format!("a restart begins with {} pods, {first} are allowed", exposed(to)));
            }
            return;
        }
        if new.mode == Mode::Install {
            // Nothing to hold back, and nothing is held back.
            if to != 0 {
                self.wrong("I3", format!("an install is held at {to}"));
            }
            return;
        }
        let scaled = (new.stage, new.exposed, new.at) == (old.stage, old.exposed, old.at);
        if scaled {
            let least = old.exposed.unwrap_or(0);
            let stages = counts(&new.plan, replicas);
            let fits = stages.contains(&exposed(to)) || exposed(to) == least.min(replicas);
            let halted = old.hold.is_some()
                || old.failed.iter().any(|it| (&it.commit, &it.hash) == (&old.target.commit, &old.target.hash));
            let before = old.replicas.map_or(0, |before| before.saturating_sub(old.partition.0));
            if halted && exposed(to) > before && replicas != 0 {
                self.wrong("I16", format!("frozen at {before} pods, and a scale-up exposes {}", exposed(to)));
            }
            if !fits && !halted && old.mode != Mode::Back {
                self.wrong("I3", format!("the partition follows to {to} of {replicas}: no stage of {stages:?}"));
            }
            if to > from && replicas == self.monitor.replicas && old.hold.is_none() && old.failed.is_empty() {
                self.wrong("I3", format!("the partition rises from {from} to {to} and nobody scaled"));
            }
            return;
        }
        if to > from {
            self.wrong("I3", format!("the partition rises from {from} to {to}"));
        }
        let failed =
            old.failed.iter().any(|failed| failed.commit == old.target.commit && failed.hash == old.target.hash);
        if failed || (old.hold.is_some() && new.hold.is_some()) {
            self.wrong("I16", "a stage after a failure or under a hold".into());
        }
        let key = (format!("{} by {}", new.rollout, new.digest), new.stage.unwrap_or(u32::MAX));
        let by_hand = matches!(new.plan.schedule, Schedule::ByHand(_));
        if !by_hand && !self.monitor.stages.insert(key) && new.plan == old.plan {
            self.wrong("I7", format!("stage {:?} of {} is written twice", new.stage, new.rollout));
        }
        if new.mode == Mode::Staged && !by_hand {
            let next = counts(&old.plan, replicas).into_iter().find(|count| *count > exposed(from));
            if next != Some(exposed(to)) {
                self.wrong("I1", format!("{} pods after {}, not {next:?}", exposed(to), exposed(from)));
            }
        }
        // `promote --full` skips the soak that it finds.
        let soak = if new.mode == Mode::Full { 0 } else { self.soak(old, exposed(from)) };
        let since = self.monitor.last_write.max(self.first_view) - self.first_view;
        let held =
            self.views.iter().skip(since as usize).any(|view| gate_holds(view, from, soak, self.now, exposed(from)));
        if !held {
            self.wrong(
                "I4",
                format!("{} pods are exposed and the gate of {} was never passed", exposed(to), exposed(from)),
            );
        }
    }

    /// The soak that the stage of that many pods asks for at least: the one of a stage that reaches exactly them.
    fn soak(&self, record: &Record, exposed: u32) -> u32 {
        let replicas = self.cluster.set.as_ref().map_or(0, |set| set.replicas);
        match &record.plan.schedule {
            _ if record.mode != Mode::Staged => 0,
            Schedule::Stages(stages) => {
                // A stage that falls back behind one before it counts with that one.
                let (mut most, mut soak) = (0, 0);
                for stage in stages {
                    most = most.max(stage.size.count(replicas));
                    if most == exposed {
                        soak = soak.max(stage.min_ready_seconds);
                    }
                }
                soak
            }
            Schedule::Ramp { min_ready_seconds, .. } if counts(&record.plan, replicas).contains(&exposed) => {
                *min_ready_seconds
            }
            Schedule::Ramp { .. } => 0,
            Schedule::ByHand(_) => 0,
        }
    }

    /// Parked means done: every pod at the target, Ready.
    fn completion(&mut self, set: &Set, old: &Record, new: &Record) {
        if new.failed.len() > old.failed.len() || self.monitor.meddled || set.replicas == 0 {
            return;
        }
        let since = self.monitor.last_write.max(self.first_view) - self.first_view;
        let all = |view: &View| {
            let target = |pod: &Pod| pod.tpl.hash() == new.target.hash;
            gate_holds(view, 0, 0, self.now, view.set.as_ref().map_or(0, |set| set.replicas))
                && view.pods.values().all(target)
                || (old.mode == Mode::Back
                    && gate_holds(view, set.partition, 0, self.now, 0)
                    && view.pods.values().all(target))
        };
        if !self.views.iter().skip(since as usize).any(|view| all(view)) {
            self.wrong("I4", format!("{} is called complete and is not", new.rollout));
        }
    }

    /// I8: only a broken pod whose replacement is another, one at a time.
    fn deletion(&mut self, ordinal: u32) {
        let (Some(set), Some(pod)) = (self.cluster.set.clone(), self.cluster.pods.get(&ordinal).copied()) else {
            return;
        };
        // Pods have preconditions of their own: of the set the daemon knows what it saw.
        let seen = self.daemon.view.clone().and_then(|view| view.set.clone()).unwrap_or_else(|| set.clone());
        let native = if index(&seen, &pod).is_some_and(|at| at < seen.partition) { seen.current } else { seen.update };
        let other = self
            .daemon
            .view
            .as_ref()
            .and_then(|view| view.pods.values().find(|other| other.gone_at.is_some()).map(|other| other.ordinal));
        if pod.ready {
            self.wrong("I8", format!("web-{ordinal} is Ready and deleted"));
        }
        if native == pod.tpl {
            self.wrong("I8", format!("web-{ordinal} would come back the same"));
        }
        if let Some(other) = other {
            self.wrong("I8", format!("web-{ordinal} is deleted while web-{other} terminates"));
        }
        if seen.observed != seen.generation {
            self.wrong("I8", format!("web-{ordinal} is deleted before the controller has seen the last write"));
        }
        if !self.monitor.deleted.insert(pod.uid) {
            self.wrong("I7", format!("web-{ordinal} is deleted twice"));
        }
    }

    /// I12: nothing is written at rest.
    pub(crate) fn monitor_silence(&mut self, seconds: i64) {
        let writes = self.daemon.writes;
        let end = self.now + seconds;
        while self.now < end {
            self.now = self.next_event().map_or(end, |at| at.min(end)).max(self.now + 1);
            self.settle();
        }
        if self.daemon.writes != writes {
            self.wrong("I12", "writes at rest".into());
        }
    }

    /// Whether the set is where Git wants it: Healthy, parked, every pod at the tip's template.
    pub(crate) fn is_converged(&self) -> bool {
        let (Some(set), Some(record)) = (&self.cluster.set, self.record()) else { return false };
        let tip = self.git.tip();
        let pods = self.cluster.pods.len() == set.replicas as usize
            && self.cluster.pods.values().all(|pod| pod.tpl.id == tip.template && pod.ready && pod.gone_at.is_none());
        let healthy =
            self.daemon.last.as_ref().is_some_and(|last| last.phase == Phase::Healthy && last.actions.is_empty());
        pods && healthy && record.done && set.partition == PARKED.0 && set.current == set.update
    }
}

fn parks(decision: &Decision) -> bool {
    matches!(decision.actions.as_slice(), [Action::Patch { record, .. }] if record.done)
}
