//! Writes a request on a set and waits for the daemon's answer.

use std::time::{Duration, Instant};

use super::{Asked, early, who};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::known;
use crate::cli::output::ways::Ways;
use crate::cli::output::words;
use crate::cli::session::Session;
use crate::cluster::{Outcome, read};
use crate::model::{LiveSet, Observed, RecordState, Request, Verb, WorkloadId};

/// How often the set is read while waiting.
const POLL: Duration = Duration::from_millis(250);
/// How often a request is written anew when the set has moved in the meantime.
const TRIES: usize = 5;

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Carried out.
    Done,
    /// Refused, with the reason.
    Refused(String),
    /// Nobody has taken it.
    Open,
}

/// Asks for something, and says what came of it.
pub(super) fn ask(verb: Verb, asked: &Asked, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let name = asked.name.place(&mut context.global)?;
    let session = Session::open(&context.global)?;
    let workload = session.workload(name);
    let ways = session.ways(&workload, &context.global);
    let request = write(verb, &workload, &ways, &session, context)?;
    let end = Instant::now() + asked.wait;
    loop {
        let observed = session.observe(&workload)?;
        match answer(&observed, &request) {
            Answer::Done => {
                writeln!(context.out, "statefulset.apps/{} {}", workload.name, done(verb))?;
                return Ok(Exit::OK);
            }
            Answer::Refused(why) => return Err(refused(verb, &ways, &workload, &why)),
            Answer::Open => {}
        }
        let left = end.saturating_duration_since(Instant::now()).min(POLL);
        if left.is_zero() {
            writeln!(context.out, "statefulset.apps/{} {} requested", workload.name, words::verb(verb))?;
            context.note("no daemon took it yet; it will be carried out when one runs")?;
            return Ok(Exit::OK);
        }
        session.wait(async { tokio::time::sleep(left).await });
    }
}

/// Puts the request on the set, about exactly the rollout and stage that are there now.
fn write(
    verb: Verb,
    workload: &WorkloadId,
    ways: &Ways,
    session: &Session,
    context: &mut Context<'_>,
) -> Result<Request, CliError> {
    let id = format!("{:012x}", fastrand::u64(..) >> 16);
    let mut first: Option<Request> = None;
    for _ in 0..TRIES {
        let observed = session.observe(workload)?;
        let Some(set) = &observed.set else {
            return Err(known::no_such_set(session, workload, ""));
        };
        let request = about(verb, set, &id);
        // Only the record has moved, not what the person was shown: a status write is no reason to give up.
        if first.as_ref().is_some_and(|first| (&first.rollout, first.stage) != (&request.rollout, request.stage)) {
            return Err(refused(verb, ways, workload, "the rollout has moved on in the meantime; look again"));
        }
        if let Some(why) = early::refusal(&observed, &request, context.now()) {
            return Err(refused(verb, ways, workload, &why));
        }
        if first.is_none() && words::open_request(set).is_some() {
            context.note("note: it replaces a request that no daemon has taken yet")?;
        }
        match session.wait(read::write_request(&session.cluster, workload, set, &request)) {
            Outcome::Done(_) => return Ok(request),
            Outcome::Moved(_) => first = Some(request),
            outcome => return Err(failed(&format!("cannot ask for it on {workload}"), outcome)),
        }
    }
    Err(CliError::new(Kind::Cluster, format!("{workload} changes too fast to write a request on it; try again")))
}

/// The request, about what is shown.
fn about(verb: Verb, set: &LiveSet, id: &str) -> Request {
    let mut request = Request { id: id.to_owned(), verb, by: who::asks(), rollout: String::new(), stage: None };
    if let RecordState::Is(record, _) = &set.record {
        // Adoption and release are about the set, whatever rolls in it.
        if !matches!(verb, Verb::Adopt | Verb::Release) {
            request.rollout.clone_from(&record.rollout);
            request.stage = record.stage;
        }
    }
    request
}

/// What the set shows of it.
pub(super) fn answer(observed: &Observed, request: &Request) -> Answer {
    let Some(set) = &observed.set else { return Answer::Refused("the set is gone".to_owned()) };
    let waits = set.request.as_ref().is_some_and(|there| there.as_ref().is_ok_and(|there| there.id == request.id));
    match &set.record {
        RecordState::Is(record, _) => match &record.req {
            Some(answer) if answer.id == request.id && answer.refused.is_empty() => Answer::Done,
            Some(answer) if answer.id == request.id => Answer::Refused(answer.refused.clone()),
            Some(_) | None if waits => Answer::Open,
            Some(_) | None => Answer::Refused("it was taken off the set; the daemon's log says why".to_owned()),
        },
        RecordState::Absent if request.verb == Verb::Release => Answer::Done,
        RecordState::Absent | RecordState::Unreadable(_) if waits => Answer::Open,
        RecordState::Absent | RecordState::Unreadable(_) => {
            Answer::Refused("it was taken off the set; the daemon's log says why".to_owned())
        }
    }
}

fn refused(verb: Verb, ways: &Ways, workload: &WorkloadId, why: &str) -> CliError {
    let why = ways.complete(why);
    CliError::new(Kind::Refused, format!("{} of {workload} is refused: {why}", words::verb(verb)))
}

/// A write that did not come about.
pub(super) fn failed(what: &str, outcome: Outcome) -> CliError {
    let why = match outcome {
        Outcome::Done(_) => String::new(),
        Outcome::Moved(why) => why,
        Outcome::Conflict { managers, fields } => {
            format!("{} owns {}", managers.join(", "), fields.join(", "))
        }
        Outcome::Refused { message, .. } | Outcome::Failed { message, .. } => message,
    };
    CliError::new(Kind::Cluster, format!("{what}: {why}"))
}

/// What has happened.
fn done(verb: Verb) -> &'static str {
    match verb {
        Verb::Promote => "promoted",
        Verb::PromoteFull => "promoted to the end",
        Verb::Pause => "paused",
        Verb::Resume => "resumed",
        Verb::ResumeOverwrite => "resumed: Git's state is put back",
        Verb::ResumeAccept => "resumed: the live state is taken as it is",
        Verb::ResumeReplan => "resumed with the newer plan",
        Verb::Retry => "is tried again",
        Verb::Adopt => "adopted",
        Verb::Release => "released",
    }
}

#[cfg(test)]
mod tests;
