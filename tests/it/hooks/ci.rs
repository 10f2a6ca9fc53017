//! The jobs in `examples/ci`: their scripts are run in a real repository, with the service's own tools played by scripts.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use super::{GOOD, Site, err, executable};

/// What the tests of both services need: a branch with a set, and a change of it.
struct Job {
    site: Site,
    base: String,
    head: String,
}

impl Job {
    fn new(change: &str) -> Self {
        let site = Site::new();
        let base = site.repo.commit_file("web/web.yaml", GOOD);
        site.repo.git(&["checkout", "-q", "-b", "topic"]);
        let head = site.repo.commit_file("web/web.yaml", change);
        let bin = site.repo.folder().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_phaseline"), bin.join("phaseline")).unwrap();
        Self { site, base, head }
    }

    /// Plays one of the service's programs: writes down how it was called and prints what is in `NAME.says`.
    fn tool(&self, name: &str, text: &str) {
        let head = "#!/bin/sh\nprintf '%s\\n' \"$*\" >> \"$0.called\"\n";
        executable(&self.site.repo.folder().join("bin").join(name), &format!("{head}{text}"));
    }

    fn called(&self, name: &str) -> String {
        let file = self.site.repo.folder().join("bin").join(format!("{name}.called"));
        fs::read_to_string(file).unwrap_or_default()
    }

    fn run(&self, shell: &[&str], script: &str, variables: &[(&str, &str)]) -> Output {
        let folder = self.site.repo.folder();
        let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(script).current_dir(self.site.repo.work_path()).env_clear();
        command.env("PATH", path).env("HOME", folder.join("home")).envs(variables.iter().copied());
        command.output().unwrap()
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.site.repo.work_path().join(name)).unwrap()
    }
}

fn read(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci").join(name);
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The scripts of GitHub's steps, by name.
fn step(name: &str) -> String {
    let workflow = read("github-actions.yml");
    let steps = workflow["jobs"]["plan"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|it| it["name"] == name).unwrap();
    // What people choose (a title, a branch) never becomes part of a script.
    assert!(!step["run"].as_str().unwrap().contains("${{"), "{step:#}");
    step["run"].as_str().unwrap().to_owned()
}

/// As GitHub runs it: the merge of the pull request is checked out.
fn github(change: &str, comments: &str) -> (Job, Output, Output) {
    let job = Job::new(change);
    job.site.repo.git(&["checkout", "-q", "--detach", &job.base]);
    job.site.repo.git(&["merge", "-q", "--no-ff", "-m", "Merge", "topic"]);
    job.tool("gh", &format!("case \"$*\" in *--paginate*) printf '%s' '{comments}';; esac\n"));
    let summary = job.site.repo.folder().join("summary").to_str().unwrap().to_owned();
    let variables =
        [("GITHUB_REPOSITORY", "shop/deploy"), ("NUMBER", "7"), ("GH_TOKEN", "t"), ("GITHUB_STEP_SUMMARY", &*summary)];
    let bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"];
    let lint = job.run(&bash, &step("Lint"), &variables);
    let plan = job.run(&bash, &step("Plan"), &variables);
    (job, lint, plan)
}

#[test]
fn github_comments_a_plan_and_replaces_it() {
    let change = GOOD.replace("nginx:1.27", "nginx:1.28");
    let (job, lint, plan) = github(&change, "");
    assert!(lint.status.success() && plan.status.success(), "{} {}", err(&lint), err(&plan));
    let comment = job.file("plan.md");
    assert!(comment.starts_with("<!-- phaseline plan -->"), "{comment}");
    assert!(comment.contains("nginx:1.28") && comment.contains("1 of 1 workloads would change"), "{comment}");
    assert!(job.called("gh").contains("--method POST repos/shop/deploy/issues/7/comments -F body=@plan.md"));
    let summary = fs::read_to_string(job.site.repo.folder().join("summary")).unwrap();
    assert_eq!(summary, comment);

    let (job, _, plan) = github(&change, "41\n42\n");
    assert!(plan.status.success(), "{}", err(&plan));
    let called = job.called("gh");
    assert!(called.contains("--method PATCH repos/shop/deploy/issues/comments/41 -F body=@plan.md"), "{called}");
    assert!(!called.contains("POST"), "{called}");
}

#[test]
fn github_shows_what_is_wrong_at_its_line() {
    let (job, lint, plan) = github(&GOOD.replace("storage: 1Gi", "storage: 2Gi"), "");
    assert_eq!(lint.status.code(), Some(1));
    let said = String::from_utf8(lint.stdout).unwrap();
    assert!(said.starts_with("::error file=web/web.yaml,line=40,"), "{said}");
    assert!(!plan.status.success());
    assert!(job.file("plan.md").contains("volumeClaimTemplates"), "{}", job.file("plan.md"));
    assert!(job.called("gh").contains("POST"), "it is said in the comment, too");
}

fn gitlab(change: &str, notes: &str) -> (Job, Output, Output) {
    let job = Job::new(change);
    let answers = format!(
        "case \"$*\" in
         *@-*) cat > \"$0.sent\"; echo '{{}}' ;;
         *api/user*) echo '{{\"id\": 5}}' ;;
         *) printf '%s\\n' '{notes}' ;;
         esac\n"
    );
    job.tool("curl", &answers);
    let config = read("gitlab-ci.yml");
    let script = |name: &str| {
        let lines = config[name]["script"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        lines.collect::<Vec<_>>().join("\n")
    };
    let variables = [
        ("CI_COMMIT_SHA", &*job.head),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &*job.base),
        ("CI_API_V4_URL", "https://gitlab.example/api"),
        ("CI_MERGE_REQUEST_PROJECT_ID", "3"),
        ("CI_MERGE_REQUEST_IID", "9"),
        ("PHASELINE_TOKEN", "secret"),
    ];
    let lint = job.run(&["sh", "-ec"], &script("phaseline lint"), &variables);
    let plan = job.run(&["sh", "-ec"], &script("phaseline plan"), &variables);
    (job, lint, plan)
}

