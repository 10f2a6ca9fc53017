//! One pass of `run --once`: when it is over, and why it did not come as far as it should have.

use std::time::Duration;

use tokio::time::Instant;

use super::controller::Controller;
use crate::cluster::{Change, ClusterEvent, Source};

/// How long a watch may be lost in one pass: an API server that is being started answers by then.
const LOST: Duration = Duration::from_secs(20);

/// A watch that says nothing.
pub(super) struct Lost {
    since: Instant,
    why: String,
    /// A right is missing: the sets behind it say so, and the others' pass goes on.
    forbidden: bool,
}

impl Controller {
    /// The lost watches that a pass waits for.
    fn waited_for(&self) -> impl Iterator<Item = (&Source, &Lost)> {
        self.lost.iter().filter(|(_, lost)| !lost.forbidden)
    }

    /// Notes which watches are lost, and since when.
    pub(super) fn note_lost(&mut self, event: &ClusterEvent) {
        match &event.change {
            Change::Lost { error, forbidden, .. } => {
                let since = self.lost.get(&event.source).map_or_else(Instant::now, |lost| lost.since);
                let lost = Lost { since, why: error.clone(), forbidden: *forbidden };
                self.lost.insert(event.source.clone(), lost);
            }
            Change::Sets { .. }
            | Change::Set { .. }
            | Change::SetGone { .. }
            | Change::Pods { .. }
            | Change::Pod { .. }
            | Change::PodGone { .. }
            | Change::Heard { .. } => {
                if self.lost.remove(&event.source).is_none() {
                    return;
                }
            }
        }
        let lost: Vec<String> = self.lost.iter().map(|(source, lost)| format!("{source}: {}", lost.why)).collect();
        let now = self.options.clock.now();
        self.leader.knows(|report| report.note_lost(&lost, now));
    }

    /// When a pass has to be looked at even if nothing happens.
    pub(super) fn pass_is_looked_at(&self) -> Option<Instant> {
        let lost = self.waited_for().map(|(_, lost)| lost.since + LOST).min();
        self.ends.into_iter().chain(lost).min().filter(|_| self.options.once)
    }

    /// Whether one pass is over: both sides told everything, nothing is on its way, nothing has to be sent again. Or it
    /// has to end without: then there is a problem.
    pub(super) fn pass_is_over(&mut self, now: Instant) -> bool {
        let looked = self.git.asked && self.store.has_told_all(now) && self.waited_for().next().is_none();
        let resting = self
            .workers
            .values()
            .all(|worker| !worker.queued && (worker.is_given_up() || worker.not_before.is_none_or(|when| when <= now)));
        let quiet = self.tasks.is_empty() && self.dirty.is_empty() && self.git.asking.is_idle();
        if looked && self.leader.leads() && quiet && resting {
            self.problem = self.shortfall();
            return true;
        }
        let given_up = self.waited_for().find(|(_, lost)| lost.since + LOST <= now);
        if let Some((source, lost)) = given_up {
            self.problem = Some(format!("cannot see {source} of {}: {}", self.cluster.server, lost.why));
            return true;
        }
        if self.ends.is_some_and(|ends| ends <= now) {
            self.problem = Some(self.unfinished());
            return true;
        }
        false
    }

    /// What a pass that is over did not do.
    fn shortfall(&self) -> Option<String> {
        let failed = self.workers.iter().find(|(_, worker)| worker.is_given_up() && !worker.failing.is_empty());
        if let Some((workload, worker)) = failed {
            return Some(format!("{workload} cannot be written: {}", worker.failing));
        }
        match (&self.git_trouble, &self.git.view) {
            (Some(trouble), Some(view)) => Some(format!(
                "the repository cannot be read: {trouble}; what was due at {}, its last good commit, is done",
                view.commit.id.short()
            )),
            (Some(trouble), None) => Some(format!("the repository cannot be read: {trouble}")),
            (None, Some(view)) if view.wishes.is_empty() => {
                Some(format!("nothing to do: commit {} of the repository has no StatefulSet", view.commit.id.short()))
            }
            (None, Some(_) | None) => None,
        }
    }

    /// What a pass that ran out of time was still about.
    fn unfinished(&self) -> String {
        let time = self.options.timeout.unwrap_or_default().as_secs();
        let what = if let Some((source, lost)) = self.lost.iter().next() {
            format!("{source} cannot be seen: {}", lost.why)
        } else if !self.git.asked {
            "the repository has not been read".to_owned()
        } else if !self.leader.leads() {
            match self.leader.other() {
                Some(other) => format!("another daemon leads: {other}"),
                None => "this daemon does not hold the Lease".to_owned(),
            }
        } else if let Some((workload, worker)) = self.workers.iter().find(|(_, it)| !it.failing.is_empty()) {
            format!("{workload} is not written: {}", worker.failing)
        } else {
            let busy = self.workers.iter().find(|(_, it)| it.busy || it.queued || it.not_before.is_some());
            busy.map_or_else(
                || "the cluster has not answered".to_owned(),
                |(name, _)| format!("{name} is being written"),
            )
        };
        format!("not done within {time} s: {what}")
    }
}
