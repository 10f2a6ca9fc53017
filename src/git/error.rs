//! What can go wrong between the daemon and a Git repository, one variant per thing that was being done.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use thiserror::Error;

use crate::model::printable;
use crate::model::{CommitId, WorkloadId};

/// Longest cause that is kept, in characters: a server may send a page of HTML instead of a reason.
const CAUSE_LIMIT: usize = 500;

/// Why something could not be done with a repository.
///
/// No text of an error holds a credential: URLs are shown without their user information, and what libraries or servers said
/// is cleaned before it becomes a [`Cause`].
#[derive(Debug, Error)]
pub enum GitError {
    /// The repository's address is refused before anything is done with it.
    #[error("the repository address {shown} cannot be used: {why}")]
    BadUrl {
        /// The address without credentials.
        shown: String,
        /// What is wrong with it.
        why: String,
    },
    /// The branch's name is refused before anything is done with it.
    #[error("{branch:?} is no branch name")]
    BadBranch {
        /// The name as given.
        branch: String,
    },
    /// The configured path is refused before anything is done with it.
    #[error("{path:?} is no path inside a repository")]
    BadPath {
        /// The path as given.
        path: String,
    },
    /// Neither `PHASELINE_STATE_DIR` nor `XDG_STATE_HOME` nor a home folder is set.
    #[error("no folder to keep state in")]
    NoStateDir,
    /// The state folder could not be made, read or written.
    #[error("cannot use {}", path.display())]
    State {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// Another process has been fetching into the same mirror for too long.
    #[error("another process has held {} for {seconds} s", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The mirror could not be opened, made or written.
    #[error("cannot use the mirror {}", path.display())]
    Mirror {
        /// The mirror's folder.
        path: PathBuf,
        /// What libgit2 said.
        #[source]
        cause: Cause,
    },
    /// A credential could not be read.
    #[error("cannot read the credential file {}", path.display())]
    Credential {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The source could not be reached.
    #[error("cannot reach {url}")]
    Unreachable {
        /// The source.
        url: String,
        /// What the network said.
        #[source]
        cause: Cause,
    },
    /// The source kept silent for too long, or took too long altogether.
    #[error("{url} took longer than {seconds} s")]
    TimedOut {
        /// The source.
        url: String,
        /// The limit that was passed.
        seconds: u64,
    },
    /// Too many fetches hang on sources that neither answer nor close.
    #[error("{count} fetches hang; no further one is started")]
    Stalled {
        /// How many.
        count: usize,
    },
    /// The source sends more than the limit.
    #[error("{url} sends more than {limit} bytes")]
    TooLarge {
        /// The source.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The source refused every credential there was, or wanted one and there was none.
    #[error("{url} refused access ({tried})")]
    AuthFailed {
        /// The source.
        url: String,
        /// Which credentials were tried, by kind.
        tried: String,
        /// What the source said.
        #[source]
        cause: Cause,
    },
    /// The SSH server's key is in no known_hosts file.
    #[error("the {kind} key of {host} is unknown: {fingerprint}")]
    HostKeyUnknown {
        /// The host, with its port where it is not 22.
        host: String,
        /// The key's type, as known_hosts files spell it.
        kind: String,
        /// `SHA256:` and the digest, as `ssh-keygen -l` prints it.
        fingerprint: String,
        /// The types of keys that are known of this host.
        known: Vec<String>,
    },
    /// The SSH server shows another key than the one that is known.
    #[error("the {kind} key of {host} has changed to {fingerprint}; {} line {line} has another", file.display())]
    HostKeyChanged {
        /// The host, with its port where it is not 22.
        host: String,
        /// The key's type, as known_hosts files spell it.
        kind: String,
        /// `SHA256:` and the digest of the key it showed.
        fingerprint: String,
        /// The file with the key that was expected.
        file: PathBuf,
        /// The line in it, counted from 1.
        line: usize,
    },
    /// The SSH server's key is marked `@revoked`.
    #[error("the key of {host} is revoked: {fingerprint}, {} line {line}", file.display())]
    HostKeyRevoked {
        /// The host, with its port where it is not 22.
        host: String,
        /// `SHA256:` and the digest.
        fingerprint: String,
        /// The file that says so.
        file: PathBuf,
        /// The line in it, counted from 1.
        line: usize,
    },
    /// No secure connection could be made.
    #[error("no secure connection to {url}")]
    Tls {
        /// The source.
        url: String,
        /// What OpenSSL said.
        #[source]
        cause: Cause,
    },
    /// The source sends its clients to another host; credentials are not taken there.
    #[error("{url} redirects to another place")]
    Redirected {
        /// The source.
        url: String,
        /// From where to where.
        #[source]
        cause: Cause,
    },
    /// There is something at the address, but no Git repository that may be read.
    #[error("no repository at {url}")]
    NotARepository {
        /// The source.
        url: String,
        /// What was found.
        #[source]
        cause: Cause,
    },
    /// The repository has no work tree: it is bare.
    #[error("{url} has no work tree")]
    NoWorkTree {
        /// The repository.
        url: String,
    },
    /// A local repository belongs to somebody else.
    #[error("{url} belongs to another user")]
    NotOwner {
        /// The source.
        url: String,
        /// What libgit2 said.
        #[source]
        cause: Cause,
    },
    /// The repository uses a format that libgit2 does not read.
    #[error("{url} has a format that cannot be read")]
    Unsupported {
        /// The source.
        url: String,
        /// Which.
        #[source]
        cause: Cause,
    },
    /// The source has no such branch.
    #[error("{url} has no branch {branch}")]
    BranchMissing {
        /// The source.
        url: String,
        /// The branch, or `HEAD` where the remote's own choice leads nowhere.
        branch: String,
        /// Some branches that there are, at most ten.
        others: Vec<String>,
    },
    /// The source has no branch at all.
    #[error("{url} has no commit yet")]
    Empty {
        /// The source.
        url: String,
    },
    /// An object is missing or damaged, in the mirror or at the source.
    #[error("the copy of the repository is damaged at {object}")]
    RepositoryCorrupt {
        /// The object's id, or what else was looked for.
        object: String,
        /// What libgit2 said.
        #[source]
        cause: Cause,
    },
    /// An object of a repository that is read in place is missing or damaged.
    #[error("cannot read object {object} of {}", path.display())]
    Unreadable {
        /// The repository.
        path: PathBuf,
        /// The object's id.
        object: String,
        /// What libgit2 said.
        #[source]
        cause: Cause,
    },
    /// The index of a repository that is read in place cannot be read as one tree.
    #[error("cannot read the index of {}", path.display())]
    Index {
        /// The repository.
        path: PathBuf,
        /// What libgit2 said, or which paths are in conflict.
        #[source]
        cause: Cause,
    },
    /// Nothing was fetched yet, so there is no tip to speak of.
    #[error("nothing was fetched yet")]
    NoTip,
    /// The configured path is not in the commit's tree, or is no folder there.
    #[error("commit {} has no folder {path}", commit.short())]
    PathMissing {
        /// Some folders that there are in its place, at most ten.
        others: Vec<String>,
        /// The commit.
        commit: CommitId,
        /// The path.
        path: String,
    },
    /// The path holds more files or folders than the limit.
    #[error("commit {} has more than {limit} {what} below the path", commit.short())]
    TooMany {
        /// The commit.
        commit: CommitId,
        /// `manifest files` or `folders`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The files below the path are larger together than the limit.
    #[error("commit {} has manifests of more than {limit} bytes", commit.short())]
    TotalTooLarge {
        /// The commit.
        commit: CommitId,
        /// The limit in bytes.
        limit: u64,
    },
    /// One object is larger than the limit.
    #[error("object {object} has {size} bytes, the limit is {limit}")]
    ObjectTooLarge {
        /// The object's id.
        object: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// No commit goes by this name.
    #[error("no commit {rev:?} in the branch's history")]
    UnknownRevision {
        /// The name as given.
        rev: String,
    },
    /// Several objects begin with these digits.
    #[error("{rev:?} is the beginning of several ids")]
    AmbiguousRevision {
        /// The digits as given.
        rev: String,
    },
    /// A manifest of the history says another thing each time it is read.
    #[error("the history of {workload} cannot be put together: a manifest of it is never what it was")]
    Unsteady {
        /// Whose history.
        workload: WorkloadId,
    },
    /// A thread could not be started, or broke.
    #[error("a thread that reads the repository broke off")]
    Worker {
        /// What is known of it.
        #[source]
        cause: Cause,
    },
    /// A local repository's settings cannot be read or written.
    #[error("cannot use the settings of {}", path.display())]
    Settings {
        /// The repository.
        path: PathBuf,
        /// What libgit2 said.
        #[source]
        cause: Cause,
    },
    /// A local repository cannot be watched for pushes.
    #[error("cannot watch {} for pushes", path.display())]
    Watch {
        /// The folder.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: Cause,
    },
}

impl GitError {
    /// What to do about it; empty where the message says it all.
    pub fn hint(&self) -> String {
        match self {
            Self::BadUrl { .. } => "use a path, or file://, http://, https://, ssh:// or user@host:path".into(),
            Self::NoStateDir => "set PHASELINE_STATE_DIR".into(),
            Self::AuthFailed { .. } => {
                "check the token file, the SSH key and agent or git's credential helper, and that the account may read it".into()
            }
            Self::HostKeyUnknown { host, known, kind, .. } => {
                let (name, port) = split_port(host);
                let seen = match known.as_slice() {
                    [] => String::new(),
                    types => format!("known of this host: {}, not {kind}; ", types.join(", ")),
                };
                format!("{seen}compare the fingerprint, then: ssh-keyscan{port} {name} >> ~/.ssh/known_hosts")
            }
            Self::HostKeyChanged { host, file, .. } => {
                let name = if split_port(host).1.is_empty() { host.clone() } else { format!("'{host}'") };
                format!(
                    "somebody may be listening in; if the key was replaced on purpose: ssh-keygen -R {name} -f {}",
                    file.display()
                )
            }
            Self::Redirected { .. } => "use the address it redirects to".into(),
            Self::NoWorkTree { .. } => "it is a bare repository: name a clone of it with --repo, or a commit".into(),
            Self::NotARepository { .. } => "hosts also answer so when a credential is missing".into(),
            Self::NotOwner { .. } => "run as its owner, or add it to safe.directory in ~/.gitconfig".into(),
            Self::Unsupported { .. } => "a repository with SHA-1 ids and files as references is needed".into(),
            Self::BranchMissing { others, .. } | Self::PathMissing { others, .. } if !others.is_empty() => {
                format!("there are: {}", others.join(", "))
            }
            Self::Empty { .. } => "push a first commit".into(),
            Self::State { cause, .. } => match cause.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there, or choose another --state-dir".into(),
                ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
                    "choose a --state-dir that may be written to".into()
                }
                _ => String::new(),
            },
            Self::RepositoryCorrupt { .. } => "the next fetch makes a new copy".into(),
            Self::Unreadable { .. } => "`git fsck` tells more; a partial clone lacks objects until they are fetched".into(),
            Self::Stalled { .. } => "restart the process".into(),
            Self::TooMany { .. } | Self::TotalTooLarge { .. } => "choose a smaller folder as the path".into(),
            Self::UnknownRevision { .. } => "give a branch, a tag, HEAD~2 or at least four digits of an id".into(),
            Self::AmbiguousRevision { .. } => "give more digits".into(),
            Self::BadBranch { .. }
            | Self::BadPath { .. }
            | Self::Locked { .. }
            | Self::Mirror { .. }
            | Self::Credential { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::TooLarge { .. }
            | Self::HostKeyRevoked { .. }
            | Self::Tls { .. }
            | Self::BranchMissing { .. }
            | Self::NoTip
            | Self::PathMissing { .. }
            | Self::ObjectTooLarge { .. }
            | Self::Unsteady { .. }
            | Self::Worker { .. }
            | Self::Index { .. }
            | Self::Settings { .. }
            | Self::Watch { .. } => String::new(),
        }
    }
}

/// `[host]:port` as `host` and ` -p port`; a plain host with an empty second half.
fn split_port(host: &str) -> (&str, String) {
    match host.strip_prefix('[').and_then(|rest| rest.rsplit_once("]:")) {
        Some((name, port)) => (name, format!(" -p {port}")),
        None => (host, String::new()),
    }
}

/// What a library or a server said: one line of at most 500 characters, without control characters and known secrets.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Cause(String);

impl Cause {
    /// Cleans a text.
    pub fn new(text: &str) -> Self {
        Self(clean(text.trim(), CAUSE_LIMIT))
    }

    /// Cleans a text in which a secret may occur.
    pub(crate) fn without(text: &str, secrets: &[String]) -> Self {
        let hidden = secrets
            .iter()
            .filter(|secret| !secret.is_empty())
            .fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"));
        Self::new(&hidden)
    }
}

impl From<&git2::Error> for Cause {
    fn from(error: &git2::Error) -> Self {
        Self::new(error.message())
    }
}

/// One line without control characters (a terminal would obey them), cut after so many characters.
pub(crate) fn clean(text: &str, limit: usize) -> String {
    let shown = |c: char| if printable::steers(c) { ' ' } else { c };
    let mut out: String = text.chars().take(limit).map(shown).collect();
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}
