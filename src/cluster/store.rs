//! The view: every set and pod as last shown, never older than it was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::watch::{Change, ClusterEvent, Kind, Source};
use super::wire::version_number;
use crate::model::{LiveSet, Observed, Ordinal, Pace, Pod, Pods, Progress, Sight, WorkloadId};

/// Sets and pods by name, and how fresh they are.
///
/// Versions only rise: an object with a lower resourceVersion than the one held is an echo of the past (of another
/// API server, or of a list that was overtaken by our own write) and is passed over.
#[derive(Debug)]
pub struct Store {
    sets: BTreeMap<WorkloadId, LiveSet>,
    pods: BTreeMap<WorkloadId, Pods>,
    /// The version at which each set was first seen with its generation, or of our last write to it.
    written: BTreeMap<WorkloadId, u64>,
    /// Up to which of these versions pods were read beside the watch.
    read: BTreeMap<WorkloadId, u64>,
    sources: BTreeMap<Source, Freshness>,
}

/// What is known of one watch.
#[derive(Debug, Default)]
struct Freshness {
    /// When it last said anything; none before its first list.
    heard: Option<Instant>,
    /// The version up to which it has told everything.
    version: u64,
    /// Why it says nothing; none while it does.
    lost: Option<String>,
}

impl Store {
    /// An empty view of all namespaces, or of those given.
    pub fn new(namespaces: &[String]) -> Self {
        let sources = Source::all(namespaces).into_iter().map(|source| (source, Freshness::default())).collect();
        Self { sets: BTreeMap::new(), pods: BTreeMap::new(), written: BTreeMap::new(), read: BTreeMap::new(), sources }
    }

    /// Takes in what a watch said, and tells which workloads look different now.
    pub fn apply(&mut self, event: ClusterEvent, now: Instant) -> BTreeSet<WorkloadId> {
        let ClusterEvent { source, change } = event;
        if let Change::Lost { error, .. } = change {
            self.sources.entry(source).or_default().lost = Some(error);
            return BTreeSet::new();
        }
        let freshness = self.sources.entry(source.clone()).or_default();
        freshness.heard = Some(now);
        freshness.lost = None;
        let version = change.version().and_then(version_number);
        freshness.version = version.map_or(freshness.version, |version| version.max(freshness.version));
        match change {
            Change::Sets { sets, version } => self.all_sets(&source, sets, &version),
            Change::Set { workload, set } => self.set(workload, *set),
            Change::SetGone { workload, uid, version } => self.set_gone(workload, &uid, &version),
            Change::Pods { pods, version } => self.all_pods(&source, pods, &version),
            Change::Pod { workload, pod } => self.pod(workload, *pod),
            Change::PodGone { workload, ordinal, uid, version } => self.pod_gone(workload, ordinal, &uid, &version),
            Change::Heard { .. } | Change::Lost { .. } => BTreeSet::new(),
        }
    }

    /// Takes in the answer to our own write, so that the view is never older than it.
    pub fn note_write(&mut self, workload: &WorkloadId, set: LiveSet) {
        // What the watch has passed already it has told already, the deletion of the set included.
        let told = self.sources.iter().any(|(source, freshness)| {
            source.kind == Kind::StatefulSets
                && source.covers(workload)
                && version_number(&set.resource_version).is_some_and(|version| version <= freshness.version)
        });
        if !told {
            // A record alone counts too: what it was based on is to be seen again after it.
            self.written.extend(version_number(&set.resource_version).map(|version| (workload.clone(), version)));
            self.set(workload.clone(), set);
        }
    }

    /// One workload as the view has it. Whether the view is too old to act on, and what is remembered of earlier
    /// looks, is the caller's to add.
    pub fn observed(&self, workload: &WorkloadId) -> Observed {
        Observed {
            workload: workload.clone(),
            set: self.sets.get(workload).cloned(),
            pods: self.pods.get(workload).cloned().unwrap_or_default(),
            stale_seconds: None,
            pods_behind: self.pods_behind(workload),
            sight: Sight::default(),
            refused: None,
            progress: Progress::default(),
            pace: Pace::default(),
        }
    }

