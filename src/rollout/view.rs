//! One case on the table, and the parts every decision is made of.

use jiff::Timestamp;

use super::stage::Standing;
use super::steady::Steady;
use super::{frozen, running};
use crate::model::{
    Action, Decision, Desired, LiveSet, Observed, Partition, Phase, Reason, Record, StageView, WaitingOn,
};

/// A set of ours with everything known about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    /// Git's wish; none where Git was not asked, or has nothing that can be used.
    pub desired: Option<&'a Desired>,
    /// The cluster's side.
    pub observed: &'a Observed,
    /// The set in it.
    pub set: &'a LiveSet,
    /// Its record.
    pub record: &'a Record,
    /// The text the record was read from.
    pub text: &'a str,
    /// The time, by the server's clock.
    pub now: Timestamp,
    /// What else tells that time has passed.
    pub steady: Steady<'a>,
    /// A person's word, in this very look, that a healthy pod may be taken down beside those that are away.
    pub forced: bool,
}

impl Case<'_> {
    /// The time in whole seconds, as records keep it.
    pub(super) fn seconds(&self) -> i64 {
        self.now.as_second()
    }

    /// The set's name, for hints.
    pub(super) fn name(&self) -> &str {
        &self.observed.workload.name
    }

    /// A patch that moves the partition and the record in one write.
    pub(super) fn advance(&self, mut record: Record, partition: Partition) -> Action {
        let moves = self.set.partition != Some(partition);
        record.partition = partition;
        record.replicas = Some(self.set.replicas);
        record.generation = self.set.generation.saturating_add(i64::from(moves));
        self.write(record, moves.then_some(partition))
    }

    /// A patch of the record alone.
    pub(super) fn note(&self, mut record: Record) -> Action {
        let (before, replicas) = (self.record, self.set.replicas);
        if !frozen::is_halted(before) && running::follow(before, replicas) == before.partition {
            // The partition is the right one for as many as there are by now.
            record.replicas = Some(replicas);
        }
        self.write(record, None)
    }

    fn write(&self, mut record: Record, partition: Option<Partition>) -> Action {
        record.epoch = self.record.epoch.saturating_add(1);
        let answered = record.req.as_ref().map(|answer| answer.id.as_str());
        let is_over = match &self.set.request {
            Some(Ok(request)) => Some(request.id.as_str()) == answered,
            Some(Err(_)) => true,
            None => false,
        };
        Action::Patch {
            partition,
            record: Box::new(record),
            uid: self.set.uid.clone(),
            generation: self.set.generation,
            old_record: self.text.to_owned(),
            clear_request: is_over.then(|| self.set.request_text.clone()),
        }
    }

    /// uid and resourceVersion, for writes that test both.
    pub(super) fn base(&self) -> (String, String) {
        (self.set.uid.clone(), self.set.resource_version.clone())
    }

    /// A decision about this case, nothing to do.
    pub(super) fn say(&self, phase: Phase, reason: Reason) -> Decision {
        say(self.observed, phase, reason)
    }
}

/// A decision with nothing to do.
pub(super) fn say(observed: &Observed, phase: Phase, reason: Reason) -> Decision {
    Decision {
        actions: Vec::new(),
        phase,
        reason,
        waiting_on: None,
        culprit: None,
        message: String::new(),
        stage: None,
        pending: None,
        requeue: None,
        progress: observed.progress.clone(),
    }
}

impl Decision {
    pub(super) fn with(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }

    pub(super) fn waiting(mut self, waiting: WaitingOn) -> Self {
        self.waiting_on = Some(waiting);
        self
    }

    pub(super) fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Looks again at that moment, or at an earlier one that was set before.
    pub(super) fn again(mut self, moment: Timestamp) -> Self {
        self.requeue = Some(self.requeue.map_or(moment, |earlier| earlier.min(moment)));
        self
    }
}

/// The stage as people see it.
pub(super) fn stage_view(standing: &Standing, partition: Partition, verified: u32) -> StageView {
    StageView {
        number: standing.number,
        of: standing.of,
        name: standing.group.as_ref().map(|group| group.name.clone()).unwrap_or_default(),
        count: standing.count,
        partition,
        verified,
    }
}
