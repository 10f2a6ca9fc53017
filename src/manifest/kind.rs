//! Tells what a document is meant to be: a set, a plan, a list of them, also where its kind is misspelt.

use serde_json::Value;

use super::words::distance_of;

/// The kind of a plan.
pub(super) const PLAN_KIND: &str = "RolloutPlan";

/// The kind of a set.
pub(super) const SET_KIND: &str = "StatefulSet";

/// The group of plans.
const PLAN_GROUP: &str = "phaseline.dev";

/// The most letters that may be wrong. No kind that Kubernetes has is as near to one of ours.
const MOST_WRONG: usize = 2;

/// What a document is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A StatefulSet.
    Set,
    /// A rollout plan.
    Plan,
    /// An object that is left to others.
    Other,
}

impl Role {
    /// The kind that has this role.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Set => SET_KIND,
            Self::Plan => PLAN_KIND,
            Self::Other => "",
        }
    }
}

/// What an object of this kind is, or was most likely meant to be.
///
/// A kind that is nearly one of ours is taken for it: the object is then wrong, by name, and not silently nobody's. A
/// plan that nobody reads would let a whole set roll in one stage.
pub(super) fn role(api_version: &str, kind: &str) -> Role {
    match kind {
        SET_KIND => return Role::Set,
        PLAN_KIND => return Role::Plan,
        _ => {}
    }
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let bare = bare(kind);
    let is_near = |known: &str| distance_of(&bare, &known.to_lowercase()) <= MOST_WRONG;
    let served_with_sets = !group.contains('.') || group.ends_with(".k8s.io");
    if served_with_sets && (is_near(SET_KIND) || matches!(bare.as_str(), "sts" | "statefulsets")) {
        return Role::Set;
    }
    let whole = bare == PLAN_KIND.to_lowercase();
    if whole || is_plan_group(api_version) || served_with_sets && is_near(PLAN_KIND) {
        return if is_near(SET_KIND) { Role::Set } else { Role::Plan };
    }
    Role::Other
}

/// The list that a kind with `items` is meant to be, where it is none as it is written.
pub(super) fn misspelt_list(value: &Value) -> Option<&'static str> {
    let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let items = value.get("items").and_then(Value::as_array)?;
    if kind.ends_with("List") {
        return None;
    }
    let bare = bare(kind);
    for (list, most_wrong) in [("List", 1), ("StatefulSetList", MOST_WRONG), ("RolloutPlanList", MOST_WRONG)] {
        if distance_of(&bare, &list.to_lowercase()) <= most_wrong {
            return Some(list);
        }
    }
    let core = !api_version.contains('.') || is_plan_group(api_version);
    (core && items.iter().any(is_ours)).then_some("List")
}

/// Whether a value is an object of ours, as well as it can be told.
pub(super) fn is_ours(value: &Value) -> bool {
    let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    role(text("apiVersion"), text("kind")) != Role::Other
}

/// Whether a text mentions a plan, in whatever case and spelling of its kind.
pub(super) fn mentions_plan(text: &str) -> bool {
    let kind = PLAN_KIND.as_bytes();
    text.as_bytes().windows(kind.len()).any(|window| window.eq_ignore_ascii_case(kind))
}

