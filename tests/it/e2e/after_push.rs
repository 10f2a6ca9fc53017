//! What `status` and `plan` say in a clone, right after a push and before anybody has acted on it.

use serde_json::Value;

use super::{
    manifest::{Set, plan},
    site::Site,
};
use crate::controlplane::Version;

const ALL: &str = "{name: all, replicas: '100%'}";

/// A command in the clone; its exit status, what it printed as JSON, and its notes.
fn in_clone(site: &Site<'_>, arguments: &[&str]) -> (i32, Value, String) {
    let output = site.phaseline_in(&site.repo.work_path(), &[arguments, &["-o", "json"]].concat());
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap_or_else(|| panic!("{output:?}"));
    // A watch prints each state; the last one counts.
    let said = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let last = said.map(|value| value.unwrap_or_else(|why| panic!("{why}: {output:?}"))).last();
    (code, last.unwrap_or_else(|| panic!("{output:?}")), notes)
}

fn a_watch_never_ends_at_the_commit_before(version: Version) {
    let Some(site) = Site::shared(version, "after-push") else { return };
    let web = Set::web("web:1").replicas(2);
    let first = site.push("first", &[("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &[ALL]))]);
    site.settled(&first);
    // The daemon is away: nothing that is pushed now can be in force.
    site.kill9();
    let second = site.push("second", &[("web.yaml", &web.image("web:2").yaml())]);
    for with_repo in [true, false] {
        site.ask_git(with_repo);
        let (code, said, _) = in_clone(&site, &["status", "web", "--timeout", "1s"]);
        assert_eq!((code, &said["phase"]), (3, &"Progressing".into()), "{said:#}");
        assert_eq!((&said["awaited"]["commit"], &said["awaited"]["state"]), (&(&*second).into(), &"Coming".into()));
        let (code, said, _) = in_clone(&site, &["status", "web", "--commit", "HEAD~1"]);
        assert_eq!((code, &said["awaited"]["state"]), (if with_repo { 3 } else { 0 }, &"InForce".into()), "{said:#}");
        let (code, said, _) = in_clone(&site, &["status", "web", "--commit", "HEAD"]);
        assert_eq!((code, &said["awaited"]["state"]), (3, &"Coming".into()), "{said:#}");
    }
    site.start();
    site.ask_git(false);
    let (code, said, _) = in_clone(&site, &["status", "web", "-w", "--timeout", "90s"]);
    assert_eq!(
        (code, &said["phase"], &said["target"]["commit"]),
        (0, &"Healthy".into(), &(&*second).into()),
        "{said:#}"
    );

    // A commit that does not touch the set is there at once, also while nobody looks.
    site.kill9();
    let readme = site.push("words", &[("README.md", "words\n")]);
    for with_repo in [true, false] {
        site.ask_git(with_repo);
        let (code, said, _) = in_clone(&site, &["status", "web", "-w", "--timeout", "30s"]);
        assert_eq!((code, &said["awaited"]["state"]), (0, &"InForce".into()), "{said:#}");
        assert_eq!(said["awaited"]["commit"], *readme);
        // What was in force before has been passed.
        let (code, said, _) = in_clone(&site, &["status", "web", "--commit", &first]);
        assert_eq!((code, &said["awaited"]["state"]), (0, &"Passed".into()), "{said:#}");
        assert_eq!(said["awaited"]["by"], *second);
    }

    // What is not pushed is not waited for, and that is said.
    site.repo.write("web.yaml", web.image("web:3").yaml());
    let third = site.repo.commit("third");
    for with_repo in [true, false] {
        site.ask_git(with_repo);
        let (code, said, notes) = in_clone(&site, &["status", "web", "--timeout", "30s"]);
        assert_eq!((code, &said["awaited"]["commit"]), (0, &(&*readme).into()), "{said:#}");
        assert!(notes.contains(&format!("HEAD ({}) is not on origin/main", &third[..10])), "{notes}");
        let (code, said, _) = in_clone(&site, &["status", "web", "--commit", &third]);
        let state = if with_repo { "Unseen" } else { "Coming" };
        assert_eq!((code, &said["awaited"]["state"]), (3, &state.into()), "{said:#}");
    }
    site.ask_git(true);
    let unknown = site.phaseline_in(&site.repo.work_path(), &["status", "web", "--commit", "no-such-branch"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

fn head_and_the_work_tree_are_those_of_the_clone(version: Version) {
    let Some(site) = Site::shared(version, "in-clone") else { return };
    let web = Set::web("web:1").replicas(2);
    let first = site.push("first", &[("web.yaml", &*web.yaml()), ("rollout-plan.yaml", &*plan(&[], &[ALL]))]);
    site.settled(&first);
    site.repo.write("web.yaml", web.image("web:2").yaml());
    let second = site.repo.commit("not pushed");
    site.repo.write("web.yaml", web.image("web:3").yaml());
    site.ask_git(false);
    let origin = site.repo.origin_url();
    let planned = |arguments: &[&str]| -> Value {
        let output = site.phaseline_with(&site.repo.work_path(), &[("PHASELINE_REPO", &origin)], arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let head = planned(&["plan", "HEAD", "-o", "json"]);
    assert_eq!(head["commit"]["id"], *second, "{head:#}");
    assert_eq!((&head["items"][0]["phase"], &head["items"][0]["reason"]), (&"Healthy".into(), &"Completed".into()));
    assert_eq!(planned(&["plan", "-o", "json"])["commit"]["id"], *second);
    let files = planned(&["plan", "--worktree", "-o", "json"]);
    assert!(files["items"][0]["fields"].to_string().contains("web:3"), "{files:#}");
    // Elsewhere the environment's repository is meant.
    let output = site.phaseline_with(site.dir(), &[("PHASELINE_REPO", &origin)], &["plan", "-o", "json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

fn a_namespace_filters_and_never_invents(version: Version) {
    let Some(site) = Site::shared(version, "filter") else { return };
    // The manifest states no namespace: the daemon takes its own.
    let web = Set::named("filtered", "web:1").replicas(2);
    let first = site.push("first", &[("web.yaml", &*web.yaml())]);
    site.settled_of("filtered", &first);
    let items = |arguments: &[&str]| -> Vec<Value> {
        let output = site.phaseline_bare(arguments);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {output:?}"));
        let all = said["items"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|item| item["name"] == "filtered").collect()
    };
    let repo = site.repo.origin_url();
    for place in [&["-A"][..], &["-n", &site.ns]] {
        let found = items(&[&["status", "-o", "json", "--repo", &repo], place].concat());
        assert_eq!(found.len(), 1, "{place:?}: {found:#?}");
        assert_eq!(
            (&found[0]["namespace"], &found[0]["phase"]),
            (&(&*site.ns).into(), &"Healthy".into()),
            "{found:#?}"
        );
    }
    for place in [&[][..], &["-n", "kube-system"]] {
        let found = items(&[&["status", "-o", "json", "--repo", &repo], place].concat());
        assert!(found.is_empty(), "{place:?}: {found:#?}");
    }
    let planned = items(&["plan", "-o", "json", "--repo", &repo]);
    assert_eq!(
        (planned.len(), &planned[0]["namespace"], &planned[0]["changes"]),
        (1, &(&*site.ns).into(), &false.into())
    );
    assert!(items(&["plan", "-o", "json", "--repo", &repo, "-n", "kube-system"]).is_empty());
    // By the name that is printed.
    let output = site.phaseline_bare(&["status", &format!("{}/filtered", site.ns)]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = site.phaseline_bare(&["status", "filterde"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("did you mean {}/filtered?", site.ns)), "{said}");
}

on_both_versions![
    a_watch_never_ends_at_the_commit_before,
    head_and_the_work_tree_are_those_of_the_clone,
    a_namespace_filters_and_never_invents
];
