//! What `history` prints: the DTO of `-o json|yaml`, and how entries, live revisions and the record come together.

use serde::Serialize;

use super::API_VERSION;
use super::plan::Commit;
use super::table::table;
use crate::cluster::read::ControllerRevision;
use crate::daemon::HistoryEntry;
use crate::model::{CommitId, Record, Seen, TemplateHash, WorkloadId};

/// The revisions of one workload, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct History {
    /// `phaseline.dev/v1alpha1`.
    api_version: &'static str,
    /// `History`.
    kind: &'static str,
    /// The set's namespace.
    pub(crate) namespace: String,
    /// The set's name.
    pub(crate) name: String,
    /// One for each commit that brought another template.
    pub(crate) items: Vec<Entry>,
}

/// One commit that brought another template.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// Its number, counted from the oldest. For display: it may change when history is rewritten.
    pub(crate) number: u32,
    /// The number of the first entry with this template, where this is not the first: a revert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeats: Option<u32>,
    /// The digest of the template.
    pub(crate) hash: String,
    /// The name of its ControllerRevision.
    pub(crate) controller_revision: String,
    /// Whether the cluster has that ControllerRevision; else the name is the predicted one.
    pub(crate) live: bool,
    /// Kubernetes' number, as `kubectl rollout history` shows it; left out where the cluster has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kubernetes_revision: Option<i64>,
    /// The commit.
    pub(crate) commit: Commit,
    /// `target`, `stable`, `failed`, or none of them.
    pub(crate) states: Vec<&'static str>,
}

impl History {
    /// Brings Git's side, the cluster's and the record's together. `predict` names what the cluster does not have.
    pub(crate) fn of(
        workload: &WorkloadId,
        entries: &[HistoryEntry],
        live: &[ControllerRevision],
        record: Option<&Record>,
        predict: impl Fn(&HistoryEntry) -> String,
    ) -> Self {
        let items = entries.iter().map(|entry| {
            let found = revision(live, &entry.entry.hash, entry.version.restart.as_deref().unwrap_or_default());
            Entry {
                number: entry.entry.number,
                repeats: entry.entry.repeats,
                hash: entry.entry.hash.0.clone(),
                controller_revision: found.map_or_else(|| predict(entry), |revision| revision.name.clone()),
                live: found.is_some(),
                kubernetes_revision: found.map(|revision| revision.number),
                commit: Commit::of(&entry.commit),
                states: record.map(|record| states(record, entries, entry)).unwrap_or_default(),
            }
        });
        Self {
            api_version: API_VERSION,
            kind: "History",
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            items: items.collect(),
        }
    }

    /// The table; `wide` shows the whole ids.
    pub(crate) fn table(&self, wide: bool) -> String {
        let rows = self.items.iter().map(|entry| {
            let revision = match entry.repeats {
                Some(first) => format!("{} (repeats {first})", entry.number),
                None => entry.number.to_string(),
            };
            let cut = |text: &str, short: &str| if wide { text.to_owned() } else { short.to_owned() };
            [
                revision,
                cut(&entry.hash, TemplateHash(entry.hash.clone()).short()),
                if entry.live { entry.controller_revision.clone() } else { format!("({})", entry.controller_revision) },
                entry.kubernetes_revision.map(|number| number.to_string()).unwrap_or_else(|| "-".to_owned()),
                cut(&entry.commit.id, CommitId(entry.commit.id.clone()).short()),
                entry.commit.author.clone(),
                entry.commit.date.clone(),
                entry.states.join(","),
                entry.commit.subject.clone(),
            ]
        });
        table(["REVISION", "HASH", "CONTROLLERREVISION", "K8S", "COMMIT", "AUTHOR", "DATE", "STATE", "SUBJECT"], rows)
    }
}

/// The live ControllerRevision of a template: the one with the same restart before the newest of any.
fn revision<'a>(live: &'a [ControllerRevision], hash: &TemplateHash, restart: &str) -> Option<&'a ControllerRevision> {
    let same = || live.iter().filter(|revision| revision.hash == *hash);
    same()
        .filter(|revision| revision.restarted_at == restart)
        .max_by_key(|revision| revision.number)
        .or_else(|| same().max_by_key(|revision| revision.number))
}

