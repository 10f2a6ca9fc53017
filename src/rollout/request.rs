//! Carries out what people ask for, or refuses it with the reason.

use super::frozen::Frozen;
use super::running::{self, Behind, go_on};
use super::stage;
use super::start::{self, has_failed};
use super::stood;
use super::view::{Case, say};
use super::{decide, drift, gate, rest};
use crate::model::{
    Action, ApplyKind, Decision, Desired, Hold, LiveSet, Mode, Observed, PARKED, Partition, Phase, Reason, Record,
    Request, Schedule, Verb, WaitingOn, record::Answer,
};
use crate::revision::digest::restart_mark;

/// Looks at the set's request. None: there is none, or it has been answered.
pub(super) fn look(case: &Case<'_>, behind: Behind, frozen: Option<&Frozen>) -> Option<Decision> {
    let request = match case.set.request.as_ref()? {
        Ok(request) => request,
        Err(why) => {
            return Some(drop_request(case, format!("it cannot be read: {why}")));
        }
    };
    if case.record.req.as_ref().is_some_and(|answer| answer.id == request.id) {
        return None;
    }
    if !is_valid(request) {
        return Some(drop_request(case, "its id is empty, too long, or has control characters".into()));
    }
    if request.verb == Verb::Adopt && matches!(frozen, Some(Frozen::Orphaned(_))) && case.record.src.is_some() {
        // It is for the daemon whose repository names the set now.
        return None;
    }
    Some(match carry_out(case, request, behind, frozen) {
        Ok(decision) => decision,
        Err(why) => refuse(case, request, why),
    })
}

/// Whether its id can be repeated in a record.
pub(super) fn is_valid(request: &Request) -> bool {
    let id = &request.id;
    !id.is_empty() && id.len() <= Request::MAX_ID_BYTES && !id.chars().any(char::is_control)
}

/// The decision that carries it out, or why it is refused.
fn carry_out(case: &Case<'_>, request: &Request, behind: Behind, frozen: Option<&Frozen>) -> Result<Decision, String> {
    let record = case.record;
    let orphaned = matches!(frozen, Some(Frozen::Orphaned(_)));
    // What the server refused is not sent again because somebody asks: the same request would come up at every look.
    if let (Verb::Release | Verb::ResumeOverwrite, Some((reason, message))) = (request.verb, &case.observed.refused)
        && *reason != Reason::Drifted
    {
        return Err(format!("the server refused it: {message}"));
    }
    match request.verb {
        Verb::Release => return release(case, request),
        // What the controller is about to make current is on the record first.
        Verb::ResumeOverwrite if !orphaned && running::is_scaled_to_zero(case) => return Ok(go_on(case, behind)),
        Verb::ResumeOverwrite if !orphaned => return overwrite(case, request),
        Verb::ResumeAccept if !orphaned => return accept(case, request),
        Verb::Adopt => {
            let from = record.src.as_ref().map(|origin| format!(", from {}", origin.shown())).unwrap_or_default();
            return Err(format!("the set is managed by phaseline already{from}"));
        }
        // A hold exposes nothing, and where it ends the freeze goes on.
        Verb::Pause if orphaned => {}
        Verb::Resume if orphaned && record.hold.is_some() => {}
        Verb::Promote
        | Verb::PromoteFull
        | Verb::Pause
        | Verb::Resume
        | Verb::ResumeReplan
        | Verb::ResumeOverwrite
        | Verb::ResumeAccept
        | Verb::Retry => {
            if let Some(frozen) = frozen {
                return Err(frozen.refusal(case.name()));
            }
        }
    }
    if !request.rollout.is_empty() && request.rollout != record.rollout {
        return Err(format!("it was about rollout {}, the set is at {} now", request.rollout, record.rollout));
    }
    match request.verb {
        Verb::Pause if record.hold.is_some() => Err("it is paused already".into()),
        Verb::Pause => {
            let new = Record { hold: Some(Hold { by: name_of(&request.by) }), ..answered(record, request) };
            Ok(case.say(Phase::Paused, Reason::PausedByUser).waiting(WaitingOn::Resume).with(case.note(new)))
        }
        Verb::Resume => resume(case, request, behind),
        Verb::Promote | Verb::PromoteFull => promote(case, request, behind),
        Verb::Retry => retry(case, request),
        Verb::ResumeReplan => replan(case, request),
        Verb::ResumeOverwrite | Verb::ResumeAccept | Verb::Adopt | Verb::Release => {
            Err("it cannot be carried out now".into())
        }
    }
}