    /// Whether nothing was heard of a workload's pods since its set's spec was last written.
    ///
    /// Watches are streams of their own: that of the pods can be late where that of the sets is not.
    fn pods_behind(&self, workload: &WorkloadId) -> bool {
        let Some(written) = self.written.get(workload) else { return false };
        let late = |(source, freshness): (&Source, &Freshness)| {
            source.kind == Kind::Pods && source.covers(workload) && freshness.version < *written
        };
        self.read.get(workload) != Some(written) && self.sources.iter().any(late)
    }

    /// What a read of pods that begins now will be at least as new as: to be given to [`Store::note_pods`].
    pub fn written(&self, workload: &WorkloadId) -> Option<u64> {
        self.written.get(workload).copied()
    }

    /// Takes in a workload's pods as a list at `version` has them, which was asked for when the set was `written`.
    pub fn note_pods(&mut self, workload: &WorkloadId, pods: Vec<Pod>, version: &str, written: Option<u64>) {
        if let Some(held) = self.pods.get_mut(workload) {
            held.retain(|ordinal, pod| {
                pods.iter().any(|listed| listed.ordinal == *ordinal) || is_older(version, &pod.resource_version)
            });
        }
        for pod in pods {
            self.pod(workload.clone(), pod);
        }
        self.read.extend(written.map(|written| (workload.clone(), written)));
    }

    /// Every workload that has a set or a pod.
    pub fn workloads(&self) -> BTreeSet<&WorkloadId> {
        self.sets.keys().chain(self.pods.keys()).collect()
    }

    /// The set as last shown.
    pub fn set_of(&self, workload: &WorkloadId) -> Option<&LiveSet> {
        self.sets.get(workload)
    }

    /// How long the quietest watch has been silent; `None` until each of them has listed once.
    pub fn view_age(&self, now: Instant) -> Option<Duration> {
        let heard: Option<Vec<_>> = self.sources.values().map(|freshness| freshness.heard).collect();
        heard?.into_iter().map(|heard| now.saturating_duration_since(heard)).max()
    }

    /// The watches that say nothing at the moment, and why.
    pub fn lost(&self) -> impl Iterator<Item = (&Source, &str)> {
        self.sources.iter().filter_map(|(source, freshness)| Some((source, freshness.lost.as_deref()?)))
    }

    fn all_sets(&mut self, source: &Source, sets: Vec<(WorkloadId, LiveSet)>, version: &str) -> BTreeSet<WorkloadId> {
        let listed: BTreeSet<_> = sets.iter().map(|(workload, _)| workload.clone()).collect();
        let mut changed = BTreeSet::new();
        self.sets.retain(|workload, set| {
            // One that is newer than the list was written after it was made.
            let stays =
                !source.covers(workload) || listed.contains(workload) || is_older(version, &set.resource_version);
            if !stays {
                changed.insert(workload.clone());
            }
            stays
        });
        for workload in &changed {
            self.forget(workload);
        }
        for (workload, set) in sets {
            changed.append(&mut self.set(workload, set));
        }
        changed
    }

    fn set(&mut self, workload: WorkloadId, set: LiveSet) -> BTreeSet<WorkloadId> {
        match self.sets.get(&workload) {
            Some(held) if is_older(&set.resource_version, &held.resource_version) || *held == set => BTreeSet::new(),
            held => {
                let same = held.is_some_and(|held| held.uid == set.uid && held.generation == set.generation);
                if let (false, Some(version)) = (same, version_number(&set.resource_version)) {
                    self.written.insert(workload.clone(), version);
                }
                self.sets.insert(workload.clone(), set);
                BTreeSet::from([workload])
            }
        }
    }

