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

on_both_versions![a_plan_says_what_would_happen_and_writes_nothing, status_and_history_agree_with_kubectl];
