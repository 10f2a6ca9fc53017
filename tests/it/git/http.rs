//! Fetching over HTTP from `git http-backend`: credentials, redirects, cuts and silence.

use std::fs;
use std::time::{Duration, Instant};

use phaseline::git::{Credentials, GitError, Limits, Mirror, Movement, SourceConfig};

use super::{chain, id};
use crate::support::http::{Manners, Server};
use crate::support::repo::Repo;

/// `Basic` of `x-access-token:t0ken`, `bob:t0ken` and `t0ken:`.
const TOKEN: &str = "Basic eC1hY2Nlc3MtdG9rZW46dDBrZW4=";
const BOB: &str = "Basic Ym9iOnQwa2Vu";
const BARE: &str = "Basic dDBrZW46";

fn served() -> (Repo, Server, String) {
    let repo = Repo::new();
    let first = repo.commit_file("web.yaml", "one\n");
    repo.push();
    let server = Server::start(repo.folder());
    (repo, server, first)
}

fn config(repo: &Repo, url: String) -> SourceConfig {
    SourceConfig { url, state_dir: repo.state_dir(), ..SourceConfig::default() }
}

fn wants(header: &str) -> Manners {
    Manners { wants: Some(header.into()), ..Manners::default() }
}

#[test]
fn a_push_arrives_over_http() {
    let (repo, server, first) = served();
    let mut mirror = Mirror::open(&config(&repo, server.url("origin.git"))).unwrap();
    assert_eq!(mirror.fetch().unwrap().tip, id(first));
    let second = repo.commit_file("web.yaml", "two\n");
    repo.push();
    let fetched = mirror.fetch().unwrap();
    assert_eq!((fetched.tip, fetched.movement), (id(second), Movement::Forward));
    assert_eq!(mirror.fetch().unwrap().movement, Movement::Same);
    assert!(server.seen().iter().all(|request| !request.headers.contains_key("authorization")));
}

#[test]
fn a_token_is_read_anew_at_each_fetch() {
    let (repo, server, first) = served();
    server.behave(wants(TOKEN));
    let file = repo.folder().join("token");
    let credentials = Credentials { token_file: Some(file.clone()), ..Credentials::default() };
    let mut mirror = Mirror::open(&SourceConfig { credentials, ..config(&repo, server.url("origin.git")) }).unwrap();
    assert!(matches!(mirror.fetch(), Err(GitError::Credential { .. })));
    for bad in ["", " \n", "two\nlines", "\u{0}"] {
        fs::write(&file, bad).unwrap();
        assert!(matches!(mirror.fetch(), Err(GitError::Credential { .. })), "{bad:?}");
    }
    fs::write(&file, "wrong-t0ken\n").unwrap();
    let before = server.seen().len();
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(&error, GitError::AuthFailed { tried, .. } if tried.contains("token")), "{error:?}");
    assert!(!format!("{} {error:?}", chain(&error)).contains("t0ken"), "{error:?}");
    assert!(server.seen().len() - before <= 3, "the same credential was tried again and again");
    fs::write(&file, "\n t0ken\n").unwrap();
    assert_eq!(mirror.fetch().unwrap().tip, id(first));
}

#[test]
fn the_urls_own_credentials_are_used() {
    let (repo, server, first) = served();
    for (userinfo, header) in [("bob:t0ken", BOB), ("bob:t0k%65n", BOB), ("t0ken", BARE)] {
        server.behave(wants(header));
        let url = format!("http://{userinfo}@127.0.0.1:{}/origin.git", server.port());
        let mut mirror = Mirror::open(&config(&repo, url)).unwrap();
        assert_eq!(mirror.fetch().unwrap().tip, id(&first), "{userinfo}");
        let settings = fs::read_to_string(mirror.folder().join("config")).unwrap();
        assert!(!settings.contains("t0ken"));
    }
}

