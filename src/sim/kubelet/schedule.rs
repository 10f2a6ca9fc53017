//! The scheduler: a pod goes to the one node, or waits and says for what.

use serde_json::Value;

use super::NODE;

/// What the scheduler does with a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// To the node.
    Bind,
    /// It waits, for this reason.
    Wait(String),
}

/// What a pod may wait for, as far as claims are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// There is none of that name.
    Missing,
    /// It is being deleted.
    Terminating,
    /// No volume is bound to it.
    Unbound,
    /// A volume is bound to it.
    Bound,
}

/// What becomes of a pod; none where it is none of the scheduler's business.
///
/// `blocked` is a script's word that no node will do; the messages are those of Kubernetes 1.36 with one node.
pub(crate) fn verdict(pod: &Value, blocked: bool, claim: impl Fn(&str) -> Claim) -> Option<Verdict> {
    let text = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let gated = pod.pointer("/spec/schedulingGates").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let waits = text("/spec/nodeName").is_empty() && text("/metadata/deletionTimestamp").is_empty();
    if !waits || gated || !matches!(text("/spec/schedulerName"), "" | "default-scheduler") {
        return None;
    }
    let wait = |why: &str| Some(Verdict::Wait(format!("0/1 nodes are available: {why}")));
    let claims: Vec<(&str, Claim)> = claims(pod).map(|name| (name, claim(name))).collect();
    if let Some((name, _)) = claims.iter().find(|(_, claim)| *claim == Claim::Missing) {
        return wait(&format!("persistentvolumeclaim \"{name}\" not found. not found"));
    }
    if let Some((name, _)) = claims.iter().find(|(_, claim)| *claim == Claim::Terminating) {
        return wait(&format!("persistentvolumeclaim \"{name}\" is being deleted. not found"));
    }
    if claims.iter().any(|(_, claim)| *claim == Claim::Unbound) {
        return wait("pod has unbound immediate PersistentVolumeClaims. not found");
    }
    if blocked || !fits(pod) {
        return wait(
            "1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes \
             are available: 1 Preemption is not helpful for scheduling.",
        );
    }
    Some(Verdict::Bind)
}

/// The claims that a pod uses.
pub(crate) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes.into_iter().flatten().filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str())
}

/// Whether the node's labels meet the pod's nodeSelector. Affinity is not asked: every pod may share the node.
fn fits(pod: &Value) -> bool {
    let selector = pod.pointer("/spec/nodeSelector").and_then(Value::as_object);
    selector.into_iter().flatten().all(|(label, value)| label == "kubernetes.io/hostname" && value == NODE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Claim, Verdict, verdict};

    fn pod(spec: Value) -> Value {
        json!({"metadata": {"name": "web-0"}, "spec": spec})
    }

    #[test]
    fn a_pod_goes_to_the_node_or_says_what_it_waits_for() {
        let volume = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v-web-0"}}]});
        for (spec, claim, expected) in [
            (json!({}), Claim::Bound, Ok(())),
            (json!({"nodeSelector": {"kubernetes.io/hostname": "node-0"}}), Claim::Bound, Ok(())),
            (json!({"nodeSelector": {"disk": "ssd"}}), Claim::Bound, Err("didn't match Pod's node affinity/selector")),
            (volume.clone(), Claim::Bound, Ok(())),
            (volume.clone(), Claim::Unbound, Err("pod has unbound immediate PersistentVolumeClaims")),
            (volume.clone(), Claim::Terminating, Err("persistentvolumeclaim \"v-web-0\" is being deleted")),
            (volume, Claim::Missing, Err("persistentvolumeclaim \"v-web-0\" not found")),
        ] {
            match (verdict(&pod(spec), false, |_| claim), expected) {
                (Some(Verdict::Bind), Ok(())) => {}
                (Some(Verdict::Wait(why)), Err(part)) => assert!(why.contains(part), "{why}"),
                (verdict, expected) => panic!("{verdict:?}, not {expected:?}"),
            }
        }
        let none = |spec| assert_eq!(verdict(&pod(spec), false, |_| Claim::Bound), None);
        none(json!({"nodeName": "node-0"}));
        none(json!({"schedulerName": "mine"}));
        none(json!({"schedulingGates": [{"name": "a"}]}));
        assert!(matches!(verdict(&pod(json!({})), true, |_| Claim::Bound), Some(Verdict::Wait(_))));
    }
}
