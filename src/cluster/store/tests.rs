//! The view, told piece by piece.

use super::*;
use crate::cluster::wire;

fn id(name: &str) -> WorkloadId {
    WorkloadId::new("prod", name)
}

fn set(name: &str, uid: &str, version: &str) -> (WorkloadId, LiveSet) {
    let object =
        serde_json::json!({"metadata": {"name": name, "namespace": "prod", "uid": uid, "resourceVersion": version}});
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
        self.say(Change::Sets { sets, version: version.into(), asked: self.now })
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
    scene.store.note_write(&id("d"), set("d", "4", "30").1, scene.now);
    scene.store.note_write(&id("a"), set("a", "1", "31").1, scene.now);
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
    scene.store.note_write(&id("web"), set("web", "u1", "15").1, scene.now);
    assert_eq!(scene.held("web"), None);
    scene.store.note_write(&id("web"), set("web", "u2", "25").1, scene.now);
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
    scene.say(Change::Sets { sets: vec![(web.clone(), written(1, "5"))], version: "10".into(), asked: scene.now });
    scene.say(Change::Pods {
        pods: vec![pod(0, "p0", "4").1, pod(1, "p1", "6").1].into_iter().map(|it| (web.clone(), it)).collect(),
        version: "10".into(),
    });
    assert!(!scene.store.observed(&web).pods_behind);
    // A write of ours, and then a status: only the first one counts.
    scene.store.note_write(&web, written(2, "20"), scene.now);
    scene.say(Change::Set { workload: web.clone(), set: Box::new(written(2, "25")) });
    assert!(scene.store.observed(&web).pods_behind);
    heard(&mut scene, "19");
    assert!(scene.store.observed(&web).pods_behind);
    heard(&mut scene, "21");
    assert!(!scene.store.observed(&web).pods_behind, "nothing happened to them since");
    // Beside a watch that is late they are read: what the list has not is gone, unless it came later.
    scene.store.note_write(&web, written(3, "30"), scene.now);
    let asked = scene.store.written(&web);
    scene.say(Change::Pod { workload: web.clone(), pod: Box::new(pod(2, "p2", "29").1) });
    scene.store.note_pods(&web, vec![pod(0, "p0b", "27").1], "28", asked);
    let observed = scene.store.observed(&web);
    let uids: Vec<_> = observed.pods.values().map(|pod| pod.uid.as_str()).collect();
    assert_eq!((uids, observed.pods_behind), (vec!["p0b", "p2"], false));
    // A read from before the next write says nothing of after it.
    scene.store.note_write(&web, written(4, "40"), scene.now);
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
    scene.say(Change::Lost { error: "refused".into(), permanent: false, forbidden: false });
    assert_eq!(scene.store.lost().map(|(_, why)| why).collect::<Vec<_>>(), ["refused"]);
    assert_eq!(scene.store.view_age(scene.now), Some(Duration::from_secs(40)));
    scene.say(Change::Heard { version: String::new() });
    assert_eq!(scene.store.lost().count(), 0);
}

fn pods(listed: Vec<(WorkloadId, Pod)>, version: &str) -> Change {
    Change::Pods { pods: listed, version: version.into() }
}

#[test]
fn a_list_of_a_server_that_went_back_replaces_everything() {
    let mut scene = Scene::new();
    scene.sets(&[("a", "1", "1000"), ("ghost", "2", "1001")], "1005");
    scene.say(pods(vec![pod(0, "p0", "1002"), pod(1, "p1", "1003")], "1005"));
    scene.store.note_write(&id("a"), set("a", "1", "1010").1, scene.now);
    scene.store.note_write(&id("ghost"), set("ghost", "2", "1011").1, scene.now);
    // Restored from a backup: the same uid with an earlier version, and less of everything.
    scene.now += Duration::from_secs(1);
    assert_eq!(scene.sets(&[("a", "1", "40")], "60"), ["a", "ghost"]);
    assert_eq!((scene.held("a"), scene.held("ghost")), (held("1", "40"), None));
    assert_eq!(scene.say(pods(vec![pod(0, "p0", "41")], "60")), ["web"]);
    assert_eq!(scene.store.observed(&id("web")).pods.len(), 1);
    // And from there on it goes on as ever.
    assert_eq!(scene.set("a", "1", "61"), ["a"]);
    scene.store.note_write(&id("a"), set("a", "1", "70").1, scene.now);
    assert_eq!(scene.held("a"), held("1", "70"));
    // An empty one behind the same name.
    scene.now += Duration::from_secs(1);
    assert_eq!(scene.sets(&[], "3"), ["a"]);
}

