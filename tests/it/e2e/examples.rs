//! Plays the deploy repositories of `examples/`, from the first install through a rollout and a bad push to the revert.
//!
//! Before every push `plan` foretells the ControllerRevision; only its waits are shortened, by the first commit.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{
    audit::SetWrite,
    site::{PARKED, Site, all_ready, uids},
};
use crate::controlplane::Version;

/// One of the examples, and what is expected of it.
struct Example {
    folder: &'static str,
    /// The set, and the file that it is in.
    name: &'static str,
    file: &'static str,
    /// What the first commit edits in its plan.
    waits: &'static [(&'static str, &'static str)],
    /// The image's tag: now, after the rollout, and one that no registry has.
    tags: [&'static str; 3],
    /// How many pods each stage exposes.
    stages: &'static [u64],
    /// Pods of a `Parallel` set that broke are replaced by Kubernetes itself; of others by the daemon, once each.
    parallel: bool,
}

/// A site that holds an example, with waits that a test can bear.
struct Play {
    site: Site<'static>,
    example: Example,
    version: Version,
    replicas: u64,
}

impl Play {
    fn new(version: Version, example: Example) -> Option<Self> {
        let site = Site::shared(version, example.folder)?;
        // Every push goes through the hooks, which know no cluster.
        let origin = site.repo.origin_path();
        let mut install = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        let installed = install.args(["hooks", "install"]).arg(&origin).stdin(Stdio::null()).output().unwrap();
        assert!(installed.status.success(), "{installed:?}");
        site.repo.git_in(&origin, &["config", "phaseline.binary", env!("CARGO_BIN_EXE_phaseline")]);
        site.repo.git_in(&origin, &["config", "phaseline.namespace", &site.ns]);
        site.repo.git_in(&origin, &["config", "phaseline.kubernetes", version.minor()]);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example.folder);
        for entry in fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let mut text = fs::read_to_string(folder.join(&file)).unwrap();
            if file == "rollout-plan.yaml" {
                for (long, short) in example.waits {
                    assert!(text.contains(long), "{long}: {text}");
                    text = text.replace(long, short);
                }
            }
            site.repo.write(Path::new(example.folder).join(&file), &text);
            // What is no set is not Phaseline's to apply.
            if ["services.yaml", "config.yaml"].contains(&&*file) {
                site.plane.apply(&site.ns, &text);
            }
        }
        Some(Self { site, version, replicas: *example.stages.last().unwrap(), example })
    }

    /// What `plan` says about the commit that is about to be pushed.
    #[track_caller]
    fn plan(&self) -> Value {
        // Of the work tree: the origin does not have it yet.
        self.site.ask_git(false);
        let work = self.site.repo.work_path();
        let said = self.site.phaseline(&["plan", "HEAD", "-o", "json", "--repo", work.to_str().unwrap()]);
        self.site.ask_git(true);
        assert_eq!(said.status.code(), Some(1), "{said:?}");
        let plan: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(plan["items"].as_array().map(Vec::len), Some(1), "{plan:#}");
        let item = plan["items"][0].clone();
        // Nothing but the repository tells the same.
        let mut offline = Command::new(env!("CARGO_BIN_EXE_phaseline"));
        offline.args([
            "plan",
            "--offline",
            "HEAD",
            "-o",
            "json",
            "-n",
            &self.site.ns,
            "--kubernetes",
            self.version.minor(),
        ]);
        let said = offline.current_dir(work).env_clear().stdin(Stdio::null()).output().unwrap();
        assert_eq!(said.status.code(), Some(1), "{said:?}");
        let plan: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(plan["items"][0]["target"]["revision"], item["target"]["revision"], "{plan:#}");
        item
    }

    /// Commits the set with another image and foretells its revision.
    #[track_caller]
    fn commit_tag(&self, from: &str, to: &str) -> (String, Value) {
        let path = format!("{}/{}", self.example.folder, self.example.file);
        let text = fs::read_to_string(self.site.repo.work_path().join(&path)).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        self.site.repo.write(&path, text.replace(from, to));
        (self.site.repo.commit(to), self.plan())
    }

    /// What the server calls the template that it was last given.
    #[track_caller]
    fn update_revision(&self) -> Value {
        self.site.set(self.example.name)["status"]["updateRevision"].clone()
    }

    /// The daemon's writes for a commit, as partitions.
    #[track_caller]
    fn partitions(&self, commit: &str) -> Vec<u64> {
        let is = |it: &SetWrite| it.record["target"]["commit"] == commit;
        self.site.writes().into_iter().filter(is).filter_map(|it| it.partition).collect()
    }

    /// No command has written anything, but for dry runs.
    #[track_caller]
    fn assert_commands_wrote_nothing(&self) {
        let asked = self.site.plane.audit(&self.site.ns);
        let asked = asked.iter().filter(|it| it.user_agent.starts_with("phaseline-cli") && it.is_write());
        let (dry, wet): (Vec<_>, Vec<_>) = asked.partition(|it| it.is_dry_run());
        assert!(!dry.is_empty() && wet.is_empty(), "{wet:#?}");
    }
}