fn drift_of(case: &Case<'_>) -> Option<drift::Drift> {
    drift::find(case.set, case.record, decide::stated(case))
}

/// The record that says that a request was carried out.
pub(super) fn answered(record: &Record, request: &Request) -> Record {
    Record { req: Some(Answer { id: request.id.clone(), refused: String::new() }), ..record.clone() }
}

fn refuse(case: &Case<'_>, request: &Request, why: String) -> Decision {
    let new = Record {
        // Bounded, since the record is.
        req: Some(Answer { id: request.id.clone(), refused: clean(&why, 160) }),
        ..case.record.clone()
    };
    case.say(Phase::Progressing, Reason::Starting)
        .message(format!("a request of {} is refused: {why}", request.by))
        .with(case.note(new))
}

/// A person's name as the record keeps it: bounded, since the record is, and never empty.
fn name_of(by: &str) -> String {
    let name = clean(by, 40);
    if name.is_empty() { "somebody".into() } else { name }
}

/// Text without what JSON would have to escape at length, cut.
fn clean(text: &str, most: usize) -> String {
    text.chars().filter(|char| !char.is_control()).take(most).collect()
}

fn drop_request(case: &Case<'_>, why: String) -> Decision {
    case.say(Phase::Progressing, Reason::Starting).with(Action::DropRequest {
        uid: case.set.uid.clone(),
        resource_version: case.set.resource_version.clone(),
        why,
    })
}

/// Ends a hold, or lets a blocked commit take over.
fn resume(case: &Case<'_>, request: &Request, behind: Behind) -> Result<Decision, String> {
    let mut new = answered(case.record, request);
    if new.hold.is_some() {
        (new.hold, new.at) = (None, case.seconds());
        return Ok(case.say(Phase::Progressing, Reason::WaitingReady).with(case.note(new)));
    }
    let (Behind::Blocking, Some(desired)) = (behind, case.desired) else {
        return Err("nothing is paused".into());
    };
    if let Some((_, message)) = &case.observed.refused {
        return Err(format!("the server refused it: {message}"));
    }
    if let Some((_, why)) = decide::forbidden(case, &desired.tip) {
        return Err(why);
    }
    let record = Record { req: new.req, ..case.record.clone() };
    let entry = if case.observed.sight.is_rewritten() { start::Entry::Restart } else { start::Entry::Continue };
    let action = start::begin(case, desired, &record, entry);
    Ok(decide::with_handover(case, desired, action, case.say(Phase::Progressing, Reason::Starting)))
}

/// Ends a pause: of the plan, or of a blocking commit.
fn promote(case: &Case<'_>, request: &Request, behind: Behind) -> Result<Decision, String> {
    let record = case.record;
    if record.done {
        return Err("no rollout is under way".into());
    }
    if record.hold.is_some() {
        return Err(format!("it is paused by a person: `phaseline resume {}` first", case.name()));
    }
    if has_failed(record, &record.target) {
        return Err(format!("it has failed: `phaseline retry {}` first", case.name()));
    }
    if request.stage.is_some() && request.stage != record.stage {
        return Err("the stage has moved on since".into());
    }
    let now = go_on(case, behind);
    if now.waiting_on == Some(WaitingOn::FreshPods) {
        // Whether the stage is done is not known yet.
        return Ok(now);
    }
    // Too many pods away hold an otherwise finished stage; a stage that waits for its own pods is only Progressing.
    let stuck = (now.phase, now.reason) == (Phase::Degraded, Reason::StuckPod);
    let in_a_pause =
        matches!(now.waiting_on, Some(WaitingOn::Promotion | WaitingOn::Pause { .. } | WaitingOn::NewRevisionDecision))
            || stuck;
    let mut promoted = answered(record, request);
    if request.verb == Verb::PromoteFull {
        promoted.mode = if record.mode == Mode::Staged { Mode::Full } else { record.mode };
        promoted.promoted = true;
    } else if in_a_pause {
        promoted.promoted = true;
    } else {
        return Err("the stage is not in a pause: its pods are not done yet".into());
    }
    // The same step with the pause behind it: the answer travels in the write of the stage.
    let next = go_on(&Case { record: &promoted, forced: stuck, ..*case }, behind);
    if next.actions.iter().any(|action| matches!(action, Action::Patch { .. })) {
        return Ok(next);
    }
    Ok(case.say(Phase::Progressing, Reason::WaitingReady).with(case.note(promoted)))
}

