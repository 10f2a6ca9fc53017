//! What a plan comes to at a number of replicas, in words.

use crate::model::Plan;
use crate::rollout::stage;

/// A warning where stages of a plan reach the same pods and merge; none where every stage is one of its own.
pub(crate) fn merged(plan: &Plan, replicas: u32) -> Option<String> {
    let written = plan.stages(replicas).len();
    let resolved = stage::resolve(plan, replicas);
    if resolved.len() >= written {
        return None;
    }
    if replicas <= 1 {
        return Some(format!(
            "with {replicas} replica{} there is nothing to stage: all {written} stages are one",
            plural(replicas)
        ));
    }
    let groups: Vec<String> = resolved
        .iter()
        .filter(|group| group.last > group.first)
        .map(|group| {
            let name = if group.name.is_empty() { String::new() } else { format!(" ({})", group.name) };
            format!("{} to {}{name} reach {} pod{}", group.first + 1, group.last + 1, group.count, plural(group.count))
        })
        .collect();
    Some(format!("with {replicas} replicas stages merge: {}", groups.join("; ")))
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
