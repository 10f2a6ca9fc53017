//! Lists and watches sets and pods for as long as anybody listens.

use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::connect::Cluster;
use super::send::{Call, Problem, REQUEST_TIMEOUT, RequestError};
use super::wire::{self, Templates, version_number};
use crate::model::{LiveSet, Ordinal, Pod, WorkloadId};

pub use doubts::Doubts;
use list::{List, list_at};
pub use namespace::namespace_made;

pub(crate) use list::list;

mod doubts;
pub(super) mod lines;
mod list;
mod namespace;
#[cfg(test)]
mod tests;

/// When the server ends a watch: before the load balancers that drop a quiet connection after 240 s.
const SERVER_SECONDS: &str = "200";

/// A watch that ends after this was ended by the server as planned.
const PLANNED: Duration = Duration::from_secs(195);

/// When we give a watch up: the server should have ended it by then.
const IDLE_DEADLINE: Duration = Duration::from_secs(210);

/// The shortest wait after a failure.
const BACKOFF_MIN: Duration = Duration::from_millis(500);

/// The longest wait after a failure: nothing is decided while a watch is lost.
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// The same where asking again soon is probably of no use: a right that is missing. It may be granted any moment, and
/// nothing tells when.
const BACKOFF_PERMANENT: Duration = Duration::from_secs(10);

/// How long a watch may be silent before it is begun anew with a list: bookmarks come about once a minute. Its
/// connection may be dead without a word, or its server counts from somewhere else and waits for what we asked from.
const SILENT: Duration = Duration::from_secs(130);

/// A watch that ends sooner than this is not begun again at once.
const HASTY: Duration = Duration::from_secs(5);

/// The wait after the first watch that ended so soon; it doubles with each one, up to [`BACKOFF_MAX`].
const HASTY_WAIT: Duration = Duration::from_millis(100);

/// Pods of StatefulSets carry this label, and those of nothing else.
pub(crate) const POD_LABEL: &str = "statefulset.kubernetes.io/pod-name";

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// StatefulSets.
    StatefulSets,
    /// Pods of StatefulSets.
    Pods,
}

impl Kind {
    fn resource(self) -> &'static str {
        match self {
            Self::StatefulSets => "statefulsets",
            Self::Pods => "pods",
        }
    }
}

/// One watch: a kind, in one namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The kind.
    pub kind: Kind,
    /// The namespace; none means all.
    pub namespace: Option<String>,
}

impl Source {
    /// The watches for these namespaces; for all of them where none is given.
    pub fn all(namespaces: &[String]) -> Vec<Self> {
        let namespaces: Vec<_> = match namespaces {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        let kinds = [Kind::StatefulSets, Kind::Pods];
        kinds
            .into_iter()
            .flat_map(|kind| namespaces.iter().map(move |namespace| Self { kind, namespace: namespace.clone() }))
            .collect()
    }

    /// Whether it shows this workload.
    pub fn covers(&self, workload: &WorkloadId) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == workload.namespace)
    }

    fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            None => write!(f, "{} in all namespaces", self.kind.resource()),
            Some(namespace) => write!(f, "{} in namespace {namespace}", self.kind.resource()),
        }
    }
}

/// What a watch says.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterEvent {
    /// Which one.
    pub source: Source,
    /// What.
    pub change: Change,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// All sets there are: what is not among them is gone.
    Sets {
        /// The sets.
        sets: Vec<(WorkloadId, LiveSet)>,
        /// The list's resourceVersion.
        version: String,
        /// When it was asked for.
        asked: Instant,
    },
    /// A set was made or changed.
    Set {
        /// Its name.
        workload: WorkloadId,
        /// As it is now.
        set: Box<LiveSet>,
    },
    /// A set is gone.
    SetGone {
        /// Its name.
        workload: WorkloadId,
        /// `metadata.uid`.
        uid: String,
        /// The resourceVersion of its end.
        version: String,
    },
    /// All pods there are: what is not among them is gone.
    Pods {
        /// The pods, by the set that their name speaks of.
        pods: Vec<(WorkloadId, Pod)>,
        /// The list's resourceVersion.
        version: String,
    },
    /// A pod was made or changed.
    Pod {
        /// Its set's name.
        workload: WorkloadId,
        /// As it is now.
        pod: Box<Pod>,
    },
    /// A pod is gone.
    PodGone {
        /// Its set's name.
        workload: WorkloadId,
        /// Its number.
        ordinal: Ordinal,
        /// `metadata.uid`.
        uid: String,
        /// The resourceVersion of its end.
        version: String,
    },
    /// Nothing changed, but the server is there: a bookmark, or an event that is none of ours.
    Heard {
        /// The resourceVersion up to which everything was told; empty where it did not say.
        version: String,
    },
    /// The server does not answer, or does not want to. It is asked again.
    Lost {
        /// Why, in words.
        error: String,
        /// Whether it will not mend itself: a missing right, an unknown certificate.
        permanent: bool,
        /// Whether it is a right that is missing.
        forbidden: bool,
    },
}

