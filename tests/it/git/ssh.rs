//! Fetching over SSH from a real `sshd`, where the machine has one.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use phaseline::git::{Credentials, GitError, Mirror, SourceConfig};

use super::{chain, id};
use crate::support::repo::Repo;

const SSHD: &str = "/usr/sbin/sshd";

/// An `sshd` for this user on a port of its own; ends when dropped.
struct Sshd {
    process: Child,
    port: u16,
    dir: PathBuf,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn keygen(path: &Path, kind: &str) {
    let made = Command::new("ssh-keygen").args(["-q", "-N", "", "-t", kind, "-f"]).arg(path).status().unwrap();
    assert!(made.success());
}

impl Sshd {
    /// `None`, with a word about it, where there is no `sshd`.
    fn start(repo: &Repo) -> Option<Self> {
        if !Path::new(SSHD).exists() {
            eprintln!("left out: fetching over SSH ({SSHD} is not installed)");
            return None;
        }
        // As root it wants this folder; without the right to make it, sshd says so itself.
        let _ = fs::create_dir_all("/run/sshd");
        let dir = repo.folder().join("ssh");
        fs::create_dir(&dir).unwrap();
        keygen(&dir.join("host"), "ed25519");
        keygen(&dir.join("user"), "ed25519");
        keygen(&dir.join("stranger"), "ed25519");
        fs::copy(dir.join("user.pub"), dir.join("authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {dir}/host\nPidFile none\nStrictModes no\nUsePAM no\n\
             AuthorizedKeysFile {dir}/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n",
            dir = dir.display()
        );
        fs::write(dir.join("sshd_config"), settings).unwrap();
        let mut command = Command::new(SSHD);
        command.args(["-D", "-e", "-f"]).arg(dir.join("sshd_config"));
        let log = fs::File::create(dir.join("log")).unwrap();
        let sshd = Self { process: command.stdin(Stdio::null()).stderr(log).spawn().unwrap(), port, dir };
        for _ in 0..200 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(sshd);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("sshd did not start: {}", fs::read_to_string(sshd.dir.join("log")).unwrap());
    }

    /// What known_hosts files say of this server, or of another with this key.
    fn known(&self, key: &str) -> String {
        let public = fs::read_to_string(self.dir.join(key).with_extension("pub")).unwrap();
        format!("[127.0.0.1]:{} {public}", self.port)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.dir.join(name), text).unwrap();
        self.dir.join(name)
    }

    fn source(&self, repo: &Repo, key: &str, known_hosts: &Path) -> SourceConfig {
        let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
        SourceConfig {
            url: format!("ssh://{}@127.0.0.1:{}{}", user.trim(), self.port, repo.origin_path().display()),
            state_dir: repo.state_dir(),
            credentials: Credentials {
                ssh_key: Some(self.dir.join(key)),
                known_hosts: Some(known_hosts.to_owned()),
                ..Credentials::default()
            },
            ..SourceConfig::default()
        }
    }
}

#[test]
fn a_known_host_and_an_accepted_key() {
    let repo = Repo::new();
    let first = repo.commit_file("a.yaml", "1");
    repo.push();
    let Some(sshd) = Sshd::start(&repo) else { return };
    let known = sshd.write("known", &sshd.known("host"));
    let mut mirror = Mirror::open(&sshd.source(&repo, "user", &known)).unwrap();
    let log = || fs::read_to_string(sshd.dir.join("log")).unwrap();
    let fetched = mirror.fetch().unwrap_or_else(|error| panic!("{}\n{}", chain(&error), log()));
    assert_eq!(fetched.tip, id(first));
    let second = repo.commit_file("a.yaml", "2");
    repo.push();
    assert_eq!(mirror.fetch().unwrap().tip, id(second));

    let hashed = sshd.write("hashed", &sshd.known("host"));
    let made = Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(&hashed).output().unwrap();
    assert!(made.status.success() && fs::read_to_string(&hashed).unwrap().starts_with("|1|"));
    Mirror::open(&sshd.source(&repo, "user", &hashed)).unwrap().fetch().unwrap();
}

#[test]
fn an_unknown_a_changed_and_a_revoked_host_are_refused() {
    let repo = Repo::new();
    repo.commit_file("a.yaml", "1");
    repo.push();
    let Some(sshd) = Sshd::start(&repo) else { return };
    let print = Command::new("ssh-keygen").arg("-lf").arg(sshd.dir.join("host.pub")).output().unwrap();
    let print = String::from_utf8(print.stdout).unwrap();
    let fetch = |text: &str| {
        let known = sshd.write("known", text);
        let error = Mirror::open(&sshd.source(&repo, "user", &known)).unwrap().fetch().unwrap_err();
        let expected = print.split_whitespace().nth(1).unwrap();
        assert!(error.to_string().contains(expected), "{error}: {expected}");
        error
    };
    let error = fetch("");
    assert!(matches!(error, GitError::HostKeyUnknown { .. }), "{error:?}");
    assert!(error.hint().contains(&format!("ssh-keyscan -p {} 127.0.0.1", sshd.port)), "{}", error.hint());
    let error = fetch(&format!("# one\n{}", sshd.known("stranger")));
    assert!(matches!(error, GitError::HostKeyChanged { line: 2, .. }), "{error:?}");
    let error = fetch(&format!("{}@revoked {}", sshd.known("host"), sshd.known("host")));
    assert!(matches!(error, GitError::HostKeyRevoked { line: 2, .. }), "{error:?}");
}

#[test]
fn a_key_that_is_not_accepted_is_tried_once() {
    let repo = Repo::new();
    repo.commit_file("a.yaml", "1");
    repo.push();
    let Some(sshd) = Sshd::start(&repo) else { return };
    let known = sshd.write("known", &sshd.known("host"));
    let error = Mirror::open(&sshd.source(&repo, "stranger", &known)).unwrap().fetch().unwrap_err();
    assert!(matches!(&error, GitError::AuthFailed { tried, .. } if tried.contains("stranger")), "{error:?}");
    let error = Mirror::open(&sshd.source(&repo, "missing", &known)).unwrap().fetch().unwrap_err();
    assert!(matches!(error, GitError::AuthFailed { .. } | GitError::Unreachable { .. }), "{error:?}");
}