/// What the record says about an entry. A revision is a commit and a hash; where the commit is in this history no
/// more, the newest entry with the hash stands for it.
fn states(record: &Record, entries: &[HistoryEntry], entry: &HistoryEntry) -> Vec<&'static str> {
    let stands_for = |commit: &CommitId, hash: &TemplateHash| {
        if entry.entry.hash != *hash {
            return false;
        }
        let known = entries.iter().any(|other| other.entry.commit == *commit && other.entry.hash == *hash);
        let newest = entries.iter().rev().find(|other| other.entry.hash == *hash);
        if known { entry.entry.commit == *commit } else { newest == Some(entry) }
    };
    let is = |seen: &Seen| stands_for(&seen.commit, &seen.hash);
    let mut states = Vec::new();
    if !record.done && is(&record.target) {
        states.push("target");
    }
    if record.stable.as_ref().is_some_and(is) {
        states.push("stable");
    }
    if record.failed.iter().any(|failed| stands_for(&failed.commit, &failed.hash)) {
        states.push("failed");
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fixtures::{at_rest, commit, desired, hash, in_canary};
    use crate::model::Failed;
    use crate::revision::history::Numbered;

    fn entry(number: u32, letter: char, template: char, repeats: Option<u32>) -> HistoryEntry {
        let mut version = desired(template).tip;
        version.commit = commit(letter);
        let entry = Numbered { number, commit: commit(letter).id, hash: hash(template), repeats, revision: number };
        HistoryEntry { entry, commit: commit(letter), version }
    }

    /// Templates a, b, a.
    fn entries() -> Vec<HistoryEntry> {
        vec![entry(1, 'a', 'a', None), entry(2, 'b', 'b', None), entry(3, 'c', 'a', Some(1))]
    }

    fn live(number: i64, template: char, restarted_at: &str) -> ControllerRevision {
        ControllerRevision {
            name: format!("web-{template}{number}"),
            number,
            hash: hash(template),
            restarted_at: restarted_at.into(),
            change_cause: String::new(),
        }
    }

    fn states(record: &Record) -> Vec<Vec<&'static str>> {
        let workload = WorkloadId::new("prod", "web");
        let history = History::of(&workload, &entries(), &[], Some(record), |_| String::new());
        history.items.into_iter().map(|entry| entry.states).collect()
    }

    #[test]
    fn a_revision_is_a_commit_and_a_hash() {
        assert_eq!(states(&at_rest('a')), [vec!["stable"], vec![], vec![]]);
        assert_eq!(states(&in_canary('a', 'b')), [vec!["stable"], vec!["target"], vec![]]);
        let mut reverted = at_rest('a');
        for seen in [Some(&mut reverted.target), reverted.stable.as_mut()].into_iter().flatten() {
            seen.commit = commit('c').id;
        }
        assert_eq!(states(&reverted), [vec![], vec![], vec!["stable"]]);
        for seen in [Some(&mut reverted.target), reverted.stable.as_mut()].into_iter().flatten() {
            seen.commit = commit('x').id;
        }
        assert_eq!(states(&reverted), [vec![], vec![], vec!["stable"]], "a commit that history has no more");
        let failed = Failed { commit: commit('b').id, hash: hash('b'), reason: String::new(), culprit: String::new() };
        assert_eq!(states(&Record { failed: vec![failed], ..at_rest('a') }), [vec!["stable"], vec!["failed"], vec![]]);
    }

    #[test]
    fn live_revisions_are_found_by_their_template() {
        let live = [live(1, 'b', ""), live(3, 'a', ""), live(4, 'a', "2026-01-01T00:00:00Z")];
        let workload = WorkloadId::new("prod", "web");
        let history = History::of(&workload, &entries()[..1], &live, None, |_| String::new());
        assert_eq!(history.items[0].controller_revision, "web-a3");
        let history = History::of(&workload, &entries(), &live[..1], Some(&at_rest('a')), |_| "web-x".into());
        assert_eq!(
            history.table(false),
            "REVISION        HASH         CONTROLLERREVISION   K8S   COMMIT       AUTHOR   DATE                        STATE    SUBJECT
1               aaaaaaaaaa   (web-x)              -     aaaaaaaaaa   Ann      2026-02-25T06:13:20+00:00   stable   web: a
2               bbbbbbbbbb   web-b1               1     bbbbbbbbbb   Ann      2026-02-25T06:13:20+00:00            web: b
3 (repeats 1)   aaaaaaaaaa   (web-x)              -     cccccccccc   Ann      2026-02-25T06:13:20+00:00            web: c
"
        );
        let value = serde_json::to_value(&history).unwrap();
        assert_eq!(value["items"][1]["kubernetesRevision"], 1);
        assert_eq!((&value["items"][2]["repeats"], &value["items"][2]["live"]), (&1.into(), &false.into()));
    }
}