impl Change {
    /// The resourceVersion up to which everything was told with this.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Sets { version, .. }
            | Self::Pods { version, .. }
            | Self::SetGone { version, .. }
            | Self::PodGone { version, .. }
            | Self::Heard { version } => Some(version),
            Self::Set { set, .. } => Some(&set.resource_version),
            Self::Pod { pod, .. } => Some(&pod.resource_version),
            Self::Lost { .. } => None,
        }
    }
}

/// Watches sets and pods of these namespaces (none given: of all) until nobody listens any more.
///
/// Every watch begins with a full list, sent as one event, and goes on from there; after a gap that the server no
/// longer remembers comes a full list again. Dropping the future ends the watches.
pub async fn watch(cluster: &Cluster, namespaces: &[String], events: Sender<ClusterEvent>) {
    watch_with(cluster, namespaces, events, &Doubts::default()).await;
}

/// The same, where somebody may doubt a watch.
pub async fn watch_with(cluster: &Cluster, namespaces: &[String], events: Sender<ClusterEvent>, doubts: &Doubts) {
    let mut watches = JoinSet::new();
    for source in Source::all(namespaces) {
        let watch = Watch {
            cluster: cluster.clone(),
            source,
            events: events.clone(),
            templates: Templates::default(),
            failures: 0,
            hasty: 0,
            nonsense: 0,
            doubts: doubts.clone(),
        };
        watches.spawn(watch.run());
    }
    drop(events);
    while watches.join_next().await.is_some() {}
}

/// One watch.
struct Watch {
    cluster: Cluster,
    source: Source,
    events: Sender<ClusterEvent>,
    templates: Templates,
    /// Failures since the last good event.
    failures: u32,
    /// Watches in a row that ended as soon as they had begun.
    hasty: u32,
    /// Lines that made no sense since the last that did.
    nonsense: u64,
    doubts: Doubts,
}

/// The server has compacted it away.
const FORGOTTEN: &str = "the server has forgotten the version";

/// How a watch ended.
enum End {
    /// Nobody listens any more.
    Closed,
    /// As planned, or without harm: it goes on from the last version.
    Over,
    /// The version is of no use any more: list anew. Why, in words.
    Expired(&'static str),
    /// It failed.
    Failed(RequestError),
}

impl Watch {
    async fn run(mut self) {
        let mut version: Option<String> = None;
        loop {
            let began = Instant::now();
            let end = match &mut version {
                None => match self.list().await {
                    Ok((change, listed)) => {
                        version = Some(listed);
                        if self.send(change).await {
                            continue;
                        }
                        End::Closed
                    }
                    Err(error) => End::Failed(error),
                },
                Some(version) => self.follow(version).await,
            };
            if let End::Expired(why) = end {
                tracing::debug!(source = %self.source, "{why}; listing anew");
                version = None;
            }
            match end {
                End::Closed => return,
                End::Over | End::Expired(_) => self.pace(began).await,
                End::Failed(error) => {
                    self.failures += 1;
                    // Whoever answers next may be another server, or the same one with another past. But for one that
                    // only has too much to do.
                    if !matches!(error, RequestError::Answer { status: 429, .. }) {
                        version = None;
                    }
                    let (permanent, forbidden) = (error.is_permanent(), error.is_forbidden());
                    let error = error.with_way_out(self.source.namespace());
                    if self.failures == 1 {
                        tracing::warn!(source = %self.source, %error, "lost sight of the cluster");
                    }
                    if !self.send(Change::Lost { error, permanent, forbidden }).await {
                        return;
                    }
                    tokio::time::sleep(backoff(self.failures, permanent)).await;
                }
            }
        }
    }

