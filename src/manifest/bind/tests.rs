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

/// A set in a namespace of its own.
fn set_in(namespace: &str, name: &str) -> String {
    set(name).replace(&format!("  name: {name}\n"), &format!("  name: {name}\n  namespace: {namespace}\n"))
}

/// What the plan of a set was read from; `-` without a plan, `!` where the set is stopped.
fn plan_of(bound: &Bound, namespace: &str, name: &str) -> String {
    match &bound.workloads[&WorkloadId::new(namespace, name)] {
        Ok(bound) => bound.plan.as_ref().map_or("-".into(), |plan| plan.file.clone()),
        Err(_) => "!".into(),
    }
}

#[test]
fn a_plan_without_a_namespace_has_that_of_the_set_beside_it() {
    let bound = of(&[("a/web.yaml", set_in("data", "web")), ("a/p.yaml", plan("web", 1))]);
    assert_eq!((plan_of(&bound, "data", "web"), bound.diagnostics.len()), ("a/p.yaml".into(), 0));
    // The one beside it counts, not the one of the default namespace elsewhere.
    let bound = of(&[
        ("a/web.yaml", set_in("data", "web")),
        ("a/p.yaml", plan("web", 1)),
        ("b/web.yaml", set("web")),
        ("c/p.yaml", plan("db", 1)),
        ("d/db.yaml", set("db")),
    ]);
    assert_eq!(plan_of(&bound, "data", "web"), "a/p.yaml");
    assert_eq!(plan_of(&bound, "default", "web"), "-");
    assert_eq!(plan_of(&bound, "default", "db"), "c/p.yaml");
    assert_eq!(bound.diagnostics, []);
    // Two of the name: it has to say which, and neither rolls meanwhile. A third set is not stopped.
    let two = [set_in("data", "web"), set_in("prod", "web"), set("db")].join("---\n");
    let bound = of(&[("a/web.yaml", two.clone()), ("a/p.yaml", plan("web", 1))]);
    assert_eq!(
        bound.diagnostics[0].to_string(),
        "a/p.yaml:4:23: error: the plan states no namespace, and its folder has 2 StatefulSets `web`: data/web, \
         prod/web\n  hint: write `metadata: {namespace: data}` or `metadata: {namespace: prod}`: one plan for each"
    );
    for (namespace, name, is) in [("data", "web", "!"), ("prod", "web", "!"), ("default", "db", "-")] {
        assert_eq!(plan_of(&bound, namespace, name), is, "{namespace}/{name}");
    }
    let prod = plan("web", 1).replace("spec:\n", "metadata: {namespace: prod}\nspec:\n");
    let bound = of(&[("a/web.yaml", two), ("a/p.yaml", prod)]);
    assert_eq!((plan_of(&bound, "prod", "web"), plan_of(&bound, "data", "web")), ("a/p.yaml".into(), "-".into()));
}

#[test]
fn a_plan_that_finds_no_set_stops_the_one_it_was_meant_for() {
    let in_prod = |text: String| text.replace("spec:\n", "metadata: {namespace: prod}\nspec:\n");
    let named = |text: String, name: &str| text.replace("spec:\n", &format!("metadata: {{name: {name}}}\nspec:\n"));
    let hint = "write `metadata: {namespace: data}` for data/web";
    for (what, file, text, hints) in [
        ("a slip", "a/p.yaml", plan("wbe", 1), "did you mean `workloadRef: {name: web}`?"),
        (
            "the same far away",
            "plans/p.yaml",
            plan("wb", 1).replace("spec:\n", "metadata: {namespace: data}\nspec:\n"),
            "did you mean",
        ),
        ("another namespace", "a/p.yaml", in_prod(plan("web", 1)), hint),
        ("no namespace, far away", "plans/p.yaml", plan("web", 1), hint),
        (
            "another name beside the only set",
            "a/p.yaml",
            plan("frontend", 1),
            "write `workloadRef: {name: web}` if it is for data/web (a/web.yaml:1)",
        ),
        ("in the folder above", "rollout-plan.yaml", plan("", 1), "move it beside its set"),
        ("in a folder below", "a/plans/rollout-plan.yaml", named(plan("", 1), "web"), "move it beside its set"),
    ] {
        let bound = of(&[
            ("a/web.yaml", set_in("data", "web")),
            ("b/db.yaml", set("db") + "---\n" + &set("cache")),
            ("b/p.yaml", plan("db", 1)),
            (file, text),
        ]);
        let finding = &bound.diagnostics[0];
        assert!(finding.is_error() && finding.file == file && finding.line > 0, "{what}: {finding}");
        assert!(finding.hint.contains(hints), "{what}: {finding}");
        let Err(problem) = &bound.workloads[&WorkloadId::new("data", "web")] else { panic!("{what}: it rolls") };
        assert!(problem.diagnostics.contains(finding), "{what}: {problem:?}");
        // Of the others nobody has lost a plan; but a plan above all folders may be for each of them.
        assert_eq!(plan_of(&bound, "default", "db"), "b/p.yaml", "{what}");
        assert_eq!(plan_of(&bound, "default", "cache"), if file == "rollout-plan.yaml" { "!" } else { "-" }, "{what}");
    }
}