/// Forgets that a target failed, and gives it another deadline.
fn retry(case: &Case<'_>, request: &Request) -> Result<Decision, String> {
    let mut new = answered(case.record, request);
    let tip = case.desired.map(|desired| start::tip(desired, &case.set.restarted_at, Some(case.record)));
    let before = new.failed.len();
    new.failed.retain(|failed| {
        let is = |seen: &crate::model::Seen| failed.commit == seen.commit && failed.hash == seen.hash;
        !is(&case.record.target) && !tip.as_ref().is_some_and(is)
    });
    if new.failed.len() == before {
        return Err("nothing has failed".into());
    }
    if new.done && has_failed(case.record, &case.record.target) {
        // Only a scale to zero ends a rollout and fails it: it is taken as it is, completed, and proven by nothing.
        let proven = new.proven.clone();
        new = Record { proven, ..running::completed(case, &new) };
    }
    new.at = case.seconds();
    Ok(case.say(Phase::Progressing, Reason::WaitingReady).with(case.note(new)))
}

/// Takes the plan at the tip in the middle of a rollout. Exposed pods stay exposed.
fn replan(case: &Case<'_>, request: &Request) -> Result<Decision, String> {
    let desired = case.desired.ok_or("Git was not asked")?;
    let record = case.record;
    if record.done || record.digest == desired.plan_digest {
        return Err("no newer plan waits".into());
    }
    let mut new = answered(record, request);
    new.plan = desired.plan.clone();
    new.digest.clone_from(&desired.plan_digest);
    if !matches!(new.plan.schedule, Schedule::ByHand(_)) {
        let exposed = stage::exposed(record.partition, case.set.replicas);
        (new.stage, new.exposed) = stage::locate(&new.plan, case.set.replicas, exposed);
    }
    (new.at, new.promoted) = (case.seconds(), false);
    Ok(case.say(Phase::Progressing, Reason::WaitingReady).with(case.note(new)))
}

/// Whether there is anything that Git's state could be put over: a drift, or a field that somebody else owns.
fn is_astray(case: &Case<'_>) -> bool {
    drift_of(case).is_some()
        || matches!(case.observed.refused, Some((Reason::Drifted, _)))
        || running::promoted(case.record).is_some()
        || case.record.accepted
        || rest::foreign(case).is_some()
}

/// The write that goes back to what was stable before a scale to zero made the target current; none where that is not
/// what stands in the way, or pods run the target already.
///
/// No pod runs, so all of them come at once, at a revision that was proven; then the commit's rollout begins anew.
pub(super) fn stable_again(
    case: &Case<'_>,
    desired: &Desired,
    record: &Record,
    kind: ApplyKind,
) -> Option<Result<Decision, String>> {
    let was = case.record.was.as_ref().filter(|_| case.set.replicas == 0 && desired.tip.replicas != Some(0))?;
    running::promoted(case.record)?;
    let known = std::iter::once(&desired.tip).chain(&desired.target).find(|version| version.hash == was.hash);
    let Some(version) = known else {
        return Some(Err(format!(
            "Git has no commit of what was stable before it was scaled to zero: `phaseline retry {}` takes what was \
             promoted, or push another template",
            case.name()
        )));
    };
    let mut new = start::restarted(record, was.clone(), case.seconds());
    (new.mode, new.stable) = (Mode::Install, Some(was.clone()));
    let mut set = case.set.clone();
    set.restarted_at.clone_from(&was.restart);
    let action = start::sync(case, kind, &desired.tip, version, &set, &new, Partition(0));
    let decision = case
        .say(Phase::Progressing, Reason::Starting)
        .message("nothing runs: the set goes back to what was stable, then the commit is rolled out anew");
    Some(Ok(decide::with_handover(case, desired, action, decision)))
}

