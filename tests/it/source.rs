//! The deploy repository as the daemon reads it: last good state, origins of templates, scope.

use phaseline::daemon::{Scope, Source, View};
use phaseline::git::SourceConfig;
use phaseline::model::{CommitId, Schedule, WorkloadId};

use crate::support::repo::Repo;

fn set(name: &str, image: &str, extra: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}}}\nspec:\n  serviceName: {name}\n{extra}  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      \
         containers: [{{name: main, image: '{image}'}}]\n"
    )
}

fn web() -> WorkloadId {
    WorkloadId::new("default", "web")
}

struct Site {
    repo: Repo,
    source: Source,
}

impl Site {
    fn new() -> Self {
        Self::scoped(None)
    }

    fn scoped(only: Option<&str>) -> Self {
        let repo = Repo::new();
        let config = SourceConfig { url: repo.origin_url(), state_dir: repo.state_dir(), ..SourceConfig::default() };
        let scope = Scope { default_namespace: "default".into(), only: only.into_iter().map(Into::into).collect() };
        let source = Source::open(&config, scope).unwrap();
        Self { repo, source }
    }

    fn push(&self, message: &str) -> String {
        let commit = self.repo.commit(message);
        self.repo.push();
        commit
    }

    fn view(&mut self) -> std::sync::Arc<View> {
        self.source.refresh().unwrap();
        self.source.view().unwrap()
    }
}

#[test]
fn a_template_belongs_to_the_commit_that_brought_it() {
    let mut site = Site::new();
    site.repo.write("a/web.yaml", set("web", "nginx:1", "  replicas: 3\n"));
    let first = site.push("first");
    site.repo.write("README.md", "nothing to do with it\n");
    site.repo.write("b/other.yaml", set("other", "redis:7", ""));
    let second = site.push("another set");
    let view = site.view();
    let tip = |name: &str| view.wishes[&WorkloadId::new("default", name)].desired.as_ref().unwrap().tip.clone();
    assert_eq!(tip("web").commit.id, CommitId(first.clone()));
    assert_eq!(tip("other").commit.id, CommitId(second));
    assert_eq!((tip("web").replicas, tip("other").replicas), (Some(3), None));

    // Moved, reformatted and scaled: still the template of the first commit, but another rest.
    site.repo.remove("a/web.yaml").write("c/all.yaml", format!("# web\n{}", set("web", "nginx:1", "  replicas: 5\n")));
    site.push("moved and scaled");
    let moved = site.view().wishes[&web()].desired.clone().unwrap().tip;
    assert_eq!((&moved.commit.id, &moved.hash), (&CommitId(first), &tip("web").hash));
    assert_ne!(moved.rest, tip("web").rest);
}

#[test]
fn a_revert_has_the_hash_of_what_it_goes_back_to_and_a_commit_of_its_own() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", ""));
    let first = site.push("one");
    site.repo.write("web.yaml", set("web", "nginx:2", ""));
    let second = site.push("two");
    let reverted = site.repo.revert(&second);
    site.repo.push();
    site.source.refresh().unwrap();
    let history = site.source.history(&web()).unwrap();
    let commits: Vec<&str> = history.iter().map(|entry| entry.commit.id.0.as_str()).collect();
    assert_eq!(commits, [&first, &second, &reverted]);
    assert_eq!(history[0].entry.hash, history[2].entry.hash);
    assert_eq!((history[2].entry.repeats, history[0].entry.revision, history[1].entry.revision), (Some(1), 3, 2));
    assert_eq!(site.view().wishes[&web()].desired.as_ref().unwrap().tip.commit.id, CommitId(reverted));
}

#[test]
fn a_broken_file_leaves_its_own_sets_at_their_last_good_commit() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", "")).write("db.yaml", set("db", "pg:1", ""));
    let first = site.push("both");
    site.repo.write("web.yaml", "kind: StatefulSet\n\tbroken").write("db.yaml", set("db", "pg:2", ""));
    let second = site.push("one broken, one better");
    // As a daemon that has just been started sees it: nothing is remembered.
    let view = site.view();
    let wish = &view.wishes[&web()];
    assert_eq!(wish.desired.as_ref().unwrap().tip.commit.id, CommitId(first));
    let problem = wish.problem.as_ref().unwrap();
    assert_eq!((problem.diagnostics[0].file.as_str(), problem.diagnostics[0].line), ("web.yaml", 2));
    let db = &view.wishes[&WorkloadId::new("default", "db")];
    assert_eq!(db.desired.as_ref().unwrap().tip.commit.id, CommitId(second));
    assert_eq!(db.problem, None);
}

#[test]
fn a_broken_plan_blocks_its_set_and_the_last_good_plan_stays_with_it() {
    let mut site = Site::new();
    let plan = |stages: &str| {
        format!(
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {{name: web}}\nspec:\n  stages: {stages}\n"
        )
    };
    site.repo.write("web.yaml", set("web", "nginx:1", ""));
    site.repo.write("rollout-plan.yaml", plan("[{replicas: 1}, {replicas: '100%'}]"));
    site.push("good");
    site.repo.write("web.yaml", set("web", "nginx:2", ""));
    site.repo.write("rollout-plan.yaml", plan("[{replicas: 1}, {replicas: '50%'}]"));
    site.push("a plan that does not reach every pod");
    let wish = site.view().wishes[&web()].clone();
    assert!(wish.problem.unwrap().diagnostics[0].file.ends_with("rollout-plan.yaml"));
    let desired = wish.desired.unwrap();
    assert_eq!(desired.plan.stages(10).len(), 2);
    assert_eq!(desired.tip.manifest.pointer("/spec/template/spec/containers/0/image").unwrap(), "nginx:1");
}

