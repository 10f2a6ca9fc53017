//! The row of a pod: what `kubectl get pods` says about it, above all in STATUS.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::{NONE, age, or, since, text};
use super::{items, name};

/// The row of a pod.
pub(super) fn row(pod: &Value, now: Timestamp) -> Value {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let seen = Seen::of(pod);
    let mut restarts = seen.restarts.to_string();
    if seen.restarts != 0 && !seen.last_restart.is_empty() {
        restarts = format!("{restarts} ({} ago)", since(&Value::from(seen.last_restart), now));
    }
    let gates = items(&spec["readinessGates"]).count();
    let open = items(&spec["readinessGates"]).filter(|gate| is_true(status, text(&gate["conditionType"]))).count();
    let mut row = json!({"cells": [
        name(pod),
        format!("{}/{}", seen.ready, seen.containers),
        seen.reason,
        restarts,
        age(pod, now),
        or(items(&status["podIPs"]).next().map_or("", |it| text(&it["ip"])), NONE),
        or(text(&spec["nodeName"]), NONE),
        or(text(&status["nominatedNodeName"]), NONE),
        if gates == 0 { NONE.to_owned() } else { format!("{open}/{gates}") },
    ]});
    let over = match text(&status["phase"]) {
        "Succeeded" => Some("The pod has completed successfully."),
        "Failed" => Some("The pod failed."),
        _ => None,
    };
    if let Some(message) = over {
        let reason = &status["phase"];
        row["conditions"] = json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]);
    }
    row
}

fn is_true(status: &Value, kind: &str) -> bool {
    items(&status["conditions"]).any(|it| it["type"] == kind && it["status"] == "True")
}

/// What the statuses of the containers come to.
struct Seen<'a> {
    reason: String,
    ready: usize,
    containers: usize,
    restarts: i64,
    /// When a container ended last; empty: none did.
    last_restart: &'a str,
}

impl<'a> Seen<'a> {
    fn of(pod: &'a Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let side_cars = items(&spec["initContainers"]).filter(|it| it["restartPolicy"] == "Always").count();
        let mut seen = Self {
            reason: or(text(&status["reason"]), text(&status["phase"])).to_owned(),
            ready: 0,
            containers: items(&spec["containers"]).count() + side_cars,
            restarts: 0,
            last_restart: "",
        };
        let gated = |it: &Value| it["type"] == "PodScheduled" && it["reason"] == "SchedulingGated";
        if items(&status["conditions"]).any(gated) {
            seen.reason = "SchedulingGated".to_owned();
        }
        let of_side_cars = seen.starting(spec, status);
        let starting = seen.reason.starts_with("Init:");
        if !starting || is_true(status, "Initialized") {
            (seen.restarts, seen.last_restart) = of_side_cars;
            seen.running(status);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if status["reason"] == "NodeLost" {
                seen.reason = "Unknown".to_owned();
            } else if !matches!(text(&status["phase"]), "Succeeded" | "Failed") {
                seen.reason = "Terminating".to_owned();
            }
        }
        seen
    }

    fn ended(&mut self, status: &'a Value) {
        // Times of one form: the later one is the greater one.
        self.last_restart = self.last_restart.max(text(&status["lastState"]["terminated"]["finishedAt"]));
    }

    /// The init containers up to the first that is not done; restarts and last end of those that go on running.
    fn starting(&mut self, spec: &'a Value, status: &'a Value) -> (i64, &'a str) {
        let (mut restarts, mut last) = (0, "");
        let all = items(&spec["initContainers"]).count();
        for (at, one) in items(&status["initContainerStatuses"]).enumerate() {
            let count = one["restartCount"].as_i64().unwrap_or_default();
            self.restarts += count;
            self.ended(one);
            let named = items(&spec["initContainers"]).find(|it| it["name"] == one["name"]);
            let side_car = named.is_some_and(|it| it["restartPolicy"] == "Always");
            if side_car {
                restarts += count;
                last = last.max(text(&one["lastState"]["terminated"]["finishedAt"]));
            }
            let (terminated, waiting) = (&one["state"]["terminated"], text(&one["state"]["waiting"]["reason"]));
            if terminated["exitCode"] == 0 {
                continue;
            }
            if side_car && one["started"] == true {
                self.ready += usize::from(one["ready"] == true);
                continue;
            }
            self.reason = match ended_with(terminated) {
                Some(reason) => format!("Init:{reason}"),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{at}/{all}"),
            };
            break;
        }
        (restarts, last)
    }