#[test]
fn gitlab_writes_a_note_and_replaces_it() {
    if Command::new("jq").arg("--version").output().is_err() {
        println!("left out: there is no jq here");
        return;
    }
    let change = GOOD.replace("nginx:1.27", "nginx:1.28");
    let other = r#"[{"id": 1, "author": {"id": 6}, "body": "<!-- phaseline plan -->"}, {"id": 2, "author": {"id": 5}, "body": "hi"}]"#;
    let (job, lint, plan) = gitlab(&change, other);
    assert!(lint.status.success() && plan.status.success(), "{} {}", err(&lint), err(&plan));
    let report: Value = serde_json::from_str(&job.file("gl-code-quality-report.json")).unwrap();
    assert_eq!(report, serde_json::json!([]));
    let url = "https://gitlab.example/api/projects/3/merge_requests/9/notes";
    assert!(job.called("curl").contains(&format!("-X POST --data-binary @- {url}\n")), "{}", job.called("curl"));
    let sent = fs::read_to_string(job.site.repo.folder().join("bin/curl.sent")).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["body"], job.file("plan.md"));
    assert!(job.file("plan.md").contains("nginx:1.28"));

    let own = r#"[{"id": 2, "author": {"id": 5}, "body": "hi"}, {"id": 8, "author": {"id": 5}, "body": "<!-- phaseline plan -->\nx"}]"#;
    let (job, _, plan) = gitlab(&GOOD.replace("storage: 1Gi", "storage: 2Gi"), own);
    assert!(!plan.status.success());
    assert!(job.called("curl").contains(&format!("-X PUT --data-binary @- {url}/8\n")), "{}", job.called("curl"));
    let report: Value = serde_json::from_str(&job.file("gl-code-quality-report.json")).unwrap();
    assert_eq!(
        (&report[0]["location"]["path"], &report[0]["location"]["lines"]["begin"]),
        (&"web/web.yaml".into(), &40.into())
    );
}