/// Puts Git's state back over a drift.
fn overwrite(case: &Case<'_>, request: &Request) -> Result<Decision, String> {
    let desired = case.desired.ok_or("Git was not asked")?;
    if !is_astray(case) {
        return Err("nothing has drifted".into());
    }
    let mut record = answered(case.record, request);
    // What passed while nobody decided is not held against the stage.
    record.at = case.seconds();
    if let Some((_, why)) = decide::forbidden(case, &desired.tip) {
        return Err(why);
    }
    if running::promoted(case.record).is_some() {
        let mut anew = record.clone();
        anew.failed
            .retain(|failed| failed.commit != case.record.target.commit || failed.hash != case.record.target.hash);
        let owned = matches!(case.observed.refused, Some((Reason::Drifted, _)));
        match stable_again(case, desired, &anew, ApplyKind::Overwrite) {
            Some(Ok(decision)) => return Ok(decision),
            // Where something has drifted besides, that is put back; a newer commit that another owner of a field
            // keeps out is let in.
            Some(Err(_)) | None
                if drift_of(case).is_some() || (owned && desired.tip.hash != case.record.target.hash) => {}
            Some(Err(why)) => return Err(why),
            None => {
                return Err("pods run what was promoted already: `retry` takes it as it is, or push a revert".into());
            }
        }
    }
    let target = start::tip(desired, &case.record.target.restart, Some(case.record));
    let running = !record.done && target.hash != record.target.hash;
    // A template that was taken as it is goes back through the plan, as Git's target.
    let starts = record.done && (target.hash != record.target.hash || record.accepted);
    if record.accepted && record.done && record.hold.is_some() {
        return Err(format!("it is paused by a person: `phaseline resume {}` first", case.name()));
    }
    // Nobody has the manifest in force any more (it was adopted, or history was rewritten): only the new one is left.
    let lost = running && desired.target.is_none();
    let meeting = record.hold.is_none().then(|| start::meet(case, desired, &record, &target));
    let entry = match meeting {
        // What a person holds stays held: the state in force is put back, and no commit that waits is started.
        None => None,
        Some(start::Meeting::Enter(start::Entry::Install)) if start::is_late(case) => {
            return Ok(case.say(Phase::Progressing, Reason::WaitingReady).waiting(WaitingOn::FreshPods));
        }
        Some(start::Meeting::Enter(entry)) => Some(entry),
        Some(start::Meeting::Queue | start::Meeting::Block) if lost => Some(start::Entry::Continue),
        Some(start::Meeting::Queue | start::Meeting::Block | start::Meeting::Barred) => None,
    };
    if let (true, Some(entry)) = (starts || lost || (running && drift_of(case).is_none()), entry) {
        // Nothing moved on the set itself: what stands in the way is another owner of a field.
        let Action::Apply { manifest, partition, record, base, takes_replicas, .. } =
            start::begin(case, desired, &record, entry)
        else {
            return Err("it cannot be carried out now".into());
        };
        let action = Action::Apply { kind: ApplyKind::Overwrite, manifest, partition, record, base, takes_replicas };
        return Ok(decide::with_handover(case, desired, action, case.say(Phase::Progressing, Reason::Starting)));
    }
    let template_of = if target.hash == record.target.hash { Some(&desired.tip) } else { desired.target.as_ref() };
    let template_of = template_of.ok_or("Git has the commit in force no more; `resume --accept` or push a new one")?;
    let mut set = case.set.clone();
    // What somebody else put there goes, a restart that was rolled out stays.
    set.restarted_at.clone_from(&record.target.restart);
    if let (true, Some(partition)) = (record.done, start::astray(case)) {
        // Pods run what somebody else put there: they go back as on a revert, and only then it is at rest.
        record = start::restarted(&record, record.target.clone(), case.seconds());
        (record.mode, record.stage, record.partition) = (Mode::Back, Some(0), partition);
    }
    let partition = partition_at(&record, desired.tip.replicas.unwrap_or(set.replicas));
    let action = start::sync(case, ApplyKind::Overwrite, &desired.tip, template_of, &set, &record, partition);
    let decision = case.say(Phase::Progressing, Reason::Starting).message("Git's state is put back");
    Ok(decide::with_handover(case, desired, action, decision))
}

