//! The deploy repository: a real one, with a manifest and a plan for every set.

use std::path::Path;

use git2::{Repository as Git, Signature, Time};

/// A bare repository with one branch.
pub(crate) struct Repository {
    git: Git,
    sets: usize,
    replicas: usize,
    round: i64,
}

impl Repository {
    /// An empty one.
    pub(crate) fn new(folder: &Path, sets: usize, replicas: usize) -> Result<Self, git2::Error> {
        let git = Git::init_bare(folder)?;
        git.set_head("refs/heads/main")?;
        Ok(Self { git, sets, replicas, round: 0 })
    }

    /// Commits another template for every set.
    pub(crate) fn commit(&mut self) -> Result<(), git2::Error> {
        self.round += 1;
        let plan = self.git.blob(PLAN.as_bytes())?;
        let mut root = self.git.treebuilder(None)?;
        for set in 0..self.sets {
            let manifest = self.git.blob(manifest(&name(set), self.replicas, self.round).as_bytes())?;
            let mut folder = self.git.treebuilder(None)?;
            folder.insert("statefulset.yaml", manifest, 0o100_644)?;
            folder.insert("rollout-plan.yaml", plan, 0o100_644)?;
            root.insert(name(set), folder.write()?, 0o040_000)?;
        }
        let tree = self.git.find_tree(root.write()?)?;
        let who = Signature::new("Ada", "ada@example.org", &Time::new(1_800_000_000 + self.round, 0))?;
        let parent = self.git.head().ok().map(|head| head.peel_to_commit()).transpose()?;
        let parents: Vec<_> = parent.iter().collect();
        let message = format!("release {}\n", self.round);
        self.git.commit(Some("refs/heads/main"), &who, &who, &message, &tree, &parents)?;
        Ok(())
    }
}

/// The name of a set.
pub(crate) fn name(set: usize) -> String {
    format!("web-{set:05}")
}

/// One more pod at each stage.
const PLAN: &str =
    "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec:\n  ramp:\n    linear:\n      step: 1\n";

fn manifest(name: &str, replicas: usize, round: i64) -> String {
    format!(
        "apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: {name}
spec:
  replicas: {replicas}
  serviceName: {name}
  podManagementPolicy: OrderedReady
  revisionHistoryLimit: 10
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
      annotations:
        prometheus.io/scrape: \"true\"
        prometheus.io/port: \"8080\"
    spec:
      terminationGracePeriodSeconds: 30
      containers:
        - name: server
          image: registry.example/server:{round}
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
          readinessProbe:
            httpGet:
              path: /ready
              port: 8080
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
          volumeMounts:
            - name: data
              mountPath: /data
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 1Gi
"
    )
}
