//! `plan` on a control plane: what it foretells comes true, and it asks for nothing but dry runs.

use serde_json::Value;

use super::{
    manifest::{Set, plan},
    site::Site,
};
use crate::cli::plan::assert_valid;
use crate::controlplane::Version;

const STAGES: [&str; 2] = ["{name: canary, replicas: 1}", "{name: all, replicas: '100%'}"];

/// The plan of the tip, held to its schema, and the exit code.
#[track_caller]
fn planned(site: &Site<'_>, arguments: &[&str]) -> (i32, Value) {
    let output = site.phaseline(&[&["plan", "-o", "json"], arguments].concat());
    let said = || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said()));
    assert_valid(&plan);
    (output.status.code().unwrap(), plan)
}

/// Every write of the commands was a dry run.
#[track_caller]
fn assert_only_dry_runs(site: &Site<'_>) {
    let commands = site.plane.audit(&site.ns).into_iter().filter(|it| it.user_agent.starts_with("phaseline-cli"));
    let writes: Vec<_> = commands.filter(|it| it.is_write()).collect();
    assert!(!writes.is_empty() && writes.iter().all(|it| it.is_dry_run()), "{writes:#?}");
}

fn names_are_foretold_and_a_revert_goes_back_to_its_own(version: Version) {
    let Some(site) = Site::shared(version, "foretold") else { return };
    let web = Set::web("web:1").replicas(3);
    let first = site.push("first", &[("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &STAGES))]);
    site.settled(&first);
    let mut names = vec![site.set("web")["status"]["updateRevision"].clone()];
    site.kill9();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    let (code, plan) = planned(&site, &[]);
    let item = &plan["items"][0];
    assert_eq!((code, &plan["kubernetes"]), (1, &version.minor().into()));
    assert_eq!((&item["entry"], &item["number"]), (&"Staged".into(), &2.into()), "{item:#}");
    assert_eq!(item["predicted"]["revision"], item["target"]["revision"], "ours and the server's: {item:#}");
    assert_eq!(item["predicted"]["differences"].as_array().map(Vec::len), Some(0));
    assert!(item.get("returnsTo").is_none());
    // The files on disk, nobody's commit, against the same cluster.
    site.repo.write("web.yaml", web.image("web:3").yaml());
    site.ask_git(false);
    let work = site.repo.work_path();
    let (code, files) = planned(&site, &["--worktree", "--repo", work.to_str().unwrap()]);
    site.ask_git(true);
    site.repo.git(&["checkout", "-q", "."]);
    assert_eq!((code, &files["commit"]["id"], &files["state"]), (1, &"".into(), &"Cluster".into()));
    assert!(files["items"][0]["fields"].to_string().contains("web:3"), "{files:#}");
    site.start();
    site.settled(&second);
    names.push(site.set("web")["status"]["updateRevision"].clone());
    assert_eq!(item["target"]["revision"], names[1], "as it came");
    site.kill9();
    let third = site.push_revert(&second);
    let (_, plan) = planned(&site, &[]);
    let item = &plan["items"][0];
    assert_eq!((&item["returnsTo"], &item["target"]["revision"]), (&names[0], &names[0]), "{item:#}");
    assert_eq!((&item["number"], &item["repeats"]), (&3.into(), &1.into()));
    site.start();
    site.settled(&third);
    assert_eq!(site.set("web")["status"]["updateRevision"], names[0]);
    assert_only_dry_runs(&site);
}

fn what_the_server_filled_in_is_foretold_to_stay(version: Version) {
    let Some(site) = Site::shared(version, "kept") else { return };
    let web = Set::web("web").replicas(2);
    let first = site.push("no tag", &[("web.yaml", &*web.yaml())]);
    site.settled(&first);
    let policy = |set: &Value| set["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"].clone();
    assert_eq!(policy(&site.set("web")), "Always");
    site.kill9();
    let second = site.push("a tag", &[("web.yaml", &web.image("web:1.2").yaml())]);
    let (code, online) = planned(&site, &[]);
    let item = &online["items"][0];
    assert_eq!((code, item["warnings"].to_string()), (1, "[]".into()), "nobody changes it on its way in: {item:#}");
    assert_eq!(item["predicted"]["differences"], serde_json::json!([]));
    assert_eq!(item["predicted"]["revision"], item["target"]["revision"], "ours and the server's: {item:#}");
    // The same from nothing but the repository.
    let work = site.repo.work_path();
    site.ask_git(false);
    let arguments = ["HEAD~1..HEAD", "--repo", work.to_str().unwrap(), "--kubernetes", version.minor()];
    let (_, offline) = planned(&site, &arguments);
    site.ask_git(true);
    assert_eq!(offline["items"][0]["target"]["revision"], item["target"]["revision"], "{offline:#}");
    site.start();
    site.settled(&second);
    let set = site.set("web");
    assert_eq!(policy(&set), "Always", "kept, though a new set would have IfNotPresent");
    assert_eq!(item["predicted"]["revision"], set["status"]["updateRevision"], "as it came");
    assert_only_dry_runs(&site);
}

fn a_refusal_is_shown_at_its_field(version: Version) {
    let Some(site) = Site::shared(version, "refusal") else { return };
    let web = Set::web("web:1").replicas(2);
    let first = site.push("first", &[("web.yaml", &*web.yaml())]);
    site.settled(&first);
    site.kill9();
    // A fixed field: found without asking the server.
    let before = site.plane.audit(&site.ns).len();
    site.push("parallel", &[("web.yaml", &web.parallel().yaml())]);
    let (code, plan) = planned(&site, &[]);
    let item = &plan["items"][0];
    assert_eq!((code, &item["reason"]), (2, &"ImmutableField".into()), "{item:#}");
    let line = web.parallel().yaml().lines().position(|line| line.contains("Parallel")).unwrap() + 1;
    assert_eq!((&item["problems"][0]["file"], &item["problems"][0]["line"]), (&"web.yaml".into(), &line.into()));
    let asked: Vec<_> = site.plane.audit(&site.ns).into_iter().skip(before).collect();
    let commands = asked.iter().filter(|it| it.user_agent.starts_with("phaseline-cli"));
    assert_eq!(commands.filter(|it| it.is_write()).count(), 0, "it was refused before anything was sent");
    // Something that only the server knows: a field that no schema names.
    let odd = web.yaml().replace("serviceName:", "surprise: 1\n  serviceName:");
    site.push("odd", &[("web.yaml", &odd)]);
    let (code, plan) = planned(&site, &[]);
    let item = &plan["items"][0];
    assert_eq!(code, 2, "{item:#}");
    assert!(item["stages"].as_array().is_some_and(Vec::is_empty), "nothing is rolled out: {item:#}");
    let line = odd.lines().position(|line| line.contains("surprise")).unwrap() + 1;
    let places = [&item["refusals"], &item["problems"]].map(|list| list[0]["line"].clone());
    assert!(places.contains(&line.into()), "{item:#}");
    assert_only_dry_runs_or_none(&site);
}

/// As [`assert_only_dry_runs`], where it may be that none was needed.
#[track_caller]
fn assert_only_dry_runs_or_none(site: &Site<'_>) {
    let commands = site.plane.audit(&site.ns).into_iter().filter(|it| it.user_agent.starts_with("phaseline-cli"));
    assert!(commands.filter(|it| it.is_write()).all(|it| it.is_dry_run()));
}

fn what_the_template_leans_on_is_looked_for(version: Version) {
    let Some(site) = Site::shared(version, "leans") else { return };
    let web = Set::web("web:1").replicas(2);
    let first = site.push("first", &[("web.yaml", &*web.yaml())]);
    site.settled(&first);
    site.kill9();
    site.kubectl(&["create", "configmap", "here", "--from-literal=a=b"]);
    site.kubectl(&["create", "secret", "generic", "hidden", "--from-literal=a=never-shown"]);
    site.kubectl(&["create", "poddisruptionbudget", "tight", "--min-available=2", "--selector=app=web"]);
    let refers = "envFrom: [{configMapRef: {name: here}}, {configMapRef: {name: gone}}, {secretRef: {name: hidden}}, \
                  {secretRef: {name: perhaps, optional: true}}]";
    let yaml = web.image("web:2").yaml();
    let at = yaml.find("image: web:2").unwrap();
    let indent = " ".repeat(at - yaml[..at].rfind('\n').unwrap() - 1);
    let indent = indent.replace('-', " ");
    site.push("needy", &[("web.yaml", &yaml.replace("image: web:2", &format!("image: web:2\n{indent}{refers}")))]);
    let (code, plan) = planned(&site, &[]);
    let item = &plan["items"][0];
    let words = item["warnings"].to_string();
    assert_eq!(code, 1, "{item:#}");
    assert!(words.contains("ConfigMap gone is neither in the repository nor in namespace"), "{words}");
    assert!(words.contains("PodDisruptionBudget tight (minAvailable: 2, 2 replicas)"), "{words}");
    for absent in ["here", "hidden", "perhaps", "never-shown"] {
        assert!(!plan.to_string().contains(&format!("{absent} is neither")), "{absent}: {words}");
    }
    let secrets = site.plane.audit(&site.ns).into_iter().filter(|it| it.resource == "secrets" && it.verb == "get");
    assert!(secrets.filter(|it| it.user_agent.starts_with("phaseline")).all(|it| it.response.get("data").is_none()));
    assert_only_dry_runs(&site);
}

on_both_versions![
    names_are_foretold_and_a_revert_goes_back_to_its_own,
    what_the_server_filled_in_is_foretold_to_stay,
    a_refusal_is_shown_at_its_field,
    what_the_template_leans_on_is_looked_for
];