#[test]
fn a_partition_without_a_plan_is_staging_by_hand() {
    let mut site = Site::new();
    let by_hand = "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}\n";
    site.repo.write("web.yaml", set("web", "nginx:1", by_hand));
    site.push("by hand");
    let first = site.view().wishes[&web()].desired.clone().unwrap();
    assert_eq!(first.plan.schedule, Schedule::ByHand(2));
    site.repo.write("web.yaml", set("web", "nginx:1", &by_hand.replace('2', "1")));
    site.push("lower");
    let second = site.view().wishes[&web()].desired.clone().unwrap();
    assert_eq!(second.plan.schedule, Schedule::ByHand(1));
    assert_eq!(second.tip.rest, first.tip.rest);
}

#[test]
fn a_manifest_outside_of_the_only_namespace_is_a_problem_and_no_wish() {
    let mut site = Site::scoped(Some("default"));
    site.repo.write(
        "web.yaml",
        set("web", "nginx:1", "").replace("{name: web}\nspec", "{name: web, namespace: prod}\nspec"),
    );
    site.push("elsewhere");
    let wish = site.view().wishes[&WorkloadId::new("prod", "web")].clone();
    assert_eq!(wish.desired, None);
    assert!(wish.problem.unwrap().diagnostics[0].message.contains("outside of the namespace default"));
}

#[test]
fn the_last_good_commit_stays_when_the_source_goes_away_and_across_a_restart() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", ""));
    let first = site.push("one");
    assert_eq!(site.view().commit.id, CommitId(first.clone()));
    let away = site.repo.folder().join("away.git");
    std::fs::rename(site.repo.origin_path(), &away).unwrap();
    site.source.refresh().unwrap_err();
    assert_eq!(site.source.view().unwrap().commit.id, CommitId(first.clone()));
    let config =
        SourceConfig { url: site.repo.origin_url(), state_dir: site.repo.state_dir(), ..SourceConfig::default() };
    let mut again = Source::open(&config, Scope { default_namespace: "default".into(), only: Vec::new() }).unwrap();
    again.refresh().unwrap_err();
    assert_eq!(again.view().unwrap().commit.id, CommitId(first.clone()));
    std::fs::rename(&away, site.repo.origin_path()).unwrap();
    site.repo.write("web.yaml", set("web", "nginx:2", ""));
    let second = site.push("two");
    assert_eq!(site.view().commit.id, CommitId(second));
    // History is rewritten: the tip goes where it is sent.
    site.repo.force_push(&first);
    assert_eq!(site.view().commit.id, CommitId(first));
}

#[test]
fn a_commit_message_may_allow_what_the_manifest_does_not() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", ""));
    site.push("shrink\n\nphaseline.dev/allow-claim-deletion: \"true\"");
    assert!(site.view().wishes[&web()].desired.as_ref().unwrap().tip.allow_claim_deletion);
    site.repo.write("web.yaml", set("web", "nginx:2", ""));
    site.push("something else");
    assert!(!site.view().wishes[&web()].desired.as_ref().unwrap().tip.allow_claim_deletion);
}

#[test]
fn an_earlier_version_of_a_set_is_found_by_its_commit() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", ""));
    let first = site.push("one");
    site.repo.write("web.yaml", set("web", "nginx:2", ""));
    site.push("two");
    site.view();
    let version = site.source.version_at(&CommitId(first.clone()), &web()).unwrap();
    assert_eq!(version.manifest.pointer("/spec/template/spec/containers/0/image").unwrap(), "nginx:1");
    assert_eq!(site.source.version_at(&CommitId("0".repeat(40)), &web()), None);
    assert_eq!(site.source.view_at(&first).unwrap().commit.id, CommitId(first));
}

#[test]
fn the_examples_are_read_without_a_finding() {
    let mut site = Site::new();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for folder in std::fs::read_dir(&examples).unwrap() {
        let folder = folder.unwrap().path();
        // Jobs of a CI are no part of a deploy repository's manifests.
        if folder.ends_with("ci") || folder.is_file() {
            continue;
        }
        for name in ["README.md", "rollout-plan.yaml", "services.yaml", "config.yaml"] {
            assert!(folder.join(name).is_file(), "{} has no {name}", folder.display());
        }
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            site.repo.write(file.strip_prefix(&examples).unwrap(), std::fs::read(&file).unwrap());
        }
    }
    site.push("the examples");
    let view = site.view();
    assert!(view.diagnostics.is_empty(), "{:?}", view.diagnostics);
    let mut stages = Vec::new();
    for (workload, wish) in &view.wishes {
        assert_eq!((&wish.problem, wish.warnings.len()), (&None, 0), "{workload}");
        let desired = wish.desired.as_ref().unwrap();
        let replicas = desired.tip.replicas.unwrap();
        let sizes = desired.plan.stages(replicas).into_iter().map(|stage| stage.size.count(replicas));
        stages.push((workload.name.as_str(), sizes.collect::<Vec<_>>()));
    }
    assert_eq!(stages, [("cache", vec![1, 3, 7, 10]), ("etcd", vec![1, 2, 3]), ("web", vec![1, 3])]);
}
