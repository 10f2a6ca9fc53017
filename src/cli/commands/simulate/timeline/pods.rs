//! What a change of a pod says, in the words of `kubectl get pods`.

use serde_json::Value;

use crate::sim::{Blow, Change, Stroke};

/// Whether a pod serves: Ready, and not on its way out.
pub(super) fn is_there(pod: &Value) -> bool {
    pod.pointer("/metadata/deletionTimestamp").is_none() && is_ready(pod)
}

/// The revision that a pod runs.
pub(super) fn revision(pod: &Value) -> &str {
    pod.pointer("/metadata/labels/controller-revision-hash").and_then(Value::as_str).unwrap_or_default()
}

/// What happened to a pod, and whether that is what every pod goes through.
pub(super) fn events(change: &Change, target: &str) -> Vec<(String, bool)> {
    let now = &change.object;
    let Some(before) = &change.before else {
        let age = match target {
            // The controller has not said yet which one is new.
            "" => "",
            target if revision(now) == target => " (the new revision)",
            _ => " (an old revision)",
        };
        return vec![(format!("created at {}{age}", revision(now)), true)];
    };
    if change.gone {
        return vec![("gone".to_owned(), true)];
    }
    let mut events = Vec::new();
    let terminating = |pod: &Value| pod.pointer("/metadata/deletionTimestamp").is_some();
    if terminating(now) {
        if !terminating(before) {
            events.push(("terminating".to_owned(), true));
        }
        return events;
    }
    let (old, new) = (trouble(before), trouble(now));
    match (is_ready(before), is_ready(now)) {
        (false, true) => events.push(("Ready".to_owned(), old.is_none())),
        (true, false) if new.is_none() => events.push(("not Ready any more".to_owned(), false)),
        _ => {}
    }
    if let Some(new) = new.filter(|new| old.as_ref() != Some(new)) {
        events.push((new, false));
    }
    events
}

/// What is wrong with a pod; none where nothing is, or nothing yet.
fn trouble(pod: &Value) -> Option<String> {
    let text = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
    if text("/status/phase") == "Failed" {
        let reason = text("/status/reason");
        return Some(if reason.is_empty() { "Failed".to_owned() } else { format!("Failed ({reason})") });
    }
    if let Some(unscheduled) = condition(pod, "PodScheduled").filter(|it| it.get("status") == Some(&"False".into())) {
        return unscheduled.get("reason").and_then(Value::as_str).map(str::to_owned);
    }
    waiting(pod).find(|reason| !matches!(*reason, "ContainerCreating" | "PodInitializing")).map(str::to_owned)
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|condition| condition.get("type").is_some_and(|it| it == kind))
}

fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready.get("status").is_some_and(|it| it == "True"))
}

/// Why containers wait.
fn waiting(pod: &Value) -> impl Iterator<Item = &str> {
    let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
    statuses.into_iter().flatten().filter_map(|status| status.pointer("/state/waiting/reason")?.as_str())
}

/// Whether a stroke is about a pod of that name; of which revision it has to be, the cluster knows.
pub(super) fn is_meant(stroke: &Stroke, pod: &Value) -> bool {
    let text = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let named = match stroke.pod.strip_suffix('*') {
        Some(beginning) => text("/metadata/name").starts_with(beginning),
        None => stroke.pod == text("/metadata/name"),
    };
    named && stroke.namespace.as_deref().is_none_or(|namespace| namespace == text("/metadata/namespace"))
}

/// Whether a change of a pod shows that it was hit.
pub(super) fn shows(blow: Blow, change: &Change) -> bool {
    let pod = &change.object;
    let phase = |word: &str| pod.pointer("/status/phase").is_some_and(|phase| phase == word);
    let unready = || phase("Running") && !is_ready(pod);
    match blow {
        Blow::ImagePullBackOff => waiting(pod).any(|reason| reason == "ImagePullBackOff"),
        Blow::CrashLoop => waiting(pod).any(|reason| reason == "CrashLoopBackOff"),
        Blow::NeverReady | Blow::NotReady => unready(),
        // Between two of its falls it is Ready: the first one counts.
        Blow::Flap(_) => unready() && change.before.as_ref().is_some_and(|before| is_ready(before)),
        Blow::Failed | Blow::Evicted => phase("Failed"),
        Blow::Unschedulable => {
            condition(pod, "PodScheduled").is_some_and(|it| it.get("status").is_some_and(|status| status == "False"))
        }
        Blow::SlowStart(_) => change.before.is_none(),
        Blow::SlowTermination(_) => pod.pointer("/metadata/deletionTimestamp").is_some(),
    }
}
