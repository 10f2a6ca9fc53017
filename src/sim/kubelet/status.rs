//! The statuses of pods, field by field as the stages of the tests' control planes make them.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::sim::moment::seconds;

/// What the kubelet does to a pod, named as the stages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Running, Ready at once.
    Ready,
    /// Running; its readiness gates are not met.
    Gated,
    /// Running, not Ready.
    RunUnready,
    /// Ready at last.
    SlowReady,
    /// CrashLoopBackOff from the start.
    Crash,
    /// ImagePullBackOff from the start.
    Pull,
    /// Phase Failed.
    Fail,
    /// Phase Succeeded.
    Succeed,
    /// Unready, though it ran.
    Unready,
    /// Ready again.
    ReadyAgain,
    /// A readiness gate is met no more.
    GateLost,
    /// A container starts again with another image.
    ImageRestart,
    /// A container that ran crashes and is not started again.
    CrashLater,
    /// A container that ran ended, and its image cannot be pulled.
    PullLater,
    /// Deleted and held by a finalizer: its containers end.
    DeleteHeld,
    /// Deleted and gone.
    Delete,
}

/// A pod's status after a step. None where there is none left.
pub(super) fn after(step: Step, pod: &Value, ip: &str, now: Timestamp) -> Option<Value> {
    let at = seconds(now);
    let running = || json!({"running": {"startedAt": at}});
    let terminated = |code: i32, reason: &str| json!({"terminated": {"exitCode": code, "finishedAt": at, "reason": reason, "startedAt": null}});
    let waiting = |reason: &str, message: &str| json!({"waiting": {"message": message, "reason": reason}});
    let crashing = || waiting("CrashLoopBackOff", "back-off 10s restarting failed container");
    let pulling = || waiting("ImagePullBackOff", "Back-off pulling image");
    let crashed = || json!({"terminated": {"exitCode": 1, "finishedAt": at, "reason": "Error", "startedAt": at}});
    let yes = ("True", None);
    let no = |reason| ("False", Some(reason));
    let unready = no("ContainersNotReady");
    let new = |ready, started, state: Value| of_spec(pod, ready, started, 0, &json!({}), &state);
    let (phase, containers_ready, ready, containers, begins) = match step {
        Step::Ready => ("Running", yes, yes, new(true, true, running()), true),
        Step::Gated => ("Running", yes, no("ReadinessGatesNotReady"), new(true, true, running()), true),
        Step::RunUnready => ("Running", unready, unready, new(false, false, running()), true),
        Step::SlowReady => ("Running", yes, yes, new(true, true, running()), false),
        Step::Crash => ("Running", unready, unready, of_spec(pod, false, false, 1, &crashed(), &crashing()), true),
        Step::Pull => ("Pending", unready, unready, new(false, false, pulling()), true),
        Step::Fail => ("Failed", no("PodFailed"), no("PodFailed"), new(false, false, terminated(137, "Error")), true),
        Step::Succeed => {
            ("Succeeded", no("PodCompleted"), no("PodCompleted"), new(false, false, terminated(0, "Completed")), true)
        }
        Step::Unready => ("Running", unready, unready, of_status(pod, false, &running()), false),
        Step::ReadyAgain => ("Running", yes, yes, of_status(pod, true, &running()), false),
        Step::ImageRestart => ("Running", unready, unready, restarted(pod, &running()), false),
        Step::CrashLater => ("Running", unready, unready, broken(pod, &crashed(), &crashing()), false),
        Step::PullLater => ("Running", unready, unready, broken(pod, &crashed(), &pulling()), false),
        Step::DeleteHeld => {
            let ended = ended(pod, &terminated(0, "Completed"));
            ("Succeeded", no("PodCompleted"), no("PodCompleted"), ended, false)
        }
        Step::GateLost => {
            let mut status = status_of(pod);
            let lost = condition("Ready", no("ReadinessGatesNotReady"), &at);
            status.insert("conditions".into(), merged(conditions(pod), vec![lost]));
            return Some(Value::Object(status));
        }
        Step::Delete => return None,
    };
    let mut status = status_of(pod);
    status.insert("phase".into(), phase.into());
    if step == Step::Fail {
        status.insert("reason".into(), "Evicted".into());
        status.insert("message".into(), "The node was low on resource".into());
    }
    let told = vec![
        condition("Initialized", yes, &at),
        condition("ContainersReady", containers_ready, &at),
        condition("Ready", ready, &at),
    ];
    status.insert("conditions".into(), merged(conditions(pod), told));
    status.insert("containerStatuses".into(), containers.into());
    if begins {
        status.entry("podIP").or_insert_with(|| ip.into());
        status.entry("podIPs").or_insert_with(|| json!([{"ip": ip}]));
        status.entry("startTime").or_insert_with(|| at.clone().into());
    }
    Some(Value::Object(status))
}

/// Whether every readiness gate's condition is True.
pub(super) fn gates_met(pod: &Value) -> bool {
    let gates = pod.pointer("/spec/readinessGates").and_then(Value::as_array);
    gates.into_iter().flatten().filter_map(|gate| gate.get("conditionType")?.as_str()).all(|gate| holds(pod, gate))
}

/// Whether a pod is Ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    holds(pod, "Ready")
}

/// Whether the statuses name the images of the spec, in order.
pub(super) fn images_agree(pod: &Value) -> bool {
    let images = |list: &'static str| {
        pod.pointer(list).and_then(Value::as_array).into_iter().flatten().map(|container| container.get("image"))
    };
    images("/spec/containers").eq(images("/status/containerStatuses"))
}