/// Goes on from what is there.
fn accept(case: &Case<'_>, request: &Request) -> Result<Decision, String> {
    let (set, record) = (case.set, case.record);
    if drift_of(case).is_none() {
        return Err("nothing has drifted".into());
    }
    if set.strategy != "RollingUpdate" {
        return Err(format!("the strategy is {}: only `resume --overwrite` or `release`", set.strategy));
    }
    let mut new = answered(record, request);
    new.live = set.template.clone();
    new.accepted |= set.template != record.live;
    new.target.restart = restart_mark(&set.restarted_at);
    new.at = case.seconds();
    let say = case.say(Phase::Progressing, Reason::WaitingReady);
    if record.mode == Mode::Install && !record.done {
        return Ok(say.message("the live state is taken as it is").with(installed(case, new)));
    }
    if !record.done {
        let partition = set.partition.unwrap_or(record.partition);
        let exposed = stage::exposed(partition, set.replicas);
        if !matches!(new.plan.schedule, Schedule::ByHand(_)) {
            (new.stage, new.exposed) = stage::locate(&new.plan, set.replicas, exposed);
        }
        return Ok(say.message("the live state is taken as it is").with(case.advance(new, partition)));
    }
    if !is_moved(case) || set.current_revision == set.update_revision {
        new.back.clone_from(&set.current_revision);
        return Ok(say.message("the live state is taken as it is").with(case.advance(new, PARKED)));
    }
    // The template that somebody put there goes through the plan like any other.
    let mut rolled = start::restarted(&new, new.target.clone(), case.seconds());
    start::first_stage(case, set.replicas, &mut rolled);
    let partition = rolled.partition;
    Ok(say.message("the live template is rolled out by the plan").with(case.advance(rolled, partition)))
}

/// Whether somebody has changed the template.
fn is_moved(case: &Case<'_>) -> bool {
    let (set, record) = (case.set, case.record);
    set.template != record.live || restart_mark(&set.restarted_at) != record.target.restart
}

/// How a first install goes on after its template was changed, with the record as it is to be otherwise.
///
/// Where nothing ever stood there is no stable revision to come back at, and nothing is held back. Where something did
/// it is the stable one, and the change goes through the plan.
pub(super) fn installed(case: &Case<'_>, mut new: Record) -> Action {
    let set = case.set;
    let current = set.update_revision == set.current_revision && set.observed_generation == set.generation;
    if current {
        return case.advance(new, case.record.partition);
    }
    if stood::unrecorded(case, case.record).is_none() {
        return case.advance(new, Partition(0));
    }
    start::establish(case, case.record, &mut new);
    new = start::restarted(&new, new.target.clone(), case.seconds());
    start::first_stage(case, set.replicas, &mut new);
    let partition = new.partition;
    case.advance(new, partition)
}

/// A set whose record cannot be read: nothing is done but to give it back, which needs no record.
pub(super) fn without_record(observed: &Observed, set: &LiveSet, why: &str) -> Decision {
    let name = &observed.workload.name;
    let blocked =
        say(observed, Phase::Blocked, Reason::RecordUnreadable).waiting(WaitingOn::Correction).message(format!(
            "the annotation {} cannot be read: {why}; run the phaseline that wrote it, or `phaseline release {name}` \
             gives the set back as it stands and `phaseline adopt {name}` takes it over again",
            Record::ANNOTATION
        ));
    let drop =
        |why: String| Action::DropRequest { uid: set.uid.clone(), resource_version: set.resource_version.clone(), why };
    match &set.request {
        None => blocked,
        // What it was in the middle of is not known: where two revisions are about, the partition stays.
        Some(Ok(request)) if request.verb == Verb::Release => {
            let settled = set.observed_generation >= set.generation && set.current_revision == set.update_revision;
            blocked.with(Action::Release {
                partition: settled.then_some(Partition(0)),
                base: (set.uid.clone(), set.resource_version.clone()),
            })
        }
        Some(Ok(request)) => blocked.with(drop(format!("{:?} cannot be carried out without a record", request.verb))),
        Some(Err(unread)) => blocked.with(drop(format!("it cannot be read: {unread}"))),
    }
}

