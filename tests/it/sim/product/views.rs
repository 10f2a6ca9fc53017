//! What stands between the daemon and the truth: watches that fall silent, a server that goes back, one namespace that
//! may not be seen, and one that is missing.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Full, StreamBody};
use kube::client::Body;
use phaseline::clock::Clock;
use phaseline::cluster::Cluster;
use phaseline::daemon::{self, Listener, News, RunOptions, Said, Scope, Source, Tip, What};
use phaseline::git::{Place, Waker, Wakes};
use phaseline::model::{CommitId, Pause, Phase, Plan, Reason, Schedule, Size, Stage};
use phaseline::sim::serve::Embedded;
use phaseline::sim::{Answer, Key, Request as Asked, Resource, Settings, World};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::{BoxError, Service};

use super::git::{Commit, Repo};
use super::play::{on_stage, start};

/// The way to the cluster, and what is wrong with it.
#[derive(Clone)]
struct Way {
    state: Arc<Mutex<State>>,
    /// How often the connections that are open died without a word.
    deaths: watch::Sender<u64>,
    /// How often they were ended.
    cuts: watch::Sender<u64>,
}

struct State {
    embedded: Embedded,
    /// Nothing is answered at all.
    silent: bool,
    /// Every path with this in it is answered 403.
    forbidden: Option<&'static str>,
    asked: u64,
}

impl Way {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap())
    }

    /// What is open now tells nothing any more, and does not end.
    fn half_open(&self) {
        self.deaths.send_modify(|deaths| *deaths += 1);
    }

    /// What is open now ends.
    fn cut(&self) {
        self.half_open();
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError> {
        let path = request.uri().to_string();
        let (embedded, silent, forbidden) = self.with(|state| {
            state.asked += 1;
            (state.embedded.clone(), state.silent, state.forbidden.is_some_and(|part| path.contains(part)))
        });
        if silent {
            return std::future::pending().await;
        }
        if forbidden {
            let message = "pods is forbidden: User \"phaseline\" cannot list resource \"pods\" in API group \"\"";
            let status =
                json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": message});
            let body = Full::new(Bytes::from(status.to_string())).map_err(|never| match never {}).boxed_unsync();
            return Ok(Response::builder().status(403).header("content-type", "application/json").body(body)?);
        }
        let reply = embedded.service("phaseline").answer(request).await?;
        let mut deaths = self.deaths.subscribe();
        let (parts, body) = reply.into_parts();
        let dead = async move { _ = deaths.changed().await };
        let living = BodyDataStream::new(body).map(|data| data.map(http_body::Frame::data)).take_until(dead);
        let mut cuts = self.cuts.subscribe();
        let stays = futures_util::stream::pending().take_until(async move { _ = cuts.changed().await });
        let is_watch = path.contains("watch=true");
        let body = match is_watch {
            true => StreamBody::new(living.chain(stays)).boxed_unsync(),
            false => StreamBody::new(living).boxed_unsync(),
        };
        Ok(Response::from_parts(parts, body))
    }
}

impl Service<Request<Body>> for Way {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

/// A daemon at the end of that way.
struct Scene {
    repo: Rc<Repo>,
    way: Way,
    tip: Tip,
    waker: Waker,
    last: (CommitId, usize, Commit),
    heard: Arc<Mutex<Vec<News>>>,
}

fn world(seed: u64, clock: Clock) -> Embedded {
    Embedded::start(World::new(&Settings { seed, start: clock.now(), ..Settings::default() }), clock)
}

impl Scene {
    fn begin(namespaces: &[&str], first: Commit) -> Self {
        let clock = Clock::starting(start());
        let state = State { embedded: world(3, clock), silent: false, forbidden: None, asked: 0 };
        let (deaths, cuts) = (watch::Sender::new(0), watch::Sender::new(0));
        let way = Way { state: Arc::new(Mutex::new(state)), deaths, cuts };
        let repo = Rc::new(Repo::new());
        let id = repo.commit(None, 0, &first);
        let (tip, heard) = (Tip::new(id.clone()), Arc::new(Mutex::new(Vec::new())));
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let scope = Scope { default_namespace: "default".into(), only: namespaces.clone() };
        let source = Source::in_place(Place::At(repo.path()), "", scope).unwrap().at(tip.clone());
        let wakes = Wakes::by_hand();
        let waker = wakes.waker();
        let told = heard.clone();
        let listener = Listener::new(move |news| told.lock().unwrap().push(news));
        let options = RunOptions { clock, namespaces, listener: Some(listener), ..RunOptions::default() };
        let cluster = Cluster::from_service(way.clone());
        tokio::spawn(daemon::run(cluster, source, Some(wakes), options, std::future::pending()));
        Self { repo, way, tip, waker, last: (id, 0, first), heard }
    }

