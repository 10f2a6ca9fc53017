//! Wakes: after a push, when told, and every so often.

use std::path::Path;
use std::time::Duration;

use phaseline::git::Wakes;
use tokio::time::{Instant, timeout};

use crate::support::repo::Repo;

/// Long enough that no poll comes into a test.
const NEVER: Duration = Duration::from_secs(3600);
/// How long a wake may take on a busy machine.
const SOON: Duration = Duration::from_secs(10);
/// How long is waited for a wake that must not come.
const QUIET: Duration = Duration::from_millis(400);

async fn wakes_up(wakes: &mut Wakes) -> bool {
    timeout(SOON, wakes.next()).await.is_ok()
}

async fn sleeps(wakes: &mut Wakes) -> bool {
    timeout(QUIET, wakes.next()).await.is_err()
}

fn watched(path: &Path) -> Wakes {
    let wakes = Wakes::new(Some(path), NEVER);
    assert!(wakes.is_watching());
    wakes
}

#[tokio::test]
async fn a_push_to_a_bare_repository_wakes_once() {
    let repo = Repo::new();
    repo.commit_file("a.yaml", "1");
    let mut wakes = watched(&repo.origin_path());
    repo.push();
    assert!(wakes_up(&mut wakes).await);
    assert!(sleeps(&mut wakes).await);
    // A branch in folders, and references that are packed.
    repo.git(&["push", "-q", "origin", "HEAD:refs/heads/deploy/eu/prod"]);
    assert!(wakes_up(&mut wakes).await);
    repo.commit_file("a.yaml", "2");
    repo.git(&["push", "-q", "origin", "HEAD:refs/heads/deploy/eu/prod"]);
    assert!(wakes_up(&mut wakes).await);
    repo.git_in(&repo.origin_path(), &["pack-refs", "--all"]);
    assert!(wakes_up(&mut wakes).await);
    repo.git_in(&repo.origin_path(), &["symbolic-ref", "HEAD", "refs/heads/deploy/eu/prod"]);
    assert!(wakes_up(&mut wakes).await);
}

#[tokio::test]
async fn a_commit_in_a_work_tree_wakes_and_reading_does_not() {
    let repo = Repo::new();
    repo.commit_file("a.yaml", "1");
    let mut wakes = watched(&repo.work_path());
    repo.write("a.yaml", "2");
    repo.git(&["add", "."]);
    repo.git(&["status"]);
    repo.git(&["log"]);
    assert!(sleeps(&mut wakes).await, "woken by reading or by the index");
    repo.commit("two");
    assert!(wakes_up(&mut wakes).await);
}

#[tokio::test]
async fn a_linked_work_tree_wakes_too() {
    let repo = Repo::new();
    repo.commit_file("a.yaml", "1");
    repo.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = repo.folder().join("linked");
    let mut wakes = watched(&linked);
    repo.git_in(&linked, &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(wakes_up(&mut wakes).await);
}

#[tokio::test]
async fn being_told_many_times_is_one_wake() {
    let mut wakes = Wakes::new(None, NEVER);
    let waker = wakes.waker();
    for _ in 0..100 {
        waker.wake();
    }
    assert!(wakes_up(&mut wakes).await);
    assert!(sleeps(&mut wakes).await);
    waker.wake();
    assert!(wakes_up(&mut wakes).await);
}

#[tokio::test(start_paused = true)]
async fn polls_come_at_about_the_interval() {
    let mut wakes = Wakes::new(None, Duration::from_secs(100));
    for _ in 0..50 {
        let before = Instant::now();
        wakes.next().await;
        let waited = before.elapsed().as_secs_f64();
        assert!((89.9..110.1).contains(&waited), "{waited} s");
    }
}

#[tokio::test]
async fn a_repository_that_appears_or_is_replaced_is_watched() {
    let repo = Repo::new();
    repo.commit_file("a.yaml", "1");
    let path = repo.folder().join("late.git");
    let mut wakes = Wakes::new(Some(&path), NEVER);
    assert!(!wakes.is_watching());
    repo.bare("late.git");
    wakes.waker().wake();
    assert!(wakes_up(&mut wakes).await);
    assert!(wakes.is_watching());
    for round in ["one", "two"] {
        repo.git(&["push", "-q", path.to_str().unwrap(), "HEAD:refs/heads/main"]);
        assert!(wakes_up(&mut wakes).await, "{round}");
        std::fs::remove_dir_all(&path).unwrap();
        repo.bare("late.git");
        wakes.waker().wake();
        assert!(wakes_up(&mut wakes).await);
        // The removal's own events may have come in late.
        while !sleeps(&mut wakes).await {}
    }
}

/// The signal goes to a whole process, so this runs in one of its own.
#[test]
fn a_hangup_wakes() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "--ignored", "git::watch::hung_up"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "run by a_hangup_wakes"]
async fn hung_up() {
    let mut wakes = Wakes::new(None, NEVER);
    let status = std::process::Command::new("kill").args(["-HUP", &std::process::id().to_string()]).status().unwrap();
    assert!(status.success());
    assert!(wakes_up(&mut wakes).await);
}
