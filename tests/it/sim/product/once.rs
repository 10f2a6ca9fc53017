//! `run --once`: everything that is due is done in one pass, and where it is not, it says so.

use std::rc::Rc;
use std::time::Duration;

use phaseline::clock::Clock;
use phaseline::cluster::Cluster;
use phaseline::daemon::{self, Ended, RunOptions, Scope, Source, Tip};
use phaseline::git::Place;
use phaseline::model::{CommitId, Phase};
use phaseline::sim::serve::Embedded;
use phaseline::sim::{Key, Resource, Settings, World};
use tokio::time::sleep;

use super::git::{Commit, Repo};
use super::play::{on_stage, start};

struct Scene {
    embedded: Embedded,
    repo: Rc<Repo>,
}

impl Scene {
    fn new() -> Self {
        let settings = Settings { start: start(), seed: 3, ..Settings::default() };
        let embedded = Embedded::start(World::new(&settings), Clock::starting(settings.start));
        Self { embedded, repo: Rc::new(Repo::new()) }
    }

    async fn pass(&self, tip: &CommitId) -> Ended {
        self.pass_on(tip, Cluster::from_service(self.embedded.service("phaseline"))).await
    }

    async fn pass_on(&self, tip: &CommitId, cluster: Cluster) -> Ended {
        let scope = Scope { default_namespace: "default".into(), only: Vec::new() };
        let source = Source::in_place(Place::At(self.repo.path()), "", scope).unwrap().at(Tip::new(tip.clone()));
        let options = RunOptions {
            once: true,
            timeout: Some(Duration::from_secs(600)),
            clock: self.embedded.clock(),
            ..RunOptions::default()
        };
        daemon::run(cluster, source, None, options, std::future::pending()).await
    }

    fn image(&self) -> String {
        let key = Key::new(Resource::StatefulSets, "default", "web");
        let set = self.embedded.with(|world, _| world.object(&key).cloned()).unwrap();
        set["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_changed_template_is_started_in_one_pass_and_comes_to_its_end_in_a_few() {
    on_stage(async {
        let scene = Scene::new();
        let first = Commit::new("app:1", 3);
        let one = scene.repo.commit(None, 0, &first);
        for _ in 0..3 {
            assert_eq!(scene.pass(&one).await.problem, None);
            sleep(Duration::from_secs(30)).await;
        }
        let two = scene.repo.commit(Some(&one), 1, &Commit { image: "app:2".into(), ..first });
        let ended = scene.pass(&two).await;
        assert_eq!((ended.problem, scene.image().as_str()), (None, "app:2"), "one pass starts it");
        assert!(ended.phases.values().all(|phase| *phase == Phase::Progressing), "{:?}", ended.phases);
        for _ in 0..3 {
            sleep(Duration::from_secs(30)).await;
            assert_eq!(scene.pass(&two).await.problem, None);
        }
        let ended = scene.pass(&two).await;
        assert!(ended.phases.values().all(|phase| *phase == Phase::Healthy), "{:?}", ended.phases);
    });
}

#[test]
fn a_cluster_that_does_not_answer_ends_the_pass() {
    on_stage(async {
        let scene = Scene::new();
        let one = scene.repo.commit(None, 0, &Commit::new("app:1", 3));
        let refuses = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
        });
        let began = scene.embedded.clock().now();
        let problem = scene.pass_on(&one, Cluster::from_service(refuses)).await.problem.unwrap();
        assert!(problem.contains("cannot see statefulsets") && problem.contains("cannot reach"), "{problem}");
        assert!(scene.embedded.clock().now().duration_since(began).as_secs() < 60);
        // One that takes the connection and says nothing: until the time is up.
        let hangs = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
        });
        let began = scene.embedded.clock().now();
        let problem = scene.pass_on(&one, Cluster::from_service(hangs)).await.problem.unwrap();
        assert!(problem.contains("no answer within"), "{problem}");
        assert!(scene.embedded.clock().now().duration_since(began).as_secs() <= 600);
    });
}

#[test]
fn a_pass_that_finds_nothing_to_do_says_so() {
    on_stage(async {
        let scene = Scene::new();
        let gone = CommitId("0123456789012345678901234567890123456789".into());
        let problem = scene.pass(&gone).await.problem.unwrap();
        assert!(problem.starts_with("the repository cannot be read: "), "{problem}");
    });
}
