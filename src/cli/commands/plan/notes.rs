//! What is worth a word beside the plan itself: pods that go alone, objects that are missing, budgets that block.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::foresee::Entry;
use crate::cli::output::plan::PlanItem;
use crate::cli::session::Session;
use crate::cluster::RequestError;
use crate::cluster::exists::{Given, disruption_budgets, exists};
use crate::manifest::{Document, ONE_STAGE, Selector, leans_on};
use crate::model::Version;

/// The most objects of one set that the cluster is asked about.
const MOST_ASKED: usize = 50;

/// The objects of a commit that matter here, by kind, namespace and name.
#[derive(Debug, Default)]
pub(super) struct Beside {
    given: BTreeSet<(String, String, String)>,
    budgets: Vec<(String, Value)>,
}

impl Beside {
    /// Sorts the documents of a commit; those without a namespace are in the default one.
    pub(super) fn of(documents: &[Document], default_namespace: &str) -> Self {
        let mut beside = Self::default();
        for document in documents {
            let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str);
            let namespace = text("/metadata/namespace").filter(|name| !name.is_empty()).unwrap_or(default_namespace);
            let own = text("/metadata/name").unwrap_or_default();
            // What makes a Secret of itself in the cluster counts as that Secret.
            let (kind, name) = match document.kind() {
                kind @ ("ConfigMap" | "Secret") => (kind, own),
                "SealedSecret" => ("Secret", text("/spec/template/metadata/name").unwrap_or(own)),
                "ExternalSecret" => ("Secret", text("/spec/target/name").unwrap_or(own)),
                "PodDisruptionBudget" => {
                    beside.budgets.push((namespace.to_owned(), document.value.clone()));
                    continue;
                }
                _ => continue,
            };
            beside.given.insert((kind.to_owned(), namespace.to_owned(), name.to_owned()));
        }
        beside
    }

    fn has(&self, given: Given, namespace: &str, name: &str) -> bool {
        self.given.contains(&(given.kind().to_owned(), namespace.to_owned(), name.to_owned()))
    }
}

/// Adds a word about a set that had a plan, `since` then, and has none.
pub(super) fn plan_removed(item: &mut PlanItem, since: &str) {
    if item.no_plan {
        item.warnings.push(format!("it had a plan {since}, and has none now: a change reaches {ONE_STAGE}"));
    }
}

/// Adds what there is to say about one workload that changes.
pub(super) fn add(item: &mut PlanItem, tip: &Version, beside: &Beside, session: Option<&Session>) {
    let template = tip.manifest.pointer("/spec/template").unwrap_or(&Value::Null);
    let installs = matches!(item.entry, Entry::Install | Entry::InstallAgain);
    let replaces = item.template_changes && !installs && !item.stages.is_empty();
    if replaces && item.replicas == 1 && tip.replicas.is_some() {
        let pod = tip.start;
        item.warnings.push(format!("a set of one pod: while {}-{pod} is replaced, nothing serves", item.name));
    }
    if item.template_changes && item.changes {
        needs(item, template, beside, session);
    }
    if replaces {
        budgets(item, template, beside, session);
    }
}

/// ConfigMaps and Secrets that the template needs and nobody has seen.
fn needs(item: &mut PlanItem, template: &Value, beside: &Beside, session: Option<&Session>) {
    let needs = leans_on::of(template);
    let maps = needs.config_maps.iter().map(|name| (Given::ConfigMap, name));
    let all = maps.chain(needs.secrets.iter().map(|name| (Given::Secret, name)));
    let mut unseen: Vec<String> = Vec::new();
    for (given, name) in all.filter(|(given, name)| !beside.has(*given, &item.namespace, name)).take(MOST_ASKED) {
        let shown = format!("{} {name}", given.kind());
        let Some(session) = session else {
            unseen.push(shown);
            continue;
        };
        match session.wait(exists(&session.cluster, given, &item.namespace, name)) {
            Ok(true) => {}
            Ok(false) => item.warnings.push(format!(
                "{shown} is neither in the repository nor in namespace {}: pods that need it do not start",
                item.namespace
            )),
            Err(RequestError::Forbidden { .. }) => unseen.push(format!("{shown} (it may not be read)")),
            Err(error) => unseen.push(format!("{shown} ({error})")),
        }
    }
    if !unseen.is_empty() {
        item.assumptions.push(format!("not in the repository, taken to be in the cluster: {}", unseen.join(", ")));
    }
}

/// Budgets that leave no room. They do not hold a rollout: a StatefulSet's own updates are no evictions.
fn budgets(item: &mut PlanItem, template: &Value, beside: &Beside, session: Option<&Session>) {
    let own = beside.budgets.iter().filter(|(namespace, _)| *namespace == item.namespace).map(|(_, budget)| budget);
    let mut all: Vec<Value> = own.cloned().collect();
    // Where they may not be read nothing is said: a rollout does not depend on them.
    if let Some(Ok(live)) = session.map(|session| session.wait(disruption_budgets(&session.cluster, &item.namespace))) {
        for budget in live {
            if !all.iter().any(|other| other.pointer("/metadata/name") == budget.pointer("/metadata/name")) {
                all.push(budget);
            }
        }
    }
    let labels = template.pointer("/metadata/labels").unwrap_or(&Value::Null);
    for budget in all.iter().filter(|budget| selects(budget, labels)) {
        let Some(rule) = leaves_no_room(budget, item.replicas) else { continue };
        let name = budget.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        item.warnings.push(format!(
            "PodDisruptionBudget {name} ({rule}, {} replicas) allows no pod to be evicted: no node of theirs can be \
             drained; the rollout itself is not held by it, as a StatefulSet replaces its pods without evictions",
            item.replicas
        ));
    }
}

/// Whether a budget is about pods with these labels; one whose selector cannot be read is about none.
fn selects(budget: &Value, labels: &Value) -> bool {
    Selector::read(budget.pointer("/spec/selector")).is_ok_and(|selector| selector.matches(labels.as_object()))
}

/// The rule by which no pod may go; none where one may. Shares are rounded up, as the disruption controller does it.
fn leaves_no_room(budget: &Value, replicas: u32) -> Option<String> {
    let spec = budget.get("spec")?;
    let count = |value: &Value| -> Option<u64> {
        match value {
            Value::String(share) => {
                let percent: u64 = share.strip_suffix('%')?.parse().ok()?;
                Some(u64::from(replicas).saturating_mul(percent).div_ceil(100))
            }
            other => other.as_u64(),
        }
    };
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(least) = spec.get("minAvailable").filter(|value| !value.is_null()) {
        return (count(least)? >= u64::from(replicas)).then(|| format!("minAvailable: {}", plain(least)));
    }
    let most = spec.get("maxUnavailable").filter(|value| !value.is_null())?;
    (count(most)? == 0).then(|| format!("maxUnavailable: {}", plain(most)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn budgets_are_counted_as_the_server_counts() {
        for (spec, blocks) in [
            (json!({"minAvailable": 3}), true),
            (json!({"minAvailable": 2}), false),
            (json!({"minAvailable": "67%"}), true),
            (json!({"minAvailable": "66%"}), false),
            (json!({"maxUnavailable": 0}), true),
            (json!({"maxUnavailable": "0%"}), true),
            (json!({"maxUnavailable": "1%"}), false),
            (json!({}), false),
        ] {
            assert_eq!(leaves_no_room(&json!({"spec": spec}), 3).is_some(), blocks, "{spec}");
        }
    }
}