#[test]
fn gits_credential_helper_is_asked_once() {
    let (repo, server, first) = served();
    server.behave(wants(BOB));
    let mut mirror = Mirror::open(&config(&repo, server.url("origin.git"))).unwrap();
    assert!(matches!(mirror.fetch(), Err(GitError::AuthFailed { .. })));
    let log = repo.folder().join("helper.log");
    let helper = format!("!f() {{ echo $1 >> {}; echo username=bob; echo password=t0ken; }}; f", log.display());
    let settings = mirror.folder().join("config");
    repo.git(&["config", "--file", settings.to_str().unwrap(), "credential.helper", &helper]);
    assert_eq!(mirror.fetch().unwrap().tip, id(first));
    assert_eq!(fs::read_to_string(&log).unwrap(), "get\n");
    server.behave(wants(TOKEN));
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(&error, GitError::AuthFailed { tried, .. } if tried.contains("helper")), "{error:?}");
    assert_eq!(fs::read_to_string(&log).unwrap(), "get\nget\n");
}

#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let (repo, server, first) = served();
    let other = Server::start(repo.folder());
    other.behave(wants(TOKEN));
    let token = repo.folder().join("token");
    fs::write(&token, "t0ken").unwrap();
    let credentials = Credentials { token_file: Some(token), ..Credentials::default() };
    let mut mirror = Mirror::open(&SourceConfig { credentials, ..config(&repo, server.url("origin.git")) }).unwrap();
    let elsewhere = format!("http://localhost:{}", other.port());
    server.behave(Manners { redirect: Some(elsewhere), ..Manners::default() });
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(error, GitError::Redirected { .. }), "{error:?}");
    assert!(other.seen().is_empty());
    // Another port of the same host is another server: it is not told what the first one is, not even when that one
    // has asked for it before it sends on.
    for asks_first in [false, true] {
        let redirect = Some(format!("http://127.0.0.1:{}", other.port()));
        server.behave(Manners { redirect, asks_first, ..wants(TOKEN) });
        let error = mirror.fetch().unwrap_err();
        assert!(matches!(error, GitError::Redirected { .. }), "{error:?}");
        assert!(!chain(&error).contains("t0ken"), "{error:?}");
        let told: Vec<_> = other.seen().into_iter().filter(|it| it.headers.contains_key("authorization")).collect();
        assert!(told.is_empty(), "{told:?}");
    }
    // Without the redirect it is the same server as ever.
    server.behave(wants(TOKEN));
    assert_eq!(mirror.fetch().unwrap().tip, id(first));
}

#[test]
fn what_is_not_there_has_a_name() {
    let (repo, server, _) = served();
    let fetch = |url: String| Mirror::open(&config(&repo, url)).unwrap().fetch().unwrap_err();
    let error = fetch(server.url("nothing.git"));
    assert!(matches!(error, GitError::NotARepository { .. }), "{error:?}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fetch(format!("http://{closed}/x"));
    assert!(matches!(error, GitError::Unreachable { .. }), "{error:?}");
    let error = fetch("http://no-such-host.invalid/x".into());
    assert!(matches!(error, GitError::Unreachable { .. }), "{error:?}");
    let error = fetch(format!("https://127.0.0.1:{}/x", server.port()));
    assert!(matches!(error, GitError::Tls { .. } | GitError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_pack_that_is_cut_off_leaves_the_last_good_state() {
    let (repo, server, first) = served();
    let mut mirror = Mirror::open(&config(&repo, server.url("origin.git"))).unwrap();
    mirror.fetch().unwrap();
    repo.write("more.yaml", (0..2000).map(|n| format!("{}\n", n * 7919)).collect::<String>());
    let second = repo.commit("more");
    repo.push();
    for cut in [0, 30, 200, 2000] {
        server.behave(Manners { cut: Some(cut), ..Manners::default() });
        let error = mirror.fetch().unwrap_err();
        let named = matches!(error, GitError::Unreachable { .. } | GitError::RepositoryCorrupt { .. });
        assert!(named, "{cut}: {error:?}");
        assert_eq!(mirror.last_good(), Some(id(&first)));
    }
    server.behave(Manners::default());
    assert_eq!(mirror.fetch().unwrap().tip, id(second));
}

#[test]
fn silence_is_waited_for_only_so_long() {
    let (repo, server, first) = served();
    let mut mirror = Mirror::open(&config(&repo, server.url("origin.git"))).unwrap();
    mirror.fetch().unwrap();
    server.behave(Manners { hangs_at: Some("info/refs"), ..Manners::default() });
    mirror.set_limits(Limits { idle: Duration::from_millis(300), ..Limits::default() });
    let started = Instant::now();
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(mirror.last_good(), Some(id(first)));
    server.behave(Manners::default());
    mirror.fetch().unwrap();
}
