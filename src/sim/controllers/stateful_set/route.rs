//! Which sets a change of a pod wakes.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::Value;

use crate::manifest::Selector;
use crate::sim::controllers::control::Control;
use crate::sim::controllers::meta;
use crate::sim::resource::Resource;
use crate::sim::{Compat, Version};

/// A set that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wake {
    /// The set's name; its namespace is the pod's.
    pub name: String,
    /// In how long; none: now.
    pub after: Option<SignedDuration>,
}

/// The sets that a pod's change wakes: `old` is none where it is new, `new` where it is gone.
///
/// A change of a set itself always wakes it. Mirrors `addPod`, `updatePod` and `deletePod` in `stateful_set.go`: the
/// controller of the pod is woken; of an orphan that is new, or whose labels changed, every set that selects it.
pub fn wakes(control: &dyn Control, compat: Compat, old: Option<&Value>, new: Option<&Value>) -> Vec<Wake> {
    let mut woken = Vec::new();
    let (old, new) = match (old, new) {
        // New, and going already: as good as gone.
        (None, Some(new)) if meta::terminating(new) => (Some(new), None),
        both => both,
    };
    let owner_of = |pod: Option<&Value>| pod.and_then(meta::controller_of).cloned();
    let (before, now) = (owner_of(old), owner_of(new));
    let set_of =
        |pod: Option<&Value>, owner: Option<&Value>| pod.zip(owner).and_then(|(pod, owner)| find(control, pod, owner));
    match (old, new) {
        (None, None) => {}
        (Some(old), None) => woken.extend(set_of(Some(old), before.as_ref()).map(|set| wake(&set, None))),
        (old, Some(new)) => {
            if old.is_some() && before != now {
                woken.extend(set_of(old, before.as_ref()).map(|set| wake(&set, None)));
            }
            if now.is_some() {
                let Some(set) = set_of(Some(new), now.as_ref()) else { return woken };
                woken.push(wake(&set, None));
                let seconds = set.pointer("/spec/minReadySeconds").and_then(Value::as_i64).unwrap_or(0);
                if old.is_some_and(|old| !is_ready(old)) && is_ready(new) && seconds > 0 {
                    let skew = i64::from(compat.version == Version::V1_33);
                    woken.push(wake(&set, Some(SignedDuration::from_secs(seconds.saturating_add(skew)))));
                }
            } else if old.is_none_or(|old| meta::labels(old) != meta::labels(new) || before != now) {
                woken.extend(selecting(control, new).iter().map(|set| wake(set, None)));
            }
        }
    }
    woken
}

fn wake(set: &Value, after: Option<SignedDuration>) -> Wake {
    Wake { name: meta::text(set, "name").to_owned(), after }
}

/// The set that a reference means, if it is still that one.
fn find(control: &dyn Control, pod: &Value, owner: &Value) -> Option<Arc<Value>> {
    if meta::of_owner(owner, "kind") != "StatefulSet" {
        return None;
    }
    let set = control.cached(Resource::StatefulSets, meta::text(pod, "namespace"), meta::of_owner(owner, "name"))?;
    (meta::text(&set, "uid") == meta::of_owner(owner, "uid")).then_some(set)
}

/// Every set that selects a pod; a pod without labels is selected by none, and neither does an empty selector.
///
/// Mirrors `GetPodStatefulSets` in `k8s.io/client-go`.
fn selecting(control: &dyn Control, pod: &Value) -> Vec<Arc<Value>> {
    if meta::labels(pod).is_none_or(serde_json::Map::is_empty) {
        return Vec::new();
    }
    let selects = |set: &Arc<Value>| {
        let selector = set.pointer("/spec/selector");
        selector.and_then(Value::as_object).is_some_and(|it| !it.is_empty())
            && Selector::read(selector).is_ok_and(|it| it.matches(meta::labels(pod)))
    };
    let mut sets = control.listed(Resource::StatefulSets, Some(meta::text(pod, "namespace")));
    sets.retain(selects);
    sets
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
}
