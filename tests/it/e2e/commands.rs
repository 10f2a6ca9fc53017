//! What the commands say, held against what kubectl and the audit log say.

use serde_json::Value;

use super::{
    manifest::{Set, plan},
    site::Site,
};
use crate::controlplane::Version;

const STAGES: [&str; 3] =
    ["{name: canary, replicas: 1}", "{name: half, replicas: '50%'}", "{name: all, replicas: '100%'}"];

/// Every object's resourceVersion.
fn versions(site: &Site<'_>) -> String {
    let path = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}\n{end}";
    site.kubectl(&["get", "statefulsets,pods,controllerrevisions", "-o", path])
}

fn a_plan_says_what_would_happen_and_writes_nothing(version: Version) {
    let Some(site) = Site::shared(version, "plan") else { return };
    let web = Set::web("web:1").replicas(4);
    let files = [("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &STAGES))];
    let first = site.push("first", &files);
    site.settled(&first);
    let nothing = site.phaseline(&["plan"]);
    assert_eq!(nothing.status.code(), Some(0), "{nothing:?}");

    // Nobody carries it out while we look.
    site.kill9();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let before = versions(&site);
    let pending = site.phaseline(&["plan"]);
    let text = String::from_utf8_lossy(&pending.stdout).into_owned();
    assert_eq!(pending.status.code(), Some(1), "{pending:?}");
    for word in ["web:1", "web:2", "canary", "half", "all"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(versions(&site), before, "nothing was touched");
    let commands = site.plane.audit(&site.ns).into_iter().filter(|it| it.user_agent.starts_with("phaseline-cli"));
    let writes: Vec<_> = commands.filter(|it| it.is_write()).collect();
    assert!(!writes.is_empty() && writes.iter().all(|it| it.is_dry_run()), "{writes:#?}");

    site.start();
    site.settled(&second);
    let done = site.phaseline(&["plan"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let broken = web.yaml().replace("replicas: 4", "replicas: four");
    site.push("broken", &[("web.yaml", &broken)]);
    let wrong = site.phaseline(&["plan"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let text = [wrong.stdout, wrong.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = broken.lines().position(|it| it.contains("four")).unwrap() + 1;
    assert!(text.contains(&format!("web.yaml:{line}")), "{text}");
    site.assert_guarded();
}

fn status_and_history_agree_with_kubectl(version: Version) {
    let Some(site) = Site::shared(version, "agree") else { return };
    let web = Set::web("web:1").replicas(4);
    let files = [("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &STAGES))];
    let first = site.push("first", &files);
    site.settled(&first);
    let old = site.set("web")["status"]["updateRevision"].clone();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let status = site.settled(&second);
    let set = site.plane.kubectl_json(&["-n", &site.ns, "get", "statefulset", "web"]);
    assert_eq!((&status["namespace"], &status["name"]), (&site.ns.as_str().into(), &"web".into()));
    assert_eq!(status["target"]["revision"], set["status"]["updateRevision"], "{status:#}");
    assert_eq!(status["partition"], set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
    assert_eq!(site.phaseline(&["status", "web"]).status.code(), Some(0));

    let history: Value = serde_json::from_str(&site.phaseline_ok(&["history", "web", "-o", "json"])).unwrap();
    let text = history.to_string();
    for word in [&*first, &*second, old.as_str().unwrap(), set["status"]["updateRevision"].as_str().unwrap()] {
        assert!(text.contains(word), "{word}: {history:#}");
    }
    let cause = site.kubectl(&["rollout", "history", "statefulset/web"]);
    assert!(cause.contains(&second[..7]) && cause.contains("Ada Author: second"), "{cause}");
    site.assert_guarded();
}

fn a_pod_is_traced_to_its_commit_and_its_stage(version: Version) {
    let Some(site) = Site::shared(version, "trace") else { return };
    let web = Set::web("web:1").replicas(3);
    let stages = ["{name: canary, replicas: 1, pause: {}}", "{name: all, replicas: '100%'}"];
    let first = site.push("first", &[("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &stages))]);
    site.settled(&first);
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    site.until("Paused", "StagePaused");
    let traced = |pod: &str| -> Value {
        let value: Value = serde_json::from_str(&site.phaseline_ok(&["trace", pod, "-o", "json"])).unwrap();
        assert_eq!(value["pod"], pod, "{value:#}");
        value
    };
    let label = |pod: &str| {
        let path = "jsonpath={.metadata.labels.controller-revision-hash}";
        site.kubectl(&["get", "pod", pod, "-o", path])
    };
    for (pod, state, commit) in [("web-2", "Exposed", &second), ("web-0", "Held", &first)] {
        let value = traced(pod);
        assert_eq!((&value["state"], &value["commit"]["id"]), (&state.into(), &(&**commit).into()), "{value:#}");
        assert_eq!(value["controllerRevision"], label(pod));
        let text = site.phaseline_ok(&["trace", pod]);
        for line in [
            format!("commit     {}", &commit[..10]),
            "author     Ada Author, ".into(),
            format!("pod        {}/{pod}", site.ns),
        ] {
            assert!(text.contains(&line), "{line}: {text}");
        }
        assert!(text.contains("stage 1, canary"), "{text}");
    }
    for (unknown, code) in [("web-7", 2), ("nothing-0", 2), ("web", 2)] {
        let output = site.phaseline(&["trace", unknown]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("hint: "), "{output:?}");
    }
    // Nobody's set.
    let other = site.dir().join("other.yaml");
    std::fs::write(&other, Set::named("other", "other:1").replicas(1).yaml()).unwrap();
    site.kubectl(&["apply", "-f", other.to_str().unwrap()]);
    site.until_pods(|pods| pods.iter().any(|pod| pod.name == "other-0"));
    let value = traced("other-0");
    assert_eq!((&value["state"], value.get("commit")), (&"NotManaged".into(), None), "{value:#}");
    // Without a repository it is what the cluster knows.
    site.ask_git(false);
    let output = site.phaseline_in(site.dir(), &["trace", "web-2"]);
    site.ask_git(true);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains(&format!("{second} (as the cluster says)")) && text.contains("stage 1, canary"), "{text}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no repository is named"), "{output:?}");
}

on_both_versions![
    a_plan_says_what_would_happen_and_writes_nothing,
    status_and_history_agree_with_kubectl,
    a_pod_is_traced_to_its_commit_and_its_stage
];
