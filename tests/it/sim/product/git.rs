//! Git's side: a bare repository into which commits are written as objects, without a work tree.

use std::fmt::Write as _;

use git2::{Oid, Repository, Signature, Time};
use phaseline::model::{CommitId, OnNewRevision, Pause, Plan, Ramp, RepairPolicy, Schedule, Size};
use phaseline::sim::STAMP;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository for many worlds: each has a line of commits of its own in it.
pub(crate) struct Repo {
    folder: TempDir,
    repo: Repository,
}

/// What a commit says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Commit {
    pub(crate) image: String,
    pub(crate) annotations: Vec<(&'static str, &'static str)>,
    pub(crate) replicas: Option<u32>,
    pub(crate) min_ready: u32,
    pub(crate) start: u32,
    pub(crate) parallel: bool,
    pub(crate) max_unavailable: Option<u32>,
    pub(crate) claims: bool,
    pub(crate) when_scaled_delete: bool,
    pub(crate) allow_claim_deletion: bool,
    /// Whether the manifest says which commit it is of.
    pub(crate) stamped: bool,
    /// Namespaces that have a set as well, of two pods and without a plan.
    pub(crate) neighbours: Vec<&'static str>,
    pub(crate) flaw: Flaw,
    pub(crate) plan: Plan,
    /// A namespace in which the same set stands too.
    pub(crate) beside: Option<&'static str>,
}

/// What is wrong with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Flaw {
    /// Nothing.
    #[default]
    None,
    /// The manifest is not in it.
    Absent,
    /// The manifest is no YAML.
    Unreadable,
    /// It selects other pods than it makes.
    Invalid,
    /// It changes what cannot be changed.
    Immutable,
}

impl Commit {
    /// A set of that many pods of an image, without a plan.
    pub(crate) fn new(image: &str, replicas: u32) -> Self {
        Self {
            image: image.into(),
            annotations: Vec::new(),
            replicas: Some(replicas),
            min_ready: 0,
            start: 0,
            parallel: false,
            max_unavailable: None,
            claims: false,
            when_scaled_delete: false,
            allow_claim_deletion: false,
            stamped: false,
            neighbours: Vec::new(),
            flaw: Flaw::None,
            plan: Plan::default(),
            beside: None,
        }
    }

    /// What the sets beside it run: another image with another image, and never one that is broken.
    pub(crate) fn image_beside(&self) -> String {
        format!("beside:{}", self.image.len())
    }

    /// The manifest; none where there is none, or none that can be used.
    pub(crate) fn usable(&self) -> Option<Value> {
        (self.flaw == Flaw::None).then(|| self.manifest(None))
    }

    /// The file; none where there is none.
    fn file(&self, stamp: Option<usize>) -> Option<String> {
        match self.flaw {
            Flaw::None | Flaw::Invalid | Flaw::Immutable => Some(self.manifest(stamp).to_string()),
            Flaw::Absent => None,
            Flaw::Unreadable => Some("kind: StatefulSet\n  metadata: [".into()),
        }
    }

    fn manifest(&self, stamp: Option<usize>) -> Value {
        let mut template = json!({
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": self.image}]},
        });
        for (name, value) in &self.annotations {
            template["metadata"]["annotations"][*name] = (*value).into();
        }
        let mut set = json!({
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "serviceName": "web",
                "selector": {"matchLabels": {"app": "web"}},
                "podManagementPolicy": if self.parallel { "Parallel" } else { "OrderedReady" },
                "template": template,
            },
        });
        let spec = &mut set["spec"];
        if let Some(replicas) = self.replicas {
            spec["replicas"] = replicas.into();
        }
        if self.min_ready > 0 {
            spec["minReadySeconds"] = self.min_ready.into();
        }
        if self.start > 0 {
            spec["ordinals"] = json!({"start": self.start});
        }
        if let Some(most) = self.max_unavailable {
            spec["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}});
        }
        if let Schedule::ByHand(partition) = self.plan.schedule {
            spec["updateStrategy"]["type"] = "RollingUpdate".into();
            spec["updateStrategy"]["rollingUpdate"]["partition"] = partition.into();
        }
        if self.claims {
            spec["volumeClaimTemplates"] = json!([{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }]);
        }
        if self.when_scaled_delete {
            spec["persistentVolumeClaimRetentionPolicy"] = json!({"whenScaled": "Delete", "whenDeleted": "Retain"});
        }
        if let Some(number) = stamp {
            set["metadata"]["annotations"][STAMP] = number.to_string().into();
        }
        match self.flaw {
            Flaw::Invalid => set["spec"]["selector"] = json!({"matchLabels": {"app": "other"}}),
            Flaw::Immutable => set["spec"]["serviceName"] = "other".into(),
            Flaw::None | Flaw::Absent | Flaw::Unreadable => {}
        }
        if self.allow_claim_deletion {
            set["metadata"]["annotations"]["phaseline.dev/allow-claim-deletion"] = "true".into();
        }
        set
    }
}

