//! Keeps Git's side up to date beside the loop: reading is blocking work and must hold nothing up.

use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender};
use tracing::{info, warn};

use super::source::{Source, View};
use crate::clock::Clock;
use crate::git::Wakes;
use crate::model::{CommitId, Version, WorkloadId};

/// What comes from Git's side.
#[derive(Debug)]
pub(super) enum SourceEvent {
    /// What the last good commit says.
    View(Arc<View>),
    /// The source was asked; the view stays what it is. Sent so that the first round has an end.
    Asked,
    /// A workload's manifest at an earlier commit, if Git still has it.
    Version {
        /// The commit.
        commit: CommitId,
        /// The workload.
        workload: WorkloadId,
        /// The manifest.
        version: Option<Box<Version>>,
    },
}

/// A version that the loop asks for.
pub(super) type Asked = (CommitId, WorkloadId);

/// Refreshes at every wake and answers the loop's questions, until the loop is gone.
pub(super) async fn serve(
    mut source: Source,
    mut wakes: Option<Wakes>,
    mut questions: Receiver<Asked>,
    events: Sender<SourceEvent>,
    clock: Clock,
) {
    let mut shown: Option<Arc<View>> = None;
    let mut trouble: Option<String> = None;
    let mut refresh = true;
    loop {
        if refresh {
            let joined = aside(clock, move || {
                let outcome = source.refresh();
                let view = source.view();
                (source, outcome, view)
            })
            .await;
            let Some((back, outcome, view)) = joined else {
                warn!("reading the repository broke off; the daemon has to be started again");
                return;
            };
            source = back;
            tell_trouble(outcome.err().map(|error| chain(&error)), &mut trouble);
            match view {
                Ok(view) if shown.as_ref() != Some(&view) => {
                    info!(commit = view.commit.id.short(), subject = view.commit.subject, "read the repository");
                    for diagnostic in &view.diagnostics {
                        warn!("{diagnostic}");
                    }
                    shown = Some(view.clone());
                    if events.send(SourceEvent::View(view)).await.is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(error) => tell_trouble(Some(chain(&error)), &mut trouble),
            }
            if events.send(SourceEvent::Asked).await.is_err() {
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
            question = questions.recv() => {
                let Some((commit, workload)) = question else { return };
                let joined = aside(clock, move || {
                    let version = source.version_at(&commit, &workload);
                    (source, commit, workload, version)
                })
                .await;
                let Some((back, commit, workload, version)) = joined else { return };
                source = back;
                let version = version.map(Box::new);
                if events.send(SourceEvent::Version { commit, workload, version }).await.is_err() {
                    return;
                }
                false
            }
            () = wake => true,
        };
    }
}

/// Does blocking work beside the loop; none where it broke off.
///
/// In virtual time it is done at once: no time passes meanwhile, and what it brings comes in the same order every time.
async fn aside<T: Send + 'static>(clock: Clock, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match clock.is_virtual() {
        true => Some(work()),
        false => tokio::task::spawn_blocking(work).await.ok(),
    }
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