#[test]
fn a_plan_that_no_set_can_have_lost_is_a_warning() {
    for (what, files) in [
        ("before its set", vec![("a/p.yaml", plan("web", 1))]),
        ("left behind", vec![("a/p.yaml", plan("web", 1)), ("a/db.yaml", set("db")), ("a/q.yaml", plan("db", 1))]),
        ("another number", vec![("a/p.yaml", plan("web-2", 1)), ("b/web.yaml", set("web-1"))]),
        ("another folder", vec![("a/rollout-plan.yaml", plan("", 1)), ("b/db.yaml", set("db"))]),
    ] {
        let bound = of(&files);
        assert_eq!(bound.diagnostics.iter().filter(|it| !it.is_error()).count(), 1, "{what}: {:?}", bound.diagnostics);
        assert!(bound.diagnostics[0].hint.contains("remove the plan"), "{what}");
        assert!(bound.workloads.values().all(Result::is_ok), "{what}");
    }
    // Which of two it was for cannot be told: the push is refused, but neither set is stopped.
    let bound = of(&[("a/p.yaml", plan("frontend", 1)), ("a/s.yaml", set("web") + "---\n" + &set("db"))]);
    assert!(bound.diagnostics[0].is_error(), "{:?}", bound.diagnostics);
    let web = bound.workloads[&id("web")].as_ref().unwrap();
    assert_eq!(web.diagnostics[0].message, "no plan is bound to default/web: all pods in one stage");
}

