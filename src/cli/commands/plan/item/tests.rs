//! Plans of one workload, from hand-made facts.

use serde_json::json;

use super::*;
use crate::cli::fixtures::{at_rest, commit, desired, in_canary, nothing, now, observed};
use crate::cli::output::diff;
use crate::cli::output::plan::PlanObject;
use crate::cli::output::plan_text;
use crate::model::{Diagnostic, Problem};

fn composed(desired: &Desired, observed: &Observed, shown: Shown) -> PlanItem {
    compose(desired, &foresee::foresee(desired, None, observed, now()), observed, shown, now())
}

fn plan_of(items: Vec<PlanItem>) -> PlanObject {
    PlanObject { items, ..PlanObject::of(Commit::of(&commit('b')), "1.36") }
}

fn printed(plan: &PlanObject) -> String {
    let mut out = Vec::new();
    plan_text::print(&mut out, plan, false).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_staged_rollout() {
    let shown = Shown {
        fields: diff::changes(&json!({"spec": {"image": "a"}}), &json!({"spec": {"image": "b"}})),
        revision: Some("web-777".into()),
        ..Shown::default()
    };
    let plan = plan_of(vec![composed(&desired('b'), &observed(Some(at_rest('a'))), shown)]);
    assert_eq!(plan.exit_code(), 1);
    assert_eq!(
        printed(&plan),
        "commit bbbbbbbbbb Ann: web: b

prod/web: a staged rollout
  now: Healthy (Completed)
  current commit aaaaaaaaaa, hash aaaaaaaaaa, web-old
  target  commit bbbbbbbbbb, hash bbbbbbbbbb, web-777
  ~ spec.image: \"a\" -> \"b\"
  STAGE      PODS   PARTITION   ORDINALS         DOWN                            WAITS FOR                      STATE
  1 canary   1/6    5           web-5            web-5                           Ready, then promote            start
  2 third    3/6    3           web-3 to web-5   web-4 to web-3, one at a time   Ready for 1m, then pause 10m   next
  3 rest     6/6    0           web-0 to web-5   web-2 to web-0, one at a time   Ready                          next
  soaks and pauses take at least 10m, and as long as it takes somebody to promote

1 of 1 workloads would change
"
    );
}

#[test]
fn what_is_in_force_is_no_change() {
    let quiet = plan_of(vec![composed(&desired('a'), &observed(Some(at_rest('a'))), Shown::default())]);
    assert_eq!(quiet.exit_code(), 0);
    assert!(printed(&quiet).contains("\nno change: prod/web\n\n0 of 1 workloads would change\n"));
    // Of many, some are named, after what changes.
    let item = &quiet.items[0];
    let changing = PlanItem { changes: true, ..item.clone() };
    let mut items = vec![item.clone(); 7];
    items.push(changing);
    let text = printed(&PlanObject { items, ..quiet.clone() });
    assert!(text.contains("prod/web, prod/web and 2 more\n\n1 of 8 workloads would change\n"), "{text}");
    assert_eq!(text.matches("prod/web").count(), 6, "{text}");
    assert!(text.find("now: Healthy") < text.find("no change: "), "{text}");
    let under_way = plan_of(vec![composed(&desired('b'), &observed(Some(in_canary('a', 'b'))), Shown::default())]);
    assert_eq!(under_way.exit_code(), 0, "the very tip is being rolled out");
    let older = plan_of(vec![composed(&desired('c'), &observed(Some(in_canary('a', 'b'))), Shown::default())]);
    assert_eq!(older.exit_code(), 1, "an older commit is being rolled out");
    let created = plan_of(vec![composed(&desired('a'), &nothing(), Shown::default())]);
    assert_eq!((created.exit_code(), created.items[0].entry), (1, Entry::Install));
}

#[test]
fn a_drift_is_a_change() {
    let mut observed = observed(Some(at_rest('a')));
    let set = observed.set.as_mut().unwrap();
    (set.generation, set.observed_generation, set.template) = (4, 4, crate::cli::fixtures::hash('x'));
    let plan = plan_of(vec![composed(&desired('a'), &observed, Shown::default())]);
    assert_eq!(plan.exit_code(), 1);
    assert!(printed(&plan).contains("prod/web: drifted"), "{}", printed(&plan));
}

#[test]
fn anything_broken_is_the_exit_code_two() {
    let good = composed(&desired('a'), &observed(Some(at_rest('a'))), Shown::default());
    let refused = PlanItem { refused: "spec is immutable".into(), ..good.clone() };
    assert_eq!(plan_of(vec![good.clone(), refused]).exit_code(), 2);
    let error = Diagnostic::error("web.yaml", 3, "no such key").hint("remove it");
    let mut broken = good.clone();
    problems(&mut broken, &Wish { problem: Some(Problem { diagnostics: vec![error.clone()] }), ..Wish::default() });
    let plan = plan_of(vec![broken]);
    assert_eq!(plan.exit_code(), 2);
    assert!(printed(&plan).contains("  web.yaml:3: error: no such key\n    hint: remove it\n"), "{}", printed(&plan));
    let elsewhere = PlanObject { diagnostics: vec![error], ..plan_of(vec![good.clone()]) };
    assert_eq!(elsewhere.exit_code(), 2);
    let warned = PlanObject { diagnostics: vec![Diagnostic::warning("a.yaml", 1, "odd")], ..plan_of(vec![good]) };
    assert_eq!(warned.exit_code(), 0);
}

#[test]
fn few_pods_merge_stages_with_a_warning() {
    let mut wish = desired('b');
    wish.tip.replicas = Some(2);
    let mut live = observed(Some(at_rest('a')));
    live.set.as_mut().unwrap().replicas = 2;
    live.pods.retain(|ordinal, _| ordinal.0 < 2);
    let item = composed(&wish, &live, Shown::default());
    assert_eq!(item.warnings, ["with 2 replicas stages merge: 1 to 2 (canary+third) reach 1 pod"]);
    assert_eq!(item.stages.len(), 2);
}

#[test]
fn claims_that_would_go_are_named() {
    let mut wish = desired('a');
    (wish.tip.replicas, wish.tip.deletes_claims_when_scaled, wish.tip.rest) = (Some(4), true, "scaled".into());
    let mut live = observed(Some(at_rest('a')));
    live.set.as_mut().unwrap().claim_templates = vec!["data".into()];
    let item = composed(&wish, &live, Shown::default());
    assert_eq!(item.claims_removed, ["data-web-4", "data-web-5"]);
    assert_eq!((item.entry, item.changes), (Entry::Waits, true));
}

#[test]
fn the_json_has_stable_names() {
    let item = composed(&desired('b'), &observed(Some(at_rest('a'))), Shown::default());
    let value = serde_json::to_value(plan_of(vec![item])).unwrap();
    assert_eq!((&value["kind"], &value["apiVersion"]), (&json!("Plan"), &json!("phaseline.dev/v1alpha1")));
    assert_eq!(value["commit"]["date"], "2026-02-25T06:13:20+00:00");
    let item = &value["items"][0];
    assert_eq!(
        (&item["entry"], &item["changes"], &item["templateChanges"]),
        (&json!("Staged"), &json!(true), &json!(true))
    );
    assert_eq!(
        item["stages"][1],
        json!({"number": 2, "name": "third", "count": 3, "partition": 3, "ordinals": [3, 5], "replaced": [3, 4], "downAtMost": 1, "readySeconds": 60,
            "pause": "duration", "pauseSeconds": 600, "state": "next"})
    );
}
