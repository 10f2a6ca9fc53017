//! Manifests and plans as people write them, from templates.

use std::fmt::Write as _;

/// A StatefulSet's manifest.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    name: String,
    image: String,
    replicas: Option<u32>,
    spec: Vec<String>,
    annotations: Vec<(String, String)>,
    template_annotations: Vec<(String, String)>,
    env: Vec<(String, String)>,
    claims: bool,
}

impl Set {
    /// `web` with that image and three replicas, no claims.
    pub(crate) fn web(image: &str) -> Self {
        Self::named("web", image)
    }

    /// The same under another name.
    pub(crate) fn named(name: &str, image: &str) -> Self {
        Self {
            name: name.into(),
            image: image.into(),
            replicas: Some(3),
            spec: Vec::new(),
            annotations: Vec::new(),
            template_annotations: Vec::new(),
            env: Vec::new(),
            claims: false,
        }
    }

    /// Another image.
    pub(crate) fn image(&self, image: &str) -> Self {
        Self { image: image.into(), ..self.clone() }
    }

    /// Another number of pods.
    pub(crate) fn replicas(&self, replicas: u32) -> Self {
        Self { replicas: Some(replicas), ..self.clone() }
    }

    /// The number of pods is left to others.
    pub(crate) fn any_replicas(&self) -> Self {
        Self { replicas: None, ..self.clone() }
    }

    /// One more line of `spec`.
    pub(crate) fn spec(&self, line: &str) -> Self {
        let mut new = self.clone();
        new.spec.push(line.into());
        new
    }

    /// `podManagementPolicy: Parallel`.
    pub(crate) fn parallel(&self) -> Self {
        self.spec("podManagementPolicy: Parallel")
    }

    /// One more annotation of the set.
    pub(crate) fn annotation(&self, key: &str, value: &str) -> Self {
        let mut new = self.clone();
        new.annotations.push((key.into(), value.into()));
        new
    }

    /// One more annotation of the template.
    pub(crate) fn template_annotation(&self, key: &str, value: &str) -> Self {
        let mut new = self.clone();
        new.template_annotations.push((key.into(), value.into()));
        new
    }

    /// One more variable of the container.
    pub(crate) fn env(&self, key: &str, value: &str) -> Self {
        let mut new = self.clone();
        new.env.push((key.into(), value.into()));
        new
    }

    /// A claim `data` for every pod.
    pub(crate) fn claims(&self) -> Self {
        Self { claims: true, ..self.clone() }
    }

    /// The manifest.
    pub(crate) fn yaml(&self) -> String {
        let name = &self.name;
        let mut yaml = format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {name}\n");
        annotations(&mut yaml, "  ", &self.annotations);
        let _ = write!(yaml, "spec:\n  serviceName: {name}\n  selector: {{matchLabels: {{app: {name}}}}}\n");
        if let Some(replicas) = self.replicas {
            let _ = writeln!(yaml, "  replicas: {replicas}");
        }
        for line in &self.spec {
            let _ = writeln!(yaml, "  {line}");
        }
        let _ = write!(yaml, "  template:\n    metadata:\n      labels: {{app: {name}}}\n");
        annotations(&mut yaml, "      ", &self.template_annotations);
        let _ = write!(yaml, "    spec:\n      containers:\n      - name: {name}\n        image: {}\n", self.image);
        if !self.env.is_empty() {
            yaml.push_str("        env:\n");
            for (key, value) in &self.env {
                let _ = writeln!(yaml, "        - {{name: {key}, value: '{value}'}}");
            }
        }
        if self.claims {
            yaml.push_str("        volumeMounts: [{name: data, mountPath: /data}]\n");
            yaml.push_str("  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: ");
            yaml.push_str("{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n");
        }
        yaml
    }
}

fn annotations(yaml: &mut String, indent: &str, annotations: &[(String, String)]) {
    if annotations.is_empty() {
        return;
    }
    let _ = writeln!(yaml, "{indent}annotations:");
    for (key, value) in annotations {
        let _ = writeln!(yaml, "{indent}  {key}: '{value}'");
    }
}

/// A plan for `web`: lines of `spec`, and stages in flow style.
pub(crate) fn plan(spec: &[&str], stages: &[&str]) -> String {
    plan_for("web", spec, stages)
}

/// A plan for another set.
pub(crate) fn plan_for(name: &str, spec: &[&str], stages: &[&str]) -> String {
    let mut yaml = format!(
        "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {{name: {name}}}\nspec:\n  workloadRef: \
         {{apiVersion: apps/v1, kind: StatefulSet, name: {name}}}\n"
    );
    for line in spec {
        let _ = writeln!(yaml, "  {line}");
    }
    yaml.push_str("  stages:\n");
    for stage in stages {
        let _ = writeln!(yaml, "  - {stage}");
    }
    yaml
}
