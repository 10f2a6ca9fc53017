//! Where manifests come from: a repository's address, checked, and what of it may be shown.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf, absolute};

use sha2::{Digest, Sha256};

use super::address;
use super::credentials::{Credentials, Secret};
use super::error::{GitError, clean};

/// Longest address, in bytes: no host takes a longer URL.
const ADDRESS_LIMIT: usize = 4096;
/// Bytes of the digest in a folder's name: 48 bits keep a handful of sources apart.
const FOLDER_DIGEST_BYTES: usize = 6;
/// Longest readable part of a folder's name, in characters.
const FOLDER_TAIL: usize = 40;

/// Which branch of which repository, and which part of its tree.
#[derive(Clone, Default)]
pub struct SourceConfig {
    /// A path, a `file://`, `http://`, `https://` or `ssh://` URL, or `user@host:path`.
    ///
    /// User name and password in a URL are used as a credential and shown nowhere.
    pub url: String,
    /// The branch; `None` is the one that the remote's `HEAD` names.
    pub branch: Option<String>,
    /// The folder inside the repository, `/` between its parts; empty is all of it.
    pub path: String,
    /// Where mirrors are kept, see [`state_dir`].
    pub state_dir: PathBuf,
    /// With what access is asked for.
    pub credentials: Credentials,
}

impl fmt::Debug for SourceConfig {
    /// Without the user information of the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Source::parse(self).map_or_else(|_| "(invalid)".to_owned(), |source| source.shown);
        f.debug_struct("SourceConfig")
            .field("url", &shown)
            .field("branch", &self.branch)
            .field("path", &self.path)
            .field("state_dir", &self.state_dir)
            .field("credentials", &self.credentials)
            .finish()
    }
}

impl SourceConfig {
    /// The repository's folder where the address is a local one.
    ///
    /// # Errors
    /// [`GitError::BadUrl`] and its like, for an address that is refused.
    pub fn local(&self) -> Result<Option<PathBuf>, GitError> {
        Ok(match Source::parse(self)?.transport {
            Transport::Local(path) => Some(path),
            Transport::Http | Transport::Ssh { .. } => None,
        })
    }
}

/// `$PHASELINE_STATE_DIR`, else `$XDG_STATE_HOME/phaseline`, else `$HOME/.local/state/phaseline`.
///
/// # Errors
/// [`GitError::NoStateDir`] where none of them is set.
pub fn state_dir() -> Result<PathBuf, GitError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PHASELINE_STATE_DIR")
        .or_else(|| set("XDG_STATE_HOME").map(|dir| dir.join("phaseline")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/state/phaseline")))
        .ok_or(GitError::NoStateDir)
}

/// How a source is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transport {
    Local(PathBuf),
    Http,
    Ssh { host: String, port: Option<u16> },
}

/// A checked source.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// How it is spoken to.
    pub(crate) transport: Transport,
    /// The address for libgit2, without a password.
    pub(crate) fetch_url: String,
    /// The address as it may be shown.
    pub(crate) shown: String,
    /// The user name of the URL.
    pub(crate) user: Option<Secret>,
    /// The password of the URL.
    pub(crate) password: Option<Secret>,
    /// The branch without `refs/heads/`.
    pub(crate) branch: Option<String>,
    /// The parts of the folder's path.
    pub(crate) path: Vec<String>,
}

impl Source {
    /// Checks a source.
    pub(crate) fn parse(config: &SourceConfig) -> Result<Self, GitError> {
        let url = config.url.as_str();
        let shown_on_error = address::shown(url);
        let bad = |why: &str| GitError::BadUrl { shown: shown_on_error.clone(), why: why.to_owned() };
        if url.is_empty() || url.len() > ADDRESS_LIMIT {
            return Err(bad("it is empty or too long"));
        }
        if url.chars().any(char::is_control) {
            return Err(bad("it holds control characters"));
        }
        if url.starts_with('-') {
            return Err(bad("it looks like an option"));
        }
        let mut source = match url.split_once("://") {
            Some((scheme, rest)) => with_scheme(&scheme.to_ascii_lowercase(), rest).map_err(|why| bad(&why))?,
            // Neither a path nor a host: taken for either, what stands before the at sign would be shown.
            None if url.starts_with("//") && url.contains('@') || has_half_a_scheme(url) => {
                return Err(bad("its scheme is not followed by two slashes"));
            }
            None => without_scheme(url).map_err(|why| bad(&why))?,
        };
        source.branch = config.branch.as_deref().map(branch).transpose()?;
        source.path = path_parts(&config.path)?;
        Ok(source)
    }

    /// A repository that is read where it lies.
    pub(crate) fn in_place(dir: &Path, path: &str) -> Result<Self, GitError> {
        let text = dir.to_string_lossy().into_owned();
        Ok(Self {
            transport: Transport::Local(dir.to_owned()),
            fetch_url: text.clone(),
            shown: text,
            user: None,
            password: None,
            branch: None,
            path: path_parts(path)?,
        })
    }

    /// The folder of this source's mirror: a digest of address and branch, and a part that people recognise.
    ///
    /// One folder holds one branch, so that two daemons on two branches never undo each other's last good state.
    pub(crate) fn folder(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.shown.as_bytes());
        digest.update([0]);
        digest.update(self.branch.as_deref().unwrap_or("HEAD").as_bytes());
        let mut name = String::new();
        for byte in digest.finalize().iter().take(FOLDER_DIGEST_BYTES) {
            let _ = write!(name, "{byte:02x}");
        }
        let last = self.shown.trim_end_matches('/').trim_end_matches("/.git").trim_end_matches(".git");
        let last = last.rsplit(['/', ':']).next().unwrap_or_default();
        let tail: String = last
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .take(FOLDER_TAIL)
            .collect();
        format!("{name}-{}", if tail.is_empty() { "repository" } else { &tail })
    }
}

