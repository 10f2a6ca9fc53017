//! The monitors of Git's side, of what is said, of pauses, the budget and the rate: each fails where it should.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Scene, hash, rules, template};
use crate::model::{CommitId, PARKED, Partition, Pause, Phase, Reason, Record, Schedule, Seen, Size, Stage};
use crate::sim::monitor::Told;
use crate::sim::{Key, Request, Resource, STAMP};

impl Scene {
    fn note(&mut self, told: Told) {
        self.monitor.note(told, self.now);
    }

    fn says(&mut self, phase: Phase, reason: Reason) {
        self.says_to("", phase, reason);
    }

    fn says_to(&mut self, by: &str, phase: Phase, reason: Reason) {
        let (namespace, name) = ("shop".into(), "web".into());
        self.note(Told::Said { by: by.into(), namespace, name, phase, reason });
    }

    fn wants(&mut self, image: &str) {
        self.wants_of(Some(json!({"spec": {"template": template(image)}})));
    }

    fn wants_of(&mut self, manifest: Option<Value>) {
        let (by, namespace, name) = (String::new(), "shop".into(), "web".into());
        self.note(Told::Wants { by, namespace, name, manifest });
    }

    /// One line of commits: 1, 2, 3, and 4 after 1.
    fn history(&mut self) {
        for (id, parent) in [("1", None), ("2", Some("1")), ("3", Some("2")), ("4", Some("1"))] {
            let (id, parent) = (CommitId(id.into()), parent.map(|id| CommitId(id.into())));
            let stamp = id.0.clone();
            self.note(Told::Commit { id, parent, stamp });
        }
    }

    fn branch(&mut self, tip: &str) {
        self.note(Told::Branch { remote: "origin".into(), tip: Some(CommitId(tip.into())) });
    }

    /// Everything is as it should be, at B.
    fn rests(&mut self) -> Record {
        let mut record = self.next(PARKED.0);
        (record.done, record.stable) = (true, Some(Seen { hash: hash("B"), ..Seen::default() }));
        self.set(&record, |object| object["status"]["currentRevision"] = "web-B".into());
        for ordinal in 0..3 {
            self.pod(ordinal, "B", true);
        }
        record
    }

    /// Somebody scales; the controller sees it.
    fn scale(&mut self, replicas: u32) {
        self.replicas = replicas;
        self.set(&self.record.clone(), |_| {});
    }
}

#[test]
fn a_pause_is_not_cut_short() {
    let play = |pause: Pause, passed: i64, promoted: bool| {
        rules(|scene| {
            let mut record = scene.record.clone();
            let stage = |size, pause| Stage { name: String::new(), size, min_ready_seconds: 0, pause };
            let stages = vec![stage(Size::Pods(1), pause), stage(Size::Percent(100), Pause::None)];
            (record.plan.schedule, record.promoted) = (Schedule::Stages(stages), promoted);
            scene.set(&record, |_| {});
            scene.pass(passed);
            scene.stage(&scene.next(0), Some(0));
        })
    };
    // Ten seconds have passed in the scene already.
    assert_eq!(play(Pause::Seconds(60), 49, false), ["pause"]);
    assert_eq!(play(Pause::Seconds(60), 50, false), [] as [&str; 0]);
    assert_eq!(play(Pause::Seconds(60), 0, true), [] as [&str; 0]);
    assert_eq!(play(Pause::UntilPromoted, 9999, false), ["pause"]);
    assert_eq!(play(Pause::UntilPromoted, 0, true), [] as [&str; 0]);
}