    /// The containers, the last one first: the first one's reason is shown.
    fn running(&mut self, status: &'a Value) {
        let mut runs = false;
        for one in items(&status["containerStatuses"]).rev() {
            self.restarts += one["restartCount"].as_i64().unwrap_or_default();
            self.ended(one);
            let waiting = text(&one["state"]["waiting"]["reason"]);
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if let Some(reason) = ended_with(&one["state"]["terminated"]) {
                self.reason = reason;
            } else if one["ready"] == true && one["state"]["running"].is_object() {
                runs = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" && runs {
            self.reason = if is_true(status, "Ready") { "Running" } else { "NotReady" }.to_owned();
        }
    }
}

fn ended_with(terminated: &Value) -> Option<String> {
    if !terminated.is_object() {
        return None;
    }
    let signal = terminated["signal"].as_i64().unwrap_or_default();
    Some(match text(&terminated["reason"]) {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or_default()),
        reason => reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::row;

    fn cells(pod: &Value) -> Value {
        let now: Timestamp = "2026-11-21T04:12:08Z".parse().unwrap();
        row(pod, now)["cells"].clone()
    }

    fn pod(status: Value) -> Value {
        json!({
            "metadata": {"name": "web-0", "creationTimestamp": "2026-11-21T04:11:37Z"},
            "spec": {"nodeName": "node-0", "containers": [{"name": "c"}]}, "status": status,
        })
    }

    /// Each is the row of a 1.36.3 server.
    #[test]
    fn the_status_tells_what_is_wrong() {
        for (status, ready, reason, restarts) in [
            (json!({"phase": "Pending"}), "0/1", "Pending", "0"),
            (
                json!({"phase": "Running", "containerStatuses": [
                    {"ready": true, "restartCount": 0, "state": {"running": {}}},
                ]}),
                "1/1",
                "Running",
                "0",
            ),
            (
                json!({"phase": "Pending", "containerStatuses": [
                    {"ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}},
                ]}),
                "0/1",
                "ImagePullBackOff",
                "0",
            ),
            (
                json!({"phase": "Running", "containerStatuses": [{
                    "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-11-21T04:12:00Z"}},
                }]}),
                "0/1",
                "CrashLoopBackOff",
                "3 (8s ago)",
            ),
            (json!({"phase": "Failed", "reason": "Evicted"}), "0/1", "Evicted", "0"),
            (
                json!({"phase": "Failed", "containerStatuses": [
                    {"ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": 3}}},
                ]}),
                "0/1",
                "ExitCode:3",
                "0",
            ),
        ] {
            let shown = cells(&pod(status.clone()));
            assert_eq!(
                shown,
                json!(["web-0", ready, reason, restarts, "31s", "<none>", "node-0", "<none>", "<none>"]),
                "{status}"
            );
        }
    }

    #[test]
    fn init_containers_side_cars_gates_and_an_end_are_told() {
        let mut one = pod(json!({
            "phase": "Pending", "podIPs": [{"ip": "10.0.0.1"}],
            "conditions": [{"type": "example.com/a", "status": "True"}],
            "initContainerStatuses": [
                {"name": "side", "ready": true, "started": true, "restartCount": 2, "state": {"running": {}}},
                {"name": "load", "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}},
            ],
        }));
        one["spec"]["initContainers"] = json!([{"name": "side", "restartPolicy": "Always"}, {"name": "load"}]);
        one["spec"]["readinessGates"] = json!([{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]);
        assert_eq!(cells(&one), json!(["web-0", "1/2", "Init:1/2", "2", "31s", "10.0.0.1", "node-0", "<none>", "1/2"]));
        one["metadata"]["deletionTimestamp"] = "2026-11-21T04:12:38Z".into();
        assert_eq!(cells(&one)[2], "Terminating");
        let now: Timestamp = "2026-11-21T04:12:08Z".parse().unwrap();
        let over = row(&pod(json!({"phase": "Succeeded"})), now);
        assert_eq!(over["conditions"][0]["type"], "Completed");
    }
}