fn local(path: &Path) -> Result<Source, String> {
    let path = absolute(path).map_err(|error| error.to_string())?;
    let text = path.to_str().ok_or("its path is no UTF-8")?.to_owned();
    Ok(Source {
        transport: Transport::Local(path),
        fetch_url: text.clone(),
        shown: text,
        user: None,
        password: None,
        branch: None,
        path: Vec::new(),
    })
}

/// `http:/host`, `https:host`.
fn has_half_a_scheme(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    matches!(scheme.as_str(), "http" | "https" | "ssh" | "file") && url.len() > scheme.len()
}

fn with_scheme(scheme: &str, rest: &str) -> Result<Source, String> {
    if !matches!(scheme, "file" | "http" | "https" | "ssh") {
        return Err(format!("{:?} is not among file, http, https and ssh", clean(scheme, 20)));
    }
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    if scheme == "file" {
        return match authority {
            "" | "localhost" if path.len() > 1 => local(Path::new(&percent_decoded(path)?)),
            "" | "localhost" => Err("it has no path".into()),
            _ => Err("a file URL has no host".into()),
        };
    }
    let (userinfo, host_port) = authority.rsplit_once('@').map_or((None, authority), |(user, rest)| (Some(user), rest));
    let (host, port) = host_and_port(host_port)?;
    let (user, password) = match userinfo {
        None => (None, None),
        Some(text) => {
            let (user, password) = text.split_once(':').map_or((text, None), |(user, word)| (user, Some(word)));
            (Some(percent_decoded(user)?), password.map(percent_decoded).transpose()?)
        }
    };
    let user = user.filter(|user| !user.is_empty());
    let shown_path = path.split(['?', '#']).next().unwrap_or_default();
    let address = |user: &str, path: &str| match port {
        Some(port) => format!("{scheme}://{user}{host}:{port}{path}"),
        None => format!("{scheme}://{user}{host}{path}"),
    };
    let ssh_user = match (&user, scheme) {
        (Some(user), "ssh") => {
            checked_user(user)?;
            format!("{user}@")
        }
        _ => String::new(),
    };
    if scheme == "ssh" && path.trim_start_matches('/').starts_with('-') {
        return Err("its path looks like an option".into());
    }
    Ok(Source {
        transport: if scheme == "ssh" { Transport::Ssh { host: host.clone(), port } } else { Transport::Http },
        fetch_url: address(&ssh_user, path),
        shown: address(&ssh_user, shown_path),
        user: user.map(Secret::new),
        password: password.map(Secret::new),
        branch: None,
        path: Vec::new(),
    })
}

/// `user@host:path`, or a path.
fn without_scheme(text: &str) -> Result<Source, String> {
    if text.contains("::") && !text.starts_with(['/', '.', '[']) {
        return Err("transport helpers are not used".into());
    }
    let before_slash = text.find('/').map_or(text, |at| &text[..at]);
    let Some(colon) = before_slash.rfind(':').filter(|_| !text.starts_with(['/', '.'])) else {
        return local(Path::new(text));
    };
    let (authority, path) = (&text[..colon], &text[colon + 1..]);
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let (host, port) = host_and_port(host)?;
    if port.is_some() || path.is_empty() || path.starts_with('-') {
        return Err("it is neither a path nor user@host:path".into());
    }
    let user = user.unwrap_or("git");
    checked_user(user)?;
    let address = format!("{user}@{host}:{path}");
    Ok(Source {
        transport: Transport::Ssh { host, port: None },
        fetch_url: address.clone(),
        shown: address,
        user: Some(Secret::new(user.to_owned())),
        password: None,
        branch: None,
        path: Vec::new(),
    })
}

fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = match text.rfind(':') {
        Some(at) if !text[at..].contains(']') => (&text[..at], Some(&text[at + 1..])),
        _ => (text, None),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let fine = match bracketed {
        Some(inner) => !inner.is_empty() && inner.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.')),
        None => !host.is_empty() && !host.starts_with('-') && host.chars().all(plain),
    };
    if !fine {
        return Err("its host is no host name".into());
    }
    let port = match port {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| "its port is no port number".to_owned())?),
    };
    Ok((host.to_owned(), port))
}

fn checked_user(user: &str) -> Result<(), String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '~');
    if user.is_empty() || user.starts_with('-') || !user.chars().all(fine) {
        return Err("its user is no user name".into());
    }
    Ok(())
}

/// `%40` as `@`; no control characters may come out of it.
fn percent_decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err("a % in it is not followed by two digits".into()),
        }
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.chars().any(char::is_control))
        .ok_or_else(|| "it holds encoded control characters".into())
}

fn branch(name: &str) -> Result<String, GitError> {
    let short = name.strip_prefix("refs/heads/").unwrap_or(name);
    if short.starts_with('-') || short == "HEAD" || !git2::Reference::is_valid_name(&format!("refs/heads/{short}")) {
        return Err(GitError::BadBranch { branch: clean(name, 200) });
    }
    Ok(short.to_owned())
}

fn path_parts(path: &str) -> Result<Vec<String>, GitError> {
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
    if path.len() > ADDRESS_LIMIT || path.contains('\0') || parts.iter().any(|part| part == "..") {
        return Err(GitError::BadPath { path: clean(path, 200) });
    }
    Ok(parts)
}
