//! Wakes whoever follows a source: after a push to a local repository, on a signal, when told, and every so often.
//!
//! A wake carries no data; whoever is woken looks for itself. Several wakes before the look are one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use git2::{Repository, RepositoryOpenFlags};
use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::error::{Cause, GitError};

/// How long after a first event further ones are waited for: a push writes several files.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Shortest interval between polls.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Longer than anybody waits.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How far an interval is stretched or shortened at random, in parts of one: many daemons shall not ask at once.
const JITTER: f64 = 0.1;

/// A file in the repository's folder that `hooks/post-receive` writes when a push is in: a wake where references are kept
/// in a way that is not watched.
const WAKE: &str = "phaseline-wake";

/// Wakes one follower; made by [`Wakes::waker`], for webhooks and people's requests.
#[derive(Debug, Clone)]
pub struct Waker(Arc<Notify>);

impl Waker {
    /// Wakes; before the follower looks, once and many times are the same.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

/// The stream of wakes of one follower.
#[derive(Debug)]
pub struct Wakes {
    notify: Arc<Notify>,
    interval: Duration,
    next_poll: Instant,
    local: Option<PathBuf>,
    watch: Option<Watch>,
    hangup: Option<tokio::signal::unix::Signal>,
    /// A wake has come, and what comes with it is waited for.
    woken: bool,
}

/// A repository that is being watched.
#[derive(Debug)]
struct Watch {
    _watcher: RecommendedWatcher,
    folders: Vec<PathBuf>,
    identity: Vec<Option<(u64, u64)>>,
    /// A folder was removed or renamed: what has its name now is not what is watched.
    gone: Arc<AtomicBool>,
}

impl Wakes {
    /// Follows a source: polls at about this interval, watches a local repository, and heeds SIGHUP.
    ///
    /// A repository that cannot be watched is polled only, with a warning in the log; watching is tried again at each poll.
    /// Must be called within a tokio runtime.
    pub fn new(local: Option<&Path>, interval: Duration) -> Self {
        let interval = interval.max(MIN_INTERVAL);
        let notify = Arc::new(Notify::new());
        let local = local.map(Path::to_owned);
        let watch = local.as_deref().and_then(|path| {
            let watch = Watch::start(path, &notify);
            watch.map_err(|error| tracing::warn!(%error, cause = cause(&error), "polling only")).ok()
        });
        Self {
            notify,
            interval,
            next_poll: Instant::now() + jittered(interval),
            local,
            watch,
            hangup: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
            woken: false,
        }
    }

    /// Follows nothing: it is woken by [`Self::waker`] only.
    pub fn by_hand() -> Self {
        Self {
            notify: Arc::new(Notify::new()),
            interval: NEVER,
            next_poll: Instant::now() + NEVER,
            local: None,
            watch: None,
            hangup: None,
            woken: false,
        }
    }

    /// A handle that wakes this follower.
    pub fn waker(&self) -> Waker {
        Waker(self.notify.clone())
    }

    /// Whether a local repository is being watched, so that a push wakes at once.
    pub fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// Waits for the next wake. May be dropped and called again: no wake is lost.
    pub async fn next(&mut self) {
        if !self.woken {
            tokio::select! {
                () = self.notify.notified() => self.woken = true,
                () = sleep_until(self.next_poll) => {}
                () = hung_up(&mut self.hangup) => {}
            }
        }
        if self.woken {
            // Whoever waits may turn to something else meanwhile, and come back.
            sleep(DEBOUNCE).await;
            // What came in the meantime is part of this wake.
            let _ = futures_util::FutureExt::now_or_never(self.notify.notified());
            self.woken = false;
        }
        self.next_poll = Instant::now() + jittered(self.interval);
        self.watch_again();
    }

    /// Watches anew where the repository's folders are not those any more (it was replaced, or has only now appeared).
    fn watch_again(&mut self) {
        let Some(path) = &self.local else { return };
        if self.watch.as_ref().is_some_and(Watch::is_current) {
            return;
        }
        self.watch = Watch::start(path, &self.notify).ok();
    }
}

async fn hung_up(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            if signal.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
        }
        None => std::future::pending().await,
    }
}