    fn push(&mut self, change: impl FnOnce(&mut Commit)) {
        let (parent, number, mut commit) = self.last.clone();
        change(&mut commit);
        let id = self.repo.commit(Some(&parent), number + 1, &commit);
        self.last = (id.clone(), number + 1, commit);
        self.tip.set(id);
        self.waker.wake();
    }

    fn embedded(&self) -> Embedded {
        self.way.with(|state| state.embedded.clone())
    }

    fn said(&self, namespace: &str) -> Option<Said> {
        let heard = self.heard.lock().unwrap();
        heard.iter().rev().find_map(|news| match &news.what {
            What::Is(said) if news.workload.namespace == namespace => Some(said.clone()),
            What::Is(_) | What::Wrote { .. } => None,
        })
    }

    fn is(&self, namespace: &str, phase: Phase, reason: Reason) -> bool {
        self.said(namespace).is_some_and(|said| (said.phase, said.reason) == (phase, reason))
    }

    fn set(&self, namespace: &str) -> Option<Arc<Value>> {
        self.embedded().with(|world, _| world.object(&Key::new(Resource::StatefulSets, namespace, "web")).cloned())
    }

    fn image(&self, namespace: &str) -> String {
        let set = self.set(namespace);
        set.map(|set| set["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned())
            .unwrap_or_default()
    }

    /// How many seconds it takes until that is so.
    async fn until(&self, most: u64, what: &str, holds: impl Fn(&Self) -> bool) -> u64 {
        for seconds in 0..=most {
            if holds(self) {
                return seconds;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let heard = self.heard.lock().unwrap();
        let lines: Vec<String> = heard.iter().map(|news| format!("{} {:?}", news.at, news.what)).collect();
        panic!("not within {most} s: {what}\n{}", lines.join("\n"));
    }

    async fn healthy(&self, namespace: &'static str, image: &'static str, most: u64) -> u64 {
        let is_so = |scene: &Self| {
            let rests = scene.said(namespace).is_some_and(|said| said.phase == Phase::Healthy);
            rests && scene.image(namespace) == image
        };
        self.until(most, image, is_so).await
    }
}

fn plan() -> Plan {
    let stage = |size| Stage { name: String::new(), size, min_ready_seconds: 2, pause: Pause::None };
    let stages = vec![stage(Size::Pods(1)), stage(Size::Percent(100))];
    Plan { schedule: Schedule::Stages(stages), ..Plan::default() }
}

fn first() -> Commit {
    Commit { plan: plan(), ..Commit::new("app:1", 3) }
}

#[test]
fn a_watch_that_is_half_open_is_found_out_by_our_own_write() {
    on_stage(async {
        let mut scene = Scene::begin(&[], first());
        scene.healthy("default", "app:1", 30).await;
        // Just before a rollout: everything that is written from now on comes back on no watch.
        scene.way.half_open();
        scene.push(|commit| commit.image = "app:2".into());
        let took = scene.healthy("default", "app:2", 170).await;
        assert!(took < 170, "{took}");
        // At rest nothing is asked but for what a silent watch costs.
        let before = scene.way.with(|state| state.asked);
        scene.way.half_open();
        tokio::time::sleep(Duration::from_secs(600)).await;
        let asked = scene.way.with(|state| state.asked) - before;
        assert!(asked < 30, "{asked} requests at rest");
        assert!(scene.is("default", Phase::Healthy, Reason::Completed));
    });
}

#[test]
fn a_cluster_that_says_nothing_is_said_to_be_out_of_sight_and_seen_again() {
    on_stage(async {
        let mut scene = Scene::begin(&[], first());
        scene.healthy("default", "app:1", 30).await;
        scene.push(|commit| commit.image = "app:2".into());
        scene.until(10, "a rollout", |scene| scene.image("default") == "app:2").await;
        scene.way.half_open();
        scene.way.with(|state| state.silent = true);
        let stale = |scene: &Scene| scene.is("default", Phase::Progressing, Reason::ViewStale);
        // Silence counts after 150 s; a read that is under way has its own deadline before it is told.
        scene.until(215, "out of sight", stale).await;
        scene.way.with(|state| state.silent = false);
        scene.healthy("default", "app:2", 120).await;
    });
}

#[test]
fn a_server_that_goes_back_is_believed() {
    // Restored from a backup, and empty behind the same name; with connections that break, and with some that do not.
    for (restored, quietly) in [(true, true), (true, false), (false, true), (false, false)] {
        on_stage(async {
            let mut scene = Scene::begin(&[], first());
            scene.healthy("default", "app:1", 30).await;
            let clock = scene.embedded().clock();
            // The backup: as another daemon had left it.
            let backup = world(9, clock);
            if restored {
                let earlier = Way {
                    state: Arc::new(Mutex::new(State {
                        embedded: backup.clone(),
                        silent: false,
                        forbidden: None,
                        asked: 0,
                    })),
                    deaths: watch::Sender::new(0),
                    cuts: watch::Sender::new(0),
                };
                let scope = Scope { default_namespace: "default".into(), only: Vec::new() };
                let tip = Tip::new(scene.last.0.clone());
                let source = Source::in_place(Place::At(scene.repo.path()), "", scope).unwrap().at(tip);
                let options = RunOptions { clock, ..RunOptions::default() };
                let cluster = Cluster::from_service(earlier);
                let run = daemon::run(cluster, source, Some(Wakes::by_hand()), options, std::future::pending());
                let daemon = tokio::spawn(run);
                tokio::time::sleep(Duration::from_secs(20)).await;
                daemon.abort();
            }
            for image in ["app:2", "app:3", "app:4"] {
                scene.push(|commit| commit.image = image.into());
                scene.healthy("default", image, 60).await;
            }
            let (before, after) = (scene.embedded(), backup.clone());
            let version = |embedded: &Embedded| embedded.with(|world, _| world.version());
            assert!(version(&before) > version(&after), "it goes back");
            scene.way.with(|state| state.embedded = backup);
            match quietly {
                true => scene.way.half_open(),
                false => scene.way.cut(),
            }
            let is_back = |scene: &Scene| scene.image("default") == "app:4";
            let took = scene.until(400, "rolled out again", is_back).await;
            scene.healthy("default", "app:4", 120).await;
            scene.push(|commit| commit.image = "app:5".into());
            scene.healthy("default", "app:5", 60).await;
            assert!(took <= 210, "restored {restored}, quietly {quietly}: {took}");
            assert_eq!(after.with(|world, _| world.violations().len()), 0);
        });
    }
}

#[test]
fn a_namespace_that_is_missing_is_said_and_gone_on_with_as_soon_as_it_is_there() {
    for watched in [vec![], vec!["default", "shop"]] {
        on_stage(async {
            let scene = Scene::begin(&watched, Commit { beside: Some("shop"), ..first() });
            scene.healthy("default", "app:1", 30).await;
            let missing = |scene: &Scene| scene.is("shop", Phase::Blocked, Reason::NamespaceMissing);
            scene.until(5, "said", missing).await;
            let said = scene.said("shop").unwrap();
            assert!(said.message.contains("kubectl create namespace shop"), "{said:?}");
            let before = scene.way.with(|state| state.asked);
            tokio::time::sleep(Duration::from_secs(600)).await;
            let asked = scene.way.with(|state| state.asked) - before;
            assert!(asked < 80, "{asked} requests in ten minutes: it is polled");
            assert!(missing(&scene));
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
            let request = Asked {
                method: "POST".into(),
                path: "/api/v1/namespaces".into(),
                content_type: "application/json".into(),
                body: body.to_string().into_bytes(),
                user: "ann".into(),
                ..Asked::default()
            };
            let answer = scene.embedded().with(|world, now| world.handle(now, &request));
            assert!(matches!(&answer, Answer::Whole(response) if response.code == 201), "{answer:?}");
            let took = scene.until(10, "made", |scene| scene.set("shop").is_some()).await;
            assert!(took <= 2, "{took}");
            scene.healthy("shop", "app:1", 30).await;
        });
    }
}

#[test]
fn a_right_that_is_missing_in_one_namespace_holds_up_no_other() {
    // From the beginning, and taken away in the middle.
    for late in [false, true] {
        on_stage(async {
            let mut scene =
                Scene::begin(&["default", "kube-public"], Commit { beside: Some("kube-public"), ..first() });
            if late {
                scene.healthy("kube-public", "app:1", 30).await;
            }
            scene.way.with(|state| state.forbidden = Some("/namespaces/kube-public/"));
            if late {
                // Watches are asked for their right when they begin.
                scene.way.half_open();
            }
            scene.push(|commit| commit.image = "app:2".into());
            scene.healthy("default", "app:2", 170).await;
            let blocked = |scene: &Scene| scene.is("kube-public", Phase::Blocked, Reason::Forbidden);
            scene.until(150, "said", blocked).await;
            let said = scene.said("kube-public").unwrap();
            assert!(said.message.contains("list"), "{said:?}");
            assert!(said.message.contains("phaseline install --watch-namespace kube-public"), "{said:?}");
            // The others go on for as long as it lasts.
            scene.push(|commit| commit.image = "app:3".into());
            scene.healthy("default", "app:3", 60).await;
            scene.way.with(|state| state.forbidden = None);
            scene.healthy("kube-public", "app:3", 90).await;
        });
    }
}
