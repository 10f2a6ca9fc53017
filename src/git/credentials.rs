//! With what a source is asked for access, and in which order; nothing is offered twice.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use git2::{Cred, CredentialType, ErrorClass, ErrorCode};

use super::error::GitError;
use super::source::{Source, Transport};

/// Largest token file, in bytes: tokens are some hundred characters, a signed one a few thousand.
const TOKEN_LIMIT: u64 = 64 << 10;
/// The user name beside a token where none is given: GitHub's; GitLab, Gitea and Bitbucket take any.
const TOKEN_USER: &str = "x-access-token";
/// The fewest characters of a query's value that are taken for a secret: shorter ones are words of any message.
const LEAST_SECRET: usize = 6;
/// The user name over SSH where none is given: what every Git host uses.
const SSH_USER: &str = "git";
/// The keys that `ssh` would try by itself, in its order.
const DEFAULT_KEYS: [&str; 3] = ["id_rsa", "id_ecdsa", "id_ed25519"];

/// Where credentials are found. All of it is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// http(s): a file with a token or password; read anew at each fetch, white space around it is dropped.
    pub token_file: Option<PathBuf>,
    /// The user name; else the URL's, else `x-access-token` beside a token and `git` over SSH.
    pub username: Option<String>,
    /// ssh: a private key without a passphrase; else the agent, else the keys in `~/.ssh`.
    pub ssh_key: Option<PathBuf>,
    /// ssh: the known host keys; else `~/.ssh/known_hosts` and `/etc/ssh/ssh_known_hosts`.
    pub known_hosts: Option<PathBuf>,
}

/// A text that is never shown.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// One thing to offer.
#[derive(Debug)]
enum Offer {
    Password(Secret, Secret),
    Helper,
    Agent,
    Key(PathBuf),
}

/// What is offered to one source in one fetch, each thing once.
#[derive(Debug)]
pub(crate) struct Offers {
    user: Option<String>,
    left: Vec<Offer>,
    tried: Vec<String>,
    secrets: Vec<String>,
    /// Where alone a password may go; none where that is not told by an address.
    origin: Option<Origin>,
}

/// Scheme, host and port of an address over http: what a credential is for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin(String);

impl Origin {
    /// None where it is no http address.
    fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let own = match scheme.as_str() {
            "http" => ":80",
            "https" => ":443",
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
        let host = host.strip_suffix(own).unwrap_or(&host);
        Some(Self(format!("{scheme}://{}", host.trim_end_matches(':'))))
    }
}

impl Offers {
    /// Collects what there is, and reads the token file.
    pub(crate) fn collect(source: &Source, given: &Credentials) -> Result<Self, GitError> {
        let user = given.username.clone().or_else(|| source.user.as_ref().map(|user| user.reveal().to_owned()));
        let origin = Origin::of(&source.fetch_url);
        let mut offers = Self { user, left: Vec::new(), tried: Vec::new(), secrets: Vec::new(), origin };
        match &source.transport {
            Transport::Local(_) => {}
            Transport::Http => offers.for_http(source, given)?,
            Transport::Ssh { .. } => {
                // The host's name for the account is part of the address; a flag does not change it.
                offers.user = source.user.as_ref().map(|user| user.reveal().to_owned()).or(offers.user);
                offers.for_ssh(given);
            }
        }
        offers.left.reverse();
        Ok(offers)
    }

    fn for_http(&mut self, source: &Source, given: &Credentials) -> Result<(), GitError> {
        let password = match (&given.token_file, &source.password) {
            (Some(file), _) => Some(Secret(read_token(file)?)),
            (None, Some(password)) => Some(password.clone()),
            (None, None) => None,
        };
        self.secrets.extend(source.user.iter().chain(&source.password).chain(&password).map(|s| s.reveal().to_owned()));
        // What a host takes in a query: `?private_token=..`.
        let query = source.fetch_url.split_once('?').map_or("", |(_, query)| query);
        let values = query.split(['&', ';']).filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
        self.secrets.extend(values.filter(|value| value.len() >= LEAST_SECRET).map(str::to_owned));
        // `git` and `x-access-token` are words, not secrets; hiding them would garble every message.
        self.secrets.retain(|secret| !matches!(secret.as_str(), "git" | TOKEN_USER | "oauth2"));
        match password {
            Some(password) => {
                let user = self.user.clone().unwrap_or_else(|| TOKEN_USER.to_owned());
                self.left.push(Offer::Password(Secret(user), password));
            }
            None => {
                self.left.push(Offer::Helper);
                if let Some(user) = &source.user {
                    // `https://TOKEN@host`: the token alone, as hosts take it.
                    self.left.push(Offer::Password(user.clone(), Secret(String::new())));
                }
            }
        }
        Ok(())
    }

    fn for_ssh(&mut self, given: &Credentials) {
        if let Some(key) = &given.ssh_key {
            self.left.push(Offer::Key(key.clone()));
            return;
        }
        if agent_answers() {
            self.left.push(Offer::Agent);
        }
        if let Some(home) = std::env::home_dir() {
            let keys = DEFAULT_KEYS.iter().map(|name| home.join(".ssh").join(name));
            self.left.extend(keys.filter(|key| needs_no_passphrase(key)).map(Offer::Key));
        }
    }

