//! `history` and `diff` on real repositories, with `git` as the judge of commits, authors, dates and subjects.

use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use crate::support::repo::Repo;

fn set(image: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: web}}\nspec:\n  serviceName: web\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      \
         containers: [{{name: main, image: '{image}', {more}}}]\n"
    )
}

/// Runs the program on the repository, without a cluster.
fn run(repo: &Repo, url: &str, words: &[&str]) -> (u8, String, String) {
    let state = repo.state_dir();
    let none = Path::new("/nonexistent/kubeconfig");
    let mut arguments: Vec<OsString> =
        ["phaseline", "--repo", url, "-n", "default", "--state-dir"].map(Into::into).into();
    arguments.extend([state.into_os_string(), "--kubeconfig".into(), none.into()]);
    arguments.extend(words.iter().map(Into::into));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = phaseline::cli::run(arguments, &mut out, &mut err, false);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn json(repo: &Repo, words: &[&str]) -> (u8, Value) {
    let (code, out, err) = run(repo, &repo.origin_url(), words);
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

#[test]
fn a_revert_repeats_and_commits_are_told_as_git_log_tells_them() {
    let repo = Repo::new();
    for (image, message, author, date) in [
        ("nginx:1", "first\nline of two\n\nbody", "J\u{f6}rg \u{dc}ber <j@x>", "1700000000 +0530"),
        ("nginx:2", "", "A <a@x>", "0 +0000"),
        ("nginx:1", "back to one", "A <a@x>", "4102444800 -0930"),
    ] {
        repo.write("web.yaml", set(image, ""));
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "--allow-empty-message", "-m", message, "--author", author, "--date", date]);
    }
    repo.push();
    let (code, history) = json(&repo, &["history", "web", "--offline", "-o", "json"]);
    assert_eq!(code, 0);
    let items = history["items"].as_array().unwrap();
    let told: Vec<String> = items
        .iter()
        .map(|item| {
            let commit = &item["commit"];
            ["id", "author", "date", "subject"].map(|key| commit[key].as_str().unwrap().to_owned()).join("|")
        })
        .collect();
    let log = repo.git(&["log", "--reverse", "--first-parent", "--format=%H|%an|%aI|%s"]);
    // Newer versions of Git write UTC as Z.
    assert_eq!(told.join("\n"), log.replace("Z|", "+00:00|"));
    assert_eq!(items.len(), 3);
    assert_eq!(items[0]["hash"], items[2]["hash"]);
    assert_ne!(items[0]["hash"], items[1]["hash"]);
    assert_eq!((&items[0]["repeats"], &items[2]["repeats"]), (&Value::Null, &1.into()));

    // Nobody named a cluster, and there is none.
    let alone = std::process::Command::new(env!("CARGO_BIN_EXE_phaseline"))
        .args(["history", "web", "-o", "json"])
        .current_dir(repo.work_path())
        .env_remove("KUBECONFIG")
        .env("HOME", repo.state_dir())
        .output()
        .unwrap();
    assert!(alone.status.success(), "{alone:?}");
    assert_eq!(serde_json::from_slice::<Value>(&alone.stdout).unwrap(), history);
    assert!(String::from_utf8_lossy(&alone.stderr).contains("there is no kubeconfig"), "{alone:?}");

    let (code, template) = json(&repo, &["history", "web", "--offline", "--revision", "2", "-o", "json"]);
    assert_eq!((code, &template["spec"]["containers"][0]["image"]), (0, &"nginx:2".into()));
    // The same from the work tree's own repository, and from what was fetched before.
    let (_, there, _) = run(&repo, repo.work_path().to_str().unwrap(), &["history", "web", "--offline", "-o", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&there).unwrap(), history);
    std::fs::rename(repo.origin_path(), repo.folder().join("away")).unwrap();
    let (code, kept, err) = run(&repo, &repo.origin_url(), &["history", "web", "--offline", "-o", "json"]);
    assert_eq!((code, serde_json::from_str::<Value>(&kept).unwrap()), (0, history));
    assert!(err.contains("what was fetched before is shown"), "{err}");
}

#[test]
fn ends_are_revisions_hashes_names_and_commits() {
    let repo = Repo::new();
    let env =
        |word: &str| format!("env: [{{name: DB_PASSWORD, value: {word}}}], resources: {{limits: {{memory: {word}}}}}");
    for (image, memory) in [("nginx:1.27", "512Mi"), ("nginx:1.28", "1Gi"), ("nginx:1.28", "1024Mi")] {
        repo.write("web.yaml", set(image, &env(memory)));
        repo.commit(&format!("web {image} {memory}"));
    }
    repo.write("api.yaml", set("api:1", "").replace("web", "api"));
    repo.commit("api comes");
    repo.push();
    let (_, history) = json(&repo, &["history", "web", "--offline", "-o", "json"]);
    let of = |at: usize, key: &str| history["items"][at][key].as_str().unwrap().to_owned();
    let wanted = "container main: env DB_PASSWORD (changed, not shown)\n  container main: image nginx:1.27 -> nginx:1.28\n  \
                  container main: memory limit 512Mi -> 1Gi\n";
    let ranges = [
        "1..2".to_owned(),
        format!("{}..{}", of(0, "hash"), &of(1, "hash")[..8]),
        format!("{}..{}", of(0, "controllerRevision"), of(1, "controllerRevision")),
        "main~3..main~2".to_owned(),
        format!("{}..2", history["items"][0]["commit"]["id"].as_str().unwrap()),
    ];
    for range in ranges {
        let (code, out, err) = run(&repo, &repo.origin_url(), &["diff", &range, "web"]);
        assert_eq!((code, out.split_once("\n  ").map(|(_, rest)| rest)), (1, Some(wanted)), "{range}: {out}{err}");
        assert!(!out.contains("value"), "{out}");
    }
    // The second commit from the end changes the password only.
    let (code, diff) = json(&repo, &["diff", "main~2..main~1", "-o", "json"]);
    assert_eq!((code, diff["items"][0]["fields"].as_array().unwrap().len()), (1, 1), "{diff:#}");
    assert_eq!(diff["items"][0]["fields"][0]["to"], "(not shown)");
    // Every set: one that comes, none that only moves.
    let (code, diff) = json(&repo, &["diff", "main~1..main", "-o", "json"]);
    assert_eq!((code, diff["items"][0]["name"].as_str(), diff["items"].as_array().unwrap().len()), (1, Some("api"), 1));
    assert_eq!((diff["items"][0].get("from"), diff["kind"].as_str()), (None, Some("Diff")));
    for (range, words) in [("main..main", [""; 0].as_slice()), ("3..", &["web"]), ("main~1..main", &["web"])] {
        let (code, out, err) = run(&repo, &repo.origin_url(), &[&["diff", range], words].concat());
        assert_eq!((code, out.as_str()), (0, ""), "{range}: {err}");
    }
    for (words, said) in [
        (["diff", "1..9", "web"].as_slice(), "no revision \"9\""),
        (&["diff", "1..2"], "need the NAME of a set"),
        (&["diff", "1...2", "web"], "write A..B"),
        (&["diff", "1", "web"], "write A..B"),
        (&["diff", "1..2", "nope"], "has no StatefulSet default/nope"),
    ] {
        let (code, _, err) = run(&repo, &repo.origin_url(), words);
        assert!(code == 2 && err.contains(said), "{words:?}: {code} {err}");
    }
}
