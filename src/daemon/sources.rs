//! Keeps Git's side up to date beside the loop: reading is blocking work and must hold nothing up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::asking::{Answer, Question};
use super::source::{Source, View};
use crate::clock::Clock;
use crate::git::Wakes;
use crate::model::{CommitId, Origin};

/// What comes from Git's side.
#[derive(Debug)]
pub(super) enum SourceEvent {
    /// The source was asked.
    Read(Box<Read>),
    /// A question was answered.
    Answer(Question, Answer),
}

/// What came of one look at the source.
#[derive(Debug)]
pub(super) struct Read {
    /// When it began.
    pub(super) began: Instant,
    /// The tip that was fetched, or why none was.
    pub(super) fetched: Result<CommitId, String>,
    /// Why what was fetched cannot be read; empty where it can.
    pub(super) trouble: String,
    /// What the last good commit says, where that is news.
    pub(super) view: Option<Arc<View>>,
    /// What records call the source, once that is known.
    pub(super) origin: Option<Origin>,
}

/// What the reader is told by the loop.
pub(super) struct Told {
    /// Questions.
    pub(super) questions: Receiver<Question>,
    /// When the source is to be asked without waiting for its turn; none: in its turn.
    pub(super) hurry: watch::Receiver<Option<Instant>>,
}

/// Refreshes at every wake and answers the loop's questions, until the loop is gone.
pub(super) async fn serve(
    mut source: Source,
    mut wakes: Option<Wakes>,
    mut told: Told,
    events: Sender<SourceEvent>,
    clock: Clock,
) {
    let mut shown: Option<Arc<View>> = None;
    let mut trouble: Option<String> = None;
    let mut refresh = true;
    let mut began = Instant::now();
    loop {
        if refresh {
            began = Instant::now();
            let Some((back, looked)) = aside(clock, source, |source| {
                let fetched = source.refresh().map_err(|error| chain(&error));
                (fetched, source.view().map_err(|error| chain(&error)), source.origin())
            })
            .await
            else {
                return;
            };
            source = back;
            let (fetched, view, origin) = looked.unwrap_or_else(|broken| (Err(broken.clone()), Err(broken), None));
            let unread = view.as_ref().err().cloned().unwrap_or_default();
            tell_trouble(fetched.as_ref().err().or(view.as_ref().err()).cloned(), &mut trouble);
            let news = view.ok().filter(|view| shown.as_ref() != Some(view));
            if let Some(view) = &news {
                info!(commit = view.commit.id.short(), subject = view.commit.subject, "read the repository");
                for diagnostic in &view.diagnostics {
                    warn!("{diagnostic}");
                }
                shown = Some(view.clone());
            }
            let read = Read { began, fetched, trouble: unread, view: news, origin };
            if events.send(SourceEvent::Read(Box::new(read))).await.is_err() {
                return;
            }
        }
        let wake = async {
            match &mut wakes {
                Some(wakes) => wakes.next().await,
                None => std::future::pending().await,
            }
        };
        refresh = tokio::select! {
            biased;
            question = told.questions.recv() => {
                let Some(question) = question else { return };
                let (asked, view) = (question.clone(), shown.clone());
                let answer = move |source: &mut Source| asked.ask(source, view.as_deref());
                let Some((back, answer)) = aside(clock, source, answer).await else { return };
                source = back;
                // One that breaks the reader has no answer; it is asked again with the next view.
                let answer = answer.unwrap_or_else(|_| question.unanswered());
                if events.send(SourceEvent::Answer(question, answer)).await.is_err() {
                    return;
                }
                false
            }
            () = wake => true,
            () = hurried(&mut told.hurry, began) => true,
        };
    }
}

/// Waits until the loop wants the source to be asked, since it was asked last.
async fn hurried(hurry: &mut watch::Receiver<Option<Instant>>, asked: Instant) {
    loop {
        let when = *hurry.borrow_and_update();
        let due = async {
            match when.filter(|when| *when > asked) {
                Some(when) => sleep_until(when).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => return,
            changed = hurry.changed() => if changed.is_err() {
                // The loop is gone; its questions say so.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Does blocking work beside the loop. What breaks off is said, and costs what the source remembered, nothing else; none
/// where the runtime ends.
///
/// In virtual time it is done at once: no time passes meanwhile, and what it brings comes in the same order every time.
async fn aside<T: Send + 'static>(
    clock: Clock,
    mut source: Source,
    work: impl FnOnce(&mut Source) -> T + Send + 'static,
) -> Option<(Source, Result<T, String>)> {
    let guarded = move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut source))).map_err(|panic| {
            let why = words_of(&*panic);
            error!("reading the repository broke off, it is read anew: {why}");
            format!("reading it broke off: {why}")
        });
        let fresh = match &done {
            Ok(_) => None,
            Err(_) => source.anew().map_err(|error| error!("{}", chain(&error))).ok(),
        };
        (fresh.unwrap_or(source), done)
    };
    match clock.is_virtual() {
        true => Some(guarded()),
        false => tokio::task::spawn_blocking(guarded).await.ok(),
    }
}

/// What a panic said.
fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it does not say why").to_owned()
}

/// Says when the source goes and when it comes back, once each.
fn tell_trouble(now: Option<String>, before: &mut Option<String>) {
    match (&now, &before) {
        (Some(now), before) if before.as_ref() != Some(now) => {
            warn!("the source cannot be read, the last good commit stays in force: {now}");
        }
        (None, Some(_)) => info!("the source can be read again"),
        _ => {}
    }
    *before = now;
}

/// An error with its causes, joined.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::daemon::Scope;
    use crate::git::SourceConfig;

    #[tokio::test]
    async fn a_reader_that_panics_is_started_again_and_says_so() {
        let disk = tempfile::TempDir::new().unwrap();
        let config = SourceConfig {
            url: disk.path().join("nothing").to_string_lossy().into_owned(),
            state_dir: disk.path().join("state"),
            ..SourceConfig::default()
        };
        let scope = Scope { default_namespace: "default".into(), only: Vec::new() };
        let mut source = Source::open(&config, scope).unwrap();
        source.breaks = 1;
        let wakes = Wakes::by_hand();
        let waker = wakes.waker();
        let (events, mut heard) = mpsc::channel(8);
        let (_questions, questions) = mpsc::channel(8);
        let (_hurry, hurry) = watch::channel(None);
        let reader = tokio::spawn(serve(source, Some(wakes), Told { questions, hurry }, events, Clock::Real));
        let mut fetched = async || match heard.recv().await {
            Some(SourceEvent::Read(read)) => read.fetched.unwrap_err(),
            other => panic!("{other:?}"),
        };
        assert_eq!(fetched().await, "reading it broke off: a hole in the reader");
        waker.wake();
        let why = fetched().await;
        assert!(why.contains("nothing") && !why.contains("broke off"), "it reads again: {why}");
        assert!(!reader.is_finished());
        reader.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn the_source_is_asked_when_the_loop_wants_it_and_once() {
        let began = Instant::now();
        let (tell, mut hurry) = watch::channel(None);
        let later = began + std::time::Duration::from_secs(5);
        tell.send_replace(Some(later));
        hurried(&mut hurry, began).await;
        assert_eq!(Instant::now(), later);
        let again = tokio::time::timeout(std::time::Duration::from_secs(60), hurried(&mut hurry, Instant::now())).await;
        assert!(again.is_err(), "it was asked since");
    }
}