    /// Answers libgit2's question for a credential.
    pub(crate) fn answer(
        &mut self,
        url: &str,
        allowed: CredentialType,
        config: Option<&git2::Config>,
    ) -> Result<Cred, git2::Error> {
        // libgit2 follows a redirect to another port of the host, and to https, and asks for the same credential there.
        if let Some(origin) = self.origin.as_ref().filter(|origin| Origin::of(url).as_ref() != Some(origin)) {
            let place = Origin::of(url).map_or_else(|| "another place".to_owned(), |Origin(place)| place);
            let why = format!("cannot redirect from {} to {place} with a credential", origin.0);
            return Err(git2::Error::new(ErrorCode::Auth, ErrorClass::Callback, why));
        }
        let ssh_user = self.user.clone().unwrap_or_else(|| SSH_USER.to_owned());
        if allowed.contains(CredentialType::USERNAME) && !allowed.contains(CredentialType::USER_PASS_PLAINTEXT) {
            return Cred::username(&ssh_user);
        }
        while let Some(offer) = self.left.pop() {
            match offer {
                Offer::Password(user, password) if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) => {
                    self.tried.push("a password or token".into());
                    return Cred::userpass_plaintext(user.reveal(), password.reveal());
                }
                Offer::Helper if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) => {
                    self.tried.push("git's credential helper".into());
                    let found = config.map(|config| Cred::credential_helper(config, url, self.user.as_deref()));
                    if let Some(Ok(credential)) = found {
                        return Ok(credential);
                    }
                }
                Offer::Agent if allowed.contains(CredentialType::SSH_KEY) => {
                    self.tried.push("the SSH agent".into());
                    return Cred::ssh_key_from_agent(&ssh_user);
                }
                Offer::Key(path) if allowed.contains(CredentialType::SSH_KEY) => {
                    self.tried.push(path.display().to_string());
                    return Cred::ssh_key(&ssh_user, None, &path, None);
                }
                Offer::Password(..) | Offer::Helper | Offer::Agent | Offer::Key(_) => {}
            }
        }
        Err(git2::Error::new(ErrorCode::Auth, ErrorClass::Callback, "no credential is left to try"))
    }

    /// The address as the user's Git configuration rewrites it (`url.*.insteadOf`): that is where they are for.
    pub(crate) fn go_to(&mut self, url: &str) {
        self.origin = Origin::of(url);
    }

    /// What was offered, in words.
    pub(crate) fn tried(&self) -> String {
        match self.tried.as_slice() {
            [] => "there was no credential to offer".into(),
            tried => format!("tried {}", tried.join(", ")),
        }
    }

    /// Texts that must not occur in any message.
    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }
}

fn read_token(path: &Path) -> Result<String, GitError> {
    let failed = |cause| GitError::Credential { path: path.to_owned(), cause };
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(TOKEN_LIMIT + 1).read_to_string(&mut text)).map_err(failed)?;
    let token = text.trim();
    if text.len() as u64 > TOKEN_LIMIT || token.is_empty() || token.chars().any(char::is_control) {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "it does not hold one token")));
    }
    Ok(token.to_owned())
}

/// Whether a key can be used as it is: libgit2 gives up at the first that it cannot decrypt, so such keys are not offered.
fn needs_no_passphrase(path: &Path) -> bool {
    let mut text = String::new();
    if !File::open(path).is_ok_and(|file| file.take(TOKEN_LIMIT).read_to_string(&mut text).is_ok()) {
        return false;
    }
    let mut lines = text.lines();
    if lines.next().is_some_and(|line| line.contains("BEGIN OPENSSH PRIVATE KEY")) {
        // "openssh-key-v1", a zero byte, and the cipher's name: all in the first line of base64.
        let head = lines.next().and_then(|line| STANDARD_NO_PAD.decode(line.get(..64)?).ok()).unwrap_or_default();
        return head.get(15..23) == Some(b"\0\0\0\x04none");
    }
    text.contains("PRIVATE KEY") && !text.contains("ENCRYPTED")
}

/// Whether an SSH agent listens: asked first, because libgit2 gives up where none does.
fn agent_answers() -> bool {
    std::env::var_os("SSH_AUTH_SOCK").is_some_and(|path| std::os::unix::net::UnixStream::connect(path).is_ok())
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn a_port_and_a_scheme_make_another_origin() {
        let same = |left: &str, right: &str| Origin::of(left).is_some() && Origin::of(left) == Origin::of(right);
        for url in ["https://h/x.git", "https://H:443/y", "HTTPS://ann:word@h", "https://h:/z?a=@b"] {
            assert!(same("https://h/", url), "{url}");
        }
        for url in ["http://h/", "https://h:8443/", "https://h.example/", "https://i/", "https://h@i/", "ssh://h/"] {
            assert!(!same("https://h/", url), "{url}");
        }
        assert!(same("http://[::1]:80/x", "http://[::1]/"));
        assert_eq!(Origin::of("git@h:x"), None);
    }
}
