//! `pre-receive` with the real program: what is pushed is refused with file, line and hint, or let in with its plan.

use std::path::Path;
use std::process::Output;

use super::{GOOD, Site, WRONG, assert_plain, broken, err, hostile_names, named};
use crate::support::http::Server;

/// A site whose origin has the hooks and, on `main`, one set.
fn site() -> Site {
    let site = Site::new();
    site.hooks_ok(&["install", "origin.git"]);
    site.repo.commit_file("web/web.yaml", GOOD);
    let pushed = site.push(&["main"]);
    assert!(pushed.status.success(), "{}", err(&pushed));
    assert!(err(&pushed).contains("web: created"), "{}", err(&pushed));
    site
}

impl Site {
    /// Pushes what has to be refused; what was said. Nothing of it reaches the origin.
    #[track_caller]
    fn refused(&self, args: &[&str]) -> String {
        let before = self.references();
        let output = self.push(args);
        let said = err(&output);
        assert!(!output.status.success(), "let in: {said}");
        assert!(said.contains("pre-receive hook declined") && said.contains("refused as a whole"), "{said}");
        assert_eq!(self.references(), before);
        assert_plain(&said);
        said
    }

    #[track_caller]
    fn accepted(&self, args: &[&str]) -> String {
        let output: Output = self.push(args);
        assert!(output.status.success(), "{}", err(&output));
        assert_plain(&err(&output));
        err(&output)
    }

    fn references(&self) -> String {
        self.repo.git_in(&self.repo.origin_path(), &["for-each-ref"])
    }
}