fn play(version: Version, example: Example) {
    let Some(play) = Play::new(version, example) else { return };
    let (site, name) = (&play.site, play.example.name);
    let [old, new, bad] = play.example.tags;
    let count = usize::try_from(play.replicas).unwrap();
    let stages: Vec<u64> = play.example.stages.iter().map(|count| play.replicas - count).collect();

    // The first install: everything at once.
    let first = site.repo.commit("first");
    let plan = play.plan();
    assert_eq!(plan["entry"], "Install", "{plan:#}");
    site.repo.push();
    assert_eq!(site.settled_of(name, &first)["reason"], "Completed");
    assert_eq!(plan["target"]["revision"], play.update_revision());
    let (claims, pods) = (site.claims(), site.pods());
    assert!(all_ready(&pods, count), "{pods:#?}");

    // A rollout, stage by stage.
    let (second, plan) = play.commit_tag(old, new);
    let foretold: Vec<_> = plan["stages"].as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap()).collect();
    assert_eq!((&plan["entry"], &*foretold), (&"Staged".into(), play.example.stages), "{plan:#}");
    site.repo.push();
    assert_eq!(site.settled_of(name, &second)["reason"], "Completed");
    let good = play.update_revision();
    assert_eq!(plan["target"]["revision"], good);
    assert_eq!(play.partitions(&second), [&stages[..], &[PARKED]].concat());
    let pods = site.pods();
    assert!(all_ready(&pods, count) && pods.iter().all(|it| it.revision == good), "{pods:#?}");

    // A bad push: it stays where the first stage has put it.
    let (third, plan) = play.commit_tag(new, bad);
    site.repo.push();
    site.until_live(name, |_, record| record["failed"].as_array().is_some_and(|it| !it.is_empty()));
    let status = site.until_of(name, "Degraded", "ProgressDeadlineExceeded");
    let culprit = format!("{name}-{}", count - 1);
    assert_eq!(
        (&status["culprit"]["pod"], &status["target"]["commit"]),
        (&culprit.as_str().into(), &third.as_str().into())
    );
    assert_eq!(plan["target"]["revision"], play.update_revision());
    assert_eq!(uids(&site.pods())[..count - 1], uids(&pods)[..count - 1]);

    // And back: by the name that it had, nobody else touched.
    let revert = site.repo.revert(&third);
    let plan = play.plan();
    assert_eq!((&plan["entry"], &plan["target"]["revision"]), (&"Revert".into(), &good), "{plan:#}");
    site.repo.push();
    assert_eq!(site.settled_of(name, &revert)["reason"], "RolledBack");
    assert_eq!(play.update_revision(), good);
    let now = site.pods();
    assert!(all_ready(&now, count) && now.iter().all(|it| it.revision == good), "{now:#?}");
    assert_eq!(uids(&now)[..count - 1], uids(&pods)[..count - 1]);
    let deleted = if play.example.parallel { vec![] } else { vec![culprit] };
    assert_eq!((site.claims(), site.deleted_pods()), (claims, deleted));
    let at_rest = site.phaseline(&["plan"]);
    assert_eq!(at_rest.status.code(), Some(0), "{at_rest:?}");
    play.assert_commands_wrote_nothing();
    site.assert_guarded();
}

fn the_web_tier(version: Version) {
    let waits = &[
        ("progressDeadlineSeconds: 60", "progressDeadlineSeconds: 10"),
        ("minReadySeconds: 5", "minReadySeconds: 1"),
        ("duration: 10s", "duration: 1s"),
    ];
    let tags = ["nginx:1.27", "nginx:1.28", "nginx:pull-1.29"];
    play(
        version,
        Example { folder: "web", name: "web", file: "web.yaml", waits, tags, stages: &[1, 3], parallel: false },
    );
}

fn the_quorum_store(version: Version) {
    let waits = &[
        ("progressDeadlineSeconds: 900", "progressDeadlineSeconds: 10"),
        ("minReadySeconds: 60", "minReadySeconds: 1"),
    ];
    let tags = ["etcd:v3.5.21", "etcd:v3.5.22", "etcd:never-ready-v3.6.0"];
    play(
        version,
        Example { folder: "quorum", name: "etcd", file: "etcd.yaml", waits, tags, stages: &[1, 2, 3], parallel: false },
    );
}

fn the_sharded_cache(version: Version) {
    let waits = &[
        ("progressDeadlineSeconds: 300", "progressDeadlineSeconds: 10"),
        ("minReadySeconds: 30", "minReadySeconds: 1"),
        ("duration: 5m", "duration: 1s"),
    ];
    let tags = ["memcached:1.6.38-alpine", "memcached:1.6.39-alpine", "memcached:crash-alpine"];
    play(
        version,
        Example {
            folder: "cache",
            name: "cache",
            file: "cache.yaml",
            waits,
            tags,
            stages: &[1, 3, 7, 10],
            parallel: true,
        },
    );
}

on_both_versions![the_web_tier, the_quorum_store, the_sharded_cache];
