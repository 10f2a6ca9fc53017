//! What a daemon knows and nobody can tell from the cluster and Git: written on its Lease, read by `status` and `plan`.
//!
//! It is an annotation of the Lease, and not a ConfigMap or an endpoint, for three reasons. The heartbeat is there
//! already: the renewal of the Lease carries what is new, so that a report costs no request of its own, no set is
//! written and nothing is polled. It is one object, so that who leads and what the leader says cannot contradict each
//! other. And it is read with `kubectl` and the rights of a namespace: an endpoint would need a port, TLS, and a way
//! through the network to where people are.
//!
//! Who wants to know asks [`read`]: every daemon that left a report, newest first.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, Lease, RequestError, lease};
use crate::model::{Decision, Phase, Reason, WaitingOn, WorkloadId};

/// The namespace that `install` puts the daemon into where none is named.
pub const HOME: &str = "phaseline-system";
/// The most bytes of a report: it travels with the Lease, and a Lease is written every two seconds.
const MOST_BYTES: usize = 16 << 10;
/// The most workloads in it; of the others it says how many there are.
const MOST_WORKLOADS: usize = 40;
/// The most characters of one sentence.
const MOST_CHARACTERS: usize = 240;

/// What a daemon knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Report {
    /// Its version.
    pub version: String,
    /// Since when it runs, by its own clock.
    pub started: Option<Timestamp>,
    /// What it follows.
    pub source: Followed,
    /// The namespace that it gives to manifests which state none.
    pub default_namespace: String,
    /// The namespaces it looks after; none given: all.
    pub namespaces: Vec<String>,
    /// Its clock minus the server's, in seconds, where they are known to differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew_seconds: Option<i64>,
    /// The commit that is in force.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Why the repository cannot be read, while it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_trouble: Option<Trouble>,
    /// Watches that are lost: what was watched, and why it is not any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Trouble>,
    /// What is wrong with workloads in its eyes, by `namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub workloads: BTreeMap<String, Known>,
    /// How many more there are than fit.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// What a daemon follows, without credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Followed {
    /// The repository.
    pub url: String,
    /// The branch; empty is the repository's own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The folder; empty is all of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// Something that does not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Since when, by the daemon's clock.
    pub since: Timestamp,
    /// What, and why.
    pub message: String,
}

/// How a workload is in the daemon's eyes, where it is not well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its phase.
    pub phase: Phase,
    /// Why.
    pub reason: String,
    /// What the reason leaves out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What came of its last request where that failed: a right or a namespace that is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failing: String,
}

impl Known {
    /// What is to be told of a decision; none where the workload is well, or anybody can see how it is.
    pub(super) fn of(decision: &Decision, failing: &str) -> Option<Self> {
        let Decision { phase, reason, message, waiting_on, .. } = decision;
        let bad = matches!(phase, Phase::Blocked | Phase::Degraded) || *waiting_on == Some(WaitingOn::FreshView);
        (bad || !failing.is_empty()).then(|| Self::new(*phase, *reason, message, failing))
    }

    /// The same, with sentences of a length that can be shown.
    pub fn new(phase: Phase, reason: Reason, message: &str, failing: &str) -> Self {
        Self { phase, reason: reason.to_string(), message: short(message), failing: short(failing) }
    }
}

/// A sentence, or its beginning.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

impl Report {
    /// Notes how a workload is; whether that is news.
    pub(super) fn note(&mut self, workload: &WorkloadId, known: Option<Known>) -> bool {
        let name = workload.to_string();
        match known {
            None => self.workloads.remove(&name).is_some(),
            Some(known) if self.workloads.get(&name) == Some(&known) => false,
            Some(known) => {
                self.workloads.insert(name, known);
                true
            }
        }
    }

    /// Notes whether the repository can be read; whether that is news.
    pub(super) fn note_source(&mut self, trouble: Option<&str>, now: Timestamp) -> bool {
        let since = self.source_trouble.as_ref().map_or(now, |trouble| trouble.since);
        let trouble = trouble.map(|message| Trouble { since, message: short(message) });
        std::mem::replace(&mut self.source_trouble, trouble.clone()) != trouble
    }

    /// Notes which watches are lost; whether that is news.
    pub(super) fn note_lost(&mut self, lost: &[String], now: Timestamp) -> bool {
        let since = |message: &str| {
            let known = self.lost.iter().find(|trouble| trouble.message == message);
            known.map_or(now, |trouble| trouble.since)
        };
        let lost: Vec<Trouble> = lost
            .iter()
            .map(|message| short(message))
            .map(|message| Trouble { since: since(&message), message })
            .collect();
        std::mem::replace(&mut self.lost, lost.clone()) != lost
    }

    /// Its text: what would make it too long is left out, and counted.
    pub fn encode(&self) -> String {
        let mut report = self.clone();
        report.more = 0;
        loop {
            while report.workloads.len() > MOST_WORKLOADS {
                report.spare();
            }
            // Serialising plain data with string keys into a string has no way to fail.
            let text = serde_json::to_string(&report).unwrap_or_default();
            if text.len() <= MOST_BYTES || !report.spare() {
                return text;
            }
        }
    }