impl Watch {
    fn start(path: &Path, notify: &Arc<Notify>) -> Result<Self, GitError> {
        let failed = |cause: Cause| GitError::Watch { path: path.to_owned(), cause };
        let none: [&str; 0] = [];
        let repo = Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none)
            .map_err(|error| failed(Cause::from(&error)))?;
        // A work tree added by `git worktree` has its HEAD in one folder and its branches in another.
        // Collected anew from their parts, so that they are spelled as in events: without a slash at the end.
        let (own, common): (PathBuf, PathBuf) =
            (repo.path().components().collect(), repo.commondir().components().collect());
        let heads = common.join("refs/heads");
        let mut folders = vec![own.clone(), common.clone(), heads.clone()];
        folders.dedup();
        let notify = notify.clone();
        let gone = Arc::new(AtomicBool::new(false));
        let (told, watched, concerns) = (gone.clone(), folders.clone(), Concerns { own, common });
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().is_ok_and(|event| takes_away(event, &watched)) {
                told.store(true, Ordering::Relaxed);
            }
            if event.map_or(true, |event| concerns.concerns(&event)) {
                notify.notify_one();
            }
        })
        .map_err(|error| failed(Cause::new(&error.to_string())))?;
        for folder in &folders {
            let mode = if *folder == heads { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            watcher.watch(folder, mode).map_err(|error| failed(Cause::new(&error.to_string())))?;
        }
        let identity = folders.iter().map(|folder| identity(folder)).collect();
        Ok(Self { _watcher: watcher, folders, identity, gone })
    }

    fn is_current(&self) -> bool {
        let same = |(folder, seen): (&PathBuf, &Option<(u64, u64)>)| seen.is_some() && identity(folder) == *seen;
        !self.gone.load(Ordering::Relaxed) && self.folders.iter().zip(&self.identity).all(same)
    }
}

/// Whether a watched folder is not there any more under its name.
fn takes_away(event: &Event, watched: &[PathBuf]) -> bool {
    let away = event.kind.is_remove() || matches!(event.kind, EventKind::Modify(ModifyKind::Name(_)));
    away && event.paths.iter().any(|path| watched.contains(path))
}

/// What of a repository's folder tells that a branch may have moved.
struct Concerns {
    own: PathBuf,
    common: PathBuf,
}

impl Concerns {
    fn concerns(&self, event: &Event) -> bool {
        if event.kind.is_access() && !event.need_rescan() {
            return false;
        }
        event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(|path| self.is_reference(path))
    }

    fn is_reference(&self, path: &Path) -> bool {
        if path.extension().is_some_and(|extension| extension == "lock") {
            return false;
        }
        let own = path.strip_prefix(&self.own).or_else(|_| path.strip_prefix(&self.common)).unwrap_or(path);
        let inside = path.strip_prefix(&self.common).unwrap_or(own);
        own == Path::new("HEAD")
            || inside == Path::new("packed-refs")
            || inside == Path::new(WAKE)
            || inside.starts_with("refs")
            || own == Path::new("")
            || inside == Path::new("")
    }
}

/// Device and inode: the same path may come to mean another folder.
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

fn jittered(interval: Duration) -> Duration {
    interval.mul_f64(1.0 - JITTER + 2.0 * JITTER * fastrand::f64())
}

fn cause(error: &GitError) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::{DEBOUNCE, Wakes};

    #[tokio::test(start_paused = true)]
    async fn a_wake_is_not_lost_on_who_turns_away_while_it_gathers() {
        let mut wakes = Wakes::by_hand();
        wakes.waker().wake();
        assert!(timeout(DEBOUNCE / 2, wakes.next()).await.is_err());
        assert!(timeout(DEBOUNCE * 2, wakes.next()).await.is_ok());
        assert!(timeout(Duration::from_secs(60), wakes.next()).await.is_err(), "it was one wake");
    }
}
