//! What the kubelet does to pods of each fault, step by step.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Blow, Pace, Step, after, next};

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn pod(image: &str) -> Value {
    json!({
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u"},
        "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": image}]},
        "status": {
            "phase": "Pending",
            "qosClass": "BestEffort",
            "conditions": [{
                "lastProbeTime": null, "lastTransitionTime": "2027-01-15T08:00:00Z", "status": "True",
                "type": "PodScheduled"
            }]
        }
    })
}

/// What happens to a pod in its first seconds: milliseconds and step.
fn life(pod: &mut Value, pace: Pace, blow: Option<Blow>, seconds: i64) -> Vec<(i64, Step)> {
    let (mut now, mut steps) = (start(), Vec::new());
    let end = now + SignedDuration::from_secs(seconds);
    while let Some((wait, step)) = next(pod, pace, blow, now) {
        now += wait;
        if now > end {
            break;
        }
        steps.push(((now.duration_since(start())).as_millis() as i64, step));
        match after(step, pod, "10.0.0.1", now) {
            Some(status) => pod["status"] = status,
            None => break,
        }
    }
    steps
}

fn conditions(pod: &Value) -> Vec<(String, String, String)> {
    let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
    let list = pod["status"]["conditions"].as_array().unwrap();
    list.iter().map(|it| (text(it, "type"), text(it, "status"), text(it, "reason"))).collect()
}

#[test]
fn each_image_tag_has_its_life() {
    for (image, expected) in [
        ("app:1", vec![(0, Step::Ready)]),
        ("app:slow-3", vec![(0, Step::RunUnready), (3000, Step::SlowReady)]),
        ("app:slow", vec![(0, Step::RunUnready), (5000, Step::SlowReady)]),
        ("app:never-ready-v2", vec![(0, Step::RunUnready)]),
        ("app:crash", vec![(0, Step::Crash)]),
        ("app:pull-1", vec![(0, Step::Pull)]),
        ("app:fail", vec![(1000, Step::Fail)]),
        ("app:succeed", vec![(1000, Step::Succeed)]),
        ("app:flap-3", vec![(0, Step::Ready), (3000, Step::Unready), (5000, Step::ReadyAgain), (8000, Step::Unready)]),
    ] {
        assert_eq!(life(&mut pod(image), Pace::default(), None, 9), expected, "{image}");
    }
}

#[test]
fn a_ready_pod_says_what_a_real_one_says() {
    let mut pod = pod("app:1");
    life(&mut pod, Pace::default(), None, 1);
    // As kwok leaves it on a real control plane: the conditions that it tells stand first, in its order.
    let at = "2027-01-15T08:00:00Z";
    let condition =
        |kind: &str| json!({"lastProbeTime": null, "lastTransitionTime": at, "status": "True", "type": kind});
    let conditions: Vec<Value> =
        ["Initialized", "ContainersReady", "Ready", "PodScheduled"].into_iter().map(condition).collect();
    let expected = json!({
        "conditions": conditions,
        "containerStatuses": [{
            "image": "app:1", "imageID": "sha256:6170703a31", "lastState": {}, "name": "c", "ready": true,
            "restartCount": 0, "started": true, "state": {"running": {"startedAt": at}}
        }],
        "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "qosClass": "BestEffort",
        "startTime": at
    });
    assert_eq!(pod["status"], expected);
}

#[test]
fn a_reason_that_is_not_told_again_stays() {
    let mut pod = pod("app:slow-3");
    life(&mut pod, Pace::default(), None, 4);
    let told = conditions(&pod);
    let there = |kind: &str, reason: &str| (kind.to_owned(), "True".to_owned(), reason.to_owned());
    let stays = "ContainersNotReady";
    let expected =
        [there("Initialized", ""), there("ContainersReady", stays), there("Ready", stays), there("PodScheduled", "")];
    assert_eq!(told, expected);
}

#[test]
fn another_image_restarts_a_container() {
    let mut pod = pod("app:1");
    life(&mut pod, Pace::default(), None, 1);
    pod["spec"]["containers"][0]["image"] = "app:2".into();
    let steps = life(&mut pod, Pace::default(), None, 5);
    assert_eq!(steps, [(500, Step::ImageRestart), (1000, Step::ReadyAgain)]);
    let container = &pod["status"]["containerStatuses"][0];
    assert_eq!((&container["restartCount"], &container["imageID"]), (&json!(1), &json!("sha256:6170703a32")));
}