#[test]
fn a_set_of_the_same_name_on_another_server_is_taken_as_it_is() {
    let mut scene = Scene::new();
    scene.sets(&[("a", "1", "1000")], "1005");
    assert_eq!(scene.sets(&[("a", "7", "12")], "20"), ["a"]);
    assert_eq!(scene.held("a"), held("7", "12"));
    assert_eq!(scene.store.written(&id("a")), Some(12), "pods are compared with what this server counts");
}

#[test]
fn what_comes_too_late_again_and_again_is_read_anew() {
    let mut scene = Scene::new();
    let web = id("web");
    scene.set("web", "u1", "1000");
    scene.say(pods(vec![pod(0, "p0", "900"), pod(1, "p1", "901")], "1000"));
    scene.store.replace(&web, Some(set("web", "u1", "30").1), vec![pod(0, "p0", "31").1]);
    assert_eq!((scene.held("web"), scene.store.observed(&web).pods.len()), (held("u1", "30"), 1));
    scene.store.replace(&web, None, Vec::new());
    assert!(scene.store.workloads().is_empty());
}

#[test]
fn each_workload_is_seen_as_well_as_its_own_watches_see() {
    let namespaces = ["a".to_owned(), "b".to_owned()];
    let (mut store, began) = (Store::new(&namespaces), Instant::now());
    let after = |seconds: u64| began + Duration::from_secs(seconds);
    let source = |kind, namespace: &str| Source { kind, namespace: Some(namespace.into()) };
    let mut say = |kind, namespace: &str, change: Change, at: Instant| {
        store.apply(ClusterEvent { source: source(kind, namespace), change }, at);
    };
    let sets = || Change::Sets { sets: Vec::new(), version: "5".into(), asked: began };
    let lost = |forbidden| Change::Lost { error: "no".into(), permanent: forbidden, forbidden };
    say(Kind::StatefulSets, "a", sets(), began);
    say(Kind::StatefulSets, "b", sets(), began);
    say(Kind::Pods, "a", pods(Vec::new(), "5"), began);
    say(Kind::Pods, "b", lost(true), began);
    let (a, b) = (WorkloadId::new("a", "web"), WorkloadId::new("b", "web"));
    assert_eq!((store.sight(&a, began), store.sight(&b, began)), (InSight::Clear, InSight::Unseen));
    // A server that has just been started denies everybody: it is said after a moment.
    assert_eq!(store.health(began).1, Some(after(3)));
    assert_eq!(store.sight(&b, after(3)), InSight::Forbidden("no".into()));
    store.apply(ClusterEvent { source: source(Kind::Pods, "b"), change: pods(Vec::new(), "5") }, after(9));
    assert_eq!(store.sight(&b, after(9)), InSight::Clear);
    // Lost: nothing is decided at once, and it is said in a while.
    store.apply(ClusterEvent { source: source(Kind::Pods, "b"), change: lost(false) }, after(20));
    assert_eq!(store.sight(&b, after(20)), InSight::Stale(Duration::from_secs(20)));
    assert_eq!(store.health(after(20)).0[&source(Kind::Pods, "b")], Health::Blind);
    assert_eq!(store.health(after(20)).1, Some(after(30)));
    assert_eq!(store.health(after(30)).0[&source(Kind::Pods, "b")], Health::Lost);
    // Silent: stale by the clock alone.
    assert_eq!(store.sight(&a, after(149)), InSight::Clear);
    assert_eq!(store.health(after(140)).1, Some(after(150)));
    assert_eq!(store.sight(&a, after(150)), InSight::Stale(Duration::from_secs(150)));
}

#[test]
fn a_watch_that_does_not_tell_our_own_write_is_doubted_once() {
    let mut scene = Scene::new();
    scene.sets(&[("web", "u1", "5")], "10");
    scene.store.note_write(&id("web"), set("web", "u1", "20").1, scene.now);
    assert!(scene.store.doubtful(scene.now).is_empty());
    assert_eq!(scene.store.next_doubt(), Some(scene.now + OWN_WRITE_LATE));
    scene.now += OWN_WRITE_LATE;
    assert_eq!(scene.store.doubtful(scene.now).len(), 1);
    assert!(scene.store.doubtful(scene.now).is_empty() && scene.store.next_doubt().is_none());
    // One that does is not.
    scene.store.note_write(&id("web"), set("web", "u1", "30").1, scene.now);
    scene.say(Change::Heard { version: "31".into() });
    scene.now += OWN_WRITE_LATE;
    assert!(scene.store.doubtful(scene.now).is_empty());
}
