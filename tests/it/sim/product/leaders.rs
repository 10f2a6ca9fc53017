//! Several daemons of one repository: who writes, who takes over and when, and what comes of a write that was held up.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use phaseline::cluster::Cluster;
use phaseline::daemon::report::{self, Followed, Report};
use phaseline::daemon::{self, Ended, Presence, RunOptions, Scope, Source, Tip};
use phaseline::git::{Place, Waker, Wakes};
use phaseline::model::{CommitId, PARKED, Pause, Plan, Record, Schedule, Size, Stage};
use phaseline::sim::serve::Embedded;
use phaseline::sim::{Key, Resource, Settings, World};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::git::{Commit, Repo};
use super::play::{is_ready, on_stage, start};

const LEASE: Duration = Duration::from_secs(15);
const SECOND: Duration = Duration::from_secs(1);

/// A request that changes a set or a pod, and what came of it.
#[derive(Debug, Clone, PartialEq)]
struct Write {
    at: Timestamp,
    who: &'static str,
    what: String,
    code: u16,
}

impl Write {
    fn is_done(&self) -> bool {
        self.code < 300
    }
}

/// What a daemon's requests go through. A write may be held up between the daemon and the server, as if the process had
/// been stopped after its last look at the clock: what it has sent arrives all the same, sooner or later.
#[derive(Clone, Default)]
struct Wire {
    writes: Arc<Mutex<Vec<Write>>>,
    held: Arc<Mutex<Held>>,
    moves: Arc<Notify>,
}

#[derive(Default)]
struct Held {
    /// The daemon, and how many of its writes are let through before it stops.
    stops: Option<(&'static str, usize)>,
    stopped: Option<&'static str>,
}

impl Wire {
    fn cluster(&self, embedded: &Embedded, who: &'static str) -> Cluster {
        let (wire, embedded) = (self.clone(), embedded.clone());
        Cluster::from_service(tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (wire, embedded) = (wire.clone(), embedded.clone());
            // It goes on even where nobody waits for it any more.
            let sent = tokio::spawn(async move { wire.pass(&embedded, who, request).await });
            async move { sent.await? }
        }))
    }

    async fn pass(
        &self,
        embedded: &Embedded,
        who: &'static str,
        request: http::Request<kube::client::Body>,
    ) -> Result<phaseline::sim::serve::Reply, tower::BoxError> {
        let (method, uri) = (request.method().to_string(), request.uri().to_string());
        let writes = method != "GET" && !uri.contains("dryRun") && !uri.contains("/leases");
        if writes {
            let mut held = self.held.lock().unwrap();
            match held.stops {
                Some((stops, 0)) if stops == who => held.stopped = Some(who),
                Some((stops, more)) if stops == who => held.stops = Some((stops, more - 1)),
                _ => {}
            }
            self.moves.notify_waiters();
        }
        loop {
            let moves = self.moves.notified();
            if self.held.lock().unwrap().stopped != Some(who) {
                break;
            }
            moves.await;
        }
        let reply = embedded.service(who).answer(request).await?;
        if writes {
            let code = reply.status().as_u16();
            let what = format!("{method} {}", uri.split('?').next().unwrap_or_default());
            let at = embedded.clock().now();
            self.writes.lock().unwrap().push(Write { at, who, what, code });
        }
        Ok(reply)
    }

    fn goes_on(&self) {
        *self.held.lock().unwrap() = Held::default();
        self.moves.notify_waiters();
    }
}

struct Daemon {
    task: JoinHandle<Ended>,
    end: oneshot::Sender<()>,
    waker: Waker,
    tip: Tip,
}

struct Scene {
    embedded: Embedded,
    repo: Rc<Repo>,
    wire: Wire,
    commits: Vec<(CommitId, Commit)>,
    daemons: BTreeMap<&'static str, Daemon>,
}

fn plan() -> Plan {
    let stage = |size, min_ready_seconds| Stage { name: String::new(), size, min_ready_seconds, pause: Pause::None };
    let stages = vec![stage(Size::Pods(1), 1), stage(Size::Pods(2), 1), stage(Size::Percent(100), 0)];
    Plan { schedule: Schedule::Stages(stages), progress_deadline_seconds: 20, ..Plan::default() }
}