#[test]
fn readiness_gates_are_kept_to() {
    let mut pod = pod("app:1");
    pod["spec"]["readinessGates"] = json!([{"conditionType": "a.b/c"}]);
    assert_eq!(life(&mut pod, Pace::default(), None, 5), [(0, Step::Gated)]);
    let gate = json!({"type": "a.b/c", "status": "True", "lastProbeTime": null, "lastTransitionTime": null});
    pod["status"]["conditions"].as_array_mut().unwrap().insert(0, gate);
    assert_eq!(life(&mut pod, Pace::default(), None, 5), [(500, Step::ReadyAgain)]);
    let kinds: Vec<String> = conditions(&pod).into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["a.b/c", "Initialized", "ContainersReady", "Ready", "PodScheduled"]);
    pod["status"]["conditions"][0]["status"] = "False".into();
    assert_eq!(life(&mut pod, Pace::default(), None, 5), [(0, Step::GateLost)]);
    assert_eq!(conditions(&pod)[3], ("Ready".into(), "False".into(), "ReadinessGatesNotReady".into()));
}

#[test]
fn a_deleted_pod_ends_when_it_says() {
    let mut pod = pod("app:1");
    life(&mut pod, Pace::default(), None, 1);
    pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:30Z".into();
    assert_eq!(life(&mut pod.clone(), Pace::default(), None, 9), [(100, Step::Delete)]);
    let slow = Some(Blow::SlowTermination(SignedDuration::from_secs(7)));
    assert_eq!(life(&mut pod.clone(), Pace::default(), slow, 9), [(7000, Step::Delete)]);
    pod["metadata"]["annotations"] = json!({"terminate-after.phaseline.dev": "2s"});
    assert_eq!(life(&mut pod.clone(), Pace::default(), None, 9), [(2000, Step::Delete)]);
    pod["metadata"]["finalizers"] = json!(["a.b/c"]);
    assert_eq!(life(&mut pod, Pace::default(), None, 9), [(2000, Step::DeleteHeld)]);
    assert_eq!(pod["status"]["phase"], "Succeeded");
    let container = &pod["status"]["containerStatuses"][0];
    assert_eq!((&container["imageID"], &container["state"]["terminated"]["reason"]), (&json!(""), &json!("Completed")));
}

#[test]
fn a_script_also_breaks_what_runs() {
    let secs = SignedDuration::from_secs;
    for (blow, expected) in [
        (Blow::CrashLoop, vec![(0, Step::CrashLater)]),
        (Blow::ImagePullBackOff, vec![(0, Step::PullLater)]),
        (Blow::NeverReady, vec![(0, Step::Unready)]),
        (Blow::NotReady, vec![(0, Step::Unready)]),
        (Blow::Flap(secs(4)), vec![(4000, Step::Unready), (6000, Step::ReadyAgain)]),
        (Blow::Failed, vec![(1000, Step::Fail)]),
        (Blow::Evicted, vec![(1000, Step::Fail)]),
        (Blow::SlowStart(secs(4)), vec![]),
        (Blow::Unschedulable, vec![]),
    ] {
        let mut pod = pod("app:1");
        life(&mut pod, Pace::default(), None, 1);
        assert_eq!(life(&mut pod, Pace::default(), Some(blow), 9), expected, "{blow}");
        // When it is over, the pod gets well by itself, if it still lives.
        let lives = pod["status"]["phase"] == "Running";
        life(&mut pod, Pace::default(), None, 9);
        assert_eq!(conditions(&pod)[2].1 == "True", lives, "{blow}");
    }
    let mut fresh = pod("app:1");
    let steps = life(&mut fresh, Pace::default(), Some(Blow::SlowStart(secs(4))), 9);
    assert_eq!(steps, [(0, Step::RunUnready), (4000, Step::SlowReady)]);
}

#[test]
fn where_starting_takes_time_every_pod_takes_it() {
    let pace = Pace { start: SignedDuration::from_secs(12), stop: SignedDuration::from_secs(3) };
    let mut pod = pod("app:1");
    assert_eq!(life(&mut pod, pace, None, 60), [(0, Step::RunUnready), (12_000, Step::SlowReady)]);
    pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:30Z".into();
    assert_eq!(life(&mut pod, pace, None, 60), [(3000, Step::Delete)]);
}
