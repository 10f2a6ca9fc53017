//! The scheduler and the kubelet of the one node: pods start, get Ready, break and end, by the same image tags and
//! annotations as on the control planes of the tests, or by a script.
//!
//! Each is a question about one pod, [`schedule::verdict`] and [`next`]; what they say is then done through the API.

mod fault;
pub(crate) mod schedule;
pub(crate) mod script;
mod status;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::moment;
use fault::Fault;
pub use script::{Blow, Script, Stroke, Whom};
pub(crate) use status::Step;

/// The node: there is no other.
pub(crate) const NODE: &str = "node-0";
/// How long a pod takes to end that says nothing about it.
const ENDS_AFTER: SignedDuration = SignedDuration::from_millis(100);
/// How long a broken container takes to be back.
const BACK_AFTER: SignedDuration = SignedDuration::from_millis(500);
/// How long a pod lives that fails or succeeds by itself.
const LIVES: SignedDuration = SignedDuration::from_secs(1);
/// How long a pod that flaps is unready.
const UNREADY: SignedDuration = SignedDuration::from_secs(2);

/// How fast pods are where nothing is wrong with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// From the start of the containers to Ready; zero: at once, as on the control planes of the tests.
    pub start: SignedDuration,
    /// From a pod's deletion to its end; zero: 100 ms.
    pub stop: SignedDuration,
}

/// What the kubelet does to a pod next, and after how long. Where the pod changes before that, it is asked anew.
pub(crate) fn next(pod: &Value, pace: Pace, blow: Option<Blow>, now: Timestamp) -> Option<(SignedDuration, Step)> {
    let text = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let phase = text("/status/phase");
    if !text("/metadata/deletionTimestamp").is_empty() {
        return ending(pod, phase, pace, blow, now);
    }
    if text("/spec/nodeName").is_empty() || !matches!(phase, "Pending" | "Running") {
        return None;
    }
    let soon = |step| Some((SignedDuration::ZERO, step));
    let (fault, seconds) = behaviour(pod, pace, blow);
    let gates_met = status::gates_met(pod);
    if phase == "Pending" {
        return match fault {
            Fault::None | Fault::Flap if gates_met => soon(Step::Ready),
            Fault::None | Fault::Flap => soon(Step::Gated),
            Fault::Crash => soon(Step::Crash),
            Fault::Slow | Fault::NeverReady => soon(Step::RunUnready),
            Fault::Pull if !status::has_containers(pod) => soon(Step::Pull),
            Fault::Fail => Some((LIVES, Step::Fail)),
            Fault::Succeed => Some((LIVES, Step::Succeed)),
            // An annotation means a pod that runs; a script may be earlier.
            Fault::Unready if blow.is_some() => soon(Step::RunUnready),
            Fault::Pull | Fault::Unready | Fault::Unknown => None,
        };
    }
    let ready = status::is_ready(pod);
    match fault {
        Fault::Fail => return Some((LIVES, Step::Fail)),
        Fault::Succeed => return Some((LIVES, Step::Succeed)),
        // A tag breaks a container at its start, a script also one that runs.
        Fault::Crash if blow.is_some() && !status::waits_for(pod, "CrashLoopBackOff") => {
            return soon(Step::CrashLater);
        }
        Fault::Pull if blow.is_some() && !status::waits_for(pod, "ImagePullBackOff") => return soon(Step::PullLater),
        Fault::NeverReady if blow.is_some() && ready => return soon(Step::Unready),
        _ => {}
    }
    if !status::images_agree(pod) {
        return Some((BACK_AFTER, Step::ImageRestart));
    }
    match fault {
        Fault::Slow if !ready => Some((seconds, Step::SlowReady)),
        Fault::Unready if ready => soon(Step::Unready),
        Fault::None | Fault::Flap if ready && !gates_met => soon(Step::GateLost),
        Fault::Flap if ready => Some((seconds, Step::Unready)),
        Fault::Flap => Some((UNREADY, Step::ReadyAgain)),
        Fault::None if !ready && gates_met => Some((BACK_AFTER, Step::ReadyAgain)),
        _ => None,
    }
}

