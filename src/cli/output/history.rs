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

    /// The table; `wide` adds the author's address and the whole ids.
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