    fn forget(&mut self, workload: &WorkloadId) {
        self.written.remove(workload);
        self.read.remove(workload);
    }

    fn set_gone(&mut self, workload: WorkloadId, uid: &str, version: &str) -> BTreeSet<WorkloadId> {
        match self.sets.get(&workload) {
            Some(held) if held.uid == uid || is_older(&held.resource_version, version) => {
                self.sets.remove(&workload);
                self.forget(&workload);
                BTreeSet::from([workload])
            }
            _ => BTreeSet::new(),
        }
    }

    fn all_pods(&mut self, source: &Source, pods: Vec<(WorkloadId, Pod)>, version: &str) -> BTreeSet<WorkloadId> {
        let listed: BTreeSet<_> = pods.iter().map(|(workload, pod)| (workload.clone(), pod.ordinal)).collect();
        let mut changed = BTreeSet::new();
        self.pods.retain(|workload, pods| {
            if source.covers(workload) {
                let before = pods.len();
                pods.retain(|ordinal, pod| {
                    listed.contains(&(workload.clone(), *ordinal)) || is_older(version, &pod.resource_version)
                });
                if pods.len() != before {
                    changed.insert(workload.clone());
                }
            }
            !pods.is_empty()
        });
        for (workload, pod) in pods {
            changed.append(&mut self.pod(workload, pod));
        }
        changed
    }

    fn pod(&mut self, workload: WorkloadId, pod: Pod) -> BTreeSet<WorkloadId> {
        let held = self.pods.get(&workload).and_then(|pods| pods.get(&pod.ordinal));
        if held.is_some_and(|held| is_older(&pod.resource_version, &held.resource_version) || *held == pod) {
            return BTreeSet::new();
        }
        self.pods.entry(workload.clone()).or_default().insert(pod.ordinal, pod);
        BTreeSet::from([workload])
    }

    fn pod_gone(&mut self, workload: WorkloadId, ordinal: Ordinal, uid: &str, version: &str) -> BTreeSet<WorkloadId> {
        let Some(pods) = self.pods.get_mut(&workload) else { return BTreeSet::new() };
        match pods.get(&ordinal) {
            Some(held) if held.uid == uid || is_older(&held.resource_version, version) => {
                pods.remove(&ordinal);
                if pods.is_empty() {
                    self.pods.remove(&workload);
                }
                BTreeSet::from([workload])
            }
            _ => BTreeSet::new(),
        }
    }
}

