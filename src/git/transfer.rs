//! Downloads one branch into a mirror's object store, on a thread of its own that can be given up.
//!
//! libgit2's socket timeouts can only be set by unsafe calls, which this crate does without. So the download runs on a thread
//! that holds no lock and sets no reference that counts: when it makes no progress it is told to stop, and if it hangs in a system call it
//! is left behind. It can then do no more harm than add objects that nothing needs.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use git2::{
    AutotagOption, CertificateCheckStatus, Direction, ErrorClass, ErrorCode, FetchOptions, ObjectType, Oid,
    ProxyOptions, RemoteCallbacks, RemoteHead, RemoteRedirect, RemoteUpdateFlags, Repository, RepositoryOpenFlags,
};
use tracing::warn;

use super::address::shown;
use super::copy;
use super::credentials::Offers;
use super::error::{Cause, GitError, clean};
use super::fetch::Limits;
use super::known_hosts::{Verdict, fingerprint, key_type, look_up, spelled};
use super::source::{Source, Transport};

/// Most downloads of this process at once, hanging ones included.
const MAX_RUNNING: usize = 16;
/// How often the download is looked after.
const LOOK: Duration = Duration::from_millis(100);
/// How long a download that was told to stop may take before it is left behind.
const GRACE: Duration = Duration::from_secs(1);
/// Most branches that an error names.
const NAMED_BRANCHES: usize = 10;
/// Most tags that are remembered: they are for people to type, and hosts have some with a hundred thousand.
const MAX_TAGS: usize = 1_000;

/// What libgit2 says of a commit without a proper author or date.
const MALFORMED: &str = "failed to parse signature";

/// Where downloads put what they found, each in a folder of its own; nothing reads it but the one who waits for it.
pub(crate) const INCOMING: &str = "refs/phaseline-incoming/";

static SERIAL: AtomicU64 = AtomicU64::new(0);
/// Whether it was said that the user's configuration names another place.
static SAID_WHERE: AtomicBool = AtomicBool::new(false);
/// The folders that downloads of this process write into, those that hang included.
static RUNNING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is downloaded, and into where.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) dir: PathBuf,
    pub(crate) source: Source,
    pub(crate) offers: Offers,
    pub(crate) known_hosts: Vec<PathBuf>,
}

/// What was downloaded.
#[derive(Debug)]
pub(crate) struct Downloaded {
    pub(crate) branch: String,
    pub(crate) tip: Oid,
    /// Tags by their short names, with the objects they name at last.
    pub(crate) tags: Vec<(String, Oid)>,
}

/// What the thread and the one who looks after it tell each other.
#[derive(Debug, Default)]
struct Shared {
    ticks: AtomicU64,
    bytes: AtomicU64,
    too_large: AtomicBool,
    stop: AtomicBool,
}