    /// Lets a moment pass where watches end as soon as they have begun: nobody is to be asked in a circle.
    async fn pace(&mut self, began: Instant) {
        if began.elapsed() >= HASTY {
            self.hasty = 0;
            return;
        }
        let wait = HASTY_WAIT.saturating_mul(2_u32.saturating_pow(self.hasty.min(10))).min(BACKOFF_MAX);
        self.hasty = self.hasty.saturating_add(1);
        tokio::time::sleep(wait).await;
    }

    /// Sends a change on; false where nobody listens any more.
    async fn send(&mut self, change: Change) -> bool {
        if !matches!(change, Change::Lost { .. }) && std::mem::take(&mut self.failures) > 0 {
            tracing::info!(source = %self.source, "the cluster is in sight again");
        }
        self.events.send(ClusterEvent { source: self.source.clone(), change }).await.is_ok()
    }

    /// The selector belongs to the pods only.
    fn selected(&self, call: Call) -> Call {
        match self.source.kind {
            Kind::StatefulSets => call,
            Kind::Pods => call.query("labelSelector", POD_LABEL),
        }
    }

    /// Lists everything, page by page.
    async fn list(&mut self) -> Result<(Change, String), RequestError> {
        // What was doubted is seen anew.
        self.doubts.settle(&self.source);
        let call = self.selected(Call::list(self.source.kind.resource(), self.source.namespace()));
        match self.source.kind {
            Kind::StatefulSets => {
                let read = |item: &str| wire::set(item, &mut self.templates).map(Some);
                let List { items: sets, version, asked } = list_at(&self.cluster, &call, read).await?;
                self.templates.keep(&sets.iter().map(|(_, set)| set.uid.as_str()).collect());
                Ok((Change::Sets { sets, version: version.clone(), asked }, version))
            }
            Kind::Pods => {
                let (pods, version) = list(&self.cluster, &call, wire::pod).await?;
                Ok((Change::Pods { pods, version: version.clone() }, version))
            }
        }
    }

    /// Watches from a version on, which it moves forward.
    async fn follow(&mut self, version: &mut String) -> End {
        let call = self
            .selected(Call::watch(self.source.kind.resource(), self.source.namespace()))
            .query("allowWatchBookmarks", "true")
            .query("timeoutSeconds", SERVER_SECONDS)
            .query("resourceVersion", version);
        let began = Instant::now();
        let mut lines = match tokio::time::timeout(REQUEST_TIMEOUT, lines::open(&self.cluster, &call)).await {
            Ok(Ok(lines)) => lines,
            Ok(Err(RequestError::Answer { status: 410, .. })) => return End::Expired(FORGOTTEN),
            Ok(Err(error)) => return End::Failed(error),
            Err(_) => return End::Failed(RequestError::TimedOut { seconds: REQUEST_TIMEOUT.as_secs() }),
        };
        let from = version_number(version);
        let doubts = self.doubts.clone();
        let (mut quiet, mut heard) = (true, began);
        loop {
            let give_up = (began + IDLE_DEADLINE).min(heard + SILENT);
            let line = tokio::select! {
                biased;
                line = timeout_at(give_up, lines.next()) => line,
                () = doubts.about(&self.source) => return End::Expired("somebody doubts it"),
            };
            let line = match line {
                Ok(Ok(Some(line))) => line,
                // An end at once and without a word would be asked again at once, for ever.
                Ok(Ok(None)) if quiet && began.elapsed() < HASTY => {
                    return End::Failed(RequestError::Answer {
                        status: 200,
                        message: "the watch ended at once".into(),
                    });
                }
                // Not even a bookmark in all its time: where we think that we are may not be where the server is.
                Ok(Ok(None)) if quiet => return End::Expired("it told nothing"),
                // A server that is shut down ends its watches in good order, and what comes up may have another past.
                Ok(Ok(None)) if began.elapsed() < PLANNED => return End::Expired("it ended before its time"),
                Ok(Ok(None)) => return End::Over,
                Ok(Err(error)) => return End::Failed(RequestError::of(&self.cluster, &error)),
                Err(_) if heard + SILENT <= Instant::now() => {
                    tracing::warn!(source = %self.source, "a watch has been silent for too long");
                    return End::Expired("it is silent");
                }
                Err(_) => return End::Over,
            };
            let change = match self.read(&line) {
                Ok(change) => change,
                Err(Said::Expired) => return End::Expired(FORGOTTEN),
                Err(Said::Problem(problem)) => return End::Failed(problem.into_error(&call)),
                // Nothing was told by it, so nothing is fresher for it.
                Err(Said::Nonsense(error)) => {
                    self.nonsense += 1;
                    if self.nonsense.is_power_of_two() {
                        let (count, bytes) = (self.nonsense, line.len());
                        tracing::warn!(source = %self.source, count, bytes, %error, "skipped what makes no sense");
                    }
                    continue;
                }
            };
            (quiet, heard, self.nonsense) = (false, Instant::now(), 0);
            if let Some(said) = change.version().filter(|said| !said.is_empty()) {
                if version_number(said).zip(from).is_some_and(|(said, from)| said < from) {
                    return End::Expired("the server counts from somewhere else");
                }
                said.clone_into(version);
            }
            if !self.send(change).await {
                return End::Closed;
            }
        }
    }

