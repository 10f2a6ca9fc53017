//! `post-receive`: a push wakes whoever follows, and is never held up by it.

use std::fs;
use std::time::{Duration, Instant};

use phaseline::git::Wakes;
use tokio::time::timeout;

use super::{Site, err};

const NEVER: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_secs(10);

/// Only the hook that wakes.
fn site() -> Site {
    let site = Site::new();
    site.hooks_ok(&["install", "origin.git", "--hook", "post-receive"]);
    site
}

#[track_caller]
fn until(what: impl Fn() -> bool) {
    let by = Instant::now() + SOON;
    while !what() {
        assert!(Instant::now() < by, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn a_push_wakes_whoever_watches_the_repository() {
    let site = site();
    site.repo.commit_file("a.txt", "1");
    site.push(&["main"]);
    let mut wakes = Wakes::new(Some(&site.repo.origin_path()), NEVER);
    assert!(wakes.is_watching());
    site.repo.commit_file("a.txt", "2");
    assert!(site.push(&["main"]).status.success());
    assert!(timeout(SOON, wakes.next()).await.is_ok());
    assert!(timeout(Duration::from_millis(400), wakes.next()).await.is_err(), "one push, one wake");
    // What the hook writes is a wake by itself, once and again.
    for _ in 0..2 {
        fs::write(site.repo.origin_path().join("phaseline-wake"), "").unwrap();
        assert!(timeout(SOON, wakes.next()).await.is_ok());
    }
    fs::write(site.repo.origin_path().join("phaseline-wake.log"), "x").unwrap();
    assert!(timeout(Duration::from_millis(400), wakes.next()).await.is_err());
}

#[test]
fn commands_wake_whoever_is_elsewhere() {
    let site = site();
    site.server(&["--add", "phaseline.wake", "printf 'one %s\\n' \"$PWD\"; touch one"]);
    site.server(&["--add", "phaseline.wake", "touch 'a  two'; exit 3"]);
    site.repo.commit_file("a.txt", "1");
    assert!(site.push(&["main"]).status.success());
    let origin = site.repo.origin_path();
    let log = || fs::read_to_string(origin.join("phaseline-wake.log")).unwrap_or_default();
    until(|| log().contains("ended with 3"));
    assert!(origin.join("one").exists() && origin.join("a  two").exists());
    assert!(log().contains("ended with 0"), "{}", log());
}

#[test]
fn a_command_that_hangs_or_fails_holds_nothing_up() {
    let site = site();
    site.server(&["phaseline.wake", "sleep 20"]);
    site.repo.commit_file("a.txt", "1");
    let started = Instant::now();
    let pushed = site.push(&["main"]);
    assert!(pushed.status.success(), "{}", err(&pushed));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    for wake in ["/not/there", "exit 1", "kill -9 $$", "("] {
        site.server(&["phaseline.wake", wake]);
        site.repo.commit_file("a.txt", wake);
        let pushed = site.push(&["main"]);
        assert!(pushed.status.success(), "{wake}: {}", err(&pushed));
    }
    // The file cannot be written.
    fs::remove_file(site.repo.origin_path().join("phaseline-wake")).unwrap();
    fs::create_dir(site.repo.origin_path().join("phaseline-wake")).unwrap();
    site.repo.commit_file("a.txt", "last");
    let pushed = site.push(&["main"]);
    assert!(pushed.status.success(), "{}", err(&pushed));
    assert!(err(&pushed).contains("was not woken"), "{}", err(&pushed));
}