/// Downloads within the limits.
pub(crate) fn run(job: Job, limits: Limits) -> Result<Downloaded, GitError> {
    let running = Running::start(job.dir.clone());
    if all_running().len() > MAX_RUNNING {
        return Err(GitError::Stalled { count: MAX_RUNNING });
    }
    let shared = Arc::new(Shared::default());
    let theirs = shared.clone();
    let (url, local) = (job.source.shown.clone(), matches!(job.source.transport, Transport::Local(_)));
    let (send, receive) = mpsc::channel();
    let work = move || {
        let _running = running;
        // The receiver may have given up; then nobody needs the answer.
        let _ = send.send(download(job, limits, &theirs));
    };
    thread::Builder::new()
        .name("git-fetch".into())
        .spawn(work)
        .map_err(|error| GitError::Worker { cause: Cause::new(&error.to_string()) })?;
    let started = Instant::now();
    let (mut ticks, mut moved, mut told) = (0, started, None::<(Instant, u64)>);
    loop {
        match receive.recv_timeout(LOOK) {
            Ok(result) => return result.map_err(|error| in_time(error, told, &url)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(GitError::Worker { cause: Cause::new("its thread ended without an answer") });
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        let seen = shared.ticks.load(Ordering::Relaxed);
        if seen != ticks {
            (ticks, moved) = (seen, now);
        }
        match told {
            Some((when, seconds)) if now - when > GRACE => return Err(GitError::TimedOut { url, seconds }),
            Some(_) => {}
            None if now - started > limits.total => told = Some((now, limits.total.as_secs())),
            // A local repository may count objects for long without a word.
            None if !local && now - moved > limits.idle => told = Some((now, limits.idle.as_secs())),
            None => {}
        }
        if told.is_some() {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// A download that failed because it was told to stop failed for lack of time.
fn in_time(error: GitError, told: Option<(Instant, u64)>, url: &str) -> GitError {
    match told {
        Some((_, seconds)) => GitError::TimedOut { url: url.to_owned(), seconds },
        None => error,
    }
}

/// Whether a download of this process into a folder is under way, or was left behind.
pub(crate) fn is_running(dir: &Path) -> bool {
    all_running().iter().any(|running| running == dir)
}

fn all_running() -> MutexGuard<'static, Vec<PathBuf>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a download for as long as its thread lives.
struct Running(PathBuf);

impl Running {
    fn start(dir: PathBuf) -> Self {
        all_running().push(dir.clone());
        Self(dir)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = all_running();
        if let Some(at) = running.iter().position(|dir| *dir == self.0) {
            running.swap_remove(at);
        }
    }
}

fn download(mut job: Job, limits: Limits, shared: &Shared) -> Result<Downloaded, GitError> {
    if let Transport::Local(path) = &job.source.transport
        && !path.exists()
    {
        let cause = Cause::new("there is no such file or folder");
        return Err(GitError::Unreachable { url: job.source.shown, cause });
    }
    let refusal = Mutex::new(None);
    let offers = Mutex::new(job.offers);
    let mut result = transfer(&job.dir, &job.source, &offers, &job.known_hosts, limits, shared, &refusal);
    if let (Err(Failure::Git(error)), Transport::Local(path)) = (&result, &job.source.transport)
        && error.message().contains(MALFORMED)
    {
        result = copy_local(path, &job.dir, &job.source, limits, shared).map_err(Failure::Git);
    }
    job.offers = offers.into_inner().unwrap_or_else(PoisonError::into_inner);
    result.map_err(|failure| match failure {
        Failure::Named(error) => *error,
        Failure::Git(error) => match refusal.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(refusal) => refusal,
            None if shared.too_large.load(Ordering::Relaxed) => {
                GitError::TooLarge { url: job.source.shown.clone(), limit: limits.bytes }
            }
            None => match no_room(&error, &job.source) {
                Some(cause) => GitError::State { path: job.dir, cause },
                None => explain(&error, &job.source, &job.offers),
            },
        },
    })
}

enum Failure {
    Git(git2::Error),
    Named(Box<GitError>),
}

impl From<git2::Error> for Failure {
    fn from(error: git2::Error) -> Self {
        Self::Git(error)
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        Self::Named(Box::new(error))
    }
}

/// Copies a local repository that holds a commit which libgit2's transport does not take.
fn copy_local(
    from: &Path,
    into: &Path,
    source: &Source,
    limits: Limits,
    shared: &Shared,
) -> Result<Downloaded, git2::Error> {
    let none: [&str; 0] = [];
    let repo = Repository::open_ext(from, RepositoryOpenFlags::NO_SEARCH, none)?;
    let reference = match &source.branch {
        Some(branch) => repo.find_reference(&format!("refs/heads/{branch}"))?,
        None => repo.find_reference("HEAD")?.resolve()?,
    };
    let name = reference.name()?.to_owned();
    let tip = reference.target().ok_or_else(|| git2::Error::from_str("the branch names no commit"))?;
    copy::copy(&repo, into, &[tip], &mut |bytes| {
        shared.ticks.fetch_add(1, Ordering::Relaxed);
        shared.bytes.store(bytes, Ordering::Relaxed);
        if bytes > limits.bytes {
            shared.too_large.store(true, Ordering::Relaxed);
        }
        bytes <= limits.bytes && !shared.stop.load(Ordering::Relaxed)
    })?;
    let mut tags = Vec::new();
    for tag in repo.references_glob("refs/tags/*")?.flatten().take(MAX_TAGS) {
        let target = tag.peel(ObjectType::Commit).map(|commit| commit.id()).ok().or_else(|| tag.target());
        let short = tag.name().ok().and_then(|name| name.strip_prefix("refs/tags/"));
        tags.extend(short.map(str::to_owned).zip(target));
    }
    Ok(Downloaded { branch: short_name(&name).unwrap_or(&name).to_owned(), tip, tags })
}

#[allow(clippy::too_many_arguments)]
fn transfer(
    dir: &Path,
    source: &Source,
    offers: &Mutex<Offers>,
    known_hosts: &[PathBuf],
    limits: Limits,
    shared: &Shared,
    refusal: &Mutex<Option<GitError>>,
) -> Result<Downloaded, Failure> {
    let repo = Repository::open_bare(dir)?;
    let config = repo.config().ok();
    let mut remote = repo.remote_anonymous(&source.fetch_url)?;
    if let Ok(rewritten) = remote.url()
        && rewritten != source.fetch_url
    {
        let place = shown(rewritten);
        if !SAID_WHERE.swap(true, Ordering::Relaxed) {
            warn!(repository = source.shown, "the Git configuration (url.*.insteadOf) sends fetches to {place}");
        }
        offers.lock().unwrap_or_else(PoisonError::into_inner).go_to(rewritten);
    }
    let callbacks = || {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.credentials(|url, _, allowed| {
            shared.ticks.fetch_add(1, Ordering::Relaxed);
            offers.lock().unwrap_or_else(PoisonError::into_inner).answer(url, allowed, config.as_ref())
        });
        callbacks.certificate_check(|cert, host| match cert.as_hostkey() {
            None => Ok(CertificateCheckStatus::CertificatePassthrough),
            Some(key) => match check_host(source, host, key.hostkey().unwrap_or_default(), known_hosts) {
                Ok(()) => Ok(CertificateCheckStatus::CertificateOk),
                Err(error) => {
                    *refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    Err(git2::Error::new(ErrorCode::Certificate, ErrorClass::Ssh, "the host key was refused"))
                }
            },
        });
        callbacks.sideband_progress(|_| {
            shared.ticks.fetch_add(1, Ordering::Relaxed);
            !shared.stop.load(Ordering::Relaxed)
        });
        callbacks.transfer_progress(|progress| {
            let bytes = progress.received_bytes() as u64;
            shared.ticks.fetch_add(1, Ordering::Relaxed);
            shared.bytes.store(bytes, Ordering::Relaxed);
            if bytes > limits.bytes {
                shared.too_large.store(true, Ordering::Relaxed);
            }
            bytes <= limits.bytes && !shared.stop.load(Ordering::Relaxed)
        });
        callbacks
    };
    let mut connection = remote.connect_auth(Direction::Fetch, Some(callbacks()), Some(proxy()))?;
    shared.ticks.fetch_add(1, Ordering::Relaxed);
    if connection.list()?.is_empty() {
        return Err(GitError::Empty { url: source.shown.clone() }.into());
    }
    let branch = match &source.branch {
        Some(branch) => Some(branch.clone()),
        None => connection.default_branch().ok().and_then(|name| Some(short_name(name.as_str().ok()?)?.to_owned())),
    };
    let Some(branch) = branch.filter(|branch| git2::Reference::is_valid_name(&format!("refs/heads/{branch}"))) else {
        return Err(no_branch("HEAD".into(), connection.list()?, source).into());
    };
    let incoming = format!("{INCOMING}{}-{}/{branch}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
    let mut options = FetchOptions::new();
    options
        .remote_callbacks(callbacks())
        .proxy_options(proxy())
        .download_tags(AutotagOption::None)
        .follow_redirects(RemoteRedirect::None)
        .update_fetchhead(false);
    connection.remote().download(&[format!("+refs/heads/{branch}:{incoming}").as_str()], Some(&mut options))?;
    connection.remote().update_tips(None, RemoteUpdateFlags::empty(), AutotagOption::None, None)?;
    let tip = match repo.find_reference(&incoming) {
        Ok(found) => found.target(),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    match tip {
        Some(tip) => Ok(Downloaded { branch, tip, tags: tags(connection.list()?, source) }),
        None => Err(no_branch(branch, connection.list()?, source).into()),
    }
}

/// There are references, but not the one that is wanted; without any branch the repository counts as empty.
fn no_branch(branch: String, heads: &[RemoteHead<'_>], source: &Source) -> GitError {
    let url = source.shown.clone();
    let Some(names) = names(heads, source) else {
        return GitError::BranchMissing { url, branch, others: Vec::new() };
    };
    let branches = names.iter().filter_map(|(name, _)| Some(clean(short_name(name)?, 100)));
    let others: Vec<String> = branches.take(NAMED_BRANCHES).collect();
    if others.is_empty() { GitError::Empty { url } } else { GitError::BranchMissing { url, branch, others } }
}

fn short_name(reference: &str) -> Option<&str> {
    reference.strip_prefix("refs/heads/")
}

/// Tags by their short names, with the commits they name, as far as that can be told without their objects.
fn tags(heads: &[RemoteHead<'_>], source: &Source) -> Vec<(String, Oid)> {
    let mut tags: Vec<(String, Oid)> = Vec::new();
    for (name, id) in names(heads, source).unwrap_or_default().into_iter().rev() {
        // `name^{}` comes after `name` and is the commit that an annotated tag names; seen from the end it is first.
        let Some(name) = name.strip_prefix("refs/tags/") else { continue };
        let name = name.strip_suffix("^{}").unwrap_or(name);
        if tags.last().is_none_or(|(last, _)| last != name) {
            tags.push((name.to_owned(), id));
        }
        if tags.len() >= MAX_TAGS {
            break;
        }
    }
    tags
}

/// The names of references, for people only: git2 panics where one is no UTF-8, and then there are none.
fn names(heads: &[RemoteHead<'_>], source: &Source) -> Option<Vec<(String, Oid)>> {
    static ODD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let odd = || ODD.lock().unwrap_or_else(PoisonError::into_inner);
    if odd().contains(&source.shown) {
        return None;
    }
    let read = || heads.iter().map(|head| (head.name().to_owned(), head.oid())).collect();
    let names = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).ok();
    if names.is_none() {
        // Once is enough: the panic is written to the log each time.
        odd().insert(source.shown.clone());
    }
    names
}

fn proxy<'a>() -> ProxyOptions<'a> {
    let mut proxy = ProxyOptions::new();
    proxy.auto();
    proxy
}

fn check_host(source: &Source, host: &str, key: &[u8], files: &[PathBuf]) -> Result<(), GitError> {
    let port = match &source.transport {
        Transport::Ssh { port, .. } => *port,
        Transport::Local(_) | Transport::Http => None,
    };
    let (name, fingerprint) = (spelled(host, port), fingerprint(key));
    let kind = key_type(key).unwrap_or("unknown").to_owned();
    match look_up(files, host, port, key) {
        Verdict::Known => Ok(()),
        Verdict::Unknown(known) => Err(GitError::HostKeyUnknown { host: name, kind, fingerprint, known }),
        Verdict::Changed(file, line) => Err(GitError::HostKeyChanged { host: name, kind, fingerprint, file, line }),
        Verdict::Revoked(file, line) => Err(GitError::HostKeyRevoked { host: name, fingerprint, file, line }),
    }
}

/// What the disk said, where it was not the source that failed: libgit2 gives its words, not its number.
fn no_room(error: &git2::Error, source: &Source) -> Option<io::Error> {
    let said = |kind: ErrorKind, words: &str| error.message().contains(words).then(|| io::Error::new(kind, words));
    let ours = || {
        // A server's own disk speaks over the wire, and a folder may not be readable at either end.
        matches!(error.class(), ErrorClass::Os | ErrorClass::Filesystem | ErrorClass::Odb | ErrorClass::Indexer)
            && (!matches!(source.transport, Transport::Local(_)) || error.message().contains("failed to create"))
    };
    said(ErrorKind::StorageFull, "No space left on device")
        .or_else(|| said(ErrorKind::QuotaExceeded, "Disk quota exceeded"))
        .or_else(|| said(ErrorKind::ReadOnlyFilesystem, "Read-only file system"))
        .or_else(|| said(ErrorKind::PermissionDenied, "Permission denied").filter(|_| ours()))
}

/// Names what libgit2 could not do.
fn explain(error: &git2::Error, source: &Source, offers: &Offers) -> GitError {
    let url = source.shown.clone();
    let cause = Cause::without(error.message(), offers.secrets());
    let says = |words: &str| error.message().contains(words);
    if says("cannot redirect from") || says("unexpected redirect") {
        return GitError::Redirected { url, cause };
    }
    let denied = says("status code: 401") || says("status code: 403") || says("authentication replays");
    if denied || error.code() == ErrorCode::Auth || says("Failed to authenticate SSH session") {
        return GitError::AuthFailed { url, tried: offers.tried(), cause };
    }
    // A commit without a proper author or date, which the transport for local paths insists on.
    let malformed = says(MALFORMED);
    // What libgit2 makes of a server whose own copy is shallow, and of one that speaks something else.
    let gibberish = says("invalid packet line");
    let unsupported =
        malformed || gibberish || says("unsupported extension") || says("object format") || says("unknown object type");
    let local = matches!(source.transport, Transport::Local(_));
    match (error.code(), error.class()) {
        // libgit2's local transport drops the code.
        _ if error.code() == ErrorCode::Owner || says("not owned by current user") => GitError::NotOwner { url, cause },
        (ErrorCode::Certificate, _) | (_, ErrorClass::Ssl) => GitError::Tls { url, cause },
        _ if unsupported => GitError::Unsupported { url, cause },
        (_, ErrorClass::Http) if says("status code: 404") => GitError::NotARepository { url, cause },
        _ if local && says("could not find repository") => GitError::NotARepository { url, cause },
        // What the mirror names and does not have.
        _ if says("target OID for the reference doesn't exist") => GitError::RepositoryCorrupt { object: url, cause },
        (_, ErrorClass::Odb | ErrorClass::Zlib | ErrorClass::Indexer | ErrorClass::Object | ErrorClass::Sha1)
        | (ErrorCode::HashsumMismatch, _) => GitError::RepositoryCorrupt { object: url, cause },
        _ => GitError::Unreachable { url, cause },
    }
}