    /// Reads one line of a watch.
    fn read(&mut self, line: &str) -> Result<Change, Said> {
        // Most of what comes: pods, decoded in one go. Anything else, and what cannot be read, is looked at below.
        if self.source.kind == Kind::Pods
            && let Ok((kind, pod, version)) = wire::pod_line(line)
            && let Some(change) = pod_change(&kind, pod, version)
        {
            return Ok(change);
        }
        let wire::Line { kind, object } = serde_json::from_str(line)?;
        let object = object.get();
        match kind.as_str() {
            "ADDED" | "MODIFIED" => match self.source.kind {
                Kind::StatefulSets => {
                    let (workload, set) = wire::set(object, &mut self.templates)?;
                    Ok(Change::Set { workload, set: Box::new(set) })
                }
                // It was not to be read above; this says why.
                Kind::Pods => wire::pod(object).map(|_| Change::Heard { version: String::new() }).map_err(Said::from),
            },
            "DELETED" => match self.source.kind {
                Kind::StatefulSets => {
                    let wire::Identity { metadata } = serde_json::from_str(object)?;
                    self.templates.forget(&metadata.uid);
                    Ok(Change::SetGone {
                        workload: WorkloadId::new(metadata.namespace, metadata.name),
                        uid: metadata.uid,
                        version: metadata.resource_version,
                    })
                }
                // It was not to be read above; this says why.
                Kind::Pods => wire::pod(object).map(|_| Change::Heard { version: String::new() }).map_err(Said::from),
            },
            "ERROR" => {
                let problem: Problem = serde_json::from_str(object)?;
                match problem.code == 410 || problem.reason == "Expired" || problem.reason == "Gone" {
                    true => Err(Said::Expired),
                    false => Err(Said::Problem(problem)),
                }
            }
            // A bookmark, or a kind of event that is not known yet: the server is there, and this far.
            _ => heard(object),
        }
    }
}

/// What a line about a pod says; none where it is about something else.
fn pod_change(kind: &str, pod: Option<(WorkloadId, Pod)>, version: String) -> Option<Change> {
    match (kind, pod) {
        ("ADDED" | "MODIFIED", Some((workload, pod))) => Some(Change::Pod { workload, pod: Box::new(pod) }),
        ("DELETED", Some((workload, Pod { ordinal, uid, .. }))) => {
            Some(Change::PodGone { workload, ordinal, uid, version })
        }
        ("ADDED" | "MODIFIED" | "DELETED", None) => Some(Change::Heard { version }),
        _ => None,
    }
}

/// An object that is none of ours, but has a version.
fn heard(object: &str) -> Result<Change, Said> {
    let wire::Identity { metadata } = serde_json::from_str(object)?;
    Ok(Change::Heard { version: metadata.resource_version })
}

/// A line of a watch that is no change.
enum Said {
    /// The version is forgotten.
    Expired,
    /// Another error.
    Problem(Problem),
    /// Nothing that can be read.
    Nonsense(serde_json::Error),
}

impl From<serde_json::Error> for Said {
    fn from(error: serde_json::Error) -> Self {
        Self::Nonsense(error)
    }
}

/// How long to wait after so many failures in a row: doubling, up to half of it by chance.
fn backoff(failures: u32, permanent: bool) -> Duration {
    let longest = if permanent { BACKOFF_PERMANENT } else { BACKOFF_MAX };
    let wait = BACKOFF_MIN.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest);
    wait.mul_f64(0.5 + fastrand::f64() / 2.0)
}