/// A kind as it is compared: in lower case, without what people put between words.
fn bare(kind: &str) -> String {
    /// No kind of Kubernetes is longer.
    const MOST: usize = 63;
    let letters = kind.chars().take(MOST).filter(|letter| !matches!(letter, '-' | '_' | ' ' | '\t'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether an API version is of our group, or nearly.
fn is_plan_group(api_version: &str) -> bool {
    let group = api_version.split('/').next().unwrap_or(api_version).to_lowercase();
    group.contains("phaseline") || distance_of(&group, PLAN_GROUP) <= MOST_WRONG
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_that_is_nearly_ours_is_ours() {
        for (api_version, kind, is) in [
            ("apps/v1", "StatefulSet", Role::Set),
            ("apps/v1", "Statefulset", Role::Set),
            ("apps/v1", "statefulset", Role::Set),
            ("apps/v1", "STATEFULSET", Role::Set),
            ("apps/v1", "StatefulSets", Role::Set),
            ("apps/v1", "StatfulSet", Role::Set),
            ("apps/v1", "StatfeulSet", Role::Set),
            ("apps/v1", "Stateful-Set", Role::Set),
            ("apps/v1", "StatefulSet ", Role::Set),
            ("apps/v1", "Stateful\u{405}et", Role::Set),
            ("apps/v1", "sts", Role::Set),
            ("v1", "Statefulset", Role::Set),
            ("apps", "statefulSet", Role::Set),
            ("apps/v1beta1", "Statefulset", Role::Set),
            ("apps.k8s.io/v1", "Statefulset", Role::Set),
            ("phaseline.dev/v1alpha1", "Statefulset", Role::Set),
            ("phaseline.dev/v1alpha1", "RolloutPlan", Role::Plan),
            ("phaseline.dev/v1alpha1", "Rolloutplan", Role::Plan),
            ("phaseline.dev/v1alpha1", "RollOutPlan", Role::Plan),
            ("phaseline.dev/v1alpha1", "rollout-plan", Role::Plan),
            ("phaseline.dev/v1alpha1", "RolloutPlans", Role::Plan),
            ("phaseline.dev/v1alpha1", "Rollout", Role::Plan),
            ("phaseline.dev/v1", "Plan", Role::Plan),
            ("phasline.dev/v1alpha1", "Plan", Role::Plan),
            ("Phaseline.dev/v1alpha1", "Rollout", Role::Plan),
            ("phaseline.io/v1alpha1", "Rollout", Role::Plan),
            ("phaseline.dev", "Rollout", Role::Plan),
            ("apps/v1", "Rolloutplan", Role::Plan),
            ("v1", "RolloutPlam", Role::Plan),
            ("example.com/v1", "rolloutPlan", Role::Plan),
            ("apps.kruise.io/v1beta1", "StatefulSet", Role::Set),
            ("apps.kruise.io/v1beta1", "Statefulset", Role::Other),
            ("apps/v1", "ReplicaSet", Role::Other),
            ("apps/v1", "DaemonSet", Role::Other),
            ("apps/v1", "Deployment", Role::Other),
            ("argoproj.io/v1alpha1", "Rollout", Role::Other),
            ("rollout.kusionstack.io/v1alpha1", "RolloutRun", Role::Other),
            ("example.com/v1", "StatefulPod", Role::Other),
            ("phaseline.dev/v1alpha1", "", Role::Plan),
            ("apps/v1", "", Role::Other),
            ("", "", Role::Other),
        ] {
            assert_eq!(role(api_version, kind), is, "{api_version} {kind}");
        }
    }

    #[test]
    fn a_list_is_told_by_its_kind_or_by_its_items() {
        let of = |kind: &str, items: Value| misspelt_list(&json!({"apiVersion": "v1", "kind": kind, "items": items}));
        let set = json!([{"apiVersion": "apps/v1", "kind": "Statefulset"}]);
        assert_eq!(of("list", json!([])), Some("List"));
        assert_eq!(of("Statefulsetlist", json!([])), Some("StatefulSetList"));
        assert_eq!(of("rolloutplanlist", json!([])), Some("RolloutPlanList"));
        assert_eq!(of("Bundle", set.clone()), Some("List"));
        for kind in ["List", "StatefulSetList", "StatefulsetList", "Bundle"] {
            assert_eq!(of(kind, json!([{"apiVersion": "v1", "kind": "Service"}])), None, "{kind}");
        }
        assert_eq!(misspelt_list(&json!({"apiVersion": "x.io/v1", "kind": "Stack", "items": set})), None);
        assert_eq!(misspelt_list(&json!({"apiVersion": "v1", "kind": "list"})), None);
    }

    #[test]
    fn a_plan_is_seen_in_a_text_that_cannot_be_read() {
        assert!(mentions_plan("kind: rolloutplan\na: ["));
        assert!(!mentions_plan("kind: Rollout\n") && !mentions_plan(""));
    }
}