    /// Leaves out what can best be spared; false where nothing is left.
    fn spare(&mut self) -> bool {
        // The worst stay: what is blocked is what only the daemon knows.
        let last = self.workloads.iter().min_by_key(|(name, known)| (known.phase, std::cmp::Reverse(*name)));
        if let Some(name) = last.map(|(name, _)| name.clone()) {
            self.workloads.remove(&name);
            self.more += 1;
            return true;
        }
        self.lost.pop().is_some() || self.namespaces.pop().is_some()
    }

    /// Whether a workload is one that this daemon looks after, by its namespace.
    pub fn covers(&self, workload: &WorkloadId) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(&workload.namespace)
    }

    /// What it says of a workload; nothing where that is well, or did not fit.
    pub fn of(&self, workload: &WorkloadId) -> Option<&Known> {
        self.workloads.get(&workload.to_string())
    }
}

/// A daemon that left a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The namespace of its Lease, which is its own in a cluster.
    pub namespace: String,
    /// The Lease's name.
    pub lease: String,
    /// Who leads, as `HOST-PID-CHANCE`; none where the last one ended in good order and nobody has taken over.
    pub leader: Option<String>,
    /// When it was last heard, by the server's clock where that is told.
    pub at: Option<Timestamp>,
    /// What it said then.
    pub report: Report,
}

/// Reads what daemons left: in all namespaces where that is allowed, else in `installed` and in those named. Newest first.
///
/// # Errors
/// See [`RequestError`]; [`RequestError::Forbidden`] where Leases may be read in none of them.
pub async fn read(cluster: &Cluster, namespaces: &[&str]) -> Result<Vec<Heard>, RequestError> {
    let mut leases = Vec::new();
    match lease::all(cluster, None).await {
        Ok(all) => leases = all,
        Err(denied @ RequestError::Forbidden { .. }) => {
            let mut places: Vec<&str> = namespaces.iter().copied().chain([HOME]).collect();
            places.sort_unstable();
            places.dedup();
            let mut answer = Err(denied);
            for place in places {
                match lease::all(cluster, Some(place)).await {
                    Ok(mut found) => {
                        leases.append(&mut found);
                        answer = Ok(());
                    }
                    Err(RequestError::Forbidden { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            answer?;
        }
        Err(error) => return Err(error),
    }
    let mut heard: Vec<Heard> = leases.into_iter().filter_map(heard).collect();
    heard.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.lease.cmp(&b.lease)));
    Ok(heard)
}

/// A Lease's report; none where it has none, or one of a kind that this version does not know.
fn heard(lease: Lease) -> Option<Heard> {
    let Lease { namespace, name, holder, heard, report, .. } = lease;
    Some(Heard { namespace, lease: name, leader: holder, at: heard, report: serde_json::from_str(&report).ok()? })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(message: &str) -> Known {
        Known::new(Phase::Blocked, Reason::Refused, message, "")
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = Report {
            version: "0.1.0".into(),
            started: Some(Timestamp::UNIX_EPOCH),
            source: Followed { url: "https://git.test/x".into(), ..Followed::default() },
            default_namespace: "data".into(),
            workloads: BTreeMap::from([("data/web".to_owned(), blocked("quota"))]),
            ..Report::default()
        };
        assert_eq!(serde_json::from_str::<Report>(&report.encode()).unwrap(), report);
        assert_eq!(report.of(&WorkloadId::new("data", "web")).unwrap().message, "quota");
        // What a newer version knows beside is no reason not to read the rest.
        let newer = r#"{"version":"9","another":{"a":1},"workloads":{"a/b":{"phase":"Blocked","reason":"New","x":1}}}"#;
        let newer: Report = serde_json::from_str(newer).unwrap();
        assert_eq!(newer.of(&WorkloadId::new("a", "b")).unwrap().reason, "New");
    }

    #[test]
    fn a_report_stays_small_and_says_what_it_leaves_out() {
        let mut report = Report::default();
        for number in 0..3000 {
            let phase = if number == 2999 { Phase::Blocked } else { Phase::Degraded };
            let message = "\u{1}é\"".repeat(5000);
            report.workloads.insert(format!("a/{number:04}"), Known::new(phase, Reason::Refused, &message, &message));
        }
        report.lost = vec![Trouble { since: Timestamp::UNIX_EPOCH, message: short(&"x".repeat(9999)) }; 50];
        let text = report.encode();
        assert!(text.len() <= MOST_BYTES, "{}", text.len());
        let read: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(read.workloads.len() + read.more, 3000);
        assert!(read.workloads.contains_key("a/2999"), "what is blocked stays before what is degraded");
    }

    #[test]
    fn a_daemon_looks_after_its_namespaces() {
        let web = WorkloadId::new("data", "web");
        let of = |names: &[&str]| Report {
            namespaces: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Report::default()
        };
        assert!(of(&[]).covers(&web) && of(&["x", "data"]).covers(&web) && !of(&["x"]).covers(&web));
    }
}