/// Whether it has statuses of containers.
pub(super) fn has_containers(pod: &Value) -> bool {
    containers(pod).next().is_some()
}

/// Whether its containers were started once and got through it.
pub(super) fn has_run(pod: &Value) -> bool {
    containers(pod).any(|container| container.get("started") == Some(&Value::Bool(true)))
}

/// Whether a container waits for that reason.
pub(super) fn waits_for(pod: &Value, reason: &str) -> bool {
    containers(pod).any(|container| container.pointer("/state/waiting/reason").is_some_and(|it| it == reason))
}

fn holds(pod: &Value, kind: &str) -> bool {
    conditions(pod).iter().any(|it| {
        it.get("type").and_then(Value::as_str) == Some(kind) && it.get("status").and_then(Value::as_str) == Some("True")
    })
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.pointer("/status/containerStatuses").and_then(Value::as_array).into_iter().flatten()
}

fn conditions(pod: &Value) -> &[Value] {
    pod.pointer("/status/conditions").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn status_of(pod: &Value) -> Map<String, Value> {
    pod.get("status").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// A condition as it is told: what it does not name stays as it was.
pub(super) fn condition(kind: &str, (holds, reason): (&str, Option<&str>), at: &str) -> Value {
    let mut condition = json!({"type": kind, "status": holds, "lastTransitionTime": at});
    if let Some(reason) = reason {
        condition["reason"] = reason.into();
    }
    condition
}

/// Conditions with others merged into them by type, in the order in which a strategic merge leaves them: what is told
/// keeps its order, what is not told stands where it stood among those that were there.
pub(super) fn merged(there: &[Value], told: Vec<Value>) -> Value {
    let kind = |it: &Value| it.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let place = |it: &Value| there.iter().position(|other| kind(other) == kind(it));
    let kept: Vec<&Value> = there.iter().filter(|it| !told.iter().any(|other| kind(other) == kind(it))).collect();
    let mut kept = kept.into_iter().peekable();
    let mut list = Vec::with_capacity(there.len() + told.len());
    for condition in told {
        while let Some(other) = kept.peek() {
            match (place(&condition), place(other)) {
                (Some(own), Some(others)) if others < own => list.extend(kept.next().cloned()),
                _ => break,
            }
        }
        let mut whole = place(&condition)
            .and_then(|at| there.get(at)?.as_object().cloned())
            .unwrap_or_else(|| Map::from_iter([("lastProbeTime".to_owned(), Value::Null)]));
        whole.extend(condition.as_object().cloned().unwrap_or_default());
        list.push(Value::Object(whole));
    }
    list.extend(kept.cloned());
    Value::Array(list)
}

/// The statuses of the containers of the spec.
fn of_spec(pod: &Value, ready: bool, started: bool, restarts: u32, last: &Value, state: &Value) -> Vec<Value> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let status = |container: &Value| {
        json!({
            "name": container.get("name"),
            "image": container.get("image"),
            "imageID": image_id(container),
            "lastState": last,
            "ready": ready,
            "started": started,
            "restartCount": restarts,
            "state": state,
        })
    };
    containers.into_iter().flatten().map(status).collect()
}

/// The statuses there are, with readiness and state anew.
fn of_status(pod: &Value, ready: bool, state: &Value) -> Vec<Value> {
    let status = |container: &Value| {
        json!({
            "name": container.get("name"),
            "image": container.get("image"),
            "imageID": container.get("imageID"),
            "lastState": {},
            "ready": ready,
            "started": true,
            "restartCount": container.get("restartCount"),
            "state": state,
        })
    };
    containers(pod).map(status).collect()
}

/// The statuses there are, after the end of each container and without a start after it.
fn broken(pod: &Value, last: &Value, state: &Value) -> Vec<Value> {
    let status = |container: &Value| {
        let mut status = container.clone();
        status["lastState"] = last.clone();
        status["state"] = state.clone();
        (status["ready"], status["started"]) = (false.into(), false.into());
        status["restartCount"] = (restarts(container) + 1).into();
        status
    };
    containers(pod).map(status).collect()
}

/// The statuses of containers that ended for good.
fn ended(pod: &Value, state: &Value) -> Vec<Value> {
    let status = |container: &Value| {
        json!({
            "name": container.get("name"),
            "image": container.get("image"),
            "imageID": "",
            "lastState": {},
            "ready": false,
            "restartCount": container.get("restartCount"),
            "state": state,
        })
    };
    containers(pod).map(status).collect()
}

/// The statuses after those containers started again whose image is another.
fn restarted(pod: &Value, state: &Value) -> Vec<Value> {
    let specs = pod.pointer("/spec/containers").and_then(Value::as_array);
    let status = |(at, spec): (usize, &Value)| {
        let before = containers(pod).nth(at);
        let same = before.is_some_and(|before| before.get("image") == spec.get("image"));
        let ready = same && before.is_some_and(|before| before.get("ready") == Some(&Value::Bool(true)));
        let count = before.map_or(0, restarts) + i64::from(!same && before.is_some());
        json!({
            "name": spec.get("name"),
            "image": spec.get("image"),
            "imageID": image_id(spec),
            "lastState": {},
            "ready": ready,
            "started": true,
            "restartCount": count,
            "state": if same { json!({}) } else { state.clone() },
        })
    };
    specs.into_iter().flatten().enumerate().map(status).collect()
}

fn restarts(container: &Value) -> i64 {
    container.get("restartCount").and_then(Value::as_i64).unwrap_or_default()
}

/// `sha256:` and the image's name in hexadecimal: another image, another id.
fn image_id(container: &Value) -> String {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    image.bytes().fold("sha256:".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}
