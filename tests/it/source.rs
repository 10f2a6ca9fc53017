//! The deploy repository as the daemon reads it: last good state, origins of templates, scope.

use phaseline::daemon::{Recalled, Scope, Source, View};
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

/// The plan of a set beside it, so that what is remembered is all of it.
const PLAN: &str = "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {name: web}\nspec:\n  stages: \
                    [{replicas: 1}, {replicas: '100%'}]\n";

fn recalled(site: &mut Site, commit: &str) -> Recalled {
    let view = site.view();
    site.source.recall(&view, &web(), &[CommitId(commit.into())]).unwrap()
}

#[test]
fn however_many_broken_commits_follow_the_one_that_was_rolled_out_is_known() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", "")).write("rollout-plan.yaml", PLAN);
    let good = site.push("good");
    for turn in 0..60 {
        site.repo.write("web.yaml", format!("kind: StatefulSet\n\tbroken {turn}"));
        site.repo.commit("broken");
    }
    site.push("broken");
    assert_eq!(site.view().wishes.get(&web()), None, "too far back for a look");
    let Recalled::Good(desired, problem, at) = recalled(&mut site, &good) else { panic!() };
    assert_eq!((desired.tip.commit.id.0.as_str(), at.0.as_str()), (&*good, &*good));
    assert_eq!(desired.plan.stages(5).len(), 2, "with its plan");
    assert!(problem.diagnostics[0].to_string().starts_with("web.yaml:2"), "{:?}", problem.diagnostics);
    // Nothing is remembered in another mirror, and nothing is needed: a commit that it does not have is lost, not gone.
    assert!(matches!(recalled(&mut site, &"0".repeat(40)), Recalled::Lost(_)));
}

#[test]
fn what_cannot_be_read_is_not_gone() {
    type Break = fn(&Site);
    let cases: [(&str, Break); 9] = [
        ("1048577 bytes", |site| _ = site.repo.write("apps/web.yaml", " ".repeat((1 << 20) + 1))),
        ("a symbolic link", |site| {
            site.repo.write("elsewhere/web.txt", "x").remove("apps/web.yaml");
            std::os::unix::fs::symlink("../elsewhere/web.txt", site.repo.work_path().join("apps/web.yaml")).unwrap();
        }),
        ("is a kustomization", |site| _ = site.repo.write("apps/kustomization.yaml", "resources: [web.yaml]\n")),
        ("is a kustomization", |site| _ = site.repo.write("Kustomization", "resources: [apps/web.yaml]\n")),
        ("web.yaml", |site| _ = site.repo.write("apps/web.yaml", b"\xff\xfe not text")),
        ("web.yaml", |site| _ = site.repo.write("apps/web.yaml", "kind: [StatefulSet\n")),
        // Moved, and broken on the way.
        ("other.yaml", |site| {
            site.repo.remove("apps/web.yaml").write("new/other.yaml", "kind: StatefulSet\nmetadata: {name: web\n");
        }),
        ("is a kustomization", |site| {
            site.repo.remove("apps/web.yaml").write("base/web.yaml", set("web", "nginx:2", ""));
            site.repo.write("base/kustomization.yaml", "resources: [web.yaml]\n");
        }),
        ("a symbolic link", |site| {
            site.repo.remove("apps/web.yaml").write("moved/web.yaml", set("web", "nginx:2", ""));
            std::fs::remove_dir_all(site.repo.work_path().join("apps")).unwrap();
            site.repo.write("moved/kustomization.yaml", "");
            std::os::unix::fs::symlink("moved", site.repo.work_path().join("apps")).unwrap();
        }),
    ];
    for (word, change) in cases {
        let mut site = Site::new();
        site.repo.write("apps/web.yaml", set("web", "nginx:1", "")).write("db.yaml", set("db", "pg:1", ""));
        let good = site.push("good");
        change(&site);
        site.push("what cannot be read");
        // Found on the way back, and by the commit that the set was rolled to.
        let wish = site.view().wishes.get(&web()).cloned().unwrap_or_default();
        let said = format!("{:?}", wish.problem);
        assert!(wish.desired.is_some() && said.contains(word), "{word}: {said}");
        let Recalled::Good(desired, problem, _) = recalled(&mut site, &good) else { panic!("{word}") };
        assert_eq!(desired.tip.commit.id.0, good, "{word}");
        let said = problem.diagnostics.iter().map(ToString::to_string).collect::<String>();
        assert!(said.contains(word) && said.contains("error"), "{word}: {said}");
    }
}

#[test]
fn what_is_gone_is_gone_whatever_else_is_broken() {
    let mut site = Site::new();
    site.repo.write("web.yaml", set("web", "nginx:1", "")).write("old/kustomization.yaml", "").write("old/x.yaml", "x");
    site.repo.write("broken.yaml", "kind: [StatefulSet\n# nothing about it here\n");
    let good = site.push("good");
    site.repo.remove("web.yaml").write("broken-too.yaml", "kind: [StatefulSet\n");
    site.repo.write("vendor/kustomization.yaml", "").write("vendor/db.yaml", set("db", "pg:1", ""));
    site.push("away with it");
    assert_eq!(site.view().wishes.get(&web()), None);
    assert_eq!(recalled(&mut site, &good), Recalled::Gone);
}
