//! What `trace` prints: where a pod comes from, and why it is at that revision.

use serde::Serialize;

use super::API_VERSION;
use super::plan::Commit;
use super::text;
use crate::cluster::read::ControllerRevision;
use crate::daemon::HistoryEntry;
use crate::model::{LiveSet, Observed, PARKED, Pod, Record, RecordState, TemplateHash};

/// A pod's way back to the commit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Trace {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `Trace`.
    kind: &'static str,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) pod: String,
    /// The set it belongs to.
    pub(crate) set: String,
    /// The ControllerRevision it was made from: its label `controller-revision-hash`.
    pub(crate) controller_revision: String,
    /// Kubernetes' number of that; left out where the cluster has it no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kubernetes_revision: Option<i64>,
    /// The digest of its template; left out where the cluster has it no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<String>,
    /// The number of the revision in the history; left out where the repository does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u32>,
    /// The commit that brought the template; left out where the repository does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<Commit>,
    /// The commit's id by the record of the rollout, else what the ControllerRevision says of its cause; left out where
    /// neither says anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stated: Option<String>,
    /// When a restart of this template was asked for; left out where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restarted_at: Option<String>,
    /// Why it is at that revision, in one word.
    pub(crate) state: State,
    /// The same in a sentence.
    pub(crate) message: String,
    /// What is wrong with the pod; empty where nothing is.
    pub(crate) faults: Vec<String>,
}

/// Why a pod is at its revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum State {
    /// Nobody stages this set.
    NotManaged,
    /// The pod is not the set's.
    Orphan,
    /// The record of the rollout cannot be read.
    RecordUnreadable,
    /// It runs the revision in force, and no rollout is under way.
    InForce,
    /// It runs the revision that is being rolled out: its stage has come.
    Exposed,
    /// The partition holds it back.
    Held,
    /// It runs a revision that failed.
    Failed,
    /// It is to be replaced and was not yet.
    Waiting,
}

impl Trace {
    /// Brings the pod, its revision and the history together.
    pub(crate) fn of(
        name: &str,
        observed: &Observed,
        (set, pod): (&LiveSet, &Pod),
        revision: Option<&ControllerRevision>,
        history: &[HistoryEntry],
    ) -> Self {
        let hash = revision.map(|revision| &revision.hash);
        let record = match &set.record {
            RecordState::Is(record, _) => Some(&**record),
            RecordState::Absent | RecordState::Unreadable(_) => None,
        };
        let entry = hash.and_then(|hash| brought(hash, record, history));
        let (state, message) = why(set, pod, record, hash);
        let fault = |fault: &crate::model::ContainerFault| {
            let container = if fault.container.is_empty() { String::new() } else { format!("{}: ", fault.container) };
            format!("{container}{} {}", fault.reason, fault.message).trim().to_owned()
        };
        Self {
            api_version: API_VERSION,
            kind: "Trace",
            namespace: observed.workload.namespace.clone(),
            pod: name.to_owned(),
            set: observed.workload.name.clone(),
            controller_revision: pod.revision.clone(),
            kubernetes_revision: revision.map(|revision| revision.number),
            hash: hash.map(|hash| hash.0.clone()),
            revision: entry.map(|entry| entry.entry.number),
            commit: entry.map(|entry| Commit::of(&entry.commit)),
            stated: stated(record, revision),
            restarted_at: revision.map(|revision| revision.restarted_at.clone()).filter(|at| !at.is_empty()),
            state,
            message,
            faults: pod.faults.iter().map(fault).collect(),
        }
    }

    /// The same for people, one fact a line.
    pub(crate) fn text(&self) -> String {
        let number = |number: Option<i64>| number.map_or_else(|| "gone".to_owned(), |number| number.to_string());
        let mut facts = vec![
            ("pod", format!("{}/{}", self.namespace, self.pod)),
            ("set", self.set.clone()),
            (
                "revision",
                format!("{} (Kubernetes' number {})", self.controller_revision, number(self.kubernetes_revision)),
            ),
        ];
        match &self.commit {
            Some(commit) => {
                let short: String = commit.id.chars().take(10).collect();
                let number = self.revision.map(|number| format!(" (revision {number})")).unwrap_or_default();
                facts.push(("commit", format!("{short}{number} {}", commit.subject)));
                facts.push(("author", format!("{}, {}", commit.author, commit.date)));
            }
            None if self.stated.is_some() => {
                let stated = self.stated.as_deref().unwrap_or_default();
                facts.push(("commit", format!("{stated} (as the cluster says)")));
            }
            None => facts.push(("commit", "not in the repository's history".to_owned())),
        }
        facts.extend(self.restarted_at.clone().map(|at| ("restarted", at)));
        facts.push(("why", self.message.clone()));
        facts.extend(self.faults.iter().map(|fault| ("trouble", fault.clone())));
        facts.into_iter().map(|(name, fact)| format!("{name:10} {}\n", text::line(&fact))).collect()
    }
}

/// What the cluster itself says of the commit.
fn stated(record: Option<&Record>, revision: Option<&ControllerRevision>) -> Option<String> {
    let revision = revision?;
    let mut seen = record.into_iter().flat_map(|record| [Some(&record.target), record.stable.as_ref()]).flatten();
    let commit = seen.find(|seen| seen.hash == revision.hash).map(|seen| seen.commit.0.clone());
    commit.or_else(|| Some(revision.change_cause.clone()).filter(|cause| !cause.is_empty()))
}