/// A plan as people write it; none where it cannot be written into a file.
fn plan(plan: &Plan) -> Option<String> {
    let pause = |pause: Pause| match pause {
        Pause::None => None,
        Pause::Seconds(seconds) => Some(json!({"duration": seconds})),
        Pause::UntilPromoted => Some(json!({})),
    };
    let with = |mut stage: Value, seconds: u32, wait: Pause| {
        if seconds > 0 {
            stage["minReadySeconds"] = seconds.into();
        }
        if let Some(pause) = pause(wait) {
            stage["pause"] = pause;
        }
        stage
    };
    let mut spec = json!({
        "workloadRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
        "progressDeadlineSeconds": plan.progress_deadline_seconds,
        "rollbackWindow": {"revisions": plan.rollback_window},
        "repairPolicy": match plan.repair_policy { RepairPolicy::Delete => "Delete", RepairPolicy::None => "None" },
        "onNewRevision": match plan.on_new_revision {
            OnNewRevision::Continue => "Continue",
            OnNewRevision::Restart => "Restart",
            OnNewRevision::Queue => "Queue",
            OnNewRevision::Block => "Block",
        },
    });
    match &plan.schedule {
        Schedule::ByHand(_) => return None,
        Schedule::Stages(stages) => {
            let stages = stages.iter().map(|stage| {
                let size = match stage.size {
                    Size::Pods(pods) => json!({"replicas": pods}),
                    Size::Percent(percent) => json!({"replicas": format!("{percent}%")}),
                    Size::Partition(partition) => json!({"partition": partition}),
                };
                let mut stage_of = with(size, stage.min_ready_seconds, stage.pause);
                if !stage.name.is_empty() {
                    stage_of["name"] = stage.name.as_str().into();
                }
                stage_of
            });
            spec["stages"] = stages.collect();
        }
        Schedule::Ramp { ramp, min_ready_seconds, pause } => {
            let rule = match ramp {
                Ramp::Linear(step) => json!({"linear": {"step": step}}),
                Ramp::Geometric(factor) => json!({"geometric": {"factor": factor}}),
                Ramp::Exponential(base) => json!({"exponential": {"base": base}}),
            };
            spec["ramp"] = with(rule, *min_ready_seconds, *pause);
        }
    }
    let plan = json!({
        "apiVersion": "phaseline.dev/v1alpha1", "kind": "RolloutPlan", "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    });
    Some(plan.to_string())
}

impl Repo {
    pub(crate) fn new() -> Self {
        // In memory where the system has a place for that: thousands of commits are written.
        let folder = match TempDir::new_in("/dev/shm") {
            Ok(folder) => folder,
            Err(_) => TempDir::new().unwrap(),
        };
        let repo = Repository::init_bare(folder.path()).unwrap();
        Self { folder, repo }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// A commit on top of another, or the first of a line. `number` tells it from all others of its line; where it is
    /// stamped, the manifest carries it.
    pub(crate) fn commit(&self, parent: Option<&CommitId>, number: usize, commit: &Commit) -> CommitId {
        let mut tree = self.repo.treebuilder(None).unwrap();
        if let Some(file) = commit.file(commit.stamped.then_some(number)) {
            let manifest = self.repo.blob(file.as_bytes()).unwrap();
            tree.insert("web.yaml", manifest, 0o100_644).unwrap();
        }
        for namespace in &commit.neighbours {
            let mut set = Commit::new(&commit.image_beside(), 2).manifest(None);
            set["metadata"]["namespace"] = (*namespace).into();
            let blob = self.repo.blob(set.to_string().as_bytes()).unwrap();
            tree.insert(format!("{namespace}.yaml"), blob, 0o100_644).unwrap();
        }
        if let Some(namespace) = commit.beside {
            let mut beside = commit.manifest(None);
            beside["metadata"]["namespace"] = namespace.into();
            let beside = self.repo.blob(beside.to_string().as_bytes()).unwrap();
            tree.insert("beside.yaml", beside, 0o100_644).unwrap();
        }
        if let Some(plan) = plan(&commit.plan) {
            let plan = self.repo.blob(plan.as_bytes()).unwrap();
            tree.insert("rollout-plan.yaml", plan, 0o100_644).unwrap();
        }
        let tree = self.repo.find_tree(tree.write().unwrap()).unwrap();
        let seconds = 1_700_000_000 + 60 * i64::try_from(number).unwrap();
        let ann = Signature::new("Ann", "ann@example.org", &Time::new(seconds, 0)).unwrap();
        let parent = parent.map(|id| self.repo.find_commit(Oid::from_str(&id.0).unwrap()).unwrap());
        let parents: Vec<_> = parent.iter().collect();
        let mut message = String::new();
        write!(message, "commit {number}: {}", commit.image).unwrap();
        CommitId(self.repo.commit(None, &ann, &ann, &message, &tree, &parents).unwrap().to_string())
    }
}
