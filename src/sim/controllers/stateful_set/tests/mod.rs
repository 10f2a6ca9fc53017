//! The controller against a fake cluster, over both policies and every version.

mod claims;
mod members;
mod revisions;
mod scale;
mod status;
mod update;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Outcome, StatefulSets};
use crate::manifest::default;
use crate::sim::controllers::fake::Fake;
use crate::sim::resource::Resource;
use crate::sim::{Compat, Version};

/// A set, its controller, and the cluster around them.
struct Bench {
    fake: Fake,
    controller: StatefulSets,
    compat: Compat,
    now: Timestamp,
}

/// Every version with the gate off and on.
fn compats() -> Vec<Compat> {
    let versions = [Version::V1_33, Version::V1_36, Version::V1_37];
    versions
        .iter()
        .flat_map(|version| [false, true].map(|gate| Compat { version: *version, max_unavailable: gate }))
        .collect()
}

/// Runs a test for every version, gate and policy, told by name where it fails.
fn everywhere(test: impl Fn(Compat, &str)) {
    for compat in compats() {
        for policy in ["OrderedReady", "Parallel"] {
            println!("{compat:?}, {policy}");
            test(compat, policy);
        }
    }
}

impl Bench {
    /// A new set of three with a claim template; `change` has the last word about its spec.
    fn new(compat: Compat, policy: &str, change: impl FnOnce(&mut Value)) -> Self {
        let mut spec = json!({
            "replicas": 3,
            "serviceName": "web",
            "podManagementPolicy": policy,
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "a:1"}]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "www"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
        });
        change(&mut spec);
        let spec = default::stateful_set(&spec, compat.level());
        let mut fake = Fake::default();
        fake.put(
            Resource::StatefulSets,
            json!({
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {"name": "web", "namespace": "shop", "uid": "uid-set", "generation": 1},
                "spec": spec,
            }),
        );
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        Self { fake, controller: StatefulSets::new(compat), compat, now }
    }

    fn sync(&mut self) -> Outcome {
        self.controller.sync(&mut self.fake, "shop", "web", self.now)
    }

    /// A sync that must not fail; what it wrote.
    fn writes(&mut self) -> Vec<String> {
        self.fake.take_writes();
        let outcome = self.sync();
        assert_eq!(outcome.error, None);
        self.fake.take_writes()
    }

    /// Syncs and starts pods until nothing changes any more; what was written.
    fn settle(&mut self) -> Vec<String> {
        self.fake.take_writes();
        for _ in 0..200 {
            let before = self.fake.writes.len();
            assert_eq!(self.sync().error, None);
            self.now = self.now.checked_add(SignedDuration::from_secs(1)).unwrap();
            let started = self.start_all();
            if !started && self.fake.writes.len() == before {
                return self.fake.take_writes();
            }
        }
        panic!("it never rests: {:?}", self.fake.writes);
    }

    fn start_all(&mut self) -> bool {
        let waits = |fake: &Fake, name: &&str| fake.find(Resource::Pods, name).unwrap()["status"]["phase"] == "Pending";
        let names: Vec<String> =
            self.fake.names(Resource::Pods).into_iter().filter(|it| waits(&self.fake, it)).map(str::to_owned).collect();
        names.iter().for_each(|name| self.run(name, true));
        !names.is_empty()
    }

    /// A pod runs, ready or not, since now.
    fn run(&mut self, name: &str, ready: bool) {
        let condition = json!({"type": "Ready", "status": if ready { "True" } else { "False" },
            "lastTransitionTime": self.now.to_string()});
        self.fake.change(Resource::Pods, name, |pod| {
            pod["status"] = json!({"phase": "Running", "conditions": [condition]});
        });
    }

    fn phase(&mut self, name: &str, phase: &str) {
        self.fake.change(Resource::Pods, name, |pod| pod["status"]["phase"] = phase.into());
    }

    /// Changes the set's spec, as somebody who applies it.
    fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        let level = self.compat.level();
        self.fake.change(Resource::StatefulSets, "web", |set| {
            change(&mut set["spec"]);
            set["spec"] = default::stateful_set(&set["spec"], level);
            set["metadata"]["generation"] = (set["metadata"]["generation"].as_i64().unwrap() + 1).into();
        });
    }

    fn image(&mut self, image: &str) {
        self.edit(|spec| spec["template"]["spec"]["containers"][0]["image"] = image.into());
    }

    fn set(&self) -> &Value {
        self.fake.find(Resource::StatefulSets, "web").unwrap()
    }

    fn status(&self) -> &Value {
        &self.set()["status"]
    }

    fn pods(&self) -> Vec<&str> {
        self.fake.names(Resource::Pods)
    }

    fn image_of(&self, name: &str) -> &str {
        self.fake.find(Resource::Pods, name).unwrap()["spec"]["containers"][0]["image"].as_str().unwrap()
    }

    fn images(&self) -> Vec<&str> {
        self.pods().into_iter().map(|name| self.image_of(name)).collect()
    }

    fn is_ordered(&self) -> bool {
        self.set()["spec"]["podManagementPolicy"] == "OrderedReady"
    }

    fn reasons(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.fake.events).into_iter().map(|event| event.reason).collect()
    }
}

/// Those writes that begin so.
fn of<'a>(writes: &'a [String], begin: &str) -> Vec<&'a str> {
    writes.iter().filter(|it| it.starts_with(begin)).map(String::as_str).collect()
}