#[test]
fn a_broken_manifest_is_refused_with_file_line_and_hint() {
    let site = site();
    site.repo.commit_file("web/web.yaml", &broken());
    let said = site.refused(&["main"]);
    for words in [
        "phaseline: main: refused:",
        &format!("web/web.yaml:{WRONG}"),
        "hint: `kubectl explain statefulset.spec.replicas`",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // On a new branch, by force, under two names at once, and in a pack of its own.
    site.refused(&["HEAD:refs/heads/new"]);
    site.refused(&["--force", "main"]);
    site.refused(&["HEAD~1:refs/heads/good", "HEAD:refs/heads/bad"]);
    site.server(&["receive.unpackLimit", "1"]);
    assert!(site.refused(&["main"]).contains(WRONG));
    // What lies on the way to the tip is nobody's business.
    site.repo.commit_file("web/web.yaml", &GOOD.replace("nginx:1.27", "nginx:1.28"));
    let said = site.accepted(&["main"]);
    for words in [
        "would be rolled out so:",
        "nginx:1.27",
        "nginx:1.28",
        "1 of 1 workloads would change",
        "offline: the live state is unknown",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(site.at_origin("main"), Some(site.repo.head()));
}

#[test]
fn a_wrong_plan_is_refused_as_a_wrong_manifest_is() {
    let site = site();
    let plan = include_str!("../../../examples/web/rollout-plan.yaml");
    site.repo
        .commit_file("web/rollout-plan.yaml", &plan.replace("replicas: 1\n", "replicas: 1\n      minReadySecs: 5\n"));
    let said = site.refused(&["main"]);
    assert!(said.contains("web/rollout-plan.yaml:") && said.contains("minReadySecs"), "{said}");
    site.repo.commit_file("web/rollout-plan.yaml", &plan.replace("kind: RolloutPlan", "kind: Rolloutplan"));
    let said = site.refused(&["main"]);
    assert!(said.contains("did you mean `kind: RolloutPlan`?"), "{said}");
    site.repo.commit_file("web/rollout-plan.yaml", plan);
    assert!(site.accepted(&["main"]).contains("nothing would be rolled out"));
    // A plan that goes is let in, and said aloud.
    site.repo.remove("web/rollout-plan.yaml");
    site.repo.commit("without the plan");
    let said = site.accepted(&["main"]);
    for words in ["has no plan any more", "no plan: all pods in one stage: default/web"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_plan_has_the_namespace_of_the_set_beside_it() {
    let site = site();
    let plan = include_str!("../../../examples/web/rollout-plan.yaml");
    assert!(!plan.contains("namespace"));
    let in_data = |name: &str| named(name, GOOD).replacen("metadata:", "metadata:\n  namespace: data", 1);
    site.repo.write("data/rollout-plan.yaml", plan.replace("name: web", "name: shop"));
    site.repo.commit_file("data/shop.yaml", &in_data("shop"));
    let said = site.accepted(&["main"]);
    assert!(said.contains("data/shop") && !said.contains("one stage: data/shop"), "{said}");
    site.repo.commit_file("data/shop.yaml", &in_data("shop").replace("nginx:1.27", "nginx:1.28"));
    let said = site.accepted(&["main"]);
    assert!(said.contains("data/shop: a staged rollout") && said.contains("1 canary"), "{said}");
    // One that finds none is refused where a set would have lost it.
    site.repo.commit_file("data/rollout-plan.yaml", &plan.replace("name: web", "name: shpo"));
    let said = site.refused(&["main"]);
    assert!(said.contains("did you mean `workloadRef: {name: shop}`?"), "{said}");
}

#[test]
fn a_field_that_cannot_be_changed_is_refused_against_what_is_there() {
    let site = site();
    let first = site.repo.head();
    let grown = GOOD.replace("storage: 1Gi", "storage: 2Gi");
    site.repo.commit_file("web/web.yaml", &grown);
    let bad = site.repo.commit_file("notes.txt", "further commits hide nothing");
    for args in [&["main"][..], &["--force", "main"], &["HEAD:refs/heads/new"]] {
        let said = site.refused(args);
        for words in ["web/web.yaml:40:", "volumeClaimTemplates", "1Gi", "2Gi", "cannot be changed"] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    // Rewritten history with nothing in common: still what is there counts.
    site.repo.git(&["checkout", "-q", "--orphan", "other"]);
    site.repo.commit("from scratch");
    assert!(site.refused(&["--force", "HEAD:main"]).contains("volumeClaimTemplates"));
    // What was never deployed may change on the way to the first push.
    site.repo.git_in(site.repo.folder(), &["init", "-q", "--bare", "-b", "main", "fresh.git"]);
    site.hooks_ok(&["install", "fresh.git"]);
    let fresh = site.repo.run(&site.repo.work_path(), &["push", "../fresh.git", "main"]);
    assert!(fresh.status.success() && err(&fresh).contains("web: created"), "{}", err(&fresh));
    // A set that is not there yet may ask for what it likes; and on a branch that has it so, it is so.
    site.repo.git(&["checkout", "-q", "main"]);
    site.repo.revert(&format!("{bad}~1"));
    site.repo.commit_file("more.yaml", &named("more", &grown));
    site.accepted(&["main"]);
    assert!(site.repo.git(&["merge-base", "main", &first]) == first);
}

#[test]
fn other_references_and_what_goes_are_let_through() {
    let site = site();
    site.accepted(&["HEAD:refs/heads/side"]);
    site.repo.commit_file("web/web.yaml", &broken());
    site.repo.git(&["tag", "v1"]);
    site.repo.git(&["tag", "-a", "-m", "x", "v2"]);
    site.accepted(&["v1", "v2", "HEAD:refs/for/review"]);
    site.accepted(&["--delete", "side"]);
    assert_eq!(site.at_origin("refs/heads/side"), None);
    site.refused(&["--atomic", "main", ":refs/tags/v1"]);
    // An empty repository again, and a first push with nothing to compare with.
    site.server(&["receive.denyDeleteCurrent", "ignore"]);
    site.accepted(&["--delete", "main"]);
    assert!(site.refused(&["main"]).contains(WRONG));
    site.repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert!(site.accepted(&["main"]).contains("web: created"));
}

#[test]
fn hostile_file_names_are_data() {
    let site = site();
    for (number, name) in hostile_names().iter().enumerate() {
        site.repo.write(Path::new(name), named(&format!("set{number}"), GOOD));
    }
    site.repo.commit("good");
    let said = site.push(&["main"]);
    assert_plain(&err(&said));
    // A name that is not UTF-8 may be refused, by its name.
    if !said.status.success() {
        assert!(err(&said).contains("UTF-8") && !err(&said).contains("set0"), "{}", err(&said));
        site.repo.git(&["rm", "-q", "--", "*utf8.yaml"]);
        site.repo.commit("without it");
        site.accepted(&["main"]);
    }
    for name in hostile_names() {
        let number = site.repo.git(&["rev-list", "--count", "HEAD"]);
        site.repo.write(Path::new(&name), named(&format!("again{number}"), &broken()));
        site.repo.commit("bad");
        let said = site.refused(&["main"]);
        assert!(said.contains(WRONG) || said.contains("UTF-8"), "{name:?}: {said}");
        let known: String = name.to_string_lossy().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        let shown: String = said.chars().filter(char::is_ascii_alphanumeric).collect();
        assert!(shown.contains(known.trim_end_matches("yaml")), "{name:?}: {said}");
        site.repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    for folder in [site.repo.origin_path(), site.repo.work_path()] {
        assert!(!folder.join("x").exists());
    }
}

#[test]
fn the_servers_settings_hold() {
    let site = site();
    // Only what lies below the path.
    site.server(&["phaseline.path", "deploy"]);
    site.repo.commit_file("elsewhere/web.yaml", &named("elsewhere", &broken()));
    site.repo.commit_file("deploy/web.yaml", &named("here", GOOD));
    site.accepted(&["main"]);
    site.repo.commit_file("deploy/web.yaml", &named("here", &broken()));
    assert!(site.refused(&["main"]).contains(&format!("deploy/web.yaml:{WRONG}")));
    // Only a branch that is deployed.
    site.server(&["phaseline.branch", "prod"]);
    let said = site.accepted(&["main"]);
    assert!(said.contains("main: warning") && said.contains(WRONG), "{said}");
    assert!(site.refused(&["main:refs/heads/prod"]).contains(WRONG));
    site.server(&["--unset", "phaseline.branch"]);
    // The namespace of what states none, and the server's version.
    site.server(&["phaseline.namespace", "shop"]);
    site.server(&["phaseline.kubernetes", "1.33"]);
    site.repo.commit_file("deploy/web.yaml", &named("here", &GOOD.replace("nginx:1.27", "nginx:1.28")));
    assert!(site.accepted(&["main"]).contains("shop/here"));
    site.repo.commit_file("a.txt", "1");
    site.server(&["phaseline.kubernetes", "1.12"]);
    assert!(site.refused(&["main"]).contains("1.33"));
}

#[test]
fn however_it_is_pushed() {
    let site = site();
    site.repo.commit_file("web/web.yaml", &broken());
    // Over HTTP.
    site.server(&["http.receivepack", "true"]);
    let server = Server::start(site.repo.folder());
    let over = |rev: &str| site.repo.run(&site.repo.work_path(), &["push", &server.url("origin.git"), rev]);
    let said = over("HEAD:main");
    assert!(!said.status.success() && err(&said).contains(&format!("remote: web/web.yaml:{WRONG}")), "{}", err(&said));
    let said = over("HEAD~1:refs/heads/over-http");
    assert!(said.status.success(), "{}", err(&said));

    // Into a repository that borrows its objects, and into a work tree.
    site.repo.git_in(site.repo.folder(), &["clone", "-q", "--bare", "--shared", "origin.git", "fork.git"]);
    site.repo.git_in(site.repo.folder(), &["clone", "-q", "origin.git", "tree"]);
    site.repo.git_in(&site.repo.folder().join("tree"), &["config", "receive.denyCurrentBranch", "updateInstead"]);
    site.hooks_ok(&["install", "fork.git"]);
    site.hooks_ok(&["install", "tree", "--hook", "pre-receive"]);
    for place in ["../fork.git", "../tree"] {
        let said = site.repo.run(&site.repo.work_path(), &["push", place, "HEAD:main"]);
        assert!(!said.status.success() && err(&said).contains(WRONG), "{place}: {}", err(&said));
    }
    site.repo.commit_file("web/web.yaml", &GOOD.replace("nginx:1.27", "nginx:1.28"));
    for place in ["../fork.git", "../tree"] {
        let said = site.repo.run(&site.repo.work_path(), &["push", place, "HEAD:main"]);
        assert!(said.status.success() && err(&said).contains("nginx:1.28"), "{place}: {}", err(&said));
    }
    assert!(site.repo.folder().join("tree/web/web.yaml").exists());
}

#[test]
fn the_examples_are_let_in() {
    let site = site();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for folder in ["cache", "quorum", "web"] {
        for file in std::fs::read_dir(examples.join(folder)).unwrap() {
            let file = file.unwrap().path();
            site.repo.write(file.strip_prefix(&examples).unwrap(), std::fs::read(&file).unwrap());
        }
    }
    site.repo.commit("the examples");
    let said = site.accepted(&["main"]);
    assert!(said.contains("0 errors, 0 warnings") && said.contains("cache") && said.contains("etcd"), "{said}");
}

#[test]
fn of_many_sets_each_has_a_line_and_then_come_the_details_that_fit() {
    let site = site();
    let plan = include_str!("../../../examples/web/rollout-plan.yaml");
    let name = |number: usize| format!("set{number:02}");
    for number in 0..60 {
        site.repo.write(format!("{0}/{0}.yaml", name(number)), named(&name(number), GOOD));
        let plan = plan.replace("name: web", &format!("name: {}", name(number)));
        site.repo.write(format!("{}/rollout-plan.yaml", name(number)), plan);
    }
    site.repo.commit("many");
    let said = site.accepted(&["main"]);
    for words in ["and 20 more", "60 of 61 workloads would change", "the details of 58 sets: phaseline plan"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(said.lines().count() < 90, "{said}");
    // One of them: its line, and all there is to say.
    site.repo.commit_file("set57/set57.yaml", &named("set57", &GOOD.replace("nginx:1.27", "nginx:1.28")));
    let said = site.accepted(&["main"]);
    for words in [
        "default/set57   a staged rollout",
        "1, 3 pods",
        "nginx:1.28",
        "and 55 more",
        "1 of 61 workloads would change",
        "1 canary",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Ten of them, as in an incident: ten lines.
    for number in 0..10 {
        site.repo.write(
            format!("{0}/{0}.yaml", name(number)),
            named(&name(number), &GOOD.replace("nginx:1.27", "nginx:1.29")),
        );
    }
    site.repo.commit("ten");
    let said = site.accepted(&["main"]);
    let rows = said
        .lines()
        .filter(|line| line.contains("a staged rollout") && line.contains(" -> ") && line.contains("1, 3 pods"));
    assert_eq!(rows.count(), 10, "{said}");
    assert!(said.find("offline: the live state is unknown").unwrap() < said.find("SET ").unwrap(), "{said}");
    assert!(said.lines().count() < 90 && said.contains("10 of 61 workloads would change"), "{said}");
}

#[test]
fn of_a_revert_it_is_not_said_which_pods_go_down() {
    let site = site();
    for image in ["nginx:1.28", "nginx:1.29"] {
        site.repo.commit_file("web/web.yaml", &GOOD.replace("nginx:1.27", image));
        let said = site.accepted(&["main"]);
        assert!(said.contains("rolled out in one stage") && said.contains("web-2 to web-0"), "{said}");
    }
    site.repo.revert("HEAD");
    let said = site.accepted(&["main"]);
    for words in [
        "offline: the live state is unknown",
        "back to a proven revision",
        "the pods that run it",
        "that is the canary alone",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("web-2") && !said.contains("DOWN"), "{said}");
}

#[test]
fn words_of_commits_and_manifests_steer_no_terminal() {
    let site = site();
    let odd = GOOD.replace(
        "      labels: {app: web}\n    spec:",
        "      labels: {app: web}\n      annotations: {odd: \"\\e[2J\\u202Ered\\a\\x9b1m\"}\n    spec:",
    );
    assert_ne!(odd, GOOD);
    site.repo.write("web/web.yaml", &odd);
    site.repo.commit("\u{1b}]0;title\u{7} \u{202e}subject\u{9b}2J\n\nbody");
    let said = site.accepted(&["main"]);
    assert!(said.contains("odd") && said.contains("red"), "{said}");
    site.repo.write("web/web.yaml", odd.replace("replicas: 3", "replicas: \"\\e[31m\\u202e3\\x9b\""));
    site.repo.commit("bad");
    assert!(site.refused(&["main"]).contains("web/web.yaml:8:13"));
    site.repo.write("web/web.yaml", odd.replace("replicas: 3", "\"\\e[31mrepl\\a\": 3"));
    site.repo.commit("an unknown field");
    site.refused(&["main"]);
}