/// Gives the set back.
fn release(case: &Case<'_>, request: &Request) -> Result<Decision, String> {
    if case.desired.is_some_and(|desired| desired.tip.adopt) {
        return Err(format!(
            "the manifest asks for adoption: take `phaseline.dev/adopt` out of it first, {}",
            request.by
        ));
    }
    let (set, record) = (case.set, case.record);
    let foreign = set.generation != record.generation && drift_of(case).is_some();
    let elsewhere = gate::own_pods(set, &case.observed.pods).any(|pod| pod.revision != set.update_revision);
    let pending = !record.done || set.current_revision != set.update_revision || foreign || elsewhere;
    if !pending && set.observed_generation < set.generation {
        // What the controller makes of the last change is not known yet: let loose, pods might follow it.
        let waiting = WaitingOn::ObservedGeneration { generation: set.generation };
        return Ok(case
            .say(Phase::Progressing, Reason::Starting)
            .waiting(waiting)
            .message("the set is about to be given back"));
    }
    let partition = (!pending).then_some(Partition(0));
    Ok(case
        .say(Phase::Blocked, Reason::AdoptionRequired)
        .message("the set is given back")
        .with(Action::Release { partition, base: case.base() }))
}

/// The wish for a restart that somebody left on the template, as a rollout of the same commit.
pub(super) fn restart(case: &Case<'_>, wish: &str) -> Decision {
    let (set, record) = (case.set, case.record);
    let mut target = record.target.clone();
    target.restart = restart_mark(wish);
    let say =
        case.say(Phase::Progressing, Reason::Starting).message("a restart was asked for: it goes through the plan");
    let serves = stood::unrecorded(case, record).is_some();
    if !record.done && !serves {
        // The controller restarts the exposed pods already; they are verified again.
        let mut new = start::restarted(record, target, record.began);
        (new.stage, new.exposed, new.mode) = (record.stage, record.exposed, record.mode);
        (new.at, new.generation) = (case.seconds(), set.generation);
        new.hold.clone_from(&record.hold);
        if record.mode == Mode::Back {
            // What goes back restarts everywhere, through the stages.
            new.mode = Mode::Staged;
            let exposed = stage::exposed(record.partition, set.replicas);
            (new.stage, new.exposed) = stage::locate(&new.plan, set.replicas, exposed);
        }
        if record.mode == Mode::Install {
            return say.with(installed(case, new));
        }
        return say.with(case.note(new));
    }
    if let Some(hold) = &record.hold {
        return case
            .say(Phase::Paused, Reason::PausedByUser)
            .waiting(WaitingOn::Resume)
            .message(format!("paused by {}; a restart waits", hold.by));
    }
    let mut new = start::restarted(record, target, case.seconds());
    start::establish(case, record, &mut new);
    if let Some(desired) = case.desired {
        new.plan = desired.plan.clone();
        new.digest.clone_from(&desired.plan_digest);
    }
    if set.replicas == 0 {
        // As with a new template: nothing to stage, and not over before the controller has made it current.
        new.mode = Mode::Install;
        return say.with(case.advance(new, Partition(0)));
    }
    start::first_stage(case, set.replicas, &mut new);
    let partition = match new.plan.schedule {
        // By hand the manifest's partition stages templates; a restart has no commit to stage it.
        Schedule::ByHand(_) => {
            (new.stage, new.exposed) = (Some(0), None);
            Partition(0)
        }
        _ => new.partition,
    };
    say.with(case.advance(new, partition))
}

/// Where a rollout would stand after scaling, for the writes that scale.
pub(super) fn partition_at(record: &Record, replicas: u32) -> Partition {
    if record.done { record.partition } else { running::follow(record, replicas) }
}