/// Whether a resourceVersion is older than another; versions that are no numbers cannot be compared and never are.
fn is_older(version: &str, than: &str) -> bool {
    match (version_number(version), version_number(than)) {
        (Some(version), Some(than)) => version < than,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::wire;

    fn id(name: &str) -> WorkloadId {
        WorkloadId::new("prod", name)
    }

    fn set(name: &str, uid: &str, version: &str) -> (WorkloadId, LiveSet) {
        let object = serde_json::json!({"metadata": {"name": name, "namespace": "prod", "uid": uid, "resourceVersion": version}});
        wire::set(&object.to_string(), &mut wire::Templates::default()).unwrap()
    }

    fn pod(ordinal: u32, uid: &str, version: &str) -> (WorkloadId, Pod) {
        let name = format!("web-{ordinal}");
        let object = serde_json::json!({"metadata": {"name": name, "namespace": "prod", "uid": uid, "resourceVersion": version,
            "labels": {"statefulset.kubernetes.io/pod-name": name}}});
        wire::pod(&object.to_string()).unwrap().unwrap()
    }

    struct Scene {
        store: Store,
        now: Instant,
    }

    impl Scene {
        fn new() -> Self {
            Self { store: Store::new(&[]), now: Instant::now() }
        }

        fn say(&mut self, change: Change) -> Vec<String> {
            let kind = match change {
                Change::Pods { .. } | Change::Pod { .. } | Change::PodGone { .. } => Kind::Pods,
                _ => Kind::StatefulSets,
            };
            let event = ClusterEvent { source: Source { kind, namespace: None }, change };
            self.store.apply(event, self.now).into_iter().map(|id| id.name).collect()
        }

        fn sets(&mut self, sets: &[(&str, &str, &str)], version: &str) -> Vec<String> {
            let sets = sets.iter().map(|(name, uid, version)| set(name, uid, version)).collect();
            self.say(Change::Sets { sets, version: version.into() })
        }

        fn set(&mut self, name: &str, uid: &str, version: &str) -> Vec<String> {
            let (workload, set) = set(name, uid, version);
            self.say(Change::Set { workload, set: Box::new(set) })
        }

        fn gone(&mut self, name: &str, uid: &str, version: &str) -> Vec<String> {
            self.say(Change::SetGone { workload: id(name), uid: uid.into(), version: version.into() })
        }

        fn held(&self, name: &str) -> Option<(String, String)> {
            self.store.set_of(&id(name)).map(|set| (set.uid.clone(), set.resource_version.clone()))
        }
    }

    fn held(uid: &str, version: &str) -> Option<(String, String)> {
        Some((uid.into(), version.into()))
    }

    #[test]
    fn time_never_goes_back() {
        let mut scene = Scene::new();
        assert_eq!(scene.set("web", "u1", "10"), ["web"]);
        assert!(scene.set("web", "u1", "9").is_empty());
        assert!(scene.set("web", "u1", "10").is_empty());
        assert_eq!(scene.set("web", "u1", "100"), ["web"], "versions are numbers");
        assert_eq!(scene.set("web", "u1", "odd"), ["web"], "a version that is no number is taken as it comes");
    }

    #[test]
    fn a_list_says_what_is_gone_and_nothing_more() {
        let mut scene = Scene::new();
        assert_eq!(scene.sets(&[("a", "1", "5"), ("b", "2", "6")], "10"), ["a", "b"]);
        assert_eq!(scene.sets(&[("a", "1", "5"), ("c", "3", "12")], "20"), ["b", "c"]);
        assert_eq!(scene.held("b"), None);
        // A list from before our own write knows nothing of it.
        scene.store.note_write(&id("d"), set("d", "4", "30").1);
        scene.store.note_write(&id("a"), set("a", "1", "31").1);
        assert_eq!(scene.sets(&[("a", "1", "5")], "25"), ["c"]);
        assert_eq!((scene.held("a"), scene.held("d")), (held("1", "31"), held("4", "30")));
    }

    #[test]
    fn a_new_uid_is_a_new_set() {
        let mut scene = Scene::new();
        scene.set("web", "u1", "10");
        assert_eq!(scene.set("web", "u2", "20"), ["web"]);
        assert!(scene.gone("web", "u1", "15").is_empty(), "the end of the old one is not that of the new one");
        assert_eq!(scene.held("web"), held("u2", "20"));
        assert_eq!(scene.gone("web", "u2", "21"), ["web"]);
        assert_eq!(scene.held("web"), None);
    }

    #[test]
    fn our_own_write_does_not_bring_a_deleted_set_back() {
        let mut scene = Scene::new();
        scene.set("web", "u1", "10");
        scene.gone("web", "u1", "20");
        scene.store.note_write(&id("web"), set("web", "u1", "15").1);
        assert_eq!(scene.held("web"), None);
        scene.store.note_write(&id("web"), set("web", "u2", "25").1);
        assert_eq!(scene.held("web"), held("u2", "25"));
    }

    #[test]
    fn pods_of_before_a_write_are_known_to_be_so() {
        let mut scene = Scene::new();
        let web = id("web");
        let heard = |scene: &mut Scene, version: &str| {
            let source = Source { kind: Kind::Pods, namespace: None };
            let change = Change::Heard { version: version.into() };
            scene.store.apply(ClusterEvent { source, change }, scene.now);
        };
        let written = |generation: i64, version: &str| {
            let (_, mut live) = set("web", "u1", version);
            live.generation = generation;
            live
        };
        scene.say(Change::Sets { sets: vec![(web.clone(), written(1, "5"))], version: "10".into() });
        scene.say(Change::Pods {
            pods: vec![pod(0, "p0", "4").1, pod(1, "p1", "6").1].into_iter().map(|it| (web.clone(), it)).collect(),
            version: "10".into(),
        });
        assert!(!scene.store.observed(&web).pods_behind);
        // A write of ours, and then a status: only the first one counts.
        scene.store.note_write(&web, written(2, "20"));
        scene.say(Change::Set { workload: web.clone(), set: Box::new(written(2, "25")) });
        assert!(scene.store.observed(&web).pods_behind);
        heard(&mut scene, "19");
        assert!(scene.store.observed(&web).pods_behind);
        heard(&mut scene, "21");
        assert!(!scene.store.observed(&web).pods_behind, "nothing happened to them since");
        // Beside a watch that is late they are read: what the list has not is gone, unless it came later.
        scene.store.note_write(&web, written(3, "30"));
        let asked = scene.store.written(&web);
        scene.say(Change::Pod { workload: web.clone(), pod: Box::new(pod(2, "p2", "29").1) });
        scene.store.note_pods(&web, vec![pod(0, "p0b", "27").1], "28", asked);
        let observed = scene.store.observed(&web);
        let uids: Vec<_> = observed.pods.values().map(|pod| pod.uid.as_str()).collect();
        assert_eq!((uids, observed.pods_behind), (vec!["p0b", "p2"], false));
        // A read from before the next write says nothing of after it.
        scene.store.note_write(&web, written(4, "40"));
        scene.store.note_pods(&web, Vec::new(), "28", asked);
        assert!(scene.store.observed(&web).pods_behind);
    }

    #[test]
    fn pods_are_found_by_their_set() {
        let mut scene = Scene::new();
        let pods = vec![pod(0, "p0", "5"), pod(1, "p1", "6")];
        assert_eq!(scene.say(Change::Pods { pods, version: "10".into() }), ["web"]);
        let (workload, newer) = pod(1, "p1b", "12");
        scene.say(Change::Pod { workload: workload.clone(), pod: Box::new(newer) });
        let gone = |ordinal: u32, uid: &str, version: &str| Change::PodGone {
            workload: id("web"),
            ordinal: Ordinal(ordinal),
            uid: uid.into(),
            version: version.into(),
        };
        assert!(scene.say(gone(1, "p1", "11")).is_empty());
        assert_eq!(scene.store.observed(&workload).pods.len(), 2);
        assert_eq!(scene.say(gone(0, "p0", "13")), ["web"]);
        assert_eq!(scene.say(Change::Pods { pods: Vec::new(), version: "20".into() }), ["web"]);
        assert!(scene.store.workloads().is_empty());
    }

    #[test]
    fn the_view_is_as_old_as_its_quietest_watch() {
        let mut scene = Scene::new();
        scene.sets(&[], "1");
        assert_eq!(scene.store.view_age(scene.now), None, "pods were never listed");
        scene.say(Change::Pods { pods: Vec::new(), version: "1".into() });
        scene.now += Duration::from_secs(40);
        scene.say(Change::Heard { version: "2".into() });
        assert_eq!(scene.store.view_age(scene.now), Some(Duration::from_secs(40)));
        scene.say(Change::Lost { error: "refused".into(), permanent: false });
        assert_eq!(scene.store.lost().map(|(_, why)| why).collect::<Vec<_>>(), ["refused"]);
        assert_eq!(scene.store.view_age(scene.now), Some(Duration::from_secs(40)));
        scene.say(Change::Heard { version: String::new() });
        assert_eq!(scene.store.lost().count(), 0);
    }
}
