//! Which plan belongs to which set, and how far one mistake reaches.

use super::super::parse::parse;
use super::super::stateful_set::tests::GOOD;
use super::*;
use crate::model::Size;

/// Reads and binds files given as path and text.
fn of(files: &[(&str, String)]) -> Bound {
    let parsed: Vec<_> = files.iter().map(|(file, text)| (*file, parse(file, text.as_bytes()))).collect();
    bind(
        parsed.iter().map(|(file, (documents, findings))| (*file, documents.as_slice(), findings.as_slice())),
        "default",
    )
}

fn set(name: &str) -> String {
    GOOD.replace("name: web", &format!("name: {name}"))
}

fn plan(reference: &str, replicas: u32) -> String {
    let reference =
        if reference.is_empty() { String::new() } else { format!("  workloadRef: {{name: {reference}}}\n") };
    format!(
        "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec:\n{reference}  stages: [{{replicas: {replicas}}}, {{replicas: 100%}}]\n"
    )
}

fn id(name: &str) -> WorkloadId {
    WorkloadId::new("default", name)
}

/// The pods of the first stage of the plan that a workload has.
fn first_stage(bound: &Bound, name: &str) -> Option<Size> {
    let workload = bound.workloads[&id(name)].as_ref().unwrap();
    workload.plan.as_ref().map(|plan| plan.plan.stages(9)[0].size)
}

/// The findings of a blocked workload, each as `file:line: message`.
fn problem(bound: &Bound, name: &str) -> Vec<String> {
    let problem = bound.workloads[&id(name)].as_ref().unwrap_err();
    problem.diagnostics.iter().map(|f| format!("{}:{}: {}", f.file, f.line, f.message)).collect()
}

#[test]
fn plans_bind_by_name_or_by_folder() {
    let bound = of(&[
        ("a/one.yaml", set("one")),
        ("a/rollout-plan.yaml", plan("", 1)),
        ("a/b/two.yaml", set("two")),
        ("c/three.yaml", set("three")),
        ("plans/three.yaml", plan("three", 3)),
        ("four.yaml", set("four") + "---\n" + &plan("", 4)),
        ("other.yaml", "{apiVersion: v1, kind: Service}\n---\n{apiVersion: v1, kind: Service}\n".into()),
    ]);
    assert_eq!((bound.diagnostics.len(), bound.broken_files.len(), bound.others), (0, 0, 2));
    assert_eq!(first_stage(&bound, "one"), Some(Size::Pods(1)));
    assert_eq!(first_stage(&bound, "two"), None);
    assert_eq!(first_stage(&bound, "three"), Some(Size::Pods(3)));
    assert_eq!(first_stage(&bound, "four"), Some(Size::Pods(4)));
    let two = bound.workloads[&id("two")].as_ref().unwrap();
    assert_eq!(two.effective_plan(), (Plan::default(), plan_digest(&Plan::default())));
}

#[test]
fn a_plan_names_a_set_in_its_own_namespace() {
    let there = |text: String| text.replace("  name: web\n", "  name: web\n  namespace: prod\n");
    let prod_plan = plan("web", 2).replace("spec:\n", "metadata: {namespace: prod}\nspec:\n");
    let bound = of(&[("a.yaml", set("web")), ("b.yaml", there(set("web"))), ("c/p.yaml", prod_plan)]);
    assert_eq!(first_stage(&bound, "web"), None);
    let prod = bound.workloads[&WorkloadId::new("prod", "web")].as_ref().unwrap();
    assert!(prod.plan.is_some() && prod.manifest.namespace_given);
}

#[test]
fn two_documents_or_two_plans_block_that_workload_only() {
    let bound = of(&[
        ("b.yaml", set("web") + "---\n" + &set("good")),
        ("a.yaml", set("web")),
        ("x/set.yaml", set("twice")),
        ("x/rollout-plan.yaml", plan("", 1)),
        ("y.yaml", plan("twice", 2)),
    ]);
    let message = "there are 2 documents for default/web: a.yaml:1, b.yaml:1";
    assert_eq!(problem(&bound, "web"), [format!("a.yaml:1: {message}"), format!("b.yaml:1: {message}")]);
    let message = "there are 2 plans for default/twice: x/rollout-plan.yaml:1, y.yaml:1";
    assert_eq!(problem(&bound, "twice"), [format!("x/rollout-plan.yaml:1: {message}"), format!("y.yaml:1: {message}")]);
    assert!(bound.workloads[&id("good")].is_ok());
    assert_eq!((bound.diagnostics, bound.broken_files.len()), (Vec::new(), 0));
}