/// A pod's status after a step; none where the pod is gone by it.
pub(crate) fn after(step: Step, pod: &Value, ip: &str, now: Timestamp) -> Option<Value> {
    status::after(step, pod, ip, now)
}

/// A pod that the scheduler has placed, or that it tells why it waits.
pub(crate) fn placed(pod: &Value, waits: Option<&str>, now: Timestamp) -> Value {
    let mut placed = pod.clone();
    let mut scheduled =
        json!({"lastProbeTime": null, "lastTransitionTime": moment::seconds(now), "type": "PodScheduled"});
    match waits {
        None => {
            placed["spec"]["nodeName"] = NODE.into();
            scheduled["status"] = "True".into();
        }
        Some(why) => {
            (scheduled["status"], scheduled["reason"]) = ("False".into(), "Unschedulable".into());
            scheduled["message"] = why.into();
            scheduled["observedGeneration"] = pod.pointer("/metadata/generation").cloned().unwrap_or_default();
        }
    }
    let mut conditions = pod.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    match conditions.iter_mut().find(|it| it.get("type").is_some_and(|kind| kind == "PodScheduled")) {
        Some(before) => {
            // When it began to wait does not change with what it waits for.
            if before.get("status") == scheduled.get("status") {
                scheduled["lastTransitionTime"] = before["lastTransitionTime"].take();
            }
            *before = scheduled;
        }
        None => conditions.push(scheduled),
    }
    placed["status"]["conditions"] = conditions.into();
    placed
}

/// The end of a pod that is being deleted.
fn ending(pod: &Value, phase: &str, pace: Pace, blow: Option<Blow>, now: Timestamp) -> Option<(SignedDuration, Step)> {
    let usual = if pace.stop.is_zero() { ENDS_AFTER } else { pace.stop };
    let wait = match blow {
        Some(Blow::SlowTermination(wait)) => wait,
        _ => fault::terminates_after(pod, now).unwrap_or(usual),
    };
    let held = pod.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    match (held, phase) {
        (false, _) => Some((wait, Step::Delete)),
        (true, "Running" | "Pending") => Some((wait, Step::DeleteHeld)),
        (true, _) => None,
    }
}

/// What a pod does: as the script has it, else as it says itself.
fn behaviour(pod: &Value, pace: Pace, blow: Option<Blow>) -> (Fault, SignedDuration) {
    let at_once = |fault| (fault, SignedDuration::ZERO);
    match blow {
        Some(Blow::ImagePullBackOff) => at_once(Fault::Pull),
        Some(Blow::CrashLoop) => at_once(Fault::Crash),
        Some(Blow::NeverReady) => at_once(Fault::NeverReady),
        Some(Blow::NotReady) => at_once(Fault::Unready),
        Some(Blow::Flap(wait)) => (Fault::Flap, wait),
        Some(Blow::Failed | Blow::Evicted) => at_once(Fault::Fail),
        Some(Blow::SlowStart(wait)) if !status::has_run(pod) => (Fault::Slow, wait),
        None | Some(Blow::SlowStart(_) | Blow::SlowTermination(_) | Blow::Unschedulable) => {
            let given = |word, otherwise| SignedDuration::from_secs(fault::seconds(pod, word).unwrap_or(otherwise));
            match fault::named(pod) {
                Fault::None if !pace.start.is_zero() && !status::has_run(pod) => (Fault::Slow, pace.start),
                Fault::Slow => (Fault::Slow, given("slow", 5)),
                Fault::Flap => (Fault::Flap, given("flap", 10)),
                fault => at_once(fault),
            }
        }
    }
}

#[cfg(test)]
mod tests;
