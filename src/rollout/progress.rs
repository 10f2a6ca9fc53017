//! Says since when a stage has not come any further.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::gate::{self, Answer, Question};
use crate::model::{Milestone, Ordinal, Pod, Progress, Record};

/// What the deadline says.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The memory for the next look.
    pub progress: Progress,
    /// When the deadline passes, if nothing moves.
    pub deadline: Timestamp,
    /// The most restarts of one of the stage's pods since the stage began (or was tried again), and which pod.
    pub restarts: Option<(Ordinal, u32)>,
}

/// Brings the memory up to date.
///
/// Progress is a new maximum of verified pods, or a pod of the stage that gets further than it ever was: created,
/// scheduled, started, Ready for the first time. A pod that goes up and down is none. A pod that is Ready has its
/// soak on top of the deadline, once. While the gate is passed the deadline stands still: a stage may pause for days,
/// and a pod that is evicted then has as long as any other.
pub fn look(record: &Record, question: Question<'_>, answer: &Answer, now: Timestamp, before: &Progress) -> Verdict {
    let verified = answer.verified;
    // Deadlines run on the steady clock: what is only known by a stamp is put where the stamp would be on it.
    let steady = question.steady.shows(now);
    let on_it = |stamp: Timestamp| steady.saturating_sub(now.duration_since(stamp));
    // The revision is part of it: until the controller has seen a start, the pods that count are still those of before,
    // and how far they had come is nothing that the new ones have reached.
    let revision = &question.set.update_revision;
    let key = format!("{}/{:?}/{:?}/{}/{revision}", record.rollout, record.stage, record.exposed, record.at);
    let fresh = before.key != key;
    let mut progress = if fresh {
        Progress {
            key,
            reached: BTreeMap::new(),
            verified: 0,
            at: None,
            passed: None,
            jumps: question.steady.pace.jumps,
            ready: None,
            restarts: stage_pods(question)
                .filter(|pod| pod.created.as_second() < record.at)
                .map(|pod| (pod.uid.clone(), pod.restarts))
                .collect(),
            repairs: before.repairs.clone(),
            repairing: before.repairing.clone(),
        }
    } else {
        before.clone()
    };
    let written = Timestamp::from_second(record.at).unwrap_or(now).min(now);
    let mut at = progress.at.unwrap_or_else(|| on_it(written));
    if progress.jumps != question.steady.pace.jumps {
        // The clock was set, or the daemon stood still: nobody knows what it missed. The deadline starts anew.
        progress.jumps = question.steady.pace.jumps;
        progress.passed = progress.passed.map(|_| steady);
        at = at.max(steady);
    }
    let soak = SignedDuration::from_secs(i64::from(question.soak.max(question.set.min_ready_seconds)));
    let allowed = SignedDuration::from_secs(i64::from(record.plan.progress_deadline_seconds));
    for pod in stage_pods(question) {
        let (milestone, when) = furthest(pod);
        let known = progress.reached.get(&pod.ordinal);
        if known.is_none_or(|known| *known < milestone) {
            progress.reached.insert(pod.ordinal, milestone);
            // At the first look after a start of ours the pods themselves tell when they moved.
            let moved = if fresh { on_it(when.min(now)) } else { steady };
            at = at.max(if milestone == Milestone::Ready { moved.saturating_add(soak) } else { moved });
        }
    }
    if verified > progress.verified {
        progress.verified = verified;
        if !fresh {
            at = at.max(steady);
        }
    }
    let set = question.set;
    let all = gate::own_pods(set, question.pods).all(|pod| pod.revision == set.update_revision);
    let unpromoted = all && set.current_revision != set.update_revision;
    let passed = answer.waiting_on.is_none() && !unpromoted;
    if passed {
        if fresh {
            at = steady;
        }
        progress.passed.get_or_insert(steady);
    } else if let Some(since) = progress.passed.take() {
        // The deadline stood still. One that flaps uses it up bit by bit; what stood for long has a new one.
        let stood = SignedDuration::from_secs(steady.saturating_sub(since).as_secs().max(0));
        at = if stood >= allowed { steady } else { at.saturating_add(stood) };
    } else if let Some(since) = fresh.then(|| away_since(question, now)).flatten() {
        at = at.max(on_it(since.min(now)));
    }
    progress.at = Some(at);
    let restarts = stage_pods(question)
        .map(|pod| {
            (pod.ordinal, pod.restarts.saturating_sub(progress.restarts.get(&pod.uid).copied().unwrap_or_default()))
        })
        .max_by_key(|(_, restarts)| *restarts);
    let left = at.saturating_add(allowed).saturating_sub(steady);
    Verdict { progress, restarts, deadline: now.checked_add(left).unwrap_or(Timestamp::MAX) }
}

/// Since when the pod that went away last is away, as far as the pods tell: a missing one went just now. But for those
/// that are missing because of one below them: ordered, the controller makes none above a pod that is not Ready.
fn away_since(question: Question<'_>, now: Timestamp) -> Option<Timestamp> {
    let mut held_up = false;
    gate::ordinals(question.set)
        .filter_map(|ordinal| {
            let pod = question.pods.get(&ordinal).filter(|pod| pod.owner == question.set.uid);
            let away = match pod {
                Some(pod) if pod.terminating => Some(now),
                Some(pod) if pod.ready => None,
                Some(pod) => Some(pod.ready_since.unwrap_or(pod.created).max(pod.created)),
                None if held_up => None,
                None => Some(now),
            };
            held_up |= away.is_some() && !question.set.parallel;
            away
        })
        .max()
}

/// The pods that count: those that run the target and are exposed.
fn stage_pods<'a>(question: Question<'a>) -> impl Iterator<Item = &'a Pod> {
    gate::own_pods(question.set, question.pods).filter(move |pod| {
        pod.revision == question.set.update_revision
            && !pod.terminating
            && gate::is_exposed(question.set, question.partition, pod.ordinal)
    })
}

/// How far a pod has come, and when it got there.
fn furthest(pod: &Pod) -> (Milestone, Timestamp) {
    match (pod.ready, pod.started, pod.scheduled) {
        (true, _, _) => (Milestone::Ready, pod.ready_since.unwrap_or(pod.created)),
        (false, Some(started), _) => (Milestone::Started, started),
        (false, None, Some(scheduled)) => (Milestone::Scheduled, scheduled),
        (false, None, None) => (Milestone::Created, pod.created),
    }
}

/// Remembers that a broken pod is being replaced.
pub fn note_repair(progress: &mut Progress, ordinal: Ordinal, revision: &str, uid: &str) {
    let count = progress.repairs.entry((ordinal, revision.to_owned())).or_default();
    *count = count.saturating_add(1);
    progress.repairing = Some(uid.to_owned());
}