/// The entry that brought a template: the one that the record names, else the newest.
fn brought<'a>(hash: &TemplateHash, record: Option<&Record>, history: &'a [HistoryEntry]) -> Option<&'a HistoryEntry> {
    let same = || history.iter().rev().filter(|entry| entry.entry.hash == *hash);
    let seen = record.into_iter().flat_map(|record| [Some(&record.target), record.stable.as_ref()]).flatten();
    let named = seen.filter(|seen| seen.hash == *hash).map(|seen| &seen.commit);
    let named: Vec<_> = named.collect();
    same().find(|entry| named.contains(&&entry.entry.commit)).or_else(|| same().next())
}

fn why(set: &LiveSet, pod: &Pod, record: Option<&Record>, hash: Option<&TemplateHash>) -> (State, String) {
    if pod.owner != set.uid {
        return (State::Orphan, "the pod carries the set's name, but does not belong to it".into());
    }
    let Some(record) = record else {
        return match &set.record {
            RecordState::Unreadable(_) => (State::RecordUnreadable, "the record of the rollout cannot be read".into()),
            RecordState::Absent | RecordState::Is(..) => {
                (State::NotManaged, "the set is not managed: Kubernetes alone decides which revision it runs".into())
            }
        };
    };
    let stage = record.stage.and_then(|stage| {
        let at = usize::try_from(stage).ok()?;
        Some((record.plan.stages(set.replicas).get(at)?.name.clone(), at + 1))
    });
    let stage = stage.map(|(name, number)| format!("stage {number}, {name}")).unwrap_or_else(|| "no stage yet".into());
    let target = hash == Some(&record.target.hash);
    let failed = record.failed.iter().find(|failed| Some(&failed.hash) == hash);
    let first = set.start.saturating_add(set.partition.map_or(0, |partition| partition.0));
    let held = pod.ordinal.0 < first;
    match (target, record.done) {
        _ if failed.is_some_and(|_| !(target && record.done)) => {
            let reason = failed.map(|failed| failed.reason.as_str()).unwrap_or_default();
            (State::Failed, format!("it runs a revision that failed: {reason}"))
        }
        (true, true) => (State::InForce, "it runs the revision in force; no rollout is under way".into()),
        (true, false) => (State::Exposed, format!("it runs what is being rolled out: its turn came ({stage})")),
        (false, true) if set.partition == Some(PARKED) => {
            (State::Waiting, "it runs another revision than the one in force, and no rollout is under way".into())
        }
        (false, _) if held => {
            let stable = record.stable.as_ref().is_some_and(|stable| Some(&stable.hash) == hash);
            let what = if stable { "the last stable revision" } else { "an earlier revision" };
            (State::Held, format!("it runs {what}: the partition lets only pods from number {first} on go ({stage})"))
        }
        (false, _) => (State::Waiting, format!("it is to be replaced and was not yet ({stage})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fixtures::{at_rest, commit, desired, hash, in_canary, observed};
    use crate::model::{Failed, Ordinal};
    use crate::revision::history::Numbered;

    fn trace(record: Option<Record>, ordinal: u32, template: char) -> Trace {
        let observed = observed(record);
        let set = observed.set.clone().unwrap();
        let pod = observed.pods[&Ordinal(ordinal)].clone();
        let revision = ControllerRevision {
            name: pod.revision.clone(),
            number: 4,
            hash: hash(template),
            restarted_at: String::new(),
            change_cause: String::new(),
        };
        let entry = |number, letter, template| HistoryEntry {
            entry: Numbered {
                number,
                commit: commit(letter).id,
                hash: hash(template),
                repeats: None,
                revision: number,
            },
            commit: commit(letter),
            version: desired(template).tip,
        };
        let history = [entry(1, 'a', 'a'), entry(2, 'b', 'b'), entry(3, 'c', 'a')];
        Trace::of(&format!("web-{ordinal}"), &observed, (&set, &pod), Some(&revision), &history)
    }

    #[test]
    fn every_pod_says_why_it_is_where_it_is() {
        let state = |record, ordinal, template| trace(record, ordinal, template).state;
        assert_eq!(state(None, 0, 'a'), State::NotManaged);
        assert_eq!(state(Some(at_rest('a')), 0, 'a'), State::InForce);
        assert_eq!(state(Some(at_rest('a')), 0, 'b'), State::Waiting);
        assert_eq!(state(Some(in_canary('a', 'b')), 5, 'b'), State::Exposed);
        assert_eq!(state(Some(in_canary('a', 'b')), 2, 'a'), State::Held);
        assert_eq!(state(Some(in_canary('a', 'b')), 5, 'a'), State::Waiting);
        let failed =
            Failed { commit: commit('b').id, hash: hash('b'), reason: "StuckPod".into(), culprit: String::new() };
        assert_eq!(state(Some(Record { failed: vec![failed], ..in_canary('a', 'b') }), 5, 'b'), State::Failed);
    }

    #[test]
    fn the_record_says_which_of_two_commits_it_was() {
        assert_eq!(trace(Some(in_canary('a', 'b')), 2, 'a').revision, Some(1), "the record names the first of two");
        assert_eq!(trace(None, 2, 'a').revision, Some(3), "without one the newest is meant");
        let unknown = trace(Some(at_rest('a')), 2, 'x');
        assert_eq!((unknown.revision, unknown.commit.is_none()), (None, true));
        assert_eq!(
            trace(Some(in_canary('a', 'b')), 5, 'b').text(),
            "pod        prod/web-5\n\
             set        web\n\
             revision   web-new (Kubernetes' number 4)\n\
             commit     bbbbbbbbbb (revision 2) web: b\n\
             author     Ann, 2026-02-25T06:13:20+00:00\n\
             why        it runs what is being rolled out: its turn came (stage 1, canary)\n"
        );
    }
}
