//! Worlds for one sync: sets in every state that somebody's hand, an upgrade or bad luck can bring them into.

use fastrand::Rng;
use phaseline::manifest::default::{self, Level};
use phaseline::revision::controller_revision;
use serde_json::{Map, Value, json};

/// When everything happens.
pub(super) const NOW: &str = "2026-01-01T12:00:00Z";

/// What the API may answer.
pub(super) const REFUSALS: [(u16, &str); 6] = [
    (409, "Conflict"),
    (404, "NotFound"),
    (409, "AlreadyExists"),
    (403, "Forbidden"),
    (422, "Invalid"),
    (500, "InternalError"),
];

/// The world of a seed.
pub(super) fn world(seed: u64, level: Level) -> Value {
    Generator { rng: Rng::with_seed(seed), level }.world()
}

struct Generator {
    rng: Rng,
    level: Level,
}

/// A revision by its template.
struct Made {
    name: String,
    object: Value,
}

impl Generator {
    fn in_hundred(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.rng.usize(0..of.len())]
    }

    fn world(&mut self) -> Value {
        let gate = self.rng.bool();
        let (replicas, start) = (self.rng.i64(0..6), if self.in_hundred(20) { self.rng.i64(0..4) } else { 0 });
        let claims = if self.in_hundred(40) { 0 } else { self.rng.usize(1..3) };
        let images = self.rng.usize(1..5);
        let wanted = self.rng.usize(0..images);
        let mut revisions: Vec<Made> = Vec::new();
        let mut number = 0;
        for image in 0..images {
            if self.in_hundred(85) {
                number += self.rng.i64(0..3);
                revisions.push(self.revision(image, number));
            }
        }
        // In which order Go adopts several of them is left to chance.
        let orphan = self.rng.usize(0..30);
        if let Some(made) = revisions.get_mut(orphan) {
            made.object["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        }
        if self.in_hundred(30) {
            self.rng.shuffle(&mut revisions);
            revisions.iter_mut().enumerate().for_each(|(at, made)| made.object["revision"] = (at as i64 + 1).into());
        }
        let set = self.set(gate, replicas, start, claims, wanted, &revisions);
        let mut pods = Vec::new();
        for ordinal in (start - 2).max(0)..start + replicas + 3 {
            let within = ordinal >= start && ordinal < start + replicas;
            if self.in_hundred(if within { 85 } else { 25 }) {
                pods.push(self.pod(ordinal, &set, &revisions));
            }
        }
        if self.in_hundred(10) {
            let odd = self.one(&["web-x", "web-", "webb-0", "web-0-0", "other", "web-99999999999"]);
            let mut pod = self.pod(0, &set, &revisions);
            pod["metadata"]["name"] = odd.into();
            pods.push(pod);
        }
        let mut held = Vec::new();
        for template in set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten() {
            for ordinal in (start - 2).max(0)..start + replicas + 3 {
                if self.in_hundred(80) {
                    held.push(self.claim(template, ordinal, &pods));
                }
            }
        }
        let unseen = self.unseen(wanted, &revisions);
        let mut world = json!({
            "now": NOW,
            "maxUnavailable": gate,
            "set": set,
            "pods": pods,
            "revisions": revisions.into_iter().map(|made| made.object).collect::<Vec<_>>(),
            "claims": held,
            "unseen": unseen,
        });
        world["refusals"] = self.refusals(&world).into();
        world
    }

    fn template(&mut self, image: usize) -> Value {
        let template = json!({
            "metadata": {"labels": {"app": "web"}, "annotations": {"image": image.to_string()}},
            "spec": {
                "containers": [{"name": "c", "image": format!("a:{image}")}],
                "volumes": [{"name": "www", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
            },
        });
        default::template(&template, self.level)
    }

    fn revision(&mut self, image: usize, number: i64) -> Made {
        let mut template = self.template(image);
        if self.in_hundred(15) {
            // As another version wrote it.
            match self.rng.u8(0..3) {
                0 => drop(template["spec"].as_object_mut().unwrap().remove("schedulerName")),
                1 if self.level == Level::V1_36 => template["metadata"]["creationTimestamp"] = Value::Null,
                1 => drop(template["metadata"].as_object_mut().unwrap().remove("creationTimestamp")),
                _ => template["spec"]["dnsPolicy"] = "Default".into(),
            }
        }
        let collisions = i32::from(self.in_hundred(10));
        let hash = controller_revision::hash(&template, collisions);
        let name = format!("web-{hash}");
        template["$patch"] = "replace".into();
        let mut object = json!({
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": format!("uid-{name}"),
                "resourceVersion": (100 + image).to_string(),
                "creationTimestamp": format!("2026-01-01T10:0{}:00Z", self.rng.u8(0..10)),
                "labels": {"app": "web", "controller.kubernetes.io/hash": hash},
                "ownerReferences": [owner("apps/v1", "StatefulSet", "web", "uid-set")],
            },
            "data": {"spec": {"template": template}},
            "revision": number,
        });
        match self.rng.u8(0..100) {
            0..4 => object["metadata"]["ownerReferences"][0]["uid"] = "uid-older".into(),
            4..8 => object["metadata"]["labels"]["app"] = "other".into(),
            8..15 => object["metadata"]["labels"]["controller.kubernetes.io/hash"] = "4456789".into(),
            15..25 => object["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "x"}),
            _ => {}
        }
        Made { name, object }
    }

    fn set(
        &mut self,
        gate: bool,
        replicas: i64,
        start: i64,
        claims: usize,
        wanted: usize,
        revisions: &[Made],
    ) -> Value {
        let mut rolling = json!({"type": "RollingUpdate"});
        if self.in_hundred(85) {
            let partition = if self.in_hundred(50) { 0 } else { self.rng.i64(0..replicas + 3) };
            rolling["rollingUpdate"] = json!({"partition": partition});
            if gate && self.in_hundred(70) {
                rolling["rollingUpdate"]["maxUnavailable"] = if self.rng.bool() {
                    self.rng.i64(1..5).into()
                } else {
                    format!("{}%", self.rng.i64(1..101)).into()
                };
            }
        }
        let strategy = if self.in_hundred(15) { json!({"type": "OnDelete"}) } else { rolling };
        let templates: Vec<Value> = ["www", "data"][..claims]
            .iter()
            .map(|name| {
                let labels = if self.in_hundred(30) { json!({"tier": "x", "app": "claim"}) } else { Value::Null };
                json!({
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": name, "labels": labels},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    "status": {"phase": "Pending"},
                })
            })
            .collect();
        let limit = [10, 0, 1, 2, -1][self.rng.usize(0..5)];
        let mut spec = json!({
            "replicas": replicas,
            "serviceName": self.one(&["web", ""]),
            "podManagementPolicy": self.one(&["OrderedReady", "Parallel"]),
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": strategy,
            "template": self.template(wanted),
            "volumeClaimTemplates": templates,
            "persistentVolumeClaimRetentionPolicy": {
                "whenScaled": self.one(&["Retain", "Retain", "Delete"]),
                "whenDeleted": self.one(&["Retain", "Retain", "Delete"]),
            },
            "revisionHistoryLimit": limit,
        });
        if start > 0 {
            spec["ordinals"] = json!({"start": start});
        }
        if self.in_hundred(40) {
            spec["minReadySeconds"] = 5.into();
        }
        let generation = self.rng.i64(1..5);
        let mut set = json!({
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {
                "name": "web",
                "namespace": "shop",
                "uid": "uid-set",
                "resourceVersion": "1",
                "generation": generation,
            },
            "spec": spec,
            "status": self.status(generation, revisions),
        });
        if self.in_hundred(30) {
            set["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "now"});
        }
        if self.in_hundred(5) {
            set["metadata"]["deletionTimestamp"] = "2026-01-01T11:59:00Z".into();
            set["metadata"]["finalizers"] = json!(["a.b/hold"]);
        }
        set
    }

    fn status(&mut self, generation: i64, revisions: &[Made]) -> Value {
        if self.in_hundred(10) {
            return json!({"replicas": 0, "availableReplicas": 0});
        }
        let mut name = || match revisions.len() {
            0 => "web-gone".to_owned(),
            _ if self.in_hundred(8) => "web-gone".to_owned(),
            count => revisions[self.rng.usize(0..count)].name.clone(),
        };
        let (current, update) = (name(), name());
        let mut status =
            json!({"currentRevision": current, "updateRevision": update, "replicas": 0, "availableReplicas": 0});
        for field in ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"] {
            status[field] = self.rng.i64(0..6).into();
        }
        status["observedGeneration"] = self.rng.i64(1..generation + 2).into();
        if self.in_hundred(70) {
            status["collisionCount"] = i64::from(self.in_hundred(15)).into();
        }
        if self.in_hundred(10) {
            status["conditions"] = json!([{"type": "Mine", "status": "True"}]);
        }
        status
    }

    fn pod(&mut self, ordinal: i64, set: &Value, revisions: &[Made]) -> Value {
        let name = format!("web-{ordinal}");
        let mut labels: Map<String, Value> = Map::new();
        labels.insert("app".into(), if self.in_hundred(96) { "web" } else { "other" }.into());
        if self.in_hundred(95) {
            labels.insert("statefulset.kubernetes.io/pod-name".into(), name.clone().into());
        }
        labels.insert("apps.kubernetes.io/pod-index".into(), ordinal.to_string().into());
        match revisions.len() {
            0 => drop(labels.insert("controller-revision-hash".into(), "web-gone".into())),
            _ if self.in_hundred(3) => {}
            _ if self.in_hundred(3) => drop(labels.insert("controller-revision-hash".into(), "web-gone".into())),
            count => {
                let made = &revisions[self.rng.usize(0..count)];
                labels.insert("controller-revision-hash".into(), made.name.clone().into());
            }
        }
        let mut volumes = vec![json!({"name": "tmp", "emptyDir": {}})];
        let templates = set["spec"]["volumeClaimTemplates"].as_array().unwrap();
        for template in templates.iter().filter(|_| self.rng.u8(0..100) < 96) {
            let claim = format!("{}-{name}", template["metadata"]["name"].as_str().unwrap());
            volumes.push(json!({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim}}));
        }
        let mut pod = json!({
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": format!("uid-{name}"),
                "resourceVersion": (200 + ordinal).to_string(),
                "labels": labels,
                "ownerReferences": [owner("apps/v1", "StatefulSet", "web", "uid-set")],
            },
            "spec": {"containers": [{"name": "c", "image": "a:0", "resources": {}}], "volumes": volumes},
            "status": {"phase": "Running"},
        });
        match self.rng.u8(0..100) {
            0..4 => drop(pod["metadata"].as_object_mut().unwrap().remove("ownerReferences")),
            4..7 => pod["metadata"]["ownerReferences"][0]["uid"] = "uid-older".into(),
            _ => {}
        }
        if self.in_hundred(12) {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T11:59:30Z".into();
            pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
        }
        if self.in_hundred(22) {
            pod["status"]["phase"] =
                self.one(&["Pending", "Pending", "Pending", "Failed", "Succeeded", "Unknown"]).into();
        }
        if self.in_hundred(92) {
            let mut ready = json!({"type": "Ready", "status": self.one(&["True", "True", "True", "True", "False"])});
            // The edge is met at 1.36 only: at 1.33 the oracle's clock does not stand still.
            let ages: &[i64] = if self.level == Level::V1_36 { &[0, 3, 4, 5, 6, 60] } else { &[0, 3, 8, 60] };
            let age = ages[self.rng.usize(0..ages.len())];
            if self.in_hundred(97) {
                ready["lastTransitionTime"] =
                    format!("2026-01-01T11:{:02}:{:02}Z", 59 - age / 60, (60 - age % 60) % 60).into();
                if age == 0 {
                    ready["lastTransitionTime"] = NOW.into();
                }
            }
            let other = json!({"type": "Initialized", "status": "True", "lastTransitionTime": NOW});
            pod["status"]["conditions"] = json!([other, ready]);
        }
        pod
    }

    fn claim(&mut self, template: &Value, ordinal: i64, pods: &[Value]) -> Value {
        let pod = format!("web-{ordinal}");
        let mut owners = Vec::new();
        let of_set = || owner("apps/v1", "StatefulSet", "web", "uid-set");
        let of_pod = |uid: &str| owner("v1", "Pod", &pod, uid);
        let uid = pods
            .iter()
            .find(|it| it["metadata"]["name"] == pod)
            .map_or("uid-gone", |it| it["metadata"]["uid"].as_str().unwrap());
        for _ in 0..[0, 0, 1, 1, 2][self.rng.usize(0..5)] {
            owners.push(match self.rng.u8(0..10) {
                0..3 => of_set(),
                3..6 => of_pod(uid),
                6 => of_pod("uid-older"),
                7 => owner("apps/v1", "StatefulSet", "web", "uid-older"),
                8 => {
                    let mut lone = of_set();
                    lone["controller"] = false.into();
                    lone
                }
                _ => owner("v1", "Backup", "b", "uid-backup"),
            });
        }
        let mut claim = json!({
            "metadata": {
                "name": format!("{}-{pod}", template["metadata"]["name"].as_str().unwrap()),
                "namespace": "shop",
                "resourceVersion": "300",
            },
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"},
        });
        if !owners.is_empty() {
            claim["metadata"]["ownerReferences"] = owners.into();
        }
        if self.in_hundred(4) {
            claim["metadata"]["deletionTimestamp"] = "2026-01-01T11:59:30Z".into();
        }
        claim
    }

    /// A revision that the API has and the cache has not: of the very name that a new one would get.
    fn unseen(&mut self, wanted: usize, revisions: &[Made]) -> Vec<Value> {
        let mut found = Vec::new();
        for collisions in 0..2 {
            if !self.in_hundred(15) {
                continue;
            }
            let mut template = self.template(wanted);
            let name = controller_revision::name("web", &template, collisions);
            if revisions.iter().any(|made| made.name == name) {
                continue;
            }
            template["$patch"] = "replace".into();
            let data = if self.rng.bool() { json!({"spec": {"template": template}}) } else { json!({"other": 1}) };
            found.push(json!({
                "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}, "resourceVersion": "400"},
                "data": data,
                "revision": 9,
            }));
        }
        found
    }

    fn refusals(&mut self, world: &Value) -> Vec<Value> {
        let mut found = Vec::new();
        if self.in_hundred(70) {
            return found;
        }
        let pods: Vec<String> = (0..6).map(|ordinal| format!("web-{ordinal}")).collect();
        let revisions: Vec<String> = world["revisions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        for _ in 0..self.rng.usize(1..5) {
            let pod = &pods[self.rng.usize(0..pods.len())];
            let revision = revisions.first().cloned().unwrap_or_default();
            let (verb, resource, name) = match self.rng.u8(0..9) {
                0 => ("create", "pods", pod.clone()),
                1 | 2 => ("delete", "pods", pod.clone()),
                3 => ("update", "pods", pod.clone()),
                4 => ("patch", "pods", pod.clone()),
                // One claim of a pod only: of two that fail, Go names either first.
                5 => ("create", "persistentvolumeclaims", format!("www-{pod}")),
                6 => ("update", "persistentvolumeclaims", format!("www-{pod}")),
                7 => ("status", "statefulsets", "web".to_owned()),
                _ => (self.one(&["update", "delete", "patch"]), "controllerrevisions", revision),
            };
            let (code, reason) = REFUSALS[self.rng.usize(0..REFUSALS.len())];
            found.push(json!({
                "verb": verb,
                "resource": resource,
                "name": name,
                "code": code,
                "reason": reason,
                "message": format!("no {verb} of {name}"),
                "times": self.rng.i64(1..7),
            }));
        }
        found
    }
}

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
