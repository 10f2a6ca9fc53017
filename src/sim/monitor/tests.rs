//! Each monitor fails where it should: a good line of writes, and one that is wrong in one way.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Monitor, Write, facts};
use crate::model::record::Answer;
use crate::model::{
    Failed, Hold, Mode, PARKED, Partition, Pause, Plan, Record, Schedule, Seen, Size, Stage, TemplateHash,
};
use crate::sim::{Key, Request, Resource, Store};

mod told;

const RECORD: &str = "/metadata/annotations/phaseline.dev~1rollout";
const PARTITION: &str = "/spec/updateStrategy/rollingUpdate/partition";

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn hash(image: &str) -> TemplateHash {
    TemplateHash(facts::template(&json!({"spec": {"template": template(image)}})))
}

/// A set of three in the middle of a rollout from A to B, at the first of two stages.
struct Scene {
    store: Store,
    monitor: Monitor,
    now: Timestamp,
    told: u64,
    uids: u32,
    record: Record,
    replicas: u32,
}

impl Scene {
    fn new() -> Self {
        let stage = |size| Stage { name: String::new(), size, min_ready_seconds: 5, pause: Pause::None };
        let plan = Plan {
            schedule: Schedule::Stages(vec![stage(Size::Pods(1)), stage(Size::Pods(2)), stage(Size::Percent(100))]),
            ..Plan::default()
        };
        let seen = |image| Seen { hash: hash(image), ..Seen::default() };
        let record = Record {
            v: 1,
            epoch: 7,
            rollout: "b-6".into(),
            target: seen("B"),
            src: None,
            mark: Default::default(),
            stable: Some(seen("A")),
            back: "web-A".into(),
            mode: Mode::Staged,
            plan,
            digest: "d".into(),
            stage: Some(0),
            exposed: None,
            done: false,
            partition: Partition(2),
            generation: 4,
            live: hash("B"),
            rest: String::new(),
            began: 0,
            at: 100,
            promoted: false,
            hashes: 1,
            stated: String::new(),
            hold: None,
            accepted: false,
            was: None,
            failed: Vec::new(),
            proven: Vec::new(),
            req: None,
            replicas: None,
        };
        let mut scene = Self {
            store: Store::default(),
            monitor: Monitor::default(),
            now: start(),
            told: 0,
            uids: 0,
            record: record.clone(),
            replicas: 3,
        };
        for image in ["A", "B", "C"] {
            let data = json!({"spec": {"template": template(image)}});
            let key = Key::new(Resource::Revisions, "shop", &format!("web-{image}"));
            scene.store.put(key, json!({"metadata": {"name": format!("web-{image}")}, "data": data}));
        }
        scene.set(&record, |_| {});
        for ordinal in 0..3 {
            scene.pod(ordinal, if ordinal == 2 { "B" } else { "A" }, true);
        }
        scene.pass(10);
        scene
    }

    fn key() -> Key {
        Key::new(Resource::StatefulSets, "shop", "web")
    }

    fn tell(&mut self) {
        let changes: Vec<_> = self.store.since(self.told).unwrap().cloned().collect();
        for change in changes {
            self.monitor.changed(&change, &self.store, self.now);
        }
        self.told = self.store.version();
    }

    fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// The set with that record, seen by its controller.
    fn set(&mut self, record: &Record, change: impl FnOnce(&mut Value)) {
        self.record = record.clone();
        let object = self.object(record, change);
        self.store.put(Self::key(), object);
        self.tell();
    }