impl Scene {
    fn begin() -> Self {
        let settings = Settings { start: start(), seed: 7, ..Settings::default() };
        fastrand::seed(settings.seed);
        let clock = phaseline::clock::Clock::starting(settings.start);
        let embedded = Embedded::start(World::new(&settings), clock);
        let repo = Rc::new(Repo::new());
        let first = Commit { plan: plan(), ..Commit::new("app:1", 3) };
        let id = repo.commit(None, 0, &first);
        Self { embedded, repo, wire: Wire::default(), commits: vec![(id, first)], daemons: BTreeMap::new() }
    }

    fn start(&mut self, who: &'static str, elect: bool) {
        let tip = Tip::new(self.commits.last().unwrap().0.clone());
        let scope = Scope { default_namespace: "default".into(), only: Vec::new() };
        let source = Source::in_place(Place::At(self.repo.path()), "", scope).unwrap().at(tip.clone());
        let wakes = Wakes::by_hand();
        let cluster = self.wire.cluster(&self.embedded, who);
        let (end, ended) = oneshot::channel::<()>();
        let presence = Presence {
            cluster: cluster.clone(),
            namespace: "default".into(),
            elect,
            after: "the repository".into(),
            me: who.into(),
        };
        let about = Report {
            version: "1".into(),
            source: Followed { url: "/deploy.git".into(), ..Followed::default() },
            default_namespace: "default".into(),
            ..Report::default()
        };
        let options =
            RunOptions { clock: self.embedded.clock(), presence: Some(presence), about, ..RunOptions::default() };
        let waker = wakes.waker();
        let shutdown = async {
            if ended.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let task = tokio::spawn(daemon::run(cluster, source, Some(wakes), options, shutdown));
        self.daemons.insert(who, Daemon { task, end, waker, tip });
    }

    /// As SIGKILL does.
    fn kill(&mut self, who: &str) {
        self.daemons.remove(who).unwrap().task.abort();
    }

    /// As SIGTERM does.
    async fn end(&mut self, who: &str) -> Ended {
        let Daemon { task, end, .. } = self.daemons.remove(who).unwrap();
        end.send(()).unwrap();
        task.await.unwrap()
    }

    fn push(&mut self, image: &str) {
        let (parent, mut commit) = self.commits.last().cloned().unwrap();
        commit.image = image.into();
        let id = self.repo.commit(Some(&parent), self.commits.len(), &commit);
        self.commits.push((id.clone(), commit));
        for daemon in self.daemons.values() {
            daemon.tip.set(id.clone());
            daemon.waker.wake();
        }
    }

    fn object(&self, resource: Resource, name: &str) -> Option<Arc<Value>> {
        let key = Key::new(resource, "default", name);
        self.embedded.with(|world, _| world.object(&key).cloned())
    }

    fn is_at_rest(&self) -> bool {
        let Some(set) = self.object(Resource::StatefulSets, "web") else { return false };
        let record = set["metadata"]["annotations"][Record::ANNOTATION].as_str().map(Record::decode);
        let Some(Ok(record)) = record else { return false };
        let image = self.commits.last().unwrap().1.image.as_str();
        let pods: Vec<Arc<Value>> =
            self.embedded.with(|world, _| world.objects(Resource::Pods, Some("default")).cloned().collect());
        record.done
            && set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == PARKED.0
            && set["spec"]["template"]["spec"]["containers"][0]["image"] == image
            && pods.len() == 3
            && pods.iter().all(|pod| is_ready(pod) && pod["spec"]["containers"][0]["image"] == image)
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..6000 {
            if holds(self) {
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("never: {what}; {:#?}", self.writes());
    }

    async fn rests(&self) {
        self.until("at rest", Self::is_at_rest).await;
        let wrong = self.embedded.with(|world, _| world.violations().first().map(ToString::to_string));
        assert_eq!(wrong, None);
    }

    fn writes(&self) -> Vec<Write> {
        self.wire.writes.lock().unwrap().clone()
    }

    fn done_by(&self, who: &str) -> usize {
        self.writes().iter().filter(|write| write.who == who && write.is_done()).count()
    }

    /// Who holds the Lease, by what daemons left.
    async fn leader(&self) -> Option<String> {
        let cluster = Cluster::from_service(self.embedded.service("ann"));
        report::read(&cluster, &[]).await.unwrap().first().and_then(|heard| heard.leader.clone())
    }
}

/// After the first write of one, none of the other's is accepted.
fn assert_fenced(writes: &[Write], old: &str, new: &str) {
    let Some(first) = writes.iter().position(|write| write.who == new && write.is_done()) else { return };
    let late: Vec<&Write> = writes[first..].iter().filter(|write| write.who == old && write.is_done()).collect();
    assert!(late.is_empty(), "{late:#?} after {:#?}", writes[first]);
}

/// Twenty pushes and reverts; how many writes were accepted, and who tried any.
async fn twenty(daemons: &[&'static str], elect: bool) -> (usize, BTreeSet<&'static str>) {
    let mut scene = Scene::begin();
    for who in daemons {
        scene.start(who, elect);
    }
    scene.rests().await;
    for number in 0..20 {
        // Every other one is a revert of the one before.
        scene.push(if number % 2 == 0 { "app:2" } else { "app:1" });
        if number % 5 == 3 {
            // Some are overtaken on their way.
            sleep(2 * SECOND).await;
        } else {
            scene.rests().await;
        }
    }
    scene.rests().await;
    let writes = scene.writes();
    (writes.iter().filter(|write| write.is_done()).count(), writes.iter().map(|write| write.who).collect())
}

#[test]
fn two_daemons_write_what_one_would_with_the_lease_and_without() {
    let (alone, _) = on_stage(twenty(&["a"], false));
    assert!(alone > 40, "{alone}");
    let (done, by) = on_stage(twenty(&["a", "b"], true));
    assert!(done <= alone + 20, "{done} writes, {alone} by one alone");
    assert_eq!(by.len(), 1, "whoever stands by sends nothing");
    let (done, by) = on_stage(twenty(&["a", "b"], false));
    assert!(done <= alone + 20, "{done} writes, {alone} by one alone");
    assert_eq!(by.len(), 2);
}

#[test]
fn a_leader_that_is_killed_is_followed_within_its_lease() {
    on_stage(async {
        // After each of the writes of a rollout.
        for deaths in 1..=4 {
            let mut scene = Scene::begin();
            scene.start("a", true);
            scene.until("a leads", |scene| scene.done_by("a") > 0).await;
            scene.start("b", true);
            scene.rests().await;
            sleep(Duration::from_millis(700 * deaths)).await;
            let before = scene.done_by("a");
            scene.push("app:2");
            let deaths = usize::try_from(deaths).unwrap();
            scene.until("it writes", |scene| scene.done_by("a") == before + deaths).await;
            scene.kill("a");
            let killed = scene.embedded.clock().now();
            assert_eq!(scene.done_by("b"), 0, "while another one leads");
            if deaths < 4 {
                scene.until("the other one writes", |scene| scene.done_by("b") > 0).await;
                let first = scene.writes().into_iter().find(|write| write.who == "b").unwrap();
                let passed = Duration::try_from(first.at.duration_since(killed)).unwrap();
                assert!(passed <= LEASE + SECOND, "{passed:?} after the death");
            }
            scene.rests().await;
            assert_eq!(scene.done_by("a") + scene.done_by("b"), before + 4, "{:#?}", scene.writes());
        }
    });
}

#[test]
fn what_a_leader_of_the_past_has_sent_is_refused_after_the_first_write_of_the_next() {
    on_stage(async {
        let story = async |scene: &mut Scene| {
            scene.push("app:2");
            scene.rests().await;
            scene.push("app:pull-3");
            let failed = |scene: &Scene| {
                let set = scene.object(Resource::StatefulSets, "web").unwrap();
                let record = Record::decode(set["metadata"]["annotations"][Record::ANNOTATION].as_str().unwrap());
                record.is_ok_and(|record| !record.failed.is_empty())
            };
            scene.until("it fails", failed).await;
            scene.push("app:2");
            scene.rests().await;
        };
        let mut undisturbed = Scene::begin();
        undisturbed.start("a", true);
        undisturbed.rests().await;
        let before = undisturbed.writes().len();
        story(&mut undisturbed).await;
        let all = undisturbed.writes().len() - before;
        assert!(undisturbed.writes().iter().any(|write| write.what.contains("/pods/")), "a pod is repaired");
        for held in 0..all {
            let mut scene = Scene::begin();
            scene.start("a", true);
            scene.rests().await;
            scene.start("b", true);
            sleep(3 * SECOND).await;
            scene.wire.held.lock().unwrap().stops = Some(("a", held));
            let wire = scene.wire.clone();
            // Twice the Lease after it was stopped, it goes on.
            let back = tokio::spawn(async move {
                while wire.held.lock().unwrap().stopped.is_none() {
                    wire.moves.notified().await;
                }
                sleep(2 * LEASE).await;
                wire.goes_on();
            });
            story(&mut scene).await;
            back.await.unwrap();
            sleep(60 * SECOND).await;
            scene.rests().await;
            assert!(scene.done_by("b") > 0, "stopped at write {held} of {all}");
            assert_fenced(&scene.writes(), "a", "b");
            // And whoever came back is of use again.
            scene.kill("b");
            scene.push("app:4");
            scene.rests().await;
        }
    });
}

#[test]
fn a_leader_that_is_asked_to_end_hands_over_at_once() {
    on_stage(async {
        let mut scene = Scene::begin();
        scene.start("a", true);
        scene.rests().await;
        scene.start("b", true);
        sleep(5 * SECOND).await;
        assert_eq!(scene.leader().await.as_deref(), Some("a"));
        let asked = scene.embedded.clock().now();
        assert_eq!(scene.end("a").await.problem, None);
        scene.push("app:2");
        scene.until("the other one writes", |scene| scene.done_by("b") > 0).await;
        let passed = scene.embedded.clock().now().duration_since(asked);
        assert!(passed.as_secs() < 3, "{passed:?}");
        scene.rests().await;
        assert_eq!(scene.leader().await.as_deref(), Some("b"));
        scene.end("b").await;
        assert_eq!(scene.leader().await, None, "nobody leads, and it says so");
    });
}

#[test]
fn what_a_daemon_knows_is_on_its_lease_whether_it_stands_for_election_or_not() {
    for elect in [true, false] {
        on_stage(async {
            let mut scene = Scene::begin();
            scene.commits[0].1.replicas = Some(3);
            scene.start("a", elect);
            scene.rests().await;
            sleep(15 * SECOND).await;
            let cluster = Cluster::from_service(scene.embedded.service("ann"));
            let read = async || report::read(&cluster, &[]).await.unwrap();
            let heard = read().await;
            assert_eq!(heard.len(), 1, "{heard:#?}");
            let Report { version, source, default_namespace, commit, workloads, .. } = &heard[0].report;
            assert_eq!(
                (version.as_str(), source.url.as_str(), default_namespace.as_str()),
                ("1", "/deploy.git", "default")
            );
            assert_eq!((commit, workloads.len()), (&scene.commits[0].0.0, 0), "what is well is not told of");
            let now = scene.embedded.clock().now();
            let age = |heard: &report::Heard| now.duration_since(heard.at.unwrap()).as_secs();
            assert!((0..12).contains(&age(&heard[0])), "{:?}", heard[0].at);
            // Something that only the daemon can tell: the server refuses what it sends, or it cannot be taken.
            scene.push("app:pull-2");
            sleep(60 * SECOND).await;
            let heard = read().await;
            let known = heard[0].report.workloads.get("default/web").expect("it is told of");
            assert_eq!(known.reason, "ProgressDeadlineExceeded", "{known:?}");
            scene.push("app:3");
            scene.rests().await;
            sleep(15 * SECOND).await;
            assert!(read().await[0].report.workloads.is_empty());
            // It dies: the heartbeat is what tells.
            let last = read().await[0].at;
            scene.kill("a");
            sleep(40 * SECOND).await;
            assert_eq!(read().await[0].at, last);
        });
    }
}

#[test]
fn nothing_but_the_lease_is_written_at_rest() {
    on_stage(async {
        let mut scene = Scene::begin();
        scene.start("a", true);
        scene.start("b", true);
        scene.rests().await;
        sleep(30 * SECOND).await;
        let before = scene.writes().len();
        sleep(3600 * SECOND).await;
        assert_eq!(scene.writes().len(), before);
    });
}