#[test]
fn a_broken_plan_blocks_its_sets_whatever_is_wrong_with_it() {
    let cases = [
        ("a/rollout-plan.yaml", plan("", 0)),
        ("a/rollout-plan.yaml", "spec: [\n".into()),
        ("a/rollout-plan.yaml", "stages: []\n".into()),
        ("p/any.yaml", plan("web", 0)),
        ("p/any.yaml", plan("web", 1) + "  ramp: [\n"),
        ("p/any.yaml", plan("web", 1).replace("v1alpha1", "v9")),
        ("a/any.yaml", plan("", 1) + "a: [\n"),
    ];
    for (file, text) in cases {
        let bound = of(&[("a/web.yaml", set("web")), ("b/other.yaml", set("other")), (file, text.clone())]);
        let problem = problem(&bound, "web");
        assert!(
            problem.iter().any(|line| line.ends_with("the plan of default/web cannot be used")),
            "{text}: {problem:?}"
        );
        assert!(problem.len() > 1, "{text}: {problem:?}");
        assert!(bound.workloads[&id("other")].is_ok(), "{text}");
    }
}

#[test]
fn a_broken_file_blocks_what_is_in_it_and_nothing_else() {
    let bound = of(&[
        ("a.yaml", set("one") + "---\na: [\n---\n" + &set("two")),
        ("b.yaml", set("three")),
        ("c.yaml", set("four") + "---\n" + &set("no-name").replace("  name: no-name\n", "")),
        ("d.yaml", "values: 1\n".into()),
    ]);
    for blocked in ["one", "two"] {
        assert_eq!(
            problem(&bound, blocked),
            ["a.yaml:22: did not find expected node content, but the end of the document, while parsing a flow node"]
        );
    }
    assert_eq!(problem(&bound, "four"), ["c.yaml:23: the set has no name"]);
    assert!(bound.workloads[&id("three")].is_ok());
    assert_eq!(bound.broken_files.keys().collect::<Vec<_>>(), ["a.yaml", "c.yaml"]);
    assert_eq!(bound.diagnostics.len(), 1);
    assert_eq!((bound.diagnostics[0].file.as_str(), bound.diagnostics[0].is_error()), ("d.yaml", false));
}

#[test]
fn a_wrong_set_blocks_itself_only() {
    let bound = of(&[("a.yaml", set("bad").replace("replicas: 3", "replicas: -3") + "---\n" + &set("good"))]);
    assert_eq!(problem(&bound, "bad"), ["a.yaml:8: `spec.replicas`: `-3` must not be negative"]);
    assert!(bound.workloads[&id("good")].is_ok());
    assert_eq!(bound.broken_files.len(), 0);
}

#[test]
fn a_partition_in_the_manifest_is_staging_by_hand_unless_there_is_a_plan() {
    let text = set("web").replace("RollingUpdate\n", "RollingUpdate\n    rollingUpdate: {partition: 2}\n");
    let bound = of(&[("a.yaml", text.clone())]);
    let workload = bound.workloads[&id("web")].as_ref().unwrap();
    assert_eq!(workload.effective_plan().0.schedule, Schedule::ByHand(2));
    assert_eq!(workload.diagnostics, []);
    let bound = of(&[("a.yaml", text), ("rollout-plan.yaml", plan("", 1))]);
    let workload = bound.workloads[&id("web")].as_ref().unwrap();
    assert_eq!(workload.effective_plan().0.stages(9)[0].size, Size::Pods(1));
    assert_eq!(
        workload.diagnostics[0].to_string(),
        "a.yaml:1: warning: `partition` stands in the manifest, and rollout-plan.yaml:1 is its plan\n  \
         hint: the plan wins: leave `partition` out of the manifest"
    );
}

#[test]
fn plans_for_nothing_and_sets_of_kruise_are_warnings() {
    let bound = of(&[
        ("a/p.yaml", plan("webb", 1)),
        ("b/rollout-plan.yaml", plan("", 1)),
        ("k.yaml", set("k").replace("apps/v1", "apps.kruise.io/v1beta1")),
    ]);
    let seen: Vec<_> = bound.diagnostics.iter().map(|f| (f.file.as_str(), f.is_error(), f.message.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("a/p.yaml", false, "the plan is for `default/webb`, and no file names such a StatefulSet"),
            ("b/rollout-plan.yaml", false, "the plan is for the StatefulSets of its folder, and there is none"),
            ("k.yaml", false, "a StatefulSet of Kruise's is left alone"),
        ]
    );
    assert_eq!((bound.workloads.len(), bound.others), (0, 1));
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    let mut files = vec![
        ("a.yaml", set("web")),
        ("b.yaml", set("web") + "---\na: [\n"),
        ("c.yaml", plan("web", 1)),
        ("d.yaml", plan("web", 0)),
        ("e.yaml", plan("gone", 0)),
    ];
    let forwards = of(&files);
    files.reverse();
    assert_eq!(of(&files), forwards);
}