    fn object(&self, record: &Record, change: impl FnOnce(&mut Value)) -> Value {
        let image = if record.live == hash("A") {
            "A"
        } else if record.live == hash("B") {
            "B"
        } else {
            "C"
        };
        let mut object = json!({
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "set", "generation": record.generation,
                "annotations": {"phaseline.dev/rollout": record.encode()},
            },
            "spec": {
                "replicas": self.replicas, "template": template(image),
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": record.partition.0}},
            },
            "status": {
                "observedGeneration": record.generation, "currentRevision": "web-A",
                "updateRevision": format!("web-{image}"),
            },
        });
        change(&mut object);
        object
    }

    fn pod(&mut self, ordinal: u32, image: &str, ready: bool) {
        self.uids += 1;
        let status = if ready { "True" } else { "False" };
        let name = format!("web-{ordinal}");
        let object = json!({
            "metadata": {
                "name": name, "namespace": "shop", "uid": format!("pod-{}", self.uids),
                "labels": {"controller-revision-hash": format!("web-{image}")},
                "ownerReferences": [{"kind": "StatefulSet", "name": "web", "uid": "set", "controller": true}],
            },
            "status": {"conditions": [{
                "type": "Ready", "status": status,
                "lastTransitionTime": crate::sim::moment::seconds(self.now),
            }]},
        });
        self.store.put(Key::new(Resource::Pods, "shop", &name), object);
        self.tell();
    }

    /// A write of ours; what it leaves is stored.
    fn send(&mut self, request: &Request, key: &Key, after: Option<Value>) {
        let before = self.store.get(key).cloned();
        let after = after.map(Arc::new);
        let write = Write { request, key, part: false, before, after: after.clone(), done: true };
        self.monitor.wrote(&write, &self.store, self.now);
        match after {
            Some(after) => _ = self.store.put(key.clone(), Value::clone(&after)),
            None => _ = self.store.remove(key),
        }
        self.tell();
    }

    fn ours(method: &str, kind: &str, body: &Value) -> Request {
        Request {
            method: method.into(),
            path: String::new(),
            content_type: kind.into(),
            body: body.to_string().into_bytes(),
            agent: "phaseline/1".into(),
            ..Request::default()
        }
    }

    /// The record of the next stage.
    fn next(&self, partition: u32) -> Record {
        let mut record = self.record.clone();
        (record.epoch, record.generation, record.at) = (record.epoch + 1, record.generation + 1, record.at + 1);
        (record.partition, record.stage) = (Partition(partition), record.stage.map(|stage| stage + 1));
        record
    }

    fn patch(&mut self, record: &Record, partition: Option<u32>, guards: &[&str], change: impl FnOnce(&mut Value)) {
        let mut steps: Vec<Value> =
            guards.iter().map(|path| json!({"op": "test", "path": path, "value": "x"})).collect();
        steps.extend(partition.map(|to| json!({"op": "add", "path": PARTITION, "value": to})));
        steps.push(json!({"op": "replace", "path": RECORD, "value": record.encode()}));
        let after = self.object(record, |object| {
            object["status"]["observedGeneration"] = (record.generation - 1).into();
            change(object);
        });
        let request = Self::ours("PATCH", "application/json-patch+json", &Value::Array(steps));
        self.send(&request, &Self::key(), Some(after));
        self.record = record.clone();
    }

    fn stage(&mut self, record: &Record, partition: Option<u32>) {
        self.patch(record, partition, &["/metadata/uid", "/metadata/generation", RECORD], |_| {});
    }

    fn apply(&mut self, record: &Record, body: Value, change: impl FnOnce(&mut Value)) {
        let mut body = body;
        body["metadata"] = json!({"uid": "set", "resourceVersion": "1"});
        let after = self.object(record, change);
        let request = Self::ours("PATCH", "application/apply-patch+yaml", &body);
        self.send(&request, &Self::key(), Some(after));
        self.record = record.clone();
    }

    fn delete(&mut self, ordinal: u32, preconditions: bool) {
        let key = Key::new(Resource::Pods, "shop", &format!("web-{ordinal}"));
        let body =
            if preconditions { json!({"preconditions": {"uid": "u", "resourceVersion": "1"}}) } else { json!({}) };
        let mut after = Value::clone(self.store.get(&key).unwrap());
        after["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:40Z".into();
        self.send(&Self::ours("DELETE", "application/json", &body), &key, Some(after));
    }

    fn rules(&self) -> Vec<&'static str> {
        let mut rules: Vec<_> = self.monitor.violations().iter().map(|it| it.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

/// What the rules say of a scene in which something is done.
fn rules(act: impl FnOnce(&mut Scene)) -> Vec<&'static str> {
    let mut scene = Scene::new();
    act(&mut scene);
    scene.rules()
}

#[test]
fn a_good_rollout_breaks_nothing() {
    let found = rules(|scene| {
        for (to, ordinal) in [(1, 1), (0, 0)] {
            let record = scene.next(to);
            scene.stage(&record, Some(to));
            scene.set(&record.clone(), |_| {});
            scene.pod(ordinal, "B", true);
            scene.pass(5);
        }
        let mut done = scene.next(PARKED.0);
        (done.done, done.stage) = (true, Some(2));
        scene.stage(&done, Some(PARKED.0));
        scene.set(&done.clone(), |_| {});
        scene.monitor.quiet = true;
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn stages_come_in_order_through_their_gates_and_once() {
    // Two at once.
    assert_eq!(rules(|scene| scene.stage(&scene.next(0), Some(0))), ["I1"]);
    // Up again.
    let up = rules(|scene| {
        let record = scene.next(1);
        scene.stage(&record, Some(1));
        scene.set(&record.clone(), |_| {});
        scene.pod(1, "B", true);
        scene.pass(9);
        scene.stage(&scene.next(2), Some(2));
    });
    assert!(up.contains(&"I3"), "{up:?}");
    // The pod is not Ready, not settled, or of the old revision; the controller has not seen the last write.
    assert_eq!(
        rules(|scene| {
            scene.set(&scene.record.clone(), |object| object["metadata"]["labels"] = json!({}));
            scene.pod(2, "B", false);
            // What was seen before our last write does not count.
            let mut same = scene.record.clone();
            (same.epoch, same.hold) = (same.epoch + 1, None);
            same.promoted = true;
            scene.stage(&same, None);
            scene.stage(&scene.next(1), Some(1));
        }),
        ["I4"]
    );
    assert_eq!(
        rules(|scene| {
            let mut same = scene.record.clone();
            (same.epoch, same.promoted) = (same.epoch + 1, true);
            scene.stage(&same, None);
            scene.set(&same.clone(), |_| {});
            scene.pod(2, "B", true);
            scene.pass(4);
            scene.stage(&scene.next(1), Some(1));
        }),
        [] as [&str; 0],
        "it was settled before its pod was replaced"
    );
    assert_eq!(
        rules(|scene| {
            scene.pod(2, "A", true);
            let mut same = scene.record.clone();
            (same.epoch, same.promoted) = (same.epoch + 1, true);
            scene.stage(&same, None);
            scene.set(&same.clone(), |_| {});
            scene.stage(&scene.next(1), Some(1));
        }),
        ["I4"]
    );
    // The same stage again.
    assert_eq!(
        rules(|scene| {
            let mut record = scene.next(1);
            scene.stage(&record, Some(1));
            scene.set(&record.clone(), |_| {});
            scene.pod(1, "B", true);
            scene.pass(9);
            (record.epoch, record.at, record.generation) = (record.epoch + 1, record.at + 1, record.generation + 1);
            scene.stage(&record, Some(1));
        }),
        ["I1", "I7"]
    );
    // An epoch that does not follow.
    assert_eq!(
        rules(|scene| {
            let mut record = scene.next(1);
            record.epoch += 1;
            scene.stage(&record, Some(1));
        }),
        ["I7"]
    );
}

#[test]
fn nothing_goes_on_while_too_many_are_away() {
    // The next stage takes pod 3 of five along.
    for (asked, broken, expected) in
        [(false, [0, 1], vec!["I5"]), (true, [0, 1], vec![]), (false, [1, 3], vec![]), (false, [1, 1], vec!["I5"])]
    {
        let found = rules(|scene| {
            scene.replicas = 5;
            let record = Record { partition: Partition(4), ..scene.record.clone() };
            scene.set(&record, |_| {});
            for ordinal in 0..5 {
                scene.pod(ordinal, if ordinal == 4 { "B" } else { "A" }, !broken.contains(&ordinal));
            }
            scene.pass(10);
            let mut next = scene.next(3);
            next.req = asked.then(|| Answer { id: "q1".into(), refused: String::new() });
            scene.stage(&next, Some(3));
        });
        assert_eq!(found, expected, "asked {asked}, broken {broken:?}");
    }
}

#[test]
fn a_failure_and_a_hold_stop_everything() {
    for hold in [false, true] {
        let found = rules(|scene| {
            let mut record = scene.record.clone();
            if hold {
                record.hold = Some(Hold { by: "ann".into() });
            } else {
                let (commit, hash) = (record.target.commit.clone(), record.target.hash.clone());
                record.failed.push(Failed { commit, hash, reason: "StuckPod".into(), culprit: String::new() });
            }
            scene.set(&record, |_| {});
            scene.stage(&scene.next(1), Some(1));
        });
        assert_eq!(found, ["I16"], "hold {hold}");
    }
}

#[test]
fn a_new_template_exposes_the_first_stage_at_most() {
    let new = |scene: &Scene, partition: u32| {
        let mut record = scene.next(partition);
        (record.rollout, record.stage) = ("c-8".into(), Some(0));
        (record.target.hash, record.live) = (hash("C"), hash("C"));
        record
    };
    assert_eq!(rules(|scene| scene.apply(&new(scene, 2), json!({"spec": {}}), |_| {})), [] as [&str; 0]);
    assert_eq!(rules(|scene| scene.apply(&new(scene, 0), json!({"spec": {}}), |_| {})), ["I2"]);
}

#[test]
fn complete_is_what_is_complete() {
    let found = rules(|scene| {
        let mut done = scene.next(PARKED.0);
        done.done = true;
        scene.stage(&done, Some(PARKED.0));
    });
    assert_eq!(found, ["I4"]);
}

#[test]
fn every_write_says_what_it_is_based_on() {
    let all = ["/metadata/uid", "/metadata/generation", RECORD];
    for left_out in all {
        let guards: Vec<&str> = all.into_iter().filter(|path| *path != left_out).collect();
        let found = rules(|scene| scene.patch(&scene.next(1), Some(1), &guards, |_| {}));
        assert_eq!(found, ["I6"], "without {left_out}");
    }
    let found = rules(|scene| {
        scene.pod(2, "C", false);
        scene.delete(2, false);
    });
    assert_eq!(found, ["I6"]);
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let forbidden = |resource: Resource, method: &str| {
        let mut scene = Scene::new();
        let key = Key::new(resource, "shop", "web");
        let request =
            Scene::ours(method, "application/json", &json!({"preconditions": {"uid": 1, "resourceVersion": 1}}));
        scene.store.put(key.clone(), json!({"metadata": {"name": "web"}}));
        scene.send(&request, &key, None);
        scene.rules()
    };
    assert_eq!(forbidden(Resource::Claims, "DELETE"), ["I8"]);
    assert_eq!(forbidden(Resource::Claims, "PATCH"), ["I8"]);
    assert_eq!(forbidden(Resource::StatefulSets, "DELETE"), ["I8"]);
    assert_eq!(forbidden(Resource::Namespaces, "DELETE"), ["I8"]);
    assert_eq!(forbidden(Resource::Revisions, "PATCH"), ["I8"]);
    assert_eq!(forbidden(Resource::Leases, "PATCH"), [] as [&str; 0]);
    let replicas = |stated: Value| {
        rules(|scene| {
            let mut record = scene.record.clone();
            (record.epoch, record.generation) = (record.epoch + 1, record.generation + 1);
            let spec = json!({"spec": stated});
            scene.apply(&record, spec, |object| object["spec"]["replicas"] = 4.into());
        })
    };
    assert_eq!(replicas(json!({"replicas": 4})), [] as [&str; 0]);
    assert_eq!(replicas(json!({})), ["I8"]);
    let claims = |words: bool| {
        rules(|scene| {
            scene.monitor.claims_may_go = words;
            let mut record = scene.record.clone();
            (record.epoch, record.generation) = (record.epoch + 1, record.generation + 1);
            scene.apply(&record, json!({"spec": {"replicas": 2}}), |object| {
                object["spec"]["replicas"] = 2.into();
                object["spec"]["persistentVolumeClaimRetentionPolicy"] = json!({"whenScaled": "Delete"});
            });
        })
    };
    assert_eq!((claims(false), claims(true)), (vec!["I8"], vec![]));
}

#[test]
fn a_pod_is_deleted_only_where_it_is_broken_and_comes_back_another() {
    let good = |scene: &mut Scene| {
        scene.pod(2, "C", false);
        scene.delete(2, true);
    };
    assert_eq!(rules(good), [] as [&str; 0]);
    // Ready; the same again; another one at once; twice.
    assert_eq!(rules(|scene| scene.pod(2, "C", true)), [] as [&str; 0]);
    let ready = rules(|scene| {
        scene.pod(2, "C", true);
        scene.delete(2, true);
    });
    assert_eq!(ready, ["I8"]);
    let same = rules(|scene| {
        scene.pod(2, "B", false);
        scene.delete(2, true);
    });
    assert_eq!(same, ["I8"]);
    let two = rules(|scene| {
        good(scene);
        scene.pod(1, "C", false);
        scene.delete(1, true);
    });
    assert_eq!(two, ["I8"]);
    let twice = rules(|scene| {
        good(scene);
        scene.delete(2, true);
    });
    assert_eq!(twice, ["I7"]);
}

#[test]
fn at_rest_nothing_is_written() {
    let found = rules(|scene| {
        scene.monitor.quiet = true;
        scene.stage(&scene.next(1), Some(1));
    });
    assert_eq!(found, ["I12"]);
    let nothing = rules(|scene| {
        let mut same = scene.record.clone();
        same.epoch += 1;
        scene.stage(&same, None);
    });
    assert_eq!(nothing, ["I12"]);
}

#[test]
fn the_record_says_what_is() {
    let partition = rules(|scene| {
        let record = scene.next(1);
        scene.patch(&record, Some(1), &["/metadata/uid", "/metadata/resourceVersion"], |object| {
            object["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 0.into();
        });
    });
    assert_eq!(partition, ["record"]);
    let generation = rules(|scene| {
        let record = scene.next(1);
        scene.patch(&record, Some(1), &["/metadata/uid", "/metadata/resourceVersion"], |object| {
            object["metadata"]["generation"] = 99.into();
        });
    });
    assert_eq!(generation, ["record"]);
}

#[test]
fn who_meddles_counts_pods_otherwise() {
    let found = rules(|scene| {
        let request = Request { user: "ann".into(), method: "PATCH".into(), ..Request::default() };
        let after = scene.object(&scene.record.clone(), |object| {
            object["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 1.into();
        });
        scene.send(&request, &Scene::key(), Some(after));
        scene.stage(&scene.next(0), Some(0));
    });
    assert!(found.is_empty(), "{found:?}");
}