#[test]
fn a_kind_or_a_version_that_is_nearly_right_stops_its_set() {
    let plan = plan("", 1);
    let list = format!(
        "{{apiVersion: v1, kind: list, items: [{}]}}",
        serde_json::json!({"kind": "RolloutPlan", "apiVersion": "phaseline.dev/v1alpha1", "spec": {"workloadRef": {"name": "web"}}})
    );
    for (file, text, message, hint) in [
        (
            "a/rollout-plan.yaml",
            plan.replace("RolloutPlan", "Rolloutplan"),
            "there is no kind `Rolloutplan`",
            "did you mean `kind: RolloutPlan`?",
        ),
        (
            "a/any.yaml",
            plan.replace("RolloutPlan", "rollout-plan"),
            "there is no kind `rollout-plan`",
            "did you mean `kind: RolloutPlan`?",
        ),
        (
            "a/any.yaml",
            plan.replace("RolloutPlan", "Rollout"),
            "there is no kind `Rollout`",
            "did you mean `kind: RolloutPlan`?",
        ),
        (
            "a/any.yaml",
            plan.replace("v1alpha1", "v1"),
            "this version reads phaseline.dev/v1alpha1",
            "write `apiVersion: phaseline.dev/v1alpha1`",
        ),
        (
            "a/any.yaml",
            plan.replace("phaseline.dev", "phaseline.io").replace("RolloutPlan", "Plan"),
            "this version reads",
            "phaseline.dev/v1alpha1",
        ),
        (
            "a/rollout-plan.yaml",
            plan.replace("kind: RolloutPlan", "kind: ConfigMap").replace("phaseline.dev/v1alpha1", "v1"),
            "holds `ConfigMap`",
            "`kind: RolloutPlan`",
        ),
        ("a/rollout-plan.yaml", String::new(), "is a plan by its name, and holds none", "remove the file"),
        (
            "a/rollout-plan.yaml",
            "# stages: []\n---\n".into(),
            "is a plan by its name, and holds none",
            "remove the file",
        ),
        ("a/rollout-plan.yml", "- {replicas: 1}\n".into(), "no mapping", "a rollout plan begins with"),
        ("a/rollout-plan.json", "[{\"op\": \"add\", \"path\": \"/x\"}]".into(), "JSON 6902 patch", "render it in CI"),
        (
            "a/Rollout_Plan.YAML",
            "stages: [{replicas: 1}]\n".into(),
            "neither `apiVersion` nor `kind`",
            "a rollout plan begins with",
        ),
        ("b/p.yaml", list, "`list` is no kind of a list", "did you mean `kind: List`?"),
        (
            "a/rollout-plan.yaml",
            plan.replace("kind: R", "Kind: R"),
            "the document has no `kind`",
            "a rollout plan begins with",
        ),
        (
            "a/rollout-plan.yaml",
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec: {}\nsops: {mac: x}\n".into(),
            "encrypted with SOPS",
            "does not decrypt",
        ),
    ] {
        let bound = of(&[("a/web.yaml", set("web")), ("c/other.yaml", set("other")), (file, text.clone())]);
        let Err(problem) = &bound.workloads[&id("web")] else { panic!("{text}: it rolls") };
        let found = problem.diagnostics.iter().find(|it| it.is_error() && it.message.contains(message));
        assert!(found.is_some_and(|it| it.file == file), "{text}: {problem:?}");
        assert!(problem.diagnostics.iter().any(|it| it.hint.contains(hint)), "{text}: {problem:?}");
        assert!(bound.workloads[&id("other")].is_ok(), "{text}");
    }
    for (from, to, message, hint) in [
        (
            "kind: StatefulSet",
            "kind: Statefulset",
            "there is no kind `Statefulset`",
            "did you mean `kind: StatefulSet`?",
        ),
        (
            "kind: StatefulSet",
            "kind: statefulset",
            "there is no kind `statefulset`",
            "did you mean `kind: StatefulSet`?",
        ),
        ("kind: StatefulSet", "kind: sts", "there is no kind `sts`", "did you mean `kind: StatefulSet`?"),
        ("apps/v1", "apps/v1beta1", "a StatefulSet of `apps/v1beta1` is not driven", "write `apiVersion: apps/v1`"),
        ("apps/v1", "apps", "a StatefulSet of `apps` is not driven", "write `apiVersion: apps/v1`"),
        ("apps/v1", "v1", "a StatefulSet of `v1` is not driven", "write `apiVersion: apps/v1`"),
    ] {
        let bound = of(&[("a.yaml", set("web").replace(from, to)), ("c/other.yaml", set("other"))]);
        let Err(problem) = &bound.workloads[&id("web")] else { panic!("{to}") };
        let found = problem.diagnostics.iter().find(|it| it.message == message && it.line > 0);
        assert!(found.is_some_and(|it| it.hint.contains(hint)), "{to}: {problem:?}");
        assert!(bound.workloads[&id("other")].is_ok(), "{to}");
    }
}

#[test]
fn a_plan_that_is_left_out_stops_the_sets_of_its_folder() {
    let link = [Diagnostic::warning("a/rollout-plan.yaml", 0, "a symbolic link; links are not followed")];
    let (documents, _) = parse("a/web.yaml", set("web").as_bytes());
    let bound = bind([("a/web.yaml", &documents[..], &[][..]), ("a/rollout-plan.yaml", &[], &link)], "default");
    assert_eq!(
        problem(&bound, "web"),
        [
            "a/rollout-plan.yaml:0: a symbolic link; links are not followed",
            "a/rollout-plan.yaml:0: the plan of default/web cannot be used"
        ]
    );
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