#[test]
fn a_healthy_pod_beside_a_broken_one_is_left_standing() {
    let gone = |broken, promoted, by_name| {
        rules(|scene| {
            let record = Record { promoted, ..scene.record.clone() };
            scene.set(&record, |_| {});
            if broken {
                scene.pod(0, "A", false);
            }
            scene.pass(10);
            scene.stage(&scene.next(1), Some(1));
            scene.set(&scene.record.clone(), |_| {});
            let pod = Key::new(Resource::Pods, "shop", "web-1");
            let mut after = Value::clone(scene.store.get(&pod).unwrap());
            after["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:40Z".into();
            if by_name {
                let request = Request { user: "ann".into(), method: "DELETE".into(), ..Request::default() };
                scene.send(&request, &pod, Some(after));
            } else {
                scene.store.put(pod, after);
                scene.tell();
            }
        })
    };
    assert_eq!(gone(true, false, false), ["budget"]);
    assert_eq!(gone(false, false, false), [] as [&str; 0]);
    assert_eq!(gone(true, true, false), [] as [&str; 0], "a person said that it may");
    assert_eq!(gone(true, false, true), [] as [&str; 0], "a person deletes it");
    let by_itself = rules(|scene| {
        scene.pod(0, "A", false);
        scene.pass(10);
        scene.stage(&scene.next(1), Some(1));
        scene.set(&scene.record.clone(), |_| {});
        let pod = Key::new(Resource::Pods, "shop", "web-1");
        let mut after = Value::clone(scene.store.get(&pod).unwrap());
        after["status"]["conditions"][0]["status"] = "False".into();
        scene.store.put(pod, after);
        scene.tell();
    });
    assert_eq!(by_itself, [] as [&str; 0], "it breaks by itself");
}

#[test]
fn no_commit_comes_after_a_later_one() {
    let play = |was: &str, is: &str, steady: Option<i64>| {
        rules(|scene| {
            scene.history();
            if let Some(seconds) = steady {
                scene.branch("3");
                scene.pass(5);
                scene.branch(is);
                scene.pass(seconds);
            }
            let mut record = scene.record.clone();
            record.target.commit = CommitId(was.into());
            scene.set(&record, |_| {});
            let mut new = scene.next(2);
            (new.rollout, new.stage, new.target.commit) = ("n-8".into(), Some(0), CommitId(is.into()));
            (new.target.hash, new.live) = (hash("C"), hash("C"));
            scene.apply(&new, json!({"spec": {}}), |_| {});
        })
    };
    assert_eq!(play("2", "3", None), [] as [&str; 0]);
    assert_eq!(play("3", "2", None), ["forward"]);
    assert_eq!(play("3", "4", None), ["forward"], "another line");
    assert_eq!(play("3", "4", Some(59)), ["forward"], "rewritten, and not for long enough");
    assert_eq!(play("3", "4", Some(60)), [] as [&str; 0]);
    assert_eq!(play("unknown", "2", None), [] as [&str; 0]);
    let stamped = |was: &str, is: &str| {
        rules(|scene| {
            scene.history();
            scene.set(&scene.record.clone(), |object| object["metadata"]["annotations"][STAMP] = was.into());
            let mut record = scene.record.clone();
            (record.epoch, record.generation) = (record.epoch + 1, record.generation);
            scene.apply(&record, json!({"spec": {}}), |object| object["metadata"]["annotations"][STAMP] = is.into());
        })
    };
    assert_eq!(stamped("2", "3"), [] as [&str; 0]);
    assert_eq!(stamped("3", "2"), ["forward"]);
}

#[test]
fn healthy_is_said_of_what_is_healthy() {
    let play = |act: fn(&mut Scene)| {
        rules(|scene| {
            scene.rests();
            scene.wants("B");
            act(scene);
            scene.says(Phase::Healthy, Reason::Completed);
            scene.pass(6);
            scene.monitor.judge(scene.now);
        })
    };
    assert_eq!(play(|_| {}), [] as [&str; 0]);
    assert_eq!(play(|scene| scene.pod(1, "B", false)), ["healthy"]);
    assert_eq!(play(|scene| scene.pod(1, "A", true)), ["healthy"]);
    assert_eq!(play(|scene| scene.wants("C")), ["healthy"], "a commit waits");
    assert_eq!(play(|scene| scene.scale(4)), ["healthy"], "a pod is missing");
    assert_eq!(play(|scene| scene.wants_of(None)), ["healthy"], "Git has nothing of it");
    let revisions = play(|scene| scene.set(&scene.record.clone(), |_| {}));
    assert_eq!(revisions, ["healthy"], "the current revision is another one");
    // A hiccup, and one that is dead.
    let short = rules(|scene| {
        scene.rests();
        scene.wants("B");
        scene.says(Phase::Healthy, Reason::Completed);
        scene.pod(1, "B", false);
        scene.pass(5);
        scene.pod(1, "B", true);
        scene.pod(1, "B", false);
        scene.note(Told::Dead { by: String::new() });
        scene.pass(99);
        scene.monitor.judge(scene.now);
    });
    assert!(short.is_empty(), "{short:?}");
    // What lasts too long is seen also where it is over before anybody asks.
    let over = rules(|scene| {
        scene.rests();
        scene.wants("B");
        scene.says(Phase::Healthy, Reason::Completed);
        scene.pod(1, "B", false);
        scene.pass(6);
        scene.pod(1, "B", true);
    });
    assert_eq!(over, ["healthy"]);
}

#[test]
fn what_is_frozen_exposes_nobody() {
    let grows = |phase: Phase, reason: Reason, made: &[u32]| {
        rules(|scene| {
            scene.says(phase, reason);
            scene.scale(6);
            scene.pass(9);
            for ordinal in made {
                scene.pod(*ordinal, "B", true);
            }
        })
    };
    let none = [] as [&str; 0];
    assert_eq!(grows(Phase::Blocked, Reason::Orphaned, &[3, 4]), ["frozen"]);
    assert_eq!(grows(Phase::Degraded, Reason::Drifted, &[3, 4]), ["frozen"]);
    assert_eq!(grows(Phase::Paused, Reason::PausedByUser, &[3, 4]), ["frozen"]);
    assert_eq!(grows(Phase::Blocked, Reason::Orphaned, &[5]), none, "as many as were exposed");
    assert_eq!(grows(Phase::Progressing, Reason::WaitingReady, &[3, 4]), none);
    assert_eq!(grows(Phase::Paused, Reason::StagePaused, &[3, 4]), none, "a stage follows its share");
    let at_once = rules(|scene| {
        scene.says(Phase::Blocked, Reason::Orphaned);
        scene.scale(6);
        scene.pod(3, "B", true);
        scene.pod(4, "B", true);
    });
    assert_eq!(at_once, none, "nobody could have known");
    let stable = rules(|scene| {
        scene.says(Phase::Blocked, Reason::Orphaned);
        scene.scale(6);
        scene.pass(9);
        scene.pod(3, "A", true);
        scene.pod(4, "A", true);
    });
    assert_eq!(stable, none);
    let falls = |by: &str| {
        rules(|scene| {
            scene.says_to(by, Phase::Blocked, Reason::Orphaned);
            scene.stage(&scene.next(1), Some(1));
        })
    };
    assert_eq!(falls(""), ["frozen"]);
    assert_eq!(falls("another"), none, "that is not what the one who writes said");
    let newer = rules(|scene| {
        scene.says(Phase::Degraded, Reason::ProgressDeadlineExceeded);
        let mut new = Record { partition: Partition(2), ..scene.next(2) };
        (new.rollout, new.stage) = ("c-8".into(), Some(0));
        (new.target.hash, new.live) = (hash("C"), hash("C"));
        scene.apply(&new, json!({"spec": {}}), |_| {});
    });
    assert_eq!(newer, none, "a new commit is a decision");
}

#[test]
fn nobody_asks_more_than_ten_times_a_second() {
    let play = |every: i64, agent: &str| {
        let mut scene = Scene::new();
        let request = Request { agent: agent.into(), ..Request::default() };
        for _ in 0..400 {
            scene.now += SignedDuration::from_millis(every);
            scene.monitor.asked(&request, scene.now);
        }
        scene.rules()
    };
    assert_eq!(play(90, "phaseline/1"), ["rate"]);
    assert_eq!(play(101, "phaseline/1"), [] as [&str; 0]);
    assert_eq!(play(1, "kubectl/1"), [] as [&str; 0]);
}
